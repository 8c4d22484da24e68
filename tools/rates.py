#!/usr/bin/env python3
"""Learning rates of PyTorch's schedules and of torchtitan's, step by step: prints tests/expected/rates.json.

usage: rates.py > tests/expected/rates.json     with torch (https://pytorch.org) installed

Each case is a rate as a .place file says it, what it is compared with, and that one's rates from the first
step on. torchtitan's is `linear_warmup_stable_decay` of torchtitan/components/lr_scheduler.py, where a run of
`steps` steps has a virtual one behind its last, by which the decay ends."""
import json
import math
import sys

import torch
from torch.optim import lr_scheduler

PEAK, MINIMUM, STEPS = 0.5, 0.05, 10
CURVES = {"linear": lambda x: 1 - x, "sqrt": lambda x: 1 - math.sqrt(x), "cosine": lambda x: (1 + math.cos(math.pi * x)) / 2}


def torchtitan(curve, warmup, decay):
    """The factor of a step, counted from 0."""
    stable = STEPS + 1 - warmup - decay

    def factor(step):
        if step < warmup:
            return (step + 1) / warmup
        if step < warmup + stable:
            return 1.0
        least = MINIMUM / PEAK
        return least + (1 - least) * CURVES[curve]((step + 1 - warmup - stable) / decay)

    return lambda optimizer: lr_scheduler.LambdaLR(optimizer, factor)


def linear(optimizer, first, last, steps):
    return lr_scheduler.LinearLR(optimizer, start_factor=first, end_factor=last, total_iters=steps)


def warmed_cosine(optimizer):
    parts = [linear(optimizer, 1 / 4, 1, 3), lr_scheduler.CosineAnnealingLR(optimizer, T_max=6, eta_min=MINIMUM)]
    return lr_scheduler.SequentialLR(optimizer, parts, milestones=[3])


TO = f"minimum = {MINIMUM}"
CASES = [
    (f"constant({PEAK}, warmup = 4)", "LinearLR(1/4, 1, 3)", lambda o: linear(o, 1 / 4, 1, 3)),
    (f"linear({PEAK}, warmup = 1, steps = 10, {TO})", "LinearLR(1, 0.1, 9)", lambda o: linear(o, 1, MINIMUM / PEAK, 9)),
    (f"cosine({PEAK}, warmup = 1, steps = 10, {TO})", "CosineAnnealingLR(9, 0.05)",
     lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=9, eta_min=MINIMUM)),
    (f"cosine({PEAK}, warmup = 4, steps = 10, {TO})", "SequentialLR(LinearLR, CosineAnnealingLR)", warmed_cosine),
    (f"wsd({PEAK}, warmup = 3, steps = 11, decay = 7, {TO})", "torchtitan, 3 of 10 warm-up", torchtitan("linear", 3, 7)),
] + [(f"wsd({PEAK}, warmup = 3, steps = 11, decay = 4, curve = {curve}, {TO})", f"torchtitan, 3 of 10 warm-up, 0.4 {curve}",
      torchtitan(curve, 3, 4)) for curve in CURVES]


def rates(make):
    parameter = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    optimizer = torch.optim.SGD([parameter], lr=PEAK)
    scheduler, found = make(optimizer), []
    for _ in range(STEPS):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return found


json.dump([{"lr": text, "is": source, "rates": rates(make)} for text, source, make in CASES], sys.stdout, indent=1)
print()

#!/usr/bin/env python3
"""PyTorch's time for a training step of a pipeline (torch.distributed.pipelining): fp32, AdamW, GELU by tanh.

MODEL is the text of a .place file's gpt2 model, whose head is a table of its own, and of its train block; METHOD one of
ours that PyTorch has. Each of two processes has the same stages as a device of ours, and one thread; messages go by
gloo. Prints one line of JSON with the seconds of each step.
"""
import argparse
import json
import os
import re
import time

import torch
from pytorch_gpt import ADAMW, Block, blas, free_port
from torch import distributed, nn
from torch.distributed import pipelining
from torch.nn import functional

RANKS = 2

# The class of a method, and which rank has a stage, of those along the pipeline.
METHODS = {
    "gpipe": ("ScheduleGPipe", 1, "loop"),
    "one_f_one_b": ("Schedule1F1B", 1, "loop"),
    "interleaved": ("ScheduleInterleaved1F1B", 2, "loop"),
    "looped_bfs": ("ScheduleLoopedBFS", 2, "loop"),
    "interleaved_zb": ("ScheduleInterleavedZeroBubble", 2, "loop"),
    "zbv": ("ScheduleZBVZeroBubble", 2, "v"),
    "dualpipe_v": ("ScheduleDualPipeV", 2, "v"),
}


class Stage(nn.Module):
    """Some blocks, behind the embedding in the first stage, and before the head in the last."""

    def __init__(self, shape, number, stages):
        super().__init__()
        hidden = shape["hidden"]
        self.is_first, self.is_last = number == 0, number == stages - 1
        if self.is_first:
            self.token = nn.Embedding(shape["vocab"], hidden)
            self.position = nn.Embedding(shape["sequence_limit"], hidden)
            for table in (self.token, self.position):
                nn.init.normal_(table.weight, std=0.02)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape["layers"] // stages))
        if self.is_last:
            self.norm, self.head = nn.LayerNorm(hidden), nn.Linear(hidden, shape["vocab"], bias=False)

    def forward(self, x):
        if self.is_first:
            x = self.token(x) + self.position.weight[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x)) if self.is_last else x


def loss_of(logits, targets):
    return functional.cross_entropy(logits.view(-1, logits.shape[2]), targets.reshape(-1))


def stages_of(rank, chunks, way):
    if way == "v":
        return [rank, chunks * RANKS - 1 - rank]
    return [rank + RANKS * chunk for chunk in range(chunks)]


def make_schedule(rank, shape, method):
    """The schedule of a rank, its modules, and whether it is given tokens and targets."""
    name, chunks, way = METHODS[method]
    n = chunks * RANKS
    modules = [Stage(shape, number, n) for number in stages_of(rank, chunks, way)]
    stages = [pipelining.PipelineStage(module, number, n, torch.device("cpu"))
              for module, number in zip(modules, stages_of(rank, chunks, way))]
    schedule = getattr(pipelining, name)(stages if chunks > 1 else stages[0], shape["batch"] // shape["microbatch"],
                                         loss_fn=loss_of)
    return schedule, nn.ModuleList(modules)


def train(rank, shape, steps, method, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    distributed.init_process_group("gloo", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(1)
    schedule, modules = make_schedule(rank, shape, method)
    optimizer = torch.optim.AdamW(modules.parameters(), **ADAMW)
    data = torch.randint(shape["vocab"], (shape["batch"], shape["sequence"] + 1))
    inputs = [data[:, :-1]] if any(module.is_first for module in modules) else []
    targets = {"target": data[:, 1:]} if any(module.is_last for module in modules) else {}
    seconds = []
    for _ in range(steps):
        distributed.barrier()
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        schedule.step(*inputs, **targets)
        optimizer.step()
        distributed.barrier()
        seconds.append(time.perf_counter() - start)
    parameters = torch.tensor(sum(p.numel() for p in modules.parameters()))
    distributed.all_reduce(parameters)
    if rank == 0:
        print(json.dumps({"version": torch.__version__, "blas": blas(), "seconds": seconds,
                          "parameters": parameters.item()}), flush=True)
    distributed.destroy_process_group()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("steps", type=int)
    parser.add_argument("method", choices=METHODS)
    options = parser.parse_args()
    shape = {name: int(number) for name, number in re.findall(r"\b(\w+) = (\d+)\b", options.model)}
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # this machine's name may have no address
    torch.multiprocessing.spawn(train, (shape, options.steps, options.method, free_port()), nprocs=RANKS)


if __name__ == "__main__":
    main()

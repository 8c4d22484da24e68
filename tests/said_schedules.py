#!/usr/bin/env python3
"""Pipelines whose order of tasks a file says, at random: stages on any ranks, forward, backward and its parts, and
microbatches, in any order in which they can run. All are accepted, and train as one device does (trains_alike.py), where
they are `reproducible` to its bits. With their messages, as the command writes them, they are the same.

usage: said_schedules.py PLACEC [SEED ...]     orders of these seeds alone
With PLACE_TEST_EVERY=N in the environment an N-th of them."""
import concurrent.futures
import os
import random
import subprocess
import sys
import tempfile

PLACEC, *SEEDS = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
SEEDS_OF_TEST = 24
MODEL = "llama { layers = 6  hidden = 16  heads = 2  head_dim = 8  kv_heads = 1  ffn = 24  vocab = 256  tied = %s }"


def order(chance, ranks, stages, microbatches, adds):
    """The rows of a schedule, as lists of tasks. Where it adds, stage 0 makes gradients of weights behind the last."""
    rank_of = list(range(ranks)) + [chance.randrange(ranks) for _ in range(stages - ranks)]
    chance.shuffle(rank_of)
    rows, done = [[] for _ in range(ranks)], set()
    left = [(kind, stage, microbatch) for microbatch in range(microbatches) for stage in range(stages) for kind in "FB"]
    splits, hurry, ascends = chance.choice((0, 0.3, 1)), chance.random(), chance.random() < 0.3

    def is_ready(task):
        kind, stage, microbatch = task
        if ascends and microbatch > 0 and kind != "W" and (kind, stage, microbatch - 1) not in done:
            return False
        if kind == "F":
            return stage == 0 or ("F", stage - 1, microbatch) in done
        if kind == "W":
            return stage > 0 or has_term(microbatch)
        return ("B" if stage < stages - 1 else "F", min(stage + 1, stages - 1), microbatch) in done

    def has_term(microbatch):
        return not adds or ("W", stages - 1, microbatch) in done

    while left:
        ready = [task for task in left if is_ready(task)]
        back = [task for task in ready if task[0] == "B"]
        task = chance.choice(back if back and chance.random() < hurry else ready)
        left.remove(task)
        done.add(task)
        kind, stage, microbatch = task
        if kind == "B" and (chance.random() < splits or (stage == 0 and not has_term(microbatch))):
            kind = "I"
            left.append(("W", stage, microbatch))
        elif kind == "B":
            done.add(("W", stage, microbatch))
        rows[rank_of[stage]].append(f"{stage}{kind}{microbatch}")
    return rows


def write(path, mesh, train, strategy, tied):
    with open(path, "w", encoding="utf-8") as to:
        to.write(f'import "lib/strategies.place"\nmodel tiny : {MODEL % tied}\ndevice core {{ memory = 4 GiB }}\n'
                 f"mesh ranks of core {{ {mesh} }}\n"
                 f"train {{ batch = 8  sequence = 8  optimizer = adamw(lr = 1e-3)  clip = 1.0  {train} }}\n"
                 f"strategy main {{ {strategy} }}\n")


def compare(seed, folder):
    chance = random.Random(seed)
    ranks = chance.choice((2, 2, 3))
    stages, microbatches = chance.randint(ranks, 6), chance.choice((1, 2, 4, 8))
    data = chance.choice((1, 1, 2)) if microbatches < 8 else 1
    train = f"microbatch = {8 // microbatches // data}"
    tied, in_order = chance.random() < 0.5, chance.random() < 0.4
    one, other, file = (os.path.join(folder, f"{seed}{end}") for end in (".one.place", ".place", ".csv"))
    with open(file, "w", encoding="utf-8") as to:
        to.writelines(",".join(row) + "\n" for row in order(chance, ranks, stages, microbatches,
                                                            tied and (in_order or microbatches == 1)))
    tied = str(tied).lower()
    if in_order:
        train += "  reproducible = 2"
    strategy = f'split layers over pp schedule from "{seed}.csv"  split batch over dp'
    write(one, "dp = 1", train, "split batch over dp", tied)
    write(other, f"pp = {ranks}  dp = {data}", train, strategy + chance.choice(("", "  use zero3(dp)")) * (data > 1), tied)
    step = subprocess.run([PLACEC, "emit", other], capture_output=True, check=False).stdout
    told = subprocess.run([PLACEC, "emit", "--as=pipeline", "--comms", other], capture_output=True, check=False).stdout
    with open(file, "wb") as to:
        to.write(told)
    if subprocess.run([PLACEC, "emit", other], capture_output=True, check=False).stdout != step or b"SEND_F" not in told:
        return f"seed {seed}: with its messages it is another schedule"
    done = subprocess.run([sys.executable, os.path.join(HERE, "trains_alike.py"), PLACEC, one, other,
                           "-Dtrain.precision=fp64"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"seed {seed}: {done.stdout}{done.stderr}"


seeds = [int(seed) for seed in SEEDS] or range(0, SEEDS_OF_TEST, int(os.environ.get("PLACE_TEST_EVERY", 1)))
with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [line for line in pool.map(lambda seed: compare(seed, temporary), seeds) if line]
sys.exit("\n".join(wrong) or None)

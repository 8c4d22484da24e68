#!/usr/bin/env python3
"""`placec equal` proves pairs that are too large to be executed, and ends on pairs that once took all memory.

Eight layers: scales of sums must not grow with their number. A scatter's index that depends on a guard which no other
test decides: the law of tests must not be applied again where nothing comes of it.

usage: equal_large.py PLACEC"""
import os
import resource
import subprocess
import sys
import tempfile

PLACEC, = sys.argv[1:]
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "equal"))
from llama import LlamaPair
from pairs import Pair

LAYERS, MOST_BYTES = 8, 1 << 30


def limit():
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))


def answer(pair):
    with tempfile.TemporaryDirectory() as folder:
        pair.write(folder)
        with open(os.path.join(folder, "assume"), encoding="utf-8") as lines:
            assumed = [f"--assume={line}" for line in lines.read().split()]
        names = [os.path.join(folder, name) for name in ("single.hlo", "dist.hlo", "meta.json")]
        done = subprocess.run([PLACEC, "equal", *names[:2], "--spec", names[2], *assumed], capture_output=True, text=True,
                              preexec_fn=limit)
        return done.returncode, done.stdout.split("\n")[0], done.stderr


code, line, error = answer(LlamaPair(LAYERS, 2, 8))
assert code == 0 and line.startswith("equal: "), (code, line, error)
for seed, number in ((50, 28), (50, 49)):
    code, line, error = answer(Pair(seed, number))
    assert code in (0, 1) and "no memory" not in error, (seed, number, code, line, error)

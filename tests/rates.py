#!/usr/bin/env python3
"""Schedules of learning rates are PyTorch's and torchtitan's, step by step: expected/rates.json has their numbers,
which tools/rates.py makes.

usage: rates.py PLACEC"""
import json
import os
import subprocess
import sys
import tempfile

PLACEC = os.path.abspath(sys.argv[1])
EXPECTED = os.path.join(os.path.dirname(os.path.abspath(__file__)), "expected", "rates.json")
FILE = """model tiny : gpt2 {{ layers = 1  hidden = 8  heads = 1  vocab = 256  sequence_limit = 8 }}
device core {{ memory = 1 GiB }}
mesh ranks of core {{ dp = 1 }}
train {{ batch = 1  sequence = 8  optimizer = sgd(lr = {}) }}
strategy main {{ split batch over dp }}
"""


def rates_of(text, steps):
    with open("a.place", "w", encoding="utf-8") as file:
        file.write(FILE.format(text))
    subprocess.run([PLACEC, "run", "a.place", "--data", "a.place", "--steps", str(steps), "--log", "log", "-q"], check=True)
    with open("log", encoding="utf-8") as log:
        return [json.loads(line)["lr"] for line in list(log)[1:]]


with open(EXPECTED, encoding="utf-8") as expected, tempfile.TemporaryDirectory() as folder:
    cases = json.load(expected)
    os.chdir(folder)
    for case in cases:
        found = rates_of(case["lr"], len(case["rates"]))
        assert len(found) == len(case["rates"]) and all(abs(a - b) <= 1e-15 for a, b in zip(found, case["rates"])), (
            f"{case['lr']} is not {case['is']}:\n{found}\n{case['rates']}")
print(f"{len(cases)} schedules are as PyTorch and torchtitan have them")

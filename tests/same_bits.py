#!/usr/bin/env python3
"""All strategies of a file train to the same bits on 1, 2, 4 and 8 devices: the losses and norms of some steps, and
the parameters behind them, which the optimizer's states have made what they are. The file has a mesh of the axes
`replica` and `shard` and says `reproducible`. Prints the one value, and how many runs had it.

usage: same_bits.py PLACEC FILE STEPS [-D...]
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

PLACEC, FILE, STEPS, *SETTINGS = sys.argv[1:]
TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "README.md")
MESHES = ((1, 1), (1, 2), (2, 1), (2, 2), (4, 2), (2, 4))


def bits(folder, strategy, replica, shard):
    log, saved = os.path.join(folder, "log"), os.path.join(folder, "saved")
    done = subprocess.run([PLACEC, "run", FILE, "--strategy", strategy, "--data", TEXT, "--steps", STEPS, "--quiet",
                           "--log", log, "--save", saved, "-D", f"replica={replica}", "-D", f"shard={shard}", *SETTINGS],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{strategy} on {replica} x {shard}: status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(log, encoding="utf-8") as lines:
        steps = [(step["loss"], step["grad_norm"]) for step in map(json.loads, lines) if "step" in step]
    with open(saved, "rb") as file:
        return hashlib.sha256(repr(steps).encode() + file.read()).hexdigest()[:16]


with open(FILE, encoding="utf-8") as file:
    strategies = re.findall(r"^strategy (\w+)", file.read(), re.MULTILINE)
with tempfile.TemporaryDirectory() as temporary:
    found = {(s, mesh): bits(temporary, s, *mesh) for s in strategies for mesh in MESHES}
if len(set(found.values())) != 1:
    sys.exit("\n".join(f"{value}  {s} on {mesh[0]} x {mesh[1]}" for (s, mesh), value in found.items()))
print(f"{len(found)} runs: {next(iter(found.values()))}")

#!/usr/bin/env python3
"""All strategies of a file train to the same bits on 1, 2, 4 and 8 devices: the losses and norms of some steps, and
the parameters and optimizer states behind them. The file has a mesh of the axes `replica` and `shard` and says
`reproducible`. Prints the one value, and how many runs had it.

usage: same_bits.py PLACEC FILE STEPS [-D...]
"""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "bench"))
import measure  # noqa: E402

PLACEC, FILE, STEPS, *SETTINGS = sys.argv[1:]
TEXT = os.path.join(ROOT, "README.md")
MESHES = ((1, 1), (1, 2), (2, 1), (2, 2), (4, 2), (2, 4))


def bits(folder, strategy, replica, shard):
    log, dump = os.path.join(folder, "log"), os.path.join(folder, "dump")
    done = subprocess.run([PLACEC, "run", FILE, "--strategy", strategy, "--data", TEXT, "--steps", STEPS, "--quiet",
                           "--log", log, "--dump", dump, "-D", f"replica={replica}", "-D", f"shard={shard}", *SETTINGS],
                          capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{strategy} on {replica} x {shard}: status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(log, encoding="utf-8") as lines:
        return measure.bits([step for step in map(json.loads, lines) if "step" in step], dump)


with open(FILE, encoding="utf-8") as file:
    strategies = re.findall(r"^strategy (\w+)", file.read(), re.MULTILINE)
with tempfile.TemporaryDirectory() as temporary:
    found = {(s, mesh): bits(temporary, s, *mesh) for s in strategies for mesh in MESHES}
if len(set(found.values())) != 1:
    sys.exit("\n".join(f"{value}  {s} on {mesh[0]} x {mesh[1]}" for (s, mesh), value in found.items()))
print(f"{len(found)} runs: {next(iter(found.values()))}")

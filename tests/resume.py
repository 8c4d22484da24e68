#!/usr/bin/env python3
"""A run that stops and goes on from its checkpoint has the bits of one that never stopped: losses, norms, parameters
and optimizer states, behind every one of some steps.

usage: resume.py PLACEC FILE [-D...] [--strategy S]   stops behind step 1, 2 ... of 5, and goes on alike
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PLACEC, FILE, *SETTINGS = sys.argv[1:]
DATA = os.path.join(ROOT, "README.md")
STEPS = 5


def run(folder, steps, *options):
    done = subprocess.run([PLACEC, "run", FILE, *SETTINGS, "--data", DATA, "--steps", str(steps), "--quiet",
                           "--log", "log", "--dump", "dump", *options],
                          capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{options}: status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(os.path.join(folder, "log"), encoding="utf-8") as lines:
        steps = [step for step in map(json.loads, lines) if "step" in step]
    with open(os.path.join(folder, "dump"), "rb") as file:
        return [(step["step"], step["loss"], step["grad_norm"]) for step in steps], file.read()


FILE, PLACEC = os.path.abspath(FILE), os.path.abspath(PLACEC)
with tempfile.TemporaryDirectory() as temporary:
    losses, states = run(temporary, STEPS)
    for stop in range(1, STEPS):
        first, _ = run(temporary, stop, "--checkpoint", "kept")
        second, resumed = run(temporary, STEPS, "--resume", "kept")
        if first + second != losses or resumed != states:
            sys.exit(f"stopped behind step {stop}: {first + second}, not {losses}; states "
                     f"{'are the same' if resumed == states else 'differ'}")
        shutil.rmtree(os.path.join(temporary, "kept"))
print(f"stopped and went on: {STEPS - 1} times, to the same bits")

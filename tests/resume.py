#!/usr/bin/env python3
"""A run that stops and goes on from its checkpoint has the bits of one that never stopped: losses, norms, loss scales,
parameters and optimizer states, behind two steps or, with PLACE_TEST_FULL in the environment, each. With --elsewhere,
which may be given several times, it goes on in another way: by these words in place of the others (`-D dp=1 --strategy
divided`), under the launcher that stands before a `:`.

usage: resume.py PLACEC FILE [-D...] [--strategy S] [--elsewhere "[LAUNCHER :] WORDS"]...
"""
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PLACEC, FILE, *SETTINGS = sys.argv[1:]
FILE, PLACEC = os.path.abspath(FILE), os.path.abspath(PLACEC)
DATA = os.path.join(ROOT, "README.md")
STEPS = 5
SHOWN = ("step", "loss", "grad_norm", "loss_scale", "skipped")
ELSEWHERE = []
while "--elsewhere" in SETTINGS:
    place = SETTINGS.index("--elsewhere")
    ELSEWHERE.append(SETTINGS[place + 1])
    del SETTINGS[place:place + 2]
STOPS = (2,) if ELSEWHERE else range(1, STEPS) if os.environ.get("PLACE_TEST_FULL") else (2, 3)


def states_of(dump):
    """Each tensor's bytes."""
    length = int.from_bytes(dump[:8], "little")
    header, data = json.loads(dump[8:8 + length]), dump[8 + length:]
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items() if name != "__metadata__"}


def run(folder, steps, *options, launcher=(), settings=None):
    words = SETTINGS if settings is None else settings
    done = subprocess.run([*launcher, PLACEC, "run", FILE, *words, "--data", DATA, "--steps", str(steps), "--quiet",
                           "--log", "log", "--dump", "dump", *options],
                          capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        sys.exit(f"{words} {options}: status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(os.path.join(folder, "log"), encoding="utf-8") as lines:
        steps = [step for step in map(json.loads, lines) if "step" in step]
    with open(os.path.join(folder, "dump"), "rb") as file:
        return [[step.get(key) for key in SHOWN] for step in steps], states_of(file.read())


def ways():
    """How a run goes on: its launcher and settings."""
    if not ELSEWHERE:
        return [((), None)]
    split = [text.rsplit(":", 1) for text in ELSEWHERE]
    return [(shlex.split(parts[0]) if len(parts) > 1 else (), shlex.split(parts[-1])) for parts in split]


with tempfile.TemporaryDirectory() as temporary:
    log = os.path.join(temporary, "log")
    losses, states = run(temporary, STEPS)
    went_on = 0
    for stop in STOPS:
        run(temporary, stop, "--checkpoint", "kept")
        shutil.copy(log, log + ".stopped")
        for launcher, settings in ways():
            shutil.copy(log + ".stopped", log)  # a run that goes on appends to it
            logged, resumed = run(temporary, STEPS, "--resume", f"kept/step-{stop:09}", "--checkpoint", "on",
                                  launcher=launcher, settings=settings)
            went_on += 1
            if logged != losses or resumed != states:
                sys.exit(f"stopped behind step {stop}, went on as {settings}: {logged}, not {losses}; states "
                         f"{'are the same' if resumed == states else 'differ'}")
            shutil.rmtree(os.path.join(temporary, "on"))
        shutil.rmtree(os.path.join(temporary, "kept"))
print(f"stopped and went on: {went_on} times, to the same bits")

#!/usr/bin/env python3
"""Kills a run at random moments, in steps and while it writes checkpoints, and goes on from what is there: after every
kill what is there is whole, and the run that was killed again and again ends with the bits of one that never was. With
a launcher one of its processes is killed, and the launcher ends the others.

usage: kill_resume.py [--launcher COMMAND] [--count N] PROGRAM LIBRARY_FOLDER

PROGRAM is runtime_linear. N moments (20; with PLACE_TEST_FULL in the environment 500), each a kill and a continuation.
Prints how many kills met a run that was writing.
"""
import argparse
import json
import os
import random
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser()
parser.add_argument("--launcher", default="")
parser.add_argument("--count", type=int, default=500 if os.environ.get("PLACE_TEST_FULL") else 20)
parser.add_argument("program")
parser.add_argument("libraries")
given = parser.parse_args()
LAUNCHER, PROGRAM = shlex.split(given.launcher), os.path.abspath(given.program)
STEPS, DEVICES, LIMIT = 24, 2, 120
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_", "PMIX_"))}
ENVIRONMENT.update({"LINEAR_DEVICES": str(DEVICES), "PLACE_TRANSPORT_PATH": os.path.abspath(given.libraries)})
ENVIRONMENT.update({name: value for name, value in os.environ.items() if name.startswith("OMPI_")})


def start(folder, *options):
    return subprocess.Popen([*LAUNCHER, PROGRAM, "--data", "text", "--steps", str(STEPS), "--quiet", *options], cwd=folder,
                            env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True)


def processes_of(run):
    """Those that train: the run itself, or what its launcher has started. A process whose parent is one of them is no
    rank: a sanitizer starts one that looks for leaks, and waits for it for ever."""
    parents = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            if int(fields[3]) == run.pid and os.readlink(f"/proc/{name}/exe") == PROGRAM:
                parents[int(name)] = int(fields[1])
        except OSError:
            pass
    return [process for process, parent in parents.items() if parent not in parents]


def saved(folder, *options):
    run = start(folder, "--save", "saved", "--log", "log", *options)
    out, errors = run.communicate(timeout=LIMIT)
    if run.returncode != 0:
        sys.exit(f"{options}: status {run.returncode}\n{out}{errors}")
    with open(os.path.join(folder, "saved"), "rb") as file, open(os.path.join(folder, "log"), encoding="utf-8") as log:
        return file.read(), {line["step"]: (line["loss"], line["grad_norm"]) for line in map(json.loads, log)
                             if "step" in line}


def kill_one(victims):
    """Whether one of them was killed: they may end while they are looked at."""
    try:
        os.kill(random.choice(victims), signal.SIGKILL)
    except (IndexError, ProcessLookupError):
        return False
    return True


def kill_once(folder, options, moment):
    """Whether the run was killed, and not over before."""
    run = start(folder, "--checkpoint", "kept", "--save-every", "1", "--keep", "2", "--log", "log", *options)
    time.sleep(moment)
    killed = kill_one(processes_of(run))
    _, errors = run.communicate(timeout=LIMIT)
    if run.returncode not in (0, -signal.SIGKILL) and not killed:
        sys.exit(f"a run ended by itself: status {run.returncode}\n{errors}")
    return killed


def main():
    random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "text"), "w", encoding="utf-8") as file:
            file.write("".join(random.choice(["the cat ", "sat on ", "a mat. ", "dogs "]) for _ in range(500)))
        begin = time.time()
        whole, losses = saved(folder)
        seconds = time.time() - begin
        kept = os.path.join(folder, "kept")
        continuations = writing = kills = 0
        while continuations < given.count:
            is_there = os.path.isdir(kept) and any(name.startswith("step-") for name in os.listdir(kept))
            options = ("--resume", "kept") if is_there else ()
            kills += kill_once(folder, options, random.uniform(0, 1.2 * seconds))
            names = os.listdir(kept) if os.path.isdir(kept) else []
            writing += any(name.startswith(".step-") for name in names)
            if not any(name.startswith("step-") for name in names):
                continue
            # What is there is whole, and goes on to the same bits.
            copy = os.path.join(folder, "copy")
            shutil.copytree(kept, copy)
            resumed, behind = saved(folder, "--resume", "copy")
            shutil.rmtree(copy)
            continuations += 1
            if resumed != whole or any(losses[step] != found for step, found in behind.items()):
                sys.exit(f"continuation {continuations}, from {sorted(names)}: other bits")
            if f"step-{STEPS:09}" in names:
                shutil.rmtree(kept)
        print(f"{kills} kills, {writing} of them while a checkpoint was written; {continuations} continuations, all to the "
              "same bits")


main()

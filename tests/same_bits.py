#!/usr/bin/env python3
"""All strategies of a file train to the same bits on 1, 2, 4 and 8 devices, by one and by two threads each: the losses
and norms of some steps, and the parameters and optimizer states behind them. The file has a mesh of the axes `replica`
and `shard` and says `reproducible`. Prints how many strategies the file has, and the one value.

Each strategy runs in one way, in turns, and the first in those that are nobody's turn, too; with PLACE_TEST_FULL in the
environment each in every way. With --every N each N-th strategy only runs, on meshes that are far apart.

usage: same_bits.py [--library FILE] [--launcher COMMAND] [--every N] PLACEC FILE STEPS [-D...]

The last run has the products of another library, which need not be products: where sums have an order, none are its.
With a launcher, which takes the number of processes next, one device is compared with four in processes of one and of
two.
"""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "bench"))
import measure  # noqa: E402

words, options = sys.argv[1:], {}
while words[0].startswith("--"):
    option, value, *words = words
    options[option] = value
LAUNCHER = shlex.split(options.get("--launcher", ""))
LIBRARY = options.get("--library")
EVERY = int(options.get("--every", 1))
STRIDE = 5 if EVERY > 1 else 1  # no number of ways divides it
PLACEC, FILE, STEPS, *SETTINGS = words
TEXT = os.path.join(ROOT, "README.md")
# replica, shard, threads of a device, processes (0: no launcher)
ALONE = ((1, 1, 1, 0), (1, 1, 2, 0), (1, 2, 1, 0), (2, 1, 2, 0), (2, 2, 1, 0), (4, 2, 1, 0), (2, 4, 1, 0))
WAYS = ((1, 1, 1, 0), (2, 2, 1, 2), (2, 2, 1, 4)) if LAUNCHER else ALONE
FULL = bool(os.environ.get("PLACE_TEST_FULL"))


def bits(folder, strategy, replica, shard, threads, processes, library=None):
    log, dump = os.path.join(folder, "log"), os.path.join(folder, "dump")
    launched = [*LAUNCHER, str(processes)] if processes else []
    done = subprocess.run([*launched, PLACEC, "run", FILE, "--strategy", strategy, "--data", TEXT, "--steps", STEPS,
                           "--quiet", "--log", log, "--dump", dump, "--threads", str(threads),
                           "-D", f"replica={replica}", "-D", f"shard={shard}", *SETTINGS],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "PLACE_PRODUCT_LIBRARY": library} if library else None)
    if done.returncode != 0:
        sys.exit(f"{strategy} on {replica} x {shard}: status {done.returncode}\n{done.stdout}{done.stderr}")
    with open(log, encoding="utf-8") as lines:
        return measure.bits([step for step in map(json.loads, lines) if "step" in step], dump)


with open(FILE, encoding="utf-8") as file:
    strategies = re.findall(r"^strategy (\w+)", file.read(), re.MULTILINE)
with tempfile.TemporaryDirectory() as temporary:
    found = {(s, way): bits(temporary, s, *way)
             for i, s in enumerate(strategies[::EVERY]) for k, way in enumerate(WAYS)
             if FULL or k == i * STRIDE % len(WAYS) or (i == 0 and EVERY == 1 and k >= len(strategies))}
    if LIBRARY:
        found[strategies[0] + ", by another library", WAYS[0]] = bits(temporary, strategies[0], *WAYS[0], LIBRARY)
if len(set(found.values())) != 1:
    sys.exit("\n".join(f"{value}  {strategy} on {replica} x {shard}, {threads} threads each, {processes} processes"
                       for (strategy, (replica, shard, threads, processes)), value in found.items()))
print(f"strategies: {len(strategies)}, value: {next(iter(found.values()))}")

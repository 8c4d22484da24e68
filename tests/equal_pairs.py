#!/usr/bin/env python3
"""Generated pairs of HLO texts (equal/pairs.py) are what they are said to be: executed, each right one is equal, each
wrong one can be executed, and most mistakes bite. The same seed makes the same texts.

usage: equal_pairs.py JUDGE    with PLACE_TEST_EVERY=N in the environment, fewer of them"""
import filecmp
import os
import re
import subprocess
import sys
import tempfile

JUDGE, = sys.argv[1:]
PAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "equal", "pairs.py")
COUNT, MUTANTS = 40 if int(os.environ.get("PLACE_TEST_EVERY", 1)) > 1 else 200, 1


def made(folder, count):
    subprocess.run([sys.executable, PAIRS, "--seed", "11", "--count", str(count), "--mutants", str(MUTANTS), folder],
                   check=True)
    return sorted(os.path.join(folder, name) for name in os.listdir(folder))


with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
    folders = made(first, COUNT)
    judged = subprocess.run([JUDGE, *folders], capture_output=True, text=True)
    sys.stdout.write("".join(line + "\n" for line in judged.stdout.splitlines()
                             if ("__wrong" not in line and not line.endswith(" equal")) or "cannot" in line))
    right, other, bite, do_not, unknown = map(int, re.findall(r"\d+", judged.stdout.splitlines()[-1]))
    assert judged.returncode == 0 and (right, other, unknown) == (COUNT, 0, 0), judged.stdout[-2000:]
    planted = COUNT * MUTANTS  # but for programs of a product or two, in which nothing can be wrong
    assert bite + do_not > 0.95 * planted and bite > 0.8 * planted, (bite, do_not)
    for folder in made(second, 5):
        names = os.listdir(folder)
        _, unlike, missing = filecmp.cmpfiles(folder, os.path.join(first, os.path.basename(folder)), names, False)
        assert not unlike and not missing, (folder, unlike, missing)

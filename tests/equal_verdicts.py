#!/usr/bin/env python3
"""Verdicts of `placec equal` on generated pairs (equal/pairs.py), against what execution finds (equal_table.c): no wrong
program is accepted, no right one refuted, every text is understood, within bounds of time and memory. With
PLACE_TEST_FULL in the environment 2,000 right ones and as many wrong ones, written in either way.

usage: equal_verdicts.py TABLE"""
import os
import subprocess
import sys
import tempfile

TABLE = os.path.abspath(sys.argv[1])
PAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "equal", "pairs.py")
COUNT = 2000 if os.environ.get("PLACE_TEST_FULL") else 12
failed = 0
for written in [], ["--plain"]:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, PAIRS, "--seed", "13", "--count", str(COUNT), "--mutants", "1", *written, folder],
                       check=True)
        names = sorted(os.listdir(folder))
        table = subprocess.run([TABLE, *names], cwd=folder, capture_output=True, text=True)
        print(" ".join(written) or "--varied", table.stdout, table.stderr, sep="\n")
        failed |= table.returncode
sys.exit(failed)

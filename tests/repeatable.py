#!/usr/bin/env python3
"""Every example twice on its mesh: both runs end with the same bits of parameters and of optimizer states, and all
ranks hold equal copies (a dump is refused where one differs in a bit). Gradients are clipped in every step, and sizes
are odd where the strategy lets them, so that shards have padding.

usage: repeatable.py PLACEC EXAMPLES_FOLDER TEXT
A few steps of every sixth example; with PLACE_TEST_FULL in the environment 1,000 steps of all. With
PLACE_TEST_EVERY=N, every N-th of them only.
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

from runnable import runnable

PLACEC, FOLDER, TEXT = sys.argv[1:4]
FULL = bool(os.environ.get("PLACE_TEST_FULL"))
STEPS, STRIDE = (1000, 1) if FULL else (5, 6)
# A rate that does not end before the run does. Sequences are short: what repeats is the same at any length.
SETTINGS = ["-Dtrain.optimizer=adamw(lr = 1e-3, weight_decay = 0.1)", "-Dtrain.sequence=16"]
# Taken where the example's axes leave them whole: sizes that are odd, and such that 1,000 steps take less time.
WHERE_ACCEPTED = ("-Dtrain.clip=0.1", "-Dmodel.vocab=251", "-Dmodel.ffn=139", "-Dmodel.hidden=64", "-Dtrain.batch=8")


def placec(*words):
    return subprocess.run([PLACEC, *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)


def settings_of(path):
    """Those under which the example is accepted, with as many other sizes as it can have."""
    settings = list(SETTINGS)
    for size in WHERE_ACCEPTED:
        if placec("check", path, *settings, size).returncode == 0:
            settings.append(size)
    return settings


class Repeatable(unittest.TestCase):
    def dump(self, path, settings, file):
        """The bytes of all states, and what every step said."""
        log = file + ".jsonl"
        done = placec("run", path, *settings, "--data", TEXT, "--steps", str(STEPS), "--quiet", "--dump", file, "--log", log)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        with open(log, encoding="utf-8") as lines:
            steps = [step for step in map(json.loads, lines) if "step" in step]
        with open(file, "rb") as states:
            return states.read(), [(step["loss"], step["grad_norm"]) for step in steps]

    def check_example(self, path):
        settings = settings_of(path)
        with tempfile.TemporaryDirectory() as folder:
            states, steps = self.dump(path, settings, os.path.join(folder, "one"))
            again, steps_again = self.dump(path, settings, os.path.join(folder, "other"))
        self.assertEqual(steps, steps_again)
        self.assertTrue(states == again, "states differ in bits")
        self.assertEqual(len(steps), STEPS)
        self.assertTrue(all(norm > 0.1 for _, norm in steps[:5]), "the clip does not bite")


def add_tests():
    paths = runnable(PLACEC, FOLDER, slice(None, None, STRIDE * int(os.environ.get("PLACE_TEST_EVERY", 1))))
    if not paths:
        sys.exit(f"no examples in {FOLDER}")
    for path in paths:
        name = "test_" + os.path.splitext(os.path.basename(path))[0]
        setattr(Repeatable, name, lambda self, path=path: self.check_example(path))


add_tests()
unittest.main(argv=[sys.argv[0]], verbosity=2)

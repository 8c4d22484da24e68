#!/usr/bin/env python3
"""Two files train alike in fp64, where a difference means something: losses, norms and parameters of three steps. Where
they are `reproducible` none may differ in a bit. What the other holds and sends, and has alive, is what was accounted
for it, and its plan has no flaws unless it was written by hand. The one is the file whose program the other has edited,
say, or the same on a mesh of one device.

usage: trains_alike.py PLACEC ONE OTHER [-D...]     with the settings for which an edited program was printed
"""
import array
import json
import os
import re
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
import traffic  # noqa: E402

PLACEC, ONE, OTHER, *SETTINGS = sys.argv[1:]
TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "README.md")
WITHIN = 1e-9  # of a loss, of a norm, of a tensor's largest element
FLAWS = ("overlapping", "unfreed", "unused")
STATES = ("parameters", "optimizer", "gradients", "activations", "transient")


def die(message):
    sys.exit(f"trains_alike.py: {message}")


def placec(*words):
    done = subprocess.run([PLACEC, *words, *SETTINGS], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        die(f"placec {' '.join(words)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run(path, folder, name):
    """What each of three steps says, and the tensors behind the last."""
    log, saved = os.path.join(folder, name + ".jsonl"), os.path.join(folder, name)
    placec("run", path, "--data", TEXT, "--steps", "3", "--quiet", "--log", log, "--save", saved)
    with open(log, encoding="utf-8") as lines:
        steps = [step for step in map(json.loads, lines) if "step" in step]
    with open(saved, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    if any(tensor["dtype"] != "F64" for tensor in header.values()) or len(steps) != 3:
        die(f"{path}: not three steps in fp64")
    return steps, {name: array.array("d", data[slice(*tensor["data_offsets"])]) for name, tensor in header.items()}


def text_of(path):
    with open(path, encoding="utf-8") as text:
        return text.read()


def compare(ours, theirs):
    said = re.sub("//.*", "", text_of(ONE))
    within = 0 if re.search("reproducible = [1-9]", said) else WITHIN
    (steps, tensors), (other_steps, other_tensors) = ours, theirs
    for step, other in zip(steps, other_steps):
        for what in ("loss", "grad_norm"):
            if not abs(step[what] - other[what]) <= within * abs(other[what]):
                die(f"{what} of step {step['step']}: {step[what]}, and {other[what]} in {ONE}")
    if tensors.keys() != other_tensors.keys():
        die("other tensors are saved")
    for name, values in tensors.items():
        largest = max(map(abs, other_tensors[name]))
        if not all(abs(a - b) <= within * largest for a, b in zip(values, other_tensors[name], strict=True)):
            die(f"{name} is another than what {ONE} makes of it")


def is_derived(path):
    """A program that somebody wrote may waste memory."""
    return not re.search(r"^step ", text_of(path), re.MULTILINE)


def check_account(report, steps):
    memory = report["memory"]
    live = max((stage["live"] for stage in memory["stages"]), key=lambda live: live["peak"])
    for step in steps:
        sent = {axis: count for axis, count in step["bytes_sent"].items() if count}
        predicted = traffic.predicted(report, traffic.is_average(report, step["step"], len(steps)))
        copied = dict(report["copied"])
        if traffic.is_average(report, step["step"], len(steps)):
            copied = {tier: copied[tier] + report["copied_to_average"][tier] for tier in copied}
        if step["bytes_copied"] != copied:
            die(f"copied {step['bytes_copied']}; predicted {copied}")
        if sent != predicted or step["peak_bytes"] != memory["peak"]:
            die(f"sent {sent}, held {step['peak_bytes']}; predicted {predicted}, {memory['peak']}")
        if any(step["live_bytes"][state] != live[state] for state in STATES):
            die(f"alive {step['live_bytes']}; predicted {live}")
        if is_derived(OTHER) and any(step["live_bytes"][flaw] for flaw in FLAWS):
            die(f"flaws of a plan: {step['live_bytes']}")


with tempfile.TemporaryDirectory() as temporary:
    other = run(OTHER, temporary, "other")
    compare(other, run(ONE, temporary, "one"))
    check_account(json.loads(placec("check", OTHER, "--json")), other[0])

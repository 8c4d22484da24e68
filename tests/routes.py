#!/usr/bin/env python3
"""Holds `placec emit --as=routes` of every example: to the text that a person has read (golden/routes), to 80
columns, and to what `check` says is sent of parameters and gradients.

    routes.py PLACEC ROOT    PLACE_UPDATE_GOLDENS=1 in the environment writes the texts anew; with PLACE_TEST_EVERY=N
                             every N-th example only"""
import glob
import json
import os
import re
import subprocess
import sys

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30}
# Behind how often a hop is made, what it sends.
SENT = re.compile(r"(?:(copied [a-z ]+))?, (?:once|\d+ times|\d+ layers?(?: x \d+)?), ([\d.]+) (\w+)")


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}: {done.stderr}")
    return done.stdout


def paragraphs(text):
    """State and words of each, on one line."""
    for paragraph in re.split(r"\n(?=\S)", text.strip()):
        words = " ".join(paragraph.split())
        yield words.split()[0], words


def sent_by_routes(text):
    """Bytes by state, and how far they may be off: sizes are told in three digits or so."""
    sent = {}
    for of, words in paragraphs(text):
        for copied, number, unit in SENT.findall(words):
            state = "copied" if copied else of
            bytes_sent, off = sent.get(state, (0, 0))
            sent[state] = (bytes_sent + float(number) * UNITS[unit], off + (0.005 * UNITS[unit] if unit != "B" else 0))
    return sent


def copied_activations(text):
    """Bytes of the lines of what is copied, in the report for people."""
    return sum(float(number) * UNITS[unit]
               for number, unit in re.findall(r" to \w+ activations +\d+ times +([\d.]+) (\w+)", text))


def sent_by_account(report, text):
    """Starts of the training step. What an average sends belongs to no route of that step, nor does what the ends of a
    pipeline tell each other of a tied table, and what is done with it at both is told once."""
    sent = {}
    for transfer in report["communication"]:
        if transfer["op"] == "send" or (transfer["role"] == "embedding" and transfer["stage"] > 0):
            continue
        if transfer["state"] in ("parameters", "gradients") and transfer["every"] == 1:
            sent[transfer["state"]] = sent.get(transfer["state"], 0) + transfer["bytes"]
    # Activations have no routes.
    sent["copied"] = sum(report["copied"].values()) - copied_activations(text)
    return sent


def complaints(placec, path, golden):
    text = run(placec, "emit", "--as=routes", path)
    if os.environ.get("PLACE_UPDATE_GOLDENS"):
        os.makedirs(os.path.dirname(golden), exist_ok=True)
        with open(golden, "w", encoding="utf-8") as file:
            file.write(text)
    if not os.path.exists(golden):
        yield f"there is no {golden}"
    elif open(golden, encoding="utf-8").read() != text:
        yield f"{golden} says otherwise than `placec emit --as=routes {path}`"
    for line in text.splitlines():
        if len(line) > 80:
            yield f"{path}: {len(line)} columns: {line}"
    report = json.loads(run(placec, "check", "--json", path))
    routes, account = sent_by_routes(text), sent_by_account(report, run(placec, "check", path))
    for state in sorted(set(routes) | set(account)):
        told, off = routes.get(state, (0, 0))
        if abs(told - account.get(state, 0)) > off:
            yield f"{path}: routes send {told:.0f} bytes of {state}, the account says {account.get(state, 0)}"


def main():
    placec, root = sys.argv[1:3]
    found = []
    paths = sorted(glob.glob(os.path.join(root, "examples", "*.place")))
    for path in paths[:: int(os.environ.get("PLACE_TEST_EVERY", 1))]:
        name = os.path.basename(path).removesuffix(".place")
        found += complaints(placec, path, os.path.join(root, "tests", "golden", "routes", f"{name}.routes"))
    print("\n".join(found))
    return 1 if found else 0


sys.exit(main())

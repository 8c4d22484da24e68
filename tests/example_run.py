#!/usr/bin/env python3
"""Runs an example for a few steps and holds what `check --json` said of it before:

    example_run.py PLACEC FILE DATA

- every device held the predicted bytes, and sent the predicted bytes over each axis, every step;
- the losses and gradient norms are those of the same file on one device, to rounding."""
import json
import os
import subprocess
import sys
import tempfile

STEPS = 3
TOLERANCE = 1e-5  # of a loss in fp32 when only the order of sums differs


def run(placec, file, data, log, *settings):
    command = [placec, "run", file, "--data", data, "--steps", str(STEPS), "--log", log, "--quiet", *settings]
    subprocess.run(command, check=True)
    with open(log, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if '"step"' in line]


def predicted_bytes(report):
    """Bytes per axis; a step is `train`, so what belongs to no phase of it is not there."""
    sent = {}
    for row in report["communication"]:
        sent[row["axis"]] = sent.get(row["axis"], 0) + row["bytes"]
    return sent


def complaints(placec, file, data, scratch):
    report = json.loads(subprocess.run([placec, "check", file, "--json"], check=True, capture_output=True).stdout)
    steps = run(placec, file, data, os.path.join(scratch, "log"))
    alone = [f"-D{axis['axis']}=1" for axis in report["mesh"] if not axis["factors"]]
    reference = run(placec, file, data, os.path.join(scratch, "alone"), *alone)
    if len(steps) != STEPS or len(reference) != STEPS:
        yield f"{len(steps)} and {len(reference)} steps in the logs"
    for one, other in zip(steps, reference):
        for key in ("loss", "grad_norm"):
            if abs(one[key] - other[key]) > TOLERANCE * abs(other[key]):
                yield f"step {one['step']}: {key} {one[key]}, on one device {other[key]}"
        if one["peak_bytes"] != report["memory"]["peak"]:
            yield f"step {one['step']}: held {one['peak_bytes']} bytes, predicted {report['memory']['peak']}"
        if one["bytes_sent"] != predicted_bytes(report):
            yield f"step {one['step']}: sent {one['bytes_sent']}, predicted {predicted_bytes(report)}"


def main():
    placec, file, data = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        found = list(complaints(placec, file, data, scratch))
    for line in found:
        print(f"{file}: {line}")
    return 1 if found else 0


sys.exit(main())

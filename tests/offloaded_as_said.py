#!/usr/bin/env python3
"""Holds runs of which the states are elsewhere against the derived program's run and against what `check` said. Of a
sample (offloaded_ways.py) those that ran.

    offloaded_as_said.py PREFIX DERIVED WAY..."""
import json
import os
import sys


def steps(path):
    with open(path, encoding="utf-8") as log:
        return [json.loads(line) for line in list(log)[1:]]


prefix, derived, *ways = sys.argv[1:]
own = steps(f"{prefix}.{derived}.log")
for way in ways:
    if os.path.exists(f"{prefix}.{way}.place") and not os.path.exists(f"{prefix}.{way}.log"):
        continue
    log = steps(f"{prefix}.{way}.log")
    with open(f"{prefix}.{way}.json", encoding="utf-8") as report:
        said = json.load(report)
    training = min(sum(step["bytes_sent"].values()) for step in log)
    memory, live = said["memory"], said["memory"]["live"]
    assert len(log) == 3
    for mine, step in zip(own, log):
        assert step["loss"] == mine["loss"] and step["grad_norm"] == mine["grad_norm"], way
        copied = dict(said["copied"])
        if sum(step["bytes_sent"].values()) > training:  # it averages
            copied = {tier: copied[tier] + said["copied_to_average"][tier] for tier in copied}
        assert step["bytes_copied"] == copied, (way, step["bytes_copied"], copied)
        assert step["bytes_sent"] == mine["bytes_sent"], way
        assert step["peak_bytes"] == memory["peak"], (way, step["peak_bytes"], memory["peak"])
        assert all(step["peak_bytes_beyond"][tier] == memory[tier] for tier in ("host", "disk")), way
        assert all(step["live_bytes"][key] == live[key] for key in live if key not in ("line", "statement")), way
        assert not any(step["live_bytes"][flaw] for flaw in ("overlapping", "unfreed")), way
    assert not log[-1]["live_bytes"]["unused"], way  # once what only an average uses has been alive

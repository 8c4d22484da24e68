#!/usr/bin/env python3
"""Ranks that take turns: usage: turns.py TURNS TRACE COMMAND...

Runs the command, which writes a trace, on one core. In its second half no more tasks are under way at a time than
TURNS: in the first steps ranks may not have waited yet.
"""
import json
import os
import subprocess
import sys


def most_at_a_time(spans):
    moments = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    most = now = 0
    for _, change in moments:
        now += change
        most = max(most, now)
    return most


turns, trace, *command = sys.argv[1:]
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
subprocess.run(command, check=True)
with open(trace, encoding="utf-8") as file:
    tasks = [event for event in json.load(file)["traceEvents"] if event.get("cat") == "task"]
half = sorted(event["ts"] for event in tasks)[len(tasks) // 2]
late = [(event["ts"], event["ts"] + event["dur"]) for event in tasks if event["ts"] >= half]
assert late, "no tasks"
assert most_at_a_time(late) == int(turns), f"{most_at_a_time(late)} tasks at a time"

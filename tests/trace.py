#!/usr/bin/env python3
"""Holds a trace (`placec run --trace`) to its format: usage: trace.py FILE RANKS THREADS [PIPELINE PLACEC]

Complete events of every rank, which has a name, from 0 on; a row for each thread; the spans of a rank's own thread
follow one another, those of its helpers lie inside of them. Of a pipeline, which is the file of its strategy, each rank
has a row of tasks, too: these are the schedule's in its order, of each step; where the rank waits for a message is a
gap, and all that it does on a task lies in the task.
"""
import itertools
import json
import re
import subprocess
import sys

SLACK = 0.002  # of rounding, in microseconds


def end_of(event):
    return event["ts"] + event["dur"]


def check_threads(rows, ranks, threads):
    for rank in range(ranks):
        own = rows[rank, 0]
        for before, after in zip(own, own[1:]):
            assert after["ts"] >= end_of(before) - SLACK, (before, after)
        names = {event["name"] for event in own}
        assert any(name.startswith("einsum in ") for name in names), names
        assert all(event["args"]["line"] > 0 for event in own)
        begin, end = own[0]["ts"], end_of(own[-1])
        for thread in range(1, threads):
            for event in rows.get((rank, thread), []):
                assert begin - SLACK <= event["ts"] and end_of(event) <= end + SLACK, event


def schedule(path, placec):
    """[(stage, letter, microbatch)] for each rank along the pipeline."""
    text = subprocess.run([placec, "emit", "--as=pipeline", path], capture_output=True, text=True, check=True).stdout
    return [[(int(stage), letter, int(microbatch)) for stage, letter, microbatch
             in re.findall(r"(\d+)([FBIW])(\d+)", row)] for row in text.splitlines()]


def task_of(event):
    return tuple(event["args"].get(name) for name in ("stage", "task", "microbatch"))


def check_tasks(rows, rank, row, expected):
    tasks, own = rows[rank, row], rows[rank, 0]
    order = [task for task, _ in itertools.groupby(map(task_of, tasks))]
    steps, rest = divmod(len(order), len(expected))
    assert steps > 0 and rest == 0 and order == steps * expected, (rank, order, expected)
    for event in tasks:
        assert event["name"] == "{}{}{}".format(*task_of(event)) and event["cat"] == "task", event
        inside = [span for span in own if span["ts"] < end_of(event) - SLACK and end_of(span) > event["ts"] + SLACK]
        assert inside and {task_of(span) for span in inside} == {task_of(event)}, (event, inside)
        assert not any("waiting" in span["cat"] for span in inside), (event, inside)
    works = [span for span in own if "task" in span["args"] and not re.search("waiting|messages", span["cat"])]
    assert works and any(span["cat"] == "waiting for messages" for span in own)
    for span in works:
        assert any(event["ts"] - SLACK <= span["ts"] and end_of(span) <= end_of(event) + SLACK for event in tasks), span


def check_pipeline(rows, processes, threads, path, placec):
    orders = schedule(path, placec)
    begin = {}  # of the first task, by place along the pipeline
    for rank, name in processes.items():
        place = int(re.search(r"\bpp (\d+)", name)[1])
        check_tasks(rows, rank, threads, orders[place])
        begin[place] = min(begin.get(place, float("inf")), rows[rank, threads][0]["ts"])
    assert min(begin, key=begin.get) == 0, begin


def main():
    path, ranks, threads, *pipeline = sys.argv[1:]
    ranks, threads = int(ranks), int(threads)
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    names = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    expected = {(rank, thread): f"thread {thread}" for rank in range(ranks) for thread in range(threads)}
    expected |= {(rank, threads): "tasks" for rank in range(ranks) if pipeline}
    assert names == expected, names
    processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert all(processes[rank].startswith(f"rank {rank}: ") for rank in range(ranks)), processes
    spans = [event for event in events if event["ph"] == "X"]
    assert min(e["ts"] for e in spans) == 0 and all(e["dur"] >= 0 for e in spans)
    rows = {}
    for event in spans:
        rows.setdefault((event["pid"], event["tid"]), []).append(event)
    check_threads(rows, ranks, threads)
    if pipeline:
        check_pipeline(rows, processes, threads, *pipeline)
    else:
        assert all("reduce_scatter dp" in {event["name"] for event in rows[rank, 0]} for rank in range(ranks))
        assert not any("task" in event["args"] for event in spans)


main()

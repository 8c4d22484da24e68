#!/usr/bin/env python3
"""Holds a trace (`placec run --trace`) to its format: usage: trace.py FILE RANKS THREADS

Complete events of every rank, which has a name, from 0 on; a row for each thread; the spans of a rank's own thread follow one another, those of
its helpers lie inside of them.
"""
import json
import sys


def main():
    path, ranks, threads = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with open(path, encoding="utf-8") as file:
        events = json.load(file)["traceEvents"]
    named = {(e["pid"], e["tid"]) for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert named == {(rank, thread) for rank in range(ranks) for thread in range(threads)}, named
    processes = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
    assert processes == {rank: f"rank {rank}: dp {rank}" for rank in range(ranks)}, processes
    assert min(e["ts"] for e in events if e["ph"] == "X") == 0 and all(e["dur"] >= 0 for e in events if e["ph"] == "X")
    rows = {}
    for event in events:
        if event["ph"] == "X":
            rows.setdefault((event["pid"], event["tid"]), []).append(event)
    for rank in range(ranks):
        own = rows[rank, 0]
        for before, after in zip(own, own[1:]):
            assert after["ts"] >= before["ts"] + before["dur"] - 0.002, (before, after)
        names = {event["name"] for event in own}
        assert "reduce_scatter dp" in names and any(name.startswith("einsum in ") for name in names), names
        assert all(event["args"]["line"] > 0 for event in own)
        begin, end = own[0]["ts"], own[-1]["ts"] + own[-1]["dur"]
        for thread in range(1, threads):
            for event in rows.get((rank, thread), []):
                assert begin - 0.002 <= event["ts"] and event["ts"] + event["dur"] <= end + 0.002, event


main()

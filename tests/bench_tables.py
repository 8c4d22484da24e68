#!/usr/bin/env python3
"""A benchmark's tables as text and as JSON (docs/json.md): what reads as a number is one, shares are fractions, and
the tables of several benchmarks come together in one file.

    bench_tables.py ROOT"""
import contextlib
import io
import json
import os
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "bench"))
import measure  # noqa: E402

VALUES = {"12,345": 12345, "0.5": 0.5, "66%": 0.66, "5.3e-09": 5.3e-09, "-3": -3, "007": "007", "-": "-", "": "",
          "64 MiB": "64 MiB", "1.13.0a0": "1.13.0a0", "not found": "not found"}


def main():
    for cell, value in VALUES.items():
        got = measure.value(cell)
        assert got == value and isinstance(got, type(value)), (cell, got)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLACE_BENCH_JSON"] = os.path.join(folder, "bench.json")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            measure.table("first", ["", "GB/s"], [["all_reduce", 3.25]])
            measure.table("second", ["of peak"], [["7%"]])
        with open(os.environ["PLACE_BENCH_JSON"], encoding="utf-8") as file:
            report = json.load(file)
    assert printed.getvalue() == "first\n            GB/s\nall_reduce  3.25\n\nsecond\nof peak\n7%\n\n", printed.getvalue()
    assert set(report) == {"schema", "commit", "cpu", "cores", "tables"} and report["cores"] > 0, report
    assert report["tables"] == [
        {"benchmark": "bench_tables.py", "title": "first", "columns": ["", "GB/s"], "rows": [["all_reduce", 3.25]]},
        {"benchmark": "bench_tables.py", "title": "second", "columns": ["of peak"], "rows": [[0.07]]}], report


main()

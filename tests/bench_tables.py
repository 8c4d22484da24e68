#!/usr/bin/env python3
"""A benchmark's tables as text and as JSON (docs/json.md): what reads as a number is one, shares are fractions, and
the tables of several benchmarks come together in one file. Every benchmark says what it takes, and refuses what it does
not, before anything is measured, with no command built.

    bench_tables.py ROOT"""
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(sys.argv[1], "bench"))
import measure  # noqa: E402

VALUES = {"12,345": 12345, "0.5": 0.5, "66%": 0.66, "5.3e-09": 5.3e-09, "-3": -3, "007": "007",
          "1,234,567.5": 1234567.5, "1e+20": 1e20, "123e4567": "123e4567", "12345e67": "12345e67", "1e+999": "1e+999",
          "2,3": "2,3", "1,,234": "1,,234", "1234,567": "1234,567", measure.Word("12345678"): "12345678", "-": "-", "": "",
          "64 MiB": "64 MiB", "1.13.0a0": "1.13.0a0", "not found": "not found"}
WRONG = [["--lama"], ["-1"], ["0", "0"]]
WRONG_OF = {"training": [["--rounds", "0"], ["--steps", "none"], ["no such row"]], "reproducible": [["--steps", "0"]],
            "hidden": [["--steps", "-3"]], "collectives": [["0"], ["nan"], ["1e9"]], "kernels": [["x"]],
            "compiler": [["no such commit"]], "pipeline": [["--ranks", "3"], ["--steps", "0"], ["one_f_one"]]}


def run(path, *words):
    return subprocess.run([sys.executable, path, *words], capture_output=True, text=True, check=False,
                          env={**os.environ, "PLACEC": "/nowhere/placec", "PYTHONDONTWRITEBYTECODE": "1"})


def check_command_lines():
    folder = os.path.join(sys.argv[1], "bench")
    benchmarks = [file.name for file in os.scandir(folder) if file.is_file() and os.access(file.path, os.X_OK)]
    assert set(WRONG_OF) < set(benchmarks), benchmarks
    for name in benchmarks:
        path = os.path.join(folder, name)
        done = run(path, "--help")
        assert done.returncode == 0 and done.stdout.startswith("usage: ") and done.stderr == "", (name, done)
        assert done.stdout.count("usage:") == 1, done.stdout
        for words in WRONG + WRONG_OF.get(name, []):
            done = run(path, *words)
            assert done.returncode == 2 and f"{name}: error: " in done.stderr, (name, words, done)


def main():
    check_command_lines()
    for cell, value in VALUES.items():
        got = measure.value(cell)
        assert got == value and isinstance(got, type(value)), (cell, got)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["PLACE_BENCH_JSON"] = os.path.join(folder, "bench.json")
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            measure.table("first", ["", "GB/s"], [["all_reduce", 3.25]])
            measure.table("second", ["of peak", "bits"], [["7%", measure.Word("12345678")]])
        with open(os.environ["PLACE_BENCH_JSON"], encoding="utf-8") as file:
            report = json.load(file)
    assert printed.getvalue() == "first\n            GB/s\nall_reduce  3.25\n\nsecond\nof peak      bits\n7%       12345678\n\n", \
        printed.getvalue()
    assert set(report) == {"schema", "commit", "cpu", "cores", "tables"} and report["cores"] > 0, report
    assert report["tables"] == [
        {"benchmark": "bench_tables.py", "title": "first", "columns": ["", "GB/s"], "rows": [["all_reduce", 3.25]]},
        {"benchmark": "bench_tables.py", "title": "second", "columns": ["of peak", "bits"],
         "rows": [[0.07, "12345678"]]}], report


main()

#!/usr/bin/env python3
"""Every row of the tables of options that are in vain beside others (driver/option_pairs.def, and of a run
runtime/option_pairs.def): both together are refused, or warned of, by a message that names them; each alone is not.
A built executable says of the options of a run what the command says.

    option_pairs.py PLACEC ROOT FILE"""
import os
import re
import subprocess
import sys
import tempfile

PLACEC, ROOT, FILE = map(os.path.abspath, sys.argv[1:])
VERBS = {"SPANS": "emit", "VERBOSE": "check", "JSON": "check", "FIX": "check", "TIMELINE": "check"}
VALUES = {"DATA_TYPE": "text", "SEED": "1", "SAVE_EVERY": "9", "EVAL_EVERY": "9"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as text:
        return text.read()


NAMES = dict(re.findall(r'^(?:OPTION|REPEATED|RUN_\w+)\((\w+),(?: \w+,)? "([\w-]+)"', read("driver/options.def") +
                        read("runtime/options.def"), re.M))
KINDS = {option: kind for kind, option in re.findall(r"^RUN_(\w+)\((\w+),", read("runtime/options.def"), re.M)}
FLAGS = {"SPANS", "TIMELINE", "COMPILE_ONLY", "VERBOSE", "JSON", "FIX"} | {option for option, kind in KINDS.items() if kind == "FLAG"}


def rows():
    """(option, other, value). What the table says of all options of a run, it says of each."""
    table = read("driver/option_pairs.def")
    for option, other, value in re.findall(r'^VOID\((\w+), (\w+), "(\w*)",', table, re.M):
        yield option, other, value
    for kind, other, value in re.findall(r'^#define RUN_(\w+)\(.*\) VOID\(ID, (\w+), "(\w*)",', table,
                                                 re.M):
        yield from ((option, other, value) for option, of in KINDS.items() if of == kind)
    table = read("runtime/option_pairs.def")
    for option, other in re.findall(r"^NEEDS\((\w+), (\w+),", table, re.M):
        yield option, other, "0"
    for option, other in re.findall(r"^BEYOND\((\w+), (\w+),", table, re.M):
        yield option, other, "8"


def given(option, value=None):
    name = f"--{NAMES[option]}"
    return [name] if option in FLAGS else [name, value or VALUES.get(option, "7")]


def refusal(option, *options):
    """What is said of the command line, if it is that the option is in vain: refused, or a warning."""
    done = subprocess.run([PLACEC, VERBS.get(option, "run"), FILE, *sum(options, [])], capture_output=True,
                          text=True, check=False, stdin=subprocess.DEVNULL)
    said = re.search(r"^(placec|warning): --.* changes nothing .*", done.stderr, re.M)
    told = re.search(r'"message": "(--.* changes nothing .*)"', done.stdout)  # with --json
    if told and not done.stderr and done.returncode == 2:
        return told[1]
    return said.group() if said and (done.returncode == 2 or said[1] == "warning") else ""


def check(option, other, value):
    both = refusal(option, given(option), given(other, value))
    assert f"--{NAMES[option]}" in both and f"--{NAMES[other]}" in both, f"{option} beside {other}: {both!r}"
    alone = refusal(option, given(option)) if value != "0" else ""
    assert f"beside --{NAMES[other]}" not in alone, f"{option} alone: {alone}"
    assert not (refused := refusal(other, given(other, value))), f"{other} alone: {refused}"


def told(command, *options):
    """The exit status and what is said, without the name of who says it."""
    done = subprocess.run([*command, *sum(options, [])], capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL)
    words = [line.removeprefix("placec: ").removeprefix("./built: ") for line in done.stderr.splitlines()]
    return done.returncode, [line for line in words if not line.startswith("error: ")]


def check_built():
    """Of a run without data nothing is started, whatever else is right of the command line."""
    subprocess.run([PLACEC, "build", FILE, "-o", "built"], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    lines = [given(option) + given(other, value) for option, other, value in ROWS if {option, other} <= set(KINDS)]
    lines += [given(option) for option, _, _ in ROWS if option in KINDS]
    in_vain = ["--data", "x", "--eval", "x"]
    assert "warning: --data changes nothing: no step is taken" in told(["./built"], in_vain)[1]
    for line in [*lines, [], ["--data", "x"], in_vain, ["--steps", "3"], ["--steps", "0"], ["-q"]]:
        ours, theirs = told([PLACEC, "run", FILE], line), told(["./built"], line)
        assert ours == theirs, f"{line}: {ours}, but built: {theirs}"
    for number in ("+3", " 3", "3 ", "0x3", "", "9999999999999999999"):
        for command in ([PLACEC, "run", FILE], ["./built"]):
            status, words = told(command, ["--steps", number, "--data", "x"])
            assert status == 2 and "--steps takes a whole number" in words[0], f"{command} --steps {number!r}: {words}"


ROWS = list(rows())
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)  # some of what is not refused leaves files
    for row in ROWS:
        check(*row)
    check_built()
every = {option for option, other, _ in ROWS if other == "COMPILE_ONLY"}
assert every | {"QUIET"} == set(KINDS), f"nothing is said of {set(KINDS) - every} beside --compile-only"
print(f"{len(ROWS)} pairs are told")

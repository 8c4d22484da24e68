#!/usr/bin/env python3
"""Prints an example with its own program written out behind it, edited as a person would. The edits
are made in what the compiler derives today, so that no edited text goes stale.

    edit.py PLACEC EXAMPLE [-D...] COMMAND...     with the commands, made one after the other:
    delete AT                 a statement
    double AT                 again, directly behind
    move AT before|behind AT
    insert TEXT before|behind AT
    replace OLD NEW           its first place
    replace-all OLD NEW
    keep AT                   nothing but this unit
    drop-plan                 offsets, frames and places in memory
    mark AT                   writes `// here` behind the statement's first line

AT is what a statement's line begins with; `AT #2` means the second of them. A statement ends where its
brackets are closed. A command that finds nothing ends the test."""
import re
import subprocess
import sys


def die(message):
    sys.exit(f"edit.py: {message}")


def statement_end(lines, begin):
    """The line behind the statement that begins on a line: brackets closed, and nothing to follow."""
    depth = 0
    for i in range(begin, len(lines)):
        code = lines[i].split("//")[0].rstrip()
        depth += sum(code.count(c) for c in "({[") - sum(code.count(c) for c in ")}]")
        if depth <= 0 and not code.endswith((":", ",", "->")):
            return i + 1
    die(f"the statement `{lines[begin].strip()}` does not end")


def find(lines, at):
    match = re.fullmatch(r"(.*?)(?: #(\d+))?", at, re.S)
    what, nth = match.group(1), int(match.group(2) or 1)
    places = [i for i, line in enumerate(lines) if line.lstrip().startswith(what)]
    if len(places) < nth:
        die(f"{len(places)} statements begin with `{what}`")
    begin = places[nth - 1]
    return begin, statement_end(lines, begin)


def insert(lines, text, where, at):
    if where not in ("before", "behind"):
        die(f"`{where}` is neither before nor behind")
    begin, end = find(lines, at)
    place = begin if where == "before" else end
    lines[place:place] = text


def replace(lines, old, new, count):
    """Where the printer breaks a line is nothing to rely on: a blank stands for any white space."""
    words = r"\s+".join(map(re.escape, old.split(" ")))
    text, found = re.subn(words, lambda _: new, "\n".join(lines), count)
    if not found:
        die(f"no `{old}`")
    lines[:] = text.split("\n")


def drop_plan(lines):
    lines[:] = [re.sub(r"\] (at \d+|out|inline|in %[\w.]+)", "]", re.sub(r" at \d+$", "", line))
                for line in lines if not re.match(r"  (arena|frame) \d", line)]


def edit(lines, commands):
    take = lambda: commands.pop(0)
    while commands:
        command = take()
        if command in ("replace", "replace-all"):
            replace(lines, take(), take(), 1 if command == "replace" else 0)
            continue
        if command == "drop-plan":
            drop_plan(lines)
            continue
        if command == "insert":
            insert(lines, [take()], take(), take())
            continue
        if command not in ("delete", "double", "move", "mark", "keep"):
            die(f"no command `{command}`")
        begin, end = find(lines, take())
        text = lines[begin:end]
        if command == "delete":
            del lines[begin:end]
        elif command == "double":
            lines[end:end] = text
        elif command == "mark":
            lines[begin] += "  // here"
        elif command == "keep":
            lines[:] = text
        else:
            del lines[begin:end]
            insert(lines, text, take(), take())


placec, example, *rest = sys.argv[1:]
settings = [word for word in rest if word.startswith("-D")]
emitted = subprocess.run([placec, "emit", "--as=step", *settings, example], capture_output=True, text=True)
if emitted.returncode != 0:
    die(emitted.stderr)
lines = emitted.stdout.split("\n")
edit(lines, [word for word in rest if not word.startswith("-D")])
with open(example, encoding="utf-8") as file:
    print(file.read() + "\n".join(lines))

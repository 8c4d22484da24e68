#!/usr/bin/env python3
"""Edits the text of a program (placec emit --as=step) from standard input to standard output, as a
person would. Lit tests edit what the compiler prints today, so that no edited text goes stale.

    edit.py COMMAND...        with the commands, made one after the other:
    delete AT                 a statement
    double AT                 again, directly behind
    move AT before|behind AT
    insert TEXT before|behind AT
    replace OLD NEW           its first place
    replace-all OLD NEW
    keep-unit NAME            nothing but this unit
    mark AT                   adds the comment `// here` to the statement's first line

AT is what a statement's line begins with; `AT #2` means the second of them. A statement ends where its
brackets are closed. A command that finds nothing ends the test."""
import re
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
    text = "\n".join(lines)
    if old not in text:
        die(f"no `{old}`")
    lines[:] = text.replace(old, new, count).split("\n")


def edit(lines, commands):
    take = lambda: commands.pop(0)
    while commands:
        command = take()
        if command in ("replace", "replace-all"):
            replace(lines, take(), take(), 1 if command == "replace" else -1)
            continue
        if command == "insert":
            insert(lines, [take()], take(), take())
            continue
        if command not in ("delete", "double", "move", "mark", "keep-unit"):
            die(f"no command `{command}`")
        name = take()
        begin, end = find(lines, f"unit main.{name} {{" if command == "keep-unit" else name)
        text = lines[begin:end]
        if command == "delete":
            del lines[begin:end]
        elif command == "double":
            lines[end:end] = text
        elif command == "mark":
            lines[begin] += "  // here"
        elif command == "keep-unit":
            lines[:] = text
        else:
            del lines[begin:end]
            insert(lines, text, take(), take())


lines = sys.stdin.read().split("\n")
edit(lines, sys.argv[1:])
print("\n".join(lines))

#!/usr/bin/env python3
"""Holds what pages about `placec equal` show: each block that begins with `$ placec equal` is what the command prints,
but for the seconds that it took; and each limit is that of the constant beside it.

usage: equal_page.py PLACEC ROOT [--update]     with --update the pages are written anew"""
import glob
import math
import os
import re
import subprocess
import sys

PAGES = {"docs/equal.md": ".", "docs/equal_jax.md": "tests/inputs/hlo/train"}  # and where their commands are executed
BLOCK = re.compile(r"^```\n\$ (placec equal .*)\n((?:(?!```).*\n)*)```$", re.M)
SECONDS = re.compile(r"\d+\.\d\d s")
LIMIT = re.compile(r"^\|[^|]*\| ([\d,]+)(?: ([MG])iB)? \|[^|]*\| `(\w+)` \|$", re.M)
CONSTANT = re.compile(r"(?:^LIMIT\((\w+), |\b([A-Z_]{4,}) = (?:INT64_C\()?)(\d+\)?(?: (?:\*|<<) \d+)*)\s*[,;}]", re.M)
UNITS = {"": 1, "M": 1 << 20, "G": 1 << 30}


def printed(placec, folder, command):
    """Its own order: the verdict, then what is reported."""
    environment = {**os.environ, "PATH": os.path.dirname(placec) + os.pathsep + os.environ["PATH"], "COLUMNS": "80"}
    merged = command if "2>&1" in command else command + " 2>&1"
    return subprocess.run(["bash", "-c", merged], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
                          check=False).stdout


def value_of(number):
    """Of products and shifts."""
    product, *shift = number.replace(")", "").split("<<")
    return math.prod(map(int, product.split("*"))) << int(shift[0] if shift else 0)


def constants(root):
    """What sources define as numbers, by name."""
    found = {}
    sources = glob.glob(os.path.join(root, "equal/**/*.[ch]"), recursive=True)
    for path in [*sources, os.path.join(root, "ir/limits.def")]:
        with open(path, encoding="utf-8") as file:
            for limit, name, number in CONSTANT.findall(file.read()):
                found.setdefault("LIMIT_" + limit if limit else name, set()).add(value_of(number))
    return found


def untrue_limits(root):
    """Limits of a page that the sources do not have, as words."""
    known = constants(root)
    with open(os.path.join(root, "docs/equal.md"), encoding="utf-8") as file:
        limits = LIMIT.findall(file.read())
    assert len(limits) >= 20, f"{len(limits)} limits"
    for number, unit, name in limits:
        said = int(number.replace(",", "")) * UNITS[unit]
        if known.get(name) != {said}:
            yield f"docs/equal.md: {name} is {known.get(name)}, not {said}"


def main(placec, root, update=None):
    n, wrong = 0, []

    def renewed(block):
        nonlocal n
        n += 1
        out = printed(os.path.abspath(placec), os.path.join(root, PAGES[page]), block[1])
        if SECONDS.sub("", out) == SECONDS.sub("", block[2]):
            return block[0]
        wrong.append(f"{page}: {block[1]}\nprints\n{out}")
        return f"```\n$ {block[1]}\n{out}```"

    for page in PAGES:
        path = os.path.join(root, page)
        with open(path, encoding="utf-8") as file:
            text = BLOCK.sub(renewed, file.read())
        if update:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    assert n >= 6, f"{n} blocks"
    untrue = list(untrue_limits(root))
    sys.exit("\n".join(untrue + wrong) if untrue or (wrong and not update) else None)


main(*sys.argv[1:])

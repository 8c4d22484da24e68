#!/usr/bin/env python3
"""Holds what pages about `placec equal` show: each block that begins with `$ placec equal` is what the command prints,
but for the seconds that it took.

usage: equal_page.py PLACEC ROOT [--update]     with --update the pages are written anew"""
import os
import re
import subprocess
import sys

PAGES = {"docs/equal.md": ".", "docs/equal_jax.md": "tests/inputs/hlo/train"}  # and where their commands are executed
BLOCK = re.compile(r"^```\n\$ (placec equal .*)\n((?:(?!```).*\n)*)```$", re.M)
SECONDS = re.compile(r"\d+\.\d\d s")


def printed(placec, folder, command):
    """Its own order: the verdict, then what is reported."""
    environment = {**os.environ, "PATH": os.path.dirname(placec) + os.pathsep + os.environ["PATH"], "COLUMNS": "80"}
    merged = command if "2>&1" in command else command + " 2>&1"
    return subprocess.run(["bash", "-c", merged], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
                          check=False).stdout


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
    sys.exit("\n".join(wrong) if wrong and not update else None)


main(*sys.argv[1:])

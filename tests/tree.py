#!/usr/bin/env python3
"""Holds what is agreed about the tree: what may stand at its top, how long a file may be, that a
source file opens by saying what it is, and that nothing generated or private is committed."""
import os
import re
import subprocess
import sys

TOP = {
    ".ci", ".clang-format", ".clang-tidy", ".gitignore", "ARCHITECTURE.md", "CMakeLists.txt", "CMakePresets.json",
    "LICENSE", "README.md", "dev",
    "backend", "bench", "docs", "driver", "examples", "frontend", "grammar", "ir", "lib", "passes", "runtime",
    "tests", "tools", "verify",
}
MAXIMUM_LINES = 1000
SOURCE = (".c", ".h", ".def", ".inc", ".l", ".y", ".py", ".place", ".sh", ".md", ".txt", ".json")
# Numbers that another program computed, and inputs of tests, are not read by people.
DATA = re.compile(r"^tests/(.*/)?(inputs|expected|corpus)/|\.safetensors$")
OPENS_WITH = {".c": ("//", "/*"), ".inc": ("//", "/*"), ".h": ("//", "/*"), ".def": ("//", "/*"), ".place": ("//",)}


def files(root):
    """Tracked files; without git (an unpacked archive) every file outside build folders."""
    try:
        out = subprocess.run(["git", "-C", root, "ls-files", "-z"], capture_output=True, check=True)
        return [name for name in out.stdout.decode().split("\0") if name and os.path.exists(os.path.join(root, name))]
    except (OSError, subprocess.CalledProcessError):
        found = []
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith("build") and f != ".git"]
            found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
        return found


def complaints(root):
    for name in files(root):
        top = name.split("/")[0]
        if top not in TOP:
            yield f"{name}: not among what the top of the tree may hold"
        if DATA.search(name) or not name.endswith(SOURCE):
            continue
        with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        if len(lines) - 1 > MAXIMUM_LINES:
            yield f"{name}: {len(lines) - 1} lines, more than {MAXIMUM_LINES}"
        opening = OPENS_WITH.get(os.path.splitext(name)[1])
        if opening and not name.startswith("tests/lit/") and not lines[0].startswith(opening):
            yield f"{name}: does not open with a comment that says what it is"


found = list(complaints(sys.argv[1]))
for line in found:
    print(line)
sys.exit(1 if found else 0)

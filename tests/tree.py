#!/usr/bin/env python3
"""Holds what is agreed about the tree: what may stand at its top, how long a file may be, that a source file opens by
saying what it is, that a script can be executed, that nothing generated or private is committed and nothing left of a
merge, that comments begin with their subject, and that lists of files are true: what a document names is there, and a
header that opens with its files names all of them."""
import os
import re
import subprocess
import sys

TOP = {
    ".ci", ".clang-format", ".gitignore", "ARCHITECTURE.md", "CMakeLists.txt", "CMakePresets.json",
    "LICENSE", "README.md", "dev",
    "backend", "bench", "docs", "driver", "examples", "equal", "frontend", "grammar", "ir", "lib", "passes", "runtime",
    "tests", "tools", "verify",
}
MAXIMUM_LINES = 1000
SOURCE = (".c", ".h", ".def", ".inc", ".l", ".y", ".py", ".place", ".sh", ".md", ".txt", ".json")
# Numbers that another program computed, and inputs of tests, are not read by people.
DATA = re.compile(r"^tests/(.*/)?(inputs|expected|corpus)/|\.safetensors$")
UNMERGED = re.compile(r"(<{7}|>{7}) ")
OPENS_WITH = {".c": ("//", "/*"), ".inc": ("//", "/*"), ".h": ("//", "/*"), ".def": ("//", "/*"), ".place": ("//",)}


DOCUMENTS = re.compile(r"(^|/)[A-Z]+\.md$|^docs/\w+\.md$")
# A page that a comment refers to. Of pages for diagnostics and of installed ones only the kind is named.
PAGE = re.compile(r"\b\w+\.md\b")
PAGES_OF_A_KIND = {"CODE.md", "runtime_calls.md"}
# `folder/name.c`, or a name alone, which may lie anywhere. Users' files are of other kinds.
NAMED = re.compile(r"`((?:[\w-]+/)*[\w-]+\.(?:c|h|def|inc|py|l|y|sh))`")
LISTED = re.compile(r"^(?://| \*) {2,}(\w+\.c)\b", re.M)
# A comment begins with its subject: "The bytes of a step", not "Of a step". Inside of one a line may begin anyhow.
C_SOURCE = (".c", ".h", ".inc", ".def", ".l", ".y")
WITHOUT_SUBJECT = re.compile(r"(?://|/\*) ?Of ")


def text_of(root, name):
    with open(os.path.join(root, name), encoding="utf-8", errors="replace") as file:
        return file.read()


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


def untrue_names(root, found):
    """Files of the tree (not of an installation) that a document names and that are nowhere."""
    for document in filter(DOCUMENTS.search, found):
        for name in NAMED.findall(text_of(root, document)):
            if not name.startswith("include/") and not any(("/" + file).endswith("/" + name) for file in found):
                yield f"{document}: names {name}, which is not there"


def untrue_pages(root, found):
    """Pages that a source file refers to and that are nowhere."""
    pages = {os.path.basename(name) for name in found if name.endswith(".md")} | PAGES_OF_A_KIND
    for name in found:
        if name.endswith(SOURCE) and not DATA.search(name):
            for page in sorted(set(PAGE.findall(text_of(root, name))) - pages):
                yield f"{name}: refers to {page}, which is not there"


def untrue_lists(root, found):
    """Of a header that opens with the files it is between: those that it does not list, or that are gone."""
    sources = [name for name in found if name.endswith(".c") and not name.startswith("tests/")]
    for header in found:
        listed = LISTED.findall(text_of(root, header).split("\n#")[0]) if header.endswith(".h") else []
        if not listed:
            continue
        users = [name for name in sources if f'#include "{header}"' in text_of(root, name)]
        for name in users:
            if os.path.basename(name) not in listed:
                yield f"{header}: its list of files lacks {name}"
        for name in listed:
            if os.path.join(os.path.dirname(header), name) not in sources:
                yield f"{header}: lists {name}, which is not there"


def without_subject(root, found):
    """Comments of C sources that begin with "Of", so that a reader has to find their subject."""
    for name in found:
        if not name.endswith(C_SOURCE) or DATA.search(name):
            continue
        inside = False
        for number, line in enumerate(text_of(root, name).split("\n"), 1):
            comment = line.lstrip()
            if WITHOUT_SUBJECT.search(comment) and not (inside and comment.startswith("//")):
                yield f"{name}:{number}: a comment that begins with `Of` and not with its subject"
            inside = comment.startswith("//") and not comment.startswith("// ----")


def complaints(root):
    found = files(root)
    yield from untrue_names(root, found)
    yield from untrue_pages(root, found)
    yield from untrue_lists(root, found)
    yield from without_subject(root, found)
    for name in found:
        top = name.split("/")[0]
        if top not in TOP:
            yield f"{name}: not among what the top of the tree may hold"
        if text_of(root, name).startswith("#!") and not os.access(os.path.join(root, name), os.X_OK):
            yield f"{name}: a script that is not executable"
        if DATA.search(name) or not name.endswith(SOURCE):
            continue
        lines = text_of(root, name).split("\n")
        if len(lines) - 1 > MAXIMUM_LINES:
            yield f"{name}: {len(lines) - 1} lines, more than {MAXIMUM_LINES}"
        for number, line in enumerate(lines, 1):
            if UNMERGED.match(line):
                yield f"{name}:{number}: left of a merge"
        opening = OPENS_WITH.get(os.path.splitext(name)[1])
        if opening and not name.startswith("tests/lit/") and not lines[0].startswith(opening):
            yield f"{name}: does not open with a comment that says what it is"


failures = list(complaints(sys.argv[1]))
print("\n".join(failures))
sys.exit(1 if failures else 0)

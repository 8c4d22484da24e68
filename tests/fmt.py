#!/usr/bin/env python3
"""Holds what `placec fmt` does to files: all of the tree, the same with other blanks, and what else a file may be.

    fmt.py PLACEC ROOT
"""
import os
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile

PLACEC, ROOT = map(os.path.abspath, sys.argv[1:])
ODD = os.path.join(ROOT, "tests/inputs/format/odd.place")
TOKEN = re.compile(r'//[^\n]*|"[^"\n]*"|\s+|[^\s"/]+|.')


def placec(*arguments, text=None, **more):
    return subprocess.run([PLACEC, *arguments], input=text, capture_output=True, timeout=120, check=False, **more)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write(path, content):
    with open(path, "wb") as file:
        file.write(content.encode() if isinstance(content, str) else content)
    return path


def comments(text):
    """Each with what stands before it, but for blanks."""
    before, found = "", []
    for token in TOKEN.findall(text):
        if token.startswith("//"):
            found.append((before, token.rstrip()))
        before += "" if token.isspace() or token.startswith("//") else token
    return found


def files_of_tree():
    for folder in ("examples", "lib", "tests"):
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            yield from (os.path.join(at, name) for name in sorted(names) if name.endswith(".place"))


def wrong_in_tree(folder):
    """Nothing but blanks changes, only where the grammar is followed, and nothing changes twice."""
    copies = {os.path.join(folder, f"{i}.place"): name for i, name in enumerate(files_of_tree())}
    for copy, name in copies.items():
        shutil.copyfile(name, copy)
    asked, done, again = placec("fmt", "--check", *copies), placec("fmt", *copies), placec("fmt", *copies)
    said = set(re.findall(r"^(.*): formatted$", done.stdout.decode(), re.M))
    if set(re.findall(r"^(.*): would change$", asked.stdout.decode(), re.M)) != said:
        yield f"--check does not say what is formatted: {asked.stdout.decode()}"
    if again.stdout:
        yield f"formatted twice: {again.stdout.decode()}"
    if not 0 < len(said) < len(copies) or {run.returncode for run in (asked, done, again)} != {1}:
        yield f"{len(said)} files of {len(copies)} are formatted: {done.stderr.decode()[-2000:]}"
    for copy, name in copies.items():
        before, after = read(name), read(copy)
        own = name.startswith((os.path.join(ROOT, "examples"), os.path.join(ROOT, "lib")))
        if own and before != after:
            yield f"{name}: is not laid out as `placec fmt` does it"
        if (before != after) != (copy in said):
            yield f"{name}: changed without a word, or not at all"
        if before != after and (before.split() and b"".join(before.split()) != b"".join(after.split()) or
                                comments(before.decode()) != comments(after.decode())):
            yield f"{name}: more than blanks has changed"


def with_other_blanks(text, chance):
    """Blanks, ends of lines and comments where there were blanks; a unit stays on the line of its number."""
    pieces, new = TOKEN.findall(text), ""
    for i, piece in enumerate(pieces):
        if not piece.isspace():
            new += re.sub(r"(?<=[\w)])([,)])", lambda match: match[1] + chance.choice(["", " ", "\n"]), piece) \
                if not piece.startswith(("//", '"')) else piece
        elif pieces[i - 1].startswith("//"):
            new += chance.choice(["\n", "\r\n", "\n\n\n\t", "\n // own\n"])
        elif pieces[i - 1][-1].isdigit():
            new += chance.choice([" ", "\t ", "   "])
        else:
            new += chance.choice([" ", " ", "\t", "     ", "\n", "\r\n   ", "\n\n\n", " // a comment \n", "\n\t//b\n  "])
    return new


def wrong_with_other_blanks(folder):
    chance = random.Random(1)
    names = sorted(name for name in files_of_tree() if os.path.dirname(name) == os.path.join(ROOT, "examples"))
    names += [ODD] * 10
    copies = {}
    for i, name in enumerate(names):
        copies[write(os.path.join(folder, f"{i}.other"), with_other_blanks(read(name).decode(), chance))] = name
    texts = {copy: read(copy).decode() for copy in copies}
    done = placec("fmt", *copies)
    if done.returncode or placec("fmt", *copies).stdout:
        yield f"with other blanks: {done.returncode} {done.stderr.decode()[-2000:]}"
    for copy, name in copies.items():
        of_programs = name == ODD # in which blanks are their own business
        if not of_programs and placec("emit", "--as=ast", copy).stdout != placec("emit", "--as=ast", name).stdout:
            yield f"{name}: another tree with other blanks"
        if comments(texts[copy]) != comments(read(copy).decode()):
            yield f"{name}: other comments with other blanks"


def wrong_of_one(folder):
    """One file, in all that it may be."""
    file, link, missing = (os.path.join(folder, name) for name in ("a.place", "link.place", "none.place"))
    wanted, odd = read(ODD.replace(".place", ".txt")), read(ODD)

    def differs(what, expected, found):
        if expected != found:
            yield f"{what}: {found!r}, not {expected!r}"

    def state(path):
        return stat.S_IMODE(os.stat(path).st_mode), os.stat(path).st_mtime_ns, read(path)

    yield from differs("standard input", (0, wanted, b""), take(placec("fmt", "-", text=odd)))
    yield from differs("standard input, --check", (1, b"<stdin>: would change\n", b""),
                       take(placec("fmt", "--check", "-", text=odd)))
    for what, text in (("CRLF", odd.replace(b"\n", b"\r\n")), ("a byte order mark", b"\xef\xbb\xbf" + odd),
                       ("no end of line", odd.rstrip())):
        yield from differs(what, (0, wanted, b""), take(placec("fmt", "-", text=text)))
    yield from differs("nothing", (0, b"", b""), take(placec("fmt", "-", text=b"")))
    yield from differs("blanks", (0, b"", b""), take(placec("fmt", "-", text=b" \n\t\n\n")))
    yield from differs("a comment alone", (0, b"// x\n", b""), take(placec("fmt", "-", text=b"\n  // x")))

    write(file, odd)
    os.chmod(file, 0o640)
    before = state(file)
    yield from differs("--check", (1, f"{file}: would change\n".encode(), b""), take(placec("fmt", "--check", file)))
    yield from differs("the file behind --check", before, state(file))
    os.symlink("a.place", link)
    yield from differs("a link", (0, f"{link}: formatted\n".encode(), b""), take(placec("fmt", link)))
    yield from differs("a link's file", (True, 0o640, wanted), (os.path.islink(link), state(file)[0], read(file)))
    before = state(file)
    yield from differs("what is formatted", (0, b"", b""), take(placec("fmt", file)))
    yield from differs("what is formatted, --check", (0, b"", b""), take(placec("fmt", "--check", file)))
    yield from differs("its file", before, state(file))

    broken = write(os.path.join(folder, "broken.place"), "model   tiny {\n")
    before = state(broken)
    write(file, odd)
    found = placec("fmt", missing, broken, file)
    yield from differs("several", (1, f"{file}: formatted\n".encode(), wanted),
                       (found.returncode, found.stdout, read(file)))
    if b"none.place" not in found.stderr or b"broken.place:1:14: error[E101]" not in found.stderr:
        yield f"several: {found.stderr}"
    yield from differs("a file with mistakes", before, state(broken))
    yield from differs("what is left in the folder", {"a.place", "link.place", "broken.place"}, set(os.listdir(folder)))
    yield from wrong_without_rights(folder, write(file, odd), odd)


def take(run):
    return run.returncode, run.stdout, run.stderr


def wrong_without_rights(folder, file, odd):
    """A file in a folder that this user may not write into: root is who may, and takes another's place."""
    user = {"user": 65534} if os.getuid() == 0 else {}
    os.chmod(file, 0o444)
    os.chmod(folder, 0o555)
    try:
        found = placec("fmt", file, **user)
        said = f"placec: {file} cannot be written: Permission denied\n  it is as it was\n".encode()
        if take(found) != (1, b"", said) or read(file) != odd:
            yield f"without rights: {take(found)}"
    except PermissionError:
        pass # the other user cannot reach the command
    os.chmod(folder, 0o755)


def main():
    found = []
    for complaints in (wrong_in_tree, wrong_with_other_blanks, wrong_of_one):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            found += complaints(folder)
    print(*found, sep="\n")
    sys.exit(1 if found else 0)


main()

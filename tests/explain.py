#!/usr/bin/env python3
"""Holds the pages of diagnostics: every code has one; its wrong example is refused with that code and
its right example is not, and is accepted; as the command prints it, it fits 80 columns, but for lines that have nowhere to
be broken. The manual lists what is not built.

    explain.py PLACEC ROOT [CODE...]     with PLACE_TEST_EVERY=N in the environment, every N-th code only

A page is docs/errors/CODE.md: text, then `Wrong:` and `Right:`, each with a fenced example in the
language (```place). A ```json NAME or ```csv NAME before an example is a file beside it. An example that begins with
`// placec check FILE OPTIONS` is checked with these options. Where only an edited program is wrong, the
wrong part has a file and, as both parts, lines of its program (```step): the program is emitted, the
lines replaced, and the whole put into the file. Blanks and line ends do not count there. A page without
examples has a paragraph `No example:` that says why.

Examples of other frameworks' programs are ```hlo NAME or ```fx NAME, beside ```spec NAME where a spec is given; the ```sh behind them is
the command that is run, and what is right is found equal. One without a name is compared with itself: the right one is
read, if no more."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile

EVERY = int(os.environ.get("PLACE_TEST_EVERY", 1))
FENCE = re.compile(r"^```(\w+)[ ]?(\S*)\n(.*?)^```$", re.M | re.S)


def codes(root):
    with open(os.path.join(root, "ir/diagnostics.def"), encoding="utf-8") as table:
        return re.findall(r"^DIAGNOSTIC\((\w+)", table.read(), re.M)


NAMED_KINDS = ("json", "csv", "hlo", "fx", "spec") # of which a text with a name is a file beside the others
ALONE = "program.hlo" # the one without a name


def fenced(section, kind):
    return [(file, text) for found, file, text in FENCE.findall(section) if found == kind]


def write_files(folder, section):
    for kind in NAMED_KINDS:
        for file, text in fenced(section, kind):
            with open(os.path.join(folder, file or ALONE), "w", encoding="utf-8") as to:
                to.write(text)


def run(placec, section, text, *command):
    """The output of a command on a text, with the section's files beside it."""
    with tempfile.TemporaryDirectory() as folder:
        name = "wrong.place"
        write_files(folder, section)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as to:
            to.write(text)
        return subprocess.run([placec, command[0], name, *command[1:]], cwd=folder,
                              capture_output=True, text=True, timeout=60)


def compare(placec, section):
    """The output of `equal` on the section's programs."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, section)
        written = fenced(section, "sh")
        command = shlex.split(written[0][1]) if written else ["placec", "equal", ALONE, ALONE]
        return subprocess.run([placec, *command[1:]], cwd=folder, capture_output=True, text=True, timeout=60)


def check(placec, section, text):
    """What `check --json` says of the text."""
    line = text.split("\n", 1)[0]
    options = line.split()[4:] if line.startswith("// placec check FILE") else []
    done = run(placec, section, text, "check", "--json", *options)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"verdict": f"status {done.returncode}, no JSON", "diagnostics": []}


def found(result):
    return [diagnostic["code"] for diagnostic in result["diagnostics"]]


def with_program(placec, file, lines, replacement):
    """The file with its own program, in which the lines are replaced; None: it has no such lines."""
    emitted = run(placec, "", file, "emit", "--as=step").stdout
    pattern = r"\s+".join(re.escape(word) for word in lines.split())
    if not re.search(pattern, emitted):
        return None
    return file + re.sub(pattern, lambda _: replacement, emitted, count=1)


def compared(placec, code, wrong, right):
    refused, good = compare(placec, wrong), compare(placec, right)
    if f"[{code}]" not in refused.stderr:
        yield f"{code}: the wrong example gives {refused.stdout + refused.stderr}"
    if good.returncode != 0 if fenced(right, "sh") else f"[{code}]" in good.stderr:
        yield f"{code}: the right example gives {good.stdout + good.stderr}"


def complaints(placec, root, code):
    path = os.path.join(root, "docs/errors", code + ".md")
    if not os.path.exists(path):
        yield f"{code} has no page docs/errors/{code}.md"
        return
    with open(path, encoding="utf-8") as page:
        parts = re.split(r"^(Wrong|Right|No example):", page.read(), flags=re.M)
    if parts[1::2] == ["No example"] and parts[2].strip() and "```" not in parts[2]:
        return # and the page says why
    if parts[1::2] != ["Wrong", "Right"]:
        yield f"{code}: the page has not the parts `Wrong:` and `Right:`"
        return
    wrong, right = parts[2], parts[4]
    if fenced(wrong, "hlo") or fenced(wrong, "fx"):
        yield from compared(placec, code, wrong, right)
        return
    file = fenced(wrong, "place")[0][1]
    if fenced(wrong, "step"):
        bad, good = fenced(wrong, "step")[0][1], fenced(right, "step")[0][1]
        wrong_text = with_program(placec, file, good, bad)
        right_text = with_program(placec, file, good, good)
        if wrong_text is None:
            yield f"{code}: the program has not the lines of the right example"
            return
    else:
        wrong_text, right_text = file, fenced(right, "place")[0][1]
    wrong_result, right_result = check(placec, wrong, wrong_text), check(placec, right, right_text)
    if code not in found(wrong_result):
        yield f"{code}: the wrong example gives {found(wrong_result) or wrong_result['verdict']}"
    if code in found(right_result) or right_result["verdict"] != "accepted":
        yield f"{code}: the right example gives {found(right_result) or right_result['verdict']}"


def misprinted(placec, root, code):
    """Lines that a terminal of 80 columns would break, and lists whose items run together."""
    with open(os.path.join(root, "docs/errors", code + ".md"), encoding="utf-8") as page:
        items = len(re.findall("^- ", page.read(), re.M))
    printed = subprocess.run([placec, "explain", code], capture_output=True, text=True, timeout=60, check=True).stdout
    for line in printed.split("\n"):
        if len(line) > 80 and " " in line[40:80]:
            yield f"{code}: `placec explain` prints a line of {len(line)} columns: {line}"
    if len(re.findall("^- ", printed, re.M)) != items:
        yield f"{code}: `placec explain` does not print {items} items of a list"


def unlisted(root):
    """Rows of the table of what is not built that the manual does not have."""
    with open(os.path.join(root, "docs/language.md"), encoding="utf-8") as manual:
        lines = manual.read().split("\n")
    with open(os.path.join(root, "frontend/unsupported.def"), encoding="utf-8") as table:
        for text in re.findall(r'^UNSUPPORTED\(\w+, "(.*?)",', table.read(), re.M):
            if "- " + text not in lines:
                yield f"docs/language.md does not say that this is not built: {text}"


placec, root = os.path.abspath(sys.argv[1]), sys.argv[2]
failures = [line for code in sys.argv[3:] or codes(root)[::EVERY] for line in (*complaints(placec, root, code), *misprinted(placec, root, code))]
failures += unlisted(root)
print("\n".join(failures))
sys.exit(1 if failures else 0)

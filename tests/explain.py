#!/usr/bin/env python3
"""Holds the pages of diagnostics: every code has one; its wrong example is refused with that code and
its right example is not, and is accepted.

    explain.py PLACEC ROOT [CODE...]

A page is docs/errors/CODE.md: text, then `Wrong:` and `Right:`, each with a fenced example in the
language (```place). A ```json NAME before an example is a file beside it. An example that begins with
`// placec check FILE OPTIONS` is checked with these options."""
import json
import os
import re
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w+)[ ]?(\S*)\n(.*?)^```$", re.M | re.S)


def codes(root):
    with open(os.path.join(root, "ir/diagnostics.def"), encoding="utf-8") as table:
        return re.findall(r"^DIAGNOSTIC\((\w+)", table.read(), re.M)


def check(placec, section, name):
    """What `check --json` says of the section's example; None where it has none."""
    with tempfile.TemporaryDirectory() as folder:
        result = None
        for kind, file, text in FENCE.findall(section):
            if kind == "json":
                with open(os.path.join(folder, file), "w", encoding="utf-8") as beside:
                    beside.write(text)
            if kind == "place":
                with open(os.path.join(folder, name), "w", encoding="utf-8") as example:
                    example.write(text)
                line = text.split("\n", 1)[0]
                options = line.split()[4:] if line.startswith("// placec check FILE") else []
                done = subprocess.run([placec, "check", name, "--json", *options], cwd=folder,
                                      capture_output=True, text=True, timeout=60)
                try:
                    result = json.loads(done.stdout)
                except ValueError:
                    result = {"verdict": f"status {done.returncode}, no JSON", "diagnostics": []}
        return result


def found(result):
    return [diagnostic["code"] for diagnostic in result["diagnostics"]]


def complaints(placec, root, code):
    path = os.path.join(root, "docs/errors", code + ".md")
    if not os.path.exists(path):
        yield f"{code} has no page docs/errors/{code}.md"
        return
    with open(path, encoding="utf-8") as page:
        parts = re.split(r"^(Wrong|Right):$", page.read(), flags=re.M)
    if parts[1::2] != ["Wrong", "Right"]:
        yield f"{code}: the page has not the parts `Wrong:` and `Right:`"
        return
    if "```place" not in parts[2]:
        return  # an example that no file alone can show: an edited program
    wrong, right = check(placec, parts[2], "wrong.place"), check(placec, parts[4], "right.place")
    if code not in found(wrong):
        yield f"{code}: the wrong example gives {found(wrong) or wrong['verdict']}"
    if code in found(right) or right["verdict"] != "accepted":
        yield f"{code}: the right example gives {found(right) or right['verdict']}"


placec, root = os.path.abspath(sys.argv[1]), sys.argv[2]
failures = [line for code in sys.argv[3:] or codes(root) for line in complaints(placec, root, code)]
print("\n".join(failures))
sys.exit(1 if failures else 0)

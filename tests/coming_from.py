#!/usr/bin/env python3
"""Holds the words of other systems (frontend/coming_from.def): each is told as its row says, and what the row says
to write is compiled, or is what is not compiled yet where it says so.

    coming_from.py PLACEC ROOT     with PLACE_TEST_EVERY=N in the environment, every N-th of them only
"""
import os
import re
import subprocess
import sys
import tempfile

PLACEC, ROOT = sys.argv[1:]
sys.path.insert(0, os.path.join(ROOT, "tools"))
import coming_from  # noqa: E402

MODEL = "model tiny : llama {{ layers = 4  hidden = 32  heads = 4  kv_heads = 2  ffn = 64  vocab = 256 {model} }}"
FILE = """import "lib/strategies.place"
""" + MODEL + """
device core {{ memory = 1 GiB }}
mesh ranks of core {{ {mesh} }}
train {{ batch = 8  sequence = 16  optimizer = adamw(lr = 1e-3)  {train} }}
strategy main {{ {strategy} }}
"""
# What divides the work on an axis.
SPLITS = {"dp": "split batch over dp", "tp": "split heads, kv_heads, ffn over tp", "cp": "split sequence over cp",
          "shard": "split batch over replica * shard", "pp": "", "ep": "", "replica": ""}


def check(text, *options):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.place")
        with open(path, "w", encoding="utf-8") as to:
            to.write(text)
        done = subprocess.run([PLACEC, "check", path, *options], capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr


def is_statement(snippet):
    return re.match(r"(split|use|in|(activations|parameters|gradients|optimizer)[a-z.:0-9\[\]]* :?)\b", snippet) or \
        " : " in snippet


def strategy_with(snippet):
    """The mesh, and the statement among those that it needs: a split for its axes, shards to gather."""
    axes = [axis for axis in SPLITS if re.search(rf"\b{axis}\b", snippet)] or ["dp"]
    if "shard" in axes and "replica" not in axes:
        axes.append("replica")
    own = [SPLITS[axis] for axis in axes if not snippet.startswith("split")]
    if "parameters : gathered" in snippet and "use " not in snippet:
        own.append("use zero3" + re.search(r"gathered(\([^,)]*)", snippet).group(1) + ")")
    mesh = [f"{axis} = 2" for axis in sorted(axes, key="replica shard".find)]
    return "  ".join(mesh), "  ".join(own + [snippet])


def file_for(snippet):
    """A file in which the piece of advice stands where it looks as if it belonged."""
    parts = {"model": "", "train": "", "mesh": "dp = 2", "strategy": "split batch over dp"}
    if snippet.startswith("mesh "):
        parts["mesh"] = re.search(r"\{ (.*) \}", snippet).group(1)
        parts["strategy"] = f"{SPLITS['dp']}  {SPLITS['tp']}"
    elif is_statement(snippet):
        parts["mesh"], parts["strategy"] = strategy_with(snippet)
        parts["train"] = "microbatch = 2" if "interleaved" in snippet else ""  # in rounds of as many as there are devices
    elif snippet.split(" = ")[0] in SPLITS:
        axis = snippet.split(" = ")[0]
        parts["mesh"], parts["strategy"] = snippet, f"split batch over {axis}"
    else:
        with open(os.path.join(ROOT, "frontend/model_fields.def"), encoding="utf-8") as table:
            of_model = f"MODEL_FIELD({snippet.split(' = ')[0]}," in table.read()
        parts["model" if of_model else "train"] = snippet
    return FILE.format(**parts)


def expected_of(ours, snippet):
    """Only the piece in front of the words is what is not compiled yet."""
    behind = ours.split(f"`{snippet}`", 1)[1]
    return "E199" if re.match(r",? which is not compiled yet", behind) else ": accepted"


def told_wrongly(theirs, ours):
    told = check(FILE.format(model="", mesh="dp = 2", strategy="split batch over dp", train=f"{theirs} = 2"))
    help_line = re.search(r"  help: (.*)", told)
    said = ours.replace("N", "2")
    good = help_line and (help_line.group(1) == said or "microbatch" in said and "`microbatch = 2`" in told)
    return None if good and f"no field of `train` is called `{theirs}`" in told else told


def complaints():
    with open(os.path.join(ROOT, "runtime/options.def"), encoding="utf-8") as table:
        options = re.findall(r'^RUN_\w+\(\w+, \w+, "([a-z-]+)"', table.read(), re.M) + ["ranks"]
    rows = list(coming_from.rows(os.path.join(ROOT, "frontend/coming_from.def")))
    for _, theirs, ours, is_name in rows[:: int(os.environ.get("PLACE_TEST_EVERY", 1))]:
        told = None if is_name else told_wrongly(theirs, ours)
        if told:
            yield f"{theirs}: is told as\n{told}"
        for snippet in re.findall(r"`([^`]*)`", ours):
            if re.fullmatch(r"[a-z_0-9]+", snippet):
                continue  # a word of theirs, or a name of ours
            if snippet.startswith("--"):
                if snippet.split()[0][2:] not in options:
                    yield f"{theirs}: no option {snippet}"
                continue
            text = file_for(snippet.replace("N", "2"))
            found = check(text)
            if expected_of(ours, snippet) not in found or "W830" in found: # which is said of what changes nothing
                yield f"{theirs}: `{snippet}` is not {expected_of(ours, snippet)}\n{text}{found}"


def main():
    found = list(complaints())
    print(*found, sep="\n")
    print(f"{len(found)} words of other systems are told wrongly")
    sys.exit(1 if found else 0)


main()

#!/usr/bin/env python3
"""Holds the table of element types in docs/language.md: in programs of one device, of several models in several
precisions, every op reads and makes what a row of the table says, and every row is of some op.

    precision_table.py PLACEC ROOT

A cell says the type of each floating operand or result, in their order, by the letters that the text above the table
explains; `or` stands between what one may have."""
import itertools
import os
import re
import subprocess
import sys
import tempfile

PLACEC, ROOT = sys.argv[1:]
WORDS = {"bf16": "bf16", "fp16": "f16", "fp32": "f32", "fp64": "f64"}
SIZES = "layers = 2  hidden = 32  heads = 4  ffn = 64  vocab = 256"
MODELS = {
    "gpt2": f": gpt2 {{ {SIZES}  sequence_limit = 16 }}",
    "gpt2, dropout": f": gpt2 {{ {SIZES}  sequence_limit = 16  dropout = 0.1 }}",
    "llama": f": llama {{ {SIZES}  kv_heads = 2 }}",
    "qwen3": f": qwen3 {{ {SIZES}  kv_heads = 2  head_dim = 8 }}",
    "phi3": f": phi3 {{ {SIZES}  kv_heads = 2 }}",
}
# Types that differ wherever they may, so that no letter is taken for another.
USES = [
    {"parameters": "bf16", "master": "fp32", "moments": "fp32", "gradients": "fp32", "compute": "bf16"},
    {"parameters": "fp16", "master": "fp64", "moments": "bf16", "gradients": "fp32", "compute": "bf16",
     "activations": "fp32"},
    {"parameters": "fp32", "moments": "bf16", "gradients": "fp16", "compute": "bf16", "activations": "fp16"},
    {"parameters": "fp32", "compute": "fp16", "compute.norm": "fp32", "gradients": "bf16", "activations": "bf16"},
    {"parameters": "fp64", "compute": "fp32", "activations": "bf16"},
]
MORE = ["", "optimizer.mlp = sgd(lr = 1e-3)  optimizer.attention = sgd(lr = 1e-3, momentum = 0.9)",
        "reproducible = 4 of batch, vocab"]


def letters_of(uses, ordered):
    """The element type of each letter."""
    types = {use: WORDS[word] for use, word in uses.items()}
    compute = types.get("compute", "f32")
    activations = types.get("activations", compute)
    parameters, gradients = types.get("parameters", "f32"), types.get("gradients", "f32")
    return {"P": parameters, "M": types.get("master", parameters), "O": types.get("moments", "f32"),
            "G": gradients, "T": "f32" if ordered and gradients != "f64" else gradients, "A": activations, "C": compute,
            "N": types.get("compute.norm", activations), "f64": "a scalar",
            "fp64": "f64"}


def rows():
    """Of each op, what operands and results may have: lists of sets of letters, with the row's number."""
    with open(os.path.join(ROOT, "docs/language.md"), encoding="utf-8") as text:
        table = re.search(r"^\| op \| reads \| makes \|\n\|[-|]+\n((?:\|.*\n)+)", text.read(), re.M).group(1)
    for number, line in enumerate(table.splitlines()):
        name, *cells = [cell.strip() for cell in line.strip("|").split("|")]
        cells = [[set(one.split(" or ")) for one in cell.split(", ")] for cell in cells]
        for op in re.findall(r"`(\w+)`", name.split(" of ")[0].split(",")[0] if name.count("`") == 2 else name):
            yield number, op, *cells


def ops_of(program):
    """Kind, types of operands and of results, of every op; an op stands on one line, or on several."""
    def type_in(text):
        return "a scalar" if text.endswith("[]") else text[:text.index("[")]

    text = re.sub(r"\n {5,}", " ", program)
    for unit in re.findall(r"^unit .*?^\}", text, re.M | re.S):
        types = {name: type_in(text) for name, text in
                 re.findall(r"parameter (?:consumed )?(%\S+) : (\w+\[[^\]]*\])", unit)}
        for results, kind, operands, made in re.findall(
                r"^  (%[^=\n]*) = (\w+)\(([^)]*)\)(?: \{[^}]*\})? : (.*?)(?: role .*)?$", unit, re.M):
            made = [type_in(text) for text in re.findall(r"\w+\[[^\]]*\]", made)]
            types |= zip(re.split(r", +", results), made)
            yield kind, [types[x.strip()] for x in operands.split(",") if x.strip()], made


def fits(have, want, letters, computed):
    of = lambda letter: computed if letter == "w" else letters[letter]  # noqa: E731
    return len(have) == len(want) and all(x in {of(letter) for letter in y} for x, y in zip(have, want))


def complaints():
    table, used = list(rows()), set()
    for (name, model), uses, more in itertools.product(MODELS.items(), USES, MORE):
        if "reproducible" in more and name in ("qwen3", "gpt2, dropout"):
            continue
        said = "  ".join(f"{use} = {word}" for use, word in uses.items())
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "a.place"), "w", encoding="utf-8") as to:
                to.write(f"model tiny {model}\ndevice core {{ memory = 1 GiB }}\nmesh ranks of core {{ dp = 2 }}\n"
                         f"train {{ batch = 8  sequence = 16  microbatch = 2  optimizer = adamw(lr = 1e-3)  {more}"
                         f"  precision {{ {said} }} }}\nstrategy main {{ split batch over dp }}\n")
            done = subprocess.run([PLACEC, "emit", "--as=program", "a.place"], cwd=folder, capture_output=True,
                                  text=True, timeout=60)
        if done.returncode:
            yield f"{name}, {said}: {done.stderr}"
            continue
        letters = letters_of(uses, "reproducible" in more)
        for kind, reads, makes in ops_of(done.stdout):
            floating = [x for x in reads if x != "i32"]
            if "i32" in makes or set(reads + makes) <= {"a scalar", "i32"} or kind == "bin_sum":
                continue # positions, scalars of the step, and sums of squares, which are f64
            computed = "f64" if "f64" in floating + makes and kind != "square_bins" else "f32"
            found = {number for number, op, *cells in table if op == kind and
                     fits(floating, cells[0], letters, computed) and fits(makes, cells[1], letters, computed)}
            used |= found
            if not found:
                yield f"{name}, {said}: no row says that `{kind}` reads {floating} and makes {makes}"
    yield from (f"a row of {op} is of no op" for number, op, *_ in table if number not in used)


failures = list(dict.fromkeys(complaints()))
print("\n".join(failures[:20]))
sys.exit(1 if failures else 0)

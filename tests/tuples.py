#!/usr/bin/env python3
"""All strategies that are a tuple of modes: each of the four states in one of five, on one axis of two devices. The
rules below say of each why it has no meaning, if it has none, and `placec check` must say the same. What has one must lie
on devices as it says, hold, send and copy what was accounted, and train as one device does.

usage: tuples.py PLACEC ROOT       a sample, drawn with a fixed seed; with PLACE_TEST_FULL in the environment all,
                                   with PLACE_TEST_EVERY=N an N-th of the sample
       tuples.py --table           docs/tuples.md, which the test holds against the rules"""
import array
import collections
import itertools
import json
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

LETTERS = ("R", "S", "S*", "M", "O")
TUPLES = list(itertools.product(LETTERS, repeat=4))
FULL = bool(os.environ.get("PLACE_TEST_FULL"))
EVERY = int(os.environ.get("PLACE_TEST_EVERY", 1))
N_CHECKED, N_RUN = 40, 2  # of each kind of axis and in each type, where not all are tried
STEPS, LAYERS = 3, 2

# The kinds of axes, by what the tuple is about: of a tensor axis a tuple about what its split cuts is another than one
# about the rest, which every device has whole.
AXES = {"data": "split batch over axis",
        "cut": "split heads, kv_heads, ffn, vocab over axis",
        "rest": "split heads, kv_heads, ffn, vocab over axis"}
TITLES = {"data": "A data axis", "cut": "A tensor axis, what its split cuts",
          "rest": "A tensor axis, what its split leaves whole"}
TYPES = {"fp32": "", "bf16": "precision { parameters = bf16  master = fp32  compute = bf16 }"}
CUT = ("embedding", "attention.qkv", "attention.out", "mlp.gate", "mlp.up", "mlp.down", "head")
NORMS = ("layers.attention.norm", "layers.mlp.norm", "norm")
OPTIMIZERS = {"AdamW": "optimizer = adamw(lr = 1e-2, eps = 1e-3)", "SGD": "optimizer = sgd(lr = 1e-2)",
              "Muon": "optimizer = adamw(lr = 1e-2, eps = 1e-3)  optimizer.layers = muon(lr = 1e-2)"}
# Of a tensor's largest element, and of a loss, where the order of sums is not promised. In bf16 the last digits of what
# is kept may differ.
TOLERANCE = {"fp32": 2e-5, "bf16": 2.0 ** -5}

Reason = collections.namedtuple("Reason", "sign code axes what why holds")
# Why a tuple has no meaning. One may have several reasons, of which the compiler says one.
REASONS = [
    Reason("b", "E121", tuple(AXES), "gradients S*",
           "They are reduced once and used once, so nothing gathers them. A sum that is scattered, and gathered again "
           "for a whole update, would train alike; with `optimizer : sharded` parameters are gathered in its place, "
           "which sends as much, and holds and computes less.",
           lambda p, o, g, a, types: g == "S*"),
    Reason("c", "E306", ("data", "rest"), "parameters S",
           "No op computes on a flat part of a parameter: S* gathers them.",
           lambda p, o, g, a, types: p == "S"),
    Reason("d", "E304", ("cut",), "parameters, optimizer or gradients R, parameters or optimizer S*",
           "The split has cut them, so they are S, as nobody computes with the whole.",
           lambda p, o, g, a, types: p in ("R", "S*") or o in ("R", "S*") or g == "R"),
    Reason("e", "E402", ("data", "rest"), "gradients S, optimizer R, M or O",
           "Each device would update the whole parameter with its part of the gradient, and copies would drift apart.",
           lambda p, o, g, a, types: g == "S" and o not in ("S", "S*")),
    Reason("f", "E307", ("data", "rest"), "parameters S*, optimizer R, M or O",
           "Each device would update parameters of which it keeps a part: all do the same work, and throw most away.",
           lambda p, o, g, a, types: p == "S*" and o not in ("S", "S*")),
    Reason("g", "E314", tuple(AXES), "parameters M, in fp32", "There is no master copy of which they could be made.",
           lambda p, o, g, a, types: p == "M" and types == "fp32"),
    Reason("h", "E314", tuple(AXES), "optimizer M, in bf16",
           "The master copy is a state of the optimizer, and the next step needs it.",
           lambda p, o, g, a, types: o == "M" and types == "bf16"),
    Reason("i", "W830", ("rest",), "optimizer S*",
           "Nothing changes: updates of gains work on elements, and need none whole. It is warned of, and trains as S.",
           lambda p, o, g, a, types: o == "S*"),
    Reason("a", "E306", ("data",), "activations S or S*",
           "Each device computes on sequences of its own, and nobody else needs what it makes of them.",
           lambda p, o, g, a, types: a in ("S", "S*")),
]
# What is not built yet, of tuples that may mean something.
NOT_BUILT = []


def reasons(kind, types, modes):
    return [reason for reason in REASONS if kind in reason.axes and reason.holds(*modes, types)]


def not_built(kind, types, modes):
    return [reason for reason in NOT_BUILT if kind in reason.axes and reason.holds(*modes, types)]


def optimizer_of(kind, modes):
    """The optimizer of which a tuple may mean something: one that needs what is gathered whole, or keeps nothing."""
    return {"S*": "Muon" if kind == "data" else "AdamW", "M": "SGD"}.get(modes[1], "AdamW")


def of_cut(state, mode):
    return ", ".join(f"{state}.{part}" for part in CUT) + f" : {mode}"


def statements(kind, modes):
    """The statements that say so. A split says S of what it cuts, and activations are cut by a dimension."""
    extents = {"R": "replicated(axis{})", "S": "sharded(axis{})", "S*": "gathered(axis{})"}
    activations = {"M": "recomputed", "O": "offloaded"}.get(modes[3]) or extents[modes[3]].format(" by sequence")
    if kind == "cut":
        for state, mode in zip(("parameters", "optimizer", "gradients"), modes):
            if mode in ("M", "O"):
                yield f"{state} : {'materialized' if mode == 'M' else 'offloaded'}"
            elif mode != "S":
                yield of_cut(state, extents[mode].format(""))
    else:
        letters = modes if kind == "data" or modes[3] not in ("S", "S*") else (*modes[:3], "R")
        yield f"states : ({', '.join(letters)}) on axis"
    if kind != "data" and modes[3] in ("S", "S*") or kind == "cut" and modes[3] in ("M", "O"):
        yield f"activations : {activations}"


def text_of(kind, types, optimizer, said, devices=2, reproducible=False):
    elsewhere = "  host_memory = 1 GiB" if re.search(r"offloaded|\bO\b", " ".join(said)) else ""
    return f"""import "lib/strategies.place"
model tiny : llama {{ layers = {LAYERS}  hidden = 32  heads = 4  head_dim = 8  kv_heads = 2  ffn = 64  vocab = 256 }}
device core {{ memory = 1 GiB{elsewhere} }}
mesh ranks of core {{ axis = {devices}  link(10 GB/s, 1 us) }}
train {{
  batch = 8  sequence = 16  microbatch = {4 if kind == "data" else 8}  {"reproducible = 2" if reproducible else ""}
  {OPTIMIZERS[optimizer]}
  {TYPES[types]}
}}
strategy main {{
  {AXES[kind]}
  {"  ".join(said)}
}}
"""


class Wrong(Exception):
    pass


def require(holds, what):
    if not holds:
        raise Wrong(what)


# ---- what the compiler says ----------------------------------------------------------------------------------------


def first_error(report):
    """Code and message; None: accepted."""
    for d in report["diagnostics"]:
        if d["severity"] == "error":
            return d["code"], d["message"]
    return None


def check_verdict(report, why, pending):
    error = first_error(report)
    if error and error[0] == "E199":
        require(pending, f"not built: {error[1]}")
    elif error:
        require(error[0] in [reason.code for reason in why], f"refused by {error[0]}: {error[1]}")
    else:
        warned = {d["code"] for d in report["diagnostics"]}
        require(not pending, "accepted, where it is thought not to be built")
        expected = {reason.code for reason in why}
        require(warned == expected, f"accepted, warned of {warned}; thought to mean nothing: {expected}")


# ---- what it does ----------------------------------------------------------------------------------------------------


def rows_of(report, state):
    """Storage, residency and bytes of each of the state's roles; of several kinds of moments all."""
    rows = collections.defaultdict(lambda: [None, None, 0])
    for row in report["placement"]:
        if row["state"] == state:
            kept = rows[row["role"]]
            kept[:] = row["axes"]["axis"]["storage"], row["residency"], kept[2] + row["bytes"]
    return rows


def check_kept(letter, state, here, whole, parts):
    """A role's storage here, and its bytes where nothing cuts them but a split."""
    extent, residency, kept = here
    if letter == "M":
        require(residency == "materialized", f"{state} are {residency}")
        require(kept == whole if state == "gradients" else kept == 0, f"{kept} bytes of {state} are kept, of {whole}")
    elif letter == "O":
        require(residency == "offloaded", f"{state} are {residency}")
    else:
        require(residency == "stored", f"{state} are {residency}")
        require(kept * parts == whole, f"{kept} bytes of {state} are kept, of {whole}, with {letter}")
        # The optimizer's states are gathered inside an update, and activations at once where they are made.
        found = letter if state == "parameters" else letter[0]
        require(extent.split("+")[0] == found, f"{state} are {extent}, and said to be {letter}")


def check_placement(kind, modes, report, one):
    """Each role that the tuple is about lies as it says."""
    for letter, state in zip(modes, ("parameters", "optimizer", "gradients")):
        whole = rows_of(one, state)
        for role, here in rows_of(report, state).items():
            if kind == "data" or (role in NORMS) == (kind == "rest"):
                once = 1 if state == "gradients" and letter == "M" and role.startswith("layers") else LAYERS
                cut = 2 if kind == "cut" else 1
                parts = 2 if kind != "cut" and letter != "R" else 1
                check_kept(letter, state, here, whole[role][2] * once // LAYERS // cut, parts)


def check_activations(letter, report, kept):
    """What is kept of them, against the same tuple that keeps them."""
    if letter == "M":
        held, all_held = (r["memory"]["held"]["activations"] for r in (report, kept))
        require(held < all_held, f"{held} bytes of activations are kept of {all_held}")
    elif letter in ("S", "S*"):
        here, whole = (rows_of(r, "activations")["layers"] for r in (report, kept))
        require(here[0] == "S" and here[2] * 2 <= whole[2], f"layers' inputs are kept {here}, whole {whole}")


STATES = ("parameters", "optimizer", "gradients", "activations", "transient")


def check_account(report, steps):
    """What a run holds, sends and copies is what was said of it."""
    memory, predicted = report["memory"], collections.Counter()
    for row in report["communication"]:
        predicted[row["axis"]] += row["bytes"]
    for step in steps:
        sent = {axis: count for axis, count in step["bytes_sent"].items() if count}
        require(sent == predicted, f"sent {sent}, predicted {predicted}")
        require(step["peak_bytes"] == memory["peak"], f"held {step['peak_bytes']}, predicted {memory['peak']}")
        require(all(step["live_bytes"][state] == memory["live"][state] for state in STATES),
                f"alive {step['live_bytes']}, predicted {memory['live']}")
        if report["copied"]:
            require(step["bytes_copied"] == report["copied"], f"copied {step['bytes_copied']}, not {report['copied']}")
            require(step["peak_bytes_beyond"]["host"] == memory["host"], f"on the host {step['peak_bytes_beyond']}")


# ---- how it trains ---------------------------------------------------------------------------------------------------


def saved(path):
    """The parameters of a file."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: numbers(tensor["dtype"], data[slice(*tensor["data_offsets"])]) for name, tensor in header.items()}


def numbers(dtype, data):
    if dtype == "BF16":
        data = b"".join(b"\0\0" + data[i:i + 2] for i in range(0, len(data), 2))
    return array.array("f", data)


def check_alike(types, here, one):
    """Losses and parameters up to how sums are ordered and rounded."""
    (steps, path), (other_steps, other_path), within = here, one, TOLERANCE[types]
    for step, other in zip(steps, other_steps, strict=True):
        require(abs(step["loss"] - other["loss"]) <= within * other["loss"], f"losses {step['loss']}, {other['loss']}")
    ours, theirs = saved(path), saved(other_path)
    require(ours.keys() == theirs.keys(), "other tensors are saved")
    for name, values in ours.items():
        largest = max(map(abs, theirs[name]))
        difference = max(abs(a - b) for a, b in zip(values, theirs[name], strict=True))
        require(difference <= within * largest, f"{name} differs by {difference} of {largest}")


def check_same(here, one):
    """The same bits."""
    (steps, path), (other_steps, other_path) = here, one
    for what in ("loss", "grad_norm"):
        require([step[what] for step in steps] == [step[what] for step in other_steps], f"another {what}")
    with open(path, "rb") as ours, open(other_path, "rb") as theirs:
        require(ours.read() == theirs.read(), "other parameters")


class Trial:
    """Files, and what the compiler and runs say of them. What is asked twice is kept."""

    def __init__(self, placec, root, folder):
        self.placec, self.folder, self.kept = placec, folder, {}
        self.text = os.path.join(root, "README.md")

    def once(self, key, make):
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def path_of(self, text):
        path = os.path.join(self.folder, "tuple.place")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def check(self, text):
        return self.once(("check", text), lambda: self.checked(text))

    def checked(self, text):
        done = subprocess.run([self.placec, "check", "--json", self.path_of(text)], capture_output=True, text=True,
                              stdin=subprocess.DEVNULL)
        require(done.returncode in (0, 1), f"status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def run(self, text):
        log, path = (os.path.join(self.folder, f"{name}{len(self.kept)}") for name in ("log", "saved"))
        done = subprocess.run([self.placec, "run", self.path_of(text), "--data", self.text, "--steps", str(STEPS),
                               "--quiet", "--log", log, "--save", path],
                              capture_output=True, text=True, stdin=subprocess.DEVNULL)
        require(done.returncode == 0, f"run: status {done.returncode}: {done.stdout}{done.stderr}")
        with open(log, encoding="utf-8") as lines:
            return [step for step in map(json.loads, lines) if "step" in step], path

    def one_device(self, kind, types, optimizer, ordered):
        """Of the training that a tuple divides."""
        text = text_of(kind, types, optimizer, [], 1, ordered)
        return self.once(("run", text), lambda: self.run(text))

    def text_of(self, kind, types, modes, *more):
        return text_of(kind, types, optimizer_of(kind, modes), list(statements(kind, modes)), *more)

    def try_verdict(self, kind, types, modes):
        why, pending = reasons(kind, types, modes), not_built(kind, types, modes)
        check_verdict(self.check(self.text_of(kind, types, modes)), why, pending)
        return "means nothing" if why else "is not built" if pending else "means something"

    def try_run(self, kind, types, modes):
        text, optimizer = self.text_of(kind, types, modes), optimizer_of(kind, modes)
        report = self.check(text)
        check_placement(kind, modes, report, self.check(text_of(kind, types, optimizer, [], 1)))
        check_activations(modes[3], report, self.check(self.text_of(kind, types, (*modes[:3], "R"))))
        here = self.run(text)
        check_account(report, here[0])
        check_alike(types, here, self.one_device(kind, types, optimizer, False))
        ordered = self.text_of(kind, types, modes, 2, True)
        error = first_error(self.check(ordered))
        if error:
            require(modes[2] == "O" and error[0] == "E199",
                    f"with reproducible refused by {error[0]}: {error[1]}")
            return "run"
        check_same(self.run(ordered), self.one_device(kind, types, optimizer, True))
        return "run; the same bits"


def drawn(kind, types, n, holds):
    """A sample, the same each time: of all that hold."""
    found = [modes for modes in TUPLES if holds(modes)]
    return found if FULL else random.Random(f"{kind} {types}").sample(found, min(-(-n // EVERY), len(found)))


def has_meaning(kind, types, modes):
    return not reasons(kind, types, modes) and not not_built(kind, types, modes)


# ---- the page --------------------------------------------------------------------------------------------------------


def table(*rows):
    """Rows of Markdown, the first of which is the head."""
    lines = ["| " + " | ".join(str(cell).replace("*", r"\*") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]) + "\n"


def counts_of(kind, types):
    """Tuples that have a meaning by their optimizer; those that have none, and those that are not built."""
    counts = collections.Counter()
    for modes in TUPLES:
        counts["none" if reasons(kind, types, modes) else "not built" if not_built(kind, types, modes)
               else optimizer_of(kind, modes)] += 1
    return [sum(counts[name] for name in OPTIMIZERS), *(counts[name] for name in (*OPTIMIZERS, "none", "not built"))]


def cell(kind, modes):
    """The optimizer by which it means something, or the first reason why not, in each type."""
    signs = []
    for types in TYPES:
        why = reasons(kind, types, modes) or not_built(kind, types, modes)
        signs.append(why[0].sign if why else optimizer_of(kind, modes))
    return signs[0] if signs[0] == signs[1] else " / ".join(signs)


def matrix(kind):
    """Of activations that are kept whole. Rows that are alike stand together."""
    rows = {}
    for p, o in itertools.product(LETTERS, repeat=2):
        cells = tuple(cell(kind, (p, o, g, "R")) for g in LETTERS)
        rows.setdefault((p, cells), []).append(o)
    return table(("parameters", "optimizer", *(f"gradients {g}" for g in LETTERS)),
                 *((p, ", ".join(optimizers), *cells) for (p, cells), optimizers in rows.items()))


def page():
    """docs/tuples.md"""
    held = sorted((r.sign, r.code, r.what, max(sum(r.holds(*modes, t) for modes in TUPLES) for t in TYPES), r.why)
                  for r in REASONS)
    kinds = "".join(f"\n**{TITLES[kind]}.** {PAGE_KINDS[kind]}\n\n{matrix(kind)}" for kind in AXES)
    return PAGE.format(
        counts=table(("axis", "in", "mean something", *(f"with {name}" for name in OPTIMIZERS),
                      "mean nothing", "not built"),
                     *((TITLES[kind], types, *counts_of(kind, types)) for kind in AXES for types in TYPES)),
        reasons=table(("", "code", "of", "tuples", "why"), *held),
        pending=", ".join(f"{reason.sign} {reason.what}" for reason in NOT_BUILT) or "none", kinds=kinds, steps=STEPS)


PAGE_KINDS = {
    "data": "It splits the batch. Activations may be R, M or O, else a.",
    "cut": "It splits heads, ffn and vocabulary, so matrices and tables are S; M and O are of a device's part. "
           "Activations may be R, S or S\* (both by sequence), M or O.",
    "rest": "The same axis; the tuple is about gains of norms. Activations as above."}

PAGE = """# All 625 tuples

A strategy says of each of four states (parameters, optimizer, gradients, activations) in which of five modes it is: R
replicated, S sharded, S\* sharded and gathered, M materialized (activations: recomputed), O offloaded. That makes 625
tuples on an axis. Which of them mean something is found here for an axis of two devices, in fp32, and in bf16 with a
master copy in fp32. `tests/tuples.py` has the rules by which this page is printed (`tests/tuples.py --table`), and
holds `placec check` against them, tuple by tuple: its verdict, and its code. What is accepted lies on devices as it is
said, holds, sends and copies what was accounted, and trains {steps} steps as one device does. `ctest -R tuples` tries a
sample, with `PLACE_TEST_FULL=1` all.

Some tuples mean something under some optimizers only: of the optimizer M needs one that keeps nothing (SGD without
momentum), S\* one that needs matrices whole (Muon, for the matrices of layers). Each tuple is tried with the one under
which it may mean something; with AdamW otherwise.

{counts}
Not built yet, though they may mean something: {pending}.

## Why others mean nothing

A tuple may have several of these reasons. `tuples` counts those that have it, on an axis where it is one.

{reasons}
## By modes

Where a tuple means something the optimizer stands with which it was tried, else the first reason why not: in fp32 / in
bf16, where these differ.
{kinds}"""


def check_page(root):
    with open(os.path.join(root, "docs", "tuples.md"), encoding="utf-8") as file:
        return [] if file.read() == page() else ["docs/tuples.md is not what `tests/tuples.py --table` prints"]


def main(placec, root):
    counts, told = collections.Counter(), check_page(root)
    with tempfile.TemporaryDirectory() as folder:
        trial = Trial(placec, root, folder)
        for kind, types in itertools.product(AXES, TYPES):
            for modes in drawn(kind, types, N_CHECKED, lambda modes: True):
                attempt(told, counts, trial.try_verdict, kind, types, modes)
            for modes in drawn(kind, types, N_RUN, lambda modes: has_meaning(kind, types, modes)):
                attempt(told, counts, trial.try_run, kind, types, modes)
    print(dict(counts))
    print(*told, sep="\n")
    return 1 if told else 0


def attempt(told, counts, act, kind, types, modes):
    """Counts what it comes to."""
    try:
        counts[act(kind, types, modes)] += 1
    except Wrong as wrong:
        told.append(f"({', '.join(modes)}) on {TITLES[kind].lower()}, {types}: {wrong}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        print(page(), end="")
    else:
        sys.exit(main(*sys.argv[1:]))

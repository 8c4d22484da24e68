#!/usr/bin/env python3
"""Accepted means heard: every row of the tables of the language and of the command has a pair of files, or
of command lines, that differ in it alone. What comes of the two differs, or a diagnostic speaks of one.

    heard.py PLACEC ROOT [ROW...]     with PLACE_TEST_EVERY=N in the environment, every N-th of them

That what comes of one side comes of it again is tried with PLACE_TEST_FULL in the environment, or for the rows named.

The pairs stand in heard.pairs, which explains itself. A row of a table without a pair fails the test, so
that whoever adds a row shows what it does; so does a pair whose row is gone."""
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

PLACEC, ROOT, ONLY = os.path.abspath(sys.argv[1]), sys.argv[2], sys.argv[3:]
REPEATS = ONLY or os.environ.get("PLACE_TEST_FULL")
PAIRS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "heard.pairs")

# A table, what a row of it looks like, and the name that a pair for the row has.
TABLES = [
    ("frontend/model_fields.def", r"^MODEL_FIELD\((\w+),", "model.{}"),
    ("frontend/model_kinds.def", r'^MODEL_KIND\(\w+, "(\w+)"', "kind.{}"),
    ("frontend/train_fields.def", r"^\w+_FIELD\((\w+)", "train.{}"),
    ("ir/precision_fields.def", r'^\w+_FIELD\((?:\w+, )?"(\w+)"', "precision.{}"),
    ("frontend/device_fields.def", r"^\w+_FIELD\((\w+),", "device.{}"),
    ("ir/optimizers.def", r'^OPTIMIZER\(\w+, "(\w+)"\)', "optimizer.{}"),
    ("frontend/optimizers.def", r'^OTHER_OPTIMIZER\("(\w+)"\)', "optimizer.{}"),
    ("frontend/optimizers.def", r'^SCHEDULE\("(\w+)",', "schedule.{}"),
    ("frontend/optimizers.def", r'^(?:SCHEDULE_|SCALE_)?ARGUMENT\("(\w+)", "(\w+)"\)', "{}.{}"),
    ("frontend/modes.def", r'^MODE\(\w+, "(\w+)"', "mode.{}"),
    ("frontend/modes.def", r'^(?:RELAXED_)?OPTION\((\w+), "(\w+)", \w+, "(\w+)"', "{}.{} of {}"),
    ("ir/methods.def", r'^METHOD\(\w+, "(\w+)"', "method.{}"),
    ("frontend/units.def", r'^UNIT\(\w+, "([^"]+)"', "unit.{}"),
    ("frontend/config_json.def", r'^CONFIG_FIELD\((\w+), "(\w+)", (?!HARMLESS|KEPT)', "config.{}.{}"),
    ("ir/dimensions.def", r'^DIMENSION\(\w+, "(\w+)", 1\)', "split.{}"),
    ("ir/roles.def", r'^ROLE\(\w+, "(\w+)"', "role.{}"),
    ("ir/ways.def", r'^WAY\(\w+, "(\w+)"', "wire.{}"),
    ("driver/options.def", r'^(?:OPTION|REPEATED)\(\w+, "([\w-]+)"', "option.{}"),
    ("runtime/host/data_kinds.def", r'^DATA_KIND\(\w+, "(\w+)"', "data.{}"),
    ("runtime/options.def", r'^RUN_\w+\(\w+, \w+, "([\w-]+)"', "option.{}"),
]


STATES = {"P": "parameters", "O": "optimizer", "G": "gradients", "A": "activations"}


def name_of(name, groups):
    """Where a table has identifiers, what they are called in a file."""
    return name.format(*(word.lower() if re.fullmatch(r"[A-Z][A-Z0-9]{2,}", word) else word
                         for word in groups))


def rows():
    """The names that must have pairs; an option of a mode has one for each state that takes it."""
    for table, pattern, name in TABLES:
        with open(os.path.join(ROOT, table), encoding="utf-8") as text:
            found = [match.groups() for match in re.finditer(pattern, text.read(), re.M)]
        if not found:
            yield f"a row of {table}, of which none looks like {pattern}"
        for groups in found:
            if " of " in name:
                yield from (name_of(name, (*groups[:-1], STATES[letter])) for letter in groups[-1])
            else:
                yield name_of(name, groups)


class Pair:
    """A line `ROW, ROW ... [WORDS] : TEXT`, with `<one|other>` in the text where the two sides differ."""

    def __init__(self, line):
        head, text = re.split(r" :\s+", line, maxsplit=1)
        self.row, _, words = head.partition(" [")
        self.rows, words = self.row.strip().split(", "), words.rstrip("] ").split()
        self.codes = [word for word in words if re.fullmatch(r"[EW]\d+", word)]
        self.ways = [word for word in words if word not in self.codes] or ["step"]
        self.sides = [re.sub(r"<([^<|>]*)\|([^<|>]*)>", lambda match: match.group(side), text)
                      for side in (1, 2)]


def pairs():
    """An indented line goes on with the line above; `#` begins a comment."""
    with open(PAIRS, encoding="utf-8") as text:
        lines = [line.rstrip() for line in text if line.strip() and line[0] != "#"]
    return [Pair(line) for line in re.sub(r"\n +", "  ", "\n".join(lines)).split("\n")]


# ---- files ---------------------------------------------------------------------------------------

SIZES = "layers = 4  hidden = 32  heads = 4  kv_heads = 2  ffn = 64  vocab = 256"
LIKE_LLAMA = ("mistral", "qwen2", "qwen3", "phi3")
BLOCKS = {
    **{kind: SIZES for kind in ("llama", *LIKE_LLAMA)},
    "gpt2": SIZES + "  sequence_limit = 32",
    "device": "memory = 1 GiB",
    "mesh": "dp = 2",
    "train": "batch = 8  sequence = 16  microbatch = 2  optimizer = adamw(lr = 1e-3)",
    "strategy": "split batch over dp",
}
CONFIGS = {
    "gpt2": {"model_type": "gpt2", "n_layer": 4, "n_embd": 32, "n_head": 4, "n_positions": 32,
             "vocab_size": 256},
    "llama": {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 32, "num_attention_heads": 4,
              "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 256,
              "max_position_embeddings": 32, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
              "tie_word_embeddings": False},
}
CONFIGS |= {kind: CONFIGS["llama"] | {"model_type": kind, "head_dim": 8} for kind in LIKE_LLAMA}


def blocks_of(text):
    """`train { clip = 1 } mesh { dp = 4 }` as a dictionary."""
    blocks, at = {}, 0
    for match in re.finditer(r"(\w+ )?\{|\}", text):
        at += -1 if match.group() == "}" else 1
        if at == 1 and match.group(1):
            name, begin = match.group(1).strip(), match.end()
        elif at == 0:
            blocks[name] = text[begin:match.start()].strip()
    return blocks


def over(base, text):
    """The default fields of a block, without those that the text gives, and the text."""
    flat = re.sub(r"\([^()]*\)", "", re.sub(r"\([^()]*\)", "", text))
    said = re.findall(r"(\w+) =", flat)
    kept = [field for field in re.split(r"  (?=\w+ =)", base) if field.split(" ")[0] not in said]
    return "  ".join(kept + [text])


def write_file(folder, text):
    """The file of a side: what the text does not say of a block is there by default. Of a strategy and
    a mesh it says all, or nothing; a block of another name is one more strategy."""
    said = blocks_of(text)
    for kind, config in CONFIGS.items():
        if kind + "_config" in said:
            with open(os.path.join(folder, "config.json"), "w", encoding="utf-8") as to:
                json.dump(config | json.loads("{" + said.pop(kind + "_config") + "}"), to)
    kind = next((kind for kind in CONFIGS if kind in said), "llama")
    model = f": {kind} {{ {over(BLOCKS[kind], said.pop(kind, ''))} }}"
    if os.path.exists(os.path.join(folder, "config.json")):
        model = 'from "config.json"'
    body = {name: over(BLOCKS[name], said.pop(name, "")) for name in ("device", "train")}
    body |= {name: said.pop(name, BLOCKS[name]) for name in ("mesh", "strategy")}
    with open(os.path.join(folder, "a.place"), "w", encoding="utf-8") as to:
        to.write(f'import "lib/strategies.place"\nmodel tiny {model}\n'
                 f'device core {{ {body["device"]} }}\nmesh ranks of core {{ {body["mesh"]} }}\n'
                 f'train {{ {body["train"]} }}\nstrategy main {{ {body["strategy"]} }}\n' +
                 "".join(f"strategy {name} {{ {text} }}\n" for name, text in said.items()))


# What commands may name: a text, and which of its tokens count as targets; two programs, and where their arrays lie.
PROGRAMS = os.path.join(ROOT, "tests/inputs/hlo/embedding")
DATA = {"text": "what is trained on, and held out; " * 40, "marks": "\1\0" * 17 * 40,
        "spec": "mesh tp=2\nparameter table [6,8] : tp, -\n"}
for program in ("one.hlo", "many.hlo"):
    with open(os.path.join(PROGRAMS, program), encoding="utf-8") as text:
        DATA[program] = text.read()


# ---- what comes of it ----------------------------------------------------------------------------

def placec(folder, *arguments):
    return subprocess.run([PLACEC, *arguments], cwd=folder, capture_output=True, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, timeout=300)


def steady(text):
    """What a run prints and writes, without what the clock says."""
    text = re.sub(r'"(seconds|tokens_per_second)": [^,}]*', "", text)
    text = re.sub(r"[\d.]+ tokens/s( \(\d+% of peak\))?|left \S+|on \d+ cores?|; [\d.]+ s\b", "", text)
    return text


def files_of(folder, before):
    """What a command left behind, by name; of folders the folders in them."""
    left = {}
    for name in sorted(set(os.listdir(folder)) - before):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            left[name] = sorted(os.path.relpath(at, path) for at, _, _ in os.walk(path))
            continue
        with open(path, "rb") as made:
            left[name] = steady(made.read().decode("latin-1"))
    return left


def outcome(pair, side):
    """What one side comes to: codes of diagnostics, and what is looked at."""
    with tempfile.TemporaryDirectory() as folder:
        text = pair.sides[side]
        if "command" in pair.ways or "words" in pair.ways:
            file, _, command = text.rpartition("}")
            write_file(folder, file + "}" if file else "")
            for name, data in DATA.items():
                with open(os.path.join(folder, name), "w", encoding="utf-8") as to:
                    to.write(data)
            before = set(os.listdir(folder))
            for part in command.split("&&"):
                done = placec(folder, *shlex.split(part))
            if "words" in pair.ways:
                heads = set(re.findall(r"^[a-z]+", done.stdout, re.M))
                return [], [done.returncode, heads, set(os.listdir(folder)) - before]
            return [], [done.returncode, steady(done.stdout), done.stderr, files_of(folder, before)]
        write_file(folder, text)
        report = json.loads(placec(folder, "check", "a.place", "--json").stdout)
        codes = [diagnostic["code"] for diagnostic in report["diagnostics"]]
        if pair.ways == ["check"]:
            return codes, report
        if pair.ways == ["run"]:
            done = placec(folder, "run", "a.place", "--data", "a.place", "--steps", "1", "--log", "log")
            return codes, [done.returncode, files_of(folder, {"a.place", "config.json"})]
        return codes, placec(folder, "emit", "a.place", "--as=step").stdout


def complaint(pair):
    """What is wrong with a pair; None: nothing."""
    try:
        (codes, one), (other_codes, other) = outcome(pair, 0), outcome(pair, 1)
    except (ValueError, subprocess.TimeoutExpired) as error:
        return f"{pair.row}: {error}"
    if pair.codes:
        spoken = set(codes) ^ set(other_codes)
        if not set(pair.codes) <= spoken:
            return f"{pair.row}: diagnostics of one side are {sorted(spoken)}, not {pair.codes}"
        return None
    refused = [code for code in codes + other_codes if code.startswith("E")]
    if refused:
        return f"{pair.row}: refused with {refused}, which the pair does not say"
    if one == other:
        return f"{pair.row}: not heard: both sides come to the same"
    if REPEATS and pair.ways != ["step"] and outcome(pair, 0)[1] != one:
        return f"{pair.row}: shows nothing: one side comes to something else each time"
    return None


wanted, given = list(rows()), pairs()
failures = [f"{row}: no pair in {os.path.relpath(PAIRS, ROOT)}"
            for row in wanted if not any(row in pair.rows for pair in given)]
failures += [f"{row}: a pair for no row of a table"
             for pair in given for row in pair.rows if row not in wanted]
with ThreadPoolExecutor(2) as pool:
    chosen = [pair for pair in given if not ONLY or set(pair.rows) & set(ONLY)]
    chosen = chosen[:: int(os.environ.get("PLACE_TEST_EVERY", 1))]
    failures += [line for line in pool.map(complaint, chosen) if line]
print("\n".join(failures))
sys.exit(1 if failures else 0)

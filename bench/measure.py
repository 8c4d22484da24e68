"""What the benchmarks share: command lines, strategies as text, `placec check` and `placec run`, tables.

Programs in bench/ print figures; they never pass or fail. The command is $PLACEC, else
build-release/bin/placec.
"""
import argparse
import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PLACEC = os.environ.get("PLACEC", os.path.join(ROOT, "build-release", "bin", "placec"))
TEXT = os.path.join(ROOT, "build-release", "english.txt")
OPENMP_BLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"
STATES = ("parameters", "optimizer", "gradients", "activations")

# The strategies that the tables compare; `dp` is the data axis.
STRATEGIES = {
    "ddp": "split batch over dp  gradients : replicated(dp, reduce = last)",
    "zero1": "split batch over dp  use zero1(dp)",
    "zero2": "split batch over dp  use zero2(dp)",
    "zero3": "split batch over dp  use zero3(dp)",
}

GPT2_124M = ("model m : gpt2 { layers = 12  hidden = 768  heads = 12  ffn = 3072  vocab = 50257"
             "  sequence_limit = 1024 }")
# 3,257,856 parameters: the head is the table of the embedding, which counts once.
GPT_4_LAYERS = ("model m : gpt2 { layers = 4  hidden = 256  heads = 4  ffn = 1024  vocab = 256"
                "  sequence_limit = 128 }")
LLAMA_1B = ("model m : llama { layers = 20  hidden = 2048  heads = 32  kv_heads = 4  head_dim = 64"
            "  ffn = 5632  vocab = 32000 }")


def parser(documentation):
    """Of a benchmark's command line; its documentation is what --help says."""
    return argparse.ArgumentParser(description=documentation, formatter_class=argparse.RawDescriptionHelpFormatter)


def count(word):
    """A type of arguments: a whole number above 0."""
    if not re.fullmatch(r"0*[1-9]\d*", word, re.ASCII):
        raise argparse.ArgumentTypeError(f"{word!r} is no whole number above 0")
    return int(word)


def seconds(word):
    """A type of arguments: a time above 0."""
    if not re.fullmatch(r"\d+(\.\d*)?|\.\d+", word, re.ASCII) or float(word) == 0:
        raise argparse.ArgumentTypeError(f"{word!r} is no number of seconds above 0")
    return float(word)


def command():
    """The path of placec."""
    if not shutil.which(PLACEC):
        sys.exit(f"{PLACEC} is not there: ./dev bench builds it, and PLACEC names another")
    return PLACEC


def program(name):
    """The path of a program that was built beside placec."""
    path = os.path.join(os.path.dirname(PLACEC), name)
    if not os.path.exists(path):
        sys.exit(f"{path} is not there: ./dev bench builds it")
    return path


def commit_exists(commit):
    return subprocess.run(["git", "-C", ROOT, "rev-parse", "-q", "--verify", commit + "^{commit}"], capture_output=True,
                          check=False).returncode == 0


def build_commit(commit):
    """Builds the compiler of a commit in build-release/commits/, once. Returns its path and what it is called: the
    commit's first line."""
    def output(*command, **options):
        done = subprocess.run(command, capture_output=True, text=True, cwd=options.get("cwd", ROOT))
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
        return done.stdout.strip()

    name = output("git", "log", "-1", "--format=%h %s", commit)
    folder = os.path.join(ROOT, "build-release", "commits", name.split()[0])
    built = os.path.join(folder, "build-release", "bin", "placec")
    if not os.path.exists(built):
        os.makedirs(folder, exist_ok=True)
        output("sh", "-c", 'git archive "$0" | tar -x -C "$1"', commit, folder)
        output("cmake", "--preset", "release", cwd=folder)
        output("cmake", "--build", "build-release", "--target", "command", cwd=folder)
    return built, name


def place_text(model, axes, train, strategy, memory="64 GiB"):
    """A file of one model, one mesh, one strategy `main`. `axes` is a dict of sizes; `memory` is what a device has."""
    mesh = "  ".join(f"{name} = {size}" for name, size in axes.items())
    return ('import "lib/strategies.place"\n' + model + "\n"
            f"device core {{ memory = {memory} }}\n"
            f"mesh ranks of core {{ {mesh} }}\n"
            f"train {{ {train} }}\n"
            f"strategy main {{ {strategy} }}\n")


def environment(**variables):
    """What programs run in: ours, and these variables."""
    env = {**os.environ, **variables}
    env.pop("OPENBLAS_CORETYPE", None)  # a choice of kernels made for another machine
    return env


def place(*arguments, text=None, variables=None):
    """Runs placec on a text given as standard input; returns the completed process."""
    done = subprocess.run([command(), *arguments], input=text, capture_output=True, text=True,
                          env=environment(**(variables or {})))
    if done.returncode != 0:
        sys.exit(f"{' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def check(text):
    return json.loads(place("check", "-", "--json", text=text).stdout)


def run_printed(text, steps, *arguments, data=TEXT, variables=None):
    """Trains, with more variables in the environment; returns the first line of the log, the lines of the steps, and
    what was printed."""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log.jsonl")
        done = place("run", "-", "--data", data, "--steps", str(steps), "--log", log, "--quiet",
                     *arguments, text=text, variables=variables)
        with open(log, encoding="utf-8") as lines:
            head, *records = [json.loads(line) for line in lines]
    return head, records, done.stdout


def run(text, steps, *arguments, **options):
    """The same without what was printed."""
    return run_printed(text, steps, *arguments, **options)[:2]


def profile_kinds(text):
    """{kind of work: milliseconds} of the mean rank that --profile says; the last is the whole step."""
    rows = re.findall(r"^ *(\S.*?) {2,}([\d.]+) +[\d.]+ +[\d.]+ %$", text, re.MULTILINE)
    return {kind: float(ms) for kind, ms in rows}


def product_kernels(text):
    """The product library that placec loads, its version and its kernels, as the header of a run says them."""
    header = place("run", "-", "--data", TEXT, "--steps", "1", text=text).stdout
    return re.search(r"^products: ([^;]*);", header, re.MULTILINE).group(1)


def bits(records, dump):
    """Stands for all that a run has computed: losses and norms of its steps, and what `--dump` wrote of parameters and
    optimizer states."""
    with open(dump, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    whole = hashlib.sha256(repr([(record["loss"], record["grad_norm"]) for record in records]).encode())
    for name, tensor in sorted(header.items()):
        if name != "__metadata__":
            whole.update(name.encode() + data[slice(*tensor["data_offsets"])])
    return whole.hexdigest()[:8]


def pytorch_environment(kernels):
    """What PyTorch runs in: its OpenBLAS takes the kernels of ours, where ours is one, and has threads that go with
    PyTorch's, which are OpenMP's."""
    openblas = re.search(r"OpenBLAS \S+ (\w+)$", kernels)
    variables = {"OPENBLAS_CORETYPE": openblas[1]} if openblas else {}
    if os.path.isdir(OPENMP_BLAS):
        variables["LD_LIBRARY_PATH"] = OPENMP_BLAS
    return {**environment(), **variables}


def machine():
    """What figures depend on: the commit, the CPU, and how many cores of it we may use."""
    commit = subprocess.run(["git", "-C", ROOT, "log", "-1", "--format=%h %s"], capture_output=True, text=True,
                            check=False).stdout.strip()
    with open("/proc/cpuinfo", encoding="utf-8") as lines:
        cpu = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), "unknown CPU")
    return {"commit": commit or None, "cpu": cpu, "cores": len(os.sched_getaffinity(0))}


class Word(str):
    """A cell of a table that is text even where it reads as a number, as what stands for bits may."""


def value(cell):
    """The number that a cell of a table says, as Python formats one, shares as fractions of one; or its text."""
    match = re.fullmatch(r"(-?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?(?:e[-+]\d{2,3})?)(%?)", cell)
    if isinstance(cell, Word) or not match or not math.isfinite(float(match[1].replace(",", ""))):
        return cell
    number = json.loads(match[1].replace(",", ""))
    return number / 100 if match[2] else number


def add_to_json(path, entry):
    """Adds a table to the file of this round of benchmarks, which the first table begins."""
    report = {"schema": 1, **machine(), "tables": []}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    report["tables"].append(entry)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, allow_nan=False)


def table(title, head, rows):
    """Prints a table, and adds it to the JSON file that $PLACE_BENCH_JSON names, if it does (docs/json.md)."""
    rows = [[cell if isinstance(cell, str) else str(cell) for cell in row] for row in rows]
    if os.environ.get("PLACE_BENCH_JSON"):
        add_to_json(os.environ["PLACE_BENCH_JSON"],
                    {"benchmark": os.path.basename(sys.argv[0]), "title": title, "columns": head,
                     "rows": [[value(cell) for cell in row] for row in rows]})
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    print(title)
    for row in [head, *rows]:
        print("  ".join(cell.ljust(width) if i == 0 else cell.rjust(width)
                        for i, (cell, width) in enumerate(zip(row, widths))).rstrip())
    print(flush=True)

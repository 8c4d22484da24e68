#!/usr/bin/env python3
"""Holds docs/equal_jax.md with JAX: compiles examples/jax/train.py as it is and with each mistake of the table below,
asks `placec equal` about what XLA made of them, and prints the table of the page.

usage: equal_jax.py PLACEC [--texts FOLDER] [--found]
    --texts FOLDER   leave the texts of the page and of its tests there (tests/inputs/hlo/train)
    --found          exit with 77 where no Python here has JAX, instead of installing it from PyPI

Exit status 1: a verdict is not the one that is expected, or the page has another table."""
import argparse
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "bench"))
import peer_python  # noqa: E402

SKIPPED, N_DEVICES = 77, 4
PROGRAM, PAGE = (os.path.join(ROOT, name) for name in ("examples/jax/train.py", "docs/equal_jax.md"))
ASSUMED = ["--assume=0<=tokens<40", "--assume=0<=targets<40"]
# Those of the page; and since nothing is executed, code that is quickly made.
FLAGS = f"""--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true
            --xla_force_host_platform_device_count={N_DEVICES} --xla_dump_hlo_as_text --xla_dump_large_constants=true
            --xla_dump_hlo_pass_re=spmd-partitioning --xla_dump_to="""
TEXTS = {"one": "jit_one.*.before_spmd-partitioning", "xla": "jit_one.*.after_spmd-partitioning",
         "many": "jit_many.*.after_spmd-partitioning"}
MLP = 'jax.lax.psum(mlp(norm(x), w), "tp")'
# What is done, what stands in the program, what in its place. JAX is expected to refuse none but the last.
MISTAKES = [
    ("no sum behind the MLP", MLP, "mlp(norm(x), w)"),
    ("a mean in the place of that sum", MLP, MLP.replace("psum", "pmean")),
    ("that sum over all devices", MLP, MLP.replace('"tp"', '("dp", "tp")')),
    ("a softmax of each device's part of the vocabulary",
     'jax.lax.psum(jnp.exp(shifted).sum(-1, keepdims=True), "tp")', "jnp.exp(shifted).sum(-1, keepdims=True)"),
    ("a part of the vocabulary by the wrong axis", 'axis_index("tp")', 'axis_index("dp")'),
    ("gradients averaged, as with `pmap`, not the loss",
     """(lambda w: jax.lax.pmean(loss_of_part(w, tokens, targets), "dp"))(w)
""", """(loss_of_part)(w, tokens, targets)
    loss, gradients = jax.lax.pmean((loss, gradients), "dp")
"""),
    ("`check_vma=False`", "out_specs=specs[1]", "out_specs=specs[1], check_vma=False"),
    ("no mean over `dp`", 'jax.lax.pmean(loss_of_part(w, tokens, targets), "dp")', "loss_of_part(w, tokens, targets)"),
]
REFUSED = ["no mean over `dp`"]
KEPT = {"no sum behind the MLP": "wrong", "gradients averaged, as with `pmap`, not the loss": "averaged"}


class Failed(Exception):
    """What is not as it is expected."""


def compiled(python, text, folder):
    """The program's texts, by what they are; where JAX refuses the program its last words."""
    program, dump = os.path.join(folder, "train.py"), os.path.join(folder, "dump")
    with open(program, "w", encoding="utf-8") as file:
        file.write(text)
    # Places are told as in the folder of the program, wherever that is.
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "JAX_HLO_SOURCE_FILE_CANONICALIZATION_REGEX": ".*/",
                   "XLA_FLAGS": " ".join(FLAGS.split()) + dump}
    done = subprocess.run([python, program], env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        said = re.findall(r"^(?:[\w.]+\.)?(\w*Error: .*)", done.stderr, re.M)
        return {}, said[-1] if said else done.stderr
    return {name: only(os.path.join(dump, f"module_*.{pattern}*.txt")) for name, pattern in TEXTS.items()}, None


def only(pattern):
    found = glob.glob(pattern)
    if len(found) != 1:
        raise Failed(f"{len(found)} files are {pattern}")
    return found[0]


def asked(placec, one, many):
    """The verdict, and the first message without its code."""
    done = subprocess.run([placec, "equal", one, many, *ASSUMED, "--mesh=dp=2,tp=2", "--json"],
                          capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    return answer["verdict"], answer["diagnostics"][0]["message"] if answer["diagnostics"] else ""


def expect(name, verdict, expected, message):
    if verdict != expected:
        raise Failed(f"{name}: {verdict}, not {expected}: {message}")


def rows(python, placec, texts, program, folder):
    """A row of the table for each mistake; the texts of those of KEPT come to the others."""
    for i, (name, old, new) in enumerate(MISTAKES):
        if program.count(old) != 1:
            raise Failed(f"{PROGRAM} has {program.count(old)} times: {old}")
        inside = os.path.join(folder, str(i))
        os.mkdir(inside)
        made, refused = compiled(python, program.replace(old, new), inside)
        if bool(refused) != (name in REFUSED):
            raise Failed(f"{name}: JAX says {refused or 'nothing'}")
        if refused:
            yield f"| {name} | refuses it | |"
            continue
        verdict, message = asked(placec, texts["one"], made["many"])
        expect(name, verdict, "different", message)
        yield f"| {name} | compiles it | {message} |"
        if name in KEPT:
            texts[KEPT[name]] = made["many"]


def check(placec, python, options, folder):
    with open(PROGRAM, encoding="utf-8") as file:
        program = file.read()
    os.mkdir(os.path.join(folder, "right"))
    texts, refused = compiled(python, program, os.path.join(folder, "right"))
    if refused:
        raise Failed(f"JAX refuses {PROGRAM}: {refused}")
    for many in "many", "xla":
        expect(many, *asked(placec, texts["one"], texts[many])[:1], "equal", "")
    table = ["| what was done | JAX | `placec equal`: different |", "|---|---|---|",
             *rows(python, placec, texts, program, folder)]
    print("\n".join(table))
    if options.texts:
        os.makedirs(options.texts, exist_ok=True)
        for name, path in texts.items():
            shutil.copyfile(path, os.path.join(options.texts, f"{name}.hlo"))
    with open(PAGE, encoding="utf-8") as page:
        if "\n".join(table) not in page.read():
            raise Failed(f"{PAGE} has another table")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("placec")
    parser.add_argument("--texts", metavar="FOLDER")
    parser.add_argument("--found", action="store_true")
    options = parser.parse_args()
    python = peer_python.find("jax") if options.found else peer_python.install("jax")
    if not python:
        print("skipped: no Python here has JAX; PYTHON_JAX names one, and tools/equal_jax.py installs it")
        sys.exit(SKIPPED if options.found else 1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(os.path.abspath(options.placec), python, options, folder)
        except Failed as failed:
            sys.exit(str(failed))


main()

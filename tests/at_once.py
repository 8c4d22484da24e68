#!/usr/bin/env python3
"""Layers that are gathered, copied and recomputed several at once, by numbers that divide each other or not, started
ahead or not: what the placement lets through is proved equal to one device (proved.py).

usage: at_once.py PLACEC ROOT
Cases in which a mistake was found, and 150 drawn with a fixed seed; with PLACE_TEST_FULL in the environment 1,500, and
every small combination; with PLACE_TEST_EVERY=N an N-th of those that are drawn."""
import itertools
import os
import random
import sys

from proved import check_all

PLACEC, ROOT = sys.argv[1:]
FULL = bool(os.environ.get("PLACE_TEST_FULL"))
N_DRAWN = 1500 if FULL else 150 // int(os.environ.get("PLACE_TEST_EVERY", 1))
GATHERED, OFFLOADED = "gathered(dp, unit = layers({}), prefetch = {})", "offloaded(unit = layers({}), prefetch = {})"
KINDS = [(GATHERED,), (OFFLOADED,), (GATHERED, OFFLOADED)]
STATES = ["use zero3(dp)", "use zero3(dp)", "use zero2(dp)", "use zero1(dp)", ""]
# Layers, how states are kept, what is said of parameters, what else.
FOUND = [
    # A gather behind a copy, for a later piece of a group, passed the wait for that copy.
    (5, "use zero3(dp)", "gathered(dp, unit = layers(2)), offloaded(unit = layers(2))", "activations : recomputed(unit = layers(3))"),
    (4, "use zero3(dp)", "offloaded(unit = layers(2), prefetch = 1)", "activations : recomputed(unit = layers(4))"),
    (6, "use zero3(dp)", "gathered(dp, unit = layers(2)), offloaded(prefetch = 1)", "activations : recomputed(unit = layers(4))"),
    # The update takes more layers at once than are recomputed, forward and backward fewer.
    (7, "", "replicated(dp)", "optimizer : offloaded(unit = layers(3))  activations : recomputed(unit = layers(2))"),
    (8, "", "offloaded(unit = layers(3))", "optimizer : offloaded(unit = layers(4))  activations : recomputed(unit = layers(2))"),
]


def file_of(layers, states, parameters, more="", train="microbatch = 4", model="llama"):
    other = "kv_heads = 2" if model == "llama" else "sequence_limit = 16"
    return f"""import "lib/strategies.place"
model m : {model} {{ layers = {layers}  hidden = 32  heads = 4  {other}  ffn = 64  vocab = 128 }}
device d {{ memory = 4 GiB  host_memory = 4 GiB  host_link = 2 GB/s }}
mesh g of d {{ dp = 2 }}
train {{ batch = 8  sequence = 16  optimizer = adamw(lr = 1e-2)  precision = fp64  {train} }}
strategy main {{
  split batch over dp
  {states}
  {parameters}
  {more}
}}
"""


def small_files():
    """Every small combination of the numbers."""
    for layers, unit, again, prefetch, kind, train in itertools.product(
            range(1, 10), range(1, 5), range(1, 5), range(4), KINDS, ["microbatch = 4", "microbatch = 2  reproducible = 2"]):
        said = ", ".join(how.format(unit, prefetch) for how in kind)
        yield file_of(layers, "use zero3(dp)", f"parameters : {said}", f"activations : recomputed(unit = layers({again}))", train)


def drawn_file(drawn):
    """Numbers that differ from state to state, of parts of the model, too."""
    layers, unit, kind = drawn.randint(1, 9), drawn.randint(1, 4), drawn.choice(KINDS)
    states = STATES[0] if GATHERED in kind else drawn.choice(STATES)
    some = f".layers[0:{drawn.randint(1, layers)}]"
    said = ", ".join(how.format(unit, drawn.randint(0, 3)) for how in kind)
    more = [f"{state} : offloaded(unit = layers({drawn.randint(1, 4)}))"
            for state in ("gradients", "optimizer", "activations.mlp") if drawn.random() < 0.2]
    if drawn.random() < 0.85:
        more.append(f"activations{drawn.choice(['', '', some])} : recomputed(unit = layers({drawn.randint(1, 4)}))")
    train = drawn.choice(["", "microbatch = 2", "microbatch = 4  reproducible = 2"])
    return file_of(layers, states, f"parameters{drawn.choice(['', '', '.mlp', '.attention', some])} : {said}",
                   "  ".join(more), train, drawn.choice(["llama", "gpt2"]))


random_numbers = random.Random(1)
sys.exit(check_all(PLACEC, [*(file_of(layers, states, f"parameters : {said}", more) for layers, states, said, more in FOUND),
                            *(drawn_file(random_numbers) for _ in range(N_DRAWN)), *(small_files() if FULL else ())]))

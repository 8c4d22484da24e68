#!/usr/bin/env python3
"""Where states are, drawn at random, of all and of parts of the model, by every extent, cut, unit and residency, a third
of it in pipelines: what
the front end and the placement let through is proved equal to one device (proved.py), and some of it trains as one.

usage: mixed_modes.py PLACEC ROOT
150 drawn with a fixed seed; with PLACE_TEST_FULL in the environment 3,000, with PLACE_TEST_EVERY=N an N-th. Beside them
a third as many that relax a condition, and so train as no other."""
import os
import random
import sys

from proved import check_all

PLACEC, ROOT = sys.argv[1:]
N_DRAWN = 3000 if os.environ.get("PLACE_TEST_FULL") else 150 // int(os.environ.get("PLACE_TEST_EVERY", 1))
TRAINED_EVERY = 12  # of those that are accepted
SELECTORS = ["", "", "", "", ".mlp", ".attention", ".norm", ".embedding", ".head", ".attention.qkv", ".layers",
             ".layers[0:2]", ".layers[-1]", ".layers[::2]", ".layers[1::2].mlp", ".layers[2:].attention", ".layers[:3].norm"]
SIZES = "heads = 4  vocab = 256"
MODELS = [
    f"llama {{ layers = 4  hidden = 32  kv_heads = 2  ffn = 48  {SIZES} }}",
    f"gpt2 {{ layers = 5  hidden = 32  ffn = 64  {SIZES}  biases = mlp  sequence_limit = 16 }}",
    f"llama {{ layers = 6  hidden = 20  head_dim = 6  kv_heads = 4  ffn = 34  {SIZES}  tied = true }}",
]
OPTIMIZERS = ["adamw(lr = 1e-3)", "adamw(lr = 1e-3)", "adam(lr = 1e-3)", "sgd(lr = 1e-2)", "sgd(lr = 1e-2, momentum = 0.9)",
              "lion(lr = 1e-4)", "adafactor(lr = 1e-2)"]
OF_PARTS = ["layers = muon(lr = 0.02)", "mlp = adafactor(lr = 1e-2)", "layers[0:2] = lion(lr = 1e-4)",
            "attention = muon(lr = 0.02)", "layers[::2] = lion(lr = 1e-4)", "layers[1:3].mlp = sgd(lr = 1e-2)",
            "norm = none", "attention = none", "embedding = none"]
PRECISIONS = ["", "precision { parameters = bf16  master = fp32  compute = bf16 }"]
UNITS = ["layer", "tensor", "layers(2)", "layers(3)", "layers(4)"]
EXTENTS = {"parameters": ["gathered", "gathered", "replicated"],
           "optimizer": ["sharded", "sharded", "gathered", "replicated"],
           "gradients": ["sharded", "sharded", "replicated"]}
CUTS = ["", "", "", "", " by tensor", " by hidden", " by ffn", " by vocab"]


def option(drawn, word, values, share=0.3):
    return [f"{word} = {drawn.choice(values)}"] if drawn.random() < share else []


def with_options(word, options):
    return f"{word}({', '.join(options)})" if options else word


def residency(drawn, state):
    if state in ("parameters", "gradients") and drawn.random() < 0.3:
        return "materialized"
    options = option(drawn, "to", ["host", "disk"], 0.5) + option(drawn, "unit", UNITS) + option(drawn, "prefetch", [0, 1, 2])
    if state == "optimizer":
        options += option(drawn, "update", ["host", "device"])
    return with_options("offloaded", options)


def activations(drawn):
    recomputed = with_options("recomputed", option(drawn, "unit", ["layer", "layers(2)", "layers(3)"]))
    offloaded = residency(drawn, "activations")
    return drawn.choice([recomputed, offloaded, f"{recomputed}, {offloaded}", "stored"])


def extent(drawn, state, axes):
    kind = drawn.choice(EXTENTS[state])
    options = []
    if state == "parameters" and kind == "gathered":
        options = (option(drawn, "unit", UNITS) + option(drawn, "prefetch", [0, 1, 2])
                   + option(drawn, "after_forward", ["freed", "kept"]))
    elif state == "gradients" and kind == "replicated":
        options = option(drawn, "reduce", ["last", "each"])
    cut = drawn.choice(CUTS) if kind != "replicated" else ""
    return with_options(kind, [axes + cut, *options])


def mode(drawn, state, axes):
    if state == "activations":
        return activations(drawn)
    kept = [extent(drawn, state, axes)] if drawn.random() < 0.8 else []
    if not kept or drawn.random() < 0.4:
        kept.append(residency(drawn, state))
    return ", ".join(kept)


def statements(drawn, axes, others):
    """`axes`: over which most are; `others`: over which some."""
    said = [f"use zero{drawn.choice([1, 2, 3])}({axes})"] if drawn.random() < 0.6 else []
    for state in (*EXTENTS, "activations"):
        for i in range(drawn.choice([0, 1, 1, 2])):
            selector = drawn.choice(SELECTORS) if i or drawn.random() < 0.3 else ""
            over = drawn.choice(others) if drawn.random() < 0.2 else axes
            said.append(f"{state}{selector} : {mode(drawn, state, over)}")
    return said


def split(drawn):
    """The mesh, what is split over it, the axes over which most states are kept, and those over which some are."""
    kind = drawn.random()
    if kind < 0.5:
        return drawn.choice(["dp = 2", "dp = 3", "dp = 4"]), "split batch over dp", "dp", ["dp"]
    mesh, others = drawn.choice(["dp = 2  tp = 2", "tp = 2  dp = 2"]), ["dp * tp", "tp * dp", "dp", "tp"]
    if kind < 0.75:
        return mesh, "split batch over dp * tp", drawn.choice(others), others
    work = drawn.choice(["heads, kv_heads, ffn", "heads, kv_heads, ffn, vocab", "vocab", "sequence"])
    return mesh, f"split batch over dp  split {work} over tp", drawn.choice(["dp", "dp", "tp", "dp * tp"]), others


METHODS = ["gpipe", "one_f_one_b", "one_f_one_b", "eager", "interleaved(chunks = 2)", "looped_bfs(chunks = 2)",
           "zb_h1", "zb_h2", "interleaved_zb(chunks = 2)", "zbv", "v_half", "v_min", "dualpipe_v"]


def with_pipeline(drawn, mesh, work):
    """Layers are split over an axis, which stands in front of or behind all others."""
    axis = f"pp = {drawn.choice([2, 2, 3])}"
    mesh = drawn.choice([f"{axis}  {mesh}", f"{mesh}  {axis}"])
    return mesh, f"{work}  split layers over pp schedule {drawn.choice(METHODS)}"


def file_of(model, train, mesh, said):
    return (f'import "lib/strategies.place"\nmodel m : {model}\ndevice d {{ memory = 4 GiB  host_memory = 4 GiB }}\n'
            f"mesh g of d {{ {mesh} }}\ntrain {{ sequence = 16  {train} }}\n"
            "strategy main {\n  " + "\n  ".join(said) + "\n}\n")


def drawn_optimizer(drawn):
    optimizer = f"optimizer = {drawn.choice(OPTIMIZERS)}"
    return f"{optimizer}  optimizer.{drawn.choice(OF_PARTS)}" if drawn.random() < 0.4 else optimizer


def relaxed(drawn, mesh, work):
    """What is relaxed, on a mesh that is twice as large or not."""
    if drawn.random() < 0.4:
        wire = drawn.choice(["int8", "sign", "topk(0.1)"])
        return mesh, work, f"relax gradient_integrity over dp {{ gradients : replicated(dp, wire = {wire}) }}"
    outer = drawn.choice(["", "", ", outer = sgd(lr = 0.7, momentum = 0.9)"])
    return (f"r = 2  {mesh}", work.replace("batch over", "batch over r *"),
            "relax gradient_integrity, state_consistency over r { gradients : replicated(r, reduce = never)  "
            f"parameters : replicated(r, average = every(2){outer}) }}")


def relaxed_file(drawn):
    mesh, work, axes, others = split(drawn)
    mesh, work, relax = relaxed(drawn, mesh, work)
    if drawn.random() < 0.2:
        mesh, work = with_pipeline(drawn, mesh, work)
    size = drawn.choice(["", "", "microbatch = 1  "])
    train = f"batch = 24  {size}{drawn_optimizer(drawn)}  {drawn.choice(PRECISIONS)}"
    return file_of(drawn.choice(MODELS), train, mesh, [work, *statements(drawn, axes, others), relax])


def drawn_file(drawn):
    """The file, and the one of one device."""
    mesh, work, axes, others = split(drawn)
    if drawn.random() < 0.3:
        mesh, work = with_pipeline(drawn, mesh, work)
    model, optimizer = drawn.choice(MODELS), drawn_optimizer(drawn)
    train = f"batch = 12  microbatch = {drawn.choice([1, 3])}  {optimizer}{drawn.choice(['', '  clip = 1.0'])}"
    return file_of(model, train, mesh, [work, *statements(drawn, axes, others)]), file_of(model, train, "dp = 1", ["split batch over dp"])


drawn, also = random.Random(1), random.Random(2)
files = [drawn_file(drawn) for _ in range(N_DRAWN)] + [relaxed_file(also) for _ in range(N_DRAWN // 3)]
sys.exit(check_all(PLACEC, files, TRAINED_EVERY))

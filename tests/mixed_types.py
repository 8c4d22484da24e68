#!/usr/bin/env python3
"""Element types, and what is offloaded, drawn at random, on strategies drawn at random: what the front end and the placement let through is
proved equal to one device (proved.py).

usage: mixed_types.py PLACEC ROOT
Cases in which one was found, and 150 drawn with a fixed seed; with PLACE_TEST_FULL in the environment 3,000,
with PLACE_TEST_EVERY=N an N-th."""
import os
import random
import sys

from proved import check_all

PLACEC, ROOT = sys.argv[1:]
N_DRAWN = 3000 if os.environ.get("PLACE_TEST_FULL") else 150 // int(os.environ.get("PLACE_TEST_EVERY", 1))
SIZES = "hidden = 32  heads = 4  ffn = 64  vocab = 128"
GROUPED = f"head_dim = 8  kv_heads = 2  {SIZES}"
MODELS = [
    f"gpt2 {{ layers = 2  {SIZES}  sequence_limit = 64 }}",
    f"gpt2 {{ layers = 3  {SIZES}  sequence_limit = 64  dropout = 0.1 }}",
    f"llama {{ layers = 2  {GROUPED} }}",
    f"llama {{ layers = 4  {GROUPED}  tied = true }}",
    f"qwen3 {{ layers = 2  {GROUPED} }}",
]
MUON = "adamw(lr = 1e-3)  optimizer.layers = muon(lr = 0.02)"
OPTIMIZERS = ["adamw(lr = 1e-3)", "sgd(lr = 1e-2)", "sgd(lr = 1e-2, momentum = 0.9)", "lion(lr = 1e-4)",
              "adam(lr = 1e-3, weight_decay = 0.1)", MUON, "adafactor(lr = 1e-3)",
              "adamw(lr = 1e-3)  optimizer.layers[1::2] = lion(lr = 1e-4)"]
USES = ["parameters", "master", "moments", "gradients", "activations", "compute", "gather", "reduce"]
OF_PARTS = [use for use in USES if use != "activations"]
SLICES = ["", "", "", "[:1]", "[1:]", "[-1:]", "[::2]", "[1::2]"]
PARTS = ["norm", "mlp", "attention", "attention.qkv", "embedding", "head", "layers", "attention.norm"]
TYPES = ["bf16", "bf16", "fp16", "fp32", "fp32", "fp64"]
STORED = ["", "use zero1(dp)", "use zero2(dp)", "use zero3(dp)",
          "states : (S*, S, S, R) on dp  parameters : gathered(dp, after_forward = kept)",
          "use zero3(dp)  parameters : gathered(dp, unit = layers(2))",
          "use zero3(dp)  parameters : gathered(dp, unit = tensor)",
          "use zero1(dp)  gradients : replicated(dp, reduce = each)",
          "optimizer : sharded(dp by hidden)",
          "optimizer, gradients : sharded(dp by tensor)",
          "use zero2(dp)  optimizer.mlp, gradients.mlp : sharded(dp by tensor)",
          "use zero3(dp)  parameters : gathered(dp by ffn)"]
OVER_BOTH = ["optimizer : sharded(dp * tp)", "optimizer : sharded(tp * dp)", "optimizer : sharded(tp)",
             "use zero2(dp)  optimizer : sharded(dp * tp)", "use zero3(dp)  optimizer : sharded(dp * tp)",
             "use zero1(dp)  optimizer.mlp : sharded(dp * tp)", "use zero1(dp)  optimizer.layers : sharded(dp by tensor)"]
OFFLOADED = ["", "", "gradients.layers[0:2] : offloaded", "gradients.layers[::2] : offloaded(to = disk)",
             "gradients : offloaded  gradients.layers[1:].mlp : stored", "optimizer.layers[1:] : offloaded",
             "gradients.layers[0:1] : offloaded  optimizer : offloaded(update = host)",
             "parameters.layers[1:] : offloaded"]
# The types, the number of the model, how states are kept, and perhaps the optimizer.
FOUND = [
    ("parameters = bf16  master = fp32  compute = bf16  reduce = bf16", 0, "use zero3(dp)"),  # two summands
    ("gradients = bf16  activations = fp16  reduce = fp32", 2, "use zero3(dp)"),  # gathered in several types
    ("compute = bf16  compute.norm = fp32", 2, "use zero3(dp)"),
    ("compute = fp32  reduce = fp64", 2, "use zero3(dp)"),  # no op computes in it
    ("compute = fp64  gradients = fp32", 0, ""),  # added up in less than products are
    ("parameters = bf16  master = fp32  compute = bf16  gradients = bf16  reduce = fp16", 2, "use zero2(dp)"),
    ("activations = fp64  compute = fp32  compute.norm = fp32", 0, ""),  # a saved cast of the stream
    ("parameters = fp32  parameters.norm = bf16", 0, ""),  # held against what is said of all
    ("parameters = bf16  master = fp64  master.norm = fp32", 0, "use zero1(dp)"),
    ("moments = fp32  moments.mlp = bf16", 2, "use zero2(dp)"),
    ("compute = fp32  compute.mlp = bf16", 2, "use zero3(dp)"),
    ("compute = bf16  compute.mlp = fp16", 0, ""),
    ("compute = bf16  activations = fp32", 1, "split heads, kv_heads, ffn over tp"),  # a sum that was not rounded
    ("parameters.embedding = bf16", 0, "use zero3(dp)"),  # a tied table
    ("compute = bf16  gradients = fp32  parameters.mlp = bf16", 0,  # values that are named alike
     "use zero3(dp)  parameters : gathered(dp, unit = tensor)"),
    ("parameters = fp64  gather = fp32  activations = bf16", 1, "use zero3(dp)  activations : recomputed"),
    ("compute = bf16", 0, "use zero3(dp)  parameters : gathered(dp, unit = tensor)"),  # pieces of casts alone
    ("compute = fp64  gradients = fp64", 0, "use zero3(dp)  parameters : gathered(dp, unit = tensor)"),
    ("compute = bf16  compute.layers[:1] = fp32", 1, "use zero3(dp)"),  # ranges of layers
    ("activations = fp32  compute.layers[:1].norm = fp64", 2, ""),  # gradients summed in fp64 for the first layer
    ("compute = bf16  compute.layers[-1:] = fp64", 3, "use zero2(dp)  activations : recomputed"),
    ("parameters = bf16  master = fp32  compute = bf16  compute.layers[1:2].mlp = fp32", 3,
     "use zero3(dp)  parameters : gathered(dp, unit = layers(2))  activations.layers[::2] : recomputed"),
    ("parameters = bf16  master = fp32  compute = bf16  parameters.layers[:1] = fp32  moments.layers[1:] = bf16", 2,
     "use zero3(dp)"),  # a master for some layers
    ("", 3, "gradients.layers[0:2] : offloaded"),  # units of layers that lie alike, in two places
    ("", 3, "gradients.layers[::2] : offloaded  optimizer : offloaded(update = host)"),
    ("", 3, "use zero3(dp)  parameters : gathered(dp, unit = layers(2))  activations : recomputed, offloaded"),  # in flight
    ("compute = fp64", 0, "", MUON),  # products of updates, which are of no part
    ("gradients = bf16  reduce = fp16", 0, "", MUON),  # scaled behind a sum in a type that has not all digits of either
    ("gradients = fp16  reduce = bf16", 3, "optimizer.layers : sharded(dp by tensor)", MUON),
    ("compute = bf16", 0, "split heads, kv_heads, ffn over tp  optimizer : sharded(dp * tp)"),
    ("reduce = fp64", 0, "gradients : replicated(dp, reduce = each), offloaded"),  # summed as it is kept
    ("reduce = fp64", 3, "activations : sharded(tp by sequence)  in head { split vocab over tp }"),  # summed by a unit
]


def file_of(model, optimizer, types, strategy, mesh, microbatch, more):
    return f"""import "lib/strategies.place"
model m : {model}
device d {{ memory = 4 GiB }}
mesh g of d {{ {mesh} }}
train {{ batch = 8  sequence = 32  microbatch = {microbatch}  optimizer = {optimizer}  {more}  precision {{ {types} }} }}
strategy main {{ {strategy} }}
"""


def found_files():
    for types, model, stored, *optimizer in FOUND:
        for more in ("", "reproducible = 4"):
            mesh = "dp = 2  tp = 2" if "over tp" in stored else "dp = 2"
            yield file_of(MODELS[model], *(optimizer or OPTIMIZERS[:1]), types, f"split batch over dp  {stored}", mesh, 2, more)


def drawn_types(drawn):
    types = {use: drawn.choice(TYPES) for use in USES if drawn.random() < 0.5}
    if drawn.random() < 0.6:  # most of what else is drawn contradicts itself
        types = {"parameters": "bf16", "master": "fp32", "compute": "bf16"} | types
    if drawn.random() < 0.2:
        types["compute.norm"] = "fp32"
    while drawn.random() < 0.4:  # of a part
        types[f"{drawn.choice(OF_PARTS)}.{drawn.choice(PARTS)}"] = drawn.choice(TYPES)
    while drawn.random() < 0.3:  # of some layers
        part = drawn.choice(["", "", ".mlp", ".norm", ".attention.qkv"])
        use = drawn.choice(["compute", *OF_PARTS])
        types[f"{use}.layers{drawn.choice(SLICES)}{part}"] = drawn.choice(TYPES)
    return "  ".join(f"{use} = {dtype}" for use, dtype in types.items())


def drawn_file(drawn):
    model, divided = drawn.choice(MODELS), drawn.random() < 0.5
    strategy = ["split batch over dp"]
    if divided:
        strategy.append(f"split heads, kv_heads, ffn{drawn.choice(['', ', vocab'])} over tp")
        strategy.append(drawn.choice(["", "activations : sharded(tp by sequence)"]))
    strategy.append(drawn.choice(STORED + OVER_BOTH if divided else STORED))
    strategy.append(drawn.choice(["", "", "activations : recomputed"]))
    strategy.append(drawn.choice(OFFLOADED))
    more = drawn.choice(["", "clip = 1.0", "clip = 1.0", "reproducible = 4"])
    return file_of(model, drawn.choice(OPTIMIZERS), drawn_types(drawn), "  ".join(strategy),
                   "dp = 2  tp = 2" if divided else "dp = 2", drawn.choice([1, 2, 4]), more)


drawn = random.Random(1)
sys.exit(check_all(PLACEC, [*found_files(), *(drawn_file(drawn) for _ in range(N_DRAWN))]))

#!/usr/bin/env python3
"""Pipelines of every built method, with every other kind of axis, mode and type beside them, train as one device does:
losses, norms and parameters of three steps in fp64, and what each holds and sends is what was accounted for it
(trains_alike.py). What relaxes a condition trains as the same without a pipeline.

usage: pipelines.py PLACEC [NAME ...]      those of these names alone
Every third, or with PLACE_TEST_EVERY=N in the environment an N-th of them; with PLACE_TEST_FULL all."""
import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile

PLACEC, *NAMES = sys.argv[1:]
HERE = os.path.dirname(os.path.abspath(__file__))
GPT2 = "gpt2 { layers = 4  hidden = 32  heads = 2  ffn = 64  vocab = 256  sequence_limit = 16 }"
LLAMA = "llama { layers = 6  hidden = 32  heads = 4  head_dim = 8  kv_heads = 2  ffn = 48  vocab = 256 }"
TIED = LLAMA.replace("layers = 6", "layers = 5").replace("}", "tied = true }")
DROPS = GPT2.replace("}", "dropout = 0.1 }")
F1B = "split layers over pp schedule one_f_one_b"
BY_THREE = "split layers over pp schedule interleaved(chunks = 3)"
DP = "split batch over dp"
TP = "split heads, kv_heads, ffn over tp"
OF_STAGES = f"{F1B}(stages = [%s])"
TABLE = {  # name: model, mesh, train, strategy
    "one_f_one_b": (GPT2, "pp = 2", "microbatch = 2", F1B),
    "four_ranks": (GPT2, "pp = 4", "microbatch = 2", F1B),
    "one_microbatch": (GPT2, "pp = 2", "microbatch = 16", F1B),
    "one_microbatch_zero2": (LLAMA, "pp = 2  dp = 2", "microbatch = 8", f"{F1B}  {DP}  use zero2(dp)"),
    "gpipe": (GPT2, "pp = 2  dp = 2", "microbatch = 1", f"split layers over pp schedule gpipe  {DP}"),
    "eager": (GPT2, "pp = 4", "microbatch = 2", "split layers over pp schedule eager"),
    "interleaved": (GPT2, "pp = 2", "microbatch = 2", "split layers over pp schedule interleaved(chunks = 2)"),
    "interleaved_rounds": (LLAMA, "pp = 2", "microbatch = 1", BY_THREE),
    "interleaved_odd": (LLAMA, "pp = 3", "microbatch = 1", "split layers over pp schedule interleaved(chunks = 2)"),
    "looped_bfs": (GPT2, "pp = 2", "microbatch = 2", "split layers over pp schedule looped_bfs(chunks = 2)"),
    "zb_h1": (GPT2, "pp = 2  dp = 2", "microbatch = 2", f"split layers over pp schedule zb_h1  {DP}"),
    "zb_h2": (GPT2, "pp = 4", "microbatch = 1", "split layers over pp schedule zb_h2"),
    "interleaved_zb": (LLAMA, "pp = 2", "microbatch = 2", "split layers over pp schedule interleaved_zb(chunks = 3)"),
    "zbv": (GPT2, "pp = 2  dp = 2", "microbatch = 2", f"split layers over pp schedule zbv  {DP}"),
    "zbv_tied_zero3": (TIED, "pp = 2  dp = 2", "microbatch = 1", f"split layers over pp schedule zbv  {DP}  use zero3(dp)"),
    "v_half": (LLAMA, "pp = 3", "microbatch = 1", "split layers over pp schedule v_half"),
    "v_min": (LLAMA, "pp = 3", "microbatch = 2", "split layers over pp schedule v_min"),
    "dualpipe_v": (LLAMA, "pp = 2", "microbatch = 2", "split layers over pp schedule dualpipe_v"),
    "dualpipe_all": (LLAMA, "pp = 2  dp = 2  tp = 2", "microbatch = 1",
                     f"split layers over pp schedule dualpipe_v  {DP}  {TP}  use zero2(dp)  activations : sharded(tp by sequence)"),
    "zb_recomputed": (LLAMA, "pp = 2", "microbatch = 2", "split layers over pp schedule zb_h1  activations : recomputed"),
    "zb_groups": (LLAMA, "pp = 2  dp = 2", "microbatch = 2", f"split layers over pp schedule zb_h2  {DP}  use zero3(dp)  "
                  "activations : recomputed(unit = layers(2))  parameters : gathered(dp, unit = layers(3))"),
    "zb_parts": (LLAMA, "pp = 2  tp = 2", "microbatch = 2", f"split layers over pp schedule zbv  {TP}  "
                 "in layers[0:4] { activations : sharded(tp by sequence) }"),
    "zb_away": (LLAMA, "pp = 2", "microbatch = 2", "split layers over pp schedule zb_h1  activations : offloaded"),
    "zb_tensors": (LLAMA, "pp = 2  dp = 2", "microbatch = 2", "split layers over pp schedule zb_h2  split batch over dp  "
                   "use zero3(dp)  parameters : gathered(dp, unit = tensor)"),
    "zb_ends": (LLAMA, "pp = 3", "microbatch = 2", "split layers over pp schedule zb_h1(stages = [embedding, 6, head])"),
    "zb_ring": (LLAMA, "pp = 2  cp = 2", "microbatch = 2", "split layers over pp schedule zb_h1  split sequence over cp"),
    "head_alone": (LLAMA, "pp = 3", "microbatch = 2", OF_STAGES % "embedding + 1, 5, head"),
    "embedding_alone": (LLAMA, "pp = 3", "microbatch = 2", OF_STAGES % "embedding, 3, 3 + head"),
    "tied": (TIED, "pp = 2", "microbatch = 2", F1B),
    "tied_zero3": (TIED, "pp = 2  dp = 2", "microbatch = 2", f"{F1B}  {DP}  use zero3(dp)"),
    "tied_reduced_each": (TIED, "pp = 2  dp = 2", "microbatch = 2",
                          f"{F1B}  {DP}  optimizer : sharded(dp)  gradients : replicated(dp, reduce = each)"),
    "tied_kept": (TIED, "pp = 3  dp = 2", "microbatch = 2",
                  f"{F1B}  {DP}  use zero3(dp)  parameters : gathered(dp, after_forward = kept)"),
    "tied_in_order": (TIED, "pp = 3  dp = 2", "microbatch = 1  reproducible = 8",
                      f"{F1B}  {DP}  use zero2(dp)  optimizer : offloaded  gradients : offloaded"),
    "tied_in_order_zb": (TIED, "dp = 2  pp = 2  tp = 2", "microbatch = 2  reproducible = 8",
                         f"split layers over pp schedule zb_h1  {DP}  {TP}  split vocab over tp"),
    "tied_in_order_v": (TIED, "pp = 2  dp = 2", "microbatch = 1  reproducible = 8",
                        f"split layers over pp schedule zbv  {DP}  use zero1(dp)"),
    "tied_shards": (TIED, "pp = 2  dp = 2", "microbatch = 2", f"{F1B}  {DP}  use zero1(dp)"),
    "tied_once": (TIED, "pp = 2  dp = 2", "microbatch = 8",
                  f"{F1B}  {DP}  optimizer : sharded(dp)  parameters : gathered(dp)  gradients : replicated(dp)"),
    "zero1": (GPT2, "pp = 2  dp = 2", "microbatch = 2", f"{F1B}  {DP}  use zero1(dp)"),
    "zero2": (GPT2, "pp = 2  dp = 2", "microbatch = 2", f"{F1B}  {DP}  use zero2(dp)"),
    "zero3": (GPT2, "pp = 2  dp = 2", "microbatch = 2", f"{F1B}  {DP}  use zero3(dp)"),
    "zero3_ahead": (LLAMA, "pp = 2  dp = 2", "microbatch = 1", f"{OF_STAGES % 'embedding + 1, 5 + head'}  {DP}  "
                    "use zero3(dp)  parameters : gathered(dp, prefetch = 3)"),
    "zero3_interleaved": (LLAMA, "pp = 2  dp = 2", "microbatch = 1", f"{BY_THREE}  {DP}  use zero3(dp)"),
    "zero3_kept": (LLAMA, "pp = 2  dp = 2", "microbatch = 1",
                   f"{F1B}  {DP}  use zero3(dp)  parameters : gathered(dp, after_forward = kept)"),
    "by_tensor": (LLAMA, "pp = 2  dp = 2", "microbatch = 1", f"{F1B}  {DP}  optimizer : sharded(dp by tensor)"),
    "by_tensor_tied": (TIED, "pp = 2  dp = 2", "microbatch = 1", f"{F1B}  {DP}  optimizer : sharded(dp by tensor)"),
    "by_tensor_away": (LLAMA, "pp = 2  dp = 4", "microbatch = 1", f"{BY_THREE}  {DP}  use zero3(dp)  "
                       "parameters.layers[-1] : gathered(dp by tensor), offloaded(unit = layers(2))"),
    "compressed": (TIED, "pp = 2  dp = 2", "microbatch = 2",
                   f"{F1B}  {DP}  relax gradient_integrity over dp {{ gradients : replicated(dp, wire = int8) }}"),
    "compressed_interleaved": (LLAMA, "pp = 2  dp = 2", "microbatch = 1",
                               f"{BY_THREE}  {DP}  relax gradient_integrity over dp {{ gradients : replicated(dp, wire = topk(0.1)) }}"),
    "compressed_once": (TIED, "pp = 2  dp = 2", "microbatch = 8",
                        f"{F1B}  {DP}  relax gradient_integrity over dp {{ gradients : replicated(dp, wire = int8) }}"),
    "compressed_shards": (LLAMA, "pp = 2  dp = 2", "microbatch = 8", f"{F1B}  {DP}  optimizer : sharded(dp)  "
                          "relax gradient_integrity over dp { gradients : sharded(dp, wire = int8) }"),
    "compressed_taken": (GPT2, "pp = 3  dp = 2", "microbatch = 8", f"{F1B}  {DP}  optimizer : sharded(dp)  "
                         "gradients.mlp : materialized  activations.layers[::2] : recomputed  "
                         "relax gradient_integrity over dp { gradients : replicated(dp, wire = int8) }"),
    "compressed_away": (LLAMA, "pp = 2  dp = 2", "microbatch = 8", f"{F1B}  {DP}  gradients : offloaded  "
                        "relax gradient_integrity over dp { gradients : replicated(dp, wire = int8) }"),
    "compressed_table_away": (TIED, "pp = 2  dp = 2", "microbatch = 8", f"{F1B}  {DP}  gradients : offloaded  "
                              "relax gradient_integrity over dp { gradients : replicated(dp, wire = int8) }"),
    "compressed_table_shards": (TIED, "pp = 2  dp = 2", "microbatch = 8", f"{F1B}  {DP}  optimizer : sharded(dp)  "
                                "relax gradient_integrity over dp { gradients : sharded(dp, wire = int8) }"),
    "compressed_table_all": (TIED, "pp = 3  dp = 2", "microbatch = 8", f"split layers over pp schedule zb_h1  {DP}  "
                             "use zero3(dp)  gradients : offloaded  optimizer : offloaded  "
                             "relax gradient_integrity over dp { gradients : sharded(dp, wire = topk(0.1)) }"),
    "islands": (TIED, "pp = 2  r = 2  dp = 2", "microbatch = 1",
                f"{F1B}  split batch over r * dp  use zero1(dp)  relax gradient_integrity, state_consistency over r {{ "
                "gradients : replicated(r, reduce = never)  parameters : replicated(r, average = every(3)) }"),
    "gathered_once": (LLAMA, "pp = 2  dp = 2", "microbatch = 1", f"{F1B}  {DP}  use zero2(dp)  "
                      "parameters : gathered(dp, after_forward = kept, after_backward = kept)"),
    "reduced_each": (GPT2, "pp = 2  dp = 2", "microbatch = 1", f"{F1B}  {DP}  gradients : replicated(dp, reduce = each)"),
    "hsdp": (LLAMA, "pp = 2  r = 2  dp = 2", "microbatch = 1", f"{F1B}  split batch over r * dp  use zero3(dp)"),
    "tensor": (LLAMA, "pp = 2  tp = 2", "microbatch = 2", f"{F1B}  {TP}"),
    "vocabulary": (GPT2, "pp = 2  tp = 2", "microbatch = 2", f"{F1B}  {TP}  split vocab over tp"),
    "sequence_parallel": (LLAMA, "pp = 2  tp = 2", "microbatch = 2",
                          f"{F1B}  {TP}  split vocab over tp  activations : sharded(tp by sequence)"),
    "all": (LLAMA, "pp = 2  dp = 2  tp = 2", "microbatch = 2", f"{BY_THREE}  {DP}  {TP}  use zero2(dp)  "
            "activations : sharded(tp by sequence), recomputed"),
    "copies": (LLAMA, "pp = 2  tp = 4", "microbatch = 2", f"{F1B}  {TP}"),
    "innermost": (LLAMA, "dp = 2  tp = 2  pp = 2", "microbatch = 2", f"{F1B}  {DP}  {TP}  use zero1(dp)"),
    "product": (LLAMA, "a = 2  dp = 2  b = 3", "microbatch = 2", f"split layers over a * b schedule one_f_one_b  {DP}"),
    "ring": (LLAMA, "pp = 2  cp = 2", "microbatch = 2", f"{F1B}  split sequence over cp"),
    "ulysses": (GPT2, "pp = 2  cp = 2", "microbatch = 2",
                f"{F1B}  split sequence over cp  in attention.core {{ split heads, kv_heads over cp }}"),
    "recomputed": (GPT2, "pp = 2", "microbatch = 2", f"{F1B}  activations : recomputed"),
    "recomputed_cores": (GPT2, "pp = 2", "microbatch = 2", f"{F1B}  activations.attention.core : recomputed"),
    "recomputed_some": (LLAMA, "pp = 2", "microbatch = 2", f"{F1B}  in layers[0:2] {{ activations : recomputed }}"),
    "recomputed_groups": (LLAMA, "pp = 2", "microbatch = 2", f"{F1B}  activations : recomputed(unit = layers(3))"),
    "recomputed_stages": (LLAMA, "pp = 2", "microbatch = 2",
                          "split layers over pp schedule interleaved(chunks = 2)  activations : recomputed(unit = stage)"),
    "turns": (LLAMA, "pp = 2", "microbatch = 2", f"{F1B}  activations.layers[::2] : recomputed"),
    "groups": (LLAMA, "pp = 2  dp = 2", "microbatch = 2",
               f"{F1B}  {DP}  use zero3(dp)  parameters : gathered(dp, unit = layers(2))"),
    "tensors": (LLAMA, "pp = 2  dp = 2", "microbatch = 2",
                f"{F1B}  {DP}  use zero3(dp)  parameters : gathered(dp, unit = tensor)"),
    "optimizer_away": (LLAMA, "pp = 2", "microbatch = 2", f"{F1B}  optimizer : offloaded(update = host)"),
    "parameters_away": (LLAMA, "pp = 2", "microbatch = 2", f"{F1B}  parameters : offloaded"),
    "activations_away": (LLAMA, "pp = 2", "microbatch = 2", f"{F1B}  activations : offloaded"),
    "gradients_away": (GPT2, "pp = 2", "microbatch = 2", f"{F1B}  gradients : offloaded  optimizer : offloaded"),
    "v_tied_away": (TIED, "pp = 2", "microbatch = 2", "split layers over pp schedule v_min  gradients : offloaded  "
                    "optimizer : offloaded"),
    "taken": (LLAMA, "pp = 2  dp = 2", "microbatch = 8", f"{BY_THREE}  {DP}  use zero1(dp)  gradients : materialized"),
    "taken_tied": (TIED, "pp = 3  dp = 2", "microbatch = 8",
                   f"{F1B}  {DP}  use zero3(dp)  gradients : materialized  gradients.embedding : stored"),
    "taken_in_order": (LLAMA, "pp = 2  dp = 2", "microbatch = 8  reproducible = 8",
                       f"{F1B}  {DP}  use zero2(dp)  gradients : materialized  activations : recomputed"),
    "taken_zb": (LLAMA, "pp = 2  dp = 2", "microbatch = 8", f"split layers over pp schedule zb_h1  {DP}  use zero2(dp)  "
                 "gradients : materialized"),
    "taken_zb_groups": (LLAMA, "pp = 2  dp = 2", "microbatch = 8", f"split layers over pp schedule interleaved_zb(chunks = 3)  "
                        f"{DP}  use zero3(dp)  gradients : materialized  activations.norm : recomputed"),
    "taken_v": (DROPS, "pp = 2  tp = 2", "microbatch = 16", f"split layers over pp schedule zbv  {TP}  gradients : materialized  "
                "gradients.embedding, gradients.head : stored"),
    "taken_in_order_zb": (LLAMA, "dp = 2  pp = 2", "microbatch = 8  reproducible = 8",
                          f"split layers over pp schedule v_half  {DP}  use zero1(dp)  gradients.layers : materialized"),
    "frozen": (LLAMA, "pp = 2", "microbatch = 2  optimizer.norm = none  optimizer.embedding = none", F1B),
    "dropout": (DROPS, "pp = 2  dp = 2", "microbatch = 2", f"{F1B}  {DP}"),
}


def write(path, model, mesh, train, strategy, clip):
    with open(path, "w", encoding="utf-8") as to:
        to.write(f'import "lib/strategies.place"\nmodel tiny : {model}\ndevice core {{ memory = 4 GiB }}\n'
                 f"mesh ranks of core {{ {mesh} }}\n"
                 f"train {{ batch = 16  sequence = 16  optimizer = adamw(lr = 1e-3)  {clip}  {train} }}\n"
                 f"strategy main {{ {strategy} }}\n")


def compare(name, folder):
    model, mesh, train, strategy = TABLE[name]
    clip = "" if "materialized" in strategy else "clip = 1.0"
    one, other = (os.path.join(folder, name + end) for end in (".one.place", ".place"))
    if "relax" in strategy:
        without, rest = re.sub(r"\bpp = \d+", "", mesh), re.sub(r"split layers over pp schedule \w+(\([^)]*\))?", "", strategy)
        assert "pp" not in without + rest
        write(one, model, without, train, rest, clip)
    else:
        write(one, model, "dp = 1", train, DP, clip)
    write(other, model, mesh, train, strategy, clip)
    done = subprocess.run([sys.executable, os.path.join(HERE, "trains_alike.py"), PLACEC, one, other,
                           "-Dtrain.precision=fp64"], capture_output=True, text=True)
    return None if done.returncode == 0 else f"{name}: {done.stdout}{done.stderr}"


every = 1 if os.environ.get("PLACE_TEST_FULL") else int(os.environ.get("PLACE_TEST_EVERY", 3))
names = [name for i, name in enumerate(TABLE) if (name in NAMES if NAMES else i % every == 0)]
with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(2) as pool:
    wrong = [line for line in pool.map(lambda name: compare(name, temporary), names) if line]
sys.exit("\n".join(wrong) or (None if names else "no such pipeline"))

#!/usr/bin/env python3
"""Numbers that others have published of bytes a device holds and sends, against what `placec check` says of such a
training. A published number is of a round number of parameters; what `check` says of a model with nearly as many is
taken by the parameter. It may differ by one unit of the last digit that was published (some are cut off, not rounded).

usage: published.py PLACEC ROOT

  ZeRO          Rajbhandari et al., 2020, Table 1: states of mixed-precision training with Adam, 16 bytes a parameter
  Megatron-LM   README of its distributed optimizer: bytes a parameter, by the types of parameters and gradients
  DeepSpeed     estimate_zero3_model_states_mem_needs and that of zero2, for 8 devices without offloading
  ZeRO-Offload  Ren et al., 2021: of a model of 13 B 2 bytes a parameter are on the device, 14 on the host; a step moves
                gradients out and parameters in, 4 bytes a parameter
  70 B          sums of the same 16 bytes on 8 devices, and what is sent as multiples of data parallelism
  GPT-3         175 B with tensor 8, pipeline 8, interleaved 3, at Megatron-LM's 18 bytes: 45.5625 GiB a device of the
                matrices of its layers; and Narayanan et al., 2021: idle (p-1)/(vm+p-1), in flight on the first rank
                (1 + (p-1)/(pv)) p times as much as a rank's layers, in v parts
  activations   Korthikanti et al., 2022: of a layer 34 sbh/t bytes with sequences split and no scores kept, of which
                masks of dropout are 2, which are drawn again here; of microbatches p-s on rank s with 1F1B
  Llama 3       Dubey et al., 2024: 405 B in 126 layers on 128 x 16 x 8 devices, 16 M tokens a step of 8192 each, one
                layer fewer on the first rank and on the last, since with as many the first holds most; its layers'
                activations counted as in the line before"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

PLACEC, ROOT = sys.argv[1:]
STATES = ("parameters", "optimizer", "gradients")
MODELS = {  # by their thousand millions of parameters: 12 layers hidden^2, and the table
    2.85: "layers = 36  hidden = 2560  heads = 32  vocab = 8192",
    7.5: "layers = 36  hidden = 4096  heads = 32  vocab = 50432",
    13: "layers = 40  hidden = 5120  heads = 40  vocab = 50432",
    128: "layers = 101  hidden = 10240  heads = 80  vocab = 51200",
    1000: "layers = 128  hidden = 25600  heads = 160  vocab = 51200",
}
ADAM_16 = "precision { parameters = bf16  master = fp32  moments = fp32  gradients = bf16  compute = bf16 }"
STRATEGIES = ("", "use zero1(dp)", "use zero2(dp)", "use zero3(dp)")


def check(*arguments):
    done = subprocess.run([PLACEC, "check", "--json", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"placec check {' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def planned(billions, precision, devices, strategy):
    """What `check` says of a gpt2 of this size, trained by AdamW."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "published.place")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"""import "lib/strategies.place"
model m : gpt2 {{ {MODELS[billions]}  sequence_limit = 1024 }}
device d {{ memory = 30 TB  host_memory = 30 TB  host_link = 12 GB/s }}
mesh all of d {{ dp = {devices} }}
train {{ batch = {devices}  sequence = 32  optimizer = adamw(lr = 1e-4)  {precision} }}
strategy main {{ split batch over dp  activations : recomputed  {strategy} }}
""")
        return check(path)


def held(plan):
    """Bytes of all states a parameter of the model."""
    return sum(plan["memory"]["held"][state] for state in STATES) / plan["parameters"]


def sent(plan):
    """Bytes of the layers' states. What is used once in a step (the table, the last norm, the head) is gathered once
    where the published sums count it twice."""
    return sum(row["bytes"] for row in plan["communication"] if row["role"] == "layers")


GPT3 = "gpt2 { layers = 96  hidden = 12288  heads = 96  ffn = 49152  vocab = 51200  sequence_limit = 2048 }"
LLAMA3 = ("llama { layers = %d  hidden = 16384  heads = 128  head_dim = 128  kv_heads = 8  ffn = 53248"
          "  vocab = 128256  tied = false }")


def pipelined(model, axes, batch, sequence, schedule, more=""):
    """Heads, ffn and the table over 8, layers over pp, one sequence a microbatch."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "pipelined.place")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"""import "lib/strategies.place"
model m : {model}
device d {{ memory = 80 GiB }}
mesh all of d {{ {axes}  tp = 8 }}
train {{ batch = {batch}  sequence = {sequence}  microbatch = 1  optimizer = adamw(lr = 1e-4)
        precision {{ parameters = bf16  master = fp32  compute = bf16 }} }}
strategy main {{
  split layers over pp schedule {schedule}
  split heads, kv_heads, ffn, vocab over tp
  activations : sharded(tp by sequence)
  {more}
}}
""")
        return check(path)


class Published(unittest.TestCase):
    def assert_published(self, ours, text, what):
        unit = 10.0 ** -len(text.partition(".")[2])
        self.assertLess(abs(ours - float(text)), unit, f"{what}: published {text}, here {ours:.4g}")

    def test_zero_table_1(self):
        table = """7.5 B    1:  120    120    120    4: 52.5 41.3 30     16: 35.6 21.6 7.5
                            64: 31.4   16.6   1.88 256: 30.4 15.4 0.47 1024: 30.1 15.1 0.12
                   128 B    1: 2048   2048   2048    4: 896 704 512     16: 608 368 128
                            64: 536    284    32   256: 518 263 8     1024: 513 257 2
                   1000 B   1: 16000  16000  16000   4: 7000 5500 4000  16: 4750 2875 1000
                            64: 4187   2218   250  256: 4046 2054 62.5 1024: 4011 2013 15.6"""
        words, billions, n = iter(table.split()), None, 0
        for word in words:
            if not word.endswith(":"):
                billions = float(word)
                self.assertEqual(next(words), "B")
                continue
            devices = int(word[:-1])
            for strategy in STRATEGIES[1:]:
                text = next(words)
                ours = held(planned(billions, ADAM_16, devices, strategy)) * billions
                self.assert_published(ours, text, f"{billions} B, {devices} devices, {strategy}")
                n += 1
        self.assertEqual(n, 54)

    def test_megatron(self):
        for types, whole, divided in (
            ("precision { parameters = bf16  master = fp32  compute = bf16 }", 18, (6, 12)),
            ("", 16, (8, 8)),
        ):
            for d in (1, 2, 8, 64):
                self.assertAlmostEqual(held(planned(7.5, types, d, "")), whole, 3)
                expected = divided[0] + divided[1] / d
                self.assertAlmostEqual(held(planned(7.5, types, d, "use zero1(dp)")), expected, 3)

    def test_deepspeed(self):
        types = "precision { parameters = bf16  master = fp32  gradients = fp32  reduce = bf16  compute = bf16 }"
        # 18 bytes a parameter are divided: gradients are kept in fp32. It adds 4 bytes for the largest layer's
        # parameters and gradients, whole; these are transients here, which the plan counts as they are.
        self.assertAlmostEqual(held(planned(2.85, types, 8, "use zero3(dp)")), 18 / 8, 3)
        # It takes 4 + 16/8: 2 of these 4 for gradients of the whole model before they are reduced. Here each layer's
        # are reduced as soon as they are made, and only one layer's are whole at once.
        self.assertAlmostEqual(held(planned(2.85, types, 8, "use zero2(dp)")) + 2, 4 + 16 / 8, 3)

    def test_zero_offload(self):
        plan = planned(13, ADAM_16, 1, "optimizer : offloaded(update = host)  gradients : offloaded")
        n, memory = plan["parameters"], plan["memory"]
        self.assertAlmostEqual(sum(memory[state] for state in STATES) / n, 2, 3)
        self.assertAlmostEqual(memory["host"] / n, 14, 1)  # and what the update of the table makes on its way
        self.assertAlmostEqual(plan["copied"]["host"] / n, 4, 3)
        self.assertLess(memory["peak"], 32e9)  # it trains on one device of 32 GB

    def test_gpt3(self):
        microbatches = 64
        plan = pipelined(GPT3, "pp = 8", microbatches, 2048, "interleaved(chunks = 3)")
        p, v, hidden, layers = 8, 3, 12288, 96 // 8
        matrices = 18 * layers * 12 * hidden**2 // 8
        self.assertEqual(matrices / 2**30, 45.5625)
        # Biases of what is split are split; those of the two outputs, and norms, each device has.
        others = 18 * layers * ((3 + 4) * hidden // 8 + (2 + 4) * hidden)
        for rank in plan["memory"]["stages"][1:-1]:  # the first has the table, too, the last the head
            self.assertEqual(sum(rank["held"][state] for state in STATES), matrices + others)
        self.assertEqual(plan["pipeline"]["bubble"], [p - 1, v * microbatches + p - 1])
        self.assertEqual(plan["pipeline"]["in_flight"][0], p * v + p - 1)

    def assert_in_flight(self, plan, layers, of_a_layer):
        """Activations by rank: as many microbatches' as are in flight, and beside them as much on each; the last rank
        has no layer behind it to wait for, but the head."""
        ranks = plan["memory"]["stages"]
        p = len(ranks)
        self.assertEqual(plan["pipeline"]["in_flight"], [p - s for s in range(p)])
        beside = [rank["live"]["activations"] - (p - s) * layers[s] * of_a_layer for s, rank in enumerate(ranks)]
        self.assertEqual(len(set(beside[:-1])), 1, beside)
        self.assertLess(beside[0], layers[0] * of_a_layer)

    def test_activations_gpt3(self):
        s, h, a, t = 2048, 12288, 96, 8
        plan = pipelined(GPT3, "pp = 8", 64, s, "one_f_one_b(stages = [embedding + 12, 6 of 12, 12 + head])")
        statistics = 4 * s * a + 4 * 4 * s  # of attention, a number a head; of two norms, two each
        self.assert_in_flight(plan, [12] * 8, ((34 - 2) * s * h + statistics) // t)

    def test_activations_llama3(self):
        s, h, a, t, kv, f = 8192, 16384, 128, 8, 8 * 128, 53248

        def llama3(at_ends, between):
            return pipelined(LLAMA3 % (2 * at_ends + 14 * between), "dp = 128  pp = 16", 2048, s,
                             f"one_f_one_b(stages = [embedding + {at_ends}, 14 of {between}, {at_ends} + head])",
                             "split batch over dp  use zero1(dp)")
        plan = llama3(7, 8)
        self.assertEqual((plan["parameters"] // 10**9, plan["devices"]), (405, 16384))
        # Two bytes of each thing that ops are given: norms, what reads them, attention, its output; gate and up, of
        # which the product is made again. Of statistics a norm has one here.
        of_a_layer = (2 * s * (6 * h + 2 * kv + 2 * f) + 4 * s * a + 4 * 2 * s) // t
        self.assert_in_flight(plan, [7, *[8] * 14, 7], of_a_layer)
        for evenly, of in ((False, plan), (True, llama3(8, 8))):
            first, *others = (rank["peak"] for rank in of["memory"]["stages"])
            self.assertEqual(first > max(others), evenly)

    def example(self, *arguments):
        path = os.path.join(ROOT, "examples", "zero3_70b.place")
        return {name: check(path, "--strategy", name, *arguments) for name in ("replicated", "optimizer", "gradients", "main")}

    def test_70b(self):
        plans = self.example()
        for plan, gigabytes in zip(plans.values(), ("1120", "385", "262.5", "140")):
            self.assert_published(held(plan) * 70, gigabytes, plan["strategy"])
        self.assert_multiples(plans, 1, 1, 1.5)
        self.assert_multiples(self.example("-Dtrain.precision.gradients=fp32"), 0.75, 0.75, 1)

    def test_70b_as_it_is_printed(self):
        path = os.path.join(ROOT, "examples", "zero3_70b.place")
        printed = subprocess.run([PLACEC, "check", path], capture_output=True, text=True, check=True).stdout
        rows = printed.partition("strategies of this file")[2].splitlines()[2:]
        a_parameter = [float(row.split()[3]) for row in rows]
        self.assertEqual([bytes * 70 for bytes in a_parameter], [1120, 385, 262.5, 140])

    def assert_multiples(self, plans, *expected):
        alone, *divided = map(sent, plans.values())
        for plan, multiple in zip(divided, expected):
            self.assertAlmostEqual(plan / alone, multiple, 3)


unittest.main(argv=[sys.argv[0]], verbosity=2)

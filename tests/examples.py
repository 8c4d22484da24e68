#!/usr/bin/env python3
"""Every example that a machine like this can run: accepted; what it holds and sends is what was
predicted, to the byte, whether held is counted by what was written to or by what the executed
statements had alive; and it trains like one device: the losses of 10 steps agree to 1e-5 (fp32, sums in
another order), and in fp64, where a difference means something, the losses and parameters of 3 steps to
1e-9. These are on sequences of different lengths, filled up with the mask: every device and microbatch
has another number of targets.

Where gradients travel compressed, losses stay near one device's; what is sent so that nothing is lost but the
roundings of fp32 trains like one device.

Where devices take steps of their own between averages, one device trains on the samples of each island,
and the average of what it makes of them, and an outer optimizer's first step, are taken here.

Pipelines train like one device in processes of a rank each, too, and one of them, in full each, in processes of two:
what these hold and send is the same.

usage: examples.py PLACEC EXAMPLES_FOLDER TEXT [MPIEXEC]     processes where there is one
With PLACE_TEST_FULL in the environment all examples are taken, without it every fifth one, or every N-th with
PLACE_TEST_EVERY=N: not from the first on, so that of what is compressed and of islands there is one. Of those that lose
nothing the comparison in fp32 is made with PLACE_TEST_FULL; without it these take 2 steps. Of pipelines every third is
started in processes.
"""
import array
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import unittest

import data_order
import padded
import traffic
from runnable import runnable

PLACEC, FOLDER, TEXT, *MPIEXEC = sys.argv[1:]
FULL = bool(os.environ.get("PLACE_TEST_FULL"))
STEPS = 10 if FULL else 2
# A wrong gradient shows most under SGD without clipping (AdamW divides a factor out again, and makes
# steps of the noise in gradients that are zero).
EXACT = ["-Dtrain.precision=fp64", "-Dtrain.optimizer=sgd(lr = 0.05, momentum = 0.9)"]
NOT_CLIPPED = ["-Dtrain.clip=1e9"]
NARROW = 1e-3  # losses of products in 16 bits, whose summands are rounded otherwise on a mesh
EXACT_STEPS = 3
SEED = 1  # of every example
LOSSY = 1e-2  # of a loss, in the first steps, by gradients of bytes
LOSSLESS = "topk(1)"  # all elements of every block, in fp32
STATES = ("parameters", "optimizer", "gradients", "activations")


def place(*arguments, launcher=()):
    done = subprocess.run([*launcher, PLACEC, *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise AssertionError(f"placec {' '.join(arguments)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run(path, folder, *arguments, steps=STEPS, data=TEXT, launcher=()):
    log = os.path.join(folder, f"log{len(os.listdir(folder))}.jsonl")
    place("run", path, "--data", data, "--steps", str(steps), "--log", log, "--quiet", *arguments, launcher=launcher)
    with open(log, encoding="utf-8") as lines:
        head, *steps = [json.loads(line) for line in lines]
    return head, [step for step in steps if "step" in step]


def saved(path):
    """The tensors of a safetensors file in fp64, by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        bytes_of = file.read()
    tensors = {}
    for name, tensor in header.items():
        if name != "__metadata__":
            assert tensor["dtype"] == "F64", tensor
            tensors[name] = array.array("d", bytes_of[slice(*tensor["data_offsets"])])
    return tensors


def axes_of(report):
    """As the file names them: tp.0 and tp.1 are factors of tp."""
    return sorted({axis["axis"].split(".")[0] for axis in report["mesh"] if axis["factors"] is None})


def sizes(path):
    with open(path, encoding="utf-8") as text:
        return map(int, re.search(r"batch = (\d+)\s+sequence = (\d+)", text.read()).groups())


def outer_stride(path):
    """What of the way to the average the outer optimizer's first step goes: all of it without one."""
    with open(path, encoding="utf-8") as text:
        outer = re.search(r"outer = sgd\(lr = ([0-9.]+), momentum = ([0-9.]+), nesterov = true\)", text.read())
    return float(outer.group(1)) * (1 + float(outer.group(2))) if outer else 1


def padded_data(path, folder):
    """As many sequences as three steps see, of what the example calls one."""
    batch, sequence = sizes(path)
    file = os.path.join(folder, "padded.u16")
    padded.write(file, EXACT_STEPS * batch, sequence)
    return file


def exact_run(path, folder, data, *arguments, launcher=()):
    """What a run in fp64 says, of itself and of its steps, and the tensors behind the last."""
    file = os.path.join(folder, f"{len(os.listdir(folder))}.safetensors")
    head, steps = run(path, folder, *exact(path), *arguments, "--save", file, steps=EXACT_STEPS, data=data,
                      launcher=launcher)
    return head, steps, saved(file)


def gathers_again(path, report):
    """Does a phase gather a layer's parameters more often than there are layers that it gathers?"""
    with open(path, encoding="utf-8") as text:
        layers = range(int(re.search(r"layers = (\d+)", text.read()).group(1)))
    cut = set()
    for row in report["placement"]:
        if row["state"] == "parameters" and row["layers"] and any(a["storage"] == "S*" for a in row["axes"].values()):
            cut.update(range(*map(int, row["layers"].split(":"))))
    return any(row["op"] == "all_gather" and row["state"] == "parameters" and row["role"] == "layers" and
               row["count"] > len(cut or layers) for row in report["communication"])


def takes_gradients(report):
    """Whether updates take gradients as soon as they are whole: then nothing may be clipped."""
    return any(row["residency"] == "materialized" for row in report["placement"])


def exact(path):
    """Where a mistake shows most. What is clipped is no longer, and what is not has no norm to wait for."""
    with open(path, encoding="utf-8") as text:
        return EXACT + (NOT_CLIPPED if "clip" in re.sub("//.*", "", text.read()) else [])


def most_held(memory):
    """Of each state by the stage that holds most of it."""
    return {state: max(stage["held"][state] for stage in memory["stages"]) for state in memory["held"]}


class Trained(unittest.TestCase):
    def check_live(self, live, memory):
        """The second count: alive at most as accounted; all of the arena is alive at some time, nothing
        twice, and everything is freed. What the arena has beyond the most that is alive are gaps."""
        most = max(memory["stages"], key=lambda stage: stage["live"]["peak"])
        for name in (*STATES, "transient", "peak", "statement"):
            self.assertEqual(live[name], most["live"][name], name)
        self.assertEqual(sum(live[name] for name in (*STATES, "transient")), live["peak"])
        self.assertEqual(live["end"], memory["peak"])
        self.assertLessEqual(live["peak"], live["end"])
        self.assertEqual((live["overlapping"], live["unfreed"], live["unused"]), (0, 0, 0))

    def check_account(self, report, head, steps):
        """What every step held and sent is what was predicted."""
        memory = report["memory"]
        self.assertEqual(head["held"], most_held(memory))
        for step in steps:
            self.assertEqual(step["peak_bytes"], memory["peak"])
            self.check_live(step["live_bytes"], memory)
            sent = {axis: count for axis, count in step["bytes_sent"].items() if count}
            predicted = traffic.predicted(report, traffic.is_average(report, step["step"], len(steps)))
            self.assertEqual(sent, {a: b for a, b in predicted.items() if b})

    def check_alike(self, ours, theirs, within=1e-9):
        """What two runs of exact_run() say of steps, and what they made."""
        (_, many_steps, many), (_, one_steps, one) = ours, theirs
        self.assertEqual(len(many_steps), EXACT_STEPS)
        for step, other in zip(many_steps, one_steps, strict=True):
            for what in ("loss", "grad_norm"):
                self.assertLess(abs(step[what] - other[what]), within * other[what], f"{what} of step {step['step']}")
        self.assertEqual(many.keys(), one.keys())
        for name, values in one.items():
            difference = max(abs(a - b) for a, b in zip(many[name], values, strict=True))
            self.assertLess(difference, within * max(map(abs, values)), name)


class Examples(Trained):
    def check_timeline(self, path, live):
        with open(path, encoding="utf-8") as lines:
            moments = [json.loads(line) for line in lines]
        for moment in moments:
            self.assertEqual(sum(moment[name] for name in (*STATES, "transient")), moment["sum"])
        highest = max(moments, key=lambda moment: moment["sum"])
        self.assertEqual((highest["sum"], highest["statement"]), (live["peak"], live["statement"]))

    def check_example(self, path):
        report = json.loads(place("check", path, "--json"))
        self.assertEqual(report["verdict"], "accepted")
        self.assertEqual([d["code"] for d in report["diagnostics"]], ["W811"] if gathers_again(path, report) else [])
        memory = report["memory"]
        self.assertEqual(sum(memory[s] for s in STATES) + memory["transient"], memory["peak"])
        self.assertEqual(traffic.total(report), report["communication_total"])
        with tempfile.TemporaryDirectory() as folder:
            timeline = os.path.join(folder, "timeline")
            head, steps = run(path, folder, "--memory", timeline)
            self.check_timeline(timeline, memory["stages"][0]["live"])  # of the first device
            self.assertEqual(len(steps), STEPS)
            self.check_account(report, head, steps)
            if "state_consistency" in (row["condition"] for row in report["relaxed"]):
                self.check_islands(path, folder, report)
                return
            alone = [f"-D{axis}=1" for axis in axes_of(report)]
            if takes_gradients(report):  # of one microbatch
                batch, _ = sizes(path)
                alone.append(f"-Dtrain.microbatch={batch}")
            reference = run(path, folder, *alone)[1] if FULL or report["relaxed"] else []
            if report["relaxed"]:
                self.check_compressed(path, folder, alone, report)
            else:
                self.check_exact(path, folder, alone)
        if FULL:
            self.assertLess(steps[-1]["loss"], steps[0]["loss"])
        narrow = any(row["dtype"] in ("bf16", "f16") for row in report["placement"])
        limit = LOSSY if report["relaxed"] else NARROW if narrow else 1e-5
        for many, one in zip(steps, reference):
            self.assertLess(abs(many["loss"] - one["loss"]), limit * one["loss"], f"step {one['step']}")

    def check_compressed(self, path, folder, alone, report):
        """All that travels, in fp32, with residuals of what that rounds off: as one device to 1e-6. Then what is
        sent of each layer says how much smaller codes are."""
        with open(path, encoding="utf-8") as text:
            said = re.search(r"wire = (\w+)", text.read()).group(1)
        lossless = os.path.join(folder, "lossless.place")
        with open(path, encoding="utf-8") as text, open(lossless, "w", encoding="utf-8") as copy:
            copy.write(text.read().replace(f"wire = {said}", f"wire = {LOSSLESS}"))
        self.check_exact(lossless, folder, alone, within=1e-6)
        self.assertEqual({row["op"] for row in report["communication"] if row["state"] == "gradients"}, {"all_gather"})

    def check_islands(self, path, folder, report):
        """Each island's steps done by one device, then averaged: parameters and losses are those."""
        self.assertEqual(len({tuple(row["axes"]) for row in report["relaxed"]}), 1)
        axes = [axis for axis in report["mesh"] if axis["axis"] in report["relaxed"][0]["axes"]]
        islands = math.prod(axis["size"] for axis in axes)
        batch, sequence = sizes(path)
        data, share = padded_data(path, folder), batch // islands
        whole, file = data_order.read(data), os.path.join(folder, "saved")
        _, steps = run(path, folder, *exact(path), "--save", file, steps=EXACT_STEPS, data=data)
        together, apart = saved(file), []
        alone = [*exact(path), f"-Dtrain.batch={share}", *(f"-D{axis}=1" for axis in axes_of(report))]
        for island in range(islands):
            samples = [step * batch + island * share + i for step in range(EXACT_STEPS) for i in range(share)]
            data_order.write_share(data, whole, sequence, SEED, samples)
            _, own_steps = run(path, folder, *alone, "--save", file, steps=EXACT_STEPS, data=data)
            targets = [data_order.targets(whole, sequence, SEED, samples[i:i + share])
                       for i in range(0, len(samples), share)]
            apart.append((saved(file), own_steps, targets))
        place("run", path, *alone, "--steps", "0", "--save", file, "--quiet")
        began, stride = saved(file), outer_stride(path)
        for name, values in together.items():
            mean = [sum(column) / islands for column in zip(*(own[name] for own, _, _ in apart), strict=True)]
            expected = [a + stride * (b - a) for a, b in zip(began[name], mean, strict=True)]
            difference = max(abs(a - b) for a, b in zip(values, expected, strict=True))
            self.assertLess(difference, 1e-9 * max(map(abs, expected)), name)
        for i, step in enumerate(steps):
            mean = sum(own[i]["loss"] * n[i] for _, own, n in apart) / sum(n[i] for _, _, n in apart)
            self.assertLess(abs(step["loss"] - mean), 1e-9 * mean, f"loss of step {i + 1}")
            self.assertLess(abs(step["grad_norm"] - max(own[i]["grad_norm"] for _, own, _ in apart)), 1e-9)
        # The islands' own parameters differ: an average that did nothing would be seen.
        self.assertNotEqual(apart[0][0], apart[1][0])

    def check_exact(self, path, folder, alone, within=1e-9):
        data = padded_data(path, folder)
        self.check_alike(*(exact_run(path, folder, data, *axes) for axes in ([], alone)), within)


class Processes(Trained):
    def check_processes(self, path, ranks_of_each):
        with tempfile.TemporaryDirectory() as folder:
            data = padded_data(path, folder)
            report = json.loads(place("check", path, *exact(path), "--json"))
            one = exact_run(path, folder, data, *(f"-D{axis}=1" for axis in axes_of(report)))
            for ranks in ranks_of_each:
                launcher = [*MPIEXEC, "-n", str(report["devices"] // ranks)]
                many = exact_run(path, folder, data, launcher=launcher)
                self.check_account(report, *many[:2])
                self.check_alike(many, one)


def add_test(case, check, path, *arguments):
    name = "test_" + os.path.splitext(os.path.basename(path))[0]
    setattr(case, name, lambda self: check(self, path, *arguments))


def add_tests():
    every = int(os.environ.get("PLACE_TEST_EVERY", 1 if FULL else 5))
    paths = runnable(PLACEC, FOLDER, slice(0 if FULL else 3, None, every))
    if not paths:
        sys.exit(f"no examples in {FOLDER}")
    for path in paths:
        add_test(Examples, Examples.check_example, path)
    pipelines = runnable(PLACEC, FOLDER, slice(None, None, 1 if FULL else 3), "pipeline*.place") if MPIEXEC else []
    for i, path in enumerate(pipelines):
        add_test(Processes, Processes.check_processes, path, (1, 2) if i == 0 or FULL else (1,))


add_tests()
unittest.main(argv=[sys.argv[0]], verbosity=2)

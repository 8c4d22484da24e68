#!/usr/bin/env python3
"""Drives the hand-written program of runtime_linear.c as a person would: options, logs, saved files,
interrupts, faults, broken data and full disks; under mpirun too where there is one.

usage: runtime_linear_test.py PROGRAM LIBRARY_FOLDER [MPIRUN]"""
import json
import os
import pty
import random
import re
import resource
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAM, LIBRARIES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MPIRUN = sys.argv[3] if len(sys.argv) > 3 else None
del sys.argv[1:]


def is_sanitized():
    with open(PROGRAM, "rb") as file:
        return re.search(rb"__[at]san_init", file.read()) is not None


def environment(devices=1, **more):
    env = dict(os.environ, LINEAR_DEVICES=str(devices), PLACE_TRANSPORT_PATH=LIBRARIES)
    for name in list(env):
        if name.startswith(("OMPI_", "PMI_", "PMIX_", "SLURM_")) or name in ("RANK", "WORLD_SIZE"):
            del env[name]
    env.update({name: str(value) for name, value in more.items()})
    return env


def run(*options, devices=1, prefix=(), limit=None, stdout=subprocess.PIPE, **more):
    command = [*prefix, PROGRAM, *map(str, options)]
    set_limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
    return subprocess.run(command, env=environment(devices, **more), stdout=stdout, stderr=subprocess.PIPE, text=True,
                          errors="replace", timeout=120, preexec_fn=set_limit)


def read_log(path):
    with open(path) as file:
        lines = file.read().split("\n")
    assert lines.pop() == "", "a log ends with a whole line"
    return [json.loads(line) for line in lines]


def read_tensors(path):
    with open(path, "rb") as file:
        data = file.read()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    metadata = header.pop("__metadata__")
    assert metadata == {"format": "pt"}
    tensors, covered = {}, 0
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        assert begin == covered, "tensors follow one another"
        covered = end
        count = 1
        for size in entry["shape"]:
            count *= size
        letter, width = {"F32": ("f", 4), "F64": ("d", 8)}[entry["dtype"]]
        assert end - begin == count * width
        tensors[name] = entry["shape"], struct.unpack(f"<{count}{letter}", data[8 + length + begin:8 + length + end])
    assert 8 + length + covered == len(data)
    return tensors


class Linear(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="place_linear_")
        self.addCleanup(shutil.rmtree, self.folder)
        choose = random.Random(1).choice
        self.data = self.path("text.txt")
        with open(self.data, "w") as file:
            file.write("".join(choose(["the cat ", "sat on ", "a mat. ", "dogs "]) for _ in range(2000)))

    def path(self, name):
        return os.path.join(self.folder, name)

    def endless_data(self):
        """Options of data that no scan gets to the end of, most of which is on no disk."""
        endless = self.path("endless")
        with open(endless, "w") as file:
            file.truncate(1 << 42)
        return "--data", endless, "--data-type", "text"

    def files(self):
        return sorted(os.listdir(self.folder))

    def start(self, *options, devices=2, fault="slow", **more):
        """A run in the background that has begun: its first line comes after its handlers are in place."""
        process = subprocess.Popen([PROGRAM, "--data", self.data, *options], env=environment(devices, LINEAR_FAULT=fault, **more),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.stdout.close)
        self.assertIn("linear: mesh", process.stdout.readline())
        return process

    def wait_for_steps(self, log):
        """Until the data of a run were looked through, which a first signal ends at once; then its log begins."""
        while not (os.path.exists(log) and os.path.getsize(log)):
            time.sleep(0.01)

    def assertFails(self, result, *texts, status=1):
        self.assertEqual(result.returncode, status, result.stderr)
        for text in texts:
            self.assertIn(text, result.stderr)

    # ---- training ----

    def test_trains_the_same_on_every_mesh(self):
        logs, states = {}, {}
        for devices in 1, 2, 4:
            log, dump = self.path(f"{devices}.jsonl"), self.path(f"{devices}.safetensors")
            result = run("--data", self.data, "--steps", 30, "--log", log, "--dump", dump, "--eval", self.data,
                         devices=devices)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("eval: loss ", result.stdout)
            logs[devices], states[devices] = read_log(log), read_tensors(dump)
        for devices in 2, 4:
            for one, other in zip(logs[1][1:], logs[devices][1:]):
                self.assertAlmostEqual(one["loss"], other["loss"], places=5)
            for name, (shape, values) in states[1].items():
                other_shape, others = states[devices][name]
                self.assertEqual(shape, other_shape)
                self.assertLess(max(abs(a - b) for a, b in zip(values, others)), 1e-4)
        steps = logs[1][1:]
        self.assertLess(steps[-1]["loss"], steps[0]["loss"] / 3)

    def test_copies_are_saved_once(self):
        files = []
        for copies in {}, {"LINEAR_COPIES": 3}:
            dump = self.path("d")
            result = run("--data", self.data, "--steps", 3, "--dump", dump, "--sample", 9, devices=2, **copies)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(dump, "rb") as file:
                files.append((file.read(), result.stdout.split("sample: ")[1]))
        self.assertEqual(files[0], files[1])

    def test_copies_that_differ_in_a_bit_are_not_dumped(self):
        dump = self.path("d")
        options = ("--data", self.data, "--steps", 3, "--dump", dump)
        self.assertFails(run(*options, devices=2, LINEAR_COPIES=3, LINEAR_FAULT="drift"),
                         "rank 5: its copy of W is not that of rank 3")
        self.assertEqual(self.files(), ["text.txt"])
        # Shards have no copies: nothing can be told of them.
        self.assertEqual(run(*options, devices=2, LINEAR_FAULT="drift").returncode, 0)

    def test_measures_what_was_predicted(self):
        for devices in 1, 2, 4:
            log = self.path("run.jsonl")
            predicted = run(devices=devices, LINEAR_PREDICT=1).stdout.split()
            run("--data", self.data, "--steps", 3, "--log", log, devices=devices)
            header, *steps = read_log(log)
            self.assertEqual(header["mesh"], [{"axis": "dp", "size": devices, "factors": None}])
            self.assertEqual(header["plan_hash"], "00c0ffee")
            self.assertEqual(header["held"]["parameters"], 256 * 256 * 4 // devices)
            for step in steps:
                self.assertEqual(list(step), ["step", "loss", "grad_norm", "lr", "tokens", "seconds", "tokens_per_second",
                                              "bytes_sent", "bytes_copied", "peak_bytes", "peak_bytes_beyond",
                                              "live_bytes"])
                self.assertEqual(step["bytes_sent"], {"dp": int(predicted[0])})
                self.assertEqual(step["bytes_copied"], {"host": 0, "disk": 0})
                self.assertEqual(step["peak_bytes_beyond"], {"host": 0, "disk": 0})
                # The last buffer is a scalar, followed by 56 bytes of alignment.
                self.assertEqual(step["peak_bytes"], int(predicted[1]) - 56)

    def check_moves(self, launch, devices):
        log = self.path("moves.jsonl")
        predicted = run(devices=devices, LINEAR_PREDICT=1, LINEAR_MOVES=1).stdout.split()
        result = launch("--data", self.data, "--steps", 2, "--log", log, devices=devices, LINEAR_MOVES=1)
        self.assertEqual(result.returncode, 0, result.stderr)
        for step in read_log(log)[1:]:
            self.assertEqual(step["bytes_sent"], {"dp": int(predicted[0])})

    def test_moves(self):
        for devices in 1, 2, 4:
            self.check_moves(run, devices)

    def test_seed_decides(self):
        logs = []
        for seed in 5, 5, 6:
            log = self.path("run.jsonl")
            run("--data", self.data, "--steps", 4, "--seed", seed, "--log", log, devices=2)
            logs.append([step["loss"] for step in read_log(log)[1:]])
        self.assertEqual(logs[0], logs[1])
        self.assertNotEqual(logs[0], logs[2])

    def test_saves_the_transpose_under_its_name(self):
        saved, dumped = self.path("p"), self.path("d")
        run("--data", self.data, "--steps", 2, "--save", saved, "--dump", dumped, devices=4)
        (shape, values), logical = read_tensors(saved)["table.weight"], read_tensors(dumped)["parameters/table"][1]
        self.assertEqual(shape, [256, 256])
        for row, column in (0, 1), (3, 200), (255, 0):
            self.assertEqual(values[column * 256 + row], logical[row * 256 + column])
        self.assertEqual([*read_tensors(dumped)], ["parameters/table"])
        self.assertEqual(self.files(), ["d", "p", "text.txt"])

    def test_samples(self):
        result = run("--data", self.data, "--steps", 100, "--sample", 30, devices=2)
        again = run("--data", self.data, "--steps", 100, "--sample", 30, devices=1)
        self.assertEqual(result.returncode, 0)
        text = result.stdout.split("sample: ")[1]
        self.assertGreaterEqual(len(text), 30)
        self.assertEqual(text, again.stdout.split("sample: ")[1])

    def test_progress_is_plain_lines_in_a_pipe(self):
        out = run("--data", self.data, "--steps", 200, devices=4).stdout
        self.assertIn("linear: mesh dp=4, 4 ranks x ", out)
        self.assertNotIn("\r", out)
        self.assertIn("step 200/200  loss ", out)
        self.assertLess(len(out.split("\n")), 60)

    # ---- ending early ----

    def test_interrupt_finishes_the_step_and_saves(self):
        saved, log = self.path("p"), self.path("l")
        process = self.start("--steps", "1000", "--save", saved, "--log", log)
        self.wait_for_steps(log)
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        self.assertEqual(process.returncode, 130)
        self.assertIn("parameters are in", errors)
        self.assertIn("table.weight", read_tensors(saved))
        self.assertLess(len(read_log(log)), 500)

    def test_a_terminal_that_is_gone_does_not_lose_the_parameters(self):
        saved = self.path("p")
        process, terminal = pty.fork()
        if process == 0:
            os.execve(PROGRAM, [PROGRAM, "--data", self.data, "--steps", "1000", "--save", saved],
                      environment(2, LINEAR_FAULT="slow"))
        seen = b""
        while b"step 1/1000" not in seen:
            seen += os.read(terminal, 1000)
        os.close(terminal)
        _, status = os.waitpid(process, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
        self.assertIn("table.weight", read_tensors(saved))

    def test_an_interrupt_before_the_first_step_says_what_it_does(self):
        process, terminal = pty.fork()
        if process == 0:
            os.execve(PROGRAM, [PROGRAM, *self.endless_data(), "--steps", "1000"], environment(2))
        seen = b""
        while b"data: " not in seen:
            seen += os.read(terminal, 1000)
        os.write(terminal, b"\x03")
        with open(terminal, "rb", buffering=0) as rest:
            try:
                while piece := rest.read(1000):
                    seen += piece
            except OSError:  # the terminal's last user is gone
                pass
        _, status = os.waitpid(process, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), 130)
        self.assertIn(b"interrupted: the run ends before its first step;\r\n  once more ends it at once", seen)
        self.assertIn(b"interrupted before the first step", seen)

    def test_second_interrupt_ends_at_once(self):
        log = self.path("l")
        process = self.start("--steps", "1000", "--save", self.path("p"), "--log", log, fault="hang")
        self.wait_for_steps(log)
        process.send_signal(signal.SIGINT)
        time.sleep(0.6)
        self.assertIsNone(process.poll())
        while process.poll() is None:  # it may have taken the first one late
            process.send_signal(signal.SIGINT)
            time.sleep(0.1)
        self.assertEqual(process.returncode, 130)
        self.assertEqual(self.files(), [os.path.basename(log), "text.txt"])

    def test_a_loss_that_is_not_a_number_stops(self):
        log, saved = self.path("l"), self.path("p")
        result = run("--data", self.data, "--steps", 9, "--log", log, "--save", saved, devices=2, LINEAR_FAULT="nan")
        self.assertFails(result, "step 3: the loss is not a number")
        self.assertIn("step 3/9  loss nan ", result.stdout)
        last = read_log(log)[-1]
        self.assertEqual((last["step"], last["loss"], last["status"]), (3, None, "nan"))
        self.assertFalse(os.path.exists(saved))

    def test_a_norm_that_is_not_a_number_stops(self):
        saved = self.path("p")
        result = run("--data", self.data, "--steps", 3, "--save", saved, devices=2, LINEAR_FAULT="nan norm")
        self.assertFails(result, "step 3: the norm of the gradients is not a number")
        self.assertRegex(result.stdout, r"step 3/3  loss \d.*  grad nan ")
        self.assertFalse(os.path.exists(saved))

    def test_what_is_said_of_a_model_is_a_number(self):
        for options, text in (("--eval", self.data), "the loss of --eval is not a number"), (
                ("--sample", 3), "nothing can be sampled"):
            result = run("--data", self.data, "--steps", 2, *options, devices=2, LINEAR_FAULT="nan eval")
            self.assertFails(result, text)
            self.assertNotIn("-nan", result.stdout)
            self.assertNotIn("flight recorder", result.stderr)
        self.assertIn("eval: loss nan over ", run("--data", self.data, "--steps", 2, "--eval", self.data,
                                                  LINEAR_FAULT="nan eval").stdout)

    def test_deadlock_names_all_ranks(self):
        result = run("--data", self.data, "--steps", 9, devices=3, LINEAR_FAULT="deadlock")
        self.assertFails(result, "deadlock", "rank 0 waits for rank 1", "linear.place:2:1 (reduce_scatter dp",
                         "rank 1 waits for rank 0 to reach the end of the step")

        self.assertFails(result, "flight recorder", "rank 1, step 3, ", "<-- behind: the others wait for it",
                         "error: rank ", ": deadlock: every rank waits")
        self.assertLess(result.stderr.index("rank 1, step 3, "), result.stderr.index("rank 0, step 3, "))

    def test_others_may_still_read_from_a_rank_that_fails(self):
        for devices in 2, 4:
            result = run("--data", self.data, "--steps", 9, devices=devices, LINEAR_FAULT="break")
            self.assertFails(result, "rank 1, step 3, linear.place:2:1 (reduce_scatter dp", "broken")

    def test_flight_recorder_goes_beside_the_log(self):
        log = self.path("l")
        result = run("--data", self.data, "--steps", 9, "--log", log, devices=3, LINEAR_FAULT="deadlock")
        self.assertFails(result, "all that is recorded is in " + log + ".flight")
        with open(log + ".flight") as file:
            table = file.read()
        self.assertIn("reduce_scatter over dp, 256.0 KiB", table)
        self.assertGreater(len(table.split("\n")), len(result.stderr.split("\n")))

    def test_flight_recorder_on_request(self):
        for number in signal.SIGUSR1, signal.SIGQUIT:
            process = self.start("--steps", "40")
            process.send_signal(number)
            _, errors = process.communicate(timeout=60)
            self.assertEqual(process.returncode, 0)
            self.assertIn("flight recorder", errors)
            self.assertIn("rank 1", errors)

    def test_a_stuck_rank_ends_the_run(self):
        saved = self.path("p")
        result = run("--data", self.data, "--steps", 9, "--save", saved, devices=2, LINEAR_FAULT="hang",
                     PLACE_TIMEOUT=1)
        self.assertFails(result, "step 1: before its first call for 1 seconds; it is stuck", "flight recorder")
        self.assertEqual(self.files(), ["text.txt"])

    @unittest.skipIf(is_sanitized(), "a sanitizer maps memory of its own in the end")
    def test_a_stuck_rank_that_may_lack_memory(self):
        with self.start("--steps", "9", fault="hang", PLACE_TIMEOUT=2) as process:
            time.sleep(1)  # it has what it begins with
            resource.prlimit(process.pid, resource.RLIMIT_AS, (1 << 20, 1 << 20))
            self.assertRegex(process.communicate(timeout=60)[1],
                             r"it is stuck.*\nnote: this process may map only 0 B of memory more, which may be why: raise")

    def test_a_rank_is_not_stuck_while_its_process_is_stopped(self):
        with subprocess.Popen([PROGRAM, "--data", self.data, "--steps", "9"], stdout=subprocess.DEVNULL,
                              stderr=subprocess.PIPE, text=True,
                              env=environment(2, LINEAR_FAULT="hang", PLACE_TIMEOUT=4)) as process:
            time.sleep(1)
            process.send_signal(signal.SIGSTOP)
            time.sleep(4)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.5)
            self.assertIsNone(process.poll())
            self.assertIn("for 4 seconds; it is stuck", process.communicate(timeout=60)[1])

    def test_data_errors_show_no_flight_recorder(self):
        result = run("--data", self.data, "--steps", 9, devices=2, LINEAR_FAULT="nan")
        self.assertNotIn("flight recorder", result.stderr)

    # ---- bad input ----

    def test_command_line(self):
        for options, text in ((["--steps", "x"], "--steps takes a whole number"), (["--steps", "-1"], "not '-1'"),
                              (["--bogus"], "bogus"), (["file"], "'file' is not an option"),
                              (["--steps", "3"], "--steps needs --data"), (["--data", "f"], "there is nothing to do"),
                              (["--steps", "99999999999999999999", "--data", "f"], "whole number")):
            self.assertFails(run(*options), text, status=2)
        self.assertEqual(run("--help").returncode, 0)

    def test_data(self):
        for name, content, text in (("empty", b"", "0 tokens are fewer than one sequence of 16"),
                                    ("short", b"0123456789abcdef", "16 tokens are fewer"),
                                    ("one", b"0", "1 token is fewer than one sequence of 16"),
                                    ("byte.u16", b"1", "1 byte is not a whole number of 2-byte tokens"),
                                    ("odd.u16", b"123", "not a whole number of 2-byte tokens"),
                                    ("big.u16", struct.pack("<40H", *([7] * 20 + [300] * 20)), "token 300 at position")):
            with open(self.path(name), "wb") as file:
                file.write(content)
            self.assertFails(run("--data", self.path(name), "--steps", 5, devices=2), name, text)
        self.assertFails(run("--data", self.path("none"), "--steps", 5), "none: cannot be read: No such file")
        self.assertFails(run("--data", self.folder, "--steps", 5), "not a regular file")

    LAUNCHERS = (
        ("SLURM's srun", {"SLURM_PROCID": 0, "SLURM_STEP_NUM_TASKS": 2, "SLURM_NTASKS": 2}, "SLURM_STEP_NUM_TASKS"),
        ("SLURM", {"SLURM_PROCID": 0, "SLURM_NTASKS": 2}, "SLURM_NTASKS"),
        ("Flux", {"FLUX_TASK_RANK": 0, "FLUX_JOB_SIZE": 2}, "FLUX_JOB_SIZE"),
        ("jsrun", {"JSM_NAMESPACE_RANK": 0, "JSM_NAMESPACE_SIZE": 2}, "JSM_NAMESPACE_SIZE"),
        ("Horovod", {"HOROVOD_RANK": 0, "HOROVOD_SIZE": 2}, "HOROVOD_SIZE"),
        ("torchrun", {"RANK": 0, "WORLD_SIZE": 2, "LOCAL_RANK": 0}, "WORLD_SIZE"),
        ("aprun", {"ALPS_APP_PE": 0}, None),
        ("PALS's mpiexec", {"PALS_RANKID": 0}, None),
        ("a PMIx launcher", {"PMIX_RANK": 0}, None),
    )

    def test_processes_that_do_not_know_each_other(self):
        saved = self.path("p")
        options = ("--data", self.data, "--steps", 1, "--save", saved)
        for name, variables, size in self.LAUNCHERS:
            result = run(*options, devices=2, **variables)
            self.assertFails(result, f"error: {name} has started this process ({next(iter(variables))}=0",
                             "so each process would train the whole mesh and write the same files",
                             "start them with `mpirun -n " + ("2`" if size else "N`"))
            self.assertEqual(self.files(), ["text.txt"])
            # What it says to do, where there is only one; and a launcher that started one.
            self.assertIn(f"If there is only this one, unset {next(iter(variables))}\n", result.stderr)
            if size:
                self.assertEqual(run(*options, devices=2, **dict(variables, **{size: 1})).returncode, 0)
                os.remove(saved)

    def test_a_job_without_processes_of_its_own(self):
        """A shell that SLURM has given room for eight; the one task of a step of such a job."""
        for variables in {"SLURM_NTASKS": 8, "SLURM_JOB_ID": 1}, {"SLURM_NTASKS": 8, "SLURM_PROCID": 0,
                                                                  "SLURM_STEP_NUM_TASKS": 1}, {"WORLD_SIZE": 4}:
            result = run("--data", self.data, "--steps", 1, devices=2, **variables)
            self.assertEqual(result.returncode, 0, result.stderr)

    def test_memory_is_refused_before_it_is_taken(self):
        result = run("--data", self.data, "--steps", 1, devices=8, LINEAR_ARENA=1 << 45)
        self.assertFails(result, "8 ranks need 256.0 TiB of memory (32.0 TiB each), but this machine has")

    def test_targets_are_checked_before_training(self):
        for option in "--save", "--dump", "--log":
            self.assertFails(run("--data", self.data, "--steps", 1, option, self.path("no/such/file")),
                             "no/such/file", "No such file or directory")
            self.assertFails(run("--data", self.data, "--steps", 1, option, self.folder),
                             "no config.json says this model" if option == "--save" else "Is a directory")

    def test_what_is_of_another_kind_is_not_written_over(self):
        """Of everything that a run writes, nothing is written over anything but its own kind, or nothing."""
        written = {option: self.path(option) for option in ("--save", "--dump", "--log", "--memory", "--trace")}
        options = [word for pair in written.items() for word in pair]
        self.assertEqual(run("--data", self.data, "--steps", 2, *options, devices=2).returncode, 0)
        os.truncate(written["--log"], 5)
        # Each over its own kind (no statement of this program is in a timeline: it is empty); then over the others', over text, over nothing.
        self.assertEqual(run("--data", self.data, "--steps", 2, *options, devices=2).returncode, 0)
        contents = {option: Path(path).read_bytes() for option, path in written.items()}
        contents["text"] = b"the cat sat on a mat"
        contents["short"] = b"?"
        contents["zeros"] = bytes(4096)
        target = self.path("target")
        for option in written:
            for kind, content in contents.items():
                if not content or kind == option or {kind, option} == {"--save", "--dump"}:
                    continue
                with open(target, "wb") as file:
                    file.write(content)
                self.assertFails(run("--data", self.data, "--steps", 1, option, target),
                                 f"error: {target}: it is there and is not a", f"{option} does not write over it; name another")
                with open(target, "rb") as file:
                    self.assertEqual(file.read(), content, (option, kind))
            with open(target, "wb"):
                pass
            self.assertEqual(run("--data", self.data, "--steps", 1, option, target).returncode, 0)

    def test_a_flight_recorder_is_not_written_over_anything_else(self):
        log = self.path("l")
        with open(log + ".flight", "w") as file:
            file.write("mine")
        result = run("--data", self.data, "--steps", 9, "--log", log, devices=3, LINEAR_FAULT="deadlock")
        self.assertFails(result, f"{log}.flight: it is there and is not a flight recorder")
        self.assertEqual(Path(log + ".flight").read_text(), "mine")

    def test_a_log_follows_no_link_that_was_planted(self):
        """In a folder like /tmp, by another user; only root can be another."""
        if os.geteuid() != 0:
            self.skipTest("not root")
        with open(self.path("theirs"), "w"):
            os.symlink(self.path("theirs"), self.path("link"))
        os.chown(self.path("link"), 4711, 4711, follow_symlinks=False)
        os.chmod(self.folder, 0o1777)
        self.assertFails(run("--data", self.data, "--steps", 1, "--log", self.path("link")), "Permission denied")

    def test_full_disk(self):
        self.assertFails(run("--data", self.data, "--steps", 2, "--log", "/dev/full"), "/dev/full", "No space left")
        saved, before = self.path("p"), struct.pack("<Q", 2) + b"{} and what was there before"
        with open(saved, "wb") as file:
            file.write(before)
        result = run("--data", self.data, "--steps", 2, "--save", saved, devices=2, limit=100000)
        self.assertFails(result, "cannot be written: File too large")
        with open(saved, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(self.files(), ["p", "text.txt"])
        with open("/dev/full", "w") as full:
            self.assertFails(run("--data", self.data, "--steps", 2, stdout=full), "standard output cannot be written")

    def test_log_that_a_run_holds(self):
        log = self.path("l")
        first = self.start("--steps", "40", "--log", log)
        self.wait_for_steps(log)
        first.send_signal(signal.SIGSTOP)  # however long the second one takes to start
        self.assertFails(run("--data", self.data, "--steps", 2, "--log", log), "another run writes this log")
        first.send_signal(signal.SIGCONT)
        first.communicate(timeout=60)
        self.assertEqual(first.returncode, 0)
        self.assertEqual(len(read_log(log)), 41)

    def test_log_keeps_whole_lines_on_a_full_disk(self):
        log = self.path("l")
        self.assertFails(run("--data", self.data, "--steps", 90, "--log", log, limit=2000), "the log cannot be written: File too large")
        self.assertGreater(len(read_log(log)), 3)

    def test_closed_pipe(self):
        process = self.start("--steps", "200")
        process.stdout.close()
        self.assertIn("standard output cannot be written: Broken pipe", process.stderr.read())
        self.assertEqual(process.wait(timeout=60), 1)


@unittest.skipUnless(MPIRUN, "no mpirun")
class Processes(Linear):
    """What changes when ranks are processes."""

    def launch(self, count, *options, devices=None, **more):
        prefix = [MPIRUN, "-n", str(count), "--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
        return run(*options, devices=devices or count, prefix=prefix, **more)

    def test_gives_the_same_bits_as_threads(self):
        """With one rank in each process, and with several."""
        for devices, processes in (3, 3), (4, 4), (4, 2), (8, 2), (2, 1):
            files = []
            for launch in run, lambda *options, devices: self.launch(processes, *options, devices=devices):
                log, dump = self.path("l"), self.path("d")
                result = launch("--data", self.data, "--steps", 10, "--log", log, "--dump", dump, "--eval", self.data,
                                "--sample", 5, devices=devices)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertEqual("per rank, and for messages 64.0 MiB" in result.stdout,
                                 launch is not run and processes > 1)
                with open(dump, "rb") as file:
                    files.append((file.read(), [(s["loss"], s["grad_norm"], s["bytes_sent"], s["peak_bytes"])
                                                for s in read_log(log)[1:]], result.stdout.split("eval: ")[1]))
            self.assertEqual(files[0], files[1])

    def test_moves_between_processes(self):
        for devices in 1, 2, 4:
            self.check_moves(lambda *options, devices, **more: self.launch(devices, *options, **more), devices)

    def test_what_was_started_arrives_before_the_wait(self):
        """While kernels run. (Among threads it does not: all is moved in the wait.)"""
        for devices in 2, 4:
            result = self.launch(2, "--data", self.data, "--steps", 3, "--profile", devices=devices, LINEAR_AHEAD=1)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertGreater(float(re.search(r"^  +hidden \(not in the step\) +([\d.]+)", result.stdout, re.M)[1]), 0)

    def test_failures_end_the_job(self):
        self.assertFails(self.launch(3, "--data", self.data, "--steps", 5, devices=4),
                         "the launcher started 3 processes, but the mesh has 4 devices")
        for devices in 2, 4:
            result = self.launch(2, "--data", self.data, "--steps", 9, devices=devices, LINEAR_FAULT="nan")
            self.assertIn("step 3: the loss is not a number", result.stderr)
            self.assertNotEqual(result.returncode, 0)
            result = self.launch(2, "--data", self.data, "--steps", 9, devices=devices, LINEAR_FAULT="deadlock",
                                 PLACE_TIMEOUT=1)
            self.assertNotEqual(result.returncode, 0)
            self.assertRegex(result.stderr, r"rank \d, step 3.*: no answer from rank [\d, ]+ for 1 seconds")
            self.assertIn("flight recorder", result.stderr)

    def test_who_is_at_files_is_waited_for(self):
        """Beyond the time in which a rank is missed: what else makes a long wait of rank 0's large files."""
        saved, folder = self.path("s"), self.path("c")
        for devices in 2, 4:
            result = self.launch(2, "--data", self.data, "--steps", 4, "--checkpoint", folder, "--save-every", 2,
                                 "--save", saved, "--eval", self.data, devices=devices, FAULT_FSYNC_SECONDS=1.5,
                                 PLACE_TIMEOUT=1)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(sorted(os.listdir(folder)), [".lock", "step-000000002", "step-000000004"])
            shutil.rmtree(folder)

    def processes_of(self, mark):
        """Process ids by rank, of what a launch with this mark in its environment has started."""
        found = {}
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/environ", "rb") as file:
                    words = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
                with open(f"/proc/{name}/stat") as file:
                    gone = file.read().rsplit(")", 1)[1].split()[0] in "ZX"
            except (OSError, ValueError):
                continue
            if not gone and words.get(b"LINEAR_MARK") == mark.encode() and b"OMPI_COMM_WORLD_RANK" in words:
                found[int(words[b"OMPI_COMM_WORLD_RANK"])] = int(name)
        return found

    def lose(self, number, timeout, devices, data=(), after="step 1/"):
        """A job of three processes of which one is sent a signal after a line of output. Its errors."""
        mark = f"{os.getpid()}.{number}.{devices}"
        command = [MPIRUN, "-n", "3", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", PROGRAM,
                   *(data or ("--data", self.data)), "--steps", "100000"]
        env = environment(devices, LINEAR_FAULT="slow", PLACE_TIMEOUT=timeout, LINEAR_MARK=mark)
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            while not job.stdout.readline().startswith(after):
                self.assertIsNone(job.poll())
            os.kill(self.processes_of(mark)[1], number)
            _, errors = job.communicate(timeout=100)
        self.assertNotEqual(job.returncode, 0)
        for _ in range(300):  # the launcher's daemon may still be at it
            if not self.processes_of(mark):
                return errors
            time.sleep(0.1)
        self.fail(f"left behind: {self.processes_of(mark)}")

    def test_a_stopped_process_is_named(self):
        errors = self.lose(signal.SIGSTOP, 2, 3)
        # The others wait for it in a collective, or at the end of the step.
        self.assertRegex(errors, r"rank [02], step \d+(, linear.place:\d:1 \(.*\))?: no answer from rank 1 for 2 seconds")
        self.assertRegex(errors, r"collective_wait +linear.place:\d:1 \(")

        self.assertRegex(self.lose(signal.SIGSTOP, 2, 6), r"rank [0145], step \d+.*: no answer from rank [23]")

    def test_a_job_that_was_stopped_goes_on(self):
        """All of it, for longer than a rank waits for another; first the process that the others then wait for."""
        mark = f"{os.getpid()}.stopped"
        command = [MPIRUN, "-n", "3", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", PROGRAM,
                   "--data", self.data, "--steps", "20"]
        env = environment(3, LINEAR_FAULT="slow", PLACE_TIMEOUT=4, LINEAR_MARK=mark)
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            while not job.stdout.readline().startswith("step 1/"):
                self.assertIsNone(job.poll())
            processes = self.processes_of(mark)
            for rank, number, pause in ((1, signal.SIGSTOP, 0.5), (0, signal.SIGSTOP, 0), (2, signal.SIGSTOP, 5),
                                        (0, signal.SIGCONT, 0), (2, signal.SIGCONT, 0.2), (1, signal.SIGCONT, 0)):
                os.kill(processes[rank], number)
                time.sleep(pause)
            _, errors = job.communicate(timeout=100)
        self.assertEqual((job.returncode, errors), (0, ""))

    def outlive(self, script):
        """A shell that is called as a launcher is, and goes on when what it has started has failed."""
        launcher = self.path("mpirun")
        shutil.copy("/bin/sh", launcher)
        env = environment(2, OMPI_COMM_WORLD_SIZE=2, PLACE_TIMEOUT=5)
        result = subprocess.run([launcher, "-c", script + "while :; do sleep 1; done", PROGRAM, self.data], env=env,
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100)
        self.assertIn("the launcher started 2 processes, but MPI sees 1", result.stderr)
        return result.returncode

    def test_a_launcher_that_does_not_end_is_ended(self):
        """As mpirun, which waits for hosts that it cannot reach; also where a shell is between them."""
        self.assertEqual(self.outlive('"$0" --data "$1" --steps 1;'), -signal.SIGTERM)
        self.assertEqual(self.outlive('sh -c \'"$0" --data "$1" --steps 1; true\' "$0" "$1";'), -signal.SIGTERM)
        self.assertEqual(self.outlive('trap "" TERM; "$0" --data "$1" --steps 1;'), -signal.SIGKILL)

    def test_a_killed_process_ends_the_job(self):
        for devices in 3, 6:
            self.assertIn("rank 1", self.lose(signal.SIGKILL, 60, devices))

    def test_who_is_interrupted_alone_before_the_first_step_ends_the_job(self):
        self.assertNotIn("no answer", self.lose(signal.SIGTERM, 20, 3, self.endless_data(), "data: "))

    def test_flight_recorder_on_request(self):
        """Of one process, and of the launcher, which asks all; MPI has threads of its own by then."""
        for number in signal.SIGUSR1, signal.SIGQUIT:
            self.assertRegex(self.ask(number, lambda job, processes: processes[1], 1), r"(?m)^rank 1, step \d+, \d+ calls$")
        self.ask(signal.SIGUSR1, lambda job, processes: job.pid, 3)

    def ask(self, number, whom, answers):
        """Errors of a job of which one process is sent a signal. (What several print, mpirun mixes by the piece.)"""
        mark = f"{os.getpid()}.asked"
        command = [MPIRUN, "-n", "3", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", PROGRAM,
                   "--data", self.data, "--steps", "30"]
        env = environment(3, LINEAR_FAULT="slow", LINEAR_MARK=mark)
        with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True) as job:
            while not job.stdout.readline().startswith("step 1/"):
                self.assertIsNone(job.poll())
            os.kill(whom(job, self.processes_of(mark)), number)
            _, errors = job.communicate(timeout=100)
        self.assertEqual(job.returncode, 0, errors)
        self.assertEqual(errors.count("flight recorder: the last runtime calls of every rank"), answers)
        return errors

    def test_without_the_transport(self):
        result = self.launch(2, "--data", self.data, "--steps", 5, PLACE_TRANSPORT_PATH=self.folder)
        self.assertIn("libplace_mpi.so cannot be used: it is neither beside the executable nor in the installation; name "
                      "the folder that it is in with PLACE_TRANSPORT_PATH\n", result.stderr)


for name in dir(Linear):  # those of the base class have run
    if name.startswith("test_"):
        setattr(Processes, name, Processes.__dict__.get(name))

if __name__ == "__main__":
    unittest.main()

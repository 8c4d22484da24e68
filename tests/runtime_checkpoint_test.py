#!/usr/bin/env python3
"""Drives the hand-written program of runtime_linear.c through checkpoints: stopped in every way it goes on with the bits
of a run that never stopped, on any number of devices; what is damaged, of something else or of someone else is refused
with what and where; and a checkpoint that cannot be written leaves nothing behind.

usage: runtime_checkpoint_test.py PROGRAM LIBRARY_FOLDER [MPIRUN]"""
import errno
import json
import os
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

PROGRAM, LIBRARIES = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
MPIRUN = sys.argv[3] if len(sys.argv) > 3 else None
del sys.argv[1:]
STEPS = 6


def content_hash(content):
    """As runtime/host/content_hash.h has it."""
    mask, total = (1 << 64) - 1, 0
    steps = (0xA0761D6478BD642F, 0x8EBC6AF09C88C6E3), (0xE7037ED1A0B428DB, 0x589965CC75374CC3)

    def fold(a, b):
        product = (a & mask) * (b & mask)
        return product & mask ^ product >> 64
    for i in range(0, len(content), 16):
        pair = content[i:i + 16].ljust(16, b"\0")
        words = [int.from_bytes(pair[j:j + 8], "little") for j in (0, 8)]
        total += fold(*(word + first + i // 16 * step for word, (first, step) in zip(words, steps)))
    return fold(total + steps[0][0], len(content) + steps[1][0])


class Checkpoints(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="place_checkpoint_")
        self.addCleanup(shutil.rmtree, self.folder)
        choose = random.Random(1).choice
        with open(self.path("text"), "w") as file:
            file.write("".join(choose(["the cat ", "sat on ", "a mat. ", "dogs "]) for _ in range(500)))

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def write(self, data, *names):
        with open(self.path(*names), "wb") as file:
            file.write(data)

    def command(self, *options, devices=1, data="text", prefix=(), **more):
        env = {name: value for name, value in os.environ.items() if not name.startswith(("OMPI_", "PMI_", "PMIX_"))}
        env.update({"LINEAR_DEVICES": str(devices), "PLACE_TRANSPORT_PATH": LIBRARIES}, **more)
        return [*prefix, PROGRAM, *map(str, options), *(["--data", data] if data else [])], env

    def run_it(self, *options, status=0, limit=None, **more):
        command, env = self.command(*options, **more)
        set_limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))) if limit else None
        done = subprocess.run(command, env=env, cwd=self.folder, capture_output=True, text=True, timeout=120,
                              preexec_fn=set_limit, stdin=subprocess.DEVNULL)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done

    def train(self, *options, steps=STEPS, **more):
        return self.run_it("--steps", steps, "--quiet", *options, **more)

    def kept(self, folder="kept"):
        return sorted(name for name in os.listdir(self.path(folder)) if name != ".lock")

    def saved(self, *options, **more):
        """What the model is, of the last checkpoint or behind the steps of the options."""
        self.run_it("--save", "saved", "--quiet", *options, **more)
        return self.read("saved")

    def refused(self, *options, alone=True, **more):
        done = self.run_it(*options, status=1, **more)
        for line in done.stderr.splitlines() if alone else ():
            self.assertRegex(line, "^(error|note): ")
        return done.stderr

    # ---- going on

    def test_a_run_that_went_on_has_the_bits_of_one_that_never_stopped(self):
        for devices in (1, 2, 3):
            whole = self.saved("--steps", STEPS, devices=devices)
            for stop in range(1, STEPS):
                self.train("--checkpoint", "kept", steps=stop, devices=devices)
                self.assertEqual(self.saved("--steps", STEPS, "--resume", "kept", devices=devices), whole)
                shutil.rmtree(self.path("kept"))

    def test_any_number_of_devices_reads_what_another_wrote(self):
        self.train("--checkpoint", "kept", devices=3)
        whole = self.read("kept", "step-000000006", "model.safetensors")
        for devices in (1, 2, 3, 5):
            self.assertEqual(self.saved("--resume", "kept", data=None, devices=devices)[-4 * 65536:], whole[-4 * 65536:])

    # ---- parameters of 16 bits, beside the copy that is updated

    TYPES = {"bf16": "BF16", "f16": "F16"}

    def tensors(self, *names):
        """{name: (type, bytes)} of a file."""
        content = self.read(*names)
        size = int.from_bytes(content[:8], "little")
        header = {name: about for name, about in json.loads(content[8:8 + size]).items() if name != "__metadata__"}
        return {name: (about["dtype"], content[slice(*(8 + size + at for at in about["data_offsets"]))])
                for name, about in header.items()}

    def rounded(self, singles, kind):
        """The bytes of singles as those of elements of 16 bits, to the nearest, of two the even one."""
        numbers = struct.unpack(f"<{len(singles) // 4}f", singles)
        if kind == "f16":
            return struct.pack(f"<{len(numbers)}e", *numbers)
        words = struct.unpack(f"<{len(numbers)}I", singles)
        return struct.pack(f"<{len(words)}H", *((word + 0x7fff + (word >> 16 & 1)) >> 16 for word in words))

    def test_parameters_are_saved_as_they_are_stored_and_copies_apart(self):
        for kind, dtype in self.TYPES.items():
            of_kind = {"LINEAR_PARAMETERS": kind}
            self.train("--checkpoint", "kept", "--save", "model", steps=2, **of_kind)
            (name, (stored, content)), = self.tensors("model").items()
            self.assertEqual((name, stored, len(content)), ("table.weight", dtype, 2 * 65536))
            folder = self.path("kept", "step-000000002")
            files = [self.tensors(folder, file) for file in os.listdir(folder) if file.endswith(".safetensors")]
            of_all = {name: about for file in files for name, about in file.items()}
            self.assertEqual(of_all["table.weight"], (dtype, content))
            copy, singles = of_all["master/table.weight"]
            self.assertEqual(copy, "F32")
            self.assertEqual(self.rounded(singles, kind), content)
            shutil.rmtree(self.path("kept"))

    def test_any_number_of_devices_goes_on_with_parameters_of_16_bits(self):
        for kind in self.TYPES:
            of_kind = {"LINEAR_PARAMETERS": kind}
            whole = self.saved("--steps", STEPS, devices=2, **of_kind)
            self.train("--checkpoint", "kept", steps=3, devices=2, **of_kind)
            self.assertEqual(self.saved("--steps", STEPS, "--resume", "kept", devices=2, **of_kind), whole)
            for devices in (1, 3, 5):
                self.assertEqual(self.saved("--resume", "kept", data=None, devices=devices, **of_kind), whole)
            shutil.rmtree(self.path("kept"))

    def test_weights_are_rounded_to_parameters_that_have_a_copy(self):
        self.train("--save", "wide")
        (_, (_, singles)), = self.tensors("wide").items()
        for kind in self.TYPES:
            self.run_it("--from", "wide", "--save", "narrow", "--quiet", data=None, devices=3, LINEAR_PARAMETERS=kind)
            (_, (_, content)), = self.tensors("narrow").items()
            self.assertEqual(content, self.rounded(singles, kind))
            self.run_it("--from", "narrow", "--save", "again", "--quiet", data=None, LINEAR_PARAMETERS=kind)
            self.assertEqual(self.read("again"), self.read("narrow"))
            other, = set(self.TYPES) - {kind}
            self.run_it("--from", "narrow", "--save", "again", "--quiet", data=None, LINEAR_PARAMETERS=other)

    def test_a_checkpoint_of_other_types_is_refused(self):
        self.train("--checkpoint", "kept", steps=2)
        self.assertIn("table.weight is F32 [256, 256] there, and BF16 [256, 256] in this program: it is of another "
                      "precision; go on with that one",
                      self.refused("--steps", 3, "--resume", "kept", LINEAR_PARAMETERS="bf16"))

    def test_copies_write_and_read_too(self):
        whole = self.saved("--steps", STEPS, devices=2, LINEAR_COPIES="2")
        self.train("--checkpoint", "kept", steps=2, devices=2, LINEAR_COPIES="2")
        self.assertEqual(self.saved("--steps", STEPS, "--resume", "kept", devices=2, LINEAR_COPIES="2"), whole)

    def test_checkpoints_are_written_on_the_way_and_the_last_stay(self):
        self.train("--checkpoint", "kept", "--save-every", 1)
        self.assertEqual(self.kept(), [f"step-00000000{i}" for i in (4, 5, 6)])
        self.train("--checkpoint", "two", "--save-every", 2, "--keep", 1, "--log", "log", steps=5)
        lines = [json.loads(line) for line in self.read("log").splitlines()]
        told = [line["checkpoint"] for line in lines if "checkpoint" in line]
        self.assertEqual([(line["step"], line["bytes"]) for line in told], [(step, 262272) for step in (2, 4, 5)])
        self.assertEqual(self.kept("two"), ["step-000000005"])
        whole = self.saved("--steps", STEPS)
        for step in (4, 5, 6):
            self.assertEqual(self.saved("--steps", STEPS, "--resume", f"kept/step-00000000{step}", "--checkpoint",
                                        f"from{step}"), whole)

    def test_files_are_divided_and_indexed(self):
        self.train("--checkpoint", "kept", steps=2, PLACE_SHARD_BYTES="1000")
        self.assertEqual(sorted(os.listdir(self.path("kept", "step-000000002"))), ["manifest.json", "model.safetensors"])
        done = self.train("--checkpoint", "other", status=1, PLACE_SHARD_BYTES="1k")
        self.assertIn("PLACE_SHARD_BYTES is not a number of bytes above 0", done.stderr)

    def test_the_line_of_the_end_says_how_to_go_on(self):
        done = self.run_it("--steps", 3, "--checkpoint", "kept")
        self.assertIn("the states of step 3 are in kept; go on with --resume kept\n", done.stdout)
        done = self.run_it("--steps", 3, "--resume", "kept")
        self.assertIn("resumed: kept/step-000000003, behind step 3\n", done.stdout)
        self.assertEqual(self.kept(), ["step-000000003"])

    def test_that_no_step_is_left_is_said_also_when_quiet(self):
        self.train("--checkpoint", "kept", steps=3)
        for steps in (2, 3):
            for quiet in ((), ("--quiet",)):
                done = self.run_it("--steps", steps, "--resume", "kept", *quiet)
                self.assertEqual(done.stderr, f"warning: no step is left to train: --steps {steps} is the total, and "
                                 "kept/step-000000003 is behind step 3; for N more, give --steps 3 + N\n")
        self.assertEqual(self.run_it("--resume", "kept", "--save", "model", data=None).stderr, "")
        self.assertEqual(self.kept(), ["step-000000003"])

    def test_one_command_starts_a_run_and_goes_on_with_it(self):
        """As a batch job that is queued again: `--resume` and `--checkpoint` of one folder, however it is spelled."""
        whole = self.saved("--steps", STEPS, devices=2)
        for prefix in self.launchers():
            for resume, checkpoint in (("kept", "kept"), ("kept/", "./kept"), ("link", "kept")):
                if resume == "link":
                    os.mkdir(self.path("kept"))
                    os.symlink("kept", self.path("link"))
                both = ("--resume", resume, "--checkpoint", checkpoint, "--log", "log")
                done = self.run_it("--steps", 2, *both, devices=2, prefix=prefix)
                self.assertIn(f"\nresumed: nothing; {resume} has no checkpoint yet, so the run begins anew\n", done.stdout)
                done = self.run_it("--steps", STEPS, *both, "--save", "model", devices=2, prefix=prefix)
                self.assertRegex(done.stdout, "\nresumed: .*step-000000002, behind step 2\n")
                self.assertEqual(self.read("model"), whole)
                self.assertEqual(self.kept(), ["step-000000002", "step-000000006"])
                steps = [json.loads(line).get("step") for line in self.read("log").splitlines()]
                self.assertEqual(list(filter(None, steps)), [1, 2, 3, 4, 5, 6])
                shutil.rmtree(self.path("kept"))
                self.train(*both, steps=1, devices=2, prefix=prefix)
                self.assertEqual(len(self.read("log").splitlines()), 3)
                shutil.rmtree(self.path("kept"))
            os.unlink(self.path("link"))

    def launchers(self):
        launcher = (MPIRUN, "-n", "2", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none")
        return [(), launcher] if MPIRUN else [()]

    def start_slow(self, *options):
        """A run that writes a checkpoint behind every step; it has written two."""
        command, env = self.command("--steps", 1000, "--checkpoint", "kept", "--save-every", 1, *options, LINEAR_FAULT="slow")
        run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        self.wait_for("kept", "step-000000002")
        return run

    def wait_for(self, *names):
        while not os.path.exists(self.path(*names)):
            time.sleep(0.02)

    def wait_for_checkpoint(self):
        """Of a folder that may not be there."""
        while not os.path.exists(self.path("kept")) or not any(name.startswith("step-") for name in self.kept()):
            time.sleep(0.02)

    def end(self, run, status):
        run.send_signal(signal.SIGINT)
        errors = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, status, errors)
        return errors

    def test_a_folder_that_cannot_be_flushed(self):
        """Where none can be (EINVAL), all is done that can be; else what is there is the last, and no older one goes."""
        options = "--checkpoint", "kept", "--save-every", 1, "--keep", 1
        done = self.train(*options, steps=3, FAULT_FSYNC_FOLDER=str(errno.EINVAL))
        self.assertEqual((done.stderr, self.kept()), ("", ["step-000000003"]))
        shutil.rmtree(self.path("kept"))
        done = self.train(*options, steps=3, FAULT_FSYNC_FOLDER=str(errno.EIO), FAULT_FSYNC_NAME="kept")
        self.assertIn("warning: kept: the name of the checkpoint of step 3 may not be on the disk yet: Input/output error; "
                      "those before it stay\n", done.stderr)
        self.assertEqual(self.kept(), ["step-000000001", "step-000000002", "step-000000003"])

    def test_a_file_system_without_locks(self):
        for reason in errno.ENOLCK, errno.EOPNOTSUPP:
            self.train("--checkpoint", "kept", "--log", "log", steps=2, FAULT_FLOCK=str(reason))
            self.assertEqual(self.kept(), ["step-000000002"])
            shutil.rmtree(self.path("kept"))

    def test_a_folder_that_is_gone_is_made_again(self):
        for gone in (lambda: os.rename(self.path("kept"), self.path("gone")), lambda: shutil.rmtree(self.path("kept"), True),
                     lambda: os.unlink(self.path("kept", ".lock"))):
            run = self.start_slow()
            gone()
            self.wait_for_checkpoint()
            self.wait_for("kept", ".lock")
            self.assertIn("kept: another run writes its checkpoints there", self.refused("--steps", 3, "--checkpoint", "kept"))
            errors = self.end(run, 130)
            last = int(self.kept()[-1][5:])
            self.assertIn(f"the states of step {last} are in kept; go on with --resume kept\n", errors)
            self.assertEqual(self.saved("--resume", "kept", data=None), self.saved("--steps", last))
            shutil.rmtree(self.path("kept"))
            shutil.rmtree(self.path("gone"), ignore_errors=True)

    def take_away(self, run):
        """So that no other can be made in its place either, as the run says."""
        os.rename(self.path("kept"), self.path("gone"))
        while not os.path.islink(self.path("kept")):
            shutil.rmtree(self.path("kept"), ignore_errors=True)
            try:
                os.symlink("nowhere/kept", self.path("kept"))
            except FileExistsError:
                pass
        while "cannot be opened" not in run.stderr.readline():
            self.assertIsNone(run.poll())

    def test_a_folder_that_is_put_back_goes_on(self):
        """As it was, or as a copy of it."""
        for back in (lambda: os.rename(self.path("gone"), self.path("kept")),
                     lambda: shutil.copytree(self.path("gone"), self.path("kept"))):
            run = self.start_slow()
            self.take_away(run)
            last = sorted(name for name in os.listdir(self.path("gone")) if name.startswith("step-"))[-1]
            os.unlink(self.path("kept"))
            back()
            while self.kept()[-1] <= last:
                time.sleep(0.02)
            self.assertIn("are in kept; go on with --resume kept\n", self.end(run, 130))
            shutil.rmtree(self.path("kept"))
            shutil.rmtree(self.path("gone"), ignore_errors=True)

    def test_a_folder_of_another_run_in_its_place_stays_as_it_is(self):
        self.train("--checkpoint", "other", "--seed", 7, steps=2)
        run = self.start_slow()
        self.take_away(run)
        os.rename(self.path("other"), self.path("link"))
        os.unlink(self.path("kept"))
        os.symlink("link", self.path("kept"))
        while "the folder is another than before, and has checkpoints that are not this run's" not in run.stderr.readline():
            pass
        self.assertIn("error: rank 0, step", self.end(run, 1))
        self.assertEqual(self.kept(), ["step-000000002"])

    def test_what_is_gone_is_not_promised(self):
        run = self.start_slow()
        self.take_away(run)
        errors = self.end(run, 1)
        self.assertRegex(errors, r"\nnote: the checkpoint of step \d+ is no longer in kept; somebody has removed it\n$")
        self.assertNotIn("go on with", errors)

    def as_nobody(self, *options, status=1):
        """Of a process to which permissions apply."""
        shutil.copy(PROGRAM, self.path("program"))
        os.chmod(self.folder, 0o755)
        user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        _, env = self.command()
        done = subprocess.run([self.path("program"), *map(str, options), "--data", "text"], env=env, cwd=self.folder,
                              capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **user)
        self.assertEqual(done.returncode, status, done.stdout + done.stderr)
        return done.stderr

    def test_a_folder_that_may_not_be_written_is_noticed_before_the_first_step(self):
        os.mkdir(self.path("kept"))
        os.chmod(self.path("kept"), 0o777)
        self.as_nobody("--steps", 3, "--checkpoint", "kept", status=0)
        os.chmod(self.path("kept"), 0o555)
        self.assertEqual(self.as_nobody("--steps", 9, "--resume", "kept", "--quiet"),
                         "error: kept: cannot be written: Permission denied; name a folder for checkpoints that may be written\n")
        os.chmod(self.path("kept"), 0o777)

    def test_old_checkpoints_go_and_what_else_is_there_stays(self):
        self.train("--checkpoint", "kept", "--save-every", 1, "--keep", 9, PLACE_SHARD_BYTES="1000")
        self.write(b"mine", "kept", "step-000000002", "notes.txt")
        os.mkdir(self.path("kept", "step-000000003", "plots"))
        shutil.move(self.path("kept", "step-000000004"), self.path("elsewhere"))
        os.symlink("../elsewhere", self.path("kept", "step-000000004"))
        done = self.train("--resume", "kept", "--save-every", 1, "--keep", 2, steps=9)
        self.assertEqual(done.stderr, "warning: kept: not removed: step 4, for it is no folder; step 3, for it has plots, which "
                         "is of no checkpoint; step 2, for it has notes.txt, which is of no checkpoint\n")
        self.assertEqual(self.kept(), [f"step-00000000{i}" for i in (2, 3, 4, 8, 9)])
        self.assertEqual(sorted(os.listdir(self.path("kept", "step-000000002"))),
                         ["manifest.json", "model.safetensors", "notes.txt"])

    def test_an_old_checkpoint_that_may_not_be_removed_stays(self):
        os.mkdir(self.path("kept"))
        os.chmod(self.path("kept"), 0o777)
        self.as_nobody("--steps", 3, "--checkpoint", "kept", "--save-every", 1, status=0)
        os.chmod(self.path("kept", "step-000000001"), 0o555)
        errors = self.as_nobody("--steps", 6, "--resume", "kept", "--save-every", 1, "--quiet", status=0)
        self.assertEqual(errors, "warning: kept: not removed: step 1, for it may not be: Permission denied\n")
        self.assertEqual(self.kept(), [f"step-00000000{i}" for i in (1, 4, 5, 6)])

    def test_the_log_goes_on_too(self):
        self.train("--checkpoint", "kept", "--log", "log", steps=2)
        before = self.read("log")
        self.write(before + b'{"step": 3, "lo', "log")
        self.train("--resume", "kept", "--log", "log")
        self.assertTrue(self.read("log").startswith(before))
        lines = [json.loads(line) for line in self.read("log").splitlines()]
        self.assertEqual([line["step"] for line in lines if "step" in line], list(range(1, STEPS + 1)))
        self.assertEqual(["schema" in line for line in lines].count(True), 2)
        self.train("--log", "log", steps=1)
        self.assertEqual(len(self.read("log").splitlines()), 2)

    def test_the_seed_goes_on_too(self):
        whole = self.saved("--steps", STEPS, "--seed", 5)
        self.train("--checkpoint", "kept", "--seed", 5, steps=3)
        self.assertIn("it was made with --seed 5", self.refused("--steps", STEPS, "--resume", "kept", "--seed", 6))
        self.assertEqual(self.saved("--steps", STEPS, "--resume", "kept"), whole)

    def test_other_data_are_said(self):
        self.train("--checkpoint", "kept", steps=3)
        self.write(self.read("text") * 2, "more")
        done = self.run_it("--steps", 4, "--resume", "kept", data="more")
        self.assertIn("warning: more: these are not the data of the steps before; they are taken from sample 48 on\n",
                      done.stderr)
        shutil.copytree(self.path("kept", "step-000000003"), self.path("copy", "step-000000003"))
        self.forge("copy/step-000000003/", b'"sequence": 16', b'"sequence": 8')
        self.assertIn("sequences have 16 tokens, and had 8 in the steps before: an epoch has other windows",
                      self.run_it("--steps", 4, "--resume", "copy").stderr)
        shutil.copy(self.path("text"), self.path("same"))
        self.assertEqual(self.run_it("--steps", 5, "--resume", "kept/step-000000003", "--checkpoint", "on",
                                     data="same").stderr, "")

    # ---- ends

    def test_an_interrupt_leaves_a_checkpoint(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGXCPU, signal.SIGUSR2, signal.SIGALRM,
                       signal.SIGPWR):
            command, env = self.command("--steps", 1000, "--checkpoint", "kept", "--log", "log", devices=2,
                                        LINEAR_FAULT="slow")
            run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)
            while not os.path.exists(self.path("log")) or self.read("log").count(b"\n") < 3:
                time.sleep(0.02)
            for _ in range(3):  # as `timeout`, which signals its child and then the child's group
                run.send_signal(number)
                time.sleep(0.001)
            errors = run.communicate(timeout=60)[1]
            self.assertEqual(run.returncode, 130, errors)
            (name,) = self.kept()
            step = int(name[5:])
            self.assertIn(f"the states of step {step} are in kept; go on with --resume kept\n", errors)
            self.assertEqual(self.saved("--resume", "kept", data=None, devices=2),
                             self.saved("--steps", step, devices=2))
            shutil.rmtree(self.path("kept"))
            os.unlink(self.path("log"))

    def end_at_once(self, *options):
        """What a run says that does not come back from a step, and is told to end by all who may, and again."""
        command, env = self.command("--steps", 9, "--quiet", "--log", "log", *options, LINEAR_FAULT="hang")
        run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        while not os.path.exists(self.path("log")):
            time.sleep(0.02)
        for number in (signal.SIGUSR2, signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
            run.send_signal(number)
        time.sleep(0.6)
        run.send_signal(signal.SIGUSR2)
        time.sleep(0.1)
        self.assertIsNone(run.poll())
        while run.poll() is None:  # it may have taken the first one late
            run.send_signal(signal.SIGTERM)
            time.sleep(0.1)
        errors = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 130)
        os.unlink(self.path("log"))
        return errors

    def test_who_ends_a_run_at_once_is_told_what_is_lost(self):
        self.assertEqual(self.end_at_once(), "ended at once: no states were kept\n")
        self.assertEqual(self.end_at_once("--checkpoint", "kept"), "ended at once: what was trained is lost,\n"
                         "  for there is no checkpoint yet in kept\n")
        self.train("--checkpoint", "kept", steps=2)
        self.assertEqual(self.end_at_once("--resume", "kept"), "ended at once: what was trained after step 2 is lost;\n"
                         "  go on with --resume kept\n")
        self.assertEqual(self.end_at_once("--resume", "kept", "--checkpoint", "new"), "ended at once: what was trained after "
                         "kept/step-000000002 is lost;\n  go on with --resume kept/step-000000002 --checkpoint new\n")

    def test_who_interrupts_is_told_whether_states_are_kept(self):
        for options, told in (((), "the step is ended first, and no states are kept,\r\n"
                               "  for there is neither --checkpoint nor --save"),
                              (("--save", "model"), "the step is ended and files are written first"),
                              (("--checkpoint", "kept"), "the step is ended and files are written first")):
            command, env = self.command("--steps", 1000, "--log", "log", *options, LINEAR_FAULT="slow")
            master, slave = os.openpty()
            run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=slave)
            while not os.path.exists(self.path("log")) or self.read("log").count(b"\n") < 2:
                time.sleep(0.02)
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(timeout=60), 130)
            seen = os.read(master, 1000).decode()
            self.assertIn(f"\r\ninterrupted: {told};\r\n  once more ends it at once\r\n", seen)
            self.assertLessEqual(max(map(len, seen.splitlines())), 80)
            for descriptor in (master, slave):
                os.close(descriptor)
            os.unlink(self.path("log"))

    def test_data_that_break_off_leave_a_checkpoint(self):
        for devices in (1, 2, 4):
            shutil.copy(self.path("text"), self.path("cut"))
            command, env = self.command("--steps", 1000, "--checkpoint", "kept", "--log", "log", "--save", "model",
                                        data="cut", devices=devices, LINEAR_FAULT="slow")
            run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)
            while not os.path.exists(self.path("log")) or self.read("log").count(b"\n") < 3:
                time.sleep(0.02)
            os.truncate(self.path("cut"), 0)
            errors = run.communicate(timeout=60)[1]
            self.assertEqual(run.returncode, 1, errors)
            self.assertRegex(errors, r"^error: rank \d, step \d+: cut: token \d+ is gone: .*\n"
                             r"the states of step \d+ are in kept; go on with --resume kept\n$")
            (name,) = self.kept()
            failed = int(re.search(r"step (\d+):", errors)[1])
            self.assertEqual(int(name[5:]), failed - 1)
            whole = self.saved("--steps", failed - 1, devices=devices)
            self.assertEqual(self.read("model"), whole)
            self.assertEqual(self.saved("--resume", "kept", data=None, devices=devices), whole)
            shutil.rmtree(self.path("kept"))
            os.unlink(self.path("log"))
            os.unlink(self.path("model"))

    def test_a_log_that_nobody_takes_leaves_a_checkpoint(self):
        os.mkfifo(self.path("pipe"))
        command, env = self.command("--steps", 1000, "--checkpoint", "kept", "--log", "pipe", LINEAR_FAULT="slow")
        reader = os.open(self.path("pipe"), os.O_RDONLY | os.O_NONBLOCK)
        os.set_blocking(reader, True)
        run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                               text=True)
        time.sleep(0.2)
        os.read(reader, 100)
        os.close(reader)
        errors = run.communicate(timeout=60)[1]
        self.assertEqual(run.returncode, 1)
        self.assertIn("pipe: the log cannot be written", errors)
        (name,) = self.kept()
        self.assertIn(f"the states of step {int(name[5:])} are in kept", errors)

    def test_states_that_are_no_numbers_replace_nothing(self):
        done = self.train("--checkpoint", "kept", "--save-every", 1, "--keep", 1, status=1, LINEAR_FAULT="nan")
        self.assertEqual(done.stderr, "error: rank 0, step 3: the loss is not a number, so what this step made is not kept. "
                         "A lower learning rate, a longer warmup or train.clip may help\nthe states of step 2 are in kept, "
                         "but step 3 fails on them whatever the rate; lower it in the file, and begin anew with --checkpoint "
                         "kept-2\n")
        self.assertEqual(self.kept(), ["step-000000002"])
        done = self.train("--resume", "kept", "--checkpoint", "kept-2", status=1, LINEAR_FAULT="nan")
        self.assertTrue(done.stderr.endswith("note: there is no checkpoint yet in kept-2; --save-every N writes some on the "
                                             "way\n"), done.stderr)
        done = self.train("--checkpoint", "two", "--save-every", 1, status=1, LINEAR_FAULT="nan")
        self.assertIn("the states of step 2 are in two, but step 3 fails on them whatever the rate; lower it in the file, and "
                      "go on from before with --resume two/step-000000001 --checkpoint two-2\n", done.stderr)

    def test_parameters_that_are_no_numbers_are_kept_in_no_checkpoint(self):
        """The loss of the step that makes them is one yet."""
        for devices in (1, 2):
            done = self.train("--checkpoint", "kept", "--save-every", 1, "--keep", 2, status=1, devices=devices,
                              LINEAR_FAULT="burst")
            self.assertRegex(done.stderr, "warning: kept: the checkpoint of step 3 cannot be written: rank 0: parameters are "
                             "not finite numbers; training goes on, and the next is tried as planned\n"
                             "error: rank 0, step 4: the loss is not a number, .*\nthe states of step 2 are in kept, but lead "
                             "to the same again; lower the rate in the file, and go on with --resume kept, or go on from "
                             "before with --resume kept/step-000000001 --checkpoint kept-2\n$")
            self.assertEqual(self.kept(), ["step-000000001", "step-000000002"])
            for options in (("--resume", "kept"), ("--resume", "kept/step-000000001", "--checkpoint", "kept-2")):
                self.train(*options, devices=devices)
            shutil.rmtree(self.path("kept"))
            shutil.rmtree(self.path("kept-2"))
            self.write(b"\2" + b"\0" * 7 + b"{}", "model")
            done = self.train("--save", "model", steps=3, status=1, devices=devices, LINEAR_FAULT="burst")
            self.assertEqual(done.stderr, "error: rank 0: model: it is not written, for table.weight has become what is "
                             "not a finite number; what was there before is whole\nnote: no states were kept; with "
                             "--checkpoint DIR a run can go on, and --save-every N keeps some on the way\n")
            self.assertEqual(len(self.read("model")), 10)
        done = self.train("--checkpoint", "kept", steps=3, status=1, LINEAR_FAULT="burst")
        self.assertIn("error: rank 0, step 3: kept: the checkpoint of step 3 cannot be written: rank 0: parameters are not "
                      "finite numbers\n", done.stderr)

    def test_a_failure_inside_a_step_names_the_last_checkpoint(self):
        done = self.train("--checkpoint", "kept", "--save-every", 1, status=1, devices=2, LINEAR_FAULT="break")
        self.assertIn("broken", done.stderr)
        self.assertIn("are in kept; go on with --resume kept\n", done.stderr)
        done = self.train("--checkpoint", "none", status=1, devices=2, LINEAR_FAULT="break")
        self.assertIn("note: there is no checkpoint yet in none; --save-every N writes some on the way", done.stderr)
        done = self.train("--checkpoint", "none", "--save-every", 5, status=1, devices=2, LINEAR_FAULT="break")
        self.assertTrue(done.stderr.endswith("note: there is no checkpoint yet in none\n"), done.stderr)
        done = self.train(status=1, devices=2, LINEAR_FAULT="break")
        self.assertIn("note: no states were kept; with --checkpoint DIR a run can go on", done.stderr)

    def test_a_full_disk_leaves_nothing_behind_and_training_goes_on(self):
        done = self.train("--checkpoint", "kept", "--save-every", 2, status=1, limit=100000)
        self.assertEqual(done.stderr.count("warning: kept: the checkpoint of step "), 2)
        self.assertIn("error: rank 0, step 6: kept: the checkpoint of step 6 cannot be written: model.safetensors: File too "
                      "large", done.stderr)
        self.assertEqual(self.kept(), [])
        self.train("--checkpoint", "kept", steps=3)
        self.train("--resume", "kept", "--save-every", 1, status=1, limit=100000)
        self.assertEqual(self.kept(), ["step-000000003"])

    def test_the_first_step_behind_a_checkpoint_is_not_measured(self):
        self.train("--checkpoint", "kept", steps=2)
        for steps, measured in ((3, "1 step"), (6, "2 steps")):
            done = self.run_it("--steps", steps, "--resume", "kept", "--profile")
            self.assertIn(f"where a step's time goes, ms, mean of {measured}\n", done.stdout)

    def test_a_profile_of_no_step_says_so(self):
        self.train("--checkpoint", "kept", steps=2)
        done = self.run_it("--steps", 2, "--resume", "kept", "--profile")
        self.assertTrue(done.stdout.endswith("\nwhere a step's time goes: no step was made\n"), done.stdout)

    # ---- evaluation on the way

    def test_evaluations_change_nothing_and_are_told(self):
        for devices in (1, 2):
            whole = self.saved("--steps", STEPS, devices=devices)
            done = self.run_it("--steps", STEPS, "--eval", "text", "--eval-every", 2, "--save", "model", "--log", "log",
                               "--quiet", devices=devices)
            self.assertEqual(self.read("model"), whole)
            told = re.findall(r"^eval: (?:step (\d) )? ?loss ([\d.]+) over \d+ tokens of text$|.+", done.stdout, re.M)
            self.assertEqual([step for step, _ in told], ["2", "4", ""], done.stdout)
            lines = [json.loads(line) for line in self.read("log").splitlines()][1:]
            found = [line["eval"] for line in lines if "eval" in line]
            self.assertEqual([(line["step"], f"{line['loss']:.6f}") for line in found],
                             [(int(step), loss) for step, loss in told[:2]])
            self.assertEqual([line["step"] for line in lines if "eval" not in line], list(range(1, STEPS + 1)))
            for step, loss in ((2, told[0][1]), (4, told[1][1])):
                self.assertIn(f"eval: loss {loss} over", self.run_it("--steps", step, "--eval", "text", devices=devices).stdout)

    def test_held_out_data_that_break_off_leave_a_checkpoint(self):
        for devices in (1, 2):
            shutil.copy(self.path("text"), self.path("cut"))
            command, env = self.command("--steps", 1000, "--checkpoint", "kept", "--log", "log", "--eval", "cut",
                                        "--eval-every", "2", devices=devices, LINEAR_FAULT="slow")
            run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   text=True)
            while not os.path.exists(self.path("log")) or self.read("log").count(b"\n") < 3:
                time.sleep(0.02)
            os.truncate(self.path("cut"), 0)
            errors = run.communicate(timeout=60)[1]
            self.assertEqual(run.returncode, 1, errors)
            self.assertRegex(errors, r"^error: rank \d, step \d+: cut: token \d+ is gone: .*\n"
                             r"the states of step \d+ are in kept; go on with --resume kept\n$")
            (name,) = self.kept()
            self.assertEqual(self.saved("--resume", "kept", data=None, devices=devices),
                             self.saved("--steps", int(name[5:]), devices=devices))
            shutil.rmtree(self.path("kept"))
            os.unlink(self.path("log"))

    # ---- folders

    def test_a_folder_is_of_one_run(self):
        self.train("--checkpoint", "kept", steps=3)
        self.assertIn("kept: there are checkpoints of another run in it; go on from them with --resume kept, or name "
                      "another folder", self.refused("--steps", 4, "--checkpoint", "kept"))
        self.train("--resume", "kept", "--save-every", 1)
        self.assertIn("it has a later checkpoint, of step 6, than the one to go on from",
                      self.refused("--steps", 7, "--resume", "kept/step-000000005"))
        self.assertIn("cannot be made", self.refused("--steps", 7, "--checkpoint", "no/such/folder"))
        self.assertIn("cannot be opened", self.refused("--steps", 7, "--checkpoint", "text"))

    def test_a_folder_of_another_run_stays_as_it_is(self):
        self.train("--checkpoint", "other", "--save-every", 1, steps=3)
        self.train("--checkpoint", "kept", steps=4)
        self.assertIn("other: there are checkpoints of another run in it",
                      self.refused("--steps", 5, "--resume", "kept", "--checkpoint", "other"))
        self.assertEqual(self.kept("other"), [f"step-00000000{i}" for i in (1, 2, 3)])
        os.symlink("kept", self.path("link"))
        self.train("--resume", "kept", "--checkpoint", "link", steps=5)
        self.assertEqual(self.kept(), ["step-000000004", "step-000000005"])

    def test_no_output_damages_a_checkpoint(self):
        self.train("--checkpoint", "kept", steps=3)
        os.rename(self.path("kept", "step-000000003"), self.path("kept", "best"))
        os.symlink("kept/best", self.path("link"))
        os.symlink("kept/best/states.safetensors", self.path("states"))
        for option in ("--save", "--dump", "--memory", "--trace", "--log"):
            for path in ("kept/best/model.safetensors", "kept/best/new", "link/new", "states"):
                self.assertIn(f"{path}: its folder is a checkpoint, which {option} would damage; name a file elsewhere",
                              self.refused("--steps", 4, option, path))
            self.assertIn(f"./further: --checkpoint and {option} name the same file",
                          self.refused("--steps", 4, "--checkpoint", "further", option, "./further"))
        for option in ("--checkpoint", "--resume"):
            self.assertIn("kept/best: it is a checkpoint itself", self.refused("--steps", 4, option, "kept/best"))
        self.train("--resume", "kept/best", "--save", "kept/model", "--log", "kept/log", "--checkpoint", "further")
        self.assertIn("--checkpoint names no file", self.refused("--steps", 4, "--checkpoint", ""))
        self.assertIn("--resume names no file", self.refused("--steps", 4, "--resume", ""))

    def test_two_runs_do_not_share_a_folder(self):
        command, env = self.command("--steps", 1000, "--checkpoint", "kept", LINEAR_FAULT="slow")
        run = subprocess.Popen(command, env=env, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while not os.path.exists(self.path("kept", ".lock")):
            time.sleep(0.02)
        time.sleep(0.1)
        self.assertIn("kept: another run writes its checkpoints there", self.refused("--steps", 3, "--checkpoint", "kept"))
        run.send_signal(signal.SIGINT)
        run.wait(timeout=60)

    def test_what_dead_runs_left_is_removed(self):
        self.train("--checkpoint", "kept", steps=2)
        for name in (".step-000000004.part", ".step-000000001.removed"):
            os.mkdir(self.path("kept", name))
            self.write(b"half", "kept", name, "model.safetensors")
        self.write(b"mine", "kept", "notes.txt")
        self.train("--resume", "kept", steps=4)
        self.assertEqual(self.kept(), ["notes.txt", "step-000000002", "step-000000004"])

    def test_a_planted_link_is_not_followed(self):
        self.write(b"precious", "victim")
        os.mkdir(self.path("kept"))
        os.symlink(self.path("victim"), self.path("kept", ".lock"))
        self.assertIn("kept: cannot be written", self.refused("--steps", 2, "--checkpoint", "kept"))
        self.assertEqual(self.read("victim"), b"precious")

    # ---- what is refused

    def resume_refused(self, *options, **more):
        return self.refused("--steps", STEPS, "--resume", "kept", *options, **more)

    def test_damage_is_named(self):
        self.train("--checkpoint", "kept", steps=2)
        self.train("--checkpoint", "other", steps=3)
        good = self.path("good")
        shutil.copytree(self.path("kept"), good)
        name = "step-000000002/model.safetensors"
        manifest = "step-000000002/manifest.json"
        model, text = self.read("kept", name), self.read("kept", manifest)

        def content(offset, byte):
            return model[:offset] + bytes([byte ^ model[offset]]) + model[offset + 1:]
        files = f"kept/{name}: "
        cases = [
            (name, content(5000, 1), files + "the content of table.weight is not what was written"),
            (name, content(len(model) - 1, 128), files + "the content of table.weight is not what was written"),
            (name, self.read("other", "step-000000003/model.safetensors"), files + "the content of table.weight"),
            (name, content(3, 1), files + "its header is not the one that was written"),
            (name, content(40, 1), files + "its header is not the one that was written"),
            (name, model[:-1], files + f"it has {len(model) - 1} bytes, and had {len(model)} when it was written"),
            (name, model + b"x", files + f"it has {len(model) + 1} bytes"),
            (name, None, files + "cannot be read: No such file or directory; kept has no other"),
            (manifest, None, "kept/step-000000002: its manifest.json cannot be read: No such file"),
            (manifest, text[:-1], "its sum is not that of its text"),
            (manifest, text[:50], "its sum is not that of its text"),
            (manifest, b"", "line 1: an object should begin"),
            (manifest, text.replace(b'"step": 2', b'"step": 3'), "its sum is not that of its text: it is damaged or was edited"),
            (manifest, text.replace(b'"version": 1', b'"version": 2'), "it was written by a newer version of Place"),
            (manifest, b"[" * 100000, "line 1: an object should begin"),
        ]
        for file, data, expected in cases:
            shutil.rmtree(self.path("kept"))
            shutil.copytree(good, self.path("kept"))
            os.unlink(self.path("kept", file))
            if data is not None:
                self.write(data, "kept", file)
            for devices in (1, 2):
                errors = self.resume_refused(devices=devices)
                self.assertIn(expected, errors)
                self.assertEqual(errors.endswith("; kept has no other that is whole: leave out --resume to begin anew, with "
                                                 "--checkpoint kept-2\n"), "newer" not in expected, errors)
        shutil.rmtree(self.path("kept"))
        shutil.copytree(good, self.path("kept"))
        os.truncate(self.path("kept", manifest), 10 << 30)
        self.assertIn(f"kept/{manifest}: it has 10737418240 bytes, more than any has; kept has no other", self.resume_refused())
        shutil.copytree(self.path("good", "step-000000002"), self.path("kept", "step-000000009"))
        shutil.copy(self.path("good", manifest), self.path("kept", manifest))
        self.assertIn("error: kept/step-000000009: its manifest.json is of step 2: the folder was renamed, or has files of "
                      "another checkpoint; go on from the last that is whole, with --resume kept/step-000000002 --checkpoint "
                      "kept-2\n", self.resume_refused())
        self.assertIn(f"--resume kept/./step-000000002 --checkpoint {os.path.realpath(self.path('kept'))}-2\n",
                      self.refused("--steps", STEPS, "--resume", "kept/."))
        for file in (manifest, name):
            shutil.rmtree(self.path("kept"))
            shutil.copytree(good, self.path("kept"))
            os.unlink(self.path("kept", file))
            os.mkfifo(self.path("kept", file))
            self.assertIn("cannot be read: it is not a regular file; ", self.resume_refused())

    def test_of_a_damaged_one_the_last_that_is_whole_is_named(self):
        """As options that go on from it at once, however many are damaged, and in which way."""
        whole = self.saved("--steps", STEPS, devices=2)
        self.train("--checkpoint", "kept", "--save-every", 1, "--keep", 9, steps=4, devices=2)
        steps = [f"kept/step-00000000{i}" for i in range(1, 5)]
        model = self.read(steps[3], "model.safetensors")
        for damaged, data in ((3, model[:-1]), (2, model), (1, None)):
            if data is None:
                os.unlink(self.path(steps[damaged], "manifest.json"))
            else:
                self.write(data, steps[damaged], "model.safetensors")
            for prefix in self.launchers():
                for resume in ("kept", "./kept/", steps[3]):
                    errors = self.refused("--steps", STEPS, "--resume", resume, devices=2, prefix=prefix, alone=False)
                    more = re.search(r"; go on from the last that is whole, with (--resume (\S+) --checkpoint (\S+))\n", errors)
                    self.assertEqual(os.path.normpath(more[2]), steps[damaged - 1])
                    self.assertEqual(os.path.normpath(more[3]), "kept-2")
                    self.assertEqual(self.saved("--steps", STEPS, *more[1].split(), devices=2), whole)
                    shutil.rmtree(self.path("kept-2"))
        self.assertIn(f"; go on from the last that is whole, with --resume {steps[0]}\n",
                      self.refused("--resume", "kept", "--save", "saved", data=None, devices=2))
        self.assertIn(f"; go on from the last that is whole, with --resume {steps[0]}\n",
                      self.refused("--steps", STEPS, "--resume", "kept", "--checkpoint", "other", devices=2))
        os.mkdir(self.path("kept-2"))
        self.assertIn(f" --resume {steps[0]} --checkpoint kept-3\n",
                      self.refused("--steps", STEPS, "--resume", "kept", devices=2))
        shutil.move(self.path(steps[3]), self.path("kept", "best"))
        self.assertIn("; go on from another checkpoint\n", self.refused("--steps", STEPS, "--resume", "kept/best", devices=2))
        shutil.rmtree(self.path(steps[0]))
        self.assertIn("; kept has no other that is whole: leave out --resume to begin anew, with --checkpoint kept-3\n",
                      self.refused("--steps", STEPS, "--resume", "kept", devices=2))

    def test_what_is_no_checkpoint_is_refused(self):
        os.mkdir(self.path("empty"))
        for folder, why in (("empty", "there is no whole checkpoint in it"), ("missing", "there is no such folder")):
            self.assertIn(f"{folder}: {why}; with --resume {folder} --checkpoint {folder} a run begins anew where there is "
                          "none", self.refused("--steps", 3, "--resume", folder))
            self.assertIn(f"{folder}: {why}; name a checkpoint, or a folder of them, that a run with --checkpoint DIR has",
                          self.refused("--resume", folder, "--save", "model", data=None))
            self.assertIn(f"{folder}: {why}; with --resume",
                          self.refused("--steps", 3, "--resume", folder, "--checkpoint", "other"))
            self.train("--resume", folder, "--checkpoint", folder, steps=3)
            self.assertEqual(self.kept(folder), ["step-000000003"])
        self.assertIn("text: cannot be read: Not a directory", self.refused("--steps", 3, "--resume", "text"))

    def test_another_model_is_refused(self):
        self.train("--checkpoint", "kept", steps=2)
        folder = "kept/step-000000002/"
        for old, new, expected in [(b"table.weight", b"other.weight", "it has no table.weight, which this program needs"),
                                   (b"[256, 256]", b"[128, 512]", "table.weight is F32 [128, 512] there, and F32 [256, 256] "
                                    "in this program: it is of another model"),
                                   (b"F32", b"F64", "table.weight is F64 [256, 256] there, and F32 [256, 256] in this program: "
                                    "it is of another precision; go on with that one"),
                                   (b'"samples": 32', b'"samples": 9223372036854775807', "a number is too large")]:
            shutil.copytree(self.path("kept"), self.path("copy"))
            self.forge("copy/step-000000002/", old, new)
            self.assertIn(expected, self.refused("--steps", 3, "--resume", "copy"))
            shutil.rmtree(self.path("copy"))
        self.assertTrue(os.path.exists(self.path(folder)))

    def test_another_function_of_equal_shapes_is_refused(self):
        there = "family linear; heads 4; rope_theta 10000; tied true"
        self.train("--checkpoint", "kept", steps=2, LINEAR_MODEL=there)
        for old, new, expected in (("heads 4", "heads 2", "heads 4, here 2"),
                                   ("linear", "linear more", "family linear, here linear more"),
                                   ("; tied true", "", "tied true, here none"),
                                   ("; tied", "; rope_factor 8; tied", "rope_factor none, here 8")):
            self.assertEqual(self.refused("--steps", 3, "--resume", "kept", LINEAR_MODEL=there.replace(old, new)),
                             f"error: kept/step-000000002: it is of another model: {expected}; go on with a file that has "
                             "the same\n")
        self.assertEqual(self.train("--resume", "kept", steps=3, LINEAR_MODEL=there).stderr, "")
        self.assertEqual(self.train("--resume", "kept", steps=4).stderr, "")  # a program that does not say
        self.assertEqual(self.train("--resume", "kept", steps=5, LINEAR_MODEL=there).stderr, "")  # one of older ones

    def test_another_way_to_train_is_said(self):
        there = "dropout 0; optimizer sgd(lr = 1, momentum = 0)"
        self.train("--checkpoint", "kept", steps=2, LINEAR_TRAINING=there)
        done = self.train("--resume", "kept", steps=3, LINEAR_TRAINING="dropout 0.5; optimizer sgd(lr = 2, momentum = 0)")
        self.assertEqual(done.stderr, "warning: dropout is 0.5 from here on; in the steps before it was 0\n"
                         "warning: optimizer is sgd(lr = 2, momentum = 0) from here on; in the steps before it was "
                         "sgd(lr = 1, momentum = 0)\n")
        self.assertEqual(self.run_it("--resume", "kept", "--save", "model", data=None, LINEAR_TRAINING=there).stderr, "")

    def forge(self, folder, old, new):
        """Another text, which is whole."""
        text = self.read(folder + "manifest.json").replace(old, new)
        if old == b"F32":
            text = text.replace(b'"bytes": 262272', b'"bytes": 524416')
        body = text[:text.rindex(b',\n"sum"')]
        self.write(body + b',\n"sum": "%016x"}\n' % content_hash(body), folder + "manifest.json")

    def test_usage(self):
        for options, named in ((("--save-every", 2), "--save-every is"), (("--keep", 2), "--keep is"),
                               (("--keep", 2, "--save-every", 2), "--save-every and --keep are")):
            self.assertEqual(f"error: {named} about checkpoints: say where with --checkpoint DIR\n",
                             self.refused("--steps", 3, *options))
        for options, named in ((("--profile",), "--profile is of steps; give --steps N and --data FILE, or leave it out"),
                               (("--profile", "--trace", "t"), "--profile and --trace are of steps; give --steps N and "
                                "--data FILE, or leave them out"),
                               (("--memory", "m", "--profile", "--trace", "t"), "--memory, --profile and --trace are of")):
            self.assertIn(f"error: {named}", self.refused("--save", "s", *options, data=None))
        self.assertIn("--eval-every needs held-out data: give --eval FILE, or leave it out",
                      self.refused("--steps", 3, "--eval-every", 2))


if __name__ == "__main__":
    unittest.main()

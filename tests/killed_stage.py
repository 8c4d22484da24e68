#!/usr/bin/env python3
"""What is said of a pipeline of which a process stops, and then is killed: in which task of which stage and microbatch
the other one was, where it is asked, and where the launcher ends it.

usage: killed_stage.py FILE DATA COMMAND...: COMMAND launches two processes; of each, as many ranks as FILE has stages.
"""
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # seconds
IN_TASK = r"in [FBIW] of stage 0, microbatch \d+"
ATTEMPTS = 50  # to stop one while the other is about to wait for its message


def children(process):
    """Process ids of all that it has started, and these."""
    with open(f"/proc/{process}/task/{process}/children", encoding="utf-8") as file:
        started = [int(word) for word in file.read().split()]
    return started + [below for one in started for below in children(one)]


def rank_of(process):
    with open(f"/proc/{process}/environ", "rb") as file:
        words = dict(word.split(b"=", 1) for word in file.read().split(b"\0") if b"=" in word)
    return int(words.get(b"OMPI_COMM_WORLD_RANK", -1))


def said_by(process, errors):
    """What a process says when it is asked where it is."""
    before = os.path.getsize(errors)
    os.kill(process, signal.SIGUSR1)
    for _ in range(10 * PATIENCE):
        with open(errors, encoding="utf-8") as file:
            file.seek(before)
            said = file.read()
        if re.search(r"(?m)^rank 0.* calls?$(\n  .*)+\n", said):
            return said
        time.sleep(0.1)
    raise AssertionError(f"no flight recorder within {PATIENCE} s")


def stop_while_waited_for(waits, stops, errors):
    """Stops a process, so that the other waits for a message. What that says then."""
    for _ in range(ATTEMPTS):
        os.kill(stops, signal.SIGSTOP)
        time.sleep(0.3)
        said = said_by(waits, errors)
        if re.search(r"inside  message_wait .*\n\Z", said):
            return said
        os.kill(stops, signal.SIGCONT)  # it is waited for behind the tasks
        time.sleep(0.05)
    raise AssertionError(f"in {ATTEMPTS} attempts no message was waited for:\n{said}")


def main():
    path, data, *command = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        errors, output = os.path.join(folder, "errors"), os.path.join(folder, "output")
        with open(errors, "w", encoding="utf-8") as err, open(output, "w", encoding="utf-8") as out:
            job = subprocess.Popen([*command, "run", path, "--data", data, "--steps", "1000000", "--threads", "1"],
                                   stdin=subprocess.DEVNULL, stdout=out, stderr=err)
        for _ in range(10 * PATIENCE):
            with open(output, encoding="utf-8") as file:
                if "step 1/" in file.read():
                    break
            assert job.poll() is None, open(errors, encoding="utf-8").read()
            time.sleep(0.1)
        ranks = {rank_of(process): process for process in children(job.pid)}
        said = stop_while_waited_for(ranks[0], ranks[1], errors)
        assert re.search(rf"(?m)^rank 0, step \d+, {IN_TASK}, \d+ calls$", said), said
        assert re.search(r"begin_task .*: [FBIW] of stage 0, microbatch \d+\n", said), said
        os.kill(ranks[1], signal.SIGKILL)
        status = job.wait(PATIENCE)
        with open(errors, encoding="utf-8") as file:
            text = file.read()
    told = rf"(?m)^rank 0, step \d+: told to end inside message_wait at .*, {IN_TASK}$"
    assert status != 0 and re.search(told, text), text


main()

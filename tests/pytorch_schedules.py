#!/usr/bin/env python3
"""PyTorch's own loader reads the schedules that placec writes, with messages and without: what it has read it writes
again as it was, the messages that it makes of the tasks are those that placec writes, and its simulation of these comes
to the end. What it must refuse, a task or a send's wait left out, it does.

usage: pytorch_schedules.py PLACEC ROOT     exit status 77: there is no PyTorch, or one that cannot read them"""
import collections
import csv
import os
import re
import subprocess
import sys
import tempfile

SKIPPED = 77
RANKS, MICROBATCHES, LAYERS = (2, 4), 8, 16
FORMATS = {"compute_only": [], "compute_comms": ["--comms"]}
TEXT = """import "lib/strategies.place"
model tiny : llama {{ layers = {layers}  hidden = 16  heads = 2  head_dim = 8  kv_heads = 1  ffn = 24  vocab = 256 }}
device core {{ memory = 4 GiB }}
mesh ranks of core {{ pp = {ranks} }}
train {{ batch = {batch}  sequence = 8  microbatch = 1  optimizer = adamw(lr = 1e-3) }}
strategy main {{ split layers over pp schedule {method} }}
"""


# ---- in the Python that has PyTorch ------------------------------------------------------------------------------

def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)


def tasks_of(row):
    return [cell for cell in row if re.fullmatch(r"\d+[FBIW]\d+|\(.*\)OVERLAP_F_B", cell)]


def messages_of(row):
    return collections.Counter(cell for cell in row if re.search("SEND|RECV", cell))


def load(path, words, ranks, stages):
    """PyTorch's schedule of the file, as the first rank has it."""
    from types import SimpleNamespace

    from torch.distributed.pipelining import schedules
    stage = SimpleNamespace(num_stages=stages, group_size=ranks, group_rank=0, submod=None, is_last=False)
    runtime = schedules._PipelineScheduleRuntime([stage], MICROBATCHES)
    runtime._load_csv(path, format=words)
    return runtime


def simulate(runtime, stages):
    """To the end, or it says who waits; of two tasks that are overlapped one is behind the other."""
    from torch.distributed.pipelining import schedules
    order = {rank: [part for action in actions for part in action.sub_actions or (action,)]
             for rank, actions in runtime.pipeline_order_with_comms.items()}
    schedules._simulate_comms_compute(order, lambda stage: runtime.stage_index_to_group_rank[stage], stages)


def assert_refused(path, words, ranks, stages, rows, cell):
    """Without the last cell like that."""
    row, at = next((row, at) for row in rows for at in reversed(range(len(row))) if re.search(cell, row[at]))
    del row[at]
    write(path, rows)
    try:
        load(path, words, ranks, stages)
    except (AssertionError, ValueError):
        return
    raise AssertionError(f"read, though a cell like {cell} is missing")


def check(folder, name):
    paths = {words: os.path.join(folder, f"{name}.{words}") for words in FORMATS}
    rows = {words: read(path) for words, path in paths.items()}
    tasks = rows["compute_only"]
    stages = 1 + max(int(stage) for row in tasks for cell in row for stage in re.findall(r"(\d+)F", cell))
    ranks = len(tasks)
    again = os.path.join(folder, "again")
    runtimes = {words: load(path, words, ranks, stages) for words, path in paths.items()}
    for words, runtime in runtimes.items():
        runtime._dump_csv(again, format=words)
        assert read(again) == rows[words], f"{words} comes back as another file"
    with_messages = runtimes["compute_comms"]
    lowered = [[str(action) for action in actions]
               for actions in runtimes["compute_only"].pipeline_order_with_comms.values()]
    for rank, (mine, theirs) in enumerate(zip(rows["compute_comms"], lowered)):
        assert tasks_of(mine) == tasks_of(theirs), f"rank {rank} has other tasks"
        assert messages_of(mine) == messages_of(theirs), f"rank {rank} has other messages"
    assert runtimes["compute_only"].stage_index_to_group_rank == with_messages.stage_index_to_group_rank
    simulate(with_messages, stages)
    assert_refused(again, "compute_only", ranks, stages, rows["compute_only"], "[FBIW]")
    assert_refused(again, "compute_comms", ranks, stages, rows["compute_comms"], "WAIT_SEND")


def check_all(folder):
    try:
        from torch.distributed.pipelining import schedules
    except ImportError:
        sys.exit(SKIPPED)
    if not hasattr(schedules, "WAIT_SEND_F"): # of today's dialect
        sys.exit(SKIPPED)
    wrong = []
    for name in sorted({os.path.splitext(file)[0] for file in os.listdir(folder)}):
        try:
            check(folder, name)
        except (AssertionError, RuntimeError, ValueError) as error:
            wrong.append(f"{name}: {error}")
    sys.exit("\n".join(wrong) or None)


# ---- in any --------------------------------------------------------------------------------------------------------

def methods(root):
    """As they are written: those that have no number of chunks of their own get one."""
    with open(os.path.join(root, "ir", "methods.def"), encoding="utf-8") as file:
        rows = re.findall(r'^METHOD\(\w+, "(\w+)", \w+, (\d+)', file.read(), re.MULTILINE)
    return {name: name if int(chunks) else f"{name}(chunks = 2)" for name, chunks in rows}


def emit(placec, folder, method, written, ranks):
    text = TEXT.format(layers=LAYERS, ranks=ranks, batch=MICROBATCHES, method=written)
    for words, options in FORMATS.items():
        done = subprocess.run([placec, "emit", "--as=pipeline", *options, "-"], input=text.encode(),
                              capture_output=True, check=True)
        with open(os.path.join(folder, f"{method}_{ranks}.{words}"), "wb") as file:
            file.write(done.stdout)


def main(placec, root):
    sys.path.insert(0, os.path.join(root, "bench"))
    import peer_python
    python = peer_python.find()
    if not python:
        print("skipped: no Python here has PyTorch; PYTHON_TORCH names one, and ./dev bench training installs it")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory() as folder:
        of_all = methods(root)
        assert len(of_all) == 12, of_all
        for method, written in of_all.items():
            for ranks in RANKS:
                emit(placec, folder, method, written, ranks)
        status = subprocess.run([python, os.path.abspath(__file__), folder], check=False).returncode
    if status == SKIPPED:
        print(f"skipped: the PyTorch of {python} has no loader for today's files")
    sys.exit(status)


if len(sys.argv) == 2:
    check_all(sys.argv[1])
main(*sys.argv[1:])

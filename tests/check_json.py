#!/usr/bin/env python3
"""Holds `check --json` and `equal --json` to their contract (docs/json.md), key by key: accepted, refused by a rule, for
want of memory and by the verifier, unparsable, unreadable, not built, and a library; equal, different, unproved, and
not understood; and command lines that are wrong.

    check_json.py PLACEC ROOT

Always one object on stdout and nothing on stderr; a key that the contract lacks is a failure too,
but for memory's `held`, `live` and `alone` and a transfer's `every`, which go beyond it."""
import json
import os
import subprocess
import sys


class Maybe:  # or null
    def __init__(self, kind):
        self.kind = kind


class Map:  # any keys, values of one kind
    def __init__(self, kind):
        self.kind = kind


PLACE = {"file": Maybe(str), "line": Maybe(int), "column": Maybe(int), "end_line": Maybe(int),
         "end_column": Maybe(int)}
STATES = ["parameters", "optimizer", "gradients", "activations"]
BYTES = dict.fromkeys(["peak", *STATES, "transient", "host", "disk"], int) | {
    "limit": Maybe(int), "at": {"stage": int, "statement": int, "line": Maybe(int)},
    "held": dict.fromkeys(STATES, int),
    "alone": dict.fromkeys(["train", "evaluate", "average"], Maybe(int)),
    "live": dict.fromkeys(["peak", *STATES, "transient", "host", "disk", "statement"], int) |
            {"line": Maybe(int)}}
DIAGNOSTICS = [{"severity": str, "code": Maybe(str), "message": str, **PLACE, "origin": Maybe(str),
                "notes": [{"message": Maybe(str), **PLACE}],
                "help": Maybe(str), "fix": Maybe({"message": str, "edits": [{**PLACE, "text": str}]})}]
REPORT = {
    "schema": int, "file": str, "strategy": Maybe(str), "verdict": str, "reason": Maybe(str),
    "devices": Maybe(int), "mesh": Maybe([{"axis": str, "size": int, "factors": Maybe([str])}]),
    "microbatches": Maybe(int), "parameters": Maybe(int), "relaxed": [{"condition": str, "axes": [str], "line": int}],
    "diagnostics": DIAGNOSTICS,
    "modes": Maybe(Map([str])),
    "placement": Maybe([{"state": str, "role": str, "layers": Maybe(str),
                         "axes": Map({"work": str, "storage": str, "by": Maybe(str)}),
                         "residency": str, "dtype": str, "bytes": int}]),
    "memory": Maybe({**BYTES, "stages": [BYTES]}),
    "communication": Maybe([{"axis": str, "op": str, "state": Maybe(str), "role": Maybe(str),
                             "phase": str, "dtype": str, "group": int, "stage": int, "count": int,
                             "bytes": int, "every": int, "line": Maybe(int)}]),
    "communication_total": Maybe(int),
    "copied": Maybe({"host": int, "disk": int}),
    "copied_to_average": Maybe({"host": int, "disk": int}),
    "time": Maybe({"compute": Maybe(int), "axes": Map(Maybe(int)), "memory": Maybe(int),
                   "host_link": Maybe(int), "idle": Maybe(int), "best": Maybe(int), "worst": Maybe(int)}),
    "pipeline": Maybe({"schedule": str, "bubble": [int], "span_bubble": [int], "in_flight": [int],
                       "until_inputs": [int], "sends": [int], "stages": [{"rank": int, "begin": int, "end": int}]}),
}

EQUAL_REPORT = {
    "schema": int, "one": str, "many": str, "verdict": Maybe(str), "mesh": Maybe([{"axis": str, "size": int}]),
    "results": Maybe([{"name": str, "proved": bool, "evaluated": bool}]), "by_order": Maybe(bool), "by_shape": Maybe(bool), "assuming": Maybe([str]),
    "instructions": Maybe({"one": int, "many": int}), "diagnostics": DIAGNOSTICS,
}


def deviations(value, kind, path):
    """Where a value is not of its kind, as words."""
    if isinstance(kind, Maybe):
        if value is not None:
            yield from deviations(value, kind.kind, path)
    elif isinstance(kind, type):
        if type(value) is not kind:  # a bool is no int here
            yield f"{path} is {value!r}, not of type {kind.__name__}"
    elif isinstance(value, list) != isinstance(kind, list):
        yield f"{path} is {value!r}"
    elif isinstance(kind, list):
        for i, item in enumerate(value):
            yield from deviations(item, kind[0], f"{path}[{i}]")
    elif not isinstance(value, dict):
        yield f"{path} is {value!r}"
    elif isinstance(kind, Map):
        for key, item in value.items():
            yield from deviations(item, kind.kind, f"{path}.{key}")
    else:
        if set(value) != set(kind):
            yield f"{path}: keys differ: {sorted(set(value) ^ set(kind))}"
        for key in set(value) & set(kind):
            yield from deviations(value[key], kind[key], f"{path}.{key}")


def sums(report):
    """What must add up in an accepted program: exact bytes, nothing rounded."""
    memory = report["memory"]
    if sum(memory[state] for state in [*STATES, "transient"]) != memory["peak"]:
        yield "the four states and transient do not sum to the peak"
    if not 0 < memory["alone"]["train"] <= memory["peak"]:
        yield "training alone takes more than all steps"
    if memory["peak"] != max(stage["peak"] for stage in memory["stages"]):
        yield "the peak is not that of the highest stage"
    by_stage = [sum(row["bytes"] for row in report["communication"] if row["stage"] == stage)
                for stage in range(len(memory["stages"]))]
    if max(by_stage) != report["communication_total"]:
        yield "the transfers do not sum to communication_total"
    time = report["time"]
    parts = [time["compute"], time["memory"], time["host_link"], *time["axes"].values()]
    known = [part for part in parts if part is not None]
    if (time["idle"] is not None) != bool(known and report["pipeline"]):
        yield "time: ranks are idle that are in no pipeline, or the other way round"
    elif time["idle"] is not None:
        if not 0 <= max(known) + time["idle"] - time["best"] <= 2:
            yield "time: the best is not the longest of its parts and idle time"
        if time["worst"] < max(time["best"], sum(known) - len(known)):
            yield "time: the worst is less than the best, or than the sum of its parts"
    else:
        if time["best"] != max(known, default=None):
            yield "time: the best is not the longest of its parts"
        if known and not 0 <= sum(known) - time["worst"] <= len(known):
            yield "time: the worst is not the sum of its parts"
    if any(len(letters) != 4 for letters in report["modes"].values()):
        yield "modes: not a letter for each of four states"


placec, root = os.path.abspath(sys.argv[1]), sys.argv[2]
zero3 = os.path.join(root, "examples/zero3.place")
with open(zero3, encoding="utf-8") as file:
    ZERO3 = file.read()
CASES = [  # name, arguments, standard input, reason, a code
    ("accepted", [zero3], "", None, None),
    ("a pipeline", ["-"], ZERO3.replace("lib/", root + "/lib/").replace("dp = 4", "pp = 2  dp = 2", 1).replace(
        "split batch", "split layers over pp schedule one_f_one_b  split batch"), None, None),
    ("a library", [os.path.join(root, "lib/strategies.place")], "", None, None),
    ("standard input", ["-"], ZERO3.replace("lib/", root + "/lib/"), None, None),
    ("unparsable", ["-"], "strategy main {\n  spilt batch ovr dp\n", "syntax", "E101"),
    ("an unknown name", ["-"], ZERO3.replace("over dp", "over pd"), "syntax", "E103"),
    ("missing", ["missing.place"], "", "syntax", "E100"),
    ("empty", ["-"], "", "syntax", "E109"),
    ("a rule", [zero3, "-D", "train.batch=18"], "", "rules", "E201"),
    ("a relaxation", ["-"], ZERO3.replace("use zero3(dp)", "gradients : replicated(dp, reduce = never)", 1), "rules", "E122"),
    ("a size", [zero3, "-D", "devices=3"], ZERO3, "syntax", "E118"),
    ("a mesh", ["-"], ZERO3.replace("dp = 4", "devices = 3  dp = 4", 1), "rules", "E120"),
    ("a combination", ["-"], ZERO3.replace("use zero3(dp)", "gradients : sharded(dp, reduce = last)", 1), "rules", "E121"),
    ("memory", [zero3, "-D", "model.hidden=4096", "-D", "model.heads=32"], "", "rules", "E701"),
    ("one gather", [zero3, "-D", "model.hidden=8192", "-D", "model.heads=64"], "", "rules", "E702"),
    ("not built", ["-"], ZERO3.replace("split batch over dp", "split experts over dp"),
     "unsupported", "E199"),
]


def edited(first, last, times):
    """The zero3 example with its own program, in which these lines stand so many times."""
    step = subprocess.run([placec, "emit", "--as=step", zero3], capture_output=True, text=True).stdout
    begin = step.index(first)
    end = step.index(last, begin) + len(last) + 1
    return ZERO3.replace("lib/", root + "/lib/") + step[:begin] + times * step[begin:end] + step[end:]


COUNT = ("    start all_reduce over dp as sum.token_count", "    wait sum.token_count[0]")
CASES += [
    ("its own program", ["-"], edited(*COUNT, 1), None, None),
    ("refuted", ["-"], edited(*COUNT, 2), "refuted", "E413"),
    ("no program", ["-"], ZERO3 + "step main { sizes nonsense }\n", "rules", "E600"),
]
HLO = os.path.join(root, "tests/inputs/hlo/")
EQUAL_CASES = [  # name, programs and options, verdict, status, a code
    ("equal", ["mlp/one.hlo", "mlp/right.hlo"], "equal", 0, None),
    ("different", ["mlp/one.hlo", "mlp/wrong.hlo"], "different", 1, "E920"),
    ("assuming", ["embedding/one.hlo", "embedding/many.hlo", "--assume=0<=tokens<6"], "equal", 0, None),
    ("unproved", ["embedding/one.hlo", "embedding/many.hlo"], "unproved", 1, "E921"),
    ("not understood", ["mlp/one.hlo", "values/moves.values"], None, 2, "E901"),
    ("no program", ["mlp/one.hlo", "missing.hlo"], None, 2, "E100"),
    ("no mesh", ["mlp/one.hlo", "mlp/right.hlo", "--mesh=tp"], None, 2, "E910"),
    ("no bound", ["mlp/one.hlo", "mlp/right.hlo", "--assume=x"], None, 2, "E919"),
    ("no spec", ["mlp/one.hlo", "mlp/right.hlo", "--spec=missing.json"], None, 2, "E100"),
]
ONE_DEVICE = HLO + "mlp/one.hlo"
USAGE_CASES = [  # words, what is wrong with them, what helps
    (["check", "--json"], "`placec check` needs an operand", "name a .place file"),
    (["check", zero3, zero3, "--json"], f"`{zero3}` is one operand too many", "one file at a time"),
    (["check", "--json", "--fix", zero3], "--fix changes nothing beside --json", "leave one of the two out"),
    (["check", zero3, "--error-limit=x", "--json"], "--error-limit takes a whole number", None),
    (["check", zero3, "--color=red", "--json"], "--color takes auto, always or never, not `red`", None),
    (["check", "--json=1", zero3], "`--json` takes no value", "write it alone"),
    (["equal", "--json"], "`placec equal` needs an operand", "name the text of one device"),
    (["equal", "--json", ONE_DEVICE], "`placec equal` needs another operand", "name the text of one device"),
    (["equal", ONE_DEVICE, ONE_DEVICE, "--meshes=tp=2", "--js"], "has no option `--meshes`; did you mean `--mesh`?",
     "--help lists them"),
    (["equal", "--json", ONE_DEVICE, ONE_DEVICE, "--mesh"], "`--mesh` lacks its value", "give it behind the option"),
    (["equal", "--json", ONE_DEVICE, ONE_DEVICE, "--mesh=a=2", "--mesh=a=3"], "--mesh is given twice", "give it once"),
]


def reported(words, text, kind):
    """The report of a command, its status, and what is wrong with the report."""
    done = subprocess.run([placec, *words], input=text, capture_output=True, text=True, timeout=60)
    wrong = [f"stderr is not empty: {done.stderr!r}"] if done.stderr else []
    try:
        report = json.loads(done.stdout)  # refuses anything behind the object
    except ValueError as error:
        return None, done.returncode, [f"no JSON: {error}: {done.stdout[:200]!r} {done.stderr[:200]!r}"]
    return report, done.returncode, wrong + list(deviations(report, kind, "report"))


def without_code(report, code):
    """Whether the diagnostics lack it, or one of them has none, as words."""
    if None in [diagnostic["code"] for diagnostic in report["diagnostics"]]:
        yield f"no code in {report['diagnostics']}"
    if code and code not in [diagnostic["code"] for diagnostic in report["diagnostics"]]:
        yield f"no {code} among {report['diagnostics']}"


def check_complaints(arguments, text, reason, code):
    report, status, wrong = reported(["check", "--json", *arguments], text, REPORT)
    yield from wrong
    if not report:
        return
    verdict = "rejected" if reason else "accepted"
    if (report["verdict"], report["reason"], status) != (verdict, reason, int(bool(reason))):
        yield f"{report['verdict']}, {report['reason']}, status {status}"
    yield from without_code(report, code)
    if report["memory"]:
        yield from sums(report)
    elif report["strategy"] and (not reason or code == "E701"):
        yield "without memory"


def equal_complaints(arguments, verdict, status, code):
    words = [word if word.startswith("-") else HLO + word for word in arguments]
    report, ended, wrong = reported(["equal", "--json", *words], "", EQUAL_REPORT)
    yield from wrong
    if wrong:
        return
    if (report["verdict"], ended) != (verdict, status):
        yield f"{report['verdict']}, status {ended}"
    yield from without_code(report, code)
    if verdict and (verdict == "equal") != all(result["proved"] for result in report["results"]):
        yield f"{verdict}, results {report['results']}"


def usage_complaints(words, message, remedy):
    """All keys are there, and null but that which says what is wrong."""
    keys = {"check": REPORT, "equal": EQUAL_REPORT}[words[0]]
    kind = dict.fromkeys(keys, Maybe(type(None))) | {"schema": int, "diagnostics": DIAGNOSTICS}
    if words[0] == "check":
        kind["reason"] = str
    report, status, wrong = reported(words, "", kind)
    yield from wrong
    if wrong:
        return
    said = report["diagnostics"]
    if len(said) != 1 or message not in said[0]["message"] or said[0]["code"] is not None:
        yield f"{said}"
    elif (remedy or "") not in (said[0]["help"] or ""):
        yield f"help {said[0]['help']}"
    if status != 2 or report.get("reason", "usage") != "usage":
        yield f"{report.get('reason')}, status {status}"


failures = [f"{name}: {line}" for name, *case in CASES for line in check_complaints(*case)]
failures += [f"{name}: {line}" for name, *case in EQUAL_CASES for line in equal_complaints(*case)]
failures += [f"{' '.join(words)}: {line}" for words, *case in USAGE_CASES for line in usage_complaints(words, *case)]
print("\n".join(failures))
sys.exit(1 if failures else 0)

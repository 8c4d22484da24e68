#!/usr/bin/env python3
"""Holds what is made for shells, `man` and editors: every row of the tables is in it, bash completes lines by it, and
what reads the other files takes them, where it is installed.

    interface.py SHARE ROOT        SHARE: the folder `share` of the build tree
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

SHARE, ROOT = map(os.path.abspath, sys.argv[1:])
FILES = {
    "bash": "bash-completion/completions/placec",
    "zsh": "zsh/site-functions/_placec",
    "fish": "fish/vendor_completions.d/placec.fish",
    "man": "man/man1/placec.1",
    "vim": "vim/vimfiles/syntax/place.vim",
    "textmate": "place/vscode/syntaxes/place.tmLanguage.json",
}
SHELLS, COMMAND, EDITORS = ["bash", "zsh", "fish"], ["bash", "zsh", "fish", "man"], ["vim", "textmate"]
# Table, pattern of a row's word, how the word stands in a text, and the texts in which it has to.
TABLES = [
    ("driver/verbs.def", r'VERB\(\w+, "([^"]+)"', "{}", COMMAND),
    ("driver/options.def", r'(?:OPTION|REPEATED)\(\w+, "([^"]+)"', "--{}", ["bash", "zsh", "man"]),
    ("driver/options.def", r'(?:OPTION|REPEATED)\(\w+, "([^"]+)"', "-l {}", ["fish"]),
    ("runtime/options.def", r'RUN_\w+\(\w+, \w+, "([^"]+)"', "--{}", ["bash", "zsh", "man"]),
    ("runtime/options.def", r'RUN_\w+\(\w+, \w+, "([^"]+)"', "-l {}", ["fish"]),
    ("driver/choices.def", r'CHOICE\(\w+, \w+, "([^"]+)"', "{}", COMMAND),
    ("runtime/host/data_kinds.def", r'DATA_KIND\(\w+, "([^"]+)"', "{}", COMMAND),
    ("passes/passes.def", r'PASS\(\w+, "([^"]+)"', "{}", COMMAND),
    ("driver/topics.def", r'TOPIC\("([^"]+)"', "{}", SHELLS),
    ("ir/diagnostics.def", r"DIAGNOSTIC\((\w+)", "{}", SHELLS),
    ("driver/environment.def", r'ENVIRONMENT\("(\w+)"', "{}", ["man"]),
    ("driver/statuses.def", r"STATUS\(\w+, (\d+)", "{}", ["man"]),
    ("frontend/train_fields.def", r"\w+_FIELD\((\w+)", "train.{}", COMMAND),
    ("frontend/model_fields.def", r"\w+_FIELD\((\w+)", "model.{}", COMMAND),
    ("frontend/device_fields.def", r"\w+_FIELD\((\w+)", "device.{}", COMMAND),
    ("frontend/train_fields.def", r"\w+_FIELD\((\w+)", "{}", EDITORS),
    ("frontend/model_fields.def", r"\w+_FIELD\((\w+)", "{}", EDITORS),
    ("frontend/device_fields.def", r"\w+_FIELD\((\w+)", "{}", EDITORS),
    ("ir/precision_fields.def", r'\w+_FIELD\((?:\w+, )?"(\w+)"', "{}", EDITORS),
    ("ir/optimizers.def", r'OPTIMIZER\(\w+, "(\w+)"', "{}", EDITORS),
    ("frontend/optimizers.def", r'(?:OTHER_OPTIMIZER\(|SCHEDULE\(|ARGUMENT\("\w+", )"(\w+)"', "{}", EDITORS),
    ("ir/methods.def", r'METHOD\(\w+, "(\w+)"', "{}", EDITORS),
    ("frontend/modes.def", r'(?:MODE|OPTION|RELAXED_OPTION)\(\w+, "(\w+)"', "{}", EDITORS),
    ("frontend/model_kinds.def", r'MODEL_KIND\(\w+, "(\w+)"', "{}", EDITORS),
    ("frontend/keywords.def", r'KEYWORD\(\w+, "(\w+)"', "{}", EDITORS),
    ("frontend/units.def", r'UNIT\(\w+, "([^"]+)"', "{}", EDITORS),
    ("ir/roles.def", r'ROLE\(\w+, "(\w+)"', "{}", EDITORS),
    ("ir/dimensions.def", r'DIMENSION\(\w+, "(\w+)", 1', "{}", EDITORS),
    ("frontend/words.def", r'[A-Z]+_WORD\("(\w+)"', "{}", EDITORS),
    ("ir/rates.def", r'RATE\(\w+, "(\w+)"', "{}", EDITORS),
    ("ir/ways.def", r'WAY\(\w+, "(\w+)"', "{}", EDITORS),
]
# A line up to the cursor, and what it may become: all of it, or some of many.
COMPLETED = [
    ("placec ", {"check", "run", "build", "emit", "opt", "explain", "help"}, False),
    ("placec bu", {"build"}, True),
    ("placec check --js", {"--json"}, True),
    ("placec check --steps", set(), True),  # of `run` alone
    ("placec run x.place --da", {"--data", "--data-type"}, True),
    ("placec emit x.place --as ", {"ast", "program", "routes", "pipeline", "step", "llvm", "json"}, True),
    ("placec emit x.place --as=", {"ast", "program", "routes", "pipeline", "step", "llvm", "json"}, True),
    ("placec emit x.place --as=st", {"step"}, True),
    ("placec build --emit l", {"llvm"}, True),
    ("placec build --cpu v", {"v2", "v3", "v4"}, True),
    ("placec run --data-type u", {"u16", "u32"}, True),
    ("placec check --color a", {"auto", "always"}, True),
    ("placec check --ranks ", set(), True),
    ("placec opt x.place --passes build,rec", {"build,recompute"}, True),
    ("placec check -D train.b", {"train.batch="}, True),
    ("placec check -D train.optimizer.l", {"train.optimizer.lr="}, True),
    ("placec check -D train.optimizer.pe", set(), True),  # of a schedule: not set so
    ("placec check --define=device.c", {"device.compute="}, True),
    ("placec check -D train.batch=", set(), True),
    ("placec check x.place --timeline=n", {"notes.txt"}, True),
    ("placec check --timeline fo", {"folder"}, True),  # an operand
    ("placec explain E40", {"E402"}, True),
    ("placec explain c", {"coming-from"}, True),
    ("placec help ex", {"explain"}, True),
    ("placec check ", {"a b.place", "folder"}, True),
    ("placec check fo", {"folder"}, True),
    ("placec check x.place --strategy ", set(), True),
    ("placec run a.place --checkpoint ", {"folder"}, True),
    ("placec run a.place --data=n", {"notes.txt"}, True),
]


def read(*parts):
    with open(os.path.join(*parts), encoding="utf-8") as file:
        return file.read()


def rows(table, pattern):
    return re.findall(rf"^{pattern}", read(ROOT, table), re.M)


def missing_rows(texts):
    for table, pattern, form, kinds in TABLES:
        words = rows(table, pattern)
        if not words:
            yield f"{table}: no rows found"
        for word in words:
            for kind in kinds:
                text = re.sub(r"\\f[BIR]", "", texts[kind]).replace("\\-", "-").replace("\\/", "/")
                if not re.search(rf"(?<![\w-]){re.escape(form.format(word))}(?![\w-])", text):
                    yield f"{FILES[kind]}: lacks {form.format(word)} of {table}"


def complete(line, folder):
    """What bash makes of the line, divided into words as readline does."""
    words = re.findall(r"=|[^\s=]+", line)
    if line[-1] in " ":
        words.append("")
    script = (f"source {os.path.join(SHARE, FILES['bash'])}; complete -p placec > /dev/null || exit 9; "
              f"COMP_WORDS=({' '.join(repr(word) for word in words)}); COMP_CWORD={len(words) - 1}; _placec; "
              "printf '%s\\n' \"${COMPREPLY[@]}\"")
    done = subprocess.run(["bash", "-uc", script], cwd=folder, capture_output=True, text=True, timeout=60)
    if done.returncode or done.stderr:
        return {f"status {done.returncode}: {done.stderr}"}
    return {word for word in done.stdout.split("\n") if word}


def wrongly_completed():
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "folder"))
        for name in ("a b.place", "notes.txt"):
            open(os.path.join(folder, name), "w", encoding="utf-8").close()
        for line, wanted, is_all in COMPLETED:
            found = complete(line, folder)
            if found != wanted if is_all else not wanted <= found:
                yield f"bash: `{line}` is completed to {sorted(found)}, not {sorted(wanted)}"


def refused_by(command, text=None):
    """What a program says against its file; nothing where the program is not installed."""
    if not shutil.which(command[0]):
        return
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
    if done.returncode or done.stderr:
        yield f"{' '.join(command)}: {done.returncode} {done.stderr}"


def unbalanced(texts):
    """Where the shell is not there to say it: quotes that end, brackets that close."""
    for kind in SHELLS:
        for number, line in enumerate(texts[kind].split("\n"), 1):
            bare = line.replace("'\\''", "").replace("\\'", "") if not line.startswith("#") else ""
            if bare.count("'") % 2:
                yield f"{FILES[kind]}:{number}: a quote that does not end"
    for option in re.findall(r"^ +'(?:\*|\([^)]*\))?-[^\[]*(.*)", texts["zsh"], re.M):
        if not re.match(r"\[(?:\\.|'\\''|[^\]\\])*\](?:::?[^:]+:.*)?' \\$", option):
            yield f"{FILES['zsh']}: no specification of an option: {option}"


def wrong_in_manual(text):
    for section in ("NAME", "SYNOPSIS", "DESCRIPTION", "VERBS", "ENVIRONMENT", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        if f"\n.SH {section}\n" not in text:
            yield f"{FILES['man']}: no section {section}"
    for number, line in enumerate(text.split("\n"), 1):
        if re.match(r"[.'](?!\\\"|TH |SH |SS |TP$|PP$|RS$|RE$|nf$|fi$|br$|nh$|hy$|ad [lb]$|BR )", line):
            yield f"{FILES['man']}:{number}: no request of the page: {line}"
    yield from refused_by(["groff", "-man", "-ww", "-z", "-Tutf8", os.path.join(SHARE, FILES["man"])])


def wrong_colours(grammar):
    rules = [re.compile(rule["match"]) for rule in grammar["patterns"]]
    for table, pattern, _, kinds in TABLES:
        for word in rows(table, pattern) if kinds is EDITORS else []:
            text = f"80 {word}" if table.endswith("units.def") else word
            if not any(match and match.group() == text for match in (rule.match(text) for rule in rules)):
                yield f"{FILES['textmate']}: no rule is of {text}"
    for text in ("// a comment", '"a string"', "1e-3", "4", "0.5 GB/s"):
        if not any(match and match.group() == text for match in (rule.match(text) for rule in rules)):
            yield f"{FILES['textmate']}: no rule is of {text}"
    for text in ("splitting", "my_split", "dp2"):
        if any(rule.search(text) for rule in rules):
            yield f"{FILES['textmate']}: a rule is of {text}, which is a name"


def wrong_in_vim():
    """The kind of a file, and colours of places in an example, as vim finds them."""
    if not shutil.which("vim"):
        return
    places = {(7, 1): "placeItem", (7, 33): "placeField", (1, 1): "placeComment", (5, 9): "placeString",
              (8, 24): "placeNumber", (22, 3): "placeReserved", (24, 3): "placeState", (24, 16): "placeMode"}
    names = ".','.".join(f"synIDattr(synID({line},{column},1),'name')" for line, column in places)
    with tempfile.TemporaryDirectory() as folder:
        told = os.path.join(folder, "told")
        subprocess.run(["vim", "-u", "NONE", "-i", "NONE", "-es", f"+set rtp^={SHARE}/vim/vimfiles",
                        "+filetype plugin on", "+syntax on", f"+view {ROOT}/examples/zero3.place",
                        f"+call writefile([&ft.','.{names}], '{told}')", "+q"],
                       stdin=subprocess.DEVNULL, timeout=60, check=False)
        if not os.path.exists(told):
            return # a vim without syntax
        found = read(told).strip().split(",")
    wanted = ["place", *places.values()]
    if found != wanted:
        yield f"vim: {found}, not {wanted}"


def untold_variables():
    """What the sources ask the environment for is in the table, and the table is in the manual."""
    told = set(rows("driver/environment.def", r'ENVIRONMENT\("(\w+)"'))
    asked = set()
    for folder in ("backend", "driver", "frontend", "ir", "passes", "runtime", "verify"):
        for at, _, names in os.walk(os.path.join(ROOT, folder)):
            for name in names:
                if name.endswith(".c"):
                    asked |= set(re.findall(r'getenv\("(PLACE_\w+|NO_COLOR)"\)', read(at, name)))
    asked.add("PLACE_TRANSPORT_PATH")
    paged = set(re.findall(r"^\| `(\w+)` \|", read(ROOT, "docs/running.md").split("## Environment")[1], re.M))
    if not told == asked == paged:
        yield f"the environment: table {sorted(told)}, sources {sorted(asked)}, docs/running.md {sorted(paged)}"


def complaints():
    texts = {kind: read(SHARE, name) for kind, name in FILES.items()}
    yield from missing_rows(texts)
    yield from wrongly_completed()
    yield from unbalanced(texts)
    yield from refused_by(["bash", "-n", os.path.join(SHARE, FILES["bash"])])
    yield from refused_by(["zsh", "-n", os.path.join(SHARE, FILES["zsh"])])
    yield from refused_by(["fish", "-n", os.path.join(SHARE, FILES["fish"])])
    yield from wrong_in_manual(texts["man"])
    yield from wrong_colours(json.loads(texts["textmate"]))
    yield from wrong_in_vim()
    package = json.loads(read(SHARE, "place/vscode/package.json"))
    json.loads(read(SHARE, "place/vscode", package["contributes"]["languages"][0]["configuration"]))
    json.loads(read(SHARE, "place/vscode", package["contributes"]["grammars"][0]["path"]))
    yield from untold_variables()


failures = list(complaints())
print(*failures, sep="\n")
sys.exit(1 if failures else 0)

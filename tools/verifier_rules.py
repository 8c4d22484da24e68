#!/usr/bin/env python3
"""Deletes each rule of the verifier in turn, or widens each licence, and says which test misses it.

usage: verifier_rules.py BUILD [--widen] [--sample N] [--only REGEX] [--tests REGEX] [--jobs N] [--list]; --help says more

A rule is a condition under which verify/ refuses: an `if` whose statement makes a fault, directly or
through a function of verify/ that can, or a ?: of which one side does. Where several conditions are
joined by ||, each is a rule of its own; so is each that is joined by && to answer a question. A
deleted rule never holds (one of &&: always does). What leaves a function, or goes on with its loop,
before a fault is made is a rule too; deleted, it always leaves. What makes no fault, but answers a
question or grants something, has rules as well, as the refusals of its callers hang on them: the
conditions under which it returns, or goes on with its loop, early. Where such a one only saves time
no test can miss it.

A licence is what lets a program do more than it might. With --widen each is granted to all: a function that
answers a question always says yes, and then always says no, as either may be what permits; and of any other
function each condition under which it returns, or goes on with its loop, early always holds. BUILD is a folder for a copy of the tree and its own build; the tree itself is
not changed.

The copy is built once, with every rule made a question of its own: is it the one that the environment
deletes? What it asks for is computed all the same. Then each test is run once with all rules in
place; it must pass, and the rules that decided something in it are noted. A test in which a rule
decided nothing cannot miss it. So a rule is deleted only for the tests in which it decided something,
until one fails or takes several times as long: the short ones first, and those that missed other rules
of the same file. What a test did with all rules in place is kept in BUILD until that test is built
anew. Tests are the cases of those of ctest, as TEST/CASE, and, as lit/FOLDER/FILE, each of lit's.
Prints a line for each rule and a count; the status is 1 if a rule was not missed.
"""
import argparse
import collections
import concurrent.futures
import json
import math
import os
import random
import re
import shutil
import subprocess
import sys
import threading
import time

# What words refusals, finds their place and tries to explain them decides nothing. Of lacking.c and plan.c
# nothing is asked before a program is refused: they say where, once there is a history to say it by.
LEFT_OUT = {"fault.c", "labels.c", "witness.c", "cause.c", "difference.c", "found.c", "history.c", "lacking.c", "plan.c"}
ALONE = {"diagnose.c": {"diagnose", "diagnose_value"}}  # the functions of a file that decide
# Functions beside those that decide which word, too, or how often, or note what is accepted for `explain` and for
# warnings.
WORDS = re.compile(r"_text$|_name$|"
                   r"^(note_(found|gather|sum)|keep_history|find_witness|odd_one|buffer_at|shared_fault|search_term|counterpart|"
                   r"n_shared|insists_on|differs_in_blocks|is_of_groups|loop_is_gone_with)$")
FUNCTION = re.compile(r"^(?!enum|struct \w+ \{|typedef)[a-z][^;={}]*?\b(\w+)\([^;{}]*\) \{\n.*?^\}\n", re.M | re.S)


def blanked(text):
    """The text without comments, and with strings and characters overwritten, so that only code is matched."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", " " if m[0][0] == "/" else "_", m[0]), text, flags=re.S)


def closing(code, start):
    """Behind the bracket that closes the one at `start`."""
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i + 1
    raise ValueError("a bracket is not closed")


def statement_end(code, start):
    while code[start].isspace():
        start += 1
    depth = 0
    for i in range(start, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0 and (code[i] == ";" or (code[i] == "}" and code[start] == "{")):
            return i + 1
    raise ValueError("a statement does not end")


def operands(code, begin, end, operator):
    """The places of what the operator joins outside brackets; one of them if it joins nothing."""
    depth, places, start, i = 0, [], begin, begin
    other = "&&" if operator == "||" else "||"
    while i < end:
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0 and code[i] == "?":
            return [(begin, end)]
        if depth == 0 and operator == "&&" and code[i:i + 2] == other:
            return [(begin, end)]
        if depth == 0 and code[i:i + 2] == operator:
            places.append((start, i))
            i += 1
            start = i + 1
        i += 1
    return places + [(start, end)]


def functions(code):
    return [(m.group(1), m.group(), m.start()) for m in FUNCTION.finditer(code)]


def refusing_functions(files):
    """Of every file the names in it of functions that can make a fault, found by following calls. Of two functions
    of one name a file means its own."""
    bodies = {file: {name: body for name, body, _ in functions(code)} for file, code in files.items()}
    found = {(file, name) for file, own in bodies.items() for name in own if name == "fault_make"}
    before = set()
    while found != before:
        before = set(found)
        shared = {name for file, name in found if not bodies[file][name].startswith("static")}
        for file, own in bodies.items():
            meant = (shared - own.keys()) | {name for other, name in found if other == file}
            found |= {(file, name) for name, body in own.items() if calls(body[body.index("{"):]) & meant}
    shared = {name for file, name in found if not bodies[file][name].startswith("static")}
    return {file: (shared - own.keys()) | {name for other, name in found if other == file}
            for file, own in bodies.items()}


def calls(code):
    return set(re.findall(r"\b(\w+)\(", code))


def leaves(statement):
    return re.match(r"(return\b|continue;|\{\s*return\b)", statement.strip())


def makers_of(refusing):
    return {name for name in refusing if name == "fault_make" or name.endswith("_fault")} | {"step_overrun"}


def rules_of(code, refusing):
    """(begin, end, replacement, function) in the text, without what the function is for."""
    makers = makers_of(refusing)
    for name, body, start in functions(code):
        told = re.match(r"(static )?const struct fault \*", body)  # by what it returns
        for match in re.finditer(r"\bif \(", body):
            begin = start + match.end()
            end = closing(code, begin - 1) - 1
            behind = statement_end(code, end + 1)
            controlled = code[end + 1:behind]
            if calls(controlled) & refusing:
                for place in operands(code, begin, end, "||"):
                    yield (*place, "false", name)
            elif leaves(controlled) and calls(code[behind:start + len(body)]) & (refusing if told else makers):
                for place in operands(code, begin, end, "&&"):
                    yield (*place, "true", name)
            elif name not in refusing and leaves(controlled):
                for place in operands(code, begin, end, "||"):
                    yield (*place, "false", name)
        for match in re.finditer(r"(?:\breturn|(?<![=!<>])=)\s+([^;?{}]*?)\s*\?\s*(NULL\s*:\s*)?(\w+)\(", body):
            if match.group(3) in makers:
                permits = bool(match.group(2))
                for place in operands(code, start + match.start(1), start + match.end(1), "&&" if permits else "||"):
                    yield (*place, "true" if permits else "false", name)
        answers = r"\breturn ([^;]*);|" if re.match(r"(static )?(inline )?bool ", body) else ""
        for match in re.finditer(answers + r"[^=!<>]= ([^;{}]*&&[^;{}]*);", body):
            group = match.lastindex
            if match.group(group).count("(") != match.group(group).count(")"):  # it ends with a loop's head
                continue
            places = operands(code, start + match.start(group), start + match.end(group), "&&")
            for place in places if len(places) > 1 else []:
                yield (*place, "true", name)


def licences_of(code, refusing):
    """The same, with several places each: of a function that answers, all its answers."""
    for name, body, start in functions(code):
        answers = [(start + match.start(1), start + match.end(1)) for match in re.finditer(r"\breturn ([^;]*);", body)]
        if re.match(r"(static )?(inline )?bool ", body):
            yield (answers, "true", name, "yes to all")
            yield (answers, "false", name, "no to all")
            continue
        told = re.match(r"(static )?const struct fault \*", body)
        for match in re.finditer(r"\bif \(", body):
            begin = start + match.end()
            end = closing(code, begin - 1) - 1
            behind = statement_end(code, end + 1)
            if not leaves(code[end + 1:behind]) or calls(code[end + 1:behind]) & refusing:
                continue
            if not calls(code[behind:start + len(body)]) & (refusing if told else makers_of(refusing)):
                yield ([(begin, end)], "true", name, code[begin:end])


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


# Every file of verify/ includes this in the copy.
QUESTION = """
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized" // where a deleted rule would have returned
void cmocka_set_test_filter(const char *) __attribute__((weak)); // none where it is not linked
static int rule_deleted = -1;
static const char *rules_decided;
__attribute__((constructor)) static void rules_begin(void) {
    const char *only = getenv("PLACE_TEST_CASE");
    if (only && cmocka_set_test_filter)
        cmocka_set_test_filter(only);
    const char *deleted = getenv("PLACE_RULE_DELETED");
    rule_deleted = deleted ? atoi(deleted) : -1;
    rules_decided = getenv("PLACE_RULES_DECIDED");
}
static inline bool rule_stands(int rule) { return rule != rule_deleted; }
static inline bool rule_decides(int rule, bool is) {
    static bool noted[4000];
    if (is && rules_decided && !noted[rule]) {
        noted[rule] = true;
        FILE *file = fopen(rules_decided, "a");
        fprintf(file, "%d\\n", rule);
        fclose(file);
    }
    return is;
}
"""


# lit builds the environment of its tests up from nothing.
PASS_ON = """
import os
for name in "PLACE_RULE_DELETED", "PLACE_RULES_DECIDED":
    if name in os.environ:
        config.environment[name] = os.environ[name]
"""


def write(path, text):
    if not os.path.exists(path) or open(path).read() != text:
        with open(path, "w") as file:
            file.write(text)


def copy_tree(root, build):
    tree = os.path.join(build, "tree")
    names = run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]).stdout.split("\n")
    for name in filter(None, names):
        source, target = os.path.join(root, name), os.path.join(tree, name)
        if not os.path.isfile(source) or re.fullmatch(r"verify/.+\.c", name):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
            shutil.copy(source, target)
    return tree


def copy_questioned(tree, texts, rules):
    write(os.path.join(tree, "verify", "rule_question.h"), QUESTION)
    for name, text in texts.items():
        asked = collections.defaultdict(list)
        for number, rule in enumerate(rules):
            for place in rule[3] if rule[0] == name else []:
                asked[place].append((number, rule[4]))
        for (begin, end), questions in sorted(asked.items(), reverse=True):
            answer = text[begin:end]
            for number, by in questions:
                if by == "false":
                    answer = f"(rule_decides({number}, {answer}) && rule_stands({number}))"
                else:
                    answer = f"(!rule_decides({number}, !({answer})) || !rule_stands({number}))"
            text = text[:begin] + answer + text[end:]
        write(os.path.join(tree, "verify", name), '#include "verify/rule_question.h"\n' + text)


def execute(command):
    done = run(command)
    if done.returncode:
        sys.exit(done.stdout)
    return done.stdout


def build_tests(tree, made, wanted):
    """Builds the tests that are programs, and for all others the command."""
    execute(["cmake", "-S", tree, "-B", made, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O1"])
    names = re.findall(r"^ *Test +#\d+: (\S+)", execute(["ctest", "--test-dir", made, "--show-only"]), re.M)
    programs = set(re.findall(r"^bin/(\w+):", execute(["ninja", "-C", made, "-t", "targets", "all"]), re.M))
    tests = {name for name in names if re.search(wanted, name) or (name == "lit" and "lit" in wanted)}
    targets = tests & programs | ({"command"} if tests - programs else set())
    execute(["cmake", "--build", made, "-j", str(os.cpu_count()), "--target", *sorted(targets)])


class Test:
    def __init__(self, name, command, folder, made_of, case=None):
        self.name, self.command, self.folder, self.made_of = name, command, folder, made_of
        self.environment = {"CMOCKA_TEST_ABORT": "1", **({"PLACE_TEST_CASE": case} if case else {})}
        self.seconds, self.processor, self.decided = 0, 0, set()

    def passes(self, bounded=False, **environment):
        """Whether it does. Bounded, it may take some times what it took with every rule in place: of the processor, as
        others may use the machine, or else in all, as it may only wait."""
        command = self.command
        if bounded:
            command = ["prlimit", f"--cpu={2 + math.ceil(8 * self.processor)}", *command]
        process = subprocess.Popen(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env={**os.environ, **self.environment, **environment})
        waits = threading.Timer(120 + 20 * self.seconds if bounded else 3600, process.kill)
        waits.start()
        _, status, usage = os.wait4(process.pid, 0)
        waits.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
        if not bounded:
            self.processor = usage.ru_utime + usage.ru_stime
        return process.returncode == 0

    def note(self, made):
        """Runs it with every rule in place, unless that was done since what it is made of was."""
        noted = os.path.join(made, "noted." + self.name.replace("/", "."))
        decided = noted + ".decided"
        if not os.path.exists(noted) or os.path.getmtime(noted) < max(map(os.path.getmtime, self.made_of)):
            open(decided, "w").close()
            begin = time.monotonic()
            if not self.passes(PLACE_RULES_DECIDED=decided):
                return False
            with open(noted, "w") as file:
                json.dump([time.monotonic() - begin, self.processor], file)
        self.seconds, self.processor = json.load(open(noted))
        self.decided = set(map(int, open(decided)))
        return True


def cases_of(tree, name):
    """Of a program of cmocka its cases; else None alone, for all that it does."""
    source = os.path.join(tree, "tests", name + ".c")
    text = open(source).read() if os.path.exists(source) else ""
    return re.findall(r"\bcmocka_unit_test(?:_\w+)?\((\w+)", text) or [None]


def tests_of(tree, made, wanted):
    listed = json.loads(run(["ctest", "--test-dir", made, "--show-only=json-v1"]).stdout)["tests"]
    tests = []
    for test in listed:
        properties = {p["name"]: p["value"] for p in test["properties"]}
        folder = properties.get("WORKING_DIRECTORY", made)
        if test["name"] != "lit":
            if re.search(wanted, test["name"]):
                for case in cases_of(tree, test["name"]):
                    name = f"{test['name']}/{case}" if case else test["name"]
                    tests.append(Test(name, test["command"], folder, test["command"][:1], case))
            continue
        with open(os.path.join(made, "tests", "lit", "lit.site.cfg.py"), "a") as file:
            file.write(PASS_ON)
        lit, placec = os.path.join(tree, "tests", "lit"), os.path.join(made, "bin", "placec")
        for place, _, files in os.walk(lit):
            for file in files:
                name = os.path.relpath(os.path.join(place, file), lit)
                text = open(os.path.join(place, file), errors="replace").read()
                if re.search(wanted, "lit/" + name) and "RUN:" in text:
                    command = [*test["command"], "--filter", f"(^|[^\\w]){re.escape(name)}$"]
                    tests.append(Test("lit/" + name, command, folder, [placec, os.path.join(place, file)]))
    return tests


def missed_by(number, tests, n_missed):
    """The first test that fails without the rule; or None. `n_missed`: how many other rules of its file each missed."""
    for test in sorted(tests, key=lambda test: (test.processor + 0.02) / (1 + n_missed[test.name])):
        if number in test.decided and not test.passes(True, PLACE_RULE_DELETED=str(number)):
            n_missed[test.name] += 1
            return test
    return None


def saves_time(lines, line):
    """Whether the comment on this line of a text, or the one right above it, says so."""
    said = [lines[line].partition("//")[2]]
    while line > 0 and lines[line - 1].strip().startswith("//"):
        line -= 1
        said.insert(0, lines[line].strip()[2:])
    return "saves time" in " ".join(map(str.strip, said))


def find_rules(texts, widen):
    codes = {name: blanked(text) for name, text in texts.items()}
    refusing = refusing_functions(codes)
    rules = []
    for name in codes:
        if os.path.basename(name) in LEFT_OUT:
            continue
        found = licences_of(codes[name], refusing[name]) if widen else \
            (([(begin, end)], by, function, None) for begin, end, by, function in rules_of(codes[name], refusing[name]))
        for places, by, function, said in found:
            if function not in ALONE.get(os.path.basename(name), {function}) or WORDS.search(function):
                continue
            places = [(end - len(codes[name][begin:end].lstrip()), end) for begin, end in places]
            begin, end = places[0]
            line = texts[name].count("\n", 0, begin) + 1
            rule = " ".join((said or texts[name][begin:end]).split())
            saves = saves_time(texts[name].split("\n"), line - 1)
            rules.append((name, line, f"verify/{name}:{line} {function}: {rule}", places, by, saves))
    return sorted(rules)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--widen", action="store_true", help="licences instead of rules")
    parser.add_argument("--sample", type=int, help="so many of the rules, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression for `file:line function: rule`")
    parser.add_argument("--tests", default="^verify_test", help="a regular expression for their names")
    parser.add_argument("--jobs", type=int, default=2, help="rules at a time")
    parser.add_argument("--list", action="store_true", help="the rules only")
    arguments = parser.parse_args()

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(root, "verify")
    names = sorted(os.path.relpath(os.path.join(place, name), folder)
                   for place, _, files in os.walk(folder) for name in files if name.endswith(".c"))
    texts = {name: open(os.path.join(folder, name)).read() for name in names}
    rules = find_rules(texts, arguments.widen)
    chosen = [number for number, rule in enumerate(rules) if re.search(arguments.only, rule[2])]
    if not chosen:
        sys.exit(f"no rule of verify/ matches {arguments.only!r}; --list prints them as they are matched")
    saving = [number for number in chosen if rules[number][5]]
    chosen = [number for number in chosen if not rules[number][5]]
    if arguments.sample and arguments.sample < len(chosen):
        chosen = sorted(random.Random(arguments.seed).sample(chosen, arguments.sample))
    if arguments.list:
        for number in chosen:
            print(rules[number][2])
        return 0

    build = os.path.abspath(arguments.build)
    tree, made = copy_tree(root, build), os.path.join(build, "made")
    copy_questioned(tree, texts, rules)
    build_tests(tree, made, arguments.tests)
    tests = tests_of(tree, made, arguments.tests)
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for test, passed in zip(tests, pool.map(lambda test: test.note(made), tests)):
            if not passed:
                sys.exit(f"with every rule in place: {test.name} fails")
            print(f"{test.name}: {test.seconds:.1f} s, {len(test.decided)} rules decide something", flush=True)
        unmissed = 0
        n_missed = {name: collections.Counter() for name in names}
        found = pool.map(lambda number: missed_by(number, tests, n_missed[rules[number][0]]), chosen)
        for number, test in zip(chosen, found):
            deciding = sum(number in test.decided for test in tests)
            outcome = test.name if test else f"NOT MISSED, decides in {deciding} tests"
            print(f"{rules[number][2]}: {outcome}", flush=True)
            unmissed += test is None
    for number in saving:
        print(f"{rules[number][2]}: only saves time, its comment says")
    what = "licences missed by a test when widened" if arguments.widen else "rules missed by a test when deleted"
    print(f"{len(chosen) - unmissed} of {len(chosen)} {what}; {len(saving)} only save time")
    return 1 if unmissed else 0


if __name__ == "__main__":
    sys.exit(main())

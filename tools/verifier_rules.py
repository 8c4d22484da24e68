#!/usr/bin/env python3
"""Deletes each rule of the verifier in turn, and says which tests notice.

usage: verifier_rules.py BUILD [--sample N] [--seed N] [--only TEXT] [--tests REGEX] [--list]

A rule is a condition under which verify/ refuses: an `if` whose statement makes a fault, directly or
through a function of verify/ that can. Where several conditions are joined by ||, each is a rule of
its own; so is each that a function joins by && to answer a question. A deleted rule never holds
(one of &&: always does). BUILD is a folder for a copy of the tree and its own build; the tree itself
is not changed. Prints a line for each rule and a count; the status is 1 if a rule was not missed.
"""
import argparse
import os
import random
import re
import shutil
import subprocess
import sys

# What words refusals and tries to explain them decides nothing.
LEFT_OUT = {"diagnose.c", "fault.c", "witness.c"}
FUNCTION = re.compile(r"^(?!enum|struct \w+ \{|typedef)[a-z][^;={}]*?\b(\w+)\([^;{}]*\) \{\n.*?^\}\n", re.M | re.S)


def blanked(text):
    """The text with comments, strings and characters overwritten, so that only code is matched."""
    pattern = r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\''
    return re.sub(pattern, lambda m: re.sub(r"[^\n]", "_", m.group()), text, flags=re.S)


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
    """Names of the functions that can make a fault, found by following calls."""
    bodies = {name: body for code in files.values() for name, body, _ in functions(code)}
    found, before = {"fault_make"}, set()
    while found != before:
        before = set(found)
        for name, body in bodies.items():
            called = set(re.findall(r"\b(\w+)\(", body[body.index("{"):]))
            if called & before:
                found.add(name)
    return found


def rules_of(code, refusing):
    """(begin, end, replacement, why) in the text, without what `why` says."""
    for name, body, start in functions(code):
        for match in re.finditer(r"\bif \(", body):
            begin = start + match.end()
            end = closing(code, begin - 1) - 1
            controlled = code[end + 1:statement_end(code, end + 1)]
            if set(re.findall(r"\b(\w+)\(", controlled)) & refusing:
                for place in operands(code, begin, end, "||"):
                    yield (*place, "false", name)
        if re.match(r"(static )?bool ", body):
            for match in re.finditer(r"\breturn ([^;]*);", body):
                places = operands(code, start + match.start(1), start + match.end(1), "&&")
                for place in places if len(places) > 1 else []:
                    yield (*place, "true", name)


def run(command, **options):
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)


def copy_tree(root, build):
    tree = os.path.join(build, "tree")
    names = run(["git", "-C", root, "ls-files", "--cached", "--others", "--exclude-standard"]).stdout.split("\n")
    for name in filter(None, names):
        source, target = os.path.join(root, name), os.path.join(tree, name)
        if not os.path.isfile(source):
            continue
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.exists(target) or open(source, "rb").read() != open(target, "rb").read():
            shutil.copy(source, target)
    return tree


def configure(tree, build):
    made = os.path.join(build, "made")
    # Without warnings: what only a deleted rule used is unused.
    done = run(["cmake", "-S", tree, "-B", made, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_C_FLAGS=-w -O1"])
    if done.returncode:
        sys.exit(done.stdout)
    return made


def outcome(made, tests):
    """What noticed: the first test that failed, or None."""
    done = run(["cmake", "--build", made, "-j", str(os.cpu_count())])
    if done.returncode:
        return "does not compile"
    done = run(["ctest", "--test-dir", made, "-R", tests, "--stop-on-failure", "--timeout", "120"])
    failed = re.search(r"^\t *\d+ - (\S+)", done.stdout, re.M)
    return failed.group(1) if failed else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--sample", type=int, help="so many of the rules, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="rules whose `file:line function` has this")
    parser.add_argument("--tests", default="^verify_test|^judge$", help="of ctest; stops at the first that fails")
    parser.add_argument("--list", action="store_true", help="the rules only")
    arguments = parser.parse_args()

    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    folder = os.path.join(root, "verify")
    texts = {name: open(os.path.join(folder, name)).read() for name in sorted(os.listdir(folder)) if name.endswith(".c")}
    codes = {name: blanked(text) for name, text in texts.items()}
    refusing = refusing_functions(codes)
    rules = []
    for name in codes.keys() - LEFT_OUT:
        for begin, end, by, function in rules_of(codes[name], refusing):
            line = texts[name].count("\n", 0, begin + 1) + 1
            rule = " ".join(texts[name][begin:end].split())
            rules.append((name, line, f"verify/{name}:{line} {function}: {rule}", (begin, end, by)))
    rules = sorted(rule for rule in rules if arguments.only in rule[2])
    if arguments.sample and arguments.sample < len(rules):
        rules = sorted(random.Random(arguments.seed).sample(rules, arguments.sample))
    if arguments.list:
        for rule in rules:
            print(rule[2])
        return 0

    tree = copy_tree(root, arguments.build)
    made = configure(tree, arguments.build)
    whole = outcome(made, arguments.tests)
    if whole:
        sys.exit(f"with every rule in place: {whole}")
    missed = 0
    for name, _, text, (begin, end, by) in rules:
        path = os.path.join(tree, "verify", name)
        source = texts[name]
        operator = "&&" if by == "false" else "||"
        with open(path, "w") as file:
            file.write(f"{source[:begin]}({by} {operator} ({source[begin:end]})){source[end:]}")
        noticed = outcome(made, arguments.tests)
        with open(path, "w") as file:
            file.write(source)
        missed += noticed is None
        print(f"{text}: {noticed or 'NOT NOTICED'}", flush=True)
    print(f"{len(rules)} rules deleted in turn, {missed} not noticed")
    return 1 if missed else 0


sys.exit(main())

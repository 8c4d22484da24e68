#!/usr/bin/env python3
"""What tools/verifier_rules.py takes for rules, and for licences, of a text: each condition as it stands.

usage: rules_found.py ROOT"""
import os
import sys

sys.path.insert(0, os.path.join(sys.argv[1], "tools"))
sys.dont_write_bytecode = True
import verifier_rules  # noqa: E402

TEXT = """
static const struct fault *of_both(struct proof *p, int a, int b) {
    return a > 0 && b == N_OPS ? fault_make(p, E415) : NULL;
}

static const struct fault *of_either(struct proof *p, int a, int b) {
    const struct fault *fault = a <= 0 || b != N_OPS ? fault_make(p, E415) : NULL;
    return fault;
}

static const struct fault *unless_both(struct proof *p, int a, int b) {
    return a >= 0 && b == N_OPS ? NULL : fault_make(p, E415);
}

static const struct fault *of_one(struct proof *p, int a) {
    if (a == 0)
        return NULL;
    if (a == 1 || a == 2)
        return fault_make(p, E415);
    return NULL;
}

static bool is_both(int a, int b) {
    return a == 0 && b != 1;
}

"""
RULES = [
    ("of_both", "a > 0 && b == N_OPS", "false"),
    ("of_either", "a <= 0", "false"),
    ("of_either", "b != N_OPS", "false"),
    ("unless_both", "a >= 0", "true"),
    ("unless_both", "b == N_OPS", "true"),
    ("of_one", "a == 0", "true"),
    ("of_one", "a == 1", "false"),
    ("of_one", "a == 2", "false"),
    ("is_both", "a == 0", "true"),
    ("is_both", "b != 1", "true"),
]
LICENCES = [("is_both", "a == 0 && b != 1", "true"), ("is_both", "a == 0 && b != 1", "false")]

refusing = {"fault_make"} | verifier_rules.refusing_functions({"text.c": TEXT})["text.c"]
rules = [(function, TEXT[begin:end].strip(), by) for begin, end, by, function in verifier_rules.rules_of(TEXT, refusing)]
licences = [(function, TEXT[begin:end], by)
            for places, by, function, _ in verifier_rules.licences_of(TEXT, refusing) for begin, end in places]
for what, found, expected in ("rules", rules, RULES), ("licences", licences, LICENCES):
    for one in sorted(set(found) - set(expected)):
        print(f"{what}: found, and is none:", *one)
    for one in sorted(set(expected) - set(found)):
        print(f"{what}: not found:", *one)
sys.exit(sorted(rules) != sorted(RULES) or sorted(licences) != sorted(LICENCES))

#!/usr/bin/env python3
"""Sums of what goes round, written by hand in place of an all_reduce: random ones are judged by placec, and executed
here as which device adds what, in which order. What is accepted is the whole sum on every device, in one order up to
the operands of each addition, which has equal bits; what is whole but in orders of its own is refused for that (E513).

usage: rounds.py PLACEC EXAMPLES_FOLDER
"""
import os
import random
import subprocess
import sys
import tempfile
import unittest

PLACEC, FOLDER = sys.argv[1:]
EDIT = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "edit.py"), PLACEC]
EXAMPLE = os.path.join(FOLDER, "zero3_tp.place")
MODEL = ["-Ddp=1", "-Dtrain.microbatch=16", "-Dmodel.heads=12", "-Dmodel.kv_heads=12", "-Dmodel.head_dim=16",
         "-Dmodel.ffn=348"]
TYPE = "f32[batch=16, sequence=64, hidden=128]"
SUMMAND = "attention.out"


class Sum:
    """The text of a sum, and what each of n devices then has: a tree whose leaves are devices."""

    def __init__(self, n):
        self.n, self.text, self.values = n, [], {SUMMAND: list(range(n))}

    def name(self):
        return f"sum.{len(self.values)}"

    def permute(self, value, shift):
        name = self.name()
        self.text += [f"  %{name}.started = permute(%{value}) {{axes=tp, shift={shift}}} : {TYPE}",
                      f"  %{name} = wait(%{name}.started) : {TYPE}"]
        self.values[name] = [self.values[value][(i - shift) % self.n] for i in range(self.n)]
        return name

    def add(self, left, right):
        name = self.name()
        self.text += [f"  %{name} = add(%{left}, %{right}) : {TYPE}"]
        self.values[name] = [tuple(sorted(pair, key=str)) for pair in zip(self.values[left], self.values[right])]
        return name


def leaves(tree):
    return [tree] if isinstance(tree, int) else leaves(tree[0]) + leaves(tree[1])


def outcome(trees):
    if any(sorted(leaves(tree)) != list(range(len(trees))) for tree in trees):
        return "no sum"
    return "equal bits" if len(set(map(str, trees))) == 1 else "other orders"


def doubling(draw, n):
    """Sums of what is there and of itself from some places before: of pairs, of pairs of pairs."""
    made, last = Sum(n), SUMMAND
    for shift in draw.sample((n // 2, 1, -1), 1 if n == 2 else 2):
        last = made.add(*draw.sample([last, made.permute(last, shift)], 2))
    return made, last


def ring(draw, n):
    """What goes round, by as many places each time, and is added to what has come; perhaps a round too few."""
    made, last, travels = Sum(n), SUMMAND, SUMMAND
    shift = draw.choice((1, -1, 1, 2))
    for _ in range(draw.choice((n - 1, n - 1, n - 2)) or 1):
        travels = made.permute(travels, shift)
        last = made.add(last, travels)
    return made, last


def mixed(draw, n):
    made = Sum(n)
    for _ in range(draw.randrange(2, 5)):
        values = list(made.values)
        made.permute(draw.choice(values), draw.randrange(n))
        made.add(*draw.choices(list(made.values), k=2))
    return made, list(made.values)[-1]


class Rounds(unittest.TestCase):
    def judge(self, made, last, path):
        settings = [f"-Dtp={made.n}", *MODEL]
        commands = ["drop-plan", "delete", f"%{SUMMAND}.started = all_reduce", "delete", f"%{SUMMAND}.summed = wait",
                    "insert", "\n".join(made.text), "before", "%attention.y = add",
                    "replace", f"%{SUMMAND}.summed", f"%{last}"]
        edited = subprocess.run([*EDIT, EXAMPLE, *settings, *commands], capture_output=True, text=True)
        self.assertEqual(edited.returncode, 0, edited.stderr)
        with open(path, "w", encoding="utf-8") as file:
            file.write(edited.stdout)
        done = subprocess.run([PLACEC, "check", path, *settings], capture_output=True, text=True)
        if done.returncode == 0:
            return "equal bits"
        self.assertRegex(done.stderr, r"error\[E(41|49|513)")
        return "other orders" if "error[E513]" in done.stderr else "no sum"

    def test_random(self):
        draw, counts = random.Random(1), {}
        with tempfile.TemporaryDirectory() as folder:
            for trial in range(36):
                write = (doubling, ring, mixed)[trial % 3]
                made, last = write(draw, draw.choice((3, 4) if write is ring else (2, 3, 4)))
                truth = outcome(made.values[last])
                verdict = self.judge(made, last, os.path.join(folder, "sum.place"))
                # Orders that are equal for another reason than symmetry may be refused.
                allowed = ("equal bits", "other orders") if truth == "equal bits" and write is mixed else (truth,)
                self.assertIn(verdict, allowed, "\n".join(made.text))
                counts[verdict] = counts.get(verdict, 0) + 1
        self.assertGreaterEqual(min(counts.get(what, 0) for what in ("equal bits", "other orders", "no sum")), 4, counts)


unittest.main(argv=[sys.argv[0]], verbosity=2)

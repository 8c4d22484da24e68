#!/usr/bin/env python3
"""What a run has saved has the names and shapes that transformers' state_dict has, each tensor once.

usage: saved_as.py SAVED NUMBERS     the numbers are tools/reference_transformers.py's
"""
import json
import sys


def header(path):
    with open(path, "rb") as file:
        return json.loads(file.read(int.from_bytes(file.read(8), "little")))


saved, numbers = map(header, sys.argv[1:])
ours = {name: tensor["shape"] for name, tensor in saved.items() if name != "__metadata__"}
theirs = {name.removeprefix("parameter/"): tensor["shape"] for name, tensor in numbers.items()
          if name.startswith("parameter/")}
for name in sorted(ours.keys() | theirs.keys()):
    if ours.get(name) != theirs.get(name):
        sys.exit(f"{name}: {ours.get(name)} is saved, transformers has {theirs.get(name)}")
print(f"{len(ours)} tensors")

#!/usr/bin/env python3
"""Prints the tables of docs/coming_from.md: what settings of other systems are here.

usage: coming_from.py frontend/coming_from.def
"""
import re
import sys

SYSTEMS = {"DEEPSPEED": "DeepSpeed", "MEGATRON": "Megatron-LM", "FSDP": "PyTorch FSDP", "TORCHTITAN": "torchtitan",
           "MAXTEXT": "MaxText", "ACCELERATE": "Accelerate"}
ROW = re.compile(r'^(CALLED|SAID|MICROBATCHES)\(([A-Z |]+),\s*"([^"]*)"(?:,\s*"([^"]*)")?\)$', re.M)
BY_MICROBATCH = "`microbatch`: batch / (N * devices that share the batch)"


def rows(path):
    """(systems, theirs, ours, whether it is a name for a name)"""
    with open(path, encoding="utf-8") as table:
        for kind, systems, theirs, ours in ROW.findall(table.read()):
            ours = {"CALLED": f"`{ours}`", "SAID": ours.replace("$", "N"), "MICROBATCHES": BY_MICROBATCH}[kind]
            yield systems.split(" | "), theirs, ours, kind == "CALLED"


def main():
    for system, title in SYSTEMS.items():
        print(f"## {title}\n\n| there | here |\n|---|---|")
        for systems, theirs, ours, _ in rows(sys.argv[1]):
            if system in systems:
                print(f"| `{theirs}` | {ours} |")
        print()


if __name__ == "__main__":
    main()

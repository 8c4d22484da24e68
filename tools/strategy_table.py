#!/usr/bin/env python3
"""Prints the table of docs/strategies.md: what `placec check` says of every example.

usage: strategy_table.py PLACEC FOLDER

A row for each axis of an example's mesh and each tuple of modes on it (parameters, optimizer,
gradients, activations), with the roles that have it.
"""
import os
import re
import subprocess
import sys

GAP = re.compile(r" {2,}")
TUPLE = re.compile(r"\([^)]*\)")
APART = " "  # between a role and the tensors of it that lie otherwise


def placements(placec, path):
    """The rows of the compiler's own table: axes, then {role: [tuple on each axis]} in its order. Tensors of a
    role that lie otherwise are indented below it. Axes for which there is no room follow in another table."""
    done = subprocess.run([placec, "check", path], capture_output=True, text=True, check=True)
    lines = done.stdout.splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith("on each axis"))
    axes, roles, role = [], {}, None
    for line in lines[at + 1:]:
        if not line.strip():
            break
        if "(" not in line:
            axes += GAP.split(line.strip())
            continue
        name = line[:line.index("(")].strip()
        if line.startswith("    "):
            name = f"{role}{APART}{name}"
        else:
            role = name
        roles.setdefault(name, []).extend(TUPLE.findall(line))
    return axes, roles


def lies_apart(roles, name, axis):
    """Not a tensor that lies as the rest of its role on this axis."""
    role = name.split(APART)[0]
    return role == name or roles[role][axis] != roles[name][axis]


def short(role, whole_slice):
    if role.startswith("layers[") and whole_slice:
        return role[:role.index("]") + 1]
    return role.split(".", 1)[1] if role.startswith("layers.") else role


def slice_of(role):
    return role[:role.index("]") + 1] if role.startswith("layers[") else None


def rows(placec, path):
    axes, roles = placements(placec, path)
    for i, axis in enumerate(axes):
        groups = {}
        said = {}
        roles_here = {role: tuples for role, tuples in roles.items() if lies_apart(roles, role, i)}
        for role, tuples in roles_here.items():
            said.setdefault(slice_of(role), set()).add(tuples[i])
        for role, tuples in roles_here.items():
            names = groups.setdefault(tuples[i], [])
            name = short(role, len(said[slice_of(role)]) == 1)
            if name not in names:
                names.append(name)
        for modes, names in groups.items():
            yield axis, modes, "all" if len(groups) == 1 else ", ".join(names)


def main():
    placec, folder = sys.argv[1:]
    print("| example | axis | modes | of |\n|---|---|---|---|")
    for file in sorted(os.listdir(folder)):
        name, extension = os.path.splitext(file)
        if extension != ".place":
            continue
        for axis, modes, roles in rows(placec, os.path.join(folder, file)):
            print(f"| {name} | {axis} | {modes} | {roles} |")
            name = ""  # said once


main()

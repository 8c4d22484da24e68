#!/usr/bin/env python3
"""Two saved files of one training must have the same names, shapes and values, these up to a tolerance
relative to a tensor's largest. Where the first has projections fused, they must be the other's side by
side.

usage: same_saved.py ONE OTHER TOLERANCE
"""
import array
import json
import sys

FUSED = {"self_attn.qkv_proj": ("self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"),
         "mlp.gate_up_proj": ("mlp.gate_proj", "mlp.up_proj")}


def saved(path):
    """{name: (shape, values)}"""
    with open(path, "rb") as file:
        header = json.loads(file.read(int.from_bytes(file.read(8), "little")))
        data = file.read()
    header.pop("__metadata__", None)
    return {name: (tensor["shape"], array.array("d", data[slice(*tensor["data_offsets"])]))
            for name, tensor in header.items() if tensor["dtype"] == "F64" or sys.exit(f"{name} is no fp64")}


def side_by_side(tensors, name):
    """The fused tensor that the others make: saved as [out, in], so one below the other."""
    for fused, parts in FUSED.items():
        if fused in name:
            found = [tensors[name.replace(fused, part)] for part in parts]
            values = array.array("d")
            for _, part in found:
                values.extend(part)
            return [sum(shape[0] for shape, _ in found), *found[0][0][1:]], values
    return tensors[name]


def main(one, other, tolerance):
    ours, theirs = saved(one), saved(other)
    n = 0
    for name, (shape, values) in ours.items():
        expected_shape, expected = side_by_side(theirs, name)
        n += name not in theirs
        assert shape == expected_shape, (name, shape, expected_shape)
        largest = max(map(abs, expected))
        difference = max(abs(a - b) for a, b in zip(values, expected, strict=True))
        assert difference <= tolerance * largest, (name, difference, largest)
    print(f"{len(ours)} tensors, {n} of them fused")


main(sys.argv[1], sys.argv[2], float(sys.argv[3]))

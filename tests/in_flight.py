#!/usr/bin/env python3
"""Prints a file with its own program written out behind it, edited so that two microbatches are in flight: each one's
backward pass comes behind the next one's forward pass. What layers hand on is kept by slot and layer, what forward
saves by layer and slot.

    in_flight.py PLACEC FILE [-D...]"""
import re
import subprocess
import sys

PLACEC, FILE, *SETTINGS = sys.argv[1:]


def stacked_twice(text):
    """The lines of buffers, without the plan."""
    text = re.sub(r"(buffer hidden :[^@]*?) (layers \d+) at \d+", r"\1 slots 2, \2", text)
    return re.sub(r"(buffer saved\.(?:attention|mlp)\.[^@]*?) (layers \d+) at \d+", r"\1 \2, slots 2", text)


def of_microbatch(text, m, slot):
    text = re.sub(r"\bhidden\[([^]]*)\]", rf"hidden[{slot}][\1]", text)
    text = re.sub(r"\b(saved\.(?:attention|mlp)[\w.]*)\[([^]]*)\]", rf"\1[\2][{slot}]", text)
    return text.replace("[m]", f"[{m}]")


def in_flight(train, n):
    """Of the second loop over microbatches, which has the layers' inside."""
    loop = f"    for m = 0 .. {n} {{\n"
    begin = train.index(loop, train.index(loop) + 1)
    end = train.index("\n    }\n", begin) + 1
    half = train.index("      call head_forward", begin)
    forward = of_microbatch(train[begin + len(loop):half], "m", "m mod 2")
    behind = of_microbatch(train[half:end], "m-1", "m-1 mod 2")
    last = of_microbatch(train[half:end], "m", "m mod 2")
    loops = [("0 .. 1", forward), (f"1 .. {n}", forward + behind), (f"{n - 1} .. {n}", last)]
    text = "".join(f"    for m = {bounds} {{\n{body}    }}\n" for bounds, body in loops)
    return train[:begin] + text + train[end + len("    }\n"):]


with open(FILE, encoding="utf-8") as file:
    print(file.read())
emit = [PLACEC, "emit", "--as=step", FILE, *SETTINGS]
step = subprocess.run(emit, check=True, capture_output=True, text=True).stdout
header, train, rest = re.split(r"(?=^  train \{|^  evaluate \{)", step, flags=re.M)
evaluate, units = rest.split("\n}\n", 1)
microbatches = int(re.search(r"microbatches = (\d+)", header).group(1))
print(stacked_twice(header) + in_flight(train, microbatches) + of_microbatch(evaluate, "m", "0") + "\n}\n" + units)

#!/usr/bin/env python3
"""Writes sequences of different lengths as a file of tokens: each is filled up with the mask.

usage: padded.py FILE.u16 SEQUENCES LENGTH

Lengths are drawn between 0 and LENGTH - 1, and every fourth sequence is empty, so that devices and
microbatches get different numbers of tokens, and some of them none at all. The tokens are below 256
and run on, so that a model can learn something of them.
"""
import array
import random
import sys

MASK = 0xFFFF


def write(path, sequences, length):
    draw = random.Random(7)
    tokens = array.array("H")
    for i in range(sequences):
        used = 0 if i % 4 == 3 else draw.randrange(2, length)
        begin = draw.randrange(256)
        tokens.extend((begin + 3 * k) % 256 for k in range(used))
        tokens.extend([MASK] * (length - used))
    tokens.append(MASK)  # a window is a sequence and the token behind it
    if sys.byteorder == "big":
        tokens.byteswap()
    with open(path, "wb") as file:
        tokens.tofile(file)


if __name__ == "__main__":
    write(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

"""In which order a run reads the windows of a file: what runtime/host/data.c and random.c do, so that a
test can give another run the same samples. A window is a sequence; the token behind it is its last target,
so windows may be moved about only where that is masked (padded.py)."""
import array

import padded

WORD, LONG = (1 << 32) - 1, (1 << 64) - 1


def philox(counter, key):
    c, low, high = list(counter), key & WORD, key >> 32
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ low, b & WORD, a >> 32 ^ c[3] ^ high, a & WORD]
        low, high = low + 0x9E3779B9 & WORD, high + 0xBB67AE85 & WORD
    return c


def key_of(seed, name):
    key = 14695981039346656037
    for byte in seed.to_bytes(8, "little") + name.encode():
        key = (key ^ byte) * 1099511628211 & LONG
    return key


def permute(key, index, n):
    half = 1
    while half < 32 and 1 << 2 * half < n:
        half += 1
    mask = (1 << half) - 1
    while True:
        left, right = index >> half, index & mask
        for turn in range(4):
            left, right = right, left ^ philox((right, 0, turn, 2), key)[0] & mask
        index = left << half | right
        if index < n:
            return index


def window(seed, index, n):
    """The window, of n, that is sample `index` of the run."""
    return permute(key_of(seed, "data") + index // n * 0x9E3779B97F4A7C15 & LONG, index % n, n)


def read(path):
    tokens = array.array("H")
    with open(path, "rb") as file:
        tokens.frombytes(file.read())
    return tokens


def targets(whole, sequence, seed, samples):
    """How many targets these samples of a run on `whole` have."""
    n, count = (len(whole) - 1) // sequence, 0
    for sample in samples:
        begin = window(seed, sample, n) * sequence
        count += sum(padded.MASK not in whole[i:i + 2] for i in range(begin, begin + sequence))
    return count


def write_share(path, whole, sequence, seed, samples):
    """Writes a file of which a run reads, as its first samples, these samples of a run on `whole`."""
    n, tokens = (len(whole) - 1) // sequence, array.array("H", [padded.MASK] * (len(samples) * sequence + 1))
    for place, sample in enumerate(samples):
        begin = window(seed, sample, n) * sequence
        at = window(seed, place, len(samples)) * sequence
        tokens[at:at + sequence] = whole[begin:begin + sequence]
    with open(path, "wb") as file:
        tokens.tofile(file)

#!/usr/bin/env python3
"""Writes files as other programs leave them where a run expects text or tokens, and real text in many
languages and encodings.

usage: foreign_data.py FOLDER

Into FOLDER/foreign what is neither text nor tokens that are read, into FOLDER/headed tokens behind a header,
into FOLDER/bare tokens whose name does not say so, into FOLDER/text what is text.
"""
import array
import bz2
import gzip
import io
import lzma
import os
import random
import struct
import sys
import tarfile
import zipfile

WORDS = "the quick brown fox jumps over the lazy dog, and the dog sleeps on.\n" * 60
TOKENS = random.Random(3).choices(range(250), k=2000)


def tokens(code, numbers):
    return array.array(code, numbers).tobytes()


def archive(kind):
    file = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(file, "w") as whole:
            whole.writestr("text", WORDS)
    else:
        with tarfile.open(fileobj=file, mode="w") as whole:
            info = tarfile.TarInfo("text")
            info.size = len(WORDS)
            whole.addfile(info, io.BytesIO(WORDS.encode()))
    return file.getvalue()


def npy(descr="<u2", code="H", shape="(2000,)", fortran="False", version=1, numbers=TOKENS):
    head = f"{{'descr': {descr if descr[0] == '[' else repr(descr)}, 'fortran_order': {fortran}, 'shape': {shape}, }}"
    length = 118 if version == 1 else 116
    return (b"\x93NUMPY" + bytes([version, 0]) + struct.pack("<H" if version == 1 else "<I", length) +
            head.ljust(length - 1).encode() + b"\n" + tokens(code, numbers))


def llm_c(magic, version, code, count=len(TOKENS)):
    return tokens("i", [magic, version, count] + [0] * 253) + tokens(code, TOKENS)


FOREIGN = {
    "renamed.u16": npy(), "int64.npy": npy("<i8", "q"), "big.npy": npy(">u2"), "rows.npy": npy(shape="(50, 40)"),
    "columns.npy": npy(shape="(50, 40)", fortran="True"), "records.npy": npy("[('a', '<u2')]"), "names.npy": npy("<U1", "I"),
    "short.npy": npy()[:-2], "longer.npy": npy() + b"\0", "huge.npy": npy(shape="(9223372036854775807,)"),
    "damaged.npy": npy(shape="(2000"), "bare.npy": tokens("H", TOKENS), "old.bin": llm_c(20240520, 2, "H"),
    "short.bin": llm_c(20240520, 1, "H")[:-2], "head.bin": llm_c(20240520, 1, "H")[:1000], "more.bin": llm_c(20240520, 1, "H", -1),
    "text.gz": gzip.compress(WORDS.encode()),
    "text.xz": lzma.compress(WORDS.encode()), "text.bz2": bz2.compress(WORDS.encode()),
    "text.zst": b"\x28\xb5\x2f\xfd" + random.Random(1).randbytes(4000),
    "text.lz4": b"\x04\x22\x4d\x18" + random.Random(1).randbytes(4000),
    "text.zip": archive("zip"), "text.tar": archive("tar"), "data.idx": b"MMIDIDX\x00\x00" + struct.pack("<QB", 1, 8) + bytes(4000),
    "table.parquet": b"PAR1" + bytes(4000), "table.arrow": b"ARROW1\x00\x00" + bytes(4000),
    "data.h5": b"\x89HDF\r\n\x1a\n" + bytes(4000), "paper.pdf": b"%PDF-1.7\n" + bytes(4000),
    "utf16.txt": WORDS.encode("utf-16"), "utf32.txt": WORDS.encode("utf-32"),
    "random": random.Random(2).randbytes(4000), "zeros": bytes(4000), "int64.bin": tokens("q", TOKENS + [-1] * 9),
    # No byte 0, but no text either.
    "controls": bytes(random.Random(4).choices(range(1, 32), k=4000)),
}
WHOLE = TOKENS[:1984]  # of the windows of 64, but for the last target
HEADED = {
    "u1.npy": npy("|u1", "B"), "u2.npy": npy(), "u4.npy": npy("<u4", "I", version=2), "u8.npy": npy("<u8", "Q", version=3),
    "gpt2.bin": llm_c(20240520, 1, "H"), "llama3.bin": llm_c(20240801, 7, "I"), "array": npy(),
    "bare.u16": tokens("H", TOKENS), "masked.u16": tokens("H", WHOLE + [65535] * 16), "masked.npy": npy(numbers=WHOLE + [65535] * 16),
    "masked8.npy": npy("<u8", "Q", numbers=WHOLE + [2**64 - 1] * 16),
    "unknown.npy": npy("<u8", "Q", numbers=TOKENS[:-1] + [2**64 - 2]), "unknown.bin": llm_c(20240520, 1, "H")[:-2] + b"\1\1",
}
BARE = {"train.bin": tokens("H", TOKENS + [65535]), "train": tokens("I", TOKENS + [2**32 - 1])}
TEXT = {
    "english": WORDS.encode(), "german.txt": ("Zwölf Boxkämpfer jagen Viktor quer über den großen Deich.\n" * 60).encode(),
    "russian": ("Съешь же ещё этих мягких французских булок, да выпей чаю.\n" * 60).encode(),
    "chinese": ("天地玄黃，宇宙洪荒。日月盈昃，辰宿列張。\n" * 60).encode(), "emoji": ("🙂🚀👩‍💻\n" * 200).encode(),
    "hindi": ("ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का।\n" * 60).encode(),
    "arabic": ("نص حكيم له سر قاطع وذو شأن عظيم مكتوب على ثوب أخضر.\n" * 60).encode(),
    "latin1": ("Zwölf Boxkämpfer jagen Viktor.\n" * 60).encode("latin-1"),
    "shift_jis": ("いろはにほへと ちりぬるを\n" * 60).encode("shift_jis"), "koi8": ("Съешь же ещё этих булок.\n" * 60).encode("koi8-r"),
    "dos.csv": ("number,word\r\n1,one\r\n" * 60).encode(), "bom.txt": ("\ufeff" + WORDS).encode(), "code.c": WORDS.replace(" ", "\t").encode(),
    "terminal.log": ("\x1b[31merror\x1b[0m: no\x08w\n" * 100).encode(), "cut": ("天地玄黃" * 100).encode()[:-1],
    "pages": (WORDS + "\f").encode(), "stray": (WORDS * 2 + "\x01").encode(),
}

for folder, files in ("foreign", FOREIGN), ("headed", HEADED), ("bare", BARE), ("text", TEXT):
    os.makedirs(os.path.join(sys.argv[1], folder), exist_ok=True)
    for name, content in files.items():
        with open(os.path.join(sys.argv[1], folder, name), "wb") as file:
            file.write(content)

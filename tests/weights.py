#!/usr/bin/env python3
"""Writes a safetensors file otherwise, as others write weights, or compares two of them.

    weights.py write FILE TO [type=F16|BF16|F64] [files=N] [strip] [head] [extra=NAME] [drop=NAME] [first=VALUE]
        type: of all elements (rounded to the nearest); files: so many and an index, in the folder TO, else the file TO;
        strip: names without their first part; head: a copy of the table of the embedding as lm_head.weight; extra: a
        vector that no model has; drop: without that tensor; first: of each tensor the first element
    weights.py same FILE OTHER     the same names, shapes and values, whatever their types
    weights.py hostile FILE TO     files in the folder TO whose headers lie about the bytes of FILE
"""
import json
import os
import struct
import sys

SIZES = {"F16": 2, "BF16": 2, "F32": 4, "F64": 8}


def read(path):
    """{name: (shape, values)}"""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + length + offset for offset in about["data_offsets"])
        raw = data[begin:end]
        if about["dtype"] == "BF16":
            raw = b"".join(b"\0\0" + raw[i:i + 2] for i in range(0, len(raw), 2))
        code = {"F16": "e", "BF16": "f", "F32": "f", "F64": "d"}[about["dtype"]]
        tensors[name] = about["shape"], struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)
    return tensors


def packed(values, kind):
    if kind == "BF16":  # to the nearest, of two the even one
        bits = struct.unpack(f"<{len(values)}I", struct.pack(f"<{len(values)}f", *values))
        return struct.pack(f"<{len(values)}H", *((b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits))
    return struct.pack(f"<{len(values)}{dict(F16='e', F32='f', F64='d')[kind]}", *values)


def write(path, tensors, kind):
    header, data = {"__metadata__": {"format": "pt", "note": "h\u00e9"}}, b""
    for name, (shape, values) in tensors.items():
        raw = packed(values, kind)
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def hostile(path, folder):
    """Each is wrong in one thing."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack("<Q", data[:8])[0]
    header, behind = json.loads(data[8:8 + length]), data[8 + length:]
    name = next(name for name in header if name.endswith("wte.weight"))
    begin, end = header[name]["data_offsets"]
    about = {"behind the end": {"data_offsets": [len(behind), len(behind) + end - begin]},
             "far behind": {"data_offsets": [2 ** 62, 2 ** 62 + end - begin]}, "backwards": {"data_offsets": [end, begin]},
             "short": {"data_offsets": [begin, end - 4]}, "one offset": {"data_offsets": [begin]},
             "negative": {"data_offsets": [-4, end - begin - 4]}, "huge": {"shape": [2 ** 40, 2 ** 40]},
             "fraction": {"shape": [256.5, 32]}, "deep": {"shape": [1] * 100 + header[name]["shape"]},
             "no type": {"dtype": 4}, "other type": {"dtype": "F8_E4M3"}, "more": {"strides": [1]}}
    os.makedirs(folder)
    for wrong, fields in about.items():
        text = json.dumps({**header, name: {**header[name], **fields}}).encode()
        with open(os.path.join(folder, wrong.replace(" ", "_")), "wb") as to:
            to.write(struct.pack("<Q", len(text)) + text + behind)
    for wrong, text in {"twice": data[8:8 + length].rstrip()[:-1] + b", " + json.dumps(
            {name: header[name]})[1:].encode(), "cut": data[8:8 + length // 2], "list": b"[" * 100000,
            "empty": b"{}", "none": b"", "control": b'{"a\\u001b[31m": {}}', "name": b'{"' + b"a" * 100000 + b'": 1}'}.items():
        with open(os.path.join(folder, wrong), "wb") as to:
            to.write(struct.pack("<Q", len(text)) + text + behind)
    for wrong, n in {"length": 2 ** 63 - 1, "longer": len(data), "all": 2 ** 64 - 1}.items():
        with open(os.path.join(folder, wrong), "wb") as to:
            to.write(struct.pack("<Q", n) + data[8:])


def main():
    verb, path, other, *rest = sys.argv[1:]
    if verb == "hostile":
        hostile(path, other)
        return
    tensors = read(path)
    if verb == "same":
        there = read(other)
        assert tensors.keys() == there.keys(), tensors.keys() ^ there.keys()
        assert all(tensors[name] == there[name] for name in tensors), [n for n in tensors if tensors[n] != there[n]]
        return
    options = dict(word.split("=") if "=" in word else (word, "") for word in rest)
    if "head" in options:
        tensors["lm_head.weight"] = next(tensor for name, tensor in tensors.items()
                                         if name.endswith(("wte.weight", "embed_tokens.weight")))
    if "extra" in options:
        tensors[options["extra"]] = [4], (1.0, 2.0, 3.0, 4.0)
    tensors.pop(options.get("drop"), None)
    if "first" in options:
        tensors = {name: (shape, (float(options["first"]), *values[1:])) for name, (shape, values) in tensors.items()}
    if "strip" in options:
        tensors = {name if name == "lm_head.weight" else name.split(".", 1)[1]: tensor
                   for name, tensor in tensors.items()}
    kind, n = options.get("type", "F32"), int(options.get("files", 0))
    if not n:
        write(other, tensors, kind)
        return
    os.makedirs(other, exist_ok=True)
    names, index = sorted(tensors), {}
    for i in range(n):
        file = f"model-{i + 1:05}-of-{n:05}.safetensors"
        write(os.path.join(other, file), {name: tensors[name] for name in names[i::n]}, kind)
        index.update((name, file) for name in names[i::n])
    with open(os.path.join(other, "model.safetensors.index.json"), "w", encoding="utf-8") as to:
        json.dump({"metadata": {"total_size": 1, "of": [1.5, None]}, "weight_map": index}, to)


main()

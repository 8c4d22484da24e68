#!/usr/bin/env python3
"""PyTorch's time for a training step of the model and the batch of a .place file: fp32, or bf16 by autocast, AdamW,
tied head, GELU by tanh.

MODEL is the text of the file's gpt2 model and its train block. Each of RANKS processes trains on its part of the
batch with THREADS threads: DistributedDataParallel with gloo, and ZeroRedundancyOptimizer for zero1. Prints one line
of JSON with the seconds of each step. Attention is written out, as PyTorch 1.13 has no fused one on CPUs; with
PyTorch 2 its own is taken.
"""
import argparse
import ctypes
import json
import os
import re
import socket
import time

import torch
from torch import nn
from torch.nn import functional

ADAMW = {"lr": 1e-3}


class Block(nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden, sequence = shape["hidden"], shape["sequence"]
        self.heads = shape["heads"]
        self.norm1, self.norm2 = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
        self.qkv, self.out = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
        self.up, self.down = nn.Linear(hidden, shape["ffn"]), nn.Linear(shape["ffn"], hidden)
        self.register_buffer("mask", torch.full((sequence, sequence), float("-inf")).triu(1))

    def attend(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, self.heads, h // self.heads).transpose(1, 2) for t in self.qkv(x).split(h, 2))
        if hasattr(functional, "scaled_dot_product_attention"):
            o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / (h // self.heads) ** 0.5 + self.mask
            o = scores.softmax(3) @ v
        return self.out(o.transpose(1, 2).reshape(b, s, h))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Model(nn.Module):
    def __init__(self, shape):
        super().__init__()
        hidden = shape["hidden"]
        self.token, self.position = nn.Embedding(shape["vocab"], hidden), nn.Embedding(shape["sequence_limit"], hidden)
        self.blocks = nn.ModuleList(Block(shape) for _ in range(shape["layers"]))
        self.norm = nn.LayerNorm(hidden)
        for table in (self.token, self.position):  # PyTorch's own 1.0 makes logits of hundreds, and denormals of them
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position.weight[:tokens.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.token.weight.t()
        return functional.cross_entropy(logits.view(-1, logits.shape[2]), targets.reshape(-1))


def blas():
    """The products' library with the kernels that it took, where it is an OpenBLAS."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        files = sorted({line.split()[-1] for line in maps if "libblas" in line or "libopenblas" in line})
    for file in files:
        library = ctypes.CDLL(file)
        if hasattr(library, "openblas_get_corename"):
            library.openblas_get_corename.restype = ctypes.c_char_p
            return f"{os.path.basename(os.path.dirname(file))} {library.openblas_get_corename().decode()}"
    return "own"


def distribute(model, rank, ranks, kind, port):
    """The model and its optimizer as each of several processes has them."""
    from torch.distributed import init_process_group
    from torch.distributed.optim import ZeroRedundancyOptimizer
    from torch.nn.parallel import DistributedDataParallel
    init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=ranks)
    parallel = DistributedDataParallel(model, gradient_as_bucket_view=True)
    if kind == "zero1":
        return parallel, ZeroRedundancyOptimizer(model.parameters(), torch.optim.AdamW, **ADAMW)
    return parallel, torch.optim.AdamW(model.parameters(), **ADAMW)


def train(rank, shape, steps, threads, ranks, kind, bf16, port):
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Model(shape)
    if ranks > 1:
        trained, optimizer = distribute(model, rank, ranks, kind, port)
    else:
        trained, optimizer = model, torch.optim.AdamW(model.parameters(), **ADAMW)
    torch.manual_seed(rank)
    data = torch.randint(shape["vocab"], (shape["batch"] // ranks, shape["sequence"] + 1))
    seconds = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = trained(data[:, :-1], data[:, 1:])
        loss.backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    if rank == 0:
        print(json.dumps({"version": torch.__version__, "blas": blas(), "seconds": seconds,
                          "parameters": sum(p.numel() for p in model.parameters())}), flush=True)
    if ranks > 1:
        torch.distributed.destroy_process_group()  # its threads would end the process with an abort, now and then


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("steps", type=int)
    parser.add_argument("threads", type=int)
    parser.add_argument("ranks", type=int, nargs="?", default=1)
    parser.add_argument("kind", choices=("ddp", "zero1"), nargs="?", default="ddp")
    parser.add_argument("--bf16", action="store_true", help="by autocast")
    options = parser.parse_args()
    shape = {name: int(number) for name, number in re.findall(r"\b(\w+) = (\d+)\b", options.model)}
    ranks = options.ranks
    arguments = (shape, options.steps, options.threads, ranks, options.kind, options.bf16, free_port())
    if ranks > 1:
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # this machine's name may have no address
        torch.multiprocessing.spawn(train, arguments, nprocs=ranks)
    else:
        train(0, *arguments)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""PyTorch's tokens per second on the 4-layer GPT of bench/training: same shapes, fp32, AdamW, tied head.

usage: pytorch_gpt.py THREADS STEPS; prints one line of JSON. Attention is written out, as PyTorch 1.13
has no fused one on CPUs; with PyTorch 2 its own is taken.
"""
import json
import sys
import time

import torch
from torch import nn
from torch.nn import functional

LAYERS, HIDDEN, HEADS, SEQUENCE, VOCAB, BATCH = 4, 256, 4, 128, 256, 8


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.qkv, self.out = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.up, self.down = nn.Linear(HIDDEN, 4 * HIDDEN), nn.Linear(4 * HIDDEN, HIDDEN)
        self.register_buffer("mask", torch.full((SEQUENCE, SEQUENCE), float("-inf")).triu(1))

    def attend(self, x):
        b, s, h = x.shape
        q, k, v = (t.view(b, s, HEADS, h // HEADS).transpose(1, 2) for t in self.qkv(x).split(h, 2))
        if hasattr(functional, "scaled_dot_product_attention"):
            o = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = q @ k.transpose(2, 3) / (h // HEADS) ** 0.5 + self.mask
            o = scores.softmax(3) @ v
        return self.out(o.transpose(1, 2).reshape(b, s, h))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.position = nn.Embedding(VOCAB, HIDDEN), nn.Embedding(SEQUENCE, HIDDEN)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.LayerNorm(HIDDEN)

    def forward(self, tokens, targets):
        x = self.token(tokens) + self.position.weight
        for block in self.blocks:
            x = block(x)
        logits = self.norm(x) @ self.token.weight.t()
        return functional.cross_entropy(logits.view(-1, VOCAB), targets.reshape(-1))


def main():
    threads, steps = int(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.randint(VOCAB, (BATCH, SEQUENCE + 1))
    times = []
    for _ in range(steps):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss = model(data[:, :-1], data[:, 1:])
        loss.backward()
        optimizer.step()
        times.append(time.perf_counter() - start)
    middle = sorted(times[2:])[len(times[2:]) // 2]
    print(json.dumps({"version": torch.__version__, "threads": threads,
                      "parameters": sum(p.numel() for p in model.parameters()),
                      "tokens_per_second": BATCH * SEQUENCE / middle}))


main()

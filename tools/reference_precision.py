#!/usr/bin/env python3
"""Losses of fifty AdamW steps of the tiny models of tools/reference_pytorch.py in bf16, by PyTorch:

    tools/reference_precision.py tests/expected

Rounding makes runs part that differ only in the order in which something is added up, so each is made
several times, with the hidden dimension, that of the feed-forward layer and the sequences of a batch in
another order, by which nothing else changes. How far these runs are from each other is the measure of
how far ours may be from them. Parameters (rounded to bf16, so that all begin alike) and batches are read
from the files that the other script has written; one file for each model, of f64 [orders, steps]:
    master/loss   parameters in bf16, of which AdamW has a master copy in fp32, gradients handed to it in
                  fp32, as Megatron-LM has it
    cast/loss     parameters in fp32, cast to bf16 for each use, as FSDP2 has it
    narrow/loss   parameters, gradients and moments in bf16
What is computed in bf16 is PyTorch's: products, attention, norms and AdamW add up in fp32 and round.
"""
import itertools
import os
import sys

import torch
import torch.nn.functional as F

import reference_pytorch as reference
from reference_optimizers import read_safetensors

ORDERS = 6
rotate_exactly = reference.rotate
PERMUTED = (reference.HIDDEN, reference.FFN)  # sizes that no other dimension has


def attend(q, k, v):
    k, v = (x.repeat_interleave(reference.GROUP, dim=1) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def rotate(x):
    """In fp32, as Hugging Face's models do, and rounded once."""
    return rotate_exactly(x.float()).to(x.dtype)


def norm(family, x, gain, bias):
    if family == "gpt2":
        return F.layer_norm(x, (reference.HIDDEN,), gain, bias, reference.EPS)
    return F.rms_norm(x, (reference.HIDDEN,), gain, reference.EPS)


def loss_of_logits(logits, targets):
    return F.cross_entropy(logits.float(), targets, ignore_index=-1)


def permuted(tensor, order):
    for dimension, size in enumerate(tensor.shape):
        if size in PERMUTED:
            tensor = tensor.index_select(dimension, order[size])
    return tensor


def random_order(seed):
    generator = torch.Generator().manual_seed(seed)
    sizes = (*PERMUTED, reference.BATCH)
    return {size: torch.randperm(size, generator=generator) if seed else torch.arange(size) for size in sizes}


def clip_factor(tensors):
    """That of `clip_grad_norm_`, which would round what it multiplies; AdamW's fused step takes it along."""
    norm = torch.nn.utils.get_total_norm([tensor.grad.float() for tensor in tensors])
    return (reference.CLIP / (norm + 1e-6)).clamp(max=1)


def train(family, data, variant, seed):
    order = random_order(seed)
    start = {
        name.removeprefix("parameter/"): permuted(value, order).bfloat16()
        for name, value in data.items()
        if name.startswith("parameter/")
    }
    updated = {
        name: (value if variant == "narrow" else value.float()).requires_grad_() for name, value in start.items()
    }
    groups = reference.groups(updated, reference.DECAY)
    optimizer = torch.optim.AdamW(groups, lr=1.0, betas=reference.BETAS, eps=reference.ADAM_EPS, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: reference.rate(n + 1))
    losses = []
    for step in range(reference.STEPS):
        optimizer.zero_grad()
        if variant == "master":
            read = {name: value.detach().bfloat16().requires_grad_() for name, value in updated.items()}
        else:
            read = {name: value.bfloat16() for name, value in updated.items()}
        batch = (data[name][step].long()[order[reference.BATCH]] for name in ("tokens", "targets"))
        loss = reference.loss_of(family, read, *batch)
        loss.backward()
        if variant == "master":
            for name, value in updated.items():
                value.grad = read[name].grad.float()
        losses.append(loss.item())
        optimizer.grad_scale = 1 / clip_factor(updated.values())
        optimizer.step()
        schedule.step()
    return losses


def distance(runs):
    pairs = list(itertools.combinations(runs, 2))
    return torch.stack([(a - b).pow(2).mean() for a, b in pairs]).mean().sqrt().item()


def main(folder):
    torch.set_num_threads(1)
    reference.attend, reference.rotate, reference.norm = attend, rotate, norm
    reference.loss_of_logits = loss_of_logits
    for family in ("gpt2", "llama"):
        data = read_safetensors(os.path.join(folder, f"pytorch_{family}.safetensors"))
        tensors = {}
        for variant in ("master", "cast", "narrow"):
            runs = torch.tensor([train(family, data, variant, seed) for seed in range(ORDERS)], dtype=torch.float64)
            tensors[f"{variant}/loss"] = runs
            print(f"{family}, {variant}: {runs[0][-1]:.6f} at the end, runs differ by {distance(runs):.2e}")
        reference.write_safetensors(os.path.join(folder, f"precision_{family}.safetensors"), tensors)


if __name__ == "__main__":
    main(sys.argv[1])

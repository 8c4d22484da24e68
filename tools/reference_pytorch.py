#!/usr/bin/env python3
"""Trains two tiny models in PyTorch, in fp64 on one CPU, and writes down what came out:

    tools/reference_pytorch.py tests/expected

The tests compare our programs with these numbers and never need PyTorch. The models are those of
tests/tiny_models.c: a GPT-2 and a Llama with sizes that are pairwise different (only what has to be
equal is), everything random, gains and biases too, and some targets masked.

One safetensors file per model, tensors under our names, with `layers` as the first dimension of what
is repeated by layer:
    parameter/NAME   f32     before the first step (so that fp32 and fp64 start from the same numbers)
    gradient/NAME    f64     of the first step, not clipped
    final/NAME       f64     after the last step
    tokens, targets  i32     [steps, batch, sequence]; -1 masks
    loss, grad_norm, learning_rate  f64 [steps]: AdamW, clipping, warm-up and cosine
    sgd/loss, momentum/loss, nesterov/loss  f64 [sgd steps]: the same start, constant rate, no clip

The mathematics is written the way Hugging Face's models do it (concatenated heads, repeated keys,
rotate_half) and not the way our ops do it, so that an agreement means something.
"""
import json
import math
import os
import struct
import sys

import torch
import torch.nn.functional as F

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD_DIM = 5, 10, 6, 2, 8
FFN, VOCAB, POSITIONS, BATCH, SEQUENCE = 14, 18, 11, 4, 7
GROUP = HEADS // KV_HEADS
EPS, THETA, ROPE = 1e-5, 100.0, {"factor": 4.0, "low": 1.0, "high": 2.0, "original": 20}
STEPS, WARMUP, BASE, MINIMUM, CLIP = 50, 5, 0.01, 0.001, 1.0
BETAS, ADAM_EPS, DECAY = (0.9, 0.95), 1e-8, 0.1
SGD_STEPS, SGD_RATE, MOMENTUM = 10, 0.05, 0.9


def shapes(family):
    """Our names and shapes, in our order."""
    gpt2 = family == "gpt2"
    block = {"attention.norm.gain": [HIDDEN]}
    if gpt2:
        block["attention.norm.bias"] = [HIDDEN]
    for name, heads in (("q", [KV_HEADS, GROUP]), ("k", [KV_HEADS]), ("v", [KV_HEADS])):
        block[f"attention.{name}.weight"] = [HIDDEN, *heads, HEAD_DIM]
        if gpt2:
            block[f"attention.{name}.bias"] = [*heads, HEAD_DIM]
    block["attention.out.weight"] = [KV_HEADS, GROUP, HEAD_DIM, HIDDEN]
    if gpt2:
        block["attention.out.bias"] = [HIDDEN]
    block["mlp.norm.gain"] = [HIDDEN]
    if gpt2:
        block["mlp.norm.bias"] = [HIDDEN]
    else:
        block["mlp.gate.weight"] = [HIDDEN, FFN]
    block["mlp.up.weight"] = [HIDDEN, FFN]
    if gpt2:
        block["mlp.up.bias"] = [FFN]
    block["mlp.down.weight"] = [FFN, HIDDEN]
    if gpt2:
        block["mlp.down.bias"] = [HIDDEN]

    all_shapes = {"embedding.token": [VOCAB, HIDDEN]}
    if gpt2:
        all_shapes["embedding.position"] = [POSITIONS, HIDDEN]
    all_shapes.update({f"block.{name}": [LAYERS, *shape] for name, shape in block.items()})
    all_shapes["norm.gain"] = [HIDDEN]
    if gpt2:
        all_shapes["norm.bias"] = [HIDDEN]
    else:
        all_shapes["head.weight"] = [VOCAB, HIDDEN]
    return all_shapes


def random_parameters(family, generator):
    parameters = {}
    for name, shape in shapes(family).items():
        value = torch.rand(shape, generator=generator, dtype=torch.float64) - 0.5
        if name.endswith("gain"):
            value += 1
        parameters[name] = value.float()
    return parameters


def random_batches(generator):
    tokens = torch.randint(VOCAB, (STEPS, BATCH, SEQUENCE), generator=generator)
    targets = torch.randint(VOCAB, (STEPS, BATCH, SEQUENCE), generator=generator)
    masked = torch.rand((STEPS, BATCH, SEQUENCE), generator=generator) < 0.2
    return tokens, targets.masked_fill(masked, -1)


# ---- the models -----------------------------------------------------------------------------------


def rope_frequencies():
    """Hugging Face's `_compute_llama3_parameters`."""
    frequencies = 1.0 / (THETA ** (torch.arange(0, HEAD_DIM, 2, dtype=torch.float64) / HEAD_DIM))
    low_wavelength = ROPE["original"] / ROPE["low"]
    high_wavelength = ROPE["original"] / ROPE["high"]
    wavelength = 2 * math.pi / frequencies
    scaled = torch.where(wavelength > low_wavelength, frequencies / ROPE["factor"], frequencies)
    smooth = (ROPE["original"] / wavelength - ROPE["low"]) / (ROPE["high"] - ROPE["low"])
    smoothed = (1 - smooth) * scaled / ROPE["factor"] + smooth * scaled
    is_medium = ~(wavelength < high_wavelength) * ~(wavelength > low_wavelength)
    # The three cases must all occur, or the test would not see one of them.
    assert (wavelength > low_wavelength).any() and (wavelength < high_wavelength).any() and is_medium.any()
    return torch.where(is_medium, smoothed, scaled)


def rotate(x):
    """x: [batch, heads, sequence, head_dim]"""
    angles = torch.outer(torch.arange(SEQUENCE, dtype=torch.float64), rope_frequencies())
    cos, sin = torch.cat((angles, angles), -1).cos(), torch.cat((angles, angles), -1).sin()
    half = HEAD_DIM // 2
    rotated_half = torch.cat((-x[..., half:], x[..., :half]), -1)
    return x * cos + rotated_half * sin


def attend(q, k, v):
    k, v = k.repeat_interleave(GROUP, dim=1), v.repeat_interleave(GROUP, dim=1)
    scores = q @ k.transpose(-1, -2) / math.sqrt(HEAD_DIM)
    mask = torch.ones(SEQUENCE, SEQUENCE, dtype=torch.bool).tril()
    return scores.masked_fill(~mask, -math.inf).softmax(-1) @ v


def attention(family, x, p):
    def project(name, heads):
        y = x @ p(f"attention.{name}.weight").reshape(HIDDEN, heads * HEAD_DIM)
        if family == "gpt2":
            y = y + p(f"attention.{name}.bias").reshape(-1)
        return y.view(BATCH, SEQUENCE, heads, HEAD_DIM).transpose(1, 2)

    q, k, v = project("q", HEADS), project("k", KV_HEADS), project("v", KV_HEADS)
    if family == "llama":
        q, k = rotate(q), rotate(k)
    o = attend(q, k, v).transpose(1, 2).reshape(BATCH, SEQUENCE, HEADS * HEAD_DIM)
    y = o @ p("attention.out.weight").reshape(HEADS * HEAD_DIM, HIDDEN)
    return y + p("attention.out.bias") if family == "gpt2" else y


def mlp(family, x, p):
    if family == "gpt2":
        up = x @ p("mlp.up.weight") + p("mlp.up.bias")
        return F.gelu(up, approximate="tanh") @ p("mlp.down.weight") + p("mlp.down.bias")
    return (F.silu(x @ p("mlp.gate.weight")) * (x @ p("mlp.up.weight"))) @ p("mlp.down.weight")


def norm(family, x, gain, bias):
    if family == "gpt2":
        return F.layer_norm(x, (HIDDEN,), gain, bias, EPS)
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + EPS) * gain


def loss_of_logits(logits, targets):
    return F.cross_entropy(logits, targets, ignore_index=-1)


def loss_of(family, parameters, tokens, targets):
    gpt2 = family == "gpt2"
    x = parameters["embedding.token"][tokens]
    if gpt2:
        x = x + parameters["embedding.position"][:SEQUENCE]
    for layer in range(LAYERS):
        def p(name):
            return parameters[f"block.{name}"][layer]
        bias = p("attention.norm.bias") if gpt2 else None
        x = x + attention(family, norm(family, x, p("attention.norm.gain"), bias), p)
        bias = p("mlp.norm.bias") if gpt2 else None
        x = x + mlp(family, norm(family, x, p("mlp.norm.gain"), bias), p)
    x = norm(family, x, parameters["norm.gain"], parameters.get("norm.bias"))
    logits = x @ parameters["embedding.token" if gpt2 else "head.weight"].T
    return loss_of_logits(logits.reshape(-1, VOCAB), targets.reshape(-1))


# ---- training -------------------------------------------------------------------------------------


def is_matrix(name):
    """Of one layer's tensor as PyTorch would have it: biases and gains have one dimension."""
    return not name.endswith(("gain", "bias"))


def leaves(parameters):
    return {name: value.double().requires_grad_() for name, value in parameters.items()}


def groups(leaf, decay):
    return [
        {"params": [v for n, v in leaf.items() if is_matrix(n)], "weight_decay": decay},
        {"params": [v for n, v in leaf.items() if not is_matrix(n)], "weight_decay": 0.0},
    ]


def rate(step):
    """Of step 1, 2, ...: linear to BASE at step WARMUP, then half a cosine to MINIMUM at STEPS."""
    if step <= WARMUP:
        return BASE * step / WARMUP
    progress = (step - WARMUP) / (STEPS - WARMUP)
    return MINIMUM + (BASE - MINIMUM) * 0.5 * (1 + math.cos(math.pi * progress))


def train_adamw(family, parameters, tokens, targets):
    leaf = leaves(parameters)
    optimizer = torch.optim.AdamW(groups(leaf, DECAY), lr=1.0, betas=BETAS, eps=ADAM_EPS)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: rate(n + 1))
    found = {"loss": [], "grad_norm": [], "learning_rate": []}
    for step in range(STEPS):
        optimizer.zero_grad()
        loss = loss_of(family, leaf, tokens[step], targets[step])
        loss.backward()
        if step == 0:
            found.update({f"gradient/{n}": v.grad.clone() for n, v in leaf.items()})
        found["loss"].append(loss.item())
        found["grad_norm"].append(torch.nn.utils.clip_grad_norm_(leaf.values(), CLIP).item())
        found["learning_rate"].append(schedule.get_last_lr()[0])
        optimizer.step()
        schedule.step()
    clipped = sum(n > CLIP for n in found["grad_norm"])
    print(f"{family}: loss {found['loss'][0]:.6f} -> {found['loss'][-1]:.6f}, {clipped} of {STEPS} steps clipped")
    assert 0 < clipped < STEPS
    found.update({f"final/{n}": v.detach() for n, v in leaf.items()})
    return found


def train_sgd(family, parameters, tokens, targets, momentum, nesterov):
    leaf = leaves(parameters)
    optimizer = torch.optim.SGD(groups(leaf, DECAY), lr=SGD_RATE, momentum=momentum, nesterov=nesterov)
    losses = []
    for step in range(SGD_STEPS):
        optimizer.zero_grad()
        loss = loss_of(family, leaf, tokens[step], targets[step])
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses


# ---- writing --------------------------------------------------------------------------------------

DTYPES = {torch.float32: ("F32", "f"), torch.float64: ("F64", "d"), torch.int32: ("I32", "i")}


def write_safetensors(path, tensors):
    header, blobs, offset = {}, [], 0
    for name, tensor in tensors.items():
        dtype, code = DTYPES[tensor.dtype]
        blob = struct.pack(f"<{tensor.numel()}{code}", *tensor.reshape(-1).tolist())
        header[name] = {"dtype": dtype, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def main(folder):
    torch.set_num_threads(1)
    for seed, family in enumerate(("gpt2", "llama")):
        generator = torch.Generator().manual_seed(seed)
        parameters = random_parameters(family, generator)
        tokens, targets = random_batches(generator)
        tensors = {f"parameter/{name}": value for name, value in parameters.items()}
        tensors.update({"tokens": tokens.int(), "targets": targets.int()})
        tensors.update(train_adamw(family, parameters, tokens, targets))
        for name, momentum, nesterov in (("sgd", 0, False), ("momentum", MOMENTUM, False), ("nesterov", MOMENTUM, True)):
            tensors[f"{name}/loss"] = train_sgd(family, parameters, tokens, targets, momentum, nesterov)
        tensors = {
            name: value if torch.is_tensor(value) else torch.tensor(value, dtype=torch.float64)
            for name, value in tensors.items()
        }
        write_safetensors(os.path.join(folder, f"pytorch_{family}.safetensors"), tensors)


if __name__ == "__main__":
    main(sys.argv[1])

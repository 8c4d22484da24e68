#!/usr/bin/env python3
"""Losses of the tiny models of tools/reference_pytorch.py under further optimizers, in fp64:

    tools/reference_optimizers.py tests/expected

Adam with L2 regularisation, Muon and Adafactor are PyTorch's (2.9 or later), Lion is the package lion-pytorch, of
which its authors' own differs in nothing but names. Parameters and batches are read from the files
that the other script has written; one file for each model, of f64 [steps]:
    adam/loss, lion/loss     of all parameters
    adafactor/loss           of all parameters
    adafactor_short/loss     the same with steps that are always cut, without decay, and another mean
    muon/loss                of the matrices of layers, AdamW of the rest
    muon_plain/loss          the same without Nesterov's step, the rate as `match_rms_adamw` has it
    muon_first/loss          Muon of the first layer's matrices alone, AdamW of those of all others, too
"""
import inspect
import json
import os
import struct
import sys

import torch
from lion_pytorch import Lion

import reference_pytorch as reference

STEPS, RATE, LION_RATE, MUON_RATE, ADAFACTOR_RATE = 10, 0.01, 0.002, 0.02, 0.1


def read_safetensors(path):
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    dtypes = {row[0]: dtype for dtype, row in reference.DTYPES.items()}
    return {
        name: torch.frombuffer(bytearray(data[slice(*row["data_offsets"])]), dtype=dtypes[row["dtype"]])
        .reshape(row["shape"])
        for name, row in header.items()
    }


def losses_of(family, data, parameters_now, optimizers):
    losses = []
    for step in range(STEPS):
        for optimizer in optimizers:
            optimizer.zero_grad()
        loss = reference.loss_of(family, parameters_now(), data["tokens"][step].long(), data["targets"][step].long())
        loss.backward()
        losses.append(loss.item())
        for optimizer in optimizers:
            optimizer.step()
    return losses


def train(family, data, parameters, make):
    leaf = reference.leaves(parameters)
    return losses_of(family, data, lambda: leaf, [make(reference.groups(leaf, reference.DECAY))])


def iterate_in_own_type():
    """PyTorch's Muon iterates in bf16: here in the type of the gradient."""
    module = torch.optim._muon
    source = inspect.getsource(module._zeropower_via_newtonschulz)
    assert source.count("torch.bfloat16") == 1
    exec(source.replace("torch.bfloat16", "grad.dtype"), module.__dict__)


# ---- Muon -------------------------------------------------------------------------------------------


def matrix(layer):
    """Of a layer's tensor [in, out] as PyTorch holds it, [out, in]."""
    return layer.reshape(sides(layer), -1).T.clone().requires_grad_()


def sides(layer):
    """How many inputs the matrix has."""
    return reference.HIDDEN if layer.shape[0] == reference.HIDDEN else layer.numel() // reference.HIDDEN


def train_muon(family, data, parameters, n_layers=None, **options):
    """One matrix [out, in] for each tensor of the first layers, of all where nothing is said; NS iterates in the
    type of the parameters."""
    leaf = reference.leaves(parameters)
    matrices = {}
    for name in [n for n in leaf if n.startswith("block.") and reference.is_matrix(n)]:
        value = leaf.pop(name).detach()
        matrices[name] = value.shape[1:], [matrix(layer) for layer in value[:n_layers]]
        if n_layers:
            leaf[name] = value[n_layers:].clone().requires_grad_()

    def parameters_now():
        now = {n: torch.stack([m.T.reshape(shape) for m in layers]) for n, (shape, layers) in matrices.items()}
        if n_layers:
            now = {n: torch.cat([value, leaf[n]]) for n, value in now.items()}
        return {**leaf, **now}

    flat = [layer for _, layers in matrices.values() for layer in layers]
    adamw = torch.optim.AdamW(reference.groups(leaf, reference.DECAY), lr=RATE, betas=reference.BETAS, eps=reference.ADAM_EPS)
    muon = torch.optim.Muon(flat, lr=MUON_RATE, weight_decay=reference.DECAY, **options)
    return losses_of(family, data, parameters_now, [adamw, muon])


# ---- Adafactor --------------------------------------------------------------------------------------


def train_adafactor(family, data, parameters, decay, **options):
    """Its statistics are of one tensor: one matrix, or one vector, for each tensor of each layer."""
    leaf = reference.leaves(parameters)
    parts, groups = {}, {True: [], False: []}
    for name, value in leaf.items():
        is_matrix = reference.is_matrix(name)
        layers = value.detach() if name.startswith("block.") else value.detach()[None]
        turned = is_matrix and name.startswith("block.")
        shape = layers.shape[1:] if is_matrix else (-1,)
        held = [matrix(x) if turned else x.reshape(shape).clone().requires_grad_() for x in layers]
        parts[name] = value.shape, layers.shape[1:], turned, held
        groups[is_matrix] += parts[name][-1]

    def parameters_now():
        return {
            n: torch.stack([(x.T if turned else x).reshape(one) for x in layers]).reshape(shape)
            for n, (shape, one, turned, layers) in parts.items()
        }

    of = [{"params": groups[True], "weight_decay": decay}, {"params": groups[False], "weight_decay": 0.0}]
    return losses_of(family, data, parameters_now, [torch.optim.Adafactor(of, lr=ADAFACTOR_RATE, **options)])


def main(folder):
    torch.set_num_threads(1)
    iterate_in_own_type()
    for family in ("gpt2", "llama"):
        data = read_safetensors(os.path.join(folder, f"pytorch_{family}.safetensors"))
        parameters = {n.removeprefix("parameter/"): v for n, v in data.items() if n.startswith("parameter/")}
        found = {
            "adam": train(family, data, parameters, lambda g: torch.optim.Adam(g, lr=RATE, betas=reference.BETAS, eps=reference.ADAM_EPS)),
            "lion": train(family, data, parameters, lambda g: Lion(g, lr=LION_RATE, betas=(0.9, 0.99))),
            "adafactor": train_adafactor(family, data, parameters, reference.DECAY),
            "adafactor_short": train_adafactor(family, data, parameters, 0.0, beta2_decay=-0.5, eps=(1e-4, 0.1), d=1.5),
            "muon": train_muon(family, data, parameters),
            "muon_plain": train_muon(family, data, parameters, nesterov=False, momentum=0.9, adjust_lr_fn="match_rms_adamw"),
            "muon_first": train_muon(family, data, parameters, n_layers=1),
        }
        for name, losses in found.items():
            print(f"{family} {name}: loss {losses[0]:.6f} -> {losses[-1]:.6f}")
        tensors = {f"{n}/loss": torch.tensor(v, dtype=torch.float64) for n, v in found.items()}
        reference.write_safetensors(os.path.join(folder, f"optimizers_{family}.safetensors"), tensors)


if __name__ == "__main__":
    main(sys.argv[1])

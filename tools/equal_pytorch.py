#!/usr/bin/env python3
"""Writes the texts of a model on one device and on each device of a mesh, right and wrong, as PyTorch prints them.

    equal_pytorch.py tests/inputs/fx

Needs PyTorch (`pip install torch`; the texts that are committed are from 2.15.0) and no devices: the process group is
PyTorch's fake one, in which collectives do nothing. Of each pair there are DIR/NAME/one.fx, right.fx, wrong.fx, and
spec.txt, which says the mesh, where parameters lie and over which axes the process groups are. The texts are those of
the step forward and backward (`aot_autograd`'s joint graph); file names in them are made relative.

A text is what the device of one rank executes. Each is traced for both ranks; where they differ, as of a table whose
rows are cut, a file has both, one behind the other."""
import contextlib
import os
import re
import subprocess
import sys

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import nn
from torch._dynamo.functional_export import dynamo_graph_capture_for_export
from torch._functorch.aot_autograd import aot_export_joint_with_descriptors
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore

WIDTH, HEADS, SEQUENCE, BATCH, WORDS = 8, 2, 4, 4, 12


class Block(nn.Module):
    """Attention and two products, as of one device; cut over tp, each device has some heads and some of the hidden."""

    def __init__(self):
        super().__init__()
        self.norm1 = nn.LayerNorm(WIDTH)
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)
        self.output = nn.Linear(WIDTH, WIDTH)
        self.norm2 = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH)
        self.down = nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.output(y.transpose(1, 2).flatten(-2))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Sharded(nn.Module):
    """Words to words. Of a model that is cut over dp each device has a part of every weight's rows, gathers them where
    they are read, and has a part of the batch."""

    def __init__(self, reduction="sum"):
        super().__init__()
        self.reduction = reduction
        self.embed = nn.Parameter(torch.randn(WORDS, WIDTH))
        self.up = nn.Parameter(torch.randn(2 * WIDTH, WIDTH))
        self.down = nn.Parameter(torch.randn(WIDTH, 2 * WIDTH))
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def whole(self, weight):
        if not isinstance(weight, DTensor):
            return weight
        gathered = weight.redistribute(placements=[Replicate()])
        return gathered.to_local(grad_placements=[Partial(self.reduction)])

    def forward(self, words):
        x = F.embedding(words, self.whole(self.embed))
        h = F.rms_norm(x, (WIDTH,), self.whole(self.scale), 1e-5)
        x = x + F.silu(h @ self.whole(self.up).t()) @ self.whole(self.down).t()
        return torch.log_softmax(x @ self.whole(self.embed).t(), -1)


class Lookup(nn.Module):
    """Words to words, of which the tables' rows are cut: DTensor writes the rank into what looks them up."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.head = nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, words):
        return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)


# ---- what is cut ----------------------------------------------------------------------------------
def tensor_parallel(mesh, wrong):
    model = Block()
    if mesh:
        # The mistake: what `down` makes is left as a summand, and read as if it were the sum.
        down = RowwiseParallel(output_layouts=Partial()) if wrong else RowwiseParallel()
        parallelize_module(model, mesh, {"query": ColwiseParallel(), "key": ColwiseParallel(), "value": ColwiseParallel(),
                                         "output": RowwiseParallel(), "up": ColwiseParallel(), "down": down})
    return model, (torch.randn(BATCH, SEQUENCE, WIDTH),), [["-", "-", "-"]]


def fully_sharded(mesh, wrong):
    # The mistake: gradients are averaged, of a loss that each device has divided by the whole batch already.
    model = Sharded("avg" if wrong else "sum")
    batch = BATCH
    if mesh:
        for name, weight in list(model.named_parameters()):
            setattr(model, name, nn.Parameter(distribute_tensor(weight.data, mesh, [Shard(0)])))
        batch //= mesh.size()
    return model, (torch.randint(0, WORDS, (batch, SEQUENCE)),), [["dp", "-"]]


def vocabulary_parallel(mesh, wrong):
    if wrong:
        return None # what is wrong here is to take the text of one rank as that of all
    model = Lookup()
    if mesh:
        parallelize_module(model, mesh, {"embed": RowwiseParallel(input_layouts=Replicate()),
                                         "head": ColwiseParallel(output_layouts=Replicate())})
    return model, (torch.randint(0, WORDS, (BATCH, SEQUENCE)),), [["-", "-"]]


PAIRS = {"tp": ("tp", tensor_parallel), "vocabulary": ("tp", vocabulary_parallel), "fsdp": ("dp", fully_sharded)}


# ---- texts ----------------------------------------------------------------------------------------
def text_of(model, arguments):
    with contextlib.ExitStack() as stack:
        graph = dynamo_graph_capture_for_export(model)(*arguments)
        text = aot_export_joint_with_descriptors(stack, graph, arguments).graph_module.print_readable(print_output=False)
    text = text.replace(os.path.dirname(os.path.abspath(__file__)) + "/", "")
    return re.sub(r"File: /\S*(?=/site-packages/)", "File: ", text)


def spec_of(axis, mesh, cut, whole, arguments, cuts):
    """What cannot be read in the texts: the mesh, its groups, and where what the step is given lies."""
    yield f"mesh {axis}={mesh.size()}"
    yield f"group {mesh.get_group(axis).group_name} : {axis}"
    lines = []
    for one, many in zip(whole.parameters(), cut.parameters()):
        placement = many.placements[0] if isinstance(many, DTensor) else Replicate()
        lines.append((one.shape, [axis if placement.is_shard(k) else "-" for k in range(one.dim())]))
    lines += [(argument.shape, cuts[i]) for i, argument in enumerate(arguments)]
    for i, (shape, places) in enumerate(lines):
        yield f"parameter primals_{i + 1} [{','.join(map(str, shape))}] : {', '.join(places)}"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")


def write_pair(directory, name, rank):
    axis, make = PAIRS[name]
    torch.manual_seed(0)
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=(axis,))
    one, arguments, cuts = make(None, False)
    right, part, _ = make(mesh, False)
    wrong = make(mesh, True)
    write(f"{directory}/{name}/one.fx", text_of(one, arguments))
    write(f"{directory}/{name}/right.fx", text_of(right, part))
    if wrong:
        write(f"{directory}/{name}/wrong.fx", text_of(wrong[0], part))
    write(f"{directory}/{name}/spec.txt", "\n".join(spec_of(axis, mesh, right, one, arguments, cuts)))


def contents(directory):
    return {name: open(os.path.join(directory, name), encoding="utf-8").read() for name in sorted(os.listdir(directory))}


if len(sys.argv) == 4: # one pair of one rank, in a process of its own
    write_pair(sys.argv[1], sys.argv[2], int(sys.argv[3]))
elif len(sys.argv) == 2:
    for pair in PAIRS:
        texts = []
        for rank in 0, 1:
            subprocess.run([sys.executable, __file__, sys.argv[1], pair, str(rank)], check=True)
            texts.append(contents(os.path.join(sys.argv[1], pair)))
        for name, text in texts[0].items():
            write(os.path.join(sys.argv[1], pair, name), text if text == texts[1][name] else text + texts[1][name])
else:
    sys.exit(__doc__)

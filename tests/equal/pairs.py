#!/usr/bin/env python3
"""Makes pairs of HLO texts from a seed: the program of one device and that of every device of a mesh, which is right by
construction, or has a mistake that was planted. For `placec equal`; equal_judge.c says by execution which are equal.

usage: pairs.py [--seed S] [--count N] [--mutants M] [--plain] OUTDIR
N pairs, of each M mutants. Folders OUTDIR/S_I and OUTDIR/S_I__wrong_J with single.hlo (of wrong ones
that of the right one), dist.hlo, meta.json (the spec) and assume (bounds of integers, a line each)."""
import argparse
import dataclasses
import json
import linecache
import os
import random

from graph import INTEGER
from mesh import Layout, Mesh
from models import build, draw_config, draw_style
from mutate import mutated
from partition import Partitioner
from text import Printer

HERE = os.path.dirname(os.path.abspath(__file__))
AXES = {"data": ["dp", "data", "batch"], "fsdp": ["fsdp", "dp", "shard"], "zero1": ["dp", "data"],
        "tensor": ["tp", "model", "mp"], "sequence": ["tp", "model"], "context": ["cp", "sp", "seq"],
        "stages": ["pp", "stage"]}
SIZES = ((2,), (2,), (3,), (4,), (2, 2), (2, 2), (2, 3), (3, 2), (2, 4), (4, 2), (2, 2, 2), (2, 3, 2))


@dataclasses.dataclass
class Strategy:
    mesh: Mesh
    rules: dict   # of weights and activations: axes by the name of a dimension
    states: tuple  # axes that cut an optimizer's states on top of that
    words: list


def draw_strategy(draw):
    """Roles of the mesh's axes, as people give them."""
    sizes = draw.choice(SIZES)
    roles = draw.sample(list(AXES), len(AXES))
    rules, states, axes = {}, (), []
    for size in sizes:
        role = next(r for r in roles if not (r == "sequence" and "tensor" in [a for a, _ in axes]))
        roles.remove(role)
        if role in ("tensor", "sequence"):
            roles = [r for r in roles if r not in ("tensor", "sequence")]
        axes.append((role, size))
    names = []
    for role, _ in axes:
        names.append(draw.choice([n for n in AXES[role] if n not in names] or [f"axis_{len(names)}"]))
    for name, (role, _) in zip(names, axes):
        wanted = {"data": ("batch",), "zero1": ("batch",), "fsdp": ("batch", "embed"), "context": ("sequence", "time"),
                  "stages": ("layer",),
                  "tensor": ("heads", "groups", "mlp", "vocab"),
                  "sequence": ("heads", "groups", "mlp", "vocab", "sequence")}[role]
        if role == "fsdp" and draw.random() < 0.5:
            wanted += ("norm",)
        if role in ("tensor", "sequence") and draw.random() < 0.25:
            wanted = tuple(w for w in wanted if w != "vocab")
        for dimension in wanted:
            rules[dimension] = (*rules.get(dimension, ()), name)
        if role == "zero1":
            states = (name,)
        if role not in ("context", "stages") and "expert" not in rules and draw.random() < 0.6:
            rules["expert"] = (name,)
    return Strategy(Mesh(list(zip(names, [size for _, size in axes]))), rules, states, [role for role, _ in axes])


def state_layout(layout, shape, axes, mesh):
    """A weight's layout with axes more, on the first dimension that they divide."""
    for axis in axes:
        for d, size in enumerate(shape):
            if axis not in layout.axes() and size // mesh.product(layout.cuts[d]) % mesh.size(axis) == 0:
                cuts = list(layout.cuts)
                cuts[d] = (*cuts[d], axis)
                layout = Layout(tuple(cuts))
                break
    return layout


class Pair:
    """One drawn pair: both graphs and where everything lies."""

    def __init__(self, seed, number, is_plain=False):
        self.draw = draw = random.Random(f"{seed}/{number}")
        self.strategy = strategy = draw_strategy(draw)
        mesh, self.seed = strategy.mesh, draw.random()

        def factor(name):
            axes = strategy.rules.get({"features": "embed"}.get(name, name), ())
            return mesh.product(axes) if draw.random() < 0.9 else 1

        self.config = config = draw_config(draw, factor)
        style = draw_style(draw)
        other = dataclasses.replace(style) if is_plain else self.style_of_many(style)
        if not other.rings and random.Random(f"{seed}/{number}/least").random() < 0.3:
            style.least = other.least = float("-inf")  # where a ring's first blocks are masked it makes no number
        self.differs = [word for word, how in vars(other).items() if how != getattr(style, word)]
        self.one = build(random.Random(self.seed), self.of_one(config), style)
        self.many = build(random.Random(self.seed), config, other)
        partitioner = Partitioner(mesh, draw, strategy.rules, is_plain)
        self.habits = partitioner.habits
        self.parameters = [self.lie(partitioner, p) for p in self.many.parameters]
        self.results = [self.lie(partitioner, r) for r in self.many.results]
        self.segments = self.cut_segments(other.slices_weights)
        self.local = partitioner.partition(self.many.graph(), self.parameters, self.results, self.segments)
        self.printer_seed = draw.random()

    def cut_segments(self, slices_weights):
        """Of fused weights that the program of many devices reads in segments, their sizes and axes."""
        axes = self.strategy.rules.get("heads", ())
        n = self.strategy.mesh.product(axes)
        divides = self.config.heads % n == 0 and self.config.groups % n == 0
        return {i: [(size, axes) for size in p.segments] for i, p in enumerate(self.many.parameters)
                if p.segments and slices_weights and divides and not set(axes) & self.parameters[i].axes()}

    def style_of_many(self, style):
        other = draw_style(self.draw) if self.draw.random() < 0.4 else dataclasses.replace(style)
        other.rings = self.draw.random() < 0.7 and self.can_ring()
        other.pipelines = self.draw.random() < 0.7 and self.can_stage()
        other.slices_weights = self.config.fuses_projections and self.draw.random() < 0.8
        return other

    def can_ring(self):
        """Keys can come by where one axis cuts the sequence, and nothing is differentiated."""
        axes, config = self.strategy.rules.get("sequence", ()), self.config
        return config.kind in ("forward", "loss") and len(axes) == 1 and \
            config.sequence % self.strategy.mesh.product(axes) == 0 and "sequence" not in self.strategy.words

    def can_stage(self):
        """Layers can be stages where one axis cuts their stack into equal parts, and nothing is differentiated."""
        axes, config = self.strategy.rules.get("layer", ()), self.config
        return config.kind in ("forward", "loss") and len(axes) == 1 and not config.experts and \
            config.layers % self.strategy.mesh.product(axes) == 0

    def of_one(self, config):
        if config.microbatches > 1 and self.draw.random() < 0.5:
            return dataclasses.replace(config, microbatches=1)
        return config

    def lie(self, partitioner, named):
        layout = partitioner.layout_of(named.node.shape, named.dimensions)
        if named.is_state:
            layout = state_layout(layout, named.node.shape, self.strategy.states, self.strategy.mesh)
        return layout

    def single_text(self):
        return Printer("jit_step", None, random.Random(self.printer_seed)).print(self.one.graph())

    def printed(self, graph):
        printer = Printer("jit_step", self.strategy.mesh, random.Random(self.printer_seed))
        return printer, printer.print(graph)

    def assumed(self):
        """What is known of integers, a line each, as `placec equal --assume` has it."""
        return "".join(f"{'' if p.masked else '0<='}{p.name}<{p.below}\n" for p in self.many.parameters if p.below)

    def meta(self):
        def rows(named, layouts):
            return [{"name": n.name, "dtype": {INTEGER: "int32"}.get(n.node.dtype, "float32"),
                     "shape": list(n.node.shape), "sharding": [list(cut) for cut in layout.cuts]}
                    for n, layout in zip(named, layouts)]
        parameters = rows(self.many.parameters, self.parameters)
        for i, segments in self.segments.items():
            parameters[i]["sharding"][-1] = [{"size": size, "axes": list(axes)} for size, axes in segments]
        return {"title": f"{self.config.kind}: {', '.join(self.strategy.words)}",
                "written": {"otherwise": self.differs, "habits": vars(self.habits)},
                "mesh": dict(self.strategy.mesh.axes), "parameters": parameters,
                "results": rows(self.many.results, self.results)}

    def write(self, folder):
        write(folder, self.single_text(), self.printed(self.local)[1],
              {**self.meta(), "expected": "equal", "single": "single.hlo"}, self.assumed())


def with_mistake(pair, graph, mistake):
    """The text of a wrong program, and what is said of its mistake."""
    printer, text = pair.printed(graph)
    name = "%" + printer.names.get(id(mistake.node), "")
    defines = (f"{name} =", f"ROOT {name} =")
    line = next((i for i, row in enumerate(text.split("\n"), 1) if row.strip().startswith(defines)), 0)
    wrong = {"bug": mistake.kind}
    if mistake.frames:
        file, function, number = mistake.frames[0]
        wrong.update(mutated=f"{file}:{number}", function=function,
                     statement=linecache.getline(os.path.join(HERE, file), number).strip())
    wrong["first_that_differs"] = {
        "instruction": name, "text_line": line,
        "frames": [f"{file}:{number} {function}" for file, function, number in mistake.node.frames[:1]]}
    return text, wrong


def write(folder, single, dist, meta, assumed):
    os.makedirs(folder, exist_ok=True)
    texts = {"dist.hlo": dist, "meta.json": json.dumps(meta, indent=1) + "\n", "assume": assumed}
    if single is not None:
        texts["single.hlo"] = single
    for name, text in texts.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--mutants", type=int, default=0)
    parser.add_argument("--plain", action="store_true", help="both programs written alike, and as is common")
    parser.add_argument("outdir")
    options = parser.parse_args()
    for number in range(options.count):
        pair, name = Pair(options.seed, number, options.plain), f"{options.seed}_{number}"
        folder = os.path.join(options.outdir, name)
        pair.write(folder)
        draw = random.Random(f"{options.seed}/{number}/mutants")
        for mutant in range(options.mutants):
            planted = mutated(pair.local, pair.strategy.mesh, draw)
            if planted:
                dist, wrong = with_mistake(pair, *planted)
                write(f"{folder}__wrong_{mutant}", None, dist,
                      {**pair.meta(), "expected": "different", "single": f"../{name}/single.hlo", "wrong": wrong},
                      pair.assumed())


if __name__ == "__main__":
    main()

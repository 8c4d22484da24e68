"""Programs of a random draw: what is computed (configuration), and how it is written (style), which may differ between
the program of one device and that of many."""
import dataclasses

from graph import (INTEGER, Graph, Node, broadcast, constant, einsum, hinted, layer_of, mean, repeat, reshape, slice_of,
                   unary, with_layer)
from derive import gradients
from layers import block, cross_entropy, embed, norm, project
from training import adamw, clipped, global_norm, loss_and_gradients, momentum, sgd


@dataclasses.dataclass
class Config:
    kind: str
    batch: int
    sequence: int
    features: int
    heads: int
    groups: int
    head: int
    mlp: int
    vocab: int
    layers: int
    attends: bool
    causal: bool
    rotary: bool
    base: float
    gated: bool
    biases: bool
    activation: str
    norm: str
    masks_targets: bool
    tied: bool
    optimizer: str
    clips: bool
    stacked: bool
    microbatches: int
    experts: int  # 0: none
    fuses_projections: bool


@dataclasses.dataclass
class Style:
    shift: str
    divides_late: bool
    one_hot: bool
    moments: bool
    silu_of_exponential: bool
    fused: bool
    mask_by_positions: bool
    wraps: bool
    loops: bool
    casts: bool
    lays_out_gradients: bool
    least: float = -1e30  # what masks a score, in both programs
    slices_weights: bool = False  # what follows is of many devices alone
    rings: bool = False
    pipelines: bool = False


@dataclasses.dataclass
class Named:
    """A parameter or result: its name, its node and the names of its dimensions, by which it is laid out."""
    name: str
    node: Node
    dimensions: tuple
    below: int = 0      # integers: in 0 .. below-1
    masked: bool = False  # or negative
    not_negative: bool = False
    is_state: bool = False  # of an optimizer: may be cut further than its weight
    segments: tuple = ()  # of the last dimension, each cut on its own: their sizes


@dataclasses.dataclass
class Program:
    parameters: list
    results: list

    def graph(self):
        return Graph([p.node for p in self.parameters], [r.node for r in self.results])


KINDS = ("products", "forward", "loss", "gradients", "step")


def draw_config(draw, factor):
    """Sizes that the rules' axes divide: `factor` of a name is the product of the axes that may cut it."""
    def size(name, least, most):
        step = factor(name)
        choices = [n for n in range(step, max(most, 2 * step) + 1, step) if n >= least]
        return draw.choice(choices)

    groups = size("groups", 1, 4) if draw.random() < 0.8 else draw.choice([1, 2, 3])
    heads = groups * draw.choice([1, 1, 2, 3]) if groups % factor("groups") == 0 else groups * factor("heads")
    kind = draw.choices(KINDS, (3, 4, 4, 4, 5))[0]
    has_stages = factor("layer") > 1
    stacked = draw.random() < (0.8 if has_stages else 0.3)
    microbatches = draw.choice([2, 3]) if kind in ("gradients", "step") and draw.random() < 0.25 else 1
    return Config(
        kind=kind, batch=size("batch", 2, 4) * microbatches, sequence=size("sequence", 2, 6),
        features=size("features", 3, 10), heads=heads, groups=groups, head=draw.choice([2, 4]),
        mlp=size("mlp", 2, 12), vocab=size("vocab", 5, 12),
        layers=factor("layer") if has_stages else draw.choice([1, 1, 2, 2, 3]),
        attends=draw.random() < 0.75, causal=draw.random() < 0.8, rotary=draw.random() < 0.4,
        base=draw.choice([100.0, 10000.0]), gated=draw.random() < 0.5, biases=draw.random() < 0.4,
        activation=draw.choice(["gelu", "silu", "silu", "relu", "tanh"]), norm=draw.choice(["rms", "rms", "layer"]),
        masks_targets=draw.random() < 0.6 and microbatches == 1, tied=draw.random() < 0.3,
        optimizer=draw.choice(["sgd", "momentum", "adamw", "adamw"]), clips=draw.random() < 0.5,
        stacked=stacked, microbatches=microbatches,
        experts=size("expert", 2, 4) if kind != "forward" and draw.random() < 0.25 else 0,
        fuses_projections=kind in ("forward", "loss") and not stacked and draw.random() < 0.25)


def draw_style(draw):
    return Style(shift=draw.choice(["largest", "largest", "largest", "none", "largest_of_all"]),
                 divides_late=draw.random() < 0.2, one_hot=draw.random() < 0.3, moments=draw.random() < 0.3,
                 silu_of_exponential=draw.random() < 0.4, fused=draw.random() < 0.25,
                 mask_by_positions=draw.random() < 0.4, wraps=draw.random() < 0.3, loops=draw.random() < 0.6,
                 casts=draw.random() < 0.15, lays_out_gradients=draw.random() < 0.6)


def weight_shapes(config):
    """Of a layer: name, shape and names of dimensions."""
    c, width = config, config.heads * config.head
    shapes = {}
    if c.attends:
        shapes["attention_norm"] = ((c.features,), ("norm",))
        if c.fuses_projections:
            shapes["wqkv"] = ((c.features, width + 2 * c.groups * c.head), ("embed", "projections"))
        else:
            shapes["wq"] = ((c.features, width), ("embed", "heads"))
            shapes["wk"] = ((c.features, c.groups * c.head), ("embed", "groups"))
            shapes["wv"] = ((c.features, c.groups * c.head), ("embed", "groups"))
        shapes["wo"] = ((width, c.features), ("heads", "embed"))
        if c.biases:
            shapes["bo"] = ((c.features,), ("norm",))
    shapes["mlp_norm"] = ((c.features,), ("norm",))
    if c.experts:
        shapes["router"] = ((c.features, c.experts), ("embed", "router"))
        shapes["w1"] = ((c.experts, c.features, c.mlp), ("expert", "embed", "mlp"))
        shapes["w2"] = ((c.experts, c.mlp, c.features), ("expert", "mlp", "embed"))
    else:
        shapes.update(mlp_shapes(c))
    if c.norm == "layer":
        for name in [n for n in shapes if n.endswith("norm")]:
            shapes[name + "_bias"] = shapes[name]
    return shapes


def mlp_shapes(c):
    shapes = {}
    shapes["w1"] = ((c.features, c.mlp), ("embed", "mlp"))
    shapes["w2"] = ((c.mlp, c.features), ("mlp", "embed"))
    if c.gated:
        shapes["w3"] = ((c.features, c.mlp), ("embed", "mlp"))
    if c.biases:
        shapes["b2"] = ((c.features,), ("norm",))
    if c.biases and not c.gated:
        shapes["b1"] = ((c.mlp,), ("mlp",))
    return shapes


def path_of(tree, name):
    """As JAX names an argument's leaf: params['layers'][0]['wq']."""
    return tree + "".join(f"[{part}]" if part.isdigit() else f"['{part}']" for part in name.split("."))


class Weights:
    """Parameters of the model, by name; layers apart or stacked."""

    def __init__(self, config, with_vocabulary):
        self.config, self.named = config, {}
        if with_vocabulary:
            self.add("embed", (config.vocab, config.features), ("vocab", "embed"))
        shapes = weight_shapes(config)
        for layer in range(1 if config.stacked else config.layers):
            for name, (shape, dimensions) in shapes.items():
                if config.stacked:
                    self.add(f"layers.{name}", (config.layers, *shape), ("layer", *dimensions))
                else:
                    self.add(f"layers.{layer}.{name}", shape, dimensions)
        if with_vocabulary:
            self.add("norm", (config.features,), ("norm",))
            if config.norm == "layer":
                self.add("norm_bias", (config.features,), ("norm",))
            if not config.tied:
                self.add("head", (config.features, config.vocab), ("embed", "vocab"))

    def add(self, name, shape, dimensions):
        path = path_of("params", name)
        self.named[name] = named = Named(path, Node("parameter", shape, name=path), dimensions)
        if dimensions[-1] == "projections":
            c = self.config
            named.segments = (c.heads * c.head, c.groups * c.head, c.groups * c.head)

    def nodes(self):
        return {name: named.node for name, named in self.named.items()}


def of_layer(weights, layer):
    start = f"layers.{layer}."
    return {name[len(start):]: node for name, node in weights.items() if name.startswith(start)}


def stacks_of(weights):
    return {name[len("layers."):]: node for name, node in weights.items() if name.startswith("layers.")}


def run_layers(x, weights, config, style, tokens=None):
    if not config.stacked:
        for layer in range(config.layers):
            x = block(x, of_layer(weights, layer), config, style, tokens)
        return x
    stacks = stacks_of(weights)
    if style.pipelines:
        inner = dataclasses.replace(style, rings=False)
        x = Node("layer_stack", x.shape, (x, *stacks.values()), names=tuple(stacks), config=config, style=inner)
        return hinted(x, "batch", "sequence", "features")
    if not style.loops:
        for layer in range(config.layers):
            w = {name: reshape(slice_of(stack, 0, layer, layer + 1), stack.shape[1:]) for name, stack in stacks.items()}
            x = block(x, w, config, style)
        return x

    def body(index, x, *inside):
        w = {name: layer_of(stack, index) for name, stack in zip(stacks, inside)}
        return [block(x, w, config, style), *inside]

    return hinted(repeat(config.layers, [x, *stacks.values()], body)[0], "batch", "sequence", "features")


def logits_of(weights, tokens, config, style):
    x = embed(weights["embed"], tokens, style.wraps)
    x = run_layers(x, weights, config, style, tokens)
    return logits_of_last(weights, x, config, style)


def logits_of_last(weights, x, config, style):
    x = norm(x, weights, "norm", config, style)
    if config.tied:
        return einsum("bsd,vd->bsv", x, weights["embed"])
    return project(x, weights["head"], style)


def loss_of(weights, tokens, targets, config, style):
    return cross_entropy(logits_of(weights, tokens, config, style), targets, config, style)


def looped_gradients(weights, tokens, targets, config, style):
    """As JAX differentiates a scan that recomputes: inputs of layers are kept, and a second loop runs backwards."""
    x = embed(weights["embed"], tokens, style.wraps)
    stacks, n = stacks_of(weights), config.layers
    kept = broadcast(constant(0.0), (n, *x.shape), ())
    kept.hint = ("layer", *x.hint)

    def forward(index, x, kept, *inside):
        w = {name: layer_of(stack, index) for name, stack in zip(stacks, inside)}
        return [block(x, w, config, style), with_layer(kept, index, x), *inside]

    last, kept = repeat(n, [x, kept, *stacks.values()], forward)[:2]
    hinted(last, *x.hint)
    kept.hint = ("layer", *x.hint)
    loss = cross_entropy(logits_of_last(weights, last, config, style), targets, config, style)
    outside = [name for name in weights if not name.startswith("layers.") and (name != "embed" or config.tied)]
    ct, *of_outside = gradients(loss, [last, *[weights[name] for name in outside]])
    results = dict(zip(outside, of_outside))
    hinted(ct, *x.hint)
    zeros = [broadcast(constant(0.0), stack.shape, ()) for stack in stacks.values()]

    def backward(index, ct, kept, *inside):
        layer = n - 1 - index
        sums, inside = inside[:len(stacks)], inside[len(stacks):]
        x = hinted(layer_of(kept, layer), "batch", "sequence", "features")
        w = {name: layer_of(stack, layer) for name, stack in zip(stacks, inside)}
        y = block(x, w, config, style)
        ct, *parts = gradients(y, [x, *w.values()], seed=ct)
        hinted(ct, "batch", "sequence", "features")
        return [ct, kept, *[with_layer(s, layer, part) for s, part in zip(sums, parts)], *inside]

    ct, _, *sums = repeat(n, [ct, kept, *zeros, *stacks.values()], backward)[:2 + len(stacks)]
    hinted(ct, *x.hint)
    results.update((f"layers.{name}", s) for name, s in zip(stacks, sums))
    of_embed = gradients(x, [weights["embed"]], seed=ct)[0]
    results["embed"] = results["embed"] + of_embed if config.tied else of_embed
    return loss, {name: results[name] for name in weights}


def batch_gradients(weights, tokens, targets, config, style):
    if config.stacked and style.loops:
        return looped_gradients(weights, tokens, targets, config, style)
    return loss_and_gradients(lambda w, a, b: loss_of(w, a, b, config, style), weights, (tokens, targets))


def accumulated_gradients(weights, tokens, targets, config, style):
    """A loop over parts of the batch, whose gradients are added up. Which rows are a part's does not matter."""
    n, names = config.microbatches, list(weights)
    shape = (n, config.batch // n, config.sequence)
    parts = [Node("split_batch", shape, (x,), INTEGER) for x in (tokens, targets)]
    zeros = [broadcast(constant(0.0), weights[name].shape, ()) for name in names]

    def body(index, loss, *inside):
        sums, inside = inside[:len(names)], inside[len(names):]
        w, (a, b) = dict(zip(names, inside)), [layer_of(x, index) for x in inside[len(names):]]
        of_part, by_name = batch_gradients(w, a, b, config, style)
        return [loss + of_part, *[s + by_name[name] for s, name in zip(sums, names)], *inside]

    carried = [broadcast(constant(0.0), (), ()), *zeros, *weights.values(), *parts]
    loss, *sums = repeat(n, carried, body)[:1 + len(names)]
    return loss / float(n), {name: s / float(n) for name, s in zip(names, sums)}


def program_products(draw, config, style):
    """A chain of products of two to four dimensions with functions between them."""
    c = config
    sizes = {"b": c.batch, "s": c.sequence, "d": c.features, "h": c.heads, "k": c.head, "f": c.mlp}
    names = {"b": "batch", "s": "sequence", "d": "features", "h": "heads", "k": "head", "f": "mlp"}
    of_weights = {**names, "d": "embed", "s": "time"}
    labels = draw.choice(["bd", "bsd", "sbd", "bhsd", "bshk"])
    x = Node("parameter", [sizes[label] for label in labels], name="x")
    parameters = [Named("x", x, tuple(names[label] for label in labels))]
    for step in range(draw.choice([2, 3, 4])):
        keep = [label for label in labels if label != "b"]
        gone = draw.choice(keep)
        new = draw.choice([label for label in "dhkf" if label not in labels] or [gone])
        shared = [label for label in keep if label in "h" and label != gone and draw.random() < 0.5]
        rhs = [*shared, gone] + ([new] if new != gone else [])
        draw.shuffle(rhs)
        w = Node("parameter", [sizes[label] for label in rhs], name=f"w{step}")
        parameters.append(Named(f"w{step}", w, tuple(of_weights[label] for label in rhs)))
        out = [label for label in labels if label != gone] + ([new] if new != gone else [])
        draw.shuffle(out)
        if not out:
            break
        x = einsum(f"{labels},{''.join(rhs)}->{''.join(out)}", x, w)
        labels = "".join(out)
        if draw.random() < 0.5:
            x = unary(draw.choice(["tanh", "logistic", "exponential"]), x * 0.3)
        if draw.random() < 0.4:
            b = Node("parameter", x.shape[-1:], name=f"b{step}")
            parameters.append(Named(f"b{step}", b, (of_weights[labels[-1]],)))
            x = x + b
        if draw.random() < 0.25:
            x = x - mean(x, [-1], keep=True)
    return parameters, [Named("y", x, tuple(names[label] for label in labels))]


def program_forward(config, style, weights):
    x = Node("parameter", (config.batch, config.sequence, config.features), name="x", hint=None)
    y = run_layers(x, weights.nodes(), config, style)
    dimensions = ("batch", "sequence", "features")
    return [*weights.named.values(), Named("x", x, dimensions)], [Named("y", y, dimensions)]


def data(config):
    shape = (config.batch, config.sequence)
    tokens = Node("parameter", shape, dtype=INTEGER, name="tokens")
    targets = Node("parameter", shape, dtype=INTEGER, name="targets")
    dimensions = ("batch", "sequence")
    return [Named("tokens", tokens, dimensions, below=config.vocab),
            Named("targets", targets, dimensions, below=config.vocab, masked=config.masks_targets)]


def program_loss(draw_logits, config, style, weights):
    inputs = data(config)
    tokens, targets = (x.node for x in inputs)
    if draw_logits:
        logits = logits_of(weights.nodes(), tokens, config, style)
        return [*weights.named.values(), inputs[0]], [Named("logits", logits, ("batch", "sequence", "vocab"))]
    loss = loss_of(weights.nodes(), tokens, targets, config, style)
    return [*weights.named.values(), *inputs], [Named("loss", loss, ())]


def program_gradients(config, style, weights):
    inputs = data(config)
    tokens, targets = (x.node for x in inputs)
    take_gradients = accumulated_gradients if config.microbatches > 1 else batch_gradients
    loss, by_name = take_gradients(weights.nodes(), tokens, targets, config, style)
    if style.lays_out_gradients and config.microbatches == 1:
        for name, weight in weights.named.items():
            hinted(by_name[name], *weight.dimensions)
    if config.kind == "gradients":
        results = [Named("loss", loss, ())]
        results += [Named(w.name, by_name[n], w.dimensions, is_state=True) for n, w in weights.named.items()]
        return [*weights.named.values(), *inputs], results
    return program_step(config, weights, inputs, loss, by_name)


def program_step(config, weights, inputs, loss, by_name):
    parameters = [*weights.named.values()]
    results = [Named("loss", loss, ())]
    if config.clips:
        results.append(Named("norm", global_norm(by_name), ()))
        by_name = clipped(by_name, 0.5)
    states = {"sgd": (), "momentum": ("velocity",), "adamw": ("first", "second")}[config.optimizer]
    new_states = []
    for name, weight in weights.named.items():
        olds = []
        for state in states:
            path = path_of(state, name)
            node = Node("parameter", weight.node.shape, name=path)
            parameters.append(Named(path, node, weight.dimensions, is_state=True, not_negative=state == "second"))
            olds.append(node)
        if config.optimizer == "sgd":
            new = [sgd(weight.node, by_name[name], 0.1)]
        elif config.optimizer == "momentum":
            new = momentum(weight.node, by_name[name], *olds, 0.1)
        else:
            new = adamw(weight.node, by_name[name], *olds, 0.1, 0.01)
        results.append(Named(weight.name, new[0], weight.dimensions))
        new_states += [Named(path_of(state, name), node, weight.dimensions, is_state=True)
                       for state, node in zip(states, new[1:])]
    return [*parameters, *inputs], [*results, *new_states]


def build(draw, config, style):
    if config.experts:
        config = dataclasses.replace(config, stacked=False)
    if config.kind == "products":
        return Program(*program_products(draw, config, style))
    weights = Weights(config, config.kind != "forward")
    if config.kind == "forward":
        return Program(*program_forward(config, style, weights))
    if config.kind == "loss":
        return Program(*program_loss(config.clips, config, style, weights))
    return Program(*program_gradients(config, style, weights))

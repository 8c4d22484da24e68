"""A pipeline on a device's part: stages hold layers, microbatches go from one to the next, the last one's results go to
all."""
from graph import (INTEGER, broadcast, compare, constant, elementwise, layer_of, repeat, reshape, select, slice_of,
                   with_layer)
from layers import block


class Stage:
    def __init__(self, stacks, axis, moves, config, style):
        self.stacks, self.axis, self.moves, self.config, self.style = stacks, axis, moves, config, style
        self.n = moves.mesh.size(axis)

    def layers(self, x, stacks):
        n = next(iter(stacks.values())).shape[0]
        for layer in range(n):
            w = {name: reshape(slice_of(stack, 0, layer, layer + 1), stack.shape[1:]) for name, stack in stacks.items()}
            x = block(x, w, self.config, self.style)
        return x

    def tick(self, received, given, stacks, index):
        """What the stage makes of a microbatch: the first stage of a new one, others of what they received."""
        return self.layers(select(compare(index, 0, "EQ"), given, received), stacks)


def pipeline(x, stacks, axis, moves, config, style):
    n_parts = 2 if x.shape[0] % 2 == 0 else x.shape[0]
    parts = reshape(x, (n_parts, x.shape[0] // n_parts, *x.shape[1:]))
    stage, index = Stage(stacks, axis, moves, config, style), moves.devices.index([axis])
    received, made = (broadcast(constant(0.0), shape, ()) for shape in (parts.shape[1:], parts.shape))
    if style.loops:
        made = looped(stage, parts, received, made, index)
    else:
        for tick in range(n_parts + stage.n - 1):
            part = min(tick, n_parts - 1)
            given = reshape(slice_of(parts, 0, part, part + 1), received.shape)
            y = stage.tick(received, given, stacks, index)
            if tick >= stage.n - 1:
                made = with_layer(made, constant(tick - stage.n + 1, INTEGER), y)
            received = moves.permute(y, axis, 1)
    last = select(compare(index, stage.n - 1, "EQ"), made, 0.0)
    return reshape(moves.all_reduce(last, [axis]), x.shape)


def looped(stage, parts, received, made, index):
    n_parts, names = parts.shape[0], list(stage.stacks)

    def body(tick, received, made, parts, index, *stacks):
        given = layer_of(parts, elementwise("minimum", tick, n_parts - 1))
        y = stage.tick(received, given, dict(zip(names, stacks)), index)
        made = with_layer(made, elementwise("maximum", tick - (stage.n - 1), 0), y)
        return [stage.moves.permute(y, stage.axis, 1), made, parts, index, *stacks]

    return repeat(n_parts + stage.n - 1, [received, made, parts, index, *stage.stacks.values()], body)[1]

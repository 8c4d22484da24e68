"""Ring attention on a device's part: keys and values go around an axis, and a softmax is kept up to date."""
from graph import broadcast, compare, constant, einsum, elementwise, iota, reduce, repeat, reshape, select, \
    transpose, unary

LEAST = -1e30


class Ring:
    """One step's arithmetic; queries are [batch, sequence, groups, heads of a group, size]."""

    def __init__(self, q, axis, moves, causal, style):
        self.q, self.axis, self.moves, self.causal, self.style = q, axis, moves, causal, style
        self.n, self.length, self.size = moves.mesh.size(axis), q.shape[1], q.shape[4]

    def visible(self, owner, index):
        rows = iota((self.length, self.length), 0) + index * self.length
        columns = iota((self.length, self.length), 1) + owner * self.length
        return compare(rows, columns, "GE")

    def step(self, q, k, v, number, largest, weight, mixed, index):
        """What was kept, with one more block of keys: that of the device `number` places behind."""
        scores = einsum("bsghk,btgk->bghst", q, k) * float(self.size) ** -0.5
        if self.causal:
            owner = elementwise("remainder", index + self.n - number, self.n)
            scores = select(self.visible(owner, index), scores, LEAST)
        if self.style.shift == "none":
            weights = unary("exponential", scores)
            return largest, weight + reduce(weights, [4]), mixed + einsum("bghst,btgk->bghsk", weights, v)
        new = elementwise("maximum", largest, reduce(scores, [4], "maximum"))
        before = unary("exponential", largest - new)
        weights = unary("exponential", scores - reshape(new, (*new.shape, 1)))
        weight = weight * before + reduce(weights, [4])
        mixed = mixed * reshape(before, (*before.shape, 1)) + einsum("bghst,btgk->bghsk", weights, v)
        return new, weight, mixed


def ring_attention(q, k, v, axis, moves, causal, style):
    batch, length, heads, size = q.shape
    groups = k.shape[2]
    q = reshape(q, (batch, length, groups, heads // groups, size))
    ring = Ring(q, axis, moves, causal, style)
    shape = (batch, groups, heads // groups, length)
    kept = [broadcast(constant(value), (*shape, *last), ()) for value, last in ((LEAST, ()), (0.0, ()), (0.0, (size,)))]
    if style.loops:
        kept = looped(ring, q, k, v, kept)
    else:
        index = moves.devices.index([axis])
        for number in range(ring.n):
            kept = ring.step(q, k, v, number, *kept, index)
            if number < ring.n - 1:
                k, v = (moves.permute(x, axis, 1) for x in (k, v))
    _, weight, mixed = kept
    mixed = mixed / reshape(weight, (*weight.shape, 1))
    return reshape(transpose(mixed, (0, 3, 1, 2, 4)), (batch, length, heads, size))


def looped(ring, q, k, v, kept):
    index = ring.moves.devices.index([ring.axis])

    def body(number, largest, weight, mixed, k, v, q, index):
        new = ring.step(q, k, v, number, largest, weight, mixed, index)
        return [*new, *(ring.moves.permute(x, ring.axis, 1) for x in (k, v)), q, index]

    return repeat(ring.n, [*kept, k, v, q, index], body)[:3]

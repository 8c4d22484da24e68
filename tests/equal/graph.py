"""Tensor programs as graphs of nodes: HLO's operations with numpy's conveniences (operators, broadcasting). A node
knows the user's frames that made it: the functions of models.py and below, as JAX's metadata has them.

Beside HLO's own operations there are four of indices, which text.py prints as gather and scatter:
  take(table, indices)             rows of a table            pick(x, indices)              one of the last dimension
  put_rows(rows, indices), rows=n  its transpose              put_picks(values, indices)    its transpose
and `while`, whose body is a graph of its own: parameters are the counter and what is carried, results what is carried.
"""
import sys

FLOAT, HALF, INTEGER, UNSIGNED, TRUTH = "f32", "bf16", "s32", "u32", "pred"
REALS = (FLOAT, HALF)
USER_FILES = ("models.py", "layers.py", "training.py", "ring.py", "pipeline.py")


def product(sizes):
    result = 1
    for size in sizes:
        result *= size
    return result


class Node:
    __slots__ = ("op", "shape", "dtype", "operands", "attributes", "frames", "hint")

    def __init__(self, op, shape, operands=(), dtype=FLOAT, hint=None, **attributes):
        self.op, self.shape, self.operands, self.dtype = op, tuple(shape), tuple(operands), dtype
        self.attributes = attributes
        self.frames = FRAMES.given or user_frames()
        self.hint = hint  # names of the dimensions, where a layout is asked for

    @property
    def rank(self):
        return len(self.shape)

    def __add__(self, other):
        return elementwise("add", self, other)

    def __radd__(self, other):
        return elementwise("add", self, other)

    def __sub__(self, other):
        return elementwise("subtract", self, other)

    def __rsub__(self, other):
        return elementwise("subtract", constant(other, self.dtype), self)

    def __mul__(self, other):
        return elementwise("multiply", self, other)

    def __rmul__(self, other):
        return elementwise("multiply", self, other)

    def __truediv__(self, other):
        return elementwise("divide", self, other)

    def __rtruediv__(self, other):
        return elementwise("divide", constant(other, self.dtype), self)

    def __neg__(self):
        return unary("negate", self)


class Graph:
    """Parameters and results in order; what is between follows from the operands."""

    def __init__(self, parameters, results):
        self.parameters, self.results = parameters, results

    def nodes(self):
        return in_order(self.results, self.parameters)


def in_order(results, first=()):
    """Every node that results need, operands before their users, without recursion."""
    seen, order = set(), []
    for root in (*first, *results):
        stack = [(root, False)]
        while stack:
            node, done = stack.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                stack.append((node, True))
                stack.extend((operand, False) for operand in reversed(node.operands) if id(operand) not in seen)
    return order


class FRAMES:
    """The frames that nodes get instead of their own, and those that are known by their stack."""
    given = None
    outer = ()
    by_stack = {}


class made_for:
    """Nodes that are made meanwhile have the frames of another one: they are derived from it."""

    def __init__(self, node):
        self.frames = node.frames

    def __enter__(self):
        self.before, FRAMES.given = FRAMES.given, self.frames

    def __exit__(self, *_):
        FRAMES.given = self.before


class made_inside(made_for):
    """Nodes that are made meanwhile have their own frames, inside of those of another one: they are its parts."""

    def __enter__(self):
        self.before, FRAMES.given, FRAMES.outer = FRAMES.given, None, self.frames

    def __exit__(self, *_):
        FRAMES.given, FRAMES.outer = self.before, ()


def user_frames():
    """The calls of users' files that lead here, innermost first: (file, function, line)."""
    frames, frame = [], sys._getframe(2)
    while frame:
        name = frame.f_code.co_filename
        name = name[name.rfind("/") + 1:]
        if name in USER_FILES:
            frames.append((name, frame.f_code.co_name, frame.f_lineno))
        frame = frame.f_back
    key = (*frames, *FRAMES.outer)
    return FRAMES.by_stack.setdefault(key, key)


def constant(value, dtype=FLOAT):
    return value if isinstance(value, Node) else Node("constant", (), dtype=dtype, value=value)


def table(values, dtype=INTEGER):
    return Node("constant", (len(values),), dtype=dtype, value=tuple(values))


def iota(shape, dimension, dtype=INTEGER):
    return Node("iota", shape, dtype=dtype, dimension=dimension)


def broadcast(x, shape, dimensions):
    shape = tuple(shape)
    return x if x.shape == shape else Node("broadcast", shape, (x,), x.dtype, dimensions=tuple(dimensions))


def spread(x, shape):
    """Broadcasting as numpy does it, to a shape of which x's is the end; dimensions of size one are dropped first."""
    if x.shape == tuple(shape):
        return x
    offset = len(shape) - x.rank
    kept = [d for d in range(x.rank) if x.shape[d] == shape[d + offset]]
    if len(kept) < x.rank:
        x = reshape(x, [x.shape[d] for d in kept])
    return broadcast(x, shape, [d + offset for d in kept])


def joint_shape(shapes):
    rank = max(len(shape) for shape in shapes)
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded))


def elementwise(op, a, b, **attributes):
    a, b = constant(a, getattr(b, "dtype", FLOAT)), constant(b, getattr(a, "dtype", FLOAT))
    shape = joint_shape((a.shape, b.shape))
    dtype = TRUTH if op == "compare" else a.dtype
    return Node(op, shape, (spread(a, shape), spread(b, shape)), dtype, **attributes)


def compare(a, b, direction):
    return elementwise("compare", a, b, direction=direction)


def select(truth, yes, no):
    like = yes if isinstance(yes, Node) else no
    yes, no = constant(yes, like.dtype), constant(no, like.dtype)
    shape = joint_shape((truth.shape, yes.shape, no.shape))
    return Node("select", shape, [spread(x, shape) for x in (truth, yes, no)], yes.dtype)


def unary(op, x):
    return Node(op, x.shape, (x,), x.dtype)


def convert(x, dtype):
    return x if x.dtype == dtype else Node("convert", x.shape, (x,), dtype)


def reshape(x, shape):
    shape = tuple(shape)
    return x if shape == x.shape else Node("reshape", shape, (x,), x.dtype)


def transpose(x, dimensions):
    dimensions = tuple(dimensions)
    if dimensions == tuple(range(x.rank)):
        return x
    return Node("transpose", [x.shape[d] for d in dimensions], (x,), x.dtype, dimensions=dimensions)


def reduce(x, dimensions, region="add", keep=False):
    """A fold over dimensions from the region's neutral element on; `keep` leaves sizes of one."""
    dimensions = tuple(d % x.rank for d in dimensions)
    start = 0 if region == "add" else "-inf" if region == "maximum" else "inf"
    shape = [size for d, size in enumerate(x.shape) if d not in dimensions]
    result = Node("reduce", shape, (x, constant(start, x.dtype)), x.dtype, dimensions=dimensions, region=region)
    if keep:
        result = reshape(result, [1 if d in dimensions else size for d, size in enumerate(x.shape)])
    return result


def total(x):
    return reduce(x, range(x.rank))


def mean(x, dimensions, keep=False):
    dimensions = tuple(d % x.rank for d in dimensions)
    return reduce(x, dimensions, keep=keep) / product(x.shape[d] for d in dimensions)


def dot(a, b, contracting, batch=((), ())):
    left = [d for d in range(a.rank) if d not in contracting[0] and d not in batch[0]]
    right = [d for d in range(b.rank) if d not in contracting[1] and d not in batch[1]]
    shape = [a.shape[d] for d in batch[0]] + [a.shape[d] for d in left] + [b.shape[d] for d in right]
    return Node("dot", shape, (a, b), a.dtype, contracting=tuple(map(tuple, contracting)),
                batch=tuple(map(tuple, batch)))


def einsum(rule, a, b):
    """A product by its labels ("bsd,dh->bsh"): one dot, and the transpose that its result needs."""
    inputs, output = rule.split("->")
    left, right = inputs.split(",")
    batch = [label for label in left if label in right and label in output]
    contracting = [label for label in left if label in right and label not in output]
    result = dot(a, b, ([left.index(c) for c in contracting], [right.index(c) for c in contracting]),
                 ([left.index(c) for c in batch], [right.index(c) for c in batch]))
    natural = batch + [c for c in left if c not in batch + contracting] + [
        c for c in right if c not in batch + contracting]
    return transpose(result, [natural.index(label) for label in output])


def slice_of(x, dimension, start, limit):
    dimension %= x.rank
    ranges = tuple((start, limit) if d == dimension else (0, size) for d, size in enumerate(x.shape))
    return Node("slice", [b - a for a, b in ranges], (x,), x.dtype, ranges=ranges)


def concatenate(parts, dimension):
    dimension %= parts[0].rank
    shape = list(parts[0].shape)
    shape[dimension] = sum(part.shape[dimension] for part in parts)
    return Node("concatenate", shape, parts, parts[0].dtype, dimension=dimension)


def pad(x, padding):
    """Zeros around x; padding is (low, high) of each dimension."""
    shape = [size + low + high for size, (low, high) in zip(x.shape, padding)]
    return Node("pad", shape, (x, constant(0, x.dtype)), x.dtype, padding=tuple(padding))


def take(rows, indices):
    return Node("take", (*indices.shape, *rows.shape[1:]), (rows, indices), rows.dtype)


def pick(x, indices):
    return Node("pick", indices.shape, (x, indices), x.dtype)


def put_rows(rows, indices, n):
    return Node("put_rows", (n, *rows.shape[indices.rank:]), (rows, indices), rows.dtype)


def put_picks(values, indices, n):
    return Node("put_picks", (*indices.shape, n), (values, indices), values.dtype)


def dynamic_slice(x, starts, sizes):
    return Node("dynamic-slice", sizes, (x, *starts), x.dtype)


def layer_of(stack, index):
    """One layer of a stack: [layers, ...] to [...]."""
    zero = constant(0, INTEGER)
    part = dynamic_slice(stack, (index, *[zero] * (stack.rank - 1)), (1, *stack.shape[1:]))
    return reshape(part, stack.shape[1:])


def with_layer(stack, index, x):
    """The stack with one layer replaced."""
    zero = constant(0, INTEGER)
    return Node("dynamic-update-slice", stack.shape,
                (stack, reshape(x, (1, *x.shape)), index, *[zero] * (stack.rank - 1)), stack.dtype)


def repeat(count, initial, body):
    """`body(index, *carried)` `count` times; a list of what is carried at the end."""
    index = Node("parameter", (), dtype=INTEGER, name="index")
    inside = [Node("parameter", x.shape, dtype=x.dtype, name=f"carried{i}", hint=x.hint)
              for i, x in enumerate(initial)]
    results = body(index, *inside)
    loop = Node("while", (), initial, count=count, body=Graph([index, *inside], list(results)))
    return [Node("get-tuple-element", x.shape, (loop,), x.dtype, index=i) for i, x in enumerate(initial)]


def hinted(x, *names):
    """x, for which a layout is asked by the names of its dimensions."""
    if x.hint is None:
        x.hint = names
    return x

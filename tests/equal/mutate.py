"""Plants one mistake in the program of every device: those that people make with collectives, offsets, masks, weights
and norms, and any change of an operand or attribute that leaves the shapes. Some do not bite (a swap of what is equal,
a maximum shifted): execution tells."""
from typing import NamedTuple

from collectives import Moves
from graph import FLOAT, INTEGER, Graph, Node, concatenate, constant, made_for

REDUCTIONS = ("all-reduce", "reduce-scatter")
GROUPED = ("all-reduce", "reduce-scatter", "all-gather", "all-to-all")
OTHER_WORD = {"add": "subtract", "subtract": "add", "maximum": "minimum", "minimum": "maximum", "cosine": "sine",
              "sine": "cosine", "sqrt": "rsqrt", "rsqrt": "sqrt", "and": "or", "tanh": "logistic", "logistic": "tanh",
              "multiply": "divide", "divide": "multiply"}
OTHER_DIRECTION = {"GE": "GT", "GT": "GE", "LT": "LE", "LE": "LT", "EQ": "NE", "NE": "EQ"}
OTHER_REGION = {"add": "maximum", "maximum": "add"}


class Mistake(NamedTuple):
    kind: str
    frames: tuple  # of the statement that is wrong
    node: Node     # of the wrong graph: the first that differs


def copied(graph):
    """A graph of its own, and every graph in it: the entry, then bodies."""
    copies = {}
    inner = []
    for node in graph.nodes():
        copy = Node.__new__(Node)
        copy.op, copy.shape, copy.dtype, copy.frames, copy.hint = node.op, node.shape, node.dtype, node.frames, None
        copy.operands = tuple(copies[id(operand)] for operand in node.operands)
        copy.attributes = dict(node.attributes)
        if node.op == "while":
            body, bodies = copied(node.attributes["body"])
            copy.attributes["body"] = body
            inner += [body, *bodies]
        copies[id(node)] = copy
    return Graph([copies[id(p)] for p in graph.parameters], [copies[id(r)] for r in graph.results]), inner


class Editor:
    """Changes of one computation."""

    def __init__(self, graph, mesh, draw):
        self.graph, self.mesh, self.draw = graph, mesh, draw
        self.nodes = graph.nodes()
        self.users = {}
        for node in self.nodes:
            for operand in node.operands:
                self.users.setdefault(id(operand), []).append(node)

    def replace(self, old, new, users=None):
        """The new node stands where the old one did: everywhere, or for some users."""
        for user in self.users.get(id(old), ()) if users is None else users:
            if user is not new:
                user.operands = tuple(new if operand is old else operand for operand in user.operands)
        if users is None:
            self.graph.results = [new if result is old else result for result in self.graph.results]
        return new

    def first_that_differs(self, site, changed):
        """Where another value stands for the site's, the first that reads it; else what was changed."""
        users = self.users.get(id(site), ())
        is_older = changed is not site and changed not in users and any(changed is node for node in self.nodes)
        readers = [user for user in users if changed in user.operands]
        return readers[0] if is_older and readers else changed

    def set_operand(self, node, place, new):
        node.operands = tuple(new if i == place else operand for i, operand in enumerate(node.operands))
        return node

    def set(self, node, **attributes):
        node.attributes.update(attributes)
        return node


# Each kind: which nodes it fits, and the change, which answers with the first node that differs (or None: not here).

def drop(edit, node):
    """A collective is left out: the device's own part stands for the result."""
    (x,), n = node.operands, edit.mesh.product(node.attributes["axes"])
    if node.op == "all-gather":
        x = concatenate([x] * n, node.attributes["dimension"])
    elif node.op == "reduce-scatter":
        d = node.attributes["dimension"]
        x = Moves(edit.mesh, edit.draw).slice(x, [node.attributes["axes"] if i == d else () for i in range(x.rank)])
    return edit.replace(node, x)


def drop_for_one(edit, node):
    """One of several users takes what is not yet reduced."""
    users = edit.users.get(id(node), ())
    if len(users) < 2:
        return None
    user = edit.draw.choice(users)
    edit.replace(node, node.operands[0], [user])
    return user


def double(edit, node):
    again = Node(node.op, node.shape, (node,), node.dtype, **node.attributes)
    return edit.replace(node, again)


def move(edit, node):
    """A collective behind the operation that reads its result: bias, activation, square."""
    users = edit.users.get(id(node), ())
    if len(users) != 1 or users[0].op in ("reshape", "tuple", "while") or users[0].shape != node.shape \
            or users[0].dtype != FLOAT:
        return None
    user = users[0]
    edit.replace(node, node.operands[0], [user])
    later = Node(node.op, user.shape, (user,), user.dtype, **node.attributes)
    edit.replace(user, later)
    return user


def other_axes(edit, node):
    axes, mesh = node.attributes["axes"], edit.mesh
    choices = [(name,) for name in mesh.names] + [tuple(mesh.names), tuple(reversed(mesh.names))]
    choices += [axes + (name,) for name in mesh.names if name not in axes] + [tuple(reversed(axes))]
    if node.op != "all-reduce":
        choices = [c for c in choices if mesh.product(c) == mesh.product(axes)]
    else:
        choices = [c for c in choices if set(c) != set(axes)]
    choices = [c for c in choices if c != axes]
    return edit.set(node, axes=edit.draw.choice(choices)) if choices else None


def rescale(edit, node):
    n = float(edit.mesh.product(node.attributes["axes"]))
    scaled = node / n if edit.draw.random() < 0.7 else node * n
    if node.dtype != FLOAT:
        return None
    return edit.replace(node, scaled)


def other_region(edit, node):
    return edit.set(node, region=OTHER_REGION[node.attributes["region"]])


def other_start(edit, node):
    start = 1.0 if node.attributes["region"] == "add" else 0.0
    return edit.set_operand(node, 1, constant(start, node.dtype))


def reverse_ring(edit, node):
    pairs = [(b, a) for a, b in node.attributes["pairs"]]
    return edit.set(node, pairs=pairs) if sorted(pairs) != sorted(node.attributes["pairs"]) else None


def without_offset(edit, node):
    """A part begins at zero, or at another device's place."""
    places = [i for i, start in enumerate(node.operands) if i and start.dtype == INTEGER and not start.shape
              and start.op != "constant"]
    if not places:
        return None
    place = edit.draw.choice(places)
    start = node.operands[place]
    wrong = constant(0, INTEGER) if edit.draw.random() < 0.5 else start + edit.draw.choice([-1, 1])
    return edit.set_operand(node, place, wrong)


def other_table(edit, node):
    values = node.attributes["value"]
    choices = [values[1:] + values[:1], values[-1:] + values[:-1], values[::-1], (0,) * len(values)]
    choices = [tuple(c) for c in choices if tuple(c) != tuple(values)]
    return edit.set(node, value=edit.draw.choice(choices)) if choices else None


def other_integer(edit, node):
    """A block's size, a stride or a bound that is off."""
    value = node.attributes["value"]
    changed = edit.draw.choice([value + 1, value - 1, value * 2])
    divides = any(user.op in ("divide", "remainder") for user in edit.users.get(id(node), ()))
    if changed == value or changed <= 0 and divides or changed < 0 and node.dtype != INTEGER:
        return None
    return edit.set(node, value=changed)


def other_number(edit, node):
    value = node.attributes["value"]
    if isinstance(value, str):
        return None
    return edit.set(node, value=1.0 if value == 0 else value * edit.draw.choice([0.5, 2.0, 1.25, -1.0]))


def swap(edit, node):
    operands = list(node.operands)
    first = 1 if node.op == "select" else 0
    pairs = [(i, j) for i in range(first, len(operands)) for j in range(i + 1, len(operands))
             if operands[i].shape == operands[j].shape and operands[i].dtype == operands[j].dtype
             and operands[i] is not operands[j]]
    if not pairs:
        return None
    i, j = edit.draw.choice(pairs)
    operands[i], operands[j] = operands[j], operands[i]
    node.operands = tuple(operands)
    return node


def other_direction(edit, node):
    return edit.set(node, direction=OTHER_DIRECTION[node.attributes["direction"]])


def without_mask(edit, node):
    side = 1 if edit.draw.random() < 0.8 else 2
    return edit.replace(node, node.operands[side])


def one_side(edit, node):
    return edit.replace(node, edit.draw.choice(node.operands))


def shift_slice(edit, node):
    ranges, whole = list(node.attributes["ranges"]), node.operands[0].shape
    moves = [(d, by) for d, (a, b) in enumerate(ranges) for by in (-1, 1) if 0 <= a + by and b + by <= whole[d]]
    if not moves:
        return None
    d, by = edit.draw.choice(moves)
    ranges[d] = (ranges[d][0] + by, ranges[d][1] + by)
    return edit.set(node, ranges=tuple(ranges))


def other_weight(edit, node):
    """Another parameter of the same shape: another layer's weight, a moment for a weight."""
    others = [p for p in edit.graph.parameters if p is not node and p.shape == node.shape and p.dtype == node.dtype]
    users = edit.users.get(id(node), ())
    if not others or not users:
        return None
    user = edit.draw.choice(users)
    edit.replace(node, edit.draw.choice(others), [user])
    return user


def other_dimensions(edit, node):
    """Dimensions of a broadcast or transpose, or of a product, exchanged where the sizes allow it."""
    if node.op == "dot":
        place = edit.draw.choice((0, 1))
        contracting = list(node.attributes["contracting"][place])
        x = node.operands[place]
        used = {*contracting, *node.attributes["batch"][place]}
        free = [d for d in range(x.rank) if d not in used and contracting and x.shape[d] == x.shape[contracting[-1]]]
        kept = [size for d, size in enumerate(x.shape) if d not in used]
        free = [f for f in free if kept == [size for d, size in enumerate(x.shape)
                                            if d not in used - {contracting[-1]} and d != f]]
        if not free:
            return None
        contracting[-1] = edit.draw.choice(free)
        both = list(node.attributes["contracting"])
        both[place] = tuple(contracting)
        return edit.set(node, contracting=tuple(both))
    dimensions, sizes = list(node.attributes["dimensions"]), node.shape
    if node.op == "transpose":
        pairs = [(i, j) for i in range(node.rank) for j in range(i) if sizes[i] == sizes[j] != 1]
        if not pairs:
            return None
        i, j = edit.draw.choice(pairs)
        dimensions[i], dimensions[j] = dimensions[j], dimensions[i]
        return edit.set(node, dimensions=tuple(dimensions))
    moves = [(i, e) for i, d in enumerate(dimensions) for e in range(node.rank)
             if e not in dimensions and sizes[e] == sizes[d] != 1]
    moves = [(i, e) for i, e in moves if sorted(dimensions[:i] + [e] + dimensions[i + 1:]) ==
             dimensions[:i] + [e] + dimensions[i + 1:]]
    if not moves:
        return None
    i, e = edit.draw.choice(moves)
    dimensions[i] = e
    return edit.set(node, dimensions=tuple(dimensions))


def other_word(edit, node):
    node.op = OTHER_WORD[node.op]
    return node


def other_count(edit, node):
    return edit.set(node, count=node.attributes["count"] + edit.draw.choice([-1, 1]))


def stale_result(edit, node):
    """A result is what it was before, or is another result of the same shape."""
    places = [i for i, result in enumerate(edit.graph.results) if result is node]
    others = [x for x in [*edit.graph.parameters, *edit.graph.results]
              if x is not node and x.shape == node.shape and x.dtype == node.dtype]
    if not others or not places:
        return None
    edit.graph.results[places[0]] = edit.draw.choice(others)
    return edit.graph.results[places[0]]


def op_is(*words):
    return lambda edit, node: node.op in words


def is_result(edit, node):
    return any(node is result for result in edit.graph.results) and node.op != "parameter"


def is_float_pointwise(edit, node):
    return node.op in OTHER_WORD and (node.dtype == FLOAT or node.op == "and")


def of_constant(kind):
    def fits(edit, node):
        if node.op != "constant" or not edit.users.get(id(node)):
            return False
        is_table = isinstance(node.attributes["value"], tuple)
        of_reduce = any(user.op == "reduce" for user in edit.users[id(node)])
        return {"table": is_table, "integer": not is_table and node.dtype != FLOAT and not of_reduce,
                "number": not is_table and node.dtype == FLOAT and not of_reduce}[kind]
    return fits


KINDS = {  # kind: weight, which nodes it fits, the change
    "collective_dropped": (5, op_is(*GROUPED, "collective-permute"), drop),
    "collective_dropped_for_one": (2, op_is("all-reduce"), drop_for_one),
    "collective_doubled": (3, op_is("all-reduce"), double),
    "collective_moved": (3, op_is("all-reduce"), move),
    "collective_other_axes": (4, op_is(*GROUPED), other_axes),
    "collective_rescaled": (3, op_is(*REDUCTIONS), rescale),
    "other_region": (2, op_is(*REDUCTIONS, "reduce"), other_region),
    "other_start": (1, op_is("reduce"), other_start),
    "ring_reversed": (3, op_is("collective-permute"), reverse_ring),
    "offset_wrong": (4, op_is("dynamic-slice", "dynamic-update-slice"), without_offset),
    "table_wrong": (3, of_constant("table"), other_table),
    "integer_wrong": (3, of_constant("integer"), other_integer),
    "number_wrong": (2, of_constant("number"), other_number),
    "operands_swapped": (3, op_is("subtract", "divide", "select", "concatenate", "power", "dot", "compare"), swap),
    "direction_wrong": (2, op_is("compare"), other_direction),
    "mask_missing": (3, op_is("select"), without_mask),
    "side_missing": (3, op_is("add", "multiply", "and"), one_side),
    "slice_shifted": (2, op_is("slice"), shift_slice),
    "other_weight": (4, op_is("parameter"), other_weight),
    "other_dimensions": (2, op_is("broadcast", "transpose", "dot"), other_dimensions),
    "other_word": (2, is_float_pointwise, other_word),
    "count_wrong": (2, op_is("while"), other_count),
    "result_stale": (2, is_result, stale_result),
}


def mutated(graph, mesh, draw):
    """A copy of the graph with one mistake, and the mistake; None where none could be planted."""
    entry, bodies = copied(graph)
    editors = [Editor(g, mesh, draw) for g in (entry, *bodies)]
    for _ in range(400):
        kind = draw.choices(list(KINDS), [weight for weight, _, _ in KINDS.values()])[0]
        _, fits, change = KINDS[kind]
        sites = [(edit, node) for edit in editors for node in edit.nodes if fits(edit, node)]
        if not sites:
            continue
        edit, node = draw.choice(sites)
        frames = node.frames
        with made_for(node):
            changed = change(edit, node)
        if changed is not None:
            changed = edit.first_that_differs(node, changed)
            return entry, Mistake(kind, frames or changed.frames, changed)
    return None

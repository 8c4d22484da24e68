"""Reverse-mode differentiation of graphs: the gradients of a scalar with respect to nodes."""
from graph import (REALS, broadcast, compare, constant, convert, dot, in_order, made_for, pad, put_picks, put_rows,
                   reduce, reshape, select, slice_of, transpose)


def gradients(loss, wanted, seed=None):
    """Of the loss (or, with a seed, of its product with the seed) by each of the wanted nodes."""
    order = in_order([loss])
    depends = {id(node) for node in wanted}
    for node in order:
        if any(id(operand) in depends for operand in node.operands):
            depends.add(id(node))
    cotangents = {id(loss): seed if seed is not None else constant(1.0)}
    for node in reversed(order):
        cotangent = cotangents.get(id(node))
        if cotangent is None or node.op not in RULES:
            continue
        if node.hint and cotangent.hint is None and cotangent.op != "constant":
            cotangent.hint = node.hint
        with made_for(node):
            parts = RULES[node.op](node, cotangent, *node.operands)
            for operand, part in zip(node.operands, parts):
                if part is not None and id(operand) in depends and operand.dtype in REALS:
                    before = cotangents.get(id(operand))
                    cotangents[id(operand)] = part if before is None else before + part
    return [cotangents.get(id(node)) for node in wanted]


def dot_rule(node, ct, a, b):
    (ca, cb), (ba, bb) = node.attributes["contracting"], node.attributes["batch"]
    free_a = [d for d in range(a.rank) if d not in ca and d not in ba]
    free_b = [d for d in range(b.rank) if d not in cb and d not in bb]
    n, in_ct_a = len(ba), range(len(ba), len(ba) + len(free_a))
    in_ct_b = range(n + len(free_a), ct.rank)
    # Of a: the cotangent and b over b's free dimensions; batch, a's free ones, then b's contracting ones, in order.
    order_cb = sorted(range(len(cb)), key=lambda i: cb[i])
    da = dot(ct, b, (list(in_ct_b), free_b), (list(range(n)), list(bb)))
    places = [*ba, *free_a, *[ca[i] for i in order_cb]]
    da = transpose(da, [places.index(d) for d in range(a.rank)])
    order_ca = sorted(range(len(ca)), key=lambda i: ca[i])
    db = dot(ct, a, (list(in_ct_a), free_a), (list(range(n)), list(ba)))
    places = [*bb, *free_b, *[cb[i] for i in order_ca]]
    return da, transpose(db, [places.index(d) for d in range(b.rank)])


def broadcast_rule(node, ct, x):
    kept = node.attributes["dimensions"]
    gone = [d for d in range(node.rank) if d not in kept]
    return (reduce(ct, gone) if gone else ct,)


def reduce_rule(node, ct, x, _start):
    if node.attributes["region"] != "add":
        return None, None
    kept = [d for d in range(x.rank) if d not in node.attributes["dimensions"]]
    return broadcast(ct, x.shape, kept), None


def concatenate_rule(node, ct, *parts):
    at, results = 0, []
    for part in parts:
        size = part.shape[node.attributes["dimension"]]
        results.append(slice_of(ct, node.attributes["dimension"], at, at + size))
        at += size
    return results


def slice_rule(node, ct, x):
    return (pad(ct, [(a, size - b) for (a, b), size in zip(node.attributes["ranges"], x.shape)]),)


def transpose_rule(node, ct, _x):
    dimensions = node.attributes["dimensions"]
    return (transpose(ct, [dimensions.index(d) for d in range(node.rank)]),)


def select_rule(node, ct, truth, _yes, _no):
    zero = broadcast(constant(0.0), node.shape, ())
    return None, select(truth, ct, zero), select(truth, zero, ct)


def maximum_rule(node, ct, a, b):
    zero = broadcast(constant(0.0), node.shape, ())
    return select(compare(a, b, "GT"), ct, zero), select(compare(a, b, "GT"), zero, ct)


def divide_rule(node, ct, a, b):
    return ct / b, -(ct * node / b)


RULES = {
    "add": lambda node, ct, a, b: (ct, ct),
    "subtract": lambda node, ct, a, b: (ct, -ct),
    "multiply": lambda node, ct, a, b: (ct * b, ct * a),
    "divide": divide_rule,
    "negate": lambda node, ct, a: (-ct,),
    "exponential": lambda node, ct, a: (ct * node,),
    "log": lambda node, ct, a: (ct / a,),
    "rsqrt": lambda node, ct, a: (ct * node / a * -0.5,),
    "sqrt": lambda node, ct, a: (ct / node * 0.5,),
    "tanh": lambda node, ct, a: (ct * (1.0 - node * node),),
    "logistic": lambda node, ct, a: (ct * (node * (1.0 - node)),),
    "maximum": maximum_rule,
    "select": select_rule,
    "convert": lambda node, ct, a: (convert(ct, a.dtype),),
    "reshape": lambda node, ct, a: (reshape(ct, a.shape),),
    "transpose": transpose_rule,
    "broadcast": broadcast_rule,
    "reduce": reduce_rule,
    "dot": dot_rule,
    "slice": slice_rule,
    "concatenate": concatenate_rule,
    "take": lambda node, ct, rows, indices: (put_rows(ct, indices, rows.shape[0]), None),
    "pick": lambda node, ct, x, indices: (put_picks(ct, indices, x.shape[-1]), None),
}

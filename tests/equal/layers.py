"""Layers of the models whose training is written as pairs. Statements here are users' lines, which the texts name."""
from graph import (FLOAT, HALF, Node, compare, concatenate, convert, einsum, elementwise, hinted, iota, mean, pick,
                   reduce, reshape, select, slice_of, take, total, unary)


def rms_norm(x, weight):
    square = mean(x * x, [-1], keep=True)
    normal = x * unary("rsqrt", square + 1e-5)
    return normal * weight


def layer_norm(x, weight, bias):
    centred = x - mean(x, [-1], keep=True)
    variance = mean(centred * centred, [-1], keep=True)
    return centred * unary("rsqrt", variance + 1e-5) * weight + bias


def layer_norm_of_moments(x, weight, bias):
    first = mean(x, [-1], keep=True)
    variance = mean(x * x, [-1], keep=True) - first * first
    return (x - first) / unary("sqrt", variance + 1e-5) * weight + bias


def shift_of(x, style):
    """What may be taken from the exponents of a sum: any number that the summands share."""
    if style.shift == "none":
        return None
    if style.shift == "largest_of_all":
        return reduce(x, range(x.rank), "maximum")
    return reduce(x, [-1], "maximum", keep=True)


def softmax(x, style):
    shift = shift_of(x, style)
    weights = unary("exponential", x if shift is None else x - shift)
    if style.divides_late:
        return weights * (1.0 / reduce(weights, [-1], keep=True))
    return weights / reduce(weights, [-1], keep=True)


def rotate(x, base):
    """Rotary positions of [batch, sequence, heads, size], as halves."""
    half = x.shape[3] // 2
    rate = elementwise("power", base, -iota((half,), 0, FLOAT) / float(half))
    angle = reshape(iota((x.shape[1],), 0, FLOAT), (x.shape[1], 1)) * rate
    angle = reshape(angle, (x.shape[1], 1, half))
    cosine, sine = unary("cosine", angle), unary("sine", angle)
    first, second = slice_of(x, 3, 0, half), slice_of(x, 3, half, 2 * half)
    return concatenate([first * cosine - second * sine, second * cosine + first * sine], 3)


def causal(scores, length, style):
    if style.mask_by_positions:
        position = iota((length,), 0)
        visible = compare(position, reshape(position, (length, 1)), "LE")
    else:
        rows = iota((length, length), 0)
        columns = iota((length, length), 1)
        visible = compare(rows, columns, "GE")
    return select(visible, scores, style.least)


def attention(q, k, v, is_causal, style):
    """q [batch, sequence, heads, size]; k, v [batch, sequence, groups, size]; a group's heads lie together."""
    batch, length, heads, size = q.shape
    groups = k.shape[2]
    if style.rings:
        return Node("ring_attention", q.shape, (q, k, v), causal=is_causal, style=style)
    if heads == groups:
        scores = einsum("bshk,bthk->bhst", q, k) * float(size) ** -0.5
        scores = causal(scores, length, style) if is_causal else scores
        weights = softmax(scores, style)
        return einsum("bhst,bthk->bshk", weights, v)
    q = reshape(q, (batch, length, groups, heads // groups, size))
    scores = einsum("bsghk,btgk->bghst", q, k) * float(size) ** -0.5
    scores = causal(scores, length, style) if is_causal else scores
    weights = softmax(scores, style)
    mixed = einsum("bghst,btgk->bsghk", weights, v)
    return reshape(mixed, (batch, length, heads, size))


def fused_projections(x, weight, config, style):
    """Queries, keys and values of one weight, whose columns lie one behind the other."""
    ends = [config.heads * config.head, (config.heads + config.groups) * config.head, weight.shape[1]]
    ranges = list(zip([0, *ends], ends))
    if style.slices_weights:
        return [project(x, slice_of(weight, 1, *r), style) for r in ranges]
    both = project(x, weight, style)
    return [slice_of(both, 2, *r) for r in ranges]


def attention_block(x, w, config, style):
    batch, length, _ = x.shape
    if "wqkv" in w:
        q, k, v = fused_projections(x, w["wqkv"], config, style)
    else:
        q = project(x, w["wq"], style)
        k = project(x, w["wk"], style)
        v = project(x, w["wv"], style)
    q = reshape(q, (batch, length, config.heads, config.head))
    k = reshape(k, (batch, length, config.groups, config.head))
    v = reshape(v, (batch, length, config.groups, config.head))
    if config.rotary:
        q = rotate(q, config.base)
        k = rotate(k, config.base)
    mixed = attention(q, k, v, config.causal, style)
    mixed = reshape(mixed, (batch, length, config.heads * config.head))
    out = project(mixed, w["wo"], style)
    return out + w["bo"] if "bo" in w else out


def project(x, weight, style):
    if style.casts:
        return convert(einsum("bsd,de->bse", convert(x, HALF), convert(weight, HALF)), FLOAT)
    return einsum("bsd,de->bse", x, weight)


def gelu(x):
    inner = (x + x * x * x * 0.044715) * 0.7978845608
    return x * 0.5 * (unary("tanh", inner) + 1.0)


def silu(x):
    return x * unary("logistic", x)


def silu_of_exponential(x):
    return x / (unary("exponential", -x) + 1.0)


def relu(x):
    return elementwise("maximum", x, 0.0)


ACTIVATIONS = {"gelu": gelu, "silu": silu, "relu": relu, "tanh": lambda x: unary("tanh", x)}


def mlp_block(x, w, config, style):
    activation = ACTIVATIONS[config.activation]
    if config.activation == "silu" and style.silu_of_exponential:
        activation = silu_of_exponential
    if config.gated and style.fused:
        both = concatenate([reshape(w[name], (x.shape[2], 1, config.mlp)) for name in ("w1", "w3")], 1)
        both = einsum("bsd,dce->bsce", x, both)
        gate = reshape(slice_of(both, 2, 0, 1), (*x.shape[:2], config.mlp))
        other = reshape(slice_of(both, 2, 1, 2), (*x.shape[:2], config.mlp))
        hidden = activation(gate) * other
    elif config.gated:
        gate = activation(project(x, w["w1"], style))
        hidden = gate * project(x, w["w3"], style)
    else:
        hidden = project(x, w["w1"], style)
        hidden = hidden + w["b1"] if "b1" in w else hidden
        hidden = activation(hidden)
    out = project(hidden, w["w2"], style)
    return out + w["b2"] if "b2" in w else out


def norm(x, w, name, config, style):
    if config.norm == "rms":
        return rms_norm(x, w[name])
    if not style.moments:
        return layer_norm(x, w[name], w[name + "_bias"])
    return layer_norm_of_moments(x, w[name], w[name + "_bias"])


def experts_block(x, w, tokens, config, style):
    """Each token goes to the expert that its id says, scaled by the router's probability of that one. Where experts
    lie apart, tokens go there and come back."""
    activation = ACTIVATIONS[config.activation]
    probabilities = softmax(project(x, w["router"], style), style)
    route = elementwise("remainder", tokens, config.experts)
    chosen = compare(iota((*x.shape[:2], config.experts), 2), reshape(route, (*route.shape, 1)), "EQ")
    chosen = convert(chosen, FLOAT)
    inputs = einsum("bse,bsd->ebsd", chosen, x)
    inputs = hinted(inputs, "expert", "batch", "sequence", "features")
    hidden = activation(einsum("ebsd,edf->ebsf", inputs, w["w1"]))
    outputs = einsum("ebsf,efd->ebsd", hidden, w["w2"])
    outputs = hinted(outputs, "together", "batch", "sequence", "features")
    return einsum("ebsd,bse->bsd", outputs, chosen * probabilities)


def block(x, w, config, style, tokens=None):
    if config.attends:
        x = x + attention_block(norm(x, w, "attention_norm", config, style), w, config, style)
        x = hinted(x, "batch", "sequence", "features")
    normal = norm(x, w, "mlp_norm", config, style)
    if config.experts:
        x = x + experts_block(normal, w, tokens, config, style)
    else:
        x = x + mlp_block(normal, w, config, style)
    return hinted(x, "batch", "sequence", "features")


def embed(rows, tokens, wraps):
    if wraps:
        tokens = select(compare(tokens, 0, "LT"), tokens + rows.shape[0], tokens)
    return hinted(take(rows, tokens), "batch", "sequence", "features")


def log_sum_exp(x, style):
    shift = shift_of(x, style)
    if shift is None:
        return unary("log", reduce(unary("exponential", x), [-1]))
    weights = unary("exponential", x - shift)
    return unary("log", reduce(weights, [-1])) + reshape(shift, x.shape[:-1] if shift.rank else ())


def cross_entropy(logits, targets, config, style):
    """The mean over targets that are not negative, or over all."""
    valid = compare(targets, 0, "GE")
    safe = select(valid, targets, 0) if config.masks_targets else targets
    if style.one_hot:
        is_target = compare(iota(logits.shape, 2), reshape(safe, (*safe.shape, 1)), "EQ")
        chosen = reduce(select(is_target, logits, 0.0), [-1])
    else:
        chosen = pick(logits, safe)
    losses = log_sum_exp(logits, style) - chosen
    if not config.masks_targets:
        return mean(losses, range(losses.rank))
    losses = select(valid, losses, 0.0)
    count = total(convert(valid, FLOAT))
    return total(losses) / elementwise("maximum", count, 1.0)


def squared_error(x, wanted):
    difference = x - wanted
    return mean(difference * difference, range(x.rank))

#!/usr/bin/env python3
"""Writes FX texts, and beside them what PyTorch computes, as tests of the reader and the interpreter expect it.

    fx_values.py tests/inputs/fx/values

Needs PyTorch (`pip install torch`; the numbers that are committed are from 2.15.0). The texts are given nothing: they
make their arrays of numbers in a row, in doubles. Results are written to NAME.values, a line for each."""
import os
import sys

import torch
import torch.nn.functional as F
from torch.fx.experimental.proxy_tensor import make_fx

REAL = torch.float64


def array(*sizes, start=0.3):
    n = 1
    for size in sizes:
        n *= size
    return torch.sin(torch.arange(n, dtype=REAL) * 1.7 + start).reshape(sizes)


def positive(*sizes):
    return array(*sizes).abs() + 0.25


def whole(*sizes, most=5):
    n = 1
    for size in sizes:
        n *= size
    return (torch.sin(torch.arange(n, dtype=REAL) * 2.3).abs() * most).floor().to(torch.int64).reshape(sizes)


def gradients(result, *of):
    """What comes back of the result, whose gradient is an array like it."""
    return torch.autograd.grad(result, of, array(*result.shape, start=0.9))


def leaf(*sizes, start=0.3):
    return array(*sizes, start=start).requires_grad_()


def elements():
    x, y, p = array(2, 3), array(2, 3, start=1.1), positive(2, 3)
    yield from (x.abs(), x.ceil(), x.floor(), -x, (x * 3).round(), x.sign(), x.square(), x.cos(), x.erf(), x.exp())
    yield from (x.expm1(), p.log(), p.log1p(), p.rsqrt(), x.sigmoid(), x.sin(), p.sqrt(), x.tan(), x.tanh(), p.reciprocal())
    yield from (x + y, torch.add(x, y, alpha=2), x + 3, x - y, torch.sub(x, y, alpha=0.5), 2 - x, x * y, x * 0.3, x / y, x / 7)
    yield from (x.maximum(y), x.minimum(y), p ** 2, p ** -0.5, p ** y, 2.0 ** y, torch.addcmul(x, y, p, value=0.3))
    yield from (torch.addcdiv(x, y, p, value=0.3), torch.lerp(x, y, 0.3), x.clamp(-0.5, 0.5), x.clamp(min=0), x.clamp_min(0.1))
    yield from (x == y, x != 0, x >= y, x > 0, x <= y, x < 0.2, torch.where(x > 0, x, y), x.masked_fill(x > 0, -3.0))
    yield from ((x > 0).logical_and(y > 0), (x > 0) | (y > 0), ~(x > 0), (x > 0) ^ (y > 0), x.logical_not())
    yield from (x[0] + y, x * y[:, :1], whole(2, 3) + 1, whole(2, 3) * x, whole(2, 3) / 2, whole(2, 3) > 1, (x > 0) * 3)
    yield from (x.to(torch.int64), whole(2, 3).to(REAL), (x > 0).to(REAL), (whole(3) * 2 - 3).abs())


def activations():
    x = leaf(2, 5)
    for of in (F.relu, F.gelu, lambda v: F.gelu(v, approximate="tanh"), F.silu, torch.sigmoid, torch.tanh):
        result = of(x)
        yield result.detach()
        yield from gradients(result, x)
    yield F.softplus(x).detach()


def moves():
    x = array(2, 3, 4)
    yield from (x.view(6, 4), x.view(2, -1), x.flatten(1), x.unflatten(2, (2, 2)), x.unsqueeze(1), x[:, :1].squeeze(1), x[:1].squeeze())
    yield from (x[0].t(), x.permute(2, 0, 1), x.transpose(0, -1), x[:, :1].expand(2, 5, 4), x[0].repeat(2, 1, 2), x[1], x[:, -1])
    yield from (x[:, 1:], x[:, :, ::2], x[..., -3:-1], x.narrow(1, 1, 2), torch.cat([x, x[:, :2]], 1), torch.stack([x, -x], 1))
    yield from (*x.split(2, 1), *x.split([1, 3], 2), *x.chunk(3, 2), *x.unbind(1), x.flip([0, 2]), x.roll(1, 1), x.roll((1, -2), (0, 2)))
    yield from (F.pad(x, (1, 2)), F.pad(x, (0, 1, 1, 0), value=2.5), F.pad(x, (-1, 0)), x[0].tril(), x[0].triu(1), x[0].tril(-1))
    yield from (torch.full((2, 2), 1.5, dtype=REAL), torch.zeros(2, dtype=REAL), torch.ones(2, dtype=torch.int64), torch.ones_like(x[0]))
    yield from (torch.arange(2, 8, 2), torch.arange(5), torch.zeros_like(x[0]), x.new_zeros(3), torch.full_like(x[0], 0.5))
    yield torch.slice_scatter(x, -x[:, :2], 1, 1, 3)
    yield from (torch.cat(x.chunk(2, 2), 0), torch.cat(x.chunk(2, 0), 2), torch.cat(x.chunk(3, 1), 1), torch.cat(x.chunk(2, 2)[::-1], 0))
    yield from (torch.cat(x.chunk(2, 0), 1), torch.cat(x.unflatten(2, (2, 2)).chunk(2, 3), 1))
    yield torch.select_scatter(x, -x[:, 0], 1, 2)
    y = leaf(3, 6)
    for result in (y[1:], y[:, 1::2], y[:, -1], torch.cat([y, y * 2], 1), torch.stack([y, y]), y.expand(2, 3, 6), y.repeat(2, 1)):
        yield from gradients(result, y)


def folds():
    x, y, z = leaf(3, 4), leaf(4, 5, start=1.1), leaf(2, 3, 4, start=2.0)
    for result, of in ((x @ y, (x, y)), (torch.addmm(y[0], x, y, beta=0.5, alpha=2), (x, y)), (z @ z.mT, (z,)), (z @ y, (z, y)),
                       (x.sum(), (x,)), (z.sum(1), (z,)), (z.sum((0, 2), keepdim=True), (z,)), (x.mean(), (x,)), (z.mean(-1), (z,)),
                       (z.var(-1), (z,)), (z.amax(1), (z,)), (z.softmax(-1), (z,)), (z.log_softmax(1), (z,)),
                       (z.logsumexp(2), (z,)), (z @ y[:, 0], (z, y)), (torch.baddbmm(z[:, :, :3], z, z.mT), (z,))):
        yield result.detach()
        yield from gradients(result, *of)
    w = array(3, 4)
    yield from (w.amin(0), w.max(), w.min(), (w > 0).any(), (w > 0).any(1), (w > 0).all(), (w > -2).all(0), (w > 0).sum(), whole(2, 3).sum(0))
    yield from (torch.linalg.vector_norm(w), torch.linalg.vector_norm(w, dim=1), *torch.var_mean(w, 1), w.var(0, correction=0))


def norms():
    x, weight, bias = leaf(2, 3, 4), leaf(4, start=1.0), leaf(4, start=2.0)
    for result, of in ((F.layer_norm(x, (4,), weight, bias), (x, weight, bias)), (F.layer_norm(x, (3, 4), eps=0.1), (x,))):
        yield result.detach()
        yield from gradients(result, *of)


def lookups():
    table, x, rows = leaf(6, 3), leaf(3, 5, start=1.0), whole(2, 2)
    places = whole(3, 2)
    for result, of in ((F.embedding(rows, table), table), (F.embedding(rows, table, padding_idx=1), table), (table[rows], table),
                       (x[:, whole(2, 2)], x), (x.index_select(1, whole(4)), x), (x.gather(1, places), x), (table[rows - 3], table)):
        yield result.detach()
        yield from gradients(result, of)
    y = array(3, 5)
    yield y.scatter_add(1, places, array(3, 2, start=0.1))
    yield y.scatter(1, places[:, :1], 2.0)
    yield y.scatter(1, places[:, :1], array(3, 1, start=0.1))


def losses():
    x, target = leaf(4, 5), whole(4)
    for result in (F.cross_entropy(x, target), F.cross_entropy(x, target, reduction="sum"), F.cross_entropy(x, target, reduction="none"),
                   F.cross_entropy(x, target, ignore_index=2), F.mse_loss(x, array(4, 5, start=0.1)), F.nll_loss(x, target)):
        yield result.detach()
        yield from gradients(result, x)


def attention():
    q, k, v = leaf(1, 2, 3, 4), leaf(1, 2, 3, 4, start=1.0), leaf(1, 2, 3, 4, start=2.0)
    mask = array(3, 3)
    for result in (F.scaled_dot_product_attention(q, k, v), F.scaled_dot_product_attention(q, k, v, is_causal=True),
                   F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=0.3)):
        yield result.detach()
        yield from gradients(result, q, k, v)


def composed():
    """As torch.export leaves them."""
    x, y, weight, bias = array(2, 3, 4), array(2, 4, 3, start=1.0), array(5, 4), array(5, start=2.0)
    yield from (F.linear(x, weight, bias), F.linear(x, weight), x @ y, x[0] @ y, x @ y[0], x[0, 0] @ y, x @ y[0, :, 0], x[0, 0] @ y[0, :, 0])
    yield from (x.softmax(-1), x.log_softmax(0), F.layer_norm(x, (4,), x[0, 0], x[0, 1]), F.rms_norm(x, (4,), x[0, 0], 1e-3), F.dropout(x, 0.5, False))
    yield from (F.scaled_dot_product_attention(x, x, x, is_causal=True), F.scaled_dot_product_attention(x, x, x, attn_mask=x[0, :, :3] > 0))
    yield from (F.cross_entropy(x[0], whole(3, most=3)), F.mse_loss(x, x * 2), F.nll_loss(x[0], whole(3, most=3)), x.contiguous(), x.flatten(), x.type_as(x))


def called():
    """Ops by their own names, of which the others make no use."""
    x, y, p, ops = array(2, 3), array(2, 3, start=1.1), positive(2, 3), torch.ops.aten
    yield from (ops.rsub.Tensor(x, y), ops.lerp.Tensor(x, y, p), ops.clamp.Tensor(x, -p, p), ops.eq.Scalar(whole(3), 2), ops.ne.Tensor(x, y))
    yield from (ops.ge.Scalar(x, 0.1), ops.gt.Tensor(x, y), ops.le.Scalar(x, 0), ops.lt.Tensor(x, y), ops.sgn(x), ops.square(x))
    yield from (ops.logical_or(x > 0, y > 0), ops.logical_xor(x > 0, y > 0), ops.bitwise_and.Tensor(x > 0, y > 0))
    yield from (ops.where.ScalarOther(x > 0, x, 2.0), ops.where.ScalarSelf(x > 0, 2.0, x), ops.masked_fill.Tensor(x, x > 0, p.sum()))
    yield from (ops.clone(x), ops.new_ones(x, [2]), ops.new_full(x, [2], 1.5), ops.scalar_tensor(1.5, dtype=REAL), ops.arange.start(2, 6))
    yield from (torch.ops.prims.convert_element_type(x > 0, REAL), torch.ops.prims.iota(4, start=3, step=2, dtype=torch.int64, device="cpu",
                                                                                        requires_grad=False))
    yield from (ops.view_copy(x, [3, 2]), ops.squeeze.dims(x[:, :1], [1]), ops.dot(x[0], y[0]), ops.any.dims(x > 0.9, [0]), ops.chunk(x, 2, 1)[1])
    yield from (ops._unsafe_index.Tensor(x, [None, whole(2, most=3)]), ops.narrow(x, 1, 1, 2), ops.unflatten.int(x, 1, [3, 1]))


def line(result):
    numbers = result.detach().reshape(-1).tolist()
    return " ".join(f"{number:.17g}" if isinstance(number, float) else str(int(number)) for number in numbers)


def write(name, make, **how):
    def all_of():
        return tuple(make())
    text = make_fx(all_of, **how)().print_readable(print_output=False)
    with open(name + ".fx", "w", encoding="utf-8") as file:
        file.write(text.rstrip("\n") + "\n")
    with open(name + ".values", "w", encoding="utf-8") as file:
        for result in all_of():
            print(line(result), file=file)


if len(sys.argv) != 2:
    sys.exit(__doc__)
for make in (elements, activations, moves, folds, norms, lookups, losses, attention, called):
    write(os.path.join(sys.argv[1], make.__name__), make)
write(os.path.join(sys.argv[1], "composed"), composed, pre_dispatch=True)

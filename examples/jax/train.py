"""A training step of a small transformer in JAX, twice: as a model on one device, and with the collectives written by
hand for each device of a mesh of dp x tp. Both are compiled, and nothing is executed.

What `placec equal` says of them, and how XLA_FLAGS get their texts: docs/equal_jax.md."""
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

VOCAB, HIDDEN, HEADS, HEAD, FFN, BATCH, SEQUENCE = 40, 16, 4, 6, 48, 4, 8
SHAPES = {"embed": (VOCAB, HIDDEN), "qkv": (HIDDEN, 3, HEADS, HEAD), "out": (HEADS, HEAD, HIDDEN), "up": (HIDDEN, FFN),
          "down": (FFN, HIDDEN), "head": (HIDDEN, VOCAB)}
# Heads, the hidden dimension of the MLP and the vocabulary of the head are cut over tp.
SPECS = {"embed": P(), "qkv": P(None, None, "tp"), "out": P("tp"), "up": P(None, "tp"), "down": P("tp"),
         "head": P(None, "tp")}


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5)


def attention(x, w):
    q, k, v = jnp.einsum("bsm,mchd->cbshd", x, w["qkv"])
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / np.sqrt(HEAD)
    visible = jnp.arange(SEQUENCE)[:, None] >= jnp.arange(SEQUENCE)
    weights = jax.nn.softmax(jnp.where(visible, scores, -jnp.inf), -1)
    return jnp.einsum("bhst,bthd,hdm->bsm", weights, v, w["out"])


def mlp(x, w):
    return jax.nn.gelu(x @ w["up"]) @ w["down"]


def adamw(w, m, v, gradients):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, gradients)
    v = jax.tree.map(lambda v, g: 0.95 * v + 0.05 * g * g, v, gradients)
    w = jax.tree.map(lambda w, m, v: w - 1e-3 * (m / (jnp.sqrt(v) + 1e-8) + 0.1 * w), w, m, v)
    return w, m, v


# ---- on one device ------------------------------------------------------------------------------------------------

def loss_of_all(w, tokens, targets):
    x = w["embed"][tokens]
    x = x + attention(norm(x), w)
    x = x + mlp(norm(x), w)
    logits = norm(x) @ w["head"]
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))


def one(w, m, v, tokens, targets):
    loss, gradients = jax.value_and_grad(loss_of_all)(w, tokens, targets)
    return loss, *adamw(w, m, v, gradients)


# ---- on each device of a mesh -------------------------------------------------------------------------------------

def log_softmax_of_part(logits):
    largest = jax.lax.pmax(jax.lax.stop_gradient(logits.max(-1, keepdims=True)), "tp")
    shifted = logits - largest
    return shifted - jnp.log(jax.lax.psum(jnp.exp(shifted).sum(-1, keepdims=True), "tp"))


def loss_of_part(w, tokens, targets):
    x = w["embed"][tokens]
    x = x + jax.lax.psum(attention(norm(x), w), "tp")
    x = x + jax.lax.psum(mlp(norm(x), w), "tp")
    logits = norm(x) @ w["head"]
    part = logits.shape[-1]
    here = jnp.arange(part) + part * jax.lax.axis_index("tp") == targets[..., None]
    return -jnp.mean(jax.lax.psum(jnp.where(here, log_softmax_of_part(logits), 0).sum(-1), "tp"))


def many(w, m, v, tokens, targets):
    loss, gradients = jax.value_and_grad(lambda w: jax.lax.pmean(loss_of_part(w, tokens, targets), "dp"))(w)
    return loss, *adamw(w, m, v, gradients)


# ---- compiled -----------------------------------------------------------------------------------------------------

def main():
    mesh = Mesh(np.array(jax.devices()).reshape(-1, 2), ("dp", "tp"))
    specs = (SPECS, SPECS, SPECS, P("dp"), P("dp")), (P(), SPECS, SPECS, SPECS)
    of_part = jax.shard_map(many, mesh=mesh, in_specs=specs[0], out_specs=specs[1])
    inside, outside = jax.tree.map(lambda spec: NamedSharding(mesh, spec), specs)
    w = {name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in SHAPES.items()}
    tokens = jax.ShapeDtypeStruct((BATCH, SEQUENCE), jnp.int32)
    for step in one, of_part:
        jax.jit(step, in_shardings=inside, out_shardings=outside).lower(w, w, w, tokens, tokens).compile()


main()

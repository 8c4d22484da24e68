"""A training step of Llama-3.1-405B's shapes in JAX, partitioned by XLA over dp x tp; compiled, not executed.

usage: jax_llama.py LAYERS DP TP OUTDIR
The texts before and behind the pass spmd-partitioning are among those that lie in OUTDIR then."""
import os
import sys

LAYERS, DP, TP = map(int, sys.argv[1:4])
os.environ["XLA_FLAGS"] = (f"--xla_force_host_platform_device_count={DP * TP} --xla_dump_to={sys.argv[4]} "
                           "--xla_dump_hlo_as_text --xla_dump_large_constants=true "
                           "--xla_dump_hlo_pass_re=spmd-partitioning")
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

HIDDEN, FFN, HEADS, KV_HEADS, HEAD, VOCAB, SEQUENCE = 16384, 53248, 128, 8, 128, 128256, 8192
MESH = Mesh(np.array(jax.devices()).reshape(DP, TP), ("dp", "tp"))


def norm(x, weight):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-5) * weight


def attention(x, w):
    batch, length, _ = x.shape
    q = (x @ w["wq"]).reshape(batch, length, KV_HEADS, HEADS // KV_HEADS, HEAD)
    k = (x @ w["wk"]).reshape(batch, length, KV_HEADS, HEAD)
    v = (x @ w["wv"]).reshape(batch, length, KV_HEADS, HEAD)
    scores = jnp.einsum("bsghd,btgd->bghst", q, k) / np.sqrt(HEAD)
    visible = jnp.arange(length)[:, None] >= jnp.arange(length)[None]
    weights = jax.nn.softmax(jnp.where(visible, scores, -1e30), -1)
    return jnp.einsum("bghst,btgd->bsghd", weights, v).reshape(batch, length, HEADS * HEAD) @ w["wo"]


def loss(params, tokens, targets):
    x = params["embed"][tokens]
    for w in params["layers"]:
        x = x + attention(norm(x, w["norm1"]), w)
        h = norm(x, w["norm2"])
        x = x + (jax.nn.silu(h @ w["w1"]) * (h @ w["w3"])) @ w["w2"]
    logits = norm(x, params["norm"]) @ params["head"]
    picked = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, -1) - picked)


def array(shape, *axes, dtype=jnp.float32):
    return jax.ShapeDtypeStruct(shape, dtype, sharding=NamedSharding(MESH, PartitionSpec(*axes)))


def main():
    layer = {"norm1": array((HIDDEN,)), "norm2": array((HIDDEN,)), "wq": array((HIDDEN, HEADS * HEAD), None, "tp"),
             "wk": array((HIDDEN, KV_HEADS * HEAD), None, "tp"), "wv": array((HIDDEN, KV_HEADS * HEAD), None, "tp"),
             "wo": array((HEADS * HEAD, HIDDEN), "tp"), "w1": array((HIDDEN, FFN), None, "tp"),
             "w3": array((HIDDEN, FFN), None, "tp"), "w2": array((FFN, HIDDEN), "tp")}
    params = {"embed": array((VOCAB, HIDDEN)), "layers": [layer] * LAYERS, "norm": array((HIDDEN,)),
              "head": array((HIDDEN, VOCAB), None, "tp")}
    tokens = array((2 * DP, SEQUENCE), "dp", dtype=jnp.int32)
    lie = (NamedSharding(MESH, PartitionSpec()), jax.tree.map(lambda x: x.sharding, params))
    jax.jit(jax.value_and_grad(loss), out_shardings=lie).lower(params, tokens, tokens).compile()


main()

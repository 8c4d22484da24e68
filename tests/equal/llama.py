"""Pairs of a training step of Llama-3.1-405B's shapes, forward and backward, its layers one behind the other: written as
is common, over dp and over tp of heads, feed-forward and vocabulary. To be proved, not to be executed."""
import random

from mesh import Mesh
from models import Config, Style, build
from pairs import Pair, Strategy
from partition import Partitioner

SEQUENCE, SEQUENCES = 8192, 2  # of each part of the batch
CUT_BY_TP = ("heads", "groups", "mlp", "vocab")
STYLE = Style(shift="largest", divides_late=False, one_hot=False, moments=False, silu_of_exponential=False, fused=False,
              mask_by_positions=False, wraps=False, loops=False, casts=False, lays_out_gradients=True)


def llama(layers, sequences):
    return Config(kind="gradients", batch=sequences, sequence=SEQUENCE, features=16384, heads=128, groups=8, head=128,
                  mlp=53248, vocab=128256, layers=layers, attends=True, causal=True, rotary=True, base=500000.0,
                  gated=True, biases=False, activation="silu", norm="rms", masks_targets=False, tied=False,
                  optimizer="sgd", clips=False, stacked=False, microbatches=1, experts=0, fuses_projections=False)


class LlamaPair(Pair):
    """A pair that is said, not drawn."""

    def __init__(self, layers, dp, tp):
        draw = random.Random(1)  # of names and places of words, which nothing depends on
        rules = {"batch": ("dp",), **{name: ("tp",) for name in CUT_BY_TP}}
        self.strategy = Strategy(Mesh([("dp", dp), ("tp", tp)]), rules, (), ["data", "tensor"])
        self.config, self.segments, self.printer_seed = llama(layers, SEQUENCES * dp), {}, 1
        self.one = build(draw, self.config, STYLE)
        self.many = build(draw, self.config, STYLE)
        partitioner = Partitioner(self.strategy.mesh, draw, rules, True)
        self.differs, self.habits = [], partitioner.habits
        self.parameters = [self.lie(partitioner, p) for p in self.many.parameters]
        self.results = [self.lie(partitioner, r) for r in self.many.results]
        self.local = partitioner.partition(self.many.graph(), self.parameters, self.results, {})

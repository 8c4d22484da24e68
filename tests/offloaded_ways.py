#!/usr/bin/env python3
"""Makes and runs the ways of run/offloaded.test: strategies of examples with statements that keep states elsewhere.

    offloaded_ways.py PREFIX EXAMPLES PLACEC N     runs each N-th way, and those that others are held against"""
import os
import re
import subprocess
import sys

PREFIX, EXAMPLES, PLACEC, NTH = sys.argv[1:]
TWO = ("-D", "train.microbatch=2")
ORDERED = ("-D", "train.reproducible=8")
PADDED = ("-D", "model.hidden=132")  # whose last shard ends at no multiple of 64 bytes
WAYS = {
    "host": ("zero1", "optimizer : offloaded(update = host)"),
    "device": ("zero1", "optimizer : offloaded"),
    "ahead": ("zero1", "optimizer : offloaded(prefetch = 3)"),
    "tensor": ("zero1", "optimizer : offloaded(unit = tensor)"),
    "disk": ("zero1", "optimizer : offloaded(to = disk)"),
    "both": ("zero1", "optimizer : offloaded(to = disk, update = host)"),
    "whole": ("zero1", "parameters : offloaded  optimizer : offloaded(update = host)"),
    "part": ("zero1", "optimizer.layers.mlp : offloaded(update = host)"),
    "part_layers": ("zero1", "optimizer.layers[::2] : offloaded(to = disk, update = host)"),
    "part_all": ("zero3", "optimizer.layers.mlp : offloaded(update = host)  parameters : offloaded  gradients.layers.mlp : offloaded"),
    "shards": ("zero3", "parameters : offloaded"),
    "ahead3": ("zero3", "parameters : offloaded(prefetch = 2)"),
    "all": ("zero3", "parameters : offloaded  optimizer : offloaded(update = host)"),
    "sums": ("zero3", "gradients : offloaded(prefetch = 2)"),
    "updated": ("zero3", "gradients : offloaded  optimizer : offloaded(update = host)"),
    "again": ("zero3", "activations : recomputed"),
    "again2": ("zero3", "activations : recomputed(unit = layers(2))"),
    "again3": ("zero3", "activations : recomputed(unit = layers(3))  parameters.layers : gathered(dp, unit = layers(2))"),
    "again3_of": ("zero3", "activations : recomputed(unit = layers(3))  parameters : offloaded(unit = layers(2))"),
    "again_less": ("zero1", "activations : recomputed(unit = layers(2))  optimizer : offloaded(unit = layers(3))"),
    "inputs": ("zero3", "activations : recomputed, offloaded"),
    "inputs_gathered": ("zero3", "parameters.layers : gathered(dp, unit = layers(2))  activations : recomputed, offloaded"),
    "inputs2": ("zero3", "activations : recomputed(unit = layers(2)), offloaded(to = disk)"),
    "inputs2_part": ("zero3", "activations : recomputed(unit = layers(2))  activations.layers[0:2] : offloaded"),
    "some": ("zero3", "activations.layers[0:2] : offloaded  activations.layers[3:] : offloaded(to = disk)"),
    "some2": ("zero3", "activations : offloaded  activations.layers[3:] : stored  activations.layers[1:].mlp : stored"),
    "turns": ("zero3", "activations.layers[::2].mlp : offloaded"),
    "turns2": ("zero3", "activations.layers[::2] : offloaded"),
    "turns3": ("zero3", "activations.layers[1::2] : offloaded(to = disk)  activations.layers[::2] : offloaded"),
    "turns_again": ("zero3", "activations : recomputed  activations.layers[:3:2] : offloaded  parameters : offloaded"),
    "kept": ("zero1", "activations : offloaded(to = disk, prefetch = 2)"),
    "mlp": ("zero1", "activations.mlp : offloaded(unit = tensor)"),
    "infinity": ("zero3", "parameters, optimizer : offloaded(to = disk)  activations : recomputed, offloaded"),
    "terms": ("zero3", "", *TWO),
    "added": ("zero3", "gradients : offloaded  optimizer : offloaded(update = host)", *TWO),
    "added_disk": ("zero3", "gradients : offloaded(to = disk)", *TWO),
    "added_part": ("zero3", "gradients.layers.mlp : offloaded  gradients.layers.attention : offloaded(to = disk)", *TWO),
    "sums_disk": ("zero3", "gradients : offloaded(to = disk)"),
    "sums_part": ("zero3", "gradients.layers.mlp : offloaded"),
    "sums_some": ("zero3", "gradients.layers[0:2] : offloaded  gradients.layers[3:] : offloaded(to = disk)"),
    "islands": ("local_steps", ""),
    "apart": ("local_steps", "optimizer : offloaded(update = host)"),
    "apart_all": ("local_steps", "parameters : offloaded  optimizer : offloaded(to = disk)  activations : offloaded"),
    "outer": ("diloco", ""),
    "outer_apart": ("diloco", "parameters : offloaded"),
    "outer_host": ("diloco", "optimizer : offloaded(update = host)"),
    "outer_groups": ("diloco", "parameters : offloaded  gradients : offloaded(unit = layers(3))"),
    "apart_part": ("local_steps", "parameters : offloaded  optimizer.embedding, optimizer.mlp : offloaded(update = host)"),
    "outer3": ("diloco", "parameters : gathered(dp)"),
    "outer3_away": ("diloco", "parameters : gathered(dp), offloaded(to = disk)"),
    "outer3_host": ("diloco", "parameters : gathered(dp), offloaded(unit = layers(2))  optimizer : offloaded(update = host)"),
    "ordered": ("zero1", "", *ORDERED),
    "carried": ("zero1", "gradients : offloaded(unit = tensor)", *ORDERED),
    "carried2": ("zero1", "gradients.layers : offloaded  optimizer : offloaded", *ORDERED),
    "carried_some": ("zero1", "gradients.layers[::2] : offloaded", *ORDERED),
    "muon": ("muon", ""),
    "muon_host": ("muon", "optimizer : offloaded(update = host)"),
    "muon_all": ("muon", "optimizer : offloaded(to = disk, update = host, unit = layers(2))  parameters : offloaded"),
    "padded": ("zero1", "", *PADDED),
    "padded_host": ("zero1", "optimizer : offloaded(update = host)", *PADDED),
    "padded_disk": ("zero1", "optimizer : offloaded(to = disk)", *PADDED),
    "groups": ("zero1", "optimizer : offloaded(unit = layers(2))  activations : offloaded(unit = layers(2))"),
    "groups3": ("zero1", "optimizer : offloaded(update = host, unit = layers(3), prefetch = 0)  activations.mlp : offloaded(unit = layers(3))"),
    "groups_all": ("zero1", "optimizer : offloaded(to = disk, unit = model)"),
    "groups_of": ("zero3", "parameters : offloaded(to = disk)  parameters.layers : gathered(dp, unit = layers(3), prefetch = 2)"),
    "groups_by": ("zero3", "parameters, gradients, activations : offloaded(unit = layers(2))  optimizer : offloaded(to = disk, update = host, unit = layers(2))"),
    "groups_sums": ("zero3", "gradients : offloaded(to = disk, unit = layers(3))"),
    "groups_again": ("zero3", "activations : recomputed, offloaded(unit = layers(2))  parameters : offloaded"),
    "groups_added": ("zero3", "gradients : offloaded(unit = layers(2))  optimizer : offloaded(update = host)", *TWO),
    "groups_disk": ("zero3", "gradients : offloaded(to = disk, unit = layers(3))", *TWO),
    "groups_carried": ("zero1", "gradients, optimizer : offloaded(unit = layers(2))", *ORDERED),
    "groups_apart": ("local_steps", "parameters, optimizer : offloaded(unit = layers(2))"),
    "disk3": ("zero3", "parameters : offloaded(to = disk)  optimizer : offloaded(to = disk)"),
}

HELD_AGAINST = ("again", "again2", "again3", "outer3")  # and those that say nothing

for i, (way, (example, said, *options)) in enumerate(WAYS.items()):
    with open(os.path.join(EXAMPLES, example + ".place"), encoding="utf-8") as file:
        text = re.sub(r"every\(\d\)", "every(2)", file.read())  # so that there is an average
        before, behind = text.rsplit("}", 1)
    with open(f"{PREFIX}.{way}.place", "w", encoding="utf-8") as file:
        file.write(f"{before}  {said}\n}}{behind}")
    log = f"{PREFIX}.{way}.log"
    if os.path.exists(log):
        os.remove(log)
    if said and way not in HELD_AGAINST and i % int(NTH):
        continue
    with open(f"{PREFIX}.{way}.json", "w", encoding="utf-8") as file:
        subprocess.run([PLACEC, "check", "--json", f"{PREFIX}.{way}.place", *options], check=True, stdout=file)
    subprocess.run([PLACEC, "run", f"{PREFIX}.{way}.place", "--data", f"{PREFIX}.text", "--steps", "3", "--quiet", "--log",
                    log, *options], check=True)

#!/usr/bin/env python3
"""Writes what XLA computes beside HLO texts, as tests of the interpreter expect it.

    hlo_values.py tests/inputs/hlo/values/*.hlo

Needs JAX (`pip install jax`; the numbers that are committed are from jaxlib 0.10.2). Each text has no parameters; its
results are written to NAME.values, by device, a line for each result. The devices are virtual ones of the CPU, as many
as `num_partitions` says."""
import os
import re
import sys

# Texts are of a device, so the partitioner, without which there are no partitions, has nothing to do.
os.environ["XLA_FLAGS"] = ("--xla_force_host_platform_device_count=8 "
                           "--xla_disable_hlo_passes=sharding-propagation,spmd-partitioning,shardy-xla")
os.environ["JAX_PLATFORMS"] = "cpu"

import jax  # noqa: E402
import numpy  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jaxlib import _hlo  # noqa: E402

jax.config.update("jax_enable_x64", True)


def compiled(text, n_devices):
    module = _hlo.hlo_module_from_text(text)
    computation = xla_client.XlaComputation(module.as_serialized_hlo_module_proto())
    options = xla_client.CompileOptions()
    options.num_replicas = 1
    options.num_partitions = n_devices
    options.executable_build_options.use_spmd_partitioning = True
    devices = xla_client.DeviceList(tuple(jax.devices()[:n_devices]))
    program = xla_client._xla.mlir.xla_computation_to_mlir_module(computation)
    return jax.devices()[0].client.compile_and_load(program, devices, options)


def line(array):
    numbers = numpy.asarray(array).ravel()
    if numbers.dtype.kind == "f":
        return " ".join(f"{number:.17g}" for number in numbers.astype("float64"))
    return " ".join(str(int(number)) for number in numbers)


for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        text = file.read()
    found = re.search(r"num_partitions=(\d+)", text)
    n_devices = int(found[1]) if found else 1
    results = compiled(text, n_devices).execute_sharded([]).disassemble_into_single_device_arrays()
    with open(name.removesuffix(".hlo") + ".values", "w", encoding="utf-8") as file:
        for device in range(n_devices):
            for result in results:
                print(line(result[device]), file=file)

"""Which examples are run. Others are of models that no test machine holds: for `check` and `compare` only."""
import glob
import json
import os
import subprocess

ROOM = 2 << 30  # bytes, of all devices of a mesh together, which are all on this machine


def takes(placec, path):
    """The bytes that all devices hold at their peak."""
    told = json.loads(subprocess.run([placec, "check", "--json", path], capture_output=True, text=True).stdout)
    return told["devices"] * told["memory"]["peak"]


def runnable(placec, folder, some=slice(None), names="*.place"):
    """The paths of those examples, in order, of some of all that are called so."""
    return [path for path in sorted(glob.glob(os.path.join(folder, names)))[some] if takes(placec, path) <= ROOM]

"""A Python that has a peer, PyTorch or JAX: that of $PYTHON_TORCH or $PYTHON_JAX, else the current one of PyPI, which
`install` puts once in a virtual environment in the cache directory (~/.cache/place/torch, ~/.cache/place/jax), else one
of the system's."""
import os
import shutil
import subprocess
import sys

TITLES = {"torch": "PyTorch", "jax": "JAX"}


def has(python, peer):
    return subprocess.run([python, "-c", f"import {peer}"], capture_output=True, check=False).returncode == 0


def named(peer):
    return os.environ.get(f"PYTHON_{peer.upper()}")


def environment(peer):
    """The folder of the virtual environment, and its Python, which need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "place", peer)
    return folder, os.path.join(folder, "bin", "python")


def find(peer="torch"):
    """The first Python that has it, or None."""
    python = named(peer)
    if python and not shutil.which(python):
        sys.exit(f"PYTHON_{peer.upper()} names no program: {python}; "
                 f"name a Python that has {TITLES[peer]}, or unset it")
    pythons = [python] if python else [environment(peer)[1], sys.executable, "/usr/bin/python3"]
    return next((python for python in pythons if shutil.which(python) and has(python, peer)), None)


def install(peer="torch"):
    """Makes the virtual environment, unless it is there or a Python is named; then the same as find()."""
    folder, python = environment(peer)
    if not named(peer) and not (os.path.exists(python) and has(python, peer)):
        print(f"installing {TITLES[peer]} in {folder}", file=sys.stderr)
        for command in ([sys.executable, "-m", "venv", folder],
                        [python, "-m", "pip", "install", "-q", peer, "numpy"]):
            if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
                break
    return find(peer)

"""A Python that has PyTorch: that of $PYTHON_TORCH, else the current one of PyPI, which `install` puts once in a
virtual environment in the cache directory (~/.cache/place/torch), else one of the system's."""
import os
import shutil
import subprocess
import sys


def has_pytorch(python):
    return subprocess.run([python, "-c", "import torch"], capture_output=True, check=False).returncode == 0


def environment():
    """The folder of the virtual environment, and its Python, which need not be there."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.path.join(cache, "place", "torch")
    return folder, os.path.join(folder, "bin", "python")


def find():
    """The first Python that has it, or None."""
    named = os.environ.get("PYTHON_TORCH")
    if named and not shutil.which(named):
        sys.exit(f"PYTHON_TORCH names no program: {named}; name a Python that has PyTorch, or unset it")
    pythons = [named] if named else [environment()[1], sys.executable, "/usr/bin/python3"]
    return next((python for python in pythons if shutil.which(python) and has_pytorch(python)), None)


def install():
    """Makes the virtual environment, unless it is there or a Python is named; then the same as find()."""
    folder, python = environment()
    if not os.environ.get("PYTHON_TORCH") and not (os.path.exists(python) and has_pytorch(python)):
        print(f"installing PyTorch in {folder}", file=sys.stderr)
        for command in ([sys.executable, "-m", "venv", folder],
                        [python, "-m", "pip", "install", "-q", "torch", "numpy"]):
            if subprocess.run(command, stdout=sys.stderr, check=False).returncode != 0:
                break
    return find()

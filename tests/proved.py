"""Files whose programs, where the front end and the placement let them through, must be proved equal to one device: a
program that the compiler makes and then refuses (E4xx, E5xx, E6xx), or an internal error, is a mistake of its passes or
of its verifier."""
import collections
import os
import re
import subprocess
import sys
import tempfile


def verdict(placec, path):
    """The code of the first error, or none; and what is wrong with that, or None."""
    done = subprocess.run([placec, "check", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    code = re.search(r"error\[(E\d)(\d+)\]", done.stdout + done.stderr)
    by_proof = code and code[1] in ("E4", "E5", "E6") and code[1] + code[2] != "E402"  # a rule of the placement
    if done.returncode < 0 or by_proof:
        return code and code[0], (done.stderr or done.stdout)[-600:]
    return code and code[1] + code[2], None


def written(folder, name, text):
    path = os.path.join(folder, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def difference(placec, one, other):
    """How the one trains otherwise than the other, or None."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "trains_alike.py")
    done = subprocess.run([sys.executable, script, placec, one, other, "-Dtrain.precision=fp64"], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    return done.stderr[-600:] if done.returncode else None


def check_all(placec, files, trained_every=0):
    """Prints what came of them. Returns the status: 0 if all that were let through were proved. A file may come with
    that of one device: then each `trained_every`-th that is accepted is trained beside it, and must train alike."""
    told, counts = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for file in files:
            text, *one = (file,) if isinstance(file, str) else file
            path = written(folder, "drawn.place", text)
            code, wrong = verdict(placec, path)
            counts[code] += 1
            if not code and one and counts[None] % trained_every == 0:
                wrong = difference(placec, written(folder, "one.place", one[0]), path)
            if wrong:
                told.append(f"{text}{wrong}")
    print(f"{counts.pop(None)} of {len(files)} accepted; refused:", dict(counts))
    print("\n".join(told))
    return 1 if told or counts["E101"] else 0

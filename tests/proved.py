"""Files whose programs, where the front end and the placement let them through, must be proved equal to one device: a
program that the compiler makes and then refuses (E4xx, E5xx, E6xx), or an internal error, is a mistake of its passes or
of its verifier."""
import collections
import os
import re
import subprocess
import tempfile


def verdict(placec, path):
    """The code of the first error, or none; and what is wrong with that, or None."""
    done = subprocess.run([placec, "check", path], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    code = re.search(r"error\[(E\d)(\d+)\]", done.stdout + done.stderr)
    if done.returncode < 0 or (code and code[1] in ("E4", "E5", "E6")):
        return code and code[0], (done.stderr or done.stdout)[-600:]
    return code and code[1] + code[2], None


def check_all(placec, texts):
    """Prints what came of them. Returns the status: 0 if all that were let through were proved."""
    told, counts = [], collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for text in texts:
            path = os.path.join(folder, "drawn.place")
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            code, wrong = verdict(placec, path)
            counts[code] += 1
            if wrong:
                told.append(f"{text}{wrong}")
    print(f"{counts.pop(None)} of {len(texts)} accepted; refused:", dict(counts))
    print("\n".join(told))
    return 1 if told or counts["E101"] else 0

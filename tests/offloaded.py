#!/usr/bin/env python3
"""Prints a file with its own program written out behind it, edited so that states of layers are kept elsewhere, freed and
planned anew.

    offloaded.py PLACEC FILE optimizer HOW [-D...]   the optimizer's states, fetched for each layer's update and put back;
                                                     HOW: host, disk, or both, where second moments are on disk
    offloaded.py PLACEC FILE update HOST [-D...]     these and the shards of parameters (of zero3): the update runs on the
                                                     host, shards come in for each gather, gradients go out"""
import re
import subprocess
import sys
import tempfile

PLACEC, FILE, WHAT, HOW, *SETTINGS = sys.argv[1:]
TIERS = {"moment1": "disk" if HOW == "disk" else "host", "moment2": "host" if HOW == "host" else "disk"}
LINE = r"  buffer (block\.\S+) : (\w+) ((?:[^@\n]|\n       )*?) layers (\d+)((?: pad \d+)?) at \d+\n"


def of_class(header, kind):
    """The names of the layers' buffers of a class, in the order of the text."""
    return re.findall(rf"^  buffer (block\.\S+) : {kind} ", header, flags=re.M)


def beside(header, kind, line):
    """The header with the lines of the layers' buffers of a class replaced."""
    return re.sub(LINE, lambda m: line(*m.group(1, 3, 4, 5)) if m.group(2) == kind else m.group(0), header)


def moved(tier, staged):
    """The line of a buffer that is in another tier, and of its places on the device, if it has any."""
    def line(kind):
        def lines(name, rest, layers, pad):
            own = f"  buffer {name} : {kind} {rest} layers {layers}{pad} on {tier}\n"
            return own + (f"  buffer {name}.staged : transient {rest} slots 2{pad}\n" if staged else "")
        return lines
    return line


def copy(handle, names, form):
    return f"start copy as {handle} {{ " + ",\n           ".join(form.format(name) for name in names) + " }\n"


def fetch(names, at):
    slot = f"{at} mod 2"
    return copy(f"fetch[{slot}]", names, f"{{0}}[{at}] -> {{0}}.staged[{slot}]")


def renamed(text, names, form):
    for name in names:
        text = re.sub(rf"\b{re.escape(name)}\[l\]", form.format(name), text)
    return text


def around(train, unit, change):
    """The loop over layers that calls the unit, changed."""
    call = train.index(f"call {unit}(")
    begin = train.rindex("    for l = ", 0, call)
    end = train.index("\n    }\n", call) + len("\n    }\n")
    body = train[begin:end].split("\n", 1)[1]
    return train[:begin] + change(body[: -len("    }\n")]) + train[end:]


def loop(first, last, body):
    return f"    for l = {first} .. {last} {{\n      {body}    }}\n"


def pipelined(names, layers):
    """The update of a layer while the next one's states come and the last one's go."""
    def change(body):
        body = "      wait fetch[l mod 2]\n" + renamed(body, names, "{0}.staged[l mod 2]")
        body += "      " + copy("put[l mod 2]", names, "{0}.staged[l mod 2] -> {0}[l]")
        gone = "wait put[l+1 mod 2]\n"
        return (loop(0, 1, fetch(names, "l")) + loop(0, 1, fetch(names, "l+1") + body) +
                loop(1, layers - 1, gone + "      " + fetch(names, "l+1") + body) +
                loop(layers - 1, layers, gone + body + "      wait put[l mod 2]\n"))
    return change


def gathered_from_host(text):
    """Shards come in right before they are gathered."""
    def change(match):
        head, at, rest = match.groups()
        names = re.findall(r"(block\.\S+)\[[^]]*\] -> ", rest)
        rest = re.sub(r"(block\.\S+)\[[^]]*\] -> ", rf"\1.staged[{at} mod 2] -> ", rest)
        return fetch(names, at) + f"      wait fetch[{at} mod 2]\n      " + head + rest
    return re.sub(r"(start all_gather over dp as gather\.block\w+\[([^]]*?) mod 2\] )(\{.*?\})", change, text,
                  flags=re.S)


def on_host(names, layers):
    """The update of a layer where its states are: gradients go out."""
    def change(body):
        body = renamed(body.split("      free")[0], names, "{0}.out")
        return loop(0, layers, copy("out[0]", names, "{0}[l] -> {0}.out") + "      wait out[0]\n" + body)
    return change


emit = [PLACEC, "emit", "--as=step", FILE, *SETTINGS]
step = subprocess.run(emit, check=True, capture_output=True, text=True).stdout
header, train, rest = re.split(r"(?=^  train \{|^  evaluate \{)", step, flags=re.M)
n = int(re.search(r" layers = (\d+)", header).group(1))
moments = of_class(header, "moment1") + of_class(header, "moment2")
for state, tier in TIERS.items():
    header = beside(header, state, moved(tier, WHAT == "optimizer")(state))
if WHAT == "optimizer":
    train = around(train, "update_block", pipelined(moments, n))
else:
    gradients = of_class(header, "gradients")
    outside = "".join(f"  buffer {name}.out : transient {rest_of}{pad} on host\n"
                      for name, kind, rest_of, _, pad in re.findall(LINE, header) if kind == "gradients")
    header = beside(header, "parameters", moved("host", True)("parameters")) + outside
    train = around(gathered_from_host(train), "update_block", on_host(gradients, n))
    rest = gathered_from_host(rest)
with tempfile.NamedTemporaryFile("w", suffix=".step") as text:
    text.write(header + train + rest)
    text.flush()
    planned = subprocess.run([PLACEC, "opt", "--passes=release,memory", text.name], check=True, stdout=subprocess.PIPE,
                             text=True).stdout
declared = f"optimizer.layers : offloaded(to = {'host' if HOW == 'host' else 'disk'})"
if WHAT == "update":
    declared = "parameters.layers : offloaded  optimizer.layers : offloaded(update = host)"
with open(FILE, encoding="utf-8") as file:
    before, behind = file.read().rsplit("}", 1)
    print(f"{before}  {declared}\n}}{behind}")
print(planned)

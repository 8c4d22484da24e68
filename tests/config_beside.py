#!/usr/bin/env python3
"""Holds the config.json that `--save DIR/` writes, and what `--from DIR` makes of one that others wrote.

    config_beside.py PLACEC MODELS

For each config.json of MODELS, of a size that trains at once: the folder that is saved starts a run, so does the file
that the model came from, beside the same weights; and of the changes below each is refused with its words, or accepted,
as it changes what is computed and no shape of a tensor, or nothing. Then what is written of what a file says for others,
and of models that few kinds have words for. With PLACE_TEST_EVERY=N every N-th file, and
change, only.
"""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

PLACEC, MODELS = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EVERY = int(os.environ.get("PLACE_TEST_EVERY", 1))
FILE = """model m from "{config}" {{ {block} }}
device d {{ memory = 1 GiB }}
mesh one of d {{ dp = 1 }}
train {{ batch = 1  sequence = 4  optimizer = sgd(lr = 0.1) }}
strategy main {{ split batch over dp }}
"""
SMALL = {"n_layer": 1, "n_positions": 8, "n_ctx": 8, "num_hidden_layers": 1, "intermediate_size": 16, "vocab_size": 16,
         "max_position_embeddings": 8, "max_sequence_length": 8, "head_dim": 2}
ABSENT = object()

# For which files (the words of is_of), what is changed, and the refusal, a part of it; None: it is accepted.
CHANGES = [
    ("any", {"model_type": "gemma"}, "`model_type` is gemma there"),
    ("any", {"ödd": {"a": [[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]}, "initializer_range": 0.5}, None),
    ("gpt2", {"n_head": 2}, "`n_head` is 2 there"),
    ("gpt2", {"n_head": ABSENT}, "`n_head` is not said there"),
    ("gpt2", {"activation_function": "relu"}, "`activation_function` is relu there, and gelu_new in this model"),
    ("gpt2", {"activation_function": "gelu_pytorch_tanh", "n_inner": None}, None),
    ("gpt2", {"layer_norm_epsilon": 0.25}, "`layer_norm_epsilon` is 0.25 there"),
    ("gpt2", {"scale_attn_weights": False}, "`scale_attn_weights` is false there"),
    ("gpt2", {"scale_attn_by_inverse_layer_idx": True}, "`scale_attn_by_inverse_layer_idx` is true there"),
    ("gpt2", {"resid_pdrop": 0.5, "attn_pdrop": 0.5, "tie_word_embeddings": ABSENT}, None),
    ("llamas", {"num_attention_heads": ABSENT}, "`num_attention_heads` is not said there"),
    ("llamas", {"hidden_act": "gelu"}, "`hidden_act` is gelu there, and silu in this model"),
    ("llamas", {"rms_norm_eps": 0.25}, "`rms_norm_eps` is 0.25 there"),
    ("llamas", {"rope_theta": 77.0}, "`rope_theta` is 77.0 there"),
    ("llamas", {"rope_parameters": {"rope_theta": 77}}, "`rope_theta` is 77 there"),
    ("llamas", {"partial_rotary_factor": 0.5}, "`partial_rotary_factor` is 0.5 there"),
    ("llamas", {"rope_interleaved": True}, "`rope_interleaved` is true there"),
    ("llamas", {"rope_scaling": {"type": "yarn", "factor": 1.0}}, "`rope_type` is yarn there, and "),
    ("llamas", {"sliding_window": None, "attention_dropout": 0.5, "use_cache": False}, None),
    ("odd norms", {"rms_norm_eps": ABSENT}, "`rms_norm_eps` is not said there"),
    ("scaled", {"rope_scaling": None, "rope_parameters": ABSENT}, "`rope_type` is not said there, and llama3"),
    ("scaled", {"rope_scaling": ABSENT, "rope_parameters": ABSENT}, "`rope_type` is not said there, and llama3"),
    ("scaled", {"rope_scaling": {"type": "default"}, "rope_parameters": ABSENT}, "`rope_type` is default there, and llama3"),
    ("unscaled", {"rope_scaling": {"type": "linear", "factor": 2.0}}, "`factor` is 2.0 there, and 1 in this model"),
    ("unscaled", {"rope_scaling": {"factor": 2.0}}, "`factor` is 2.0 there"),
    ("unscaled", {"rope_scaling": {"type": "linear", "factor": 1.0}}, None),
]


def rotation(config):
    return config.get("rope_parameters") or config.get("rope_scaling") or {}


def is_of(words, config):
    scaled = rotation(config).get("rope_type") == "llama3"
    return {"any": True, "gpt2": "n_embd" in config, "llamas": "hidden_size" in config, "scaled": scaled,
            "unscaled": "hidden_size" in config and not scaled,
            "odd norms": config.get("rms_norm_eps", 1e-6) not in (1e-5, 1e-6)}[words]


def small(config):
    """A published model, with its heads and all that is not a size."""
    heads = config.get("n_head") or config["num_attention_heads"]
    width = {"n_embd" if "n_embd" in config else "hidden_size": 2 * heads}
    return {key: SMALL.get(key, value) for key, value in config.items()} | width


def write(path, config):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)


def build(config, block=""):
    """An executable of the model, and its weights; what is saved beside them, or why nothing is."""
    with open("m.place", "w", encoding="utf-8") as file:
        file.write(FILE.format(config=config, block=block))
    built = run(PLACEC, "build", "m.place", "-o", "train")
    assert built.returncode == 0, built.stderr
    saved = run("./train", "--save", "saved/", "--steps", "0", "-q")
    if saved.returncode:
        assert not os.path.exists("saved"), "a folder is left of a run that was refused"
        return saved.stderr
    with open("saved/config.json", encoding="utf-8") as file:
        return json.load(file)


def changed(config, change):
    """A theta that stood in a table which is not there any more stands beside it: only what is changed is."""
    theta = rotation(config).get("rope_theta")
    config = {key: value for key, value in (config | change).items() if value is not ABSENT}
    if "rope_theta" in change:
        for name in ("rope_parameters", "rope_scaling"):
            if config.get(name):
                config[name] = {key: value for key, value in config[name].items() if key != "rope_theta"}
    elif theta is not None and "rope_theta" not in rotation(config):
        config["rope_theta"] = theta
    return config


def complaints_of(config):
    """Of one file, small."""
    write("model/config.json", config)
    written = build("model/config.json")
    if isinstance(written, str):
        yield f"nothing is saved: {written}"
        return
    os.replace("saved/model.safetensors", "model/model.safetensors")
    for i, (words, change, refusal) in enumerate([("any", {}, None), ("any", written, None), *CHANGES]):
        if not is_of(words, config) or i % EVERY:
            continue
        write("model/config.json", written if change is written else changed(config, change))
        started = run("./train", "--from", "model", "--save", "again", "--steps", "0", "-q")
        if refusal is None and started.returncode:
            yield f"{change}: {started.stderr}"
        elif refusal is not None and (started.returncode != 1 or refusal not in started.stderr):
            yield f"{change}: status {started.returncode}, {started.stderr or 'not a word'}"
    if run("./train", "--from", "model/model.safetensors", "--save", "again", "--steps", "0", "-q").returncode:
        yield "a file that is named is refused for what stands beside it"


def hold(what, holds):
    return [] if holds else [what]


def others(tiny):
    """Of what is written for others, and of which kind."""
    qwen = tiny["qwen2"] | {"use_sliding_window": True, "sliding_window": 8, "max_window_layers": 1, "layer_types":
                            ["full_attention", "sliding_attention"], "pad_token_id": 3, "eos_token_id": [1, 3]}
    write("model/config.json", qwen)
    written = build("model/config.json")
    yield from hold("layers without a window are lost", written["layer_types"] == qwen["layer_types"] and
                    written["max_window_layers"] == 1 and written["sliding_window"] == 8)
    yield from hold("tokens are lost", written["pad_token_id"] == 3 and written["eos_token_id"] == [1, 3])
    written = build("model/config.json", "vocab = 3  layers = 1")
    yield from hold("tokens that are not in the vocabulary, or layers that are not there, are told",
                    written["pad_token_id"] is None and written["eos_token_id"] is None and
                    "layer_types" not in written)

    plain = tiny["mistral"] | {"sliding_window": None, "model_type": "llama"}
    write("model/config.json", plain)
    yield from hold("a llama is written as one", build("model/config.json")["model_type"] == "llama")
    written = build("model/config.json", "window = 6")
    yield from hold("a window makes it a mistral", (written["model_type"], written["sliding_window"]) == ("mistral", 6))
    written = build("model/config.json", "fused_qkv = true  fused_gate_up = true")
    yield from hold("fused products make it a phi3", written["model_type"] == "phi3")
    write("model/config.json", plain | {"rope_scaling": rotation(tiny["llama"]), "rope_parameters": None,
                                        "rope_theta": 100.0})
    os.remove("saved/config.json")
    os.remove("saved/model.safetensors")
    os.rmdir("saved")
    said = build("model/config.json", "fused_qkv = true  fused_gate_up = true")
    yield from hold(f"transformers' phi3 has no scaling of llama's: {said}",
                    isinstance(said, str) and "no config.json says this model" in said)
    os.makedirs("model", exist_ok=True)
    run("./train", "--save", "model/model.safetensors", "--steps", "0", "-q")
    started = run("./train", "--from", "model", "--save", "again", "--steps", "0", "-q")
    yield from hold(f"a file beside what no file can say: {started.stderr}",
                    started.returncode == 1 and "it says another model" in started.stderr)


def main():
    failures, tiny = [], {}
    for i, path in enumerate(sorted(glob.glob(os.path.join(MODELS, "*.json")))):
        with open(path, encoding="utf-8") as file:
            config = json.load(file)
        name = re.sub(r"\.json$", "", os.path.basename(path))
        if name.startswith("tiny_"):
            tiny[name[5:]] = config
        else:
            config = small(config)
        if i % EVERY:
            continue
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            failures += [f"{name}: {line}" for line in complaints_of(config)]
            os.chdir("/")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        failures += others(tiny)
        os.chdir("/")
    print("\n".join(failures))
    sys.exit(1 if failures else 0)


main()

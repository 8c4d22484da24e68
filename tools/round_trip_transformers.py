#!/usr/bin/env python3
"""A tiny model of every kind goes from transformers to `placec run --from`, is trained on four ranks, and goes back:

    tools/round_trip_transformers.py PLACEC [KIND...]

Needs transformers and torch. Each model is made with random weights and written by the library, in bf16 for every other
kind; the loss over a file of tokens is computed by both sides, before and after training under tensor and sequence
parallelism with ZeRO-3, from the folder that `--save DIR/` leaves. Ends with 1 where two losses differ by more than 1e-6 of them (after widening bf16).
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

import torch
import transformers

SIZES = {"num_hidden_layers": 2, "hidden_size": 32, "num_attention_heads": 4, "num_key_value_heads": 2,
         "intermediate_size": 48, "vocab_size": 256, "max_position_embeddings": 64,
         "bos_token_id": None, "eos_token_id": None, "pad_token_id": None}
KINDS = {
    "gpt2": {"n_layer": 2, "n_embd": 32, "n_head": 4, "n_positions": 64, "vocab_size": 256, "attn_pdrop": 0.0,
             "embd_pdrop": 0.0, "resid_pdrop": 0.0, "bos_token_id": None, "eos_token_id": None},
    "llama": SIZES, "mistral": SIZES | {"sliding_window": 64}, "qwen2": SIZES,
    "qwen3": SIZES | {"head_dim": 16, "tie_word_embeddings": True}, "phi3": SIZES,
    # What such files can say of these kinds, behind a dot.
    "llama.scaled": SIZES | {"rope_parameters": {"rope_type": "llama3", "rope_theta": 500.0, "factor": 4.0,
                                                 "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                                                 "original_max_position_embeddings": 16}},
    "llama.biases": SIZES | {"attention_bias": True, "mlp_bias": True},
    "qwen2.window": SIZES | {"use_sliding_window": True, "sliding_window": 48, "max_window_layers": 1},
}
SEQUENCE, BATCH = 32, 16
FILE = """import "lib/strategies.place"
model m from "{kind}/config.json"
device core {{ memory = 1 GiB }}
mesh ranks of core {{ dp = 2  tp = 2 }}
train {{ batch = {batch}  sequence = {sequence}  precision = fp64  optimizer = adamw(lr = 1e-3) }}
strategy main {{
  split batch over dp
  split heads, kv_heads, ffn over tp
  activations : sharded(tp by sequence)
  use zero3(dp)
}}
"""


def loss_there(model, tokens):
    """The mean over all windows, in fp64."""
    windows = torch.tensor([tokens[i * SEQUENCE:(i + 1) * SEQUENCE + 1] for i in range(BATCH)])
    with torch.no_grad():
        logits = model.double().eval()(windows[:, :-1]).logits
    return torch.nn.functional.cross_entropy(logits.reshape(-1, logits.shape[-1]), windows[:, 1:].reshape(-1)).item()


def run(placec, *options):
    done = subprocess.run([placec, "run", "m.place", *options], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(done.stderr)
    found = re.findall(r"^eval: loss (\S+)", done.stdout, re.M)
    return float(found[-1]) if found else None


def main():
    placec, kinds = os.path.abspath(sys.argv[1]), sys.argv[2:] or list(KINDS)
    failed = 0
    print(f"transformers {transformers.__version__}\n{'kind':12} {'written':8} {'loss there':>12} {'here':>12} "
          f"{'trained here':>13} {'there':>12}")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        transformers.utils.logging.disable_progress_bar()
        torch.manual_seed(1)
        tokens = torch.randint(256, (BATCH * SEQUENCE + 1,)).tolist()
        with open("data.u16", "wb") as to:
            to.write(struct.pack(f"<{len(tokens)}H", *tokens))
        for i, kind in enumerate(kinds):
            dtype = torch.bfloat16 if i % 2 else torch.float32
            config = transformers.AutoConfig.for_model(kind.split(".")[0], **KINDS[kind])
            model = transformers.AutoModelForCausalLM.from_config(config).to(dtype)
            model.save_pretrained(kind)
            with open("m.place", "w", encoding="utf-8") as to:
                to.write(FILE.format(kind=kind, batch=BATCH, sequence=SEQUENCE))
            first = loss_there(model, tokens), run(placec, "--from", kind, "--eval", "data.u16")
            trained = run(placec, "--from", kind, "--data", "data.u16", "--steps", "3", "--eval", "data.u16",
                          "--save", "trained/")
            last = trained, loss_there(transformers.AutoModelForCausalLM.from_pretrained("trained"), tokens)
            good = all(abs(a - b) <= 1e-6 * abs(a) for a, b in (first, last)) and trained < first[0]
            failed += not good
            print(f"{kind:12} {str(dtype)[6:]:8.8} {first[0]:12.6f} {first[1]:12.6f} {last[0]:13.6f} {last[1]:12.6f}"
                  f"{'' if good else '   DIFFERS'}", flush=True)
    sys.exit(failed > 0)


main()

#!/usr/bin/env python3
"""What Hugging Face's transformers make of a tiny model of every kind, in fp64:

    tools/reference_transformers.py tests/inputs/models tests/expected

writes the model's config.json as the library saves it, with every field that it knows (tiny_KIND.json), and one
safetensors file (transformers_KIND.safetensors), tensors under the library's own names:
    parameter/NAME   f32     everything random, gains and biases too
    gradient/NAME    f64     of the loss, which is the mean over the targets
    tokens, targets  i32     [batch, sequence]; -1 masks
    loss             f64     []

The tests compare our models with these numbers, and the names and shapes with ours, and never need the library. What
it widens to fp32 for a while (norms, rotation, softmax) is widened to fp64 here, so that an agreement means something.
"""
import os
import sys

import torch

from reference_pytorch import write_safetensors  # which knows singles, as long as there are any

SINGLE = torch.float32
torch.float32 = torch.float = torch.float64
torch.Tensor.float = torch.Tensor.double

import transformers  # noqa: E402

SIZES = {"num_hidden_layers": 2, "hidden_size": 16, "num_attention_heads": 4, "num_key_value_heads": 2,
         "intermediate_size": 10, "vocab_size": 12, "max_position_embeddings": 32, "rms_norm_eps": 1e-3,
         "bos_token_id": None, "eos_token_id": None, "pad_token_id": None, "attn_implementation": "eager"}
ROPE = {"rope_type": "default", "rope_theta": 100.0}
LLAMA3 = {"rope_type": "llama3", "rope_theta": 100.0, "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 2.0,
          "original_max_position_embeddings": 20}
KINDS = {
    "gpt2": {"n_layer": 2, "n_embd": 16, "n_head": 4, "n_inner": 10, "vocab_size": 12, "n_positions": 8,
             "layer_norm_epsilon": 1e-3, "attn_pdrop": 0.0, "embd_pdrop": 0.0, "resid_pdrop": 0.0,
             "bos_token_id": None, "eos_token_id": None, "attn_implementation": "eager"},
    "llama": SIZES | {"head_dim": 6, "attention_bias": True, "mlp_bias": True, "rope_parameters": LLAMA3},
    "mistral": SIZES | {"head_dim": 6, "sliding_window": 8, "rope_parameters": ROPE},
    "qwen2": SIZES | {"rope_parameters": ROPE},
    "qwen3": SIZES | {"head_dim": 6, "tie_word_embeddings": True, "rope_parameters": ROPE},
    "phi3": SIZES | {"rope_parameters": ROPE},
}
BATCH, SEQUENCE = 2, 5


def randomize(model, generator):
    """Numbers that fp32 has too, so that both precisions start from the same."""
    for name, parameter in model.named_parameters():
        value = torch.rand(parameter.shape, generator=generator, dtype=torch.float64) - 0.5
        gain = "norm" in name or "ln_" in name
        parameter.data = (value + 1 if gain and name.endswith("weight") else value).to(SINGLE).double()


def tokens_and_targets(generator, vocabulary):
    tokens = torch.randint(vocabulary, (BATCH, SEQUENCE), generator=generator)
    targets = torch.randint(vocabulary, (BATCH, SEQUENCE), generator=generator)
    targets[0, 1] = targets[1, 3] = -1
    return tokens, targets


def numbers_of(model, generator):
    """Of what is tied, each tensor once, as files have it."""
    randomize(model, generator)
    tokens, targets = tokens_and_targets(generator, model.config.vocab_size)
    logits = model(input_ids=tokens, use_cache=False).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
    loss.backward()
    found = {"tokens": tokens.int(), "targets": targets.int(), "loss": loss.detach()}
    for name, parameter in model.named_parameters():
        found[f"parameter/{name}"] = parameter.detach().to(SINGLE)
        found[f"gradient/{name}"] = parameter.grad
    return found


def main(models, folder):
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.double)
    for seed, (kind, fields) in enumerate(KINDS.items()):
        config = transformers.AutoConfig.for_model(kind, **fields)
        model = transformers.AutoModelForCausalLM.from_config(config).double().eval()
        generator = torch.Generator().manual_seed(seed)
        numbers = numbers_of(model, generator)
        write_safetensors(os.path.join(folder, f"transformers_{kind}.safetensors"), numbers)
        with open(os.path.join(models, f"tiny_{kind}.json"), "w", encoding="utf-8") as file:
            file.write(model.config.to_json_string(use_diff=False))
        print(f"{kind}: loss {numbers['loss'].item():.6f}, {len(numbers) // 2 - 1} tensors")


main(*sys.argv[1:])

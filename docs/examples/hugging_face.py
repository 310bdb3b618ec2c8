"""A model of transformers becomes a file that adept reads; for models whose config.json adept does not know. PyTorch 2.1, transformers.

It follows the documentation of both libraries; our tests do not run it. With PyTorch 1.13 leave out torch.device("meta") and trace:
what 1.13 traces on "meta" has lost its convolutions, and adept refuses such a file.
"""
import torch
import transformers

config = transformers.AutoConfig.from_pretrained("gpt2", torchscript=True, use_cache=False)  # tuples; no key-value cache in training
with torch.device("meta"):  # no weights are made or loaded
    model = transformers.AutoModelForCausalLM.from_config(config).train()
ids = torch.zeros(2, 128, dtype=torch.int64, device="meta")
program = torch.export.export(model, (ids,), dynamic_shapes={"input_ids": {0: torch.export.Dim("batch", min=1)}})
torch.export.save(program, "gpt2.pt2")

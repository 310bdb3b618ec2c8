"""Tensor parallel as Megatron has it, by torch.distributed alone, which every PyTorch has: matrices by columns, then by rows,
heads and vocabularies by ranks. It is what `adept predict --tp` predicts. The logits stay split."""
import torch
from torch import distributed, nn

COLUMNS = ("q_proj", "k_proj", "v_proj", "gate_proj", "up_proj", "lm_head", "query", "key", "value", "intermediate.dense")
ROWS = ("o_proj", "down_proj", "output.dense")
TABLES = ("embed_tokens", "word_embeddings")
HEADS = ("heads", "kv_heads")


class Copied(torch.autograd.Function):
    """What every rank has: the gradients of all add up."""

    @staticmethod
    def forward(_, x):
        return x.view_as(x)

    @staticmethod
    def backward(_, gradient):
        gradient = gradient.contiguous()
        distributed.all_reduce(gradient)
        return gradient


class Summed(torch.autograd.Function):
    """A part of a sum on every rank: the sum."""

    @staticmethod
    def forward(context, x):
        context.mark_dirty(x)
        distributed.all_reduce(x)
        return x

    @staticmethod
    def backward(_, gradient):
        return gradient


class Rows(nn.Module):
    """A linear layer of which each rank multiplies some of the inputs."""

    def __init__(self, linear, part):
        super().__init__()
        self.weight, self.bias = part(linear.weight, 1), linear.bias

    def forward(self, x):
        product = Summed.apply(nn.functional.linear(x, self.weight))
        return product if self.bias is None else product + self.bias


class Table(nn.Module):
    """An embedding of which each rank has some of the rows."""

    def __init__(self, embedding, part, rank):
        super().__init__()
        self.weight = part(embedding.weight, 0)
        self.first = rank * self.weight.shape[0]

    def forward(self, ids):
        ids = ids - self.first
        elsewhere = (ids < 0) | (ids >= self.weight.shape[0])
        found = nn.functional.embedding(ids.masked_fill(elsewhere, 0), self.weight)
        return Summed.apply(found.masked_fill(elsewhere.unsqueeze(-1), 0))


def divide(model, rank, size):
    """The model with the rank's part of each layer, all of which have been the same on all ranks."""
    parts = {}      # a tied weight stays tied

    def part(parameter, dimension):
        if parameter.shape[dimension] % size:
            raise RuntimeError("{} rows or columns of a matrix are not shared out equally over {} GPUs".format(parameter.shape[dimension], size))
        if parameter not in parts:
            parts[parameter] = nn.Parameter(parameter.detach().chunk(size, dimension)[rank].clone(), parameter.requires_grad)
        return parts[parameter]

    def copied(_, inputs):
        return (Copied.apply(inputs[0]),) + inputs[1:]

    def is_called(name, names):
        return any(("." + name).endswith("." + known) for known in names)

    for name, module in list(model.named_modules()):
        parent = model.get_submodule(name.rpartition(".")[0])
        if isinstance(module, nn.Linear) and is_called(name, COLUMNS):
            module.weight = part(module.weight, 0)
            if module.bias is not None:
                module.bias = part(module.bias, 0)
            reader = module if parent is model else parent      # all columns of a parent read one input, whose gradient is added up once
            if not reader._forward_pre_hooks:
                reader.register_forward_pre_hook(copied)
        elif isinstance(module, nn.Linear) and is_called(name, ROWS):
            setattr(parent, name.rpartition(".")[2], Rows(module, part))
        elif isinstance(module, nn.Embedding) and is_called(name, TABLES):
            setattr(parent, name.rpartition(".")[2], Table(module, part, rank))
        for heads in HEADS:
            if isinstance(getattr(module, heads, None), int):
                if getattr(module, heads) % size:
                    raise RuntimeError("{} heads are not shared out equally over {} GPUs".format(getattr(module, heads), size))
                setattr(module, heads, getattr(module, heads) // size)
    if not parts:
        raise RuntimeError("tensor parallel is for the bundled models of the Llama and BERT families")
    return model

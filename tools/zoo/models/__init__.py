"""The bundled models, one file per family. Each family module has MODELS, a dict from name to Entry."""
from . import framework  # noqa: F401  (first: it must see torch before any model is built)
from . import bert, diffusion, gpt, llama, recommend, speech, t5, vision

FAMILIES = (vision, bert, llama, gpt, t5, diffusion, speech, recommend)


def registry():
    """All entries by name, in the order in which they are listed and exported."""
    entries = {}
    for family in FAMILIES:
        for name, entry in family.MODELS.items():
            if name in entries:
                raise ValueError("two models are called " + name)
            entries[name] = entry
    return entries

"""Models of few layers for measurements on machines that the published sizes would keep busy too long.

They are not bundled: tools/measure/measure_step.py writes their traces beside its measurements.
"""
from . import bert, gpt, llama

MODELS = {
    # TinyLlama-1.1B's layers at their full width, two of the 22.
    "tinyllama_2layers": llama.entry(512, 16, None, "", layers=2, hidden=2048, heads=32, kv_heads=4, ffn=5632, vocab=32000),
    # To try programs with.
    "llama_tiny": llama.entry(64, 4, None, "", layers=2, hidden=64, heads=4, kv_heads=2, ffn=96, vocab=512),
    "bert_base_seqcls": bert.entry(bert.BertForSequenceClassification, 256, 32, 109_483_778,
                                   "Hugging Face, bert-base-uncased with 2 labels"),
    "gpt2_small": gpt.MODELS["gpt2"],  # as the rows of data/measurements call it
}

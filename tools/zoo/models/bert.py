"""BERT and its two small relatives. Attribute names are those of the Hugging Face modules, attention is eager."""
import math
from dataclasses import dataclass

import torch
from torch import nn

from .framework import Entry
from .layers import NewGELU, merge_heads, padding_mask, split_heads


@dataclass(frozen=True)
class BertConfig:
    layers: int = 12
    hidden: int = 768
    heads: int = 12
    ffn: int = 3072
    vocab: int = 30522
    positions: int = 512
    embedding: int = 768        # narrower than hidden in ALBERT
    dropout: float = 0.1
    labels: int = 2


class Embeddings(nn.Module):
    """Words, positions and segments; without token types, segment 0 is looked up for every token."""

    def __init__(self, config, segments=True):
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab, config.embedding, padding_idx=0)
        self.position_embeddings = nn.Embedding(config.positions, config.embedding)
        if segments:
            self.token_type_embeddings = nn.Embedding(2, config.embedding)
            self.register_buffer("token_type_ids", torch.zeros((1, config.positions), dtype=torch.long), persistent=False)
        self.LayerNorm = nn.LayerNorm(config.embedding, eps=1e-12)
        self.dropout = nn.Dropout(config.dropout)
        self.register_buffer("position_ids", torch.arange(config.positions).unsqueeze(0), persistent=False)
        self.segments = segments

    def forward(self, input_ids):
        batch, length = input_ids.size()
        x = self.word_embeddings(input_ids)
        if self.segments:
            token_type_ids = self.token_type_ids[:, :length].expand(batch, length)
            x = x + self.token_type_embeddings(token_type_ids)
        x = x + self.position_embeddings(self.position_ids[:, :length])
        return self.dropout(self.LayerNorm(x))


# ---- BERT ------------------------------------------------------------------------------------------------------------

class BertSelfAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.heads, config.hidden // config.heads
        self.query = nn.Linear(config.hidden, config.hidden)
        self.key = nn.Linear(config.hidden, config.hidden)
        self.value = nn.Linear(config.hidden, config.hidden)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, mask):
        k = split_heads(self.key(x), self.heads)
        v = split_heads(self.value(x), self.heads)
        q = split_heads(self.query(x), self.heads)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim) + mask
        weights = self.dropout(nn.functional.softmax(scores, dim=-1))
        return merge_heads(torch.matmul(weights, v))


class BertResidual(nn.Module):
    """dense, dropout, add, norm: the end of the attention block and of the feed-forward block."""

    def __init__(self, config, inputs):
        super().__init__()
        self.dense = nn.Linear(inputs, config.hidden)
        self.LayerNorm = nn.LayerNorm(config.hidden, eps=1e-12)
        self.dropout = nn.Dropout(config.dropout)

    def forward(self, x, residual):
        return self.LayerNorm(self.dropout(self.dense(x)) + residual)


class BertAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self = BertSelfAttention(config)
        self.output = BertResidual(config, config.hidden)

    def forward(self, x, mask):
        return self.output(self.self(x, mask), x)


class BertDense(nn.Module):
    """A linear layer and its activation."""

    def __init__(self, inputs, outputs, activation):
        super().__init__()
        self.dense = nn.Linear(inputs, outputs)
        self.activation = activation

    def forward(self, x):
        return self.activation(self.dense(x))


class BertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = BertAttention(config)
        self.intermediate = BertDense(config.hidden, config.ffn, nn.GELU())
        self.output = BertResidual(config, config.ffn)

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.output(self.intermediate(x), x)


class BertEncoder(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.ModuleList([BertLayer(config) for _ in range(config.layers)])

    def forward(self, x, mask):
        for layer in self.layer:
            x = layer(x, mask)
        return x


class BertModel(nn.Module):
    """Returns the sequence and, with a pooler, the transformed first token."""

    def __init__(self, config, pooler=True):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = BertEncoder(config)
        self.pooler = BertDense(config.hidden, config.hidden, nn.Tanh()) if pooler else None

    def forward(self, input_ids):
        mask = padding_mask(input_ids)
        x = self.encoder(self.embeddings(input_ids), mask)
        return (x, self.pooler(x[:, 0])) if self.pooler is not None else (x,)


class BertForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
        self.dropout = nn.Dropout(config.dropout)
        self.classifier = nn.Linear(config.hidden, config.labels)

    def forward(self, input_ids):
        return self.classifier(self.dropout(self.bert(input_ids)[1]))


class BertForQuestionAnswering(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config, pooler=False)
        self.qa_outputs = nn.Linear(config.hidden, 2)

    def forward(self, input_ids):
        start, end = self.qa_outputs(self.bert(input_ids)[0]).split(1, dim=-1)
        return start.squeeze(-1).contiguous(), end.squeeze(-1).contiguous()


class BertLMPredictionHead(nn.Module):
    def __init__(self, config, word_embeddings):
        super().__init__()
        self.transform = BertDense(config.hidden, config.hidden, nn.GELU())
        self.transform.LayerNorm = nn.LayerNorm(config.hidden, eps=1e-12)
        self.decoder = nn.Linear(config.hidden, config.vocab)
        self.decoder.weight = word_embeddings.weight

    def forward(self, x):
        return self.decoder(self.transform.LayerNorm(self.transform(x)))


class BertPreTrainingHeads(nn.Module):
    def __init__(self, config, word_embeddings):
        super().__init__()
        self.predictions = BertLMPredictionHead(config, word_embeddings)
        self.seq_relationship = nn.Linear(config.hidden, 2)

    def forward(self, sequence, pooled):
        return self.predictions(sequence), self.seq_relationship(pooled)


class BertForPreTraining(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.bert = BertModel(config)
        self.cls = BertPreTrainingHeads(config, self.bert.embeddings.word_embeddings)

    def forward(self, input_ids):
        return self.cls(*self.bert(input_ids))


# ---- ALBERT: one layer, called twelve times, on factorised embeddings ---------------------------------------------------

class AlbertAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.heads, config.hidden // config.heads
        self.query = nn.Linear(config.hidden, config.hidden)
        self.key = nn.Linear(config.hidden, config.hidden)
        self.value = nn.Linear(config.hidden, config.hidden)
        self.attention_dropout = nn.Dropout(config.dropout)
        self.output_dropout = nn.Dropout(config.dropout)
        self.dense = nn.Linear(config.hidden, config.hidden)
        self.LayerNorm = nn.LayerNorm(config.hidden, eps=1e-12)

    def forward(self, x, mask):
        q = split_heads(self.query(x), self.heads)
        k = split_heads(self.key(x), self.heads)
        v = split_heads(self.value(x), self.heads)
        scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.head_dim) + mask
        weights = self.attention_dropout(nn.functional.softmax(scores, dim=-1))
        context = torch.matmul(weights, v).transpose(2, 1).flatten(2)
        return self.LayerNorm(x + self.output_dropout(self.dense(context)))


class AlbertLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.full_layer_layer_norm = nn.LayerNorm(config.hidden, eps=1e-12)
        self.attention = AlbertAttention(config)
        self.ffn = nn.Linear(config.hidden, config.ffn)
        self.ffn_output = nn.Linear(config.ffn, config.hidden)
        self.activation = NewGELU()

    def forward(self, x, mask):
        x = self.attention(x, mask)
        return self.full_layer_layer_norm(self.ffn_output(self.activation(self.ffn(x))) + x)


class AlbertLayerGroup(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.albert_layers = nn.ModuleList([AlbertLayer(config)])

    def forward(self, x, mask):
        for layer in self.albert_layers:
            x = layer(x, mask)
        return x


class AlbertTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embedding_hidden_mapping_in = nn.Linear(config.embedding, config.hidden)
        self.albert_layer_groups = nn.ModuleList([AlbertLayerGroup(config)])
        self.layers = config.layers

    def forward(self, x, mask):
        x = self.embedding_hidden_mapping_in(x)
        for _ in range(self.layers):
            x = self.albert_layer_groups[0](x, mask)
        return x


class AlbertModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config)
        self.encoder = AlbertTransformer(config)
        self.pooler = nn.Linear(config.hidden, config.hidden)
        self.pooler_activation = nn.Tanh()

    def forward(self, input_ids):
        mask = padding_mask(input_ids)
        x = self.encoder(self.embeddings(input_ids), mask)
        return self.pooler_activation(self.pooler(x[:, 0]))


class AlbertForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.albert = AlbertModel(config)
        self.dropout = nn.Dropout(0.1)
        self.classifier = nn.Linear(config.hidden, config.labels)

    def forward(self, input_ids):
        return self.classifier(self.dropout(self.albert(input_ids)))


# ---- DistilBERT ------------------------------------------------------------------------------------------------------

class DistilAttention(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.heads, self.head_dim = config.heads, config.hidden // config.heads
        self.dropout = nn.Dropout(config.dropout)
        self.q_lin = nn.Linear(config.hidden, config.hidden)
        self.k_lin = nn.Linear(config.hidden, config.hidden)
        self.v_lin = nn.Linear(config.hidden, config.hidden)
        self.out_lin = nn.Linear(config.hidden, config.hidden)

    def forward(self, x, mask):
        q = split_heads(self.q_lin(x), self.heads) / math.sqrt(self.head_dim)
        k = split_heads(self.k_lin(x), self.heads)
        v = split_heads(self.v_lin(x), self.heads)
        scores = torch.matmul(q, k.transpose(2, 3))
        hidden = (mask == 0)[:, None, None, :].expand_as(scores)
        scores = scores.masked_fill(hidden, torch.finfo(torch.float32).min)
        weights = self.dropout(nn.functional.softmax(scores, dim=-1))
        return self.out_lin(merge_heads(torch.matmul(weights, v)))


class DistilFFN(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.dropout = nn.Dropout(config.dropout)
        self.lin1 = nn.Linear(config.hidden, config.ffn)
        self.lin2 = nn.Linear(config.ffn, config.hidden)
        self.activation = nn.GELU()

    def forward(self, x):
        return self.dropout(self.lin2(self.activation(self.lin1(x))))


class DistilBlock(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = DistilAttention(config)
        self.sa_layer_norm = nn.LayerNorm(config.hidden, eps=1e-12)
        self.ffn = DistilFFN(config)
        self.output_layer_norm = nn.LayerNorm(config.hidden, eps=1e-12)

    def forward(self, x, mask):
        x = self.sa_layer_norm(self.attention(x, mask) + x)
        return self.output_layer_norm(self.ffn(x) + x)


class DistilTransformer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.layer = nn.ModuleList([DistilBlock(config) for _ in range(config.layers)])

    def forward(self, x, mask):
        for layer in self.layer:
            x = layer(x, mask)
        return x


class DistilBertModel(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.embeddings = Embeddings(config, segments=False)
        self.transformer = DistilTransformer(config)

    def forward(self, input_ids):
        mask = torch.ones(input_ids.size(0), input_ids.size(1))
        return self.transformer(self.embeddings(input_ids), mask)


class DistilBertForSequenceClassification(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.distilbert = DistilBertModel(config)
        self.pre_classifier = nn.Linear(config.hidden, config.hidden)
        self.classifier = nn.Linear(config.hidden, config.labels)
        self.dropout = nn.Dropout(0.2)

    def forward(self, input_ids):
        pooled = self.distilbert(input_ids)[:, 0]
        pooled = self.dropout(nn.ReLU()(self.pre_classifier(pooled)))
        return self.classifier(pooled)


def entry(model, length, batch, params, source, **config):
    return Entry(lambda: model(BertConfig(**config)), ("i64:Bx%d" % length,), batch, params, source, shrink={length: (4, 3)})


LARGE = dict(layers=24, hidden=1024, embedding=1024, heads=16, ffn=4096)
MODELS = {
    # albert-base-v2 trains without dropout in its layers (hidden_dropout_prob 0 in its configuration).
    "albert_base_v2": entry(AlbertForSequenceClassification, 256, 128, 11_685_122,
                            "Hugging Face, albert-base-v2 with 2 labels", vocab=30000, embedding=128, dropout=0.0),
    "distilbert_base": entry(DistilBertForSequenceClassification, 256, 128, 66_955_010,
                             "Hugging Face, distilbert-base-uncased with 2 labels", layers=6),
    "bert_base_qa": entry(BertForQuestionAnswering, 384, 32, 108_893_186,
                          "Hugging Face, bert-base-uncased for question answering"),
    "bert_large_seqcls": entry(BertForSequenceClassification, 512, 8, 335_143_938,
                               "Hugging Face, bert-large-uncased with 2 labels", **LARGE),
    "bert_large_pretrain": entry(BertForPreTraining, 512, 8, 336_226_108,
                                 "Hugging Face, bert-large-uncased for pre-training", **LARGE),
}

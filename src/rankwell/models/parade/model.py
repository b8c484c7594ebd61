"""PARADE: aggregates a document's passage vectors into one vector, and computes its logit. Imports torch.

Li, Yates, MacAvaney, He and Sun, "PARADE: Passage representation aggregation for document reranking", 2020 (arXiv
2008.09093); document-ranking study, 3.2.2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence

from rankwell.models.base.torch_model import SavesWeights

SPREAD = 0.02  # standard deviation of new weights, as in BERT
LAYERS = 2


class Sizes(NamedTuple):
    """The sizes of the body that an aggregation needs."""

    width: int
    heads: int
    inner: int
    dropout: float
    epsilon: float

    @classmethod
    def of(cls, config: Any) -> Sizes:
        """The sizes in a configuration of transformers."""
        width = int(config.hidden_size)
        return cls(
            width,
            int(config.num_attention_heads),
            int(getattr(config, "intermediate_size", 0) or 4 * width),
            float(getattr(config, "hidden_dropout_prob", 0.1)),
            float(getattr(config, "layer_norm_eps", 1e-12)),
        )


class Aggregation(nn.Module):
    """Aggregates the vectors of a document's passages into one.

    `forward(passages, there)`: passages [documents, most, width], there [documents, most], which is False where a
    document has fewer passages than the longest of the batch; returns [documents, width]. Padding has no effect.
    A document has at most `most` passages.
    """

    def __init__(self, sizes: Sizes, most: int) -> None:
        super().__init__()
        self.sizes, self.most = sizes, most


class Average(Aggregation):
    """D[i] = 1/n sum over k of T_k[i]."""

    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        """The mean over a document's passages."""
        return passages.masked_fill(~there[..., None], 0).sum(dim=1) / there.sum(dim=1, keepdim=True)


class Maximum(Aggregation):
    """D[i] = max over k of T_k[i]."""

    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        """The maximum of each dimension over a document's passages."""
        return passages.masked_fill(~there[..., None], -torch.inf).amax(dim=1)


class Attention(Aggregation):
    """w = softmax(W^T T_1, ..., W^T T_n); D = sum over k of w_k T_k, with W of [width] learnt."""

    def __init__(self, sizes: Sizes, most: int) -> None:
        super().__init__(sizes, most)
        self.weigh = nn.Linear(sizes.width, 1, bias=False)  # a bias would be equal for all passages and have no effect

    def weights(self, passages: Tensor, there: Tensor) -> Tensor:
        """The weights of the passages: [documents, most], with sum 1 in each document."""
        weighed: Tensor = self.weigh(passages)[..., 0]
        return weighed.masked_fill(~there, -torch.inf).softmax(dim=1)

    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        """The sum of the passages, weighted by attention."""
        return (self.weights(passages, there)[:, None] @ passages.masked_fill(~there[..., None], 0))[:, 0]


class Transformer(Aggregation):
    """Two of BERT's layers over [CLS], T_1 + P_1, ..., T_n + P_n; D is the output at [CLS], a learnt embedding.

    P_k is a learnt embedding of the passage's position, so that the order of the passages matters.
    """

    def __init__(self, sizes: Sizes, most: int) -> None:
        super().__init__(sizes, most)
        self.first = nn.Parameter(torch.zeros(sizes.width))
        self.positions = nn.Parameter(torch.zeros(most, sizes.width))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(
                sizes.width,
                sizes.heads,
                sizes.inner,
                sizes.dropout,
                activation="gelu",
                layer_norm_eps=sizes.epsilon,
                batch_first=True,
            )
            for _ in range(LAYERS)
        )

    def forward(self, passages: Tensor, there: Tensor) -> Tensor:
        """[documents, 1 + most, width] through the layers; the output is the first row."""
        count = len(passages)
        placed = passages + self.positions[: passages.shape[1]]
        hidden = torch.cat([self.first.expand(count, 1, -1), placed], dim=1)
        absent = torch.cat([there.new_zeros(count, 1), ~there], dim=1)
        for layer in self.layers:
            hidden = layer(hidden, src_key_padding_mask=absent)
        return hidden[:, 0]


AGGREGATIONS: dict[str, type[Aggregation]] = {
    "avg": Average,
    "max": Maximum,
    "attn": Attention,
    "transformer": Transformer,
}


class Scored(NamedTuple):
    """The model's output, as in transformers' classifiers."""

    logits: Tensor


class ParadeModule(SavesWeights, nn.Module):
    """A body that reads each passage together with the query, an aggregation, and a linear layer."""

    def __init__(self, body: Any, aggregate: str, most: int) -> None:
        super().__init__()
        sizes = Sizes.of(body.config)
        self.body = body
        self.aggregation = AGGREGATIONS[aggregate](sizes, most)
        self.dropout = nn.Dropout(sizes.dropout)
        self.head = nn.Linear(sizes.width, 1)
        self._begin()

    def _begin(self) -> None:
        """Initialise new weights as BERT does."""
        for name, weights in (*self.aggregation.named_parameters(), *self.head.named_parameters()):
            if weights.dim() > 1:
                nn.init.normal_(weights, std=SPREAD)
            elif name.endswith("bias"):
                nn.init.zeros_(weights)
        if isinstance(self.aggregation, Transformer):
            nn.init.normal_(self.aggregation.first, std=SPREAD)

    @property
    def config(self) -> Any:
        """The body's configuration."""
        return self.body.config

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, counts: Tensor, token_type_ids: Tensor | None = None
    ) -> Scored:
        """From tokens to logits.

        input_ids, attention_mask, token_type_ids   [passages, tokens]: `[CLS] query [SEP] passage [SEP]` of all
                                                    documents, one after the other
        counts                                      [documents]: number of passages of each document
        the body's last layer                       [passages, tokens, width]
        its first row, T                            [passages, width]
        by document, padded                         [documents, most, width], and which are there [documents, most]
        aggregated, D                               [documents, width]
        logits                                      [documents]
        """
        segments = {} if token_type_ids is None else {"token_type_ids": token_type_ids}
        hidden = self.body(input_ids=input_ids, attention_mask=attention_mask, **segments).last_hidden_state
        passages = pad_sequence(hidden[:, 0].split(counts.tolist()), batch_first=True)
        there = torch.arange(passages.shape[1], device=counts.device) < counts[:, None]
        return Scored(self.head(self.dropout(self.aggregation(passages, there)))[:, 0])

    def top_weights(self) -> dict[str, Tensor]:
        """All weights above the body, by name."""
        return {name: tensor for name, tensor in self.state_dict().items() if not name.startswith("body.")}

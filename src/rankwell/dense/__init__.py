"""Dense vectors beside an index: made once, kept up to date, searched exactly or by a graph."""

from __future__ import annotations

from rankwell.dense.embedding import connect, embed, refresh
from rankwell.dense.embeddings import METHODS, Embeddings, Encoder, embeddings_of
from rankwell.dense.graph import can_connect
from rankwell.dense.remembered import remembered
from rankwell.dense.vocabulary import Vocabulary, vocabulary_of

__all__ = [
    "METHODS",
    "Embeddings",
    "Encoder",
    "Vocabulary",
    "can_connect",
    "connect",
    "embed",
    "embeddings_of",
    "refresh",
    "remembered",
    "vocabulary_of",
]

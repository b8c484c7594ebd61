"""Dense vectors beside an index: encoded once, kept up to date, searched exactly or by an HNSW graph."""

from __future__ import annotations

from rankwell.vectors.embedding import connect, embed, refresh
from rankwell.vectors.embeddings import (
    Embeddings,
    all_vectors_of,
    embeddings_of,
    remembered,
    vectors_of,
    verify_vectors,
)
from rankwell.vectors.search import METHODS, Encoder, Vectors, can_connect
from rankwell.vectors.vocabulary import vocabulary_of

__all__ = [
    "METHODS",
    "Embeddings",
    "Encoder",
    "Vectors",
    "all_vectors_of",
    "can_connect",
    "connect",
    "embed",
    "embeddings_of",
    "refresh",
    "remembered",
    "vectors_of",
    "verify_vectors",
    "vocabulary_of",
]

"""Bi-encoders: queries and documents as vectors, compared by cosine similarity."""

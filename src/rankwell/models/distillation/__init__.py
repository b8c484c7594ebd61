"""Distillation: a small cross-encoder (the student) learns from a large one (its teacher)."""

from __future__ import annotations

"""What all families share in training: pairs, losses, the trainer, run folders, reports."""

from __future__ import annotations

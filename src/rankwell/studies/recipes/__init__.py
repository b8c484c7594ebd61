"""Models that a study trains: recipes, their checks, pairs and training."""

from __future__ import annotations

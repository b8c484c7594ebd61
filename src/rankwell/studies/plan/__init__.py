"""The plan of a study: cells, data, models, cost."""

from __future__ import annotations

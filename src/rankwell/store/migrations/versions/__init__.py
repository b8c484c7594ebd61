"""One file for each change of the tables."""

from __future__ import annotations

"""The kinds of tables of a study."""

from __future__ import annotations

"""One file a format."""

from __future__ import annotations

"""Study files: read, checked, and described by a JSON Schema."""

from __future__ import annotations

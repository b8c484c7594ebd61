"""The web applications: search, assessment and screening, and what they share (`web`)."""

from __future__ import annotations

"""The report of a study: figures, tables, pictures, pages."""

from __future__ import annotations

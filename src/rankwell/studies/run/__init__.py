"""Running a study: its cells, each in a worker process."""

from __future__ import annotations

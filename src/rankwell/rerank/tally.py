"""What a re-ranker did, for the line that a command prints at its end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Tally:
    """Counts that grow with every run of a stage."""

    documents: int = 0  # that got a new score
    pairs: int = 0  # of query and text, without doubles
    kept: int = 0  # pairs whose scores were known from before
    empty: int = 0  # documents without text, which stay below
    seconds: float = 0.0

    @property
    def scored(self) -> int:
        """Pairs that the model looked at."""
        return self.pairs - self.kept

    def __str__(self) -> str:
        before = f" ({self.kept:,} scored earlier)" if self.kept else ""
        speed = f", {self.scored / max(self.seconds, 1e-9):,.0f} pairs/s" if self.scored else ""
        return f"{self.documents:,} documents, {self.pairs:,} pairs{before}, {self.seconds:.1f} s{speed}"

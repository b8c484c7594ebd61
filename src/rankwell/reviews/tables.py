"""What a build found, as tables."""

from __future__ import annotations

from rankwell.report import Column, Table
from rankwell.reviews.build import ReviewCollection
from rankwell.reviews.matching import Verdict


def verdict_table(built: ReviewCollection) -> Table:
    """How many studies were found, by label."""
    columns = [Column("studies", "left"), Column("included"), Column("excluded"), Column("all"), Column("%", digits=1)]
    rows = []
    total = len(built.studies)
    for verdict in Verdict:
        labels = [study.label for study in built.studies if study.match.verdict is verdict]
        share = 100 * len(labels) / total if total else None
        rows.append((str(verdict), sum(labels), len(labels) - sum(labels), len(labels), share))
    return Table("Studies", columns, rows)


def split_table(built: ReviewCollection) -> Table:
    """What each split holds."""
    columns = [
        Column("split", "left"),
        Column("reviews"),
        Column("rows"),
        Column("relevant"),
        Column("% relevant", digits=1),
    ]
    counts = built.counts()
    together = {name: sum(of[name] for of in counts.values()) for name in ("reviews", "rows", "relevant")}
    rows = [
        (split, of["reviews"], of["rows"], of["relevant"], 100 * of["relevant"] / of["rows"] if of["rows"] else None)
        for split, of in {**counts, "all": together}.items()
    ]
    return Table("Collection", columns, rows)

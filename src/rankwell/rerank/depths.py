"""Re-ranking to several depths without scoring a pair twice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rankwell.core import ParameterError, Run
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.placing import Rescored, placed


def at_depths(stage: CrossEncoder, run: Run, depths: Sequence[int]) -> dict[int, Run]:
    """What the stage would make of the run with each depth as its k; only the deepest is scored.

    A document's score does not depend on how many others are scored, so that each is what `replace(stage, k=depth)`
    gives.
    """
    if not depths or min(depths) < 1:
        raise ParameterError("depths", expected="numbers of documents, at least 1", found=list(depths))
    found = replace(stage, k=max(depths)).rescore(run)
    return {
        depth: replace(placed(run, Rescored(found.chosen & (run.ranks <= depth), found.scores)), tag=stage.name)
        for depth in depths
    }

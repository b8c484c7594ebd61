"""The linear baseline as a re-ranker; it needs no scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core import ParameterError
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.linear.scorer import load_linear
from rankwell.models.reranking.scores import Scorer


@dataclass(frozen=True)
class Linear(CrossEncoder):
    """Scores the k best documents of each query with a model of `rankwell train linear` (systematic-review study, 4.5).

    Its parameters are those of `CrossEncoder` without a transformer's. Scores are not cached: computing them is faster
    than looking them up.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in self.of_scorer:
            if getattr(self, name) is not None:
                expected = "nothing, because a linear model knows no tokens and has one precision"
                raise ParameterError(name, expected=expected, found=getattr(self, name))

    def scorer(self) -> Scorer:
        """The model, loaded."""
        if not isinstance(self.model, str):
            raise ParameterError("model", expected="the folder of a linear model", found=self.model)
        return load_linear(self.model)

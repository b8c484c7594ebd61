"""The linear baseline as a re-ranker stage: TF-IDF and logistic regression over query and document as one text."""

from __future__ import annotations

from dataclasses import dataclass

from rankwell.core import ParameterError
from rankwell.rerank.cross_encoder import CrossEncoder
from rankwell.rerank.linear_model import load_linear
from rankwell.rerank.scorer import Scorer


@dataclass(frozen=True)
class Linear(CrossEncoder):
    """Scores the k best documents of each query with a folder that `rankwell train linear` made (S3 4.5).

    All parameters are those of `CrossEncoder` but for a transformer's. Scores are not kept: they are quicker made than
    looked up.
    """

    def scorer(self) -> Scorer:
        """The model, loaded."""
        if not isinstance(self.model, str):
            raise ParameterError("model", expected="the folder of a linear model", found=self.model)
        return load_linear(self.model)

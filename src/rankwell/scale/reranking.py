"""Re-ranking on a cluster, with a model of any kind."""

from __future__ import annotations

from dataclasses import dataclass, field

from rankwell.core import ParameterError, Run, Stage
from rankwell.rerank import CrossEncoder, Parade, Reranker
from rankwell.scale.address import Address
from rankwell.scale.cluster import Cluster, connected
from rankwell.scale.pair_scoring import rerank_pairs_on
from rankwell.scale.stages import rerank_queries_on


@dataclass(frozen=True)
class RerankOn(Stage):
    """A re-ranker whose work is done by the workers of a cluster. The run is the same as without."""

    reranker: Reranker
    on: str | Address | Cluster = field(default="ray", compare=False)

    def __post_init__(self) -> None:
        if isinstance(self.on, str):
            Address.parse(self.on)

    @property
    def k(self) -> int:
        """How many documents of each query."""
        return self.reranker.k

    def check(self) -> None:
        """What the re-ranker refuses, and a model that is not a name or a folder: workers could not load it."""
        if not isinstance(self.reranker.model, str):
            expected = "a name or a folder, for workers to load"
            raise ParameterError("model", expected=expected, found=self.reranker.model)
        self.reranker.check()

    def fingerprint(self) -> str:
        """Where it was worked out makes no difference."""
        return self.reranker.fingerprint()

    def apply(self, run: Run) -> Run:
        """Re-rank the top: pair by pair where the model scores pairs, query by query where it does not."""
        with connected(self.on) as cluster:
            if isinstance(self.reranker, CrossEncoder) and not isinstance(self.reranker, Parade):
                return rerank_pairs_on(cluster, self.reranker, run)
            return rerank_queries_on(cluster, self.reranker, run)

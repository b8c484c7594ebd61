"""Ranking many queries on a cluster: queries travel, every worker has the same index at hand."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from rankwell.clickhouse import is_address, open_index
from rankwell.core import Queries, Run, Stage
from rankwell.core.progress import SILENT, Progress
from rankwell.index import Index
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.scale.address import Address
from rankwell.scale.cluster import Cluster, connected
from rankwell.scale.functions import in_order
from rankwell.scale.models import check_same, everywhere
from rankwell.scale.parts import Columns, Part, in_parts, joined
from rankwell.scale.tasks import Work


@dataclass(frozen=True)
class Ranking:
    """What `rankwell rank` does, with an index that all workers see: in a folder, or in ClickHouse."""

    address: str = field(repr=False)  # it may have a password
    index_fingerprint: str
    first: RankerOptions
    second: RerankOptions | None
    k: int
    fingerprint: str

    @classmethod
    def of(
        cls, index: Index, first: RankerOptions, second: RerankOptions | None, k: int, address: str | None = None
    ) -> Ranking:
        """This index, these stages; `address` where the index is in no folder."""
        place = address if address is not None and is_address(address) else str(Path(index.path).resolve())
        if second is not None:
            second = replace(second, model=everywhere(second.model))
        task = cls(place, index.fingerprint(), first, second, k, "")
        stage = task.stage(index, {})
        stage.check()
        return replace(task, fingerprint=stage.fingerprint())

    def stage(self, index: Index, texts: dict[str, str]) -> Stage:
        """The pipeline for queries with these texts."""
        found = self.first.ranker(index, texts)
        return found if self.second is None else (found >> self.second.stage(index)).top(self.k)

    def open(self, threads: int) -> Work:
        """Open the index and load the models; make sure that they are the same."""
        first = replace(self.first, threads=threads)
        second = None if self.second is None else replace(self.second, threads=threads, quiet=True)
        here = replace(self, first=first, second=second)
        index = open_index(self.address)
        check_same(str(index.path), index, self.index_fingerprint)
        stage = here.stage(index, {})
        stage.check()
        check_same(str(index.path), stage, self.fingerprint)

        def work(part: Part) -> Columns:
            run = part.run()
            texts = {} if run.queries is None else run.queries.texts(self.first.query_field)
            return Columns.of(here.stage(index, texts).apply(run))

        return work

    def describe(self, chunk: Part) -> str:
        """By its queries."""
        return str(chunk)


def rank_on(on: str | Address | Cluster, task: Ranking, queries: Queries, progress: Progress = SILENT) -> Run:
    """The same run as here, worked out by the workers of a cluster."""
    found = []
    with connected(on) as cluster, cluster.workers(task) as workers:
        chunks = (Part(asked) for asked in in_parts(list(queries), queries, workers.count))
        for columns in in_order(workers.map(chunks)):
            progress.advance(len(columns.qids))
            found.append(columns)
    return joined(found, queries)

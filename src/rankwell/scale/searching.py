"""Searches for good settings on a cluster: each training is a chunk, in a folder that all workers see."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from rankwell.core import RankwellError
from rankwell.core.progress import SILENT, Progress
from rankwell.scale.address import Address
from rankwell.scale.cluster import Cluster, connected
from rankwell.scale.models import everywhere
from rankwell.scale.shared_folder import check_shared, signed
from rankwell.scale.tasks import Work
from rankwell.train import Pairs, Search, Searched, open_pairs
from rankwell.train.search import CellKey
from rankwell.train.trainable import kind_named


@dataclass(frozen=True)
class Trainings:
    """The trainings of a search."""

    search: Search
    out: Path
    origin: str
    sign: str  # the name of a file that shows whether the folder is the same one

    def open(self, threads: int) -> Work:  # noqa: ARG002 -- Ray tells torch how many it may use; settings may say otherwise
        """Make sure that folder, data and model are the same."""
        check_shared(self.out, self.sign)
        for pairs in (self.search.pairs, self.search.validation):
            if isinstance(pairs, Pairs) and pairs.record != open_pairs(pairs.folder).record:
                raise RankwellError(
                    f"{pairs.folder}: expected the same pairs as where the command was given, found others"
                )
        model = self.search.model
        if kind_named(self.search.kind).origin(model) != self.origin:
            raise RankwellError(f"{model}: expected the same weights as where the command was given, found others")

        def work(key: CellKey) -> None:
            self.search.train(self.out, key)

        return work

    def describe(self, chunk: CellKey) -> str:
        """By its setting."""
        setting = ", ".join(f"{name}={value}" for name, value in self.search.settings[chunk.place].items())
        return f"the training with {setting or 'the settings given'}, seed {chunk.seed}, fold {chunk.fold + 1}"


def search_on(on: str | Address | Cluster, search: Search, out: Path | str, progress: Progress = SILENT) -> Searched:
    """Train what is not there yet on the workers of a cluster, and compare."""
    folder = Path(out).resolve()
    origin = kind_named(search.kind).origin(search.model)
    keys: dict[str, CellKey] = {}
    for key in search.cells():
        keys.setdefault(search.name(key), key)  # no two workers in one folder
    progress.advance(search.trainings - len(keys))
    with ExitStack() as stack:
        task = Trainings(_in_full(search), folder, origin, stack.enter_context(signed(folder)))
        workers = stack.enter_context(stack.enter_context(connected(on)).workers(task, ahead=1))
        for _ in workers.map(keys.values()):
            progress.advance()
    return search.run(out)


def _in_full(search: Search) -> Search:
    """A search by whole paths, because workers have a working folder of their own."""
    pairs = replace(search.pairs, folder=search.pairs.folder.resolve())
    held_out = search.validation
    if isinstance(held_out, Pairs):
        held_out = replace(held_out, folder=held_out.folder.resolve())
    model = None if search.model is None else everywhere(search.model)
    return replace(search, pairs=pairs, validation=held_out, model=model)

"""A package that we have never heard of brings an index, workers and a model family of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import tomllib
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from rankwell.core import ParameterError, RankwellError
from rankwell.core.plugins import Plugins
from rankwell.index import open_index, scheme_of
from rankwell.index.opening import SCHEMES
from rankwell.ray.cluster import WORKERS

PLUGIN = '''
"""An index in memory that counts words, workers in this process, and a family that keeps the order it is given."""

from collections import Counter
from collections.abc import Mapping
from contextlib import contextmanager

import numpy as np

from rankwell.analysis import Analyzer
from rankwell.core import Document
from rankwell.core.arrays import strings
from rankwell.index import Hits, SearchIndex
from rankwell.index.scoring import Scoring, TermStatistics, query_terms
from rankwell.ray import Workers
from rankwell.ray.worker import InProcess

TEXTS = {"papers": {"d1": "fever and cough", "d2": "fever fever", "d3": "the moon"}}


class MemoryIndex(SearchIndex):
    metadata, commit, columns = (), 1, {}

    def __init__(self, address):
        self.path, self.analyzer, self.fields = address, Analyzer(), ("text",)
        texts = TEXTS[address.removeprefix("memory://")]
        self.documents = {docno: Document(docno, {"text": text}) for docno, text in texts.items()}
        self.ids = sorted(texts)
        self.live = np.ones(len(texts), dtype=bool)

    def __len__(self):
        return len(self.ids)

    def fingerprint(self):
        return self.path

    def search(self, queries, k=10, scoring=Scoring(), *, within=None, prune=True, threads=1):
        allowed = self.live if within is None else self.mask(within)
        documents, scores, offsets = [], [], [0]
        for query in [queries] if isinstance(queries, (str, Mapping)) else queries:
            terms = query_terms(query, self.analyzer, distinct=scoring.distinct)
            sums = [sum(self.terms_of(docno)[term] * weight for term, weight in terms.items()) for docno in self.ids]
            found = sorted((n for n in range(len(sums)) if sums[n] and allowed[n]), key=lambda n: (-sums[n], -n))[:k]
            documents += found
            scores += [sums[number] for number in found]
            offsets.append(len(documents))
        return Hits(np.array(offsets), np.array(documents, dtype=np.int64), np.array(scores, dtype=np.float32), self)

    def holding(self, term, field=""):
        return np.array([term in self.terms_of(docno) for docno in self.ids])

    def mask(self, within):
        return np.asarray(within) if np.asarray(within).dtype == bool else np.isin(np.arange(len(self)), within)

    def docnos(self, documents):
        return strings([self.ids[number] for number in documents])

    def number(self, docno):
        return self.ids.index(docno) if docno in self.ids else None

    def first_ids(self, among, count):
        return np.flatnonzero(among)[::-1][:count]

    def statistics(self, term, field=""):
        return TermStatistics((), int(self.holding(term).sum()))

    def holding_phrase(self, text, field=""):
        return self.live & False

    average_lengths = {"": 2.0, "text": 2.0}

    def info(self):
        return {"path": self.path, "documents": len(self)}


class Here:
    def __init__(self, text, threads, workers):
        self.count = workers or 1

    @contextmanager
    def connect(self):
        yield self

    def workers(self, task, *, ahead=2):
        return Workers(InProcess(self.count), task, ahead=ahead)


class Unchanged:
    depth = 7
'''
ENTRIES = """
[rankwell.indexes]
memory = memory_plugin:MemoryIndex
broken = memory_plugin:Absent

[rankwell.workers]
here = memory_plugin:Here

[rankwell.models]
unchanged = memory_plugin:Unchanged
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with an installed package, as pip leaves it."""
    about = tmp_path / "memory_plugin-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: memory-plugin\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(ENTRIES)
    (tmp_path / "memory_plugin.py").write_text(PLUGIN)
    return tmp_path


def run(site: Path, program: str) -> str:
    """What a program prints where the package is installed."""
    path = os.pathsep.join([str(site), *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, "-c", textwrap.dedent(program)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=site, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_stages_search_the_index_of_a_plugin(site: Path) -> None:
    program = """
        from rankwell.retrieve import BM25, RM3
        print(BM25("memory://papers")("fever").docnos.tolist())
        print(BM25("memory://papers", match="expr:fever AND NOT cough")("fever").docnos.tolist())
        print(RM3(BM25("memory://papers"))("cough").docnos.tolist())
    """
    assert run(site, program).splitlines() == ["['d2', 'd1']", "['d2']", "['d1', 'd2']"]


def test_commands_search_the_index_of_a_plugin(site: Path) -> None:
    for words, expected in ((["search", "memory://papers", "moon"], "the [moon]"), (["info", "memory://papers"], "3")):
        assert expected in run(site, f"from rankwell.cli import app; app({words!r}, standalone_mode=False)")


def test_work_goes_to_the_workers_of_a_plugin(site: Path) -> None:
    program = 'from rankwell.ray import map_chunks; print(list(map_chunks(len, ["a", "bcd"], on="here", workers=2)))'
    assert run(site, program) == "[1, 3]"


def test_a_model_folder_may_be_of_a_family_of_a_plugin(site: Path) -> None:
    program = """
        from pathlib import Path
        from rankwell.models.families import usual_depth
        from rankwell.models.base.folder import RankerRecord
        Path("model").mkdir()
        Path("model/config.json").write_text("{}")
        RankerRecord("unchanged").write(Path("model"))
        print(usual_depth("model"))
    """
    assert run(site, program) == "7"


def test_a_plugin_that_cannot_be_loaded_is_named(site: Path) -> None:
    program = """
        from rankwell.core import RankwellError
        from rankwell.index import open_index
        try:
            open_index("broken://x")
        except RankwellError as error:
            print(error)
    """
    assert run(site, program).startswith("rankwell.indexes: broken cannot be loaded from memory_plugin:Absent: ")


def test_an_unknown_scheme_is_refused_with_the_known_ones(site: Path) -> None:
    with pytest.raises(ParameterError, match="chdb://, clickhouse://, clickhouses://") as told:
        open_index("mongo://me:secret@host/papers")
    assert "secret" not in str(told.value)
    assert "memory://" in run(site, "from rankwell.index.opening import SCHEMES; print(*(f'{n}://' for n in SCHEMES))")


def test_a_folder_has_no_scheme() -> None:
    folders = ("papers", "/data/papers", "C:\\papers", Path("clickhouse://x"))
    assert [scheme_of(folder) for folder in folders] == [None] * 4


def test_a_name_that_nobody_registered_is_not_there() -> None:
    with pytest.raises(KeyError):
        Plugins("rankwell.nothing")["x"]
    with pytest.raises(RankwellError, match="cannot be loaded from no_such_module:x"):
        Plugins("rankwell.nothing", {"x": "no_such_module:x"})["x"]


def test_our_own_entries_are_those_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    for plugins in (SCHEMES, WORKERS):
        assert plugins._own == project["entry-points"][plugins.group]
        for name, value in plugins._own.items():
            assert EntryPoint(name, value, plugins.group).load() == plugins[name]

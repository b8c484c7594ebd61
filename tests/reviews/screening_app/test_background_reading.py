"""BERT in the background of the screening pages: it reads, says how far it is, and nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from screening_projects import Visitor, make_project, references

from rankwell.apps.screening.application import create_application
from rankwell.reviews.screening.decisions import Answer
from rankwell.reviews.screening.ranking import LiveRanking, ReadSoFar
from rankwell.reviews.screening.reader import Reader
from rankwell.reviews.screening.store import Project
from waiting import wait_until

MODEL = "minilm-l3"
KEY = b"k" * 32


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    with make_project(tmp_path / "p.db") as made:
        yield made


def until(holds: Callable[[], bool]) -> None:
    wait_until(holds, "the model has read, and the order is made")


@pytest.fixture
def ranking(project: Project) -> Iterator[LiveRanking]:
    made = LiveRanking(project, MODEL)
    made.start()
    yield made
    made.close()


@pytest.mark.usefixtures("use_models")
def test_the_order_is_made_by_the_model_too_once_it_has_read_all(ranking: LiveRanking, project: Project) -> None:
    until(lambda: ranking.order(1).model == MODEL)
    assert ranking.reading == ReadSoFar(MODEL, 12, 12)
    assert all(number % 2 == 0 for number in ranking.order(1).records[:6]), "the records on exercise"
    project.decisions.decide(1, 1, Answer.INCLUDE)
    project.decisions.decide(1, 2, Answer.EXCLUDE)
    ranking.changed()
    until(lambda: ranking.order(1).learned == 2)
    assert ranking.order(1).model == MODEL


@pytest.mark.slow
@pytest.mark.usefixtures("use_models")
def test_new_records_and_another_title_are_read_as_well(ranking: LiveRanking, project: Project) -> None:
    until(lambda: ranking.order(1).model == MODEL)
    project.import_references("more.ris", references(20)[12:])
    ranking.changed()
    until(lambda: ranking.reading == ReadSoFar(MODEL, 20, 20) and len(ranking.order(1).records) == 20)
    until(lambda: ranking.order(1).model == MODEL)


@pytest.mark.usefixtures("use_models")
def test_a_second_start_finds_what_was_read(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    Reader.open(MODEL, threads=1).read(project.records.texts())
    asked: list[str] = []
    encoder = Reader.open(MODEL, threads=1).encoder
    for name in ("encode", "encode_queries"):
        plain = getattr(encoder, name)
        monkeypatch.setattr(encoder, name, lambda texts, plain=plain: asked.extend(texts) or plain(texts))
    ranking = LiveRanking(project, MODEL)
    ranking.start()
    until(lambda: ranking.order(1).model == MODEL)
    ranking.close()
    assert asked == [project.settings.title]


def test_without_the_model_screening_goes_on_and_the_page_says_why(project: Project) -> None:
    with Visitor(create_application(project, key=KEY, model="minilm-l6")) as visitor:
        ranking = visitor.app.state.site.ranking  # type: ignore[attr-defined]
        until(lambda: bool(ranking.reading.trouble))
        assert ranking.wait(30)
        page = visitor.get("/screen").text
    assert "minilm-l6 does not read along: minilm-l6: not fetched yet: rankwell models add minilm-l6" in page
    assert "It is made by the words of the records." in page
    assert ranking.order(1).model == ""


@pytest.mark.usefixtures("use_models")
def test_the_page_says_which_model_made_the_order(project: Project) -> None:
    with Visitor(create_application(project, key=KEY, model=MODEL)) as visitor:
        ranking = visitor.app.state.site.ranking  # type: ignore[attr-defined]
        until(lambda: ranking.order(1).model == MODEL)
        for path in ("/screen", "/"):
            assert f"by the words of the records and by what {MODEL} reads in them" in visitor.get(path).text


def test_the_page_says_how_far_the_reading_is(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_application(project, key=KEY)
    monkeypatch.setattr(LiveRanking, "reading", ReadSoFar("minilm-l6", 1200, 10_000))
    page = Visitor(app).get("/screen").text
    assert "minilm-l6 has read 1,200 of 10,000 records; it will help with the order when it has read all." in page


@pytest.mark.slow
@pytest.mark.usefixtures("use_models")
def test_closing_does_not_wait_until_everything_is_read(tmp_path: Path) -> None:
    with make_project(tmp_path / "many.db", references(2000)) as project:
        ranking = LiveRanking(project, MODEL)
        ranking.start()
        until(lambda: bool(ranking.reading and ranking.reading.read))
        ranking.close()
        assert ranking.reading is not None
        assert 0 < ranking.reading.read < 2000

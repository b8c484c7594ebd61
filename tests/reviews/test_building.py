"""From reviews to a collection: what is found, kept, split and written, and that a kill loses nothing."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest
from eutilities_server import EUtilitiesServer, article, serving, slow
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import open_collection, write_documents
from rankwell.core import Document, ParameterError, RankwellError
from rankwell.reviews import (
    BuildSettings,
    EUtilities,
    ListedStudy,
    PubMedSource,
    StudyFinder,
    build_collection,
    open_local,
    write_collection,
)
from rankwell.reviews.build import ReviewCollection, read_dates, read_examples, relevant_examples, split_reviews
from rankwell.reviews.finding import CandidateSource, decisions_in, read_decisions
from rankwell.reviews.matching import Verdict
from rankwell.reviews.review_files import Review

TOPICS = ("asthma", "fever", "cough", "measles", "malaria", "stroke")
NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight")


def title(topic: str, number: str) -> str:
    return f"A randomised trial of treatment {number} for {topic} in {number} hospitals"


ARTICLES = [
    article(str(1000 + 10 * place + count), f"{title(topic, number)}.", abstract=f"We treated {topic} {number} times.")
    for place, topic in enumerate(TOPICS)
    for count, number in enumerate(NUMBERS)
]


def reviews() -> list[Review]:
    """Six reviews of eight studies each, four included, and one study that PubMed does not have."""
    found = []
    for topic in TOPICS:
        studies = [ListedStudy(title(topic, number), 2000, "Varma TR, Curzen P") for number in NUMBERS]
        lost = ListedStudy("Something that nobody ever published")
        found.append(Review(f"R-{topic}", f"Treatment of {topic}", tuple(studies[:4]), (*studies[4:], lost), "2010"))
    return found


def built(source: CandidateSource, **settings: object) -> ReviewCollection:
    given = reviews()
    return build_collection(given, StudyFinder(source).find(given), BuildSettings(**{"fewest": 5, **settings}))


@pytest.fixture
def server(server: EUtilitiesServer) -> EUtilitiesServer:
    server.articles = {document.id: document for document in ARTICLES}
    return server


@pytest.fixture
def source(client: EUtilities, server: EUtilitiesServer) -> PubMedSource:  # noqa: ARG001 -- the client asks it
    return PubMedSource(client)


def test_studies_are_found_and_labelled(source: PubMedSource) -> None:
    collection = built(source)
    assert collection.verdicts == {Verdict.FOUND: 48, Verdict.MISSING: 6}
    assert collection.labels["R-asthma"] == {str(1000 + count): int(count < 4) for count in range(8)}
    assert len(collection.documents) == 48


def test_a_second_build_asks_nothing(source: PubMedSource, server: EUtilitiesServer) -> None:
    first = built(source)
    count = len(server.requests)
    assert built(source) == first
    assert len(server.requests) == count
    assert count < 60, "searches are one a study, fetches are shared"


def test_a_local_copy_of_pubmed_finds_the_same(tmp_path: Path, source: PubMedSource) -> None:
    write_documents(tmp_path / "pubmed.xml", ARTICLES, "pubmed-xml")
    local = open_local(tmp_path / "pubmed.xml")
    assert built(local).labels == built(source).labels
    assert open_local(tmp_path / "pubmed.xml").index.path == local.index.path, "indexed once"
    assert local.fetch(["1000", "9"]) == {"1000": ARTICLES[0]}


def test_a_local_source_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id,text\n1,some words\n", encoding="utf-8")
    with pytest.raises(RankwellError):
        open_local(tmp_path / "a.csv")


def test_reviews_with_few_documents_are_left_out_with_their_documents(source: PubMedSource) -> None:
    collection = built(source, fewest=9)
    assert (collection.reviews, collection.documents, collection.labels) == ((), {}, {})


def test_articles_without_an_abstract_are_left_out_unless_asked_for(
    source: PubMedSource, server: EUtilitiesServer
) -> None:
    server.articles["1000"] = article("1000", f"{title('asthma', 'one')}.", abstract="")
    assert "1000" not in built(source).documents
    assert "1000" in built(source, needs_abstract=False).documents


def test_a_study_that_is_both_included_and_excluded_counts_as_included(source: PubMedSource) -> None:
    studies = [ListedStudy(title("asthma", number)) for number in NUMBERS]
    both = Review("R", "Asthma", tuple(studies[:2]), tuple(studies))
    collection = build_collection([both], StudyFinder(source).find([both]), BuildSettings(fewest=1))
    assert sum(collection.labels["R"].values()) == 2
    assert collection.conflicts == 2


def test_the_collection_can_be_read_and_says_how_it_was_made(tmp_path: Path, source: PubMedSource) -> None:
    made = built(source, seed=3)
    write_collection(tmp_path / "out", made, StudyFinder(source), {"name": "reviews.json"})
    collection = open_collection(tmp_path / "out")
    assert collection.splits == ("test", "train", "validation")
    assert {document.id for document in collection.documents()} == set(made.documents)
    first = next(collection.documents())
    assert set(first.fields) == {"title", "text"}
    assert first.metadata["year"] == 2000
    for split in collection.splits:
        assert collection.judgments(split) == made.judgments(split)
    assert collection.queries().texts()["R-fever"] == "Treatment of fever"
    assert read_dates(tmp_path / "out") == {review.id: "2010" for review in reviews()}
    assert read_examples(tmp_path / "out") == made.examples
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["settings"]["seed"] == 3
    assert manifest["studies"] == {"found": 48, "ambiguous": 0, "not found": 6}
    assert sum(split["rows"] for split in manifest["splits"].values()) == 48
    with (tmp_path / "out" / "studies.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 54
    assert {(row["verdict"], row["kept"]) for row in rows} == {("found", "yes"), ("not found", "no")}


def test_a_build_does_not_write_into_a_folder_of_something_else(tmp_path: Path, source: PubMedSource) -> None:
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "thesis.tex").write_text("mine", encoding="utf-8")
    with pytest.raises(RankwellError, match=r"expected an empty folder or an earlier build, found 'thesis.tex'"):
        write_collection(folder, built(source), StudyFinder(source))


def test_what_a_person_decided_is_taken(tmp_path: Path, source: PubMedSource, server: EUtilitiesServer) -> None:
    wording = "A randomised trial of treatment one against asthma in one hospital"
    review = Review("R", "Asthma", (ListedStudy(wording, 2001, "Varma TR"), ListedStudy(wording.replace("one", "two"))))
    collection = build_collection([review], StudyFinder(source).find([review]), BuildSettings(fewest=1))
    assert collection.verdicts == {Verdict.AMBIGUOUS: 2}
    out = tmp_path / "out"
    write_collection(out, collection, StudyFinder(source))
    with (out / "ambiguous.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["decision"] = "yes" if row["pmid"] == "1000" and "one" in row["title"] else "No"
    with (out / "ambiguous.csv").open("w", encoding="utf-8-sig", newline="") as file:  # as a spreadsheet writes it
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    count = len(server.requests)
    for _ in range(2):  # the second time the table of ambiguous studies is empty, and the decisions are still known
        finder = StudyFinder(source, decisions=decisions_in(out))
        collection = build_collection([review], finder.find([review]), BuildSettings(fewest=1))
        write_collection(out, collection, finder)
        found = [study.match for study in collection.studies]
        assert [match.article and match.article.id for match in found] == ["1000", None]
        assert found[0].reason == "decided by a person"
        assert found[1].reason == "decided by a person: none of the candidates"
        assert len((out / "ambiguous.csv").read_text(encoding="utf-8").splitlines()) == 1
    assert len(server.requests) == count


def test_decisions_that_contradict_each_other_or_say_nothing(tmp_path: Path) -> None:
    path = tmp_path / "d.csv"
    head = "decision,review,title,pmid\n"
    path.write_text(f"{head}yes,R,A title,1\nyes,R,A Title.,2\n", encoding="utf-8")
    with pytest.raises(RankwellError, match=r"d.csv:3: expected one yes for a study"):
        read_decisions(path)
    path.write_text(f"{head}maybe,R,A title,1\n", encoding="utf-8")
    with pytest.raises(RankwellError, match=r'd.csv:2: expected yes, no or nothing as a decision, found "maybe"'):
        read_decisions(path)
    path.write_text(f"{head},R,A title,1\nno,R,A title,2\n,S,Other,3\n", encoding="utf-8")
    assert read_decisions(path) == {}
    path.write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(RankwellError, match="expected a column decision, found a, b"):
        read_decisions(path)


@given(st.sets(st.text(min_size=1), max_size=60), st.integers(0, 5))
def test_every_review_is_in_one_split_whatever_the_order(ids: set[str], seed: int) -> None:
    splits = split_reviews(list(ids), seed=seed)
    assert splits == split_reviews(sorted(ids, reverse=True), seed=seed)
    assert splits.keys() == ids
    if len(ids) >= 3:
        assert set(splits.values()) == {"train", "validation", "test"}


def test_shares_are_those_asked_for() -> None:
    sides = list(split_reviews([str(number) for number in range(1000)]).values())
    assert [sides.count(name) for name in ("train", "validation", "test")] == [850, 75, 75]
    with pytest.raises(ParameterError, match="shares: expected three shares"):
        split_reviews(["a"], (0.5, 0.5))


@st.composite
def labelled(draw: st.DrawFn) -> tuple[dict[str, dict[str, int]], dict[str, str]]:
    documents = st.dictionaries(st.sampled_from("abcdefghij"), st.integers(0, 1), max_size=8)
    grades = draw(st.dictionaries(st.sampled_from(["r1", "r2", "r3", "r4", "r5"]), documents, max_size=5))
    return grades, {review: draw(st.sampled_from(["train", "validation", "test"])) for review in grades}


@given(labelled(), st.integers(0, 3))
def test_an_example_is_relevant_another_document_and_of_this_side_alone(
    given: tuple[dict[str, dict[str, int]], dict[str, str]], seed: int
) -> None:
    grades, splits = given
    usable = set("abcdefgh")
    examples = relevant_examples(grades, splits, usable, seed)
    assert examples == relevant_examples(grades, splits, usable, seed)
    for (review, docno), example in examples.items():
        assert example != docno
        assert example in usable
        assert grades[review][example] == 1
        assert all(splits[other] == splits[review] for other in grades if example in grades[other])


def test_every_relevant_document_is_drawn_as_an_example() -> None:
    grades = {"r": {str(number): int(number < 5) for number in range(200)}}
    examples = relevant_examples(grades, {"r": "train"}, grades["r"], seed=1)
    assert len(examples) == 200
    assert set(examples.values()) == set("01234")


class CountingSource:
    """Notes how many titles are asked for at once."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def candidates(self, titles: Sequence[str], most: int = 20) -> list[list[Document]]:
        assert most == 7
        self.sizes.append(len(titles))
        return [[] for _ in titles]

    def fetch(self, ids: Sequence[str]) -> dict[str, Document]:  # noqa: ARG002 -- has none
        return {}

    def described(self) -> dict[str, object]:
        return {}


def test_studies_are_searched_in_groups() -> None:
    source = CountingSource()
    review = Review("R", "x", tuple(ListedStudy(f"Study {number}") for number in range(150)))
    assert len(list(StudyFinder(source, candidates=7).find([review]))) == 150
    assert source.sizes == [60, 60, 30]


@pytest.mark.slow
def test_a_killed_build_goes_on_where_it_was(tmp_path: Path) -> None:
    given = [
        {
            "id": review.id,
            "title": review.title,
            "date": review.date,
            "included": [study._asdict() for study in review.included],
            "excluded": [study._asdict() for study in review.excluded],
        }
        for review in reviews()
    ]
    (tmp_path / "reviews.json").write_text(json.dumps(given), encoding="utf-8")
    with serving(ARTICLES) as state:
        command = [
            *(sys.executable, "-m", "rankwell", "review", "build", "reviews.json", "--out", "out", "--fewest", "5"),
            *("--cache", "cache", "--base-url", state.url, "--quiet"),
        ]
        environment = {**os.environ, "NO_PROXY": "127.0.0.1", "RANKWELL_NCBI_API_KEY": "k"}
        answered = 0
        for _ in range(3):  # each time a little later
            state.faults = [slow(0.02)] * 200
            process = subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL)
            while len(state.requests) < answered + 8 and process.poll() is None:
                time.sleep(0.02)
            process.send_signal(signal.SIGKILL)
            process.wait()
            answered = len(state.requests)
            assert not (tmp_path / "out" / "manifest.json").exists()
        state.faults.clear()
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        asked = [form["term"] for form in state.asked("esearch.fcgi")]
        # Of each kill only the three searches on their way can be asked again: nobody knows whether they were answered.
        assert len(asked) - len(set(asked)) <= 3 * 3
        count = len(state.requests)
        again = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        assert len(state.requests) == count
        assert again.stdout == done.stdout
    assert "found" in done.stdout
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["studies"]["found"] == 48
    offline = [*command, "--offline"]
    done = subprocess.run(offline, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout == again.stdout

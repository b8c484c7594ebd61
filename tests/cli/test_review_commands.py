"""`rankwell review` as users type it; errors are one line, results are tables, files and pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from commands import rankwell
from rankwell.cli import app
from rankwell.collections import write_documents
from rankwell.core import Document, RankwellError

REVIEWS = [
    {
        "id": topic,
        "title": f"Treatment of {topic}",
        "year": 2012,
        "included": [
            {"title": f"A trial of {topic} number {n}", "year": 2000 + n, "authors": "Doe J"} for n in range(3)
        ],
        "excluded": [{"title": f"A trial of {topic} number {n}", "year": 2000 + n, "authors": "Doe J"} for n in (3, 4)],
    }
    for topic in ("asthma", "fever", "measles")
]
ARTICLES = [
    Document(
        str(100 * place + n + 1),
        {"title": f"A trial of {review['id']} number {n}.", "abstract": f"We gave {n} drugs against {review['id']}."},
        {"year": 2000 + n, "date": str(2000 + n), "authors": "Doe J"},
    )
    for place, review in enumerate(REVIEWS)
    for n in range(5)
]


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("reviews.json").write_text(json.dumps(REVIEWS), encoding="utf-8")
    write_documents("pubmed.xml", ARTICLES, "pubmed-xml")


def test_reviews_become_a_collection_that_can_be_described() -> None:
    build = ("review", "build", "reviews.json", "--local", "pubmed.xml", "--out", "out", "--fewest", "5")
    done = rankwell(*build, "--output", "csv")
    assert done.returncode == 0, done.stderr
    assert "found,9,6,15,100.0" in done.stdout
    assert "all,3,15,9,60.0" in done.stdout
    assert "3 of 3 reviews" in done.stderr
    manifest = Path("out/manifest.json").read_bytes()
    assert rankwell(*build, "--quiet").stderr == ""
    assert Path("out/manifest.json").read_bytes() == manifest
    stats = rankwell("review", "stats", "out", "--split", "all", "--html", "out.html", "--output", "json", "--quiet")
    assert stats.returncode == 0, stats.stderr
    found = json.loads(stats.stdout)
    assert (found["reviews"], found["rows"], found["percent_relevant"]) == (3, 15, 60.0)
    assert found["words"]["title"]["mean"] == 6
    assert "<svg" in Path("out.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["none.json"], "none.json: no such file or folder"),
        (["reviews.json", "--out", "."], "expected an empty folder or an earlier build"),
        (["reviews.json", "--shares", "a,b"], "--shares: expected three numbers"),
        (["reviews.json", "--shares", "50,20,20"], "shares: expected three shares"),
        (["reviews.json", "--fewest", "0"], "fewest: expected a number of documents, at least 1"),
        (["reviews.json", "--local", "reviews.json"], "expected well-formed XML"),
        (["reviews.json", "--cache", "cache", "--offline"], "the recorded answers have none for"),
        (["reviews.json", "--cache", "cache", "--base-url", "ftp://x"], "base_url: expected an address"),
        (["reviews.json", "--decisions", "none.csv"], "none.csv"),
    ],
)
def test_a_mistake_is_said_in_one_line(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, ["review", "build", "--out", "out", *words, "--quiet"])
    assert isinstance(result.exception, RankwellError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


def test_a_split_that_is_not_there_is_named() -> None:
    rankwell("review", "build", "reviews.json", "--local", "pubmed.xml", "--out", "out", "--fewest", "5", "--quiet")
    done = rankwell("review", "stats", "out", "--split", "dev", "--quiet")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "expected a split 'dev', found test, train, validation" in done.stderr

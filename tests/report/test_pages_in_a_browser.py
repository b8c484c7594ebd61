from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from browser import assert_readable, chromium
from rankwell.collections import read_qrels, read_run
from rankwell.core import Document, Judgments, Queries, Run
from rankwell.evaluation.comparison import compare
from rankwell.report import collection_statistics
from rankwell.report.comparison import comparison_page

pytestmark = pytest.mark.slow

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_bm25_against_bert_on_dl_hard_reads_well_everywhere(data: Path, tmp_path: Path, *, dark: bool) -> None:
    folder = data / "eval-fixtures" / "dl-hard"
    runs = {"BM25": read_run(folder / "bm25.run"), "BM25+BERT": read_run(folder / "bm25+bert(zs).run")}
    found = compare(read_qrels(folder / "dl_hard-passage.qrels"), runs, ["nDCG@10", "RR@10", "AP"])
    page = tmp_path / "page.html"
    page.write_text(comparison_page(found, texts={"915593": "what types of food can you cook sous vide"}).html())
    with chromium() as browser:
        assert_readable(browser, page, dark=dark)


def test_a_page_full_of_hostile_strings_shows_them_as_text(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    docnos = [f"{HOSTILE}{number}" for number in range(20)]
    judgments = Judgments(
        (f"{HOSTILE}q{query}", docno, int(generator.integers(0, 3))) for query in range(12) for docno in docnos
    )
    runs = {
        name: Run.from_rows((qid, docno, float(generator.random())) for qid in judgments for docno in docnos)
        for name in (HOSTILE, f"second {HOSTILE}")
    }
    texts = dict.fromkeys(judgments, f"who is {HOSTILE}")
    page = tmp_path / "page.html"
    page.write_text(comparison_page(compare(judgments, runs), texts=texts, command=HOSTILE).html())
    with chromium() as browser:
        assert_readable(browser, page)


def test_collection_statistics_read_well_everywhere(tmp_path: Path) -> None:
    documents = [
        Document(
            f"d{number}",
            {"title": f"title {HOSTILE} {number}", "text": "some words " * number},
            {"year": 2000 + number},
        )
        for number in range(30)
    ]
    queries = Queries.of({"q1": "fever", "q2": "cough and cold"})
    judgments = Judgments([("q1", "d1", 2), ("q1", "d2", 0), ("q2", "d3", 1)])
    page = tmp_path / "page.html"
    page.write_text(collection_statistics(documents, queries, judgments).page("Statistics").html())
    with chromium() as browser:
        assert_readable(browser, page)

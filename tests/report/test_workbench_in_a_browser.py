from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from browser import NARROW, WIDE, assert_no_stumbling_blocks, assert_readable, chromium, new_page
from rankwell.collections import open_collection, read_qrels, read_run
from rankwell.core import Document, Judgments, Run
from rankwell.evaluation import compare
from rankwell.report.comparison import comparison_page, query_workbench

pytestmark = pytest.mark.slow

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as started:
        yield started


def write(path: Path, judgments: Judgments, runs: dict[str, Run], **given: Any) -> Path:
    compared = compare(judgments, runs, ["nDCG@10", "RR@10"])
    documents = given.pop("documents", {})
    bench = query_workbench(compared, judgments, runs, **given)
    assert bench is not None
    bench = replace(bench, documents=documents)
    path.write_text(comparison_page(compared, texts=given.get("texts"), workbench=bench).html())
    return path


def world(queries: int, name: str = "", runs: int = 2) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    docnos = [f"d{number}{name}" for number in range(40)]
    judgments = Judgments(
        (f"q{query}", docno, int(generator.integers(0, 3))) for query in range(queries) for docno in docnos[:30]
    )
    return {
        "judgments": judgments,
        "runs": {
            f"run{number}{name}": Run.from_rows(
                (qid, docno, float(generator.random())) for qid in judgments for docno in docnos
            )
            for number in range(runs)
        },
        "texts": {qid: f"who is {qid} {name}" for qid in judgments},
        "documents": {
            docno: Document(docno, {"title": f"About {docno}", "text": f"Words {name} " * 20}) for docno in docnos
        },
    }


@pytest.fixture(scope="module")
def page_of_300(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("pages") / "page.html", **world(300))


def visible_rows(page: Any) -> int:
    return int(page.locator("section.bench:not([hidden]) .queries > tbody > tr:not(.detail):visible").count())


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [NARROW, WIDE])
def test_dl19_reads_well_with_both_rankings_open(
    browser: Any, data: Path, tmp_path: Path, width: int, *, dark: bool
) -> None:
    folder = data / "msmarco-dl19-pool"
    runs = {name: read_run(folder / "runs" / f"{name}.trec") for name in ("BM25", "D_BERT_KD_TASB")}
    collection = open_collection(folder)
    documents = {document.id: document for document in collection.documents()}
    judgments, texts = read_qrels(folder / "qrels" / "full.tsv"), collection.queries().texts()
    path = write(tmp_path / "page.html", judgments, runs, texts=texts, documents=documents)
    with new_page(browser, width=width, dark=dark, bypass_csp=True) as page:
        page.goto(path.as_uri())
        assert visible_rows(page) == 43
        page.locator(".bench summary").first.click()
        page.locator(".queries button.open").first.click()
        assert page.locator(".ranking").count() == 2
        assert page.locator(".ranking li").count() == 20
        assert_no_stumbling_blocks(page)


def test_three_hundred_queries_are_sorted_filtered_and_opened_by_keys(browser: Any, page_of_300: Path) -> None:
    with new_page(browser) as page:  # with the page's own policy: only its script runs
        page.goto(page_of_300.as_uri())
        assert visible_rows(page) == 300
        page.keyboard.press("j")
        page.keyboard.press("j")
        page.keyboard.press("k")
        first = page.locator(".queries > tbody > tr").first
        assert first.locator("button").evaluate("button => button === document.activeElement")
        page.keyboard.press("Enter")
        assert first.locator("button").get_attribute("aria-expanded") == "true"
        page.keyboard.press("j")  # the next one opens
        assert page.locator("tr.detail").count() == 1
        assert first.locator("button").get_attribute("aria-expanded") == "false"
        page.keyboard.press("Escape")
        assert page.locator("tr.detail").count() == 0
        page.keyboard.press("/")
        page.keyboard.type("q17")
        assert visible_rows(page) == 11  # q17, and q170 to q179
        assert page.locator(".status").inner_text().startswith("11 of 300 queries, mean difference ")
        page.keyboard.press("Escape")
        assert visible_rows(page) == 300
        page.get_by_label("Outcome").select_option("worse")
        worse = visible_rows(page)
        assert 0 < worse < 300
        assert page.locator("td.worse").count() == worse


def test_a_click_on_a_heading_sorts_by_it_and_another_turns_it_round(browser: Any, page_of_300: Path) -> None:
    with new_page(browser) as page:
        page.goto(page_of_300.as_uri())
        for direction in ("ascending", "descending"):
            page.get_by_role("button", name="run1", exact=True).click()
            assert page.locator(".queries thead th").nth(2).get_attribute("aria-sort") == direction
            values = [float(text) for text in page.locator(".queries > tbody > tr > td:nth-child(3)").all_inner_texts()]
            assert values == sorted(values, reverse=direction == "descending")


def test_several_runs_are_shown_one_at_a_time(browser: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "page.html", **world(5, runs=3))
    with new_page(browser) as page:
        page.goto(path.as_uri())
        assert page.locator("section.bench:visible").count() == 1
        page.locator("section.bench:visible .tools select").first.select_option(label="run2")
        assert page.locator("section.bench:visible h3").first.inner_text().startswith("run2 against run0")
        page.locator("section.bench:visible button.open").first.click()
        assert page.locator(".sides h4").all_inner_texts() == ["run0", "run2"]


def test_without_scripts_the_tables_are_there(browser: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "page.html", **world(5, runs=3))
    with new_page(browser, java_script_enabled=False) as page:
        page.goto(path.as_uri())
        assert page.locator(".queries > tbody > tr:visible").count() == 10
        assert page.locator(".tools:visible").count() == 0


def test_hostile_strings_are_shown_as_text(browser: Any, tmp_path: Path) -> None:
    path = write(tmp_path / "page.html", **world(6, name=HOSTILE))
    assert_readable(browser, path)
    with new_page(browser) as page:
        page.goto(path.as_uri())
        page.locator("button.open").first.click()
        assert page.locator(".ranking .title").first.inner_text().endswith(HOSTILE)
        assert page.locator("main img").count() == 0

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from html import unescape
from typing import Any

import numpy as np
import pytest

from rankwell.core import Document, Judgments, Run
from rankwell.evaluation import compare
from rankwell.report import workbench
from rankwell.report.comparison import comparison_page, query_workbench

HOSTILE = "</script><script>alert(1)</script><!--"
DOCUMENTS = {f"d{n}": Document(f"d{n}", {"title": f"Title {n}", "text": f"text {n} " * 60}) for n in range(30)}


def world(queries: int = 6) -> tuple[Judgments, dict[str, Run]]:
    generator = np.random.default_rng(1)
    docnos = list(DOCUMENTS)
    judgments = Judgments((f"q{q}", d, int(generator.integers(0, 3))) for q in range(queries) for d in docnos[:20])
    runs = {
        name: Run.from_rows((f"q{q}", d, float(generator.random())) for q in range(queries) for d in docnos)
        for name in ("a", "b", "c")
    }
    return judgments, runs


def bench(
    judgments: Judgments, runs: dict[str, Run], measure: str = "nDCG@10", unjudged: str = "zero", **given: Any
) -> workbench.Workbench:
    made = query_workbench(compare(judgments, runs, [measure, "RR@10"], unjudged=unjudged), judgments, runs, **given)
    assert made is not None
    return made


def data(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="bench-data">(.*?)</script>', html, re.DOTALL)
    assert found is not None
    parsed: dict[str, Any] = json.loads(found[1])
    return parsed


def rows(html: str, run: int = 1) -> list[list[str]]:
    section = re.search(rf'<section class="bench" data-run="{run}">(.*?)</section>', html, re.DOTALL)
    assert section is not None
    body = section[1].split('<table class="queries">')[1]
    found = re.findall(r"<tr data-query.*?</tr>", body, re.DOTALL)
    cells = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row) for row in found]
    return [[unescape(re.sub("<[^>]+>", "", cell)).strip() for cell in row] for row in cells]


def test_each_run_has_a_plain_table_of_all_queries_with_the_greatest_loss_first() -> None:
    judgments, runs = world()
    html = bench(judgments, runs, texts={"q3": "what is rain"}).html()
    for place, run in ((1, "b"), (2, "c")):
        table = rows(html, place)
        differences = [float(row[3]) for row in table]
        assert differences == sorted(differences)
        found = compare(judgments, runs, ["nDCG@10"])
        values = {qid: f"{value:.4f}" for qid, value in found.evaluations[run].per_query("nDCG@10").items()}
        assert {row[0].split()[0]: row[2] for row in table} == values
    assert any(row[0] == "q3 what is rain" for row in rows(html))


def test_where_lower_is_better_the_greatest_loss_is_the_greatest_rise() -> None:
    table = rows(bench(*world(), measure="MFR@10").html())
    differences = [float(row[3]) for row in table]
    assert differences == sorted(differences, reverse=True)


def test_the_data_have_both_tops_with_grades_ranks_and_texts() -> None:
    judgments, runs = world()
    made = replace(bench(judgments, runs), documents=DOCUMENTS)
    found = data(made.html())
    assert (found["k"], found["runs"], found["measures"]) == (10, ["a", "b", "c"], ["nDCG@10", "RR@10"])
    query = found["queries"][2]
    for place, run in enumerate(runs.values()):
        top = sorted((ranks[place], docno) for docno, _, ranks, *_ in query["docs"] if ranks[place] <= 10)
        assert [docno for _, docno in top] == run["q2"].docnos[:10].tolist()
    for docno, grade, _, title, pieces in query["docs"]:
        assert grade == judgments["q2"].get(docno)
        assert title == f"Title {docno[1:]}"
        assert pieces[0].startswith(f"text {docno[1:]} ")
        assert len(pieces[0]) <= workbench.SNIPPET
    assert {row[0] for query in found["queries"] for row in query["docs"]} == made.documents_wanted()


def test_parts_of_the_kinds_add_up_to_the_mean_difference() -> None:
    judgments, runs = world(12)
    html = bench(judgments, runs).html().split('<section class="bench" data-run="2">')[0]
    kinds = html.split('<div class="kinds">')[1].split("</table>")[0]
    parts = [float(cell) for cell in re.findall(r"<td class=r>([+-][0-9.]+)</td>", kinds)]
    difference = compare(judgments, runs, ["nDCG@10"]).difference("b", "nDCG@10")
    assert difference is not None
    assert sum(parts) == pytest.approx(difference.found.mean, abs=1e-3)


def test_a_group_has_the_difference_and_the_interval_of_its_own_queries() -> None:
    judgments, runs = world(12)
    groups = {"even": tuple(f"q{q}" for q in range(0, 12, 2)), "one": ("q1",), "elsewhere": ("x",)}
    html = bench(judgments, runs, groups=groups).html()
    alone = compare(judgments.only(groups["even"]), runs, ["nDCG@10"]).difference("b", "nDCG@10")
    assert alone is not None
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", re.findall(r"<tr><th scope=row>even</th>.*?</tr>", html)[0])
    low, high = alone.found.interval
    assert cells[3:6] == [f"{alone.found.mean:.4f}", f"{low:.4f}", f"{high:.4f}"]
    one = re.findall(r"<td[^>]*>([^<]*)</td>", re.findall(r"<tr><th scope=row>one</th>.*?</tr>", html)[0])
    assert one[4:] == ["-", "-", "-"]  # one query has no interval
    assert "elsewhere" not in html
    assert [name for name, _ in data(html)["groups"][0][1]] == ["even", "one"]


def test_a_page_says_what_it_leaves_out(monkeypatch: pytest.MonkeyPatch) -> None:
    judgments, runs = world()
    monkeypatch.setattr(workbench, "MOST_QUERIES", 4)
    monkeypatch.setattr(workbench, "MOST_TEXT", 3000)
    html = replace(bench(judgments, runs), documents=DOCUMENTS).html()
    assert len(rows(html)) == len(data(html)["queries"]) == 4
    assert "Left out: 2 queries with smaller differences" in html
    texts = [row[3] for query in data(html)["queries"] for row in query["docs"]]
    assert f"Left out: the texts of {texts.count('')} documents" in html
    assert 0 < texts.count("") < len(texts)
    assert "Left out" not in bench(*world(3)).html()


def test_lists_are_without_unjudged_documents_where_the_measures_are() -> None:
    judgments, runs = world()
    html = bench(judgments, runs, unjudged="remove").html()
    assert "Unjudged documents are left out of the lists" in html
    assert all(row[1] is not None for query in data(html)["queries"] for row in query["docs"])


def test_hostile_strings_stay_text_and_only_our_script_may_run() -> None:
    qid, docno = HOSTILE.replace(" ", "_"), f"{HOSTILE}d"
    judgments = Judgments([(qid, docno, 1)])
    runs = {name: Run.from_dict({qid: {docno: 1.0}}) for name in (HOSTILE, f"b{HOSTILE}")}
    documents = {docno: Document(docno, {"title": HOSTILE, "text": HOSTILE})}
    made = bench(judgments, runs, texts={qid: HOSTILE}, groups={HOSTILE: (qid,)})
    made = replace(made, documents=documents)
    page = comparison_page(made.comparison, workbench=made).html()
    assert page.count("<script") == 2
    assert "<!--" not in page
    assert data(page)["queries"][0]["docs"][0][:2] == [docno, 1]
    assert data(page)["queries"][0]["docs"][0][3] == HOSTILE
    script = page.rsplit("<script>", 1)[1].split("</script>")[0]
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src &#x27;sha256-{digest}&#x27;" in page


def test_a_page_without_a_workbench_has_no_script() -> None:
    judgments, runs = world()
    page = comparison_page(compare(judgments, runs, ["AUC"]), workbench=None).html()
    assert "script" not in page
    assert query_workbench(compare(judgments, runs, ["AUC"]), judgments, runs) is None


def test_the_same_comparison_gives_the_same_part() -> None:
    assert bench(*world()).html() == bench(*world()).html()

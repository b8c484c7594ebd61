from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.core import Document, ParameterError, Query
from rankwell.report import CollectionStatistics, collection_statistics
from rankwell.report.document_statistics import BATCH, Lengths, crossed, year_of

DOCUMENTS = [
    Document("d1", {"title": "Masks", "abstract": "Masks help a lot"}, {"year": 2020}),
    Document("d2", {"title": "A long title indeed", "abstract": "Reply"}, {"publish_time": "2019-05-01"}),
    Document("d3", {"title": "MASKS ", "abstract": " masks  help a\nlot"}, {"date": date(2020, 1, 2)}),
    Document("d4", {"title": "Only a title"}),
    Document("d5", {"title": "  "}),
]
QUERIES = {"q1": Query("q1", {"query": "do masks help"}), "q2": Query("q2", {"query": "ventilation"})}
JUDGMENTS = {"q1": {"d1": 2, "d2": 0, "d4": 1, "gone": 1}, "q9": {"d1": 0}}


def letters(texts: Sequence[str]) -> list[int]:
    """A tokenizer whose tokens are letters."""
    return [len("".join(text.split())) for text in texts]


def small(**options) -> CollectionStatistics:
    return collection_statistics(iter(DOCUMENTS), QUERIES, JUDGMENTS, **options)


def rows(found: CollectionStatistics, title: str) -> list[list[object]]:
    return [list(row) for table in found.tables() if table.title == title for row in table.rows]


def test_fields_are_counted_among_all_and_among_judged_documents() -> None:
    assert rows(small(), "Fields") == [["title", 4, 80.0, 3, 100.0], ["abstract", 3, 60.0, 2, pytest.approx(200 / 3)]]


def test_documents_that_only_differ_in_case_and_spaces_are_duplicates() -> None:
    found = small().duplicates
    assert (found.copies, found.groups, found.examples) == (1, 1, (("d1", "d3"),))


def test_blank_documents_are_empty_and_not_duplicates_of_one_another() -> None:
    found = collection_statistics([Document("a", {}), Document("b", {"title": " \n"})], None, None)
    assert (found.empty, found.empty_examples, found.duplicates.copies) == (2, ("a", "b"), 0)


def test_abstracts_shorter_than_their_title_are_counted() -> None:
    abstract = small().fields[1]
    assert (abstract.name, abstract.shorter_than_title, abstract.beside_title) == ("abstract", 1, 3)


def test_years_come_from_any_of_the_usual_metadata() -> None:
    years = small().years
    assert years is not None
    assert (years.documents, years.without) == ({2019: 1, 2020: 2}, 2)


@pytest.mark.parametrize(
    ("metadata", "year"),
    [
        ({"year": "1998"}, 1998),
        ({"year": 2020.0}, 2020),
        ({"publish_date": "12 May 2003"}, 2003),
        ({"publish_time": "20200315"}, 2020),
        ({"year": "", "date": "1999-01-01"}, 1999),
        ({"year": 123456}, None),
        ({"year": None}, None),
        ({"pages": "2000"}, None),
    ],
)
def test_a_year_is_four_digits_of_a_date(metadata: dict[str, object], year: int | None) -> None:
    assert year_of(metadata) == year


def test_judgments_are_balanced_by_grade_and_topic() -> None:
    judged = small().judgments
    assert judged is not None
    assert judged.grades == {0: 2, 1: 2, 2: 1}
    assert judged.per_topic == {"q1": {0: 1, 1: 2, 2: 1}, "q9": {0: 1}}
    assert (judged.documents, judged.found, judged.missing, judged.missing_examples) == (4, 3, 1, ("gone",))


def test_queries_and_judgments_that_miss_each_other_are_named() -> None:
    queries = small().queries
    assert queries is not None
    assert (queries.without_judgments, queries.without_judgments_examples) == (1, ("q2",))
    assert (queries.without_query, queries.without_query_examples) == (1, ("q9",))
    assert queries.words["query"] == Lengths((1, 3), (1, 1))


def test_pairs_are_the_judged_ones_with_three_special_tokens() -> None:
    abstract, both = small(count_tokens=letters).pairs
    # q1 has 11 letters; d1 has 5 + 13, d2 16 + 5, d4 10 and no abstract; q9 is no query and "gone" no document.
    assert (abstract.name, abstract.tokens) == ("query + abstract", Lengths((19, 27), (1, 1)))
    assert (both.name, both.tokens) == ("query + title + abstract", Lengths((24, 32, 35), (1, 1, 1)))


def test_without_judgments_every_query_meets_every_document() -> None:
    found = collection_statistics(DOCUMENTS, QUERIES, None, count_tokens=letters)
    documents = [document for document in DOCUMENTS if document.text().strip()]
    expected = [
        sum(letters([query.text(), *document.fields.values()])) + 3
        for query in QUERIES.values()
        for document in documents
    ]
    assert found.pairs[1].tokens == Lengths.of(Counter(expected))
    assert not found.pairs[1].judged


def test_the_main_field_is_the_longest_where_there_is_no_abstract() -> None:
    documents = [Document("d", {"title": "a b c d e f", "url": "x", "body": "one two three"})]
    found = collection_statistics(documents, QUERIES, {"q1": {"d": 1}}, count_tokens=letters)
    assert found.main_field == "body"
    assert [pair.name for pair in found.pairs] == ["query + body", "query + title + body"]


def test_collections_without_titles_have_no_pairs_with_titles() -> None:
    found = collection_statistics([Document("d", {"text": "x"})], QUERIES, {"q1": {"d": 1}}, count_tokens=letters)
    assert [pair.name for pair in found.pairs] == ["query + text"]


def test_without_a_tokenizer_the_table_says_how_to_get_token_counts() -> None:
    said = "token counts need a tokenizer: rankwell models add minilm-l6, or --tokenizer FOLDER"
    assert rows(small(), "Tokens") == [[said]]
    assert "Token counts need a tokenizer" in small().page().html()


def test_token_table_counts_what_is_over_the_limit() -> None:
    table = rows(small(count_tokens=letters, token_limit=12), "Tokens")
    assert table[1] == ["abstract", 3, pytest.approx(31 / 3), 13.0, 13, 2, pytest.approx(200 / 3)]


def test_a_tokenizer_that_loses_a_text_is_not_believed() -> None:
    with pytest.raises(ValueError, match="zip"):
        small(count_tokens=lambda texts: [1] * (len(texts) - 1))


def test_a_token_limit_below_one_is_refused() -> None:
    with pytest.raises(ParameterError, match="token_limit"):
        small(token_limit=0)


def test_batches_do_not_change_the_figures() -> None:
    documents = [Document(str(n), {"text": "word " * (n % 7 + 1)}) for n in range(2 * BATCH + 3)]
    found = collection_statistics(documents, None, None, count_tokens=letters)
    assert found.documents == 2 * BATCH + 3
    assert found.fields[0].words == Lengths.of(Counter(n % 7 + 1 for n in range(2 * BATCH + 3)))
    assert found.duplicates.groups == 7


def test_the_same_figures_as_json_for_programs() -> None:
    found = json.loads(small(count_tokens=letters).to_json(), parse_constant=pytest.fail)
    assert found["documents"] == 5
    assert found["fields"][0]["tokens"]["percent_over_limit"] == 0
    assert found["judgments"]["grades"] == {"0": 2, "1": 2, "2": 1}
    assert found["queries"]["words"]["query"]["mean"] == 2
    assert found["years"]["documents"] == {"2019": 1, "2020": 2}


def test_pictures_have_names_that_can_be_file_names() -> None:
    documents = [Document("d", {"../etc/x y": "some words"}, {"year": 2020})]
    assert set(collection_statistics(documents, None, None).pictures()) == {"fields", "words-..-etc-x-y", "years"}


def test_page_shows_every_table_and_picture() -> None:
    found = small(count_tokens=letters)
    html = found.page("My collection", command="rankwell stats").html()
    for table in found.tables():
        assert f"<caption>{table.title}</caption>" in html
    pictures = found.pictures().values()
    assert html.count("<svg") == len(pictures)
    assert all(picture.title in html for picture in pictures)


def test_an_empty_collection_has_statistics_too() -> None:
    found = collection_statistics([], {}, {}, count_tokens=letters)
    assert found.pictures() == {}
    assert all(table.render("md") for table in found.tables())
    assert found.page().html()
    assert json.loads(found.to_json())["documents"] == 0


def test_a_few_very_old_documents_do_not_squeeze_the_others() -> None:
    documents = [Document(str(n), {"t": "x"}, {"year": 1850 if n == 0 else 2015 + n % 5}) for n in range(200)]
    assert collection_statistics(documents, None, None).pictures()["years"].title.endswith("(1 before 2015 not shown)")


def test_matplotlib_is_not_loaded_for_figures_and_tables() -> None:
    code = (
        "import sys; from rankwell.core import Document; from rankwell.report import collection_statistics\n"
        "collection_statistics([Document('d', {'t': 'x'})], None, None).tables()[0].render('md')\n"
        "sys.exit('matplotlib' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@given(st.lists(st.integers(0, 100), min_size=1), st.integers(1, 100))
def test_lengths_give_the_textbook_figures(values: list[int], limit: int) -> None:
    lengths = Lengths.of(Counter(values))
    assert lengths.count == len(values)
    assert lengths.mean == pytest.approx(statistics.fmean(values))
    assert lengths.median == statistics.median(values)
    assert lengths.largest == max(values)
    assert lengths.over(limit) == sum(value > limit for value in values)


@given(st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)), st.integers(0, 3))
def test_crossed_lengths_are_those_of_all_pairs(first: list[int], second: list[int], extra: int) -> None:
    expected = Lengths.of(Counter(one + other + extra for one in first for other in second))
    assert crossed(Lengths.of(Counter(first)), Lengths.of(Counter(second)), extra) == expected


def test_cranfield_is_what_its_readme_says(data: Path) -> None:
    folder = data / "cranfield"
    lines = (folder / "corpus.jsonl").read_text().splitlines()
    documents = [Document(row["_id"], {"title": row["title"], "text": row["text"]}) for row in map(json.loads, lines)]
    judgments: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels" / "test.tsv").read_text().splitlines()[1:]:
        qid, docno, grade = line.split("\t")
        judgments.setdefault(qid, {})[docno] = int(grade)
    found = collection_statistics(documents, None, judgments)
    assert (found.documents, found.empty, found.main_field) == (1400, 2, "text")
    assert found.judgments is not None
    assert (len(found.judgments.per_topic), found.judgments.judgments) == (225, 1837)
    assert found.judgments.grades.keys() == {1, 2, 3, 4}


names = st.sampled_from(["title", "abstract", "body"])
documents = st.lists(st.dictionaries(names, st.text("aA \n", max_size=8)), max_size=12).map(
    lambda all_fields: [Document(f"d{n}", fields) for n, fields in enumerate(all_fields)]
)
judgments = st.dictionaries(
    st.sampled_from(["q1", "q2", "q9"]),
    st.dictionaries(st.integers(0, 14).map("d{}".format), st.integers(-1, 3), max_size=6),
)


@given(documents, judgments)
def test_figures_equal_those_of_a_naive_computation(
    documents: list[Document], judgments: dict[str, dict[str, int]]
) -> None:
    found = collection_statistics(documents, QUERIES, judgments, count_tokens=letters)
    texts = {
        document.id: {name: text for name, text in document.fields.items() if text.split()} for document in documents
    }
    judged = {docno for grades in judgments.values() for docno in grades}
    assert found.documents == len(documents)
    assert found.empty == sum(not fields for fields in texts.values())
    for field in found.fields:
        having = {docno: fields[field.name] for docno, fields in texts.items() if field.name in fields}
        assert field.words == Lengths.of(Counter(len(text.split()) for text in having.values()))
        assert field.tokens == Lengths.of(Counter(letters(list(having.values()))))
        assert field.judged_documents == len(having.keys() & judged)
    folded = [tuple(" ".join(fields.values()).lower().split()) for fields in texts.values() if fields]
    assert found.duplicates.copies == len(folded) - len(set(folded))
    assert found.judgments is not None
    assert found.judgments.grades == Counter(grade for grades in judgments.values() for grade in grades.values())
    assert (found.judgments.found, found.judgments.documents) == (len(judged & texts.keys()), len(judged))

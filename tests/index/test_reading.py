from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from rankwell import Analyzer, Document, RankwellError
from rankwell.index import Index, IndexWriter, NumberColumn, TextColumn

PLAIN = Analyzer("english", stopwords="none", stemmer=False)


def test_stored_documents_come_back_as_they_were(tmp_path) -> None:
    documents = {
        f"d{number}": Document(
            f"d{number}", {"title": f"t{number}", "körper": "日本 " * number}, {"n": number, "l": [1]}
        )
        for number in range(300)
    }
    with IndexWriter(tmp_path / "i") as writer:
        writer.add_all(documents.values())
    stored = Index.open(tmp_path / "i").documents
    assert dict(stored) == documents
    assert len(stored) == 300
    assert "d7" in stored
    assert "x" not in stored
    assert 7 not in stored
    with pytest.raises(KeyError):
        stored["x"]


def test_only_the_named_fields_are_indexed_and_all_are_stored(build) -> None:
    index = build({"d": {"title": "apple", "notes": "pear"}}, fields=["title"])
    assert index.fields == ("title",)
    assert index.search("pear").docnos.tolist() == []
    assert index.documents["d"].fields["notes"] == "pear"


def test_statistics_of_a_field_are_over_the_documents_that_have_it(build) -> None:
    index = build({"d1": {"title": "a b", "text": "a a a a"}, "d2": {"text": "b b"}, "d3": {"text": ""}})
    assert index.average_lengths == {"": pytest.approx(8 / 3), "title": 2.0, "text": 3.0}
    assert index.statistics("a", "title").documents == 1
    assert index.statistics("b", "").documents == 2
    assert index.lengths("title").tolist() == [0, 0, 2]


def test_metadata_columns_hold_numbers_or_text(tmp_path) -> None:
    rows = [{"year": 2020, "source": "PMC"}, {"year": 2021.5}, {"source": "WHO"}, {"year": None, "source": ""}]
    with IndexWriter(tmp_path / "i", metadata=["year", "source", "nowhere"]) as writer:
        for number, metadata in enumerate(rows):
            writer.add(Document(f"d{9 - number}", {"text": "x"}, metadata))
    index = Index.open(tmp_path / "i")
    year, source = index.columns["year"], index.columns["source"]
    assert isinstance(year, NumberColumn)
    assert isinstance(source, TextColumn)
    assert year.numbers[:2].tolist() == [2020.0, 2021.5]
    assert np.isnan(year.numbers[2:]).all()
    assert source.values.tolist() == ["PMC", "WHO"]
    assert source.codes.tolist() == [0, -1, 1, -1]
    assert source.counts(index.live) == Counter({"PMC": 1, "WHO": 1})
    assert year.counts(index.live) == Counter({2020.0: 1, 2021.5: 1})
    assert index.search("x", within=year.numbers >= 2021).docnos.tolist() == ["d8"]


def test_columns_of_segments_are_joined_and_become_text_where_one_is(tmp_path) -> None:
    with IndexWriter(tmp_path / "i", metadata=["year"]) as writer:
        writer.add(Document("a", {}, {"year": 2020}))
        writer.commit()
        writer.add(Document("b", {}, {"year": "MMXX"}))
        writer.add(Document("c", {}))
    for index in (Index.open(tmp_path / "i"), Index.open(tmp_path / "i").merge()):
        column = index.columns["year"]
        assert isinstance(column, TextColumn)
        values = {docno: column.codes[index.number(docno)] for docno in "abc"}
        assert [column.values[values["a"]], column.values[values["b"]], values["c"]] == ["2020", "MMXX", -1]


def test_phrases_are_found_where_positions_are_kept(build) -> None:
    texts = {
        "d1": {"title": "new york", "text": "times square"},
        "d2": {"text": "york is not new york"},
        "d3": {"text": "the new the york times of new"},
        "d4": {"text": "york new"},
    }
    index = build(texts, Analyzer(), positions=True)

    def found(text: str, field: str = "") -> set[str]:
        return set(index.docnos(np.flatnonzero(index.holding_phrase(text, field))).tolist())

    assert found("new york") == {"d1", "d2"}
    assert found("new york", "text") == {"d2"}
    assert found("new the york") == {"d3"}
    assert found("york times") == {"d3"}
    assert found("york square") == set()
    assert found("the") == set()


def test_phrases_need_positions(build) -> None:
    index = build({"d": "new york"})
    with pytest.raises(RankwellError, match="keeps no positions"):
        index.holding_phrase("new york")


def test_an_index_with_positions_ranks_as_one_without(build, tmp_path) -> None:
    documents = {f"d{n}": " ".join(f"w{n * k % 17}" for k in range(1, 12)) for n in range(300)}
    without = build(documents)
    with IndexWriter(tmp_path / "with", PLAIN, positions=True) as writer:
        writer.add_all(Document(docno, {"text": text}) for docno, text in documents.items())
    for query in ("w1 w2", "w0", "w16 w3 w3"):
        assert list(Index.open(tmp_path / "with").search(query, 50)[0]) == list(without.search(query, 50)[0])


def test_a_documents_terms_are_at_hand(build) -> None:
    index = build({"d": {"title": "running dogs", "text": "the dog runs"}}, Analyzer())
    assert index.terms_of("d") == Counter({"run": 2, "dog": 2})
    assert index.terms_of("d", "title") == Counter({"run": 1, "dog": 1})


def test_a_snippet_shows_the_terms_in_their_text(build) -> None:
    text = "Nothing here. " * 30 + "A <b>fever</b> of children, with Fevers and coughs. " + "More text. " * 30
    index = build({"d": {"title": "On something", "text": text}}, Analyzer())
    snippet = index.snippet("d", "cough fever", 120)
    assert len(snippet.text) <= 120
    assert [snippet.text[start:end] for start, end in snippet.highlights] == ["fever", "Fevers", "coughs"]
    assert "<b>[fever]</b>" in snippet.marked()
    assert index.snippet("d", "nowhere").highlights == []
    assert index.snippet("d", "nowhere").text


def test_cjk_text_is_found_by_its_pairs(build) -> None:
    index = build({"d1": "東京都に住む", "d2": "京都に住む"}, Analyzer("cjk"))
    assert index.search("東京").docnos.tolist() == ["d1"]
    assert index.snippet("d1", "東京都").marked() == "[東京都]に住む"


def test_masks_of_terms_leave_deleted_documents_out(build, tmp_path) -> None:
    build({"a": "x", "b": "x y", "c": "y"})
    with IndexWriter(tmp_path / "index") as writer:
        writer.delete("a")
    index = Index.open(tmp_path / "index")
    assert index.docnos(np.flatnonzero(index.holding("x"))).tolist() == ["b"]
    assert index.live.sum() == 2
    assert index.number("a") is None


def test_importing_the_index_and_one_search_load_no_numba(build, tmp_path) -> None:
    build({"d": "word"})
    program = (
        "import sys; from rankwell.index import Index\n"
        f"print(Index.open({str(tmp_path / 'index')!r}).search('word').docnos.tolist(), 'numba' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['d'] False"


@pytest.mark.skipif(os.name != "posix", reason="a file in the place of a folder")
def test_kernels_are_compiled_where_the_home_cannot_be_written(tmp_path) -> None:
    (tmp_path / "home").write_text("a file")
    program = "from rankwell.index.compiled import kernels; print(kernels.cache_folder().is_dir())"
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "RANKWELL_HOME": str(tmp_path / "home")},
    )
    assert done.stdout.strip() == "True"
    assert "cannot be written to" in done.stderr

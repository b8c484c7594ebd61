"""PubMed's XML: what an article becomes, in constant memory, and what a hostile file cannot do."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading, open_collection, read_documents, write_documents
from rankwell.collections.safe_xml import elements
from rankwell.core import Document, RankwellError

ARTICLE = """<PubmedArticle><MedlineCitation Status="MEDLINE"><PMID Version="1">123</PMID><Article>
<Journal><JournalIssue><PubDate><Year>1998</Year><Month>Dec</Month><Day>4</Day></PubDate></JournalIssue>
<Title>The Lancet</Title></Journal>
<ArticleTitle>H<sub>2</sub>O &amp; <i>E. coli</i>
 in children.</ArticleTitle>
<ELocationID EIdType="pii">x</ELocationID><ELocationID EIdType="doi">10.1000/xyz</ELocationID>
<Abstract><AbstractText Label="METHODS">We  looked.</AbstractText><AbstractText Label="UNLABELLED">Twice.</AbstractText>
<AbstractText/></Abstract>
<AuthorList><Author><LastName>de Hoon</LastName><ForeName>Michiel</ForeName><Initials>M</Initials></Author>
<Author><CollectiveName>A Group</CollectiveName></Author></AuthorList>
</Article><CommentsCorrectionsList><CommentsCorrections><PMID>999</PMID></CommentsCorrections></CommentsCorrectionsList>
</MedlineCitation></PubmedArticle>"""
HEAD = (
    '<?xml version="1.0"?>\n<!DOCTYPE PubmedArticleSet PUBLIC "-//NLM//DTD" "https://dtd.example/pubmed.dtd">\n'
    "<PubmedArticleSet>\n"
)
SET = f"{HEAD}{ARTICLE}</PubmedArticleSet>\n"


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_an_article_becomes_a_document(tmp_path: Path) -> None:
    assert list(read_documents(written(tmp_path / "a.xml", SET))) == [
        Document(
            "123",
            {"title": "H2O & E. coli in children.", "abstract": "METHODS: We looked. Twice."},
            {
                "year": 1998,
                "date": "1998-12-04",
                "authors": "de Hoon M; A Group",
                "journal": "The Lancet",
                "doi": "10.1000/xyz",
            },
        )
    ]


@pytest.mark.parametrize(
    ("published", "date"),
    [
        ("<Year>2001</Year><Month>06</Month>", "2001-06"),
        ("<Year>1990</Year><Season>Spring</Season>", "1990"),
        ("<MedlineDate>1998 Dec-1999 Jan</MedlineDate>", "1998-12"),
        ("<MedlineDate>Summer 1975</MedlineDate>", "1975"),
        ("", None),
    ],
)
def test_dates_are_as_exact_as_they_are_known(tmp_path: Path, published: str, date: str | None) -> None:
    dated = SET.replace("<Year>1998</Year><Month>Dec</Month><Day>4</Day>", published)
    document = next(read_documents(written(tmp_path / "a.xml", dated)))
    assert document.metadata.get("date") == date
    assert document.metadata.get("year") == (int(date[:4]) if date else None)


def test_a_chapter_of_a_book_and_a_bare_citation_are_articles_too(tmp_path: Path) -> None:
    book = (
        "<PubmedBookArticle><BookDocument><PMID>5</PMID><Book><BookTitle>A book</BookTitle><PubDate><Year>2010</Year>"
        "</PubDate></Book><ArticleTitle>A chapter</ArticleTitle></BookDocument></PubmedBookArticle>"
    )
    bare = "<MedlineCitation><PMID>6</PMID><Article><ArticleTitle>Bare</ArticleTitle></Article></MedlineCitation>"
    path = written(tmp_path / "a.xml", f"{HEAD}{book}{bare}</PubmedArticleSet>")
    assert [(document.id, document.text()) for document in read_documents(path)] == [("5", "A chapter"), ("6", "Bare")]


def test_a_folder_of_packed_files_is_a_collection(tmp_path: Path) -> None:
    for number in (2, 1):
        text = SET.replace("123", str(number)).encode()
        (tmp_path / f"pubmed24n000{number}.xml.gz").write_bytes(gzip.compress(text))
    (tmp_path / "README.txt").write_text("not an article", encoding="utf-8")
    collection = open_collection(tmp_path)
    assert collection.format == "pubmed-xml"
    assert [document.id for document in collection.documents()] == ["1", "2"]


@pytest.mark.slow
def test_a_large_file_is_read_in_constant_memory(tmp_path: Path) -> None:
    path = tmp_path / "large.xml"
    with path.open("w", encoding="utf-8") as file:
        file.write(HEAD)
        for number in range(3000):
            file.write(ARTICLE.replace("123", str(number + 1)).replace("We  looked.", "We looked. " * 100))
        file.write("</PubmedArticleSet>")
    tracemalloc.start()
    count = sum(1 for _ in read_documents(path))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert count == 3000
    assert peak < path.stat().st_size / 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (SET[:-40], r"a.xml:\d+: expected well-formed XML, found"),
        (SET.replace('<PMID Version="1">123</PMID>', ""), r"a.xml:4: expected a PMID for every article"),
        (SET.replace("</ArticleTitle>", "</Title>"), "expected well-formed XML, found mismatched tag"),
        (f'<?xml version="1.0" encoding="UTF-0.5"?>{SET}', "a.xml:1: expected XML in an encoding such as UTF-8, found"),
    ],
)
def test_a_broken_file_is_named_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path / "a.xml", text)
    with pytest.raises(RankwellError, match=message):
        list(read_documents(path, "pubmed-xml"))
    reading = Reading(problems=Problems(skip=True))
    assert len(list(read_documents(path, "pubmed-xml", reading=reading))) <= 1
    assert reading.problems.count == 1


def test_a_packed_file_that_is_cut_short_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "a.xml.gz").write_bytes(gzip.compress(SET.encode())[:-20])
    with pytest.raises(RankwellError, match="gzip"):
        list(read_documents(tmp_path / "a.xml.gz", "pubmed-xml"))


LAUGHS = "".join(f'<!ENTITY l{number} "{f"&l{number - 1};" * 10}">' for number in range(1, 12))


@pytest.mark.parametrize(
    "declared",
    [
        pytest.param(f'<!ENTITY l0 "lol">{LAUGHS}', id="a billion laughs"),
        pytest.param('<!ENTITY l11 SYSTEM "file:///etc/passwd">', id="a file of this machine"),
        pytest.param('<!ENTITY l11 SYSTEM "http://127.0.0.1:1/">', id="an address"),
        pytest.param('<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;', id="a parameter entity"),
    ],
)
def test_entities_are_refused(tmp_path: Path, declared: str) -> None:
    text = f"<!DOCTYPE a [{declared}]>\n<PubmedArticleSet>{ARTICLE.replace('The Lancet', '&l11;')}</PubmedArticleSet>"
    with pytest.raises(RankwellError, match="expected XML without entity declarations"):
        list(read_documents(written(tmp_path / "a.xml", text), "pubmed-xml"))


def test_elements_that_are_too_deep_are_refused() -> None:
    with pytest.raises(RankwellError, match="at most 200 elements within each other"):
        list(elements([b"<a>" * 100_000], ["a"], "somewhere"))


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1, max_size=8).filter(
    lambda word: "\ufffe" not in word and "\uffff" not in word
)
TEXTS = st.lists(WORDS, min_size=1, max_size=5).map(" ".join)


@given(
    st.lists(
        st.builds(
            Document,
            st.integers(1, 10**8).map(str),
            st.fixed_dictionaries({}, optional={"title": TEXTS, "abstract": TEXTS}),
            st.fixed_dictionaries(
                {"year": st.just(1998), "date": st.sampled_from(["1998", "1998-12", "1998-12-24"])},
                optional={"authors": st.just("de Hoon M; Imoto S"), "journal": TEXTS, "doi": st.just("10.1000/x")},
            ),
        ),
        max_size=3,
    )
)
def test_what_is_written_is_read_back(tmp_path_factory: pytest.TempPathFactory, documents: list[Document]) -> None:
    path = tmp_path_factory.mktemp("pubmed") / "a.xml"
    write_documents(path, documents, "pubmed-xml")
    assert list(read_documents(path, "pubmed-xml")) == documents

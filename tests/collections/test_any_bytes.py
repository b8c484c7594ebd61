"""Whatever stands in a file, a reader gives a result or one clear line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankwell.collections import Problems, Reading, read_documents, read_qrels, read_queries, read_run
from rankwell.collections.any_format import DOCUMENT_FORMATS, QRELS_FORMATS, QUERY_FORMATS, RUN_FORMATS
from rankwell.core import RankwellError

SAMPLES = [
    b'{"id": "1", "text": "a b", "metadata": {"x": 1}}\n',
    b'id,text,year\n1,"a\nb",2020\n',
    b"<DOC>\n<DOCNO>1</DOCNO>\n<TEXT>a</TEXT><!-- x -->\n</DOC>\n",
    b".I 1\n.T\na\n.W\nb\n",
    b"1\tu\tt\tb\n",
    b"<top>\n<num> Number: 1\n<title> a\n</top>\n",
    b'<topics><topic number="1"><query>a</query></topic></topics>\n',
    b"1 0 d 1\n",
    b"1 Q0 d 1 2.5 t\n",
    b"1\td\t1\n",
]
PIECES = st.sampled_from([b"\x00", b"\t", b"\n", b"\r", b'"', b",", b"<", b">", b"\xff", b"-", b"0", b"#", b"\x1f\x8b"])


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file made of samples, with some bytes put in and others taken out."""
    text = b"".join(draw(st.lists(st.sampled_from(SAMPLES), min_size=1, max_size=3)))
    for _ in range(draw(st.integers(0, 5))):
        place = draw(st.integers(0, len(text)))
        text = text[:place] + draw(PIECES | st.just(b"")) + text[place + draw(st.integers(0, 4)) :]
    return text


def readers() -> Iterator[Callable[[Path, Reading], object]]:
    for name in (None, *(known.name for known in DOCUMENT_FORMATS)):
        yield lambda path, reading, name=name: list(read_documents(path, name, reading=reading))
    for read, formats in ((read_queries, QUERY_FORMATS), (read_qrels, QRELS_FORMATS), (read_run, RUN_FORMATS)):
        for name in (None, *(known.name for known in formats)):
            yield lambda path, reading, read=read, name=name: read(path, name, reading=reading)


@pytest.mark.parametrize("skip", [False, True])
@given(text=damaged())
def test_damaged_files_never_crash_a_reader(skip: bool, text: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(text)
        for read in readers():
            reading = Reading(problems=Problems(skip=skip))
            told = ""
            try:
                read(path, reading)
            except RankwellError as error:
                told = str(error)
            assert "\n" not in told
            assert all("\n" not in str(problem) for problem in reading.problems.found)

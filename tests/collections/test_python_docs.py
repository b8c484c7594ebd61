from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict

import pytest

from rankwell.collections.python_docs import DATA, python_documents
from rankwell.core import Document

KINDS = {"module", "class", "exception", "function", "method", "property", "object"}
ACTING = ("antigravity", "idlelib", "readline", "test", "this", "tkinter", "turtle", "turtledemo")

DIGEST = """
import hashlib
from rankwell.collections.python_docs import python_documents
texts = "\\n".join(repr((d.id, dict(d.fields), dict(d.metadata))) for d in python_documents())
print(hashlib.sha256(texts.encode()).hexdigest())
"""


@pytest.fixture(scope="module")
def documents() -> list[Document]:
    return list(python_documents())


@pytest.fixture(scope="module")
def ids() -> set[str]:
    """Those of a fresh Python: where torch was loaded, it has put a function of its own in place of inspect.getfile."""
    program = "from rankwell.collections.python_docs import python_documents as d; print(*(one.id for one in d()))"
    return set(
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    )


@pytest.fixture(scope="module")
def queries() -> dict[str, str]:
    lines = (DATA / "queries.tsv").read_text(encoding="utf-8").splitlines()
    return dict(line.split("\t") for line in lines)


@pytest.fixture(scope="module")
def judgments() -> dict[str, dict[str, int]]:
    header, *lines = (DATA / "qrels.tsv").read_text(encoding="utf-8").splitlines()
    assert header == "query-id\tcorpus-id\tscore"
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for line in lines:
        query, document, grade = line.split("\t")
        assert document not in found[query], f"{query} judges {document} twice"
        found[query][document] = int(grade)
    return found


def in_a_new_process(code: str, seed: str = "random") -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONHASHSEED": seed}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)


def test_there_are_thousands_of_documents(documents):
    assert len(documents) > 5000


def test_every_id_is_unique_and_they_are_sorted(documents):
    ids = [document.id for document in documents]
    assert ids == sorted(set(ids))


def test_a_document_has_a_title_a_docstring_a_kind_and_a_module(documents):
    for document in documents:
        assert document.fields["title"] == document.id
        assert document.fields["docstring"].strip()
        assert document.metadata["kind"] in KINDS
        assert document.metadata["module"]


@pytest.mark.parametrize(
    "name",
    [
        "argparse.ArgumentParser.add_argument",
        "asyncio.gather",
        "collections.OrderedDict.move_to_end",
        "concurrent.futures.ThreadPoolExecutor",
        "contextlib.ExitStack.callback",
        "dict.setdefault",
        "functools.reduce",
        "open",
        "os.path.join",
        "random.choice",
        "socket.socket.recv",
        "str.join",
        "str.maketrans",
        "subprocess.run",
        "unittest.mock.patch",
    ],
)
def test_an_object_has_the_name_that_users_import(ids, name):
    assert name in ids


@pytest.mark.parametrize("name", ["posixpath.join", "io.open", "random.Random.choice", "_socket.socket", "str.__len__"])
def test_an_object_has_no_second_name(ids, name):
    assert name not in ids


def test_a_subclass_does_not_repeat_what_it_inherits(ids):
    assert "dict.copy" in ids
    assert "collections.Counter.keys" not in ids
    assert "pathlib.Path.stem" not in ids


def test_a_signature_leaves_out_self(documents):
    signatures = {document.id: document.fields.get("signature") for document in documents}
    assert signatures["str.join"] == "join(iterable, /)"
    assert signatures["shutil.copyfileobj"] == "copyfileobj(fsrc, fdst, length=0)"
    assert signatures["datetime.date.fromordinal"] is None


def test_no_text_holds_an_address(documents):
    assert not [document.id for document in documents if " at 0x" in document.text()]


def test_no_text_holds_a_path_of_this_python(documents):
    assert not [document.id for document in documents if sys.base_prefix + "/lib" in document.text()]


@pytest.mark.slow
def test_documents_do_not_depend_on_the_hash_seed():
    assert in_a_new_process(DIGEST, seed="1").stdout == in_a_new_process(DIGEST, seed="2").stdout


def test_reading_imports_nothing_that_acts_and_prints_nothing():
    code = (
        "from rankwell.collections.python_docs import python_documents as read; import sys; before = sys.warnoptions[:]"
    )
    code += f"; list(read()); found = set({ACTING!r}) & set(sys.modules); sys.exit(' '.join(found) or 0)"
    finished = in_a_new_process(code)
    assert finished.stdout == ""
    assert finished.stderr == ""


def test_there_are_seventy_queries_and_all_are_judged(queries, judgments):
    assert len(queries) >= 70
    assert set(queries) == set(judgments)
    assert len(set(queries.values())) == len(queries)


def test_every_judged_document_exists(judgments, ids):
    judged = {document for grades in judgments.values() for document in grades}
    assert judged <= ids, sorted(judged - ids)


def test_every_query_has_an_answer_and_ten_judgments(judgments):
    for query, grades in judgments.items():
        assert set(grades.values()) <= {0, 1, 2, 3}, query
        assert max(grades.values()) == 3, query
        assert len(grades) >= 10, query

"""The zoo: files of other people and of many programs, each read as a person would read it, without an option.

What a person sees in each file is written in `zoo/others.toml`, `zoo/made.toml`, and in sets that were written when the
reader was there: `zoo/held_out.toml`, `zoo/third.toml`, `zoo/fourth.toml`,
`zoo/fifth.toml`.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import pytest

from made_files import MAKERS
from made_tables import write_table
from needs import require
from rankwell.collections import Reading, read_documents, unique
from rankwell.collections.preview import CHANGE, preview
from rankwell.core import RankwellError, home

HERE = Path(__file__).parent / "zoo"
SET_UP = home()  # before any test is given a home of its own
MADE: dict[str, dict[str, Any]] = tomllib.loads((HERE / "made.toml").read_text(encoding="utf-8"))
HELD_OUT: dict[str, dict[str, Any]] = tomllib.loads((HERE / "held_out.toml").read_text(encoding="utf-8"))
THIRD: dict[str, dict[str, Any]] = tomllib.loads((HERE / "third.toml").read_text(encoding="utf-8"))
FOURTH: dict[str, dict[str, Any]] = tomllib.loads((HERE / "fourth.toml").read_text(encoding="utf-8"))
FIFTH: dict[str, dict[str, Any]] = tomllib.loads((HERE / "fifth.toml").read_text(encoding="utf-8"))
LATER = HELD_OUT | THIRD | FOURTH | FIFTH  # written when the reader was there
MISSED = [name for name, expected in LATER.items() if "known_miss" in expected]
OTHERS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "others.toml").read_text(encoding="utf-8"))
OTHERS.pop("projects")


def difference(path: Path, expected: dict[str, Any]) -> str:
    """What the reader sees otherwise than a person; empty where they agree."""
    reading = Reading()
    try:
        documents = list(unique(read_documents(path, reading=reading), reading, path))
    except RankwellError as error:
        wanted = expected.get("error")
        return "" if wanted and wanted in str(error) and "\n" not in str(error) else f"an error: {error}"
    if "error" in expected:
        return f"{len(documents)} documents instead of an error"
    wrong = [f"{len(documents)} documents"] * (len(documents) != expected["documents"])
    texts = "\n".join(text for document in documents for text in document.fields.values())
    wrong += [f"no {part!r} in the text" for part in expected.get("says", ()) if part not in texts]
    if "heading" in expected and not (documents and documents[0].fields.get("title") in expected["heading"]):
        wrong.append(f"the title {documents[0].fields.get('title') if documents else None!r}")
    return "; ".join([*wrong, *_of_columns(reading, expected)])


def _of_columns(reading: Reading, expected: dict[str, Any]) -> list[str]:
    """What differs in the use of columns."""
    if not {"id", "title", "search", "filter"} & expected.keys():
        return []
    columns = [column for table in reading.tables.read for column in table.columns]
    table = reading.tables.read[-1]
    wrong = []
    if "id" in expected and (table.id or "made") != expected["id"]:
        wrong.append(f"the id {table.id or 'made'}")
    titles = {column.name for column in columns if column.field == "title"}
    if "title" in expected and not (titles & set(expected["title"]) or titles == set(expected["title"])):
        wrong.append(f"the title column {titles or 'none'}")
    searched = {column.name for column in columns if column.field and column.kind != "empty"}
    named = set(expected.get("search", ["..."])) - {"..."}
    others = searched - named - set(expected.get("title", ())) - titles - {table.id}
    if named - searched - {table.id} or (others and "..." not in expected.get("search", ["..."])):
        wrong.append(f"not searched: {sorted(named - searched)}, searched as well: {sorted(others)}")
    told = {column.name: column.kind for column in columns if column.metadata and column.kind in KINDS}
    if "filter" in expected and told != expected["filter"]:
        wrong.append(f"filters {told}")
    return wrong


KINDS = ("number", "date", "url")


def zoo_folder() -> Path:
    """Where the fetched files are."""
    return Path(os.environ.get("RANKWELL_ZOO") or SET_UP / "zoo")


def make(name: str, folder: Path) -> Path:
    """Make a file of ours in the folder."""
    path, expected = folder / name, (MADE | LATER)[name]
    if name in MAKERS:
        MAKERS[name](path)
    elif "columns" in expected:
        write_table(path, expected)
    else:
        path.write_bytes(expected["content"].lstrip("\n").encode(expected.get("encoding", "utf-8")))
    return path


@pytest.mark.parametrize("name", MADE)
def test_a_made_file_is_read_as_a_person_reads_it(name: str, tmp_path: Path) -> None:
    assert difference(make(name, tmp_path), MADE[name]) == ""


@pytest.mark.parametrize("name", [name for name in LATER if name not in MISSED])
def test_a_held_out_file_is_read_as_a_person_reads_it(name: str, tmp_path: Path) -> None:
    assert difference(make(name, tmp_path), LATER[name]) == ""


@pytest.mark.parametrize("name", MISSED)
def test_a_file_that_is_read_otherwise_is_shown_with_what_changes_it(name: str, tmp_path: Path) -> None:
    path = make(name, tmp_path)
    assert difference(path, LATER[name]) != "", "read as expected: remove known_miss"
    assert CHANGE in preview(path).lines()


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_others_is_read_as_a_person_reads_it(name: str) -> None:
    folder = zoo_folder()
    require("zoo", there=folder.is_dir(), how="make setup-all, or python tests/collections/zoo/fetch.py")
    assert difference(folder / name, OTHERS[name]) == ""


def test_the_zoo_is_large() -> None:
    assert len(MADE) >= 40
    assert len(HELD_OUT) >= 36
    assert len(THIRD) >= 40
    assert len(FOURTH) >= 30
    assert len(FIFTH) >= 20
    assert sum(map(len, (MADE, HELD_OUT, THIRD, FOURTH, FIFTH))) == len(MADE | LATER)
    assert len(OTHERS) >= 20
    assert len(MADE) + len(OTHERS) >= 60

"""What the owner of a search says in files: synonyms, and results that are pinned or hidden for a query."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from serving_api import make_index, served, settings_for

from rankwell.apps.search.curation import read_pins
from rankwell.core import FormatError, RankwellError

PINS = """
[[query]]
words = ["droplets", "drops"]
pin = ["p5", "nowhere", "p3"]
hide = ["p6"]
"""


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "synonyms.txt").write_text("doctors => physicians\n")
    (tmp_path / "pins.toml").write_text(PINS)
    return {"synonyms": tmp_path / "synonyms.txt", "pins": tmp_path / "pins.toml"}


def rows(client: Any, options: str) -> list[str]:
    found = client.get(f"/api/search?{options}")
    assert found.status_code == 200, found.text
    return [row["id"] for row in found.json()["results"]]


def test_results_are_pinned_and_hidden_for_their_query(tmp_path: Path, files: dict[str, Path]) -> None:
    with served(settings_for(make_index(tmp_path / "papers"), **files)) as client:
        assert rows(client, "q=Droplets ") == ["p5", "p3", "p1"]
        assert rows(client, "q=droplets&k=1&offset=1") == ["p3"]
        assert set(rows(client, "q=droplets+masks")) == {"p1", "p6", "p3"}  # another query
        assert rows(client, "q=droplets&filter=year%3E2020") == ["p3"]  # p5 has no year
        assert rows(client, "q=droplets&sort=year:desc") == ["p3", "p1"]  # hidden, and not pinned
        found = client.get("/api/search?q=droplets&total=1&facets=source").json()
        assert found["total"] == 3
        assert found["facets"]["source"]["values"] == [{"value": "PMC", "count": 2}]
        assert [row["pinned"] for row in found["results"]] == [True, True, False]
        page = client.get("/?q=droplets").text
        assert "3 documents" in page
        assert page.count('<span class="name">pinned</span>') == 2


def test_synonyms_find_documents_and_are_counted(tmp_path: Path, files: dict[str, Path]) -> None:
    with served(settings_for(make_index(tmp_path / "papers"), **files)) as client:
        for match in ("or", "and"):
            found = client.get(f"/api/search?q=doctors&match={match}&total=1").json()
            assert ([row["id"] for row in found["results"]], found["total"]) == (["p4"], 1)
            assert {"text": "Physicians", "marked": True} in found["results"][0]["snippet"]["title"]
        assert rows(client, "q=doctors&sort=year:asc") == ["p4"]
        assert "1 document" in client.get("/?q=doctors").text


def test_changed_files_are_read_again_and_bad_ones_are_not(tmp_path: Path, files: dict[str, Path]) -> None:
    with served(settings_for(make_index(tmp_path / "papers"), **files)) as client:
        files["pins"].write_text('[[query]]\nwords = "droplets"\nhide = ["p1", "p3"]\n')
        assert rows(client, "q=droplets") == ["p6"]
        files["pins"].write_text("[[query]")
        assert rows(client, "q=droplets") == ["p6"]
        files["synonyms"].write_text("doctors => soap, physicians\n")
        assert set(rows(client, "q=doctors")) == {"p2", "p4"}


@pytest.mark.parametrize("text", ["query = 1", "[[query]]\npin = 3", "[[query]]\nwrds = 'x'", "[other]", "[[query]\n"])
def test_a_file_that_cannot_be_meant_is_refused_at_the_start(tmp_path: Path, text: str) -> None:
    (tmp_path / "pins.toml").write_text(text)
    with pytest.raises(FormatError, match=r"pins\.toml: expected \[\[query\]\]"):
        read_pins(tmp_path / "pins.toml")
    with pytest.raises(RankwellError, match="cannot be read"):
        read_pins(tmp_path / "none.toml")

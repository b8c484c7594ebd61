"""A server in this process, over a small index, for the tests of the API."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from rankwell.apps.search.access import Keys
from rankwell.apps.search.application import create_application
from rankwell.apps.search.service import create_service
from rankwell.apps.search.settings import ServeSettings
from rankwell.core import Document
from rankwell.index import IndexWriter

PAPERS = """id,title,abstract,year,source
p1,Masks and droplets,"Masks stop large droplets, and some small ones.",2020,PMC
p2,Hand washing,Soap destroys the envelope of the virus.,2021,WHO
p3,Opening windows,Fresh air carries droplets away.,2022,PMC
p4,Physicians,Physicians were ill more often than others in the first winter.,2020,WHO
p5,Trains,The train to the coast leaves at nine.,,
p6,Droplets,Droplets droplets droplets.,2023,PMC
"""


def make_index(folder: Path) -> Path:
    with IndexWriter(folder, metadata=["year", "source"], positions=True) as writer:
        for row in csv.DictReader(io.StringIO(PAPERS)):
            metadata: dict[str, Any] = {"year": int(row["year"]), "source": row["source"]} if row["year"] else {}
            writer.add(Document(row["id"], {"title": row["title"], "abstract": row["abstract"]}, metadata))
    return folder


def settings_for(index: Path, **others: Any) -> ServeSettings:
    return ServeSettings(index, **{"keys": index.with_name("keys.json"), **others})


@contextmanager
def served(settings: ServeSettings) -> Iterator[TestClient]:
    """A client of a server that is started and ended as a real one is."""
    site = create_application(create_service(settings))
    with TestClient(site, base_url="http://127.0.0.1", raise_server_exceptions=False) as client:
        client.site = site  # type: ignore[attr-defined]  # for tests that look behind
        yield client


def key(settings: ServeSettings, role: str) -> dict[str, str]:
    """The header of a new key."""
    assert settings.keys is not None
    return {"Authorization": f"Bearer {Keys(settings.keys).add(f'{role}-{len(Keys(settings.keys).all())}', role)}"}

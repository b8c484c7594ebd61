"""A small study and its application."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi import FastAPI
from visitor import Visitor

from rankwell.apps.assess.application import create_application
from rankwell.judging.store import Store
from studies import make_study


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with make_study(tmp_path / "study.db") as found:
        yield found


@pytest.fixture
def app(store: Store) -> FastAPI:
    return create_application(store, key=b"k" * 32, base_url="http://judge.example.org")


@pytest.fixture
def visitor(app: FastAPI) -> Visitor:
    return Visitor(app)

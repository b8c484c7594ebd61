"""What tests share: the folders of real collections and models, and a home of their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

from needs import require
from rankwell.core import home

settings.register_profile("rankwell", deadline=None)  # machines are shared: a slow example is no mistake
settings.load_profile("rankwell")

ROOT = Path(__file__).parents[1]
MODELS_HOME = home()  # before any test is given a home of its own


@pytest.fixture(scope="session")
def data() -> Path:
    """The folder with real collections: RANKWELL_DATA, or shared/data beside the project."""
    folder = Path(os.environ.get("RANKWELL_DATA") or ROOT.parent / "shared" / "data")
    require("data", there=folder.is_dir(), how="set RANKWELL_DATA to a folder of BEIR collections")
    return folder


@pytest.fixture(scope="session")
def models() -> Path:
    """The folder of fetched models: `make setup` puts them into RANKWELL_HOME."""
    folder = MODELS_HOME / "models"
    require("models", there=(folder / "minilm-l6").is_dir(), how="run `make setup`, or `rankwell models add minilm-l6`")
    return folder


@pytest.fixture
def use_models(models: Path, own_home: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:  # noqa: ARG001 -- a home of its own comes first
    """A home of this test's own, with the fetched models in it."""
    home = tmp_path / "home-with-models"
    (home / "models").mkdir(parents=True)
    for model in models.iterdir():  # one by one, so that what a test adds or removes is its own
        (home / "models" / model.name).symlink_to(model)
    monkeypatch.setenv("RANKWELL_HOME", str(home))


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's caches or a hub."""
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path_factory.getbasetemp() / "home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

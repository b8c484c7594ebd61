"""What tests share: the folders of real collections and models, and a home of their own."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest
from hypothesis import settings

from needs import require
from rankwell.core import home

# Machines are shared: a slow example is no mistake. Each run draws other examples; `make test-long` draws more of them.
settings.register_profile("quick", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None, max_examples=100)
settings.load_profile("quick")

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


@pytest.fixture(scope="session")
def shared_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The home of all tests of this process, with the kernels that `make setup` compiled.

    The processes of one run share the ONNX files that the code of today makes: one of a real model takes seconds.
    """
    own = tmp_path_factory.getbasetemp()
    folder, exports = own / "home", (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "exports"
    if not (folder / "kernels").exists():  # tests/emulated.py brings its own
        (folder / "kernels").mkdir(parents=True)
        if (MODELS_HOME / "kernels").is_dir():
            shutil.copytree(MODELS_HOME / "kernels", folder / "kernels", dirs_exist_ok=True)
    exports.mkdir(exist_ok=True)
    (folder / "exports").symlink_to(exports)
    return folder


@pytest.fixture
def use_models(
    models: Path,
    own_home: None,  # noqa: ARG001 -- a home of its own comes first
    shared_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    """A home of this test's own, with the fetched models, and what was made of them and compiled before, in it."""
    home = tmp_path / "home-with-models"
    (home / "models").mkdir(parents=True)
    for model in models.iterdir():  # one by one, so that what a test adds or removes is its own
        (home / "models" / model.name).symlink_to(model)
    for name in ("kernels", "exports"):
        (home / name).symlink_to(shared_home / name)
    monkeypatch.setenv("RANKWELL_HOME", str(home))


@pytest.fixture(autouse=True)
def own_home(shared_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test touches the user's caches or a hub."""
    monkeypatch.setenv("RANKWELL_HOME", str(shared_home))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

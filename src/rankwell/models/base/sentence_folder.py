"""What sentence-transformers writes beside a model: its modules, pooling and prompts, of all versions up to 6."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import orjson

from rankwell.core import FormatError, Phrase

MODULES, CONFIG, TRANSFORMER = "modules.json", "config_sentence_transformers.json", "sentence_bert_config.json"
POOLING_MODES = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
}
ENCODER_MODULES, SCORER_MODULES = ("Transformer", "Pooling", "Normalize"), ("Transformer",)
DOCUMENTS = ("document", "passage", "corpus")  # names of the prompt of documents, the first that is there
FLAG = "pooling_mode_"


@dataclass(frozen=True)
class SentenceFolder:
    """The folder of a model that sentence-transformers may have saved; all is empty where it has not.

    What would change the vectors or scores and is not understood is refused: another module (Dense), another pooling,
    several poolings at once, prompts that are left out of the pooling, similarities other than the cosine.
    """

    path: Path

    @cached_property
    def config(self) -> dict[str, Any]:
        """The content of `config_sentence_transformers.json`."""
        return self._object(CONFIG)

    @cached_property
    def modules(self) -> list[tuple[str, str]]:
        """The classes of the modules, and their folders."""
        content = self._read(MODULES)
        if not isinstance(content, list) or not all(isinstance(one, dict) for one in content):
            raise FormatError(self.path / MODULES, None, expected="a list of modules", found=content)
        return [(str(one.get("type", "")).rpartition(".")[2], str(one.get("path", ""))) for one in content]

    @property
    def pooling(self) -> str:
        """The pooling of token vectors: cls, mean or max; "" where the folder does not say."""
        file = next((place for kind, place in self.modules if kind == "Pooling"), "1_Pooling") + "/config.json"
        told = self._object(file)
        given = told.get("pooling_mode", [name for name, on in told.items() if name.startswith(FLAG) and on is True])
        modes = [POOLING_MODES.get(mode, str(mode)) for mode in ([given] if isinstance(given, str) else given)]
        if not told or (not modes and "pooling_mode" not in told):
            return ""
        if len(modes) != 1 or modes[0] not in POOLING_MODES.values():
            expected = f"one pooling, {', '.join(POOLING_MODES.values())}"
            raise FormatError(self.path / file, None, expected=expected, found=Phrase(" and ".join(modes) or "none"))
        if told.get("include_prompt") is False and (self.query_prompt or self.document_prompt):
            found = Phrase('"include_prompt": false, and prompts')
            raise FormatError(self.path / file, None, expected="prompts that are part of the pooling", found=found)
        return modes[0]

    @property
    def query_prompt(self) -> str:
        """The text before every query."""
        return self._prompt(("query",))

    @property
    def document_prompt(self) -> str:
        """The text before every document."""
        return self._prompt(DOCUMENTS)

    @property
    def lower_case(self) -> bool:
        """Whether texts are put into lower case first."""
        return self._object(TRANSFORMER).get("do_lower_case") is True

    def check_encoder(self) -> None:
        """Refuse an encoder whose vectors would not be those of sentence-transformers."""
        self._check_modules(ENCODER_MODULES)
        similarity, normalised = self.config.get("similarity_fn_name"), any(k == "Normalize" for k, _ in self.modules)
        if similarity not in (None, "cosine") and not (similarity == "dot" and normalised):
            found = Phrase(f'"similarity_fn_name": "{similarity}"')
            raise FormatError(self.path / CONFIG, None, expected="vectors that are compared by cosine", found=found)
        if self.config.get("truncate_dim"):
            raise FormatError(self.path / CONFIG, None, expected="whole vectors", found=Phrase('"truncate_dim"'))

    def check_scorer(self) -> None:
        """Refuse a cross-encoder whose scores would not be those of sentence-transformers."""
        if self.config.get("model_type", "CrossEncoder") == "CrossEncoder":
            self._check_modules(SCORER_MODULES)
        prompt = self.config.get("default_prompt_name")
        if self.config.get("model_type") == "CrossEncoder" and prompt:
            found = Phrase(f'"default_prompt_name": "{prompt}"')
            raise FormatError(self.path / CONFIG, None, expected="a cross-encoder without prompts", found=found)

    def _check_modules(self, known: tuple[str, ...]) -> None:
        for kind, place in self.modules:
            if kind not in known:
                found = Phrase(f"{kind}{f' ({place})' if place else ''}")
                raise FormatError(self.path / MODULES, None, expected=f"modules {', '.join(known)}", found=found)

    def _prompt(self, names: tuple[str, ...]) -> str:
        prompts = self.config.get("prompts") or {}
        if not isinstance(prompts, Mapping):
            raise FormatError(self.path / CONFIG, None, expected='"prompts": texts by name', found=prompts)
        name = next((name for name in names if name in prompts), self.config.get("default_prompt_name"))
        prompt = prompts.get(name) or "" if name else ""
        if not isinstance(prompt, str):
            raise FormatError(self.path / CONFIG, None, expected=f"text as the prompt {name!r}", found=prompt)
        return prompt

    def _object(self, name: str) -> dict[str, Any]:
        content = self._read(name)
        if content in ([], None):
            return {}
        if not isinstance(content, dict):
            raise FormatError(self.path / name, None, expected="a JSON object", found=type(content).__name__)
        return content

    def _read(self, name: str) -> Any:
        """The content of a JSON file; an empty list where there is no file."""
        file = self.path / name
        if not file.is_file():
            return []
        try:
            return orjson.loads(file.read_bytes())
        except orjson.JSONDecodeError as error:
            raise FormatError(file, None, expected="JSON", found=str(error)) from error

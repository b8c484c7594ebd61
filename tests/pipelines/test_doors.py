"""A parameter is declared once; every door (command, REST, page, study line, Python) is made from that."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import rankwell
from rankwell.apps.search.api.schemas import search_parameters
from rankwell.apps.search.page.views import RankingSettings
from rankwell.apps.search.requests import SearchRequest
from rankwell.cli import load_command
from rankwell.core import ParameterError
from rankwell.core.parameters import MISSING, Parameter, Text, parameters
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.duo.ranking import Duo
from rankwell.models.explanation import Interpolate
from rankwell.models.reranking.reranker import RerankSettings
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.pipelines.options import SHOWN
from rankwell.retrieve import BM25, RM3, Dense, RandomRanker
from rankwell.studies.steps import STEPS

SOURCE = Path(rankwell.__file__).parent
DOORS = ("cli", "apps", "studies", "pipelines", "reviews")
# Which doors have another default on purpose, and why.
OTHERWISE = {
    ("search", "k"): SHOWN,  # one page of results
    ("REST", "k"): SHOWN,
    ("REST", "depth"): 100,  # said in numbers, so that a client can read it in the schema
    ("page", "depth"): 100,
    ("page", "rerank"): "none",  # an address says so in a word
    ("page", "passages"): "",  # an empty form field
    ("page", "aggregate"): "mean",  # the choice that is shown
    ("page", "match"): "or",
}


def ranking_parameters() -> dict[str, Parameter]:
    return {**parameters(RankerOptions), **parameters(RerankOptions)}


def options_of(command: str) -> dict[str, Any]:
    return {option.name: option for option in load_command(command).params if option.name in ranking_parameters()}


@pytest.mark.parametrize("command", ["search", "rank"])
def test_a_command_has_the_declared_options(command: str) -> None:
    found = options_of(command)
    assert set(found) == set(ranking_parameters())
    for name, declared in ranking_parameters().items():
        assert found[name].default == OTHERWISE.get((command, name), declared.default), name
        if (command, name) not in OTHERWISE:
            assert found[name].help.startswith(declared.help.removesuffix(".")), name


def test_rest_has_the_same_parameters() -> None:
    for name, declared in ranking_parameters().items():
        of_rest = parameters(SearchRequest)[name]
        assert of_rest.default == OTHERWISE.get(("REST", name), declared.default), name
        assert of_rest.kind == declared.kind, name
    described = {part["name"]: part for part in search_parameters()}
    for name in ranking_parameters():
        assert described[name]["description"] == parameters(SearchRequest)[name].help
        assert described[name]["schema"].get("default") == (parameters(SearchRequest)[name].default)


def test_the_page_has_the_same_defaults() -> None:
    for name, setting in parameters(RankingSettings).items():
        if name in ranking_parameters():
            expected = OTHERWISE.get(("page", name), ranking_parameters()[name].default)
            assert setting.default == expected, name


@pytest.mark.parametrize(
    ("step", "stage"),
    [("bm25", BM25), ("rm3", RM3), ("dense", Dense), ("random", RandomRanker), ("interpolate", Interpolate)],
)
def test_a_study_line_has_the_stages_own(step: str, stage: type[Any]) -> None:
    declared = parameters(stage)
    shared = [setting for setting in STEPS[step].parameters.values() if setting.name in declared]
    assert shared
    for setting in shared:
        assert setting is declared[setting.name]


def test_python_has_the_same_defaults() -> None:
    for name, declared in parameters(RankerOptions).items():
        if name in parameters(BM25):
            assert inspect.signature(BM25).parameters[name].default == declared.default, name
    for stage in (CrossEncoder, Duo):
        for name in set(parameters(stage)) & set(parameters(RerankSettings)):
            assert parameters(stage)[name].kind == parameters(RerankSettings)[name].kind


def test_every_parameter_refuses_what_is_outside_its_bounds() -> None:
    for name, declared in ranking_parameters().items():
        low, high = getattr(declared.kind, "low", None), getattr(declared.kind, "high", None)
        wrong = [low - 1] if low is not None else []
        wrong += [high + 1] if high is not None and high < 1e9 else []
        wrong += ["no such choice"] if isinstance(declared.kind, Text) and declared.kind.choices else []
        for value in wrong:
            with pytest.raises(ParameterError, match=name):
                declared.read(value)


def test_no_door_writes_a_default_of_its_own() -> None:
    """A field or an argument called like a declared parameter, with a literal default, is a fact written twice."""
    names = "|".join(name for name, declared in ranking_parameters().items() if declared.default not in (None, False))
    literal = re.compile(rf"^\s+({names}): [\w |\[\], .]+ = [\"'\d(]", re.MULTILINE)
    files = [file for door in DOORS for file in (SOURCE / door).rglob("*.py")]
    found = [
        f"{file.relative_to(SOURCE)}: {match[0].strip()}"
        for file in files
        for match in literal.finditer(file.read_text())
    ]
    assert found == []


def test_declared_parameters_say_what_they_are() -> None:
    for owner in (RankerOptions, RerankOptions, RerankSettings, BM25, RM3, Dense, Interpolate):
        for declared in parameters(owner).values():
            assert re.fullmatch(r"[A-Z].*\.", declared.help), declared.help
            assert declared.default is not MISSING

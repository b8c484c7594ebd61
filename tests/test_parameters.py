"""Every door has a parameter as it is declared: commands, study lines and searches over settings."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import rankwell
from rankwell.cli import load_command
from rankwell.core import ParameterError
from rankwell.core.parameters import Flag, Number, Parameter, Text, Whole, parameters
from rankwell.models.cross_encoder.training import LOSS_NAMES
from rankwell.models.distillation.training import DistilSettings, DistilValidation
from rankwell.models.language_model.settings import MlmSettings, VocabularySettings
from rankwell.models.learning.settings import TrainingSettings, ValidationSettings
from rankwell.models.linear.training import LinearSettings, LinearValidation
from rankwell.studies.recipes import RECIPES
from rankwell.studies.recipes.recipe import OF_THE_STUDY
from rankwell.studies.recipes.recipe import SETTINGS as OF_RECIPES
from rankwell.training import PairOptions
from rankwell.training.adapt import AdaptSettings
from rankwell.training.families import TRAINABLE
from rankwell.training.finetune import FinetuneSettings
from rankwell.training.search import SearchOptions
from rankwell.training.search_space import parse_value
from tiny_models import needs_torch

TRAINED = {f"train {name}": family.settings for name, family in TRAINABLE.items()}
SETTINGS = {**TRAINED, "distil": DistilSettings, "train mlm": MlmSettings}
COMMANDS: Mapping[str, tuple[type[Any], ...]] = {
    **{command: (settings, ValidationSettings) for command, settings in TRAINED.items()},
    "train linear": (LinearSettings, LinearValidation),
    "train mlm": (MlmSettings,),
    "train vocabulary": (VocabularySettings,),
    "train pairs": (PairOptions,),
    "train search": (SearchOptions, ValidationSettings),
    "distil": (DistilSettings, DistilValidation),
    "finetune": (FinetuneSettings,),
    "adapt": (AdaptSettings,),
}
PENALTY = "penalty"  # the command takes several, as text


def options_of(command: str) -> Mapping[str, Any]:
    """The options of a command by the names of their parameters."""
    found, *inner = (load_command(command.split(maxsplit=1)[0]), *command.split()[1:])
    for name in inner:
        found = found.commands[name]
    return {option.name: option for option in found.params}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_options_of_a_command_are_as_they_are_declared(command: str) -> None:
    options = options_of(command)
    for parameter in (part for owner in COMMANDS[command] for part in parameters(owner).values()):
        check_option(command, options[parameter.name], parameter)


def check_option(command: str, option: Any, parameter: Parameter) -> None:
    assert parameter.help.removesuffix(".") in option.help
    if (command, parameter.name) == ("train linear", PENALTY):
        assert float(option.default) == parameter.default
        return
    assert option.default == parameter.default
    flags = parameter.flags or (f"--{parameter.name.replace('_', '-')}",)
    assert set(flags) <= {*option.opts, *option.secondary_opts}
    if parameter.default is True:
        assert option.secondary_opts == [f"--no-{parameter.name.replace('_', '-')}"]
    assert all(choice in option.help for choice in getattr(parameter.kind, "choices", ()))


@pytest.mark.parametrize("kind", [kind for kind in RECIPES.values() if kind.trains], ids=lambda kind: kind.name)
def test_a_recipe_has_every_parameter_of_its_trainer_as_it_is_declared(kind: Any) -> None:
    settings, own = OF_RECIPES[kind.name], kind.parameters
    assert kind.settings is settings
    wanted = {name: part for name, part in parameters(settings).items() if name not in OF_THE_STUDY}
    assert {name: own[name] for name in wanted} == wanted
    assert set(own) - set(wanted) <= {"start", "validate", "teacher", "student"}
    assert set(kind.old_names.values()) <= set(own)
    assert not set(kind.old_names) & set(own)


@pytest.mark.parametrize("kind", [kind for kind in RECIPES.values() if kind.options], ids=lambda kind: kind.name)
def test_pairs_in_a_recipe_are_made_as_by_the_command(kind: Any) -> None:
    known = parameters(PairOptions)
    for parameter in kind.parameters.values():
        if parameter.name not in ("from", "limit"):
            assert parameter == known[parameter.name]


@pytest.mark.parametrize("command", TRAINED)
def test_a_search_reads_and_checks_values_as_they_are_declared(command: str) -> None:
    settings = TRAINED[command]
    for name, parameter in parameters(settings).items():
        if parameter.default is None:
            assert parse_value(settings, name, "none") is None
        else:
            assert parse_value(settings, name, str(parameter.default)) == parameter.default
        if not isinstance(parameter.kind, Text) or parameter.kind.choices:
            with pytest.raises(ParameterError, match=f"{name}: expected"):
                parse_value(settings, name, "a riddle")


@pytest.mark.parametrize("command", SETTINGS)
def test_settings_are_checked_where_they_are_declared(command: str) -> None:
    settings = SETTINGS[command]
    for name, parameter in parameters(settings).items():
        for wrong in outside(parameter.kind):
            with pytest.raises(ParameterError, match=f"{name}: expected"):
                settings(**{name: wrong})


def outside(kind: Any) -> Iterator[Any]:
    """Values beyond the bounds of a kind."""
    if isinstance(kind, Whole | Number):
        yield kind.low - 1
        yield float("nan")
    if isinstance(kind, Number) and kind.above:
        yield kind.low
    if isinstance(kind, Number) and kind.below:
        yield kind.high
    if isinstance(kind, Flag):
        yield "perhaps"
    if isinstance(kind, Text) and kind.choices:
        yield "riddle"


def test_losses_are_those_that_there_are() -> None:
    needs_torch()
    from rankwell.models.learning.losses import LOSSES

    assert tuple(LOSSES) == LOSS_NAMES


NAMES = {
    name
    for settings in (*SETTINGS.values(), PairOptions, TrainingSettings)
    for name, parameter in parameters(settings).items()
    if parameter.default is not None
}


def repeated(tree: ast.Module) -> Iterator[str]:
    """Arguments and fields of a training parameter's name with a default of their own."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            given = node.args
            pairs = [*zip(reversed(given.args), reversed(given.defaults), strict=False)]
            pairs += zip(given.kwonlyargs, given.kw_defaults, strict=True)
            named = [(argument.arg, default) for argument, default in pairs]
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            named = [(node.target.id, node.value)]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "setting" and node.args:
            named = [(getattr(node.args[0], "value", ""), node)]
        else:
            continue
        for name, default in named:
            plain = isinstance(default, ast.Constant) and default.value is not None
            if name in NAMES and (plain or isinstance(default, ast.Call)):
                yield f"{name} (line {node.lineno})"


def test_no_default_is_repeated_behind_a_door() -> None:
    root = Path(rankwell.__file__).parent
    files = [
        *sorted((root / "cli").glob("train*.py")),
        *sorted((root / "studies" / "recipes").glob("*.py")),
    ]
    assert files
    told = {str(file.relative_to(root)): [*repeated(ast.parse(file.read_text(encoding="utf-8")))] for file in files}
    assert not {file: names for file, names in told.items() if names}

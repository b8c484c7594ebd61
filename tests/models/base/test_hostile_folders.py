"""A model's folder that is damaged, or made to do harm, gets one line, and runs nothing."""

from __future__ import annotations

import json
import pickle
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.reranking.tiny_bert import write_tiny_bert
from rankwell.core import RankwellError
from rankwell.models.base import PairScorer, TextEncoder, describe
from rankwell.models.base.folder import ModelFolder, read_weights
from rankwell.models.base.pickles import convert_weights, read_pickled_weights
from rankwell.models.families import reranker
from rankwell.models.learning.starting_model import find_trainable

PAIRS = [("w1 w2", "w3 w4 w5")]


class Harm:
    """A pickle of this creates a file when it is loaded."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Any, ...]:
        return open, (str(self.place), "w")


def change(folder: Path, **values: Any) -> None:
    file = folder / "config.json"
    file.write_bytes(orjson.dumps({**orjson.loads(file.read_bytes()), **values}))


def only(folder: Path, name: str, content: bytes) -> None:
    (folder / "model.safetensors").unlink()
    (folder / name).write_bytes(content)


def in_a_zip(program: bytes, folder: Path) -> bytes:
    with zipfile.ZipFile(folder / "archive", "w") as archive:
        archive.writestr("archive/data.pkl", program)
    return (folder / "archive").read_bytes()


HOSTILE: dict[str, Callable[[Path], None]] = {
    "a bare pickle": lambda folder: only(folder, "pytorch_model.bin", pickle.dumps(Harm(folder / "ran"))),
    "a pickle as torch packs it": lambda folder: only(
        folder, "pytorch_model.bin", in_a_zip(pickle.dumps(Harm(folder / "ran"), 2), folder)
    ),
    "an index that is no JSON": lambda folder: only(folder, "model.safetensors.index.json", b"{"),
    "an index without weight_map": lambda folder: only(folder, "model.safetensors.index.json", b"{}"),
    "a list as header": lambda folder: only(folder, "model.safetensors", (2).to_bytes(8, "little") + b"[]"),
    "a word as layers": lambda folder: change(folder, num_hidden_layers="two"),
    "a list as vocabulary": lambda folder: change(folder, vocab_size=[1]),
    "no heads": lambda folder: change(folder, num_attention_heads=0),
    "a billion layers": lambda folder: change(folder, num_hidden_layers=10**9),
    "a number as architectures": lambda folder: change(folder, architectures=7),
    "a word as tokens": lambda folder: (folder / "tokenizer_config.json").write_text('{"model_max_length": "long"}'),
    "an index that names other files": lambda folder: only(
        folder, "model.safetensors.index.json", b'{"weight_map": {"a": "../../secret"}}'
    ),
}


@pytest.mark.parametrize("use", [PairScorer, TextEncoder, describe])
@pytest.mark.parametrize("harm", HOSTILE)
def test_a_hostile_folder_gets_one_line_and_runs_nothing(tmp_path: Path, harm: str, use: Callable[[str], Any]) -> None:
    folder = tmp_path / "model"
    write_tiny_bert(folder)
    HOSTILE[harm](folder)
    told = ""
    try:
        use(str(folder))
    except RankwellError as error:
        told = str(error)
    assert "\n" not in told
    assert told or use is describe  # which opens no weights
    assert not (folder / "ran").exists()


@pytest.mark.parametrize("backend", ["onnxruntime", "torch"])
def test_a_pickle_is_not_loaded_and_the_line_names_the_conversion(tmp_path: Path, backend: str) -> None:
    pytest.importorskip("transformers") if backend == "torch" else None
    folder = tmp_path / "model"
    write_tiny_bert(folder)
    only(folder, "pytorch_model.bin", pickle.dumps(Harm(folder / "ran")))
    with pytest.raises(RankwellError, match=r"a pickle, which is not loaded.*rankwell models convert"):
        PairScorer(str(folder), backend=backend)
    with pytest.raises(RankwellError, match="rankwell models convert"):
        find_trainable(str(folder))


def test_the_conversion_of_a_pickle_that_calls_something_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pytorch_model.bin").write_bytes(in_a_zip(pickle.dumps({"a": Harm(tmp_path / "ran")}, 2), tmp_path))
    with pytest.raises(RankwellError, match=r"expected a pickle of nothing but weights, found .*open; nothing of it"):
        convert_weights(str(tmp_path))
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "model.safetensors").exists()


def test_converted_weights_are_those_that_torch_saved(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    folder = tmp_path / "model"
    write_tiny_bert(folder)
    before = PairScorer(str(folder)).logits(PAIRS)
    weights = {
        name: torch.from_numpy(np.array(values)) for name, values in read_weights(folder / "model.safetensors").items()
    }
    (folder / "model.safetensors").unlink()
    matrix = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    others = {
        "across": matrix.T,
        "part": matrix[1:, 2:],
        "half": matrix.half(),
        "brain": matrix.bfloat16(),
        "learnt": torch.nn.Parameter(matrix),
        "none": torch.zeros(0, 4),
        "positions": torch.arange(4),
    }
    torch.save({**weights, **others}, folder / "pytorch_model.bin")
    made = read_weights(convert_weights(str(folder)))
    assert "positions" not in made
    for name in set(others) - {"positions"}:
        assert made[name].tolist() == others[name].float().tolist()
    assert PairScorer(str(folder)).logits(PAIRS) == pytest.approx(before)


def test_a_state_dict_with_versions_is_read(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    layer = torch.nn.Linear(2, 3)
    torch.save(layer.state_dict(), tmp_path / "pytorch_model.bin")
    read = read_pickled_weights(tmp_path / "pytorch_model.bin")
    assert read["weight"].tolist() == layer.weight.tolist()
    assert read["bias"].tolist() == layer.bias.tolist()


VALUES = st.sampled_from([None, True, -1, 0, 1, 3, 10**9, 10**30, 0.5, 1e300, "", "two", [], [1], {}, {"a": []}])
FILES = ["config.json", "tokenizer.json", "tokenizer_config.json", "1_Pooling/config.json", "model.safetensors"]


@st.composite
def mutations(draw: st.DrawFn) -> Callable[[Path], None]:
    """A change of one file of a folder: other bytes, or another value in its JSON."""
    name = draw(st.sampled_from([*FILES, "sentence_bert_config.json", "ranker.json", "rankwell.json"]))
    if draw(st.booleans()) or name == "model.safetensors":
        cut, put, share = draw(st.integers(0, 300)), draw(st.binary(max_size=12)), draw(st.floats(0, 1))

        def change_bytes(folder: Path) -> None:
            content = (folder / name).read_bytes() if (folder / name).exists() else b"{}"
            place = int(share * min(len(content), 6_000))  # the header, and some numbers
            (folder / name).write_bytes(content[:place] + put + content[place + cut :])

        return change_bytes
    steps, value = draw(st.lists(st.integers(0, 40), min_size=1, max_size=3)), draw(VALUES)

    def change_value(folder: Path) -> None:
        new = b'{"format": "rankwell ranker", "kind": "duo", "settings": {"max_tokens": 40}}'
        try:
            content = json.loads((folder / name).read_bytes() if (folder / name).exists() else new)
        except ValueError:  # a change before this one
            return
        part = content
        for step in steps[:-1]:
            inner = [key for key in part if isinstance(part, dict) and isinstance(part[key], dict) and part[key]]
            part = part[inner[step % len(inner)]] if inner else part
        if part and isinstance(part, dict):
            part[list(part)[steps[-1] % len(part)]] = value
        (folder / name).write_text(json.dumps(content))

    return change_value


def score(name: str) -> Any:
    return reranker(name).scorer().logits(PAIRS)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(changes=st.lists(mutations(), min_size=1, max_size=3))
def test_a_mutated_folder_loads_or_gets_one_line(tmp_path_factory: pytest.TempPathFactory, changes: Any) -> None:
    whole = tmp_path_factory.getbasetemp() / "whole-model"
    if not whole.exists():
        write_tiny_bert(whole)
        (whole / "1_Pooling").mkdir()
        (whole / "1_Pooling" / "config.json").write_text('{"pooling_mode_mean_tokens": true}')
        (whole / "tokenizer_config.json").write_text('{"model_max_length": 64}')
        (whole / "sentence_bert_config.json").write_text('{"max_seq_length": 48}')
    with TemporaryDirectory() as place:
        folder = Path(place) / "model"
        shutil.copytree(whole, folder)
        for one in changes:
            one(folder)
        for use in (score, lambda name: TextEncoder(name).encode(["w1"]), describe):
            told = ""
            try:
                use(str(folder))
            except RankwellError as error:
                told = str(error)
            assert "\n" not in told


def test_a_good_folder_is_as_good_as_before(tmp_path: Path) -> None:
    folder = ModelFolder.find(write_tiny_bert(tmp_path / "model"))
    assert folder.longest == 64
    assert folder.config["num_hidden_layers"] == 2

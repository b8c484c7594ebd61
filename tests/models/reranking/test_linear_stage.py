"""The linear baseline as a stage: scored without scikit-learn, loaded without pickle, checked before it is used."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import orjson
import pytest

from rankwell.core import Document, FormatError, ParameterError, Queries, RankwellError, Run
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.explanation import Interpolate
from rankwell.models.linear.ranking import VOCABULARY, Linear, LinearModel, Words, load_linear, save_linear
from rankwell.models.reranking.passages import Passages

DOCUMENTS = {
    "d1": Document("d1", {"title": "Fever", "text": "A cold."}),
    "d2": Document("d2", {"title": "Masks", "text": "Masks help against fever."}),
    "d3": Document("d3", {"title": "Trains", "text": "The train leaves."}),
    "d4": Document("d4", {}),
}
RUN = Run.from_dict(
    {"q": {"d1": 4.0, "d3": 3.0, "d2": 2.0, "d4": 1.0}},
    queries=Queries.of({"q": "do masks help"}),
    documents=DOCUMENTS,
)


def model(longest: int = 2) -> LinearModel:
    vocabulary = ("fever", "help against", "masks", "trains")
    return LinearModel(
        Words(longest), vocabulary, np.array([1.0, 2.0, 1.5, 1.0]), np.array([0.5, 2.0, 1.0, -3.0]), -0.25
    )


@pytest.fixture
def folder(tmp_path: Path) -> str:
    save_linear(model(), tmp_path / "linear")
    return str(tmp_path / "linear")


def test_a_score_is_the_weighted_mean_direction_of_known_words() -> None:
    # masks twice, fever and "help against" once: tf * idf = 3, 1, 2
    expected = (3 * 1.0 + 1 * 0.5 + 2 * 2.0) / np.sqrt(3**2 + 1 + 2**2) - 0.25
    assert model().logit("do masks help Masks help against fever.") == pytest.approx(expected)
    assert model().logit("nothing known") == -0.25


def test_a_folder_gives_the_same_scores(folder: str) -> None:
    loaded = load_linear(folder)
    assert loaded.fingerprint() == model().fingerprint() != model(longest=1).fingerprint()
    assert loaded.logit("masks and fever") == model().logit("masks and fever")


def test_the_stage_re_ranks_the_top(folder: str) -> None:
    found = Linear(folder)(RUN)
    assert found["q"].docnos.tolist() == ["d2", "d1", "d3", "d4"]
    text = "do masks help Masks Masks help against fever."
    assert found["q"].scores[0] == pytest.approx(model().logit(text))
    assert Linear(folder, k=2)(RUN)["q"].docnos.tolist() == ["d1", "d3", "d2", "d4"]


def test_any_re_ranker_takes_the_folder(folder: str) -> None:
    assert CrossEncoder(folder, cache=False, quiet=True)(RUN) == Linear(folder)(RUN)
    passages = Linear(folder, passages=Passages(4, 0), aggregate="max", quiet=True)
    assert passages(RUN)["q"].docnos[0] == "d2"
    assert Interpolate(Linear(folder), 0.0)(RUN)["q"].docnos[0] == "d1"


def test_settings_of_transformers_are_refused(folder: str) -> None:
    with pytest.raises(ParameterError, match=r"max_tokens: expected nothing, because .* is a linear model, found 128"):
        CrossEncoder(folder, max_tokens=128).check()


def test_no_scores_are_kept(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    Linear(folder, quiet=True)(RUN)
    CrossEncoder(folder, quiet=True)(RUN)
    assert not (tmp_path / "home").exists()


def test_a_folder_that_is_filled_anew_is_read_anew(folder: str) -> None:
    assert load_linear(folder).intercept == -0.25
    other = LinearModel(Words(), ("fever",), np.array([1.0]), np.array([1.0]), 0.75)
    save_linear(other, Path(folder))
    assert load_linear(folder).intercept == 0.75


@pytest.mark.parametrize("name", ["vocabulary.txt", "idf.npy", "weights.npy"])
def test_a_changed_file_is_refused(folder: str, name: str) -> None:
    content = (Path(folder) / name).read_bytes()
    (Path(folder) / name).write_bytes(content[:-1] + b"!")
    with pytest.raises(FormatError, match=f"{name}: expected content with the checksum"):
        load_linear(folder)


def test_a_missing_file_is_named(folder: str) -> None:
    (Path(folder) / VOCABULARY).unlink()
    with pytest.raises(RankwellError, match=r"vocabulary\.txt: expected a part of a linear model"):
        load_linear(folder)


@pytest.mark.parametrize("change", [{"version": 2}, {"format": "pickle"}])
def test_other_formats_are_refused(folder: str, change: dict[str, object]) -> None:
    file = Path(folder) / "linear.json"
    file.write_bytes(orjson.dumps({**orjson.loads(file.read_bytes()), **change}))
    with pytest.raises(FormatError, match='expected "format": "rankwell linear", "version": 1'):
        load_linear(folder)


def test_arrays_of_objects_are_never_unpickled(folder: str) -> None:
    import hashlib

    path = Path(folder)
    np.save(path / "weights.npy", np.array([print], dtype=object), allow_pickle=True)
    record = orjson.loads((path / "linear.json").read_bytes())
    record["sha256"]["weights.npy"] = hashlib.sha256((path / "weights.npy").read_bytes()).hexdigest()
    (path / "linear.json").write_bytes(orjson.dumps(record))
    with pytest.raises(FormatError, match=r"expected a linear model, found .*pickle"):
        load_linear(folder)


def test_sizes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(RankwellError, match=r"expected an idf and a weight for each word, found \[2, 1, 1\]"):
        LinearModel(Words(), ("a", "b"), np.ones(1), np.ones(1), 0.0)
    with pytest.raises(RankwellError, match="expected finite weights"):
        LinearModel(Words(), ("a",), np.ones(1), np.array([np.nan]), 0.0)


def test_scoring_loads_neither_scikit_learn_nor_torch(folder: str) -> None:
    program = (
        "import sys; from rankwell.models.linear.ranking import load_linear\n"
        "load_linear(sys.argv[1]).logits([('fever', 'masks')]);"
        "print([name for name in ('sklearn', 'scipy', 'torch', 'onnxruntime') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, folder], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

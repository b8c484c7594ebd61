from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rankwell.core.parameters import parameters
from rankwell.index import Index
from rankwell.studies import StudyFolder
from rankwell.studies.file.errors import LineError, StudyError
from rankwell.studies.file.reading import parse_study
from rankwell.studies.plan.collections import CollectionFinder
from rankwell.studies.plan.plan import Plan, make_plan
from rankwell.studies.recipes import RECIPES, recipe_of
from rankwell.studies.recipes.recipe import FAMILIES, OF_THE_STUDY, SETTINGS
from rankwell.studies.recipes.training import TRAINERS, TrainJob
from rankwell.training import PairOptions
from rankwell.training.families import TRAINABLE
from rankwell.vectors import embeddings_of
from small_study import begun, told, write_collection
from tiny_models import needs_torch, tiny_bert

needs_torch()

STUDY = """
title = "What is learnt"
[vary]
rate = [0.3, 0.6]
[models]
"pairs $rate" = "self-supervised(false_pairs=$rate, abstract=text, limit=16) | fine-tune('MODEL', $size, lr=0.1)"
"labels" = "labelled(negatives='hard:1', depth=5) | fine-tune('MODEL', epochs=2, max_tokens=32)"
"the same" = "labelled(depth=5, negatives='hard:1') | fine-tune('MODEL', max_tokens=32, epochs=2)"
[[collection]]
name = "Diseases"
source = "diseases"
held_back = 0.4
[[table]]
name = "auc"
title = "Judged pairs"
measures = ["nDCG@10"]
[table.rows]
"BM25" = "bm25"
"$rate" = "judged | cross-encoder('pairs $rate', document='{text}')"
"labels" = "bm25 | top 3 | cross-encoder(labels)"
"again" = "bm25 | top 3 | cross-encoder('the same')"
""".replace("$size", "batch_size=4, max_tokens=32")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("labelled | fine-tunee(x)", "did you mean fine-tune?"),
        ("labeled | fine-tune(x)", "did you mean labelled?"),
        ("labelled", "expected pairs | training"),
        ("labelled | fine-tune", "expected start"),
        ("labelled(negatives='soft:3') | fine-tune(x)", "negatives"),
        ("labelled(passages=many) | fine-tune(x)", "passages"),
        ("self-supervised(perturbations='long') | fine-tune(x)", "perturb"),
        ("self-supervised(false_pairs=1, false=0.5) | fine-tune(x)", "found it twice"),
        ("self-supervised(0.5) | fine-tune(x)", "a value without a name"),
        ("labelled | fine-tune(x, epochs=many)", "epochs: expected a number"),
    ],
)
def test_a_mistake_in_a_recipe_is_told(line: str, says: str) -> None:
    with pytest.raises(LineError) as raised:
        recipe_of(line)
    assert says in raised.value.message


@pytest.mark.parametrize(
    ("old", "new", "names"),
    [
        (
            "self-supervised(false=0.5, perturb=none) | fine-tune(x, batch=4, tokens=32)",
            "self-supervised(false_pairs=0.5, perturbations=none) | fine-tune(x, batch_size=4, max_tokens=32)",
            ["false", "perturb", "batch", "tokens"],
        ),
        ("labelled | linear(clean=true)", "labelled | linear(cleaned=true)", ["clean"]),
        ("labelled | parade(x, most=4)", "labelled | parade(x, most_passages=4)", ["most"]),
        (
            "unlabelled(documents='hard:2') | distil(x, y, list=4, every=5)",
            "unlabelled(negatives='hard:2') | distil(x, y, list_size=4, evaluate_every=5)",
            ["documents", "list", "every"],
        ),
    ],
)
def test_earlier_names_of_settings_are_read_with_a_note(
    old: str, new: str, names: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert recipe_of(new).configuration() == recipe_of(old).configuration()
    told = [record.getMessage() for record in caplog.records]
    assert all(f": {name} is called " in note for name, note in zip(names, told, strict=True))


def test_a_recipe_has_every_setting_of_its_trainer() -> None:
    recipe = recipe_of("labelled(least_grade=2) | architecture(x, most_words=50, loss=ranknet, warmup=10, onnx=false)")
    settings = recipe.training_settings(3)
    assert (settings.most_words, settings.loss, settings.warmup, settings.onnx) == (50, "ranknet", 10, False)
    assert (settings.lr, settings.measure, settings.threads) == (1e-4, "AP", 3)
    assert recipe.data[0].options(seed=4).labelled().least == 2


def test_every_trainer_is_a_recipe_with_all_its_parameters() -> None:
    trained = {name for name, kind in RECIPES.items() if kind.trains}
    assert set(FAMILIES.values()) == set(TRAINABLE)
    assert set(TRAINERS) == trained == set(FAMILIES) | {"distil", "mlm", "vocabulary"}
    for name in trained:
        declared = set(parameters(SETTINGS[name])) - set(OF_THE_STUDY)
        assert declared <= set(RECIPES[name].parameters), name
    made = {name for kind in RECIPES.values() if not kind.trains for name in kind.parameters}
    assert set(parameters(PairOptions)) - made == {"seed", "parts"}  # which the study and the trainer decide


def test_a_mistake_in_a_recipe_has_its_place_in_the_file() -> None:
    with pytest.raises(StudyError) as raised:
        parse_study(STUDY.replace("\"labelled(negatives='hard:1'", "\"labelled(negatifs='hard:1'"), "my.toml")
    assert str(raised.value).startswith("my.toml:7:22: labelled: expected a setting")


def test_a_model_is_trained_once_for_all_rows_and_recipes_that_need_it(tmp_path: Path) -> None:
    text = STUDY.replace("MODEL", str(tiny_bert(tmp_path / "bert")))
    plan = make_plan(parse_study(text), CollectionFinder(write_collection(tmp_path), tmp_path / "memory"))
    trained = [cell for cell in plan.cells.values() if isinstance(cell.job, TrainJob)]
    assert len(trained) == 3
    places = {row.row.name: row.run.key for row in plan.rows}
    # The same recipe under another name, and so the same weights; the name is part of the step all the same.
    assert plan.cells[places["labels"]].job.model == plan.cells[places["again"]].job.model  # type: ignore[attr-defined]


def test_what_is_measured_is_never_trained_on(tmp_path: Path) -> None:
    text = STUDY.replace("MODEL", str(tiny_bert(tmp_path / "bert")))
    chosen = make_plan(
        parse_study(text), CollectionFinder(write_collection(tmp_path), tmp_path / "memory")
    ).collections[0]
    measured, trained = chosen.judged()[0], chosen.to_train_on()[0]
    assert len(measured) == 3
    assert len(trained) == 2
    assert not set(measured) & set(trained)


def test_a_model_that_cannot_be_trained_here_is_told_before_anything_runs(tmp_path: Path) -> None:
    text = STUDY.replace("MODEL", str(tiny_bert(tmp_path / "bert"))).replace("held_back = 0.4", "")
    with pytest.raises(StudyError, match="expected train or held_back queries of Diseases, found none"):
        make_plan(parse_study(text), CollectionFinder(write_collection(tmp_path), tmp_path / "memory"))
    with pytest.raises(StudyError, match="expected a folder with a model"):
        make_plan(parse_study(STUDY), CollectionFinder(write_collection(tmp_path), tmp_path / "memory"))


@pytest.mark.slow
def test_models_are_trained_and_their_rows_measured(tmp_path: Path) -> None:
    folder = begun(tmp_path, STUDY.replace("MODEL", str(tiny_bert(tmp_path / "bert"))))
    rows = {row["row"]: row["figures"]["nDCG@10"] for row in told(folder)["tables"][0]["rows"]}
    assert rows["labels"]["value"] == rows["again"]["value"]
    assert folder.store.find(rows["0.3"]["cell"])["run"] != folder.store.find(rows["0.6"]["cell"])["run"]
    record = folder.store.find(rows["labels"]["cell"])
    trained = folder.store.find(record["parents"][1])
    assert trained["kind"] == "train"
    assert trained["trained_on"] > 0
    assert (folder.store.path(trained["key"]) / "model" / "model.safetensors").is_file()
    assert not list((folder.path / "training").iterdir())


CHAINED = """
title = "One model after the other"
[models]
"words" = "documents | vocabulary('MODEL', words=5, at_least=1, held_out=0.2)"
"adapted" = "documents | mlm(words, epochs=1, max_tokens=16, batch_size=4, held_out=0.2, lr=0.001)"
"ranker" = "labelled(negatives='hard:1', depth=5) | fine-tune(adapted, epochs=1, max_tokens=32)"
"encoder" = "labelled(negatives='hard:1', depth=5) | bi-encoder('MODEL', epochs=2, max_tokens=32, lr=0.01)"
[[collection]]
name = "Diseases"
source = "diseases"
held_back = 0.4
[[table]]
name = "main"
title = "Trained models"
measures = ["nDCG@10"]
[table.rows]
"BM25" = "bm25"
"ranker" = "bm25 | top 3 | cross-encoder(ranker)"
"encoder" = "dense(encoder)"
"both" = "fuse(bm25, dense(encoder)) | top 5"
"""


def _chained(tmp_path: Path, text: str = CHAINED) -> Plan:
    text = text.replace("MODEL", str(tiny_bert(tmp_path / "bert")))
    return make_plan(parse_study(text), CollectionFinder(write_collection(tmp_path), tmp_path / "memory"))


def test_a_training_waits_for_the_model_that_it_starts_from_and_vectors_for_their_encoder(tmp_path: Path) -> None:
    plan = _chained(tmp_path)
    keys = {cell.title: key for key, cell in plan.cells.items()}
    parents = {title: set(plan.cells[key].parents) for title, key in keys.items()}
    assert keys["Diseases: train words"] in parents["Diseases: train adapted"]
    assert keys["Diseases: train adapted"] in parents["Diseases: train ranker"]
    assert keys["Diseases: train encoder"] in parents["Diseases: vectors of encoder"]
    assert keys["Diseases: vectors of encoder"] in parents["Diseases: dense(encoder)"]


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ("dense(encoder)", "dense(ranker)", "ranker: expected a bi-encoder, found a cross-encoder that this study"),
        ("cross-encoder(ranker)", "cross-encoder(adapted)", "expected a cross-encoder, found a language model"),
        ("vocabulary('MODEL'", "vocabulary(adapted", "expected another model to start from, found itself"),
        ("bi-encoder('MODEL'", "bi-encoder(nowhere", "nowhere"),
    ],
)
def test_a_model_of_the_study_is_used_for_what_it_can_do(tmp_path: Path, before: str, after: str, says: str) -> None:
    with pytest.raises(StudyError, match=says):
        _chained(tmp_path, CHAINED.replace(before, after))


def test_a_review_ranker_is_no_model_to_start_from(tmp_path: Path) -> None:
    text = CHAINED.replace('"adapted" = "documents | mlm(words', '"adapted" = "labelled | parade(words')
    text = text.replace("max_tokens=16, batch_size=4, held_out=0.2, ", "")
    with pytest.raises(StudyError, match="expected a model to start from, found parade"):
        _chained(tmp_path, text)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("labelled | mlm(x)", "expected documents to learn from, found labelled"),
        ("documents | fine-tune(x)", "found documents, which only mlm and vocabulary can learn from"),
        ("documents(limit=3) | mlm(x)", "expected a setting"),
        ("documents | vocabulary(x, words=0)", "words: expected a whole number from 1"),
    ],
)
def test_a_trainer_learns_from_pairs_or_from_documents(line: str, says: str) -> None:
    with pytest.raises(LineError) as raised:
        recipe_of(line)
    assert says in raised.value.message


def _rows(folder: StudyFolder) -> dict[str, Any]:
    return {row["row"]: row["figures"]["nDCG@10"] for row in told(folder)["tables"][0]["rows"]}


def _kinds_before(folder: StudyFolder, cell: str) -> list[str]:
    """The trainings that a cell needed, the last one first."""
    record = folder.store.find(cell)
    own = [record["configuration"]["training"]["kind"]] if record["kind"] == "train" else []
    return own + [kind for parent in record["parents"] for kind in _kinds_before(folder, parent)]


@pytest.mark.slow
def test_a_bi_encoder_is_trained_and_its_vectors_are_searched(tmp_path: Path) -> None:
    folder = begun(tmp_path, CHAINED.replace("MODEL", str(tiny_bert(tmp_path / "bert"))))
    rows = _rows(folder)
    assert _kinds_before(folder, rows["encoder"]["cell"])[0] == "bi-encoder"
    assert 0 <= rows["encoder"]["value"] <= 1
    assert folder.store.find(rows["both"]["cell"])["run"] != folder.store.find(rows["BM25"]["cell"])["run"]
    trained = next(record for record in folder.store.records() if record["title"] == "Diseases: train encoder")
    model = str(folder.store.path(trained["key"]) / "model")
    index = next(record for record in folder.store.records() if record["kind"] == "index")
    (vectors,) = embeddings_of(Index.open(folder.store.path(index["key"]) / "index"))
    assert (vectors.model, vectors.count) == (model, 24)


@pytest.mark.slow
def test_a_vocabulary_then_a_language_model_then_a_cross_encoder_are_trained(tmp_path: Path) -> None:
    folder = begun(tmp_path, CHAINED.replace("MODEL", str(tiny_bert(tmp_path / "bert"))))
    rows = _rows(folder)
    assert _kinds_before(folder, rows["ranker"]["cell"]) == ["fine-tune", "mlm", "vocabulary"]
    sizes = {}
    for record in folder.store.records():
        if record["kind"] == "train":
            config = folder.store.path(record["key"]) / "model" / "config.json"
            sizes[record["title"].partition("train ")[2]] = json.loads(config.read_text())["vocab_size"]
    assert sizes["words"] == sizes["adapted"] == sizes["ranker"] == sizes["encoder"] + 5
    assert not list((folder.path / "training").iterdir())

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.studies import StudyError, make_plan, parse_study
from rankwell.studies.file.values import LineError
from rankwell.studies.plan.data import CollectionFinder
from rankwell.studies.recipes.recipes import recipe_of
from rankwell.studies.recipes.training import TrainJob
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
    assert recipe.pairs[0].options(seed=4).labelled().least == 2


def test_a_mistake_in_a_recipe_has_its_place_in_the_file() -> None:
    with pytest.raises(StudyError) as raised:
        parse_study(STUDY.replace("\"labelled(negatives='hard:1'", "\"labelled(negatifs='hard:1'"), "my.toml")
    assert str(raised.value).startswith("my.toml:7:22: labelled: expected a setting")


def test_a_model_is_trained_once_for_all_rows_and_recipes_that_need_it(tmp_path: Path) -> None:
    text = STUDY.replace("MODEL", str(tiny_bert(tmp_path / "bert")))
    plan = make_plan(parse_study(text), CollectionFinder(write_collection(tmp_path), tmp_path / "memory"))
    trained = [cell for cell in plan.cells.values() if isinstance(cell.job, TrainJob)]
    assert len(trained) == 3
    places = {row.row.name: row.place.key for row in plan.rows}
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

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.models.base.export import PAIRS, Export, make
from rankwell.models.base.folder import ModelFolder
from rankwell.studies.plan.plan import size_of_model
from small_study import begun, told
from tiny_models import needs_torch, tiny_bert

needs_torch()

STUDY = """
title = "What it costs"
[models]
words = "labelled(negatives='judged:all') | linear(fewest=1, longest=1)"
[[collection]]
name = "Diseases"
source = "diseases"
held_back = 0.4
[[table]]
name = "sizes"
title = "Sizes"
measures = ["nDCG@10"]
speed = true
[table.rows]
"BM25" = "bm25"
"words" = "bm25 | top 3 | cross-encoder(words)"
"BERT" = "bm25 | top 3 | cross-encoder('MODEL')"
"mixed" = "bm25 | top 3 | interpolate(cross-encoder('MODEL'), 0.5)"
[table.published]
"BERT" = { "M parameters" = 109 }
"""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_bert(tmp_path_factory.mktemp("model") / "tiny", head="BertForSequenceClassification", num_labels=1)


def test_parameters_are_those_that_torch_counts(model: Path) -> None:
    from transformers import AutoModelForSequenceClassification

    weights = AutoModelForSequenceClassification.from_pretrained(model)
    size = size_of_model(model)
    assert size.parameters == sum(parameter.numel() for parameter in weights.parameters())
    assert size.bytes == (model / "model.safetensors").stat().st_size


def test_an_onnx_file_has_the_parameters_of_the_weights_it_was_made_of(model: Path, tmp_path: Path) -> None:
    make(ModelFolder.find(str(model)), Export(PAIRS), tmp_path / "made" / "model.onnx")
    found = size_of_model(tmp_path / "made")
    assert found.parameters == pytest.approx(size_of_model(model).parameters, rel=0.02)  # and a few constants
    assert found.bytes == (tmp_path / "made" / "model.onnx").stat().st_size


def test_parameters_and_megabytes_stand_beside_the_speed(model: Path, tmp_path: Path) -> None:
    table = told(begun(tmp_path, STUDY.replace("MODEL", str(model))))["tables"][0]
    rows = {row["row"]: row["figures"] for row in table["rows"]}
    assert table["columns"] == ["nDCG@10", "pairs", "pairs/s", "seconds", "queries/min", "M parameters", "MB"]
    assert "MB" not in rows["BM25"]
    size = size_of_model(model)
    for name in ("BERT", "mixed"):
        assert rows[name]["M parameters"]["value"] == pytest.approx(size.parameters / 1e6)
        assert rows[name]["MB"]["value"] == pytest.approx(size.bytes / 1e6)
    assert rows["BERT"]["M parameters"]["published"] == 109
    assert 0 < rows["words"]["M parameters"]["value"] < rows["BERT"]["M parameters"]["value"]

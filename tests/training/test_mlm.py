"""Masked-language-model training: the head, the loss, what is held out, and a run from collection to folder."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from masked_models import BERT, SMALL, VOCABULARY, WORDS, opened, write_model, write_tokenizer
from typer.testing import CliRunner

from needs import require_train
from rankwell.cli import app
from rankwell.core import RankwellError
from rankwell.models.base import load_text_encoder
from rankwell.models.base.folder import ModelFolder
from rankwell.models.language_model.cloze import fill_mask, read_held_out
from rankwell.models.language_model.masking import HEADS, freeze_body, load_masked_model, masked_loss
from rankwell.models.language_model.settings import MlmSettings, is_held_out
from rankwell.models.language_model.training import perplexity, resume_mlm, train_mlm
from rankwell.models.learning.run_folder import RunFolder
from rankwell.training.families import resume_training
from warm_process import kill_when, run_warm

GAP = "the [MASK] of mice was high."
QUICK: dict[str, Any] = {"steps": 4, "batch_size": 4, "max_tokens": 16, "held_out": 0.2, "threads": 1, "warmup": 0}


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(write_model(tmp_path_factory.mktemp("mlm") / "body"))


@pytest.fixture(scope="module")
def papers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice([*WORDS, "covid", "interferon"], 30)) for _ in range(40)]
    file = tmp_path_factory.mktemp("papers") / "papers.jsonl"
    file.write_text("\n".join(json.dumps({"id": f"d{n}", "text": text}) for n, text in enumerate(texts)))
    return file


def load(folder: Path | str) -> Any:
    return load_masked_model(ModelFolder.find(str(folder)))


def weights(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    return load_file(folder / "model.safetensors")


def test_a_body_without_a_head_gets_one_tied_to_its_embeddings(body: Path) -> None:
    found = load(body)
    assert found.model.get_output_embeddings().weight is found.model.get_input_embeddings().weight
    assert {name.removeprefix("cls.predictions.") for name in found.new} == {
        *("bias", "decoder.bias", "transform.dense.weight", "transform.dense.bias"),
        *("transform.LayerNorm.weight", "transform.LayerNorm.bias"),
    }


def test_a_head_that_is_there_is_kept(tmp_path: Path) -> None:
    require_train()
    import torch

    whole = tmp_path / "whole"
    write_model(whole, "BertForMaskedLM")
    found = load(whole)
    assert found.new == ()
    assert torch.equal(
        found.model.cls.predictions.transform.dense.weight, weights(whole)["cls.predictions.transform.dense.weight"]
    )


def test_the_pooler_of_a_body_is_kept(body: Path) -> None:
    import torch

    assert torch.equal(load(body).model.bert.pooler.dense.weight, weights(body)["pooler.dense.weight"])


@pytest.mark.parametrize("name", ["Albert", "Bert", "DistilBert", "Electra", "MPNet", "Roberta"])
def test_the_loss_is_that_of_transformers_for_every_kind_of_head(name: str, tmp_path: Path) -> None:
    require_train()
    import torch

    write_model(tmp_path, f"{name}ForMaskedLM")
    model = load(tmp_path).model.eval()
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(5, len(VOCABULARY), (3, 9), generator=generator)
    labels = torch.where(torch.rand(ids.shape, generator=generator) < 0.4, ids, -100)
    with torch.inference_mode():
        assert float(masked_loss(model, {"input_ids": ids}, labels)) == pytest.approx(
            float(model(input_ids=ids, labels=labels).loss), rel=1e-5
        )


def test_a_model_type_without_such_a_head_is_refused(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2"}))
    with pytest.raises(RankwellError, match=f"head \\({', '.join(HEADS)}\\), found gpt2"):
        load(tmp_path)


def test_training_only_the_head_leaves_the_body_as_it_is(body: Path, papers: Path, tmp_path: Path) -> None:
    import torch

    settings = MlmSettings(**QUICK, freeze="body", lr=0.01)
    train_mlm(papers, str(body), tmp_path / "run", settings, quiet=True)
    old, new = weights(body), weights(tmp_path / "run" / "model")
    assert all(torch.equal(tensor, new[f"bert.{name}"]) for name, tensor in old.items())
    fresh = load(body).model
    torch.manual_seed(settings.seed)
    assert not torch.equal(new["cls.predictions.bias"], torch.zeros(len(VOCABULARY)))
    freeze_body(fresh, "body")
    trained = {name for name, tensor in fresh.named_parameters() if tensor.requires_grad}
    assert {name.split(".")[0] for name in trained} == {"cls"}


def test_the_next_sentence_head_is_kept_for_a_cross_encoder(papers: Path, tmp_path: Path) -> None:
    require_train()
    import torch
    import transformers

    start = tmp_path / "start"
    write_model(start, "BertForPreTraining")
    train_mlm(papers, str(start), tmp_path / "run", MlmSettings(**QUICK), quiet=True)
    place = tmp_path / "run" / "model"
    kept, told = transformers.BertForNextSentencePrediction.from_pretrained(place, output_loading_info=True)
    assert not told["missing_keys"]
    assert torch.equal(kept.cls.seq_relationship.weight, weights(start)["cls.seq_relationship.weight"])
    assert ModelFolder.find(str(place)).next_sentence
    assert load(place).new == ()


@pytest.fixture(scope="module")
def run(body: Path, papers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("run") / "run"
    command = ["train", "mlm", str(papers), "--model", str(body), "--out", str(out), "--steps", "60", "--lr", "0.01"]
    command += ["--batch-size", "4", "--max-tokens", "16", "--held-out", "0.2", "--threads", "1", "--fill", GAP]
    done = CliRunner().invoke(app, [*command, "--evaluate-every", "20", "--output", "json"])
    assert done.exit_code == 0, done.output
    (out / "printed").write_text(done.stdout)
    return out


def test_a_run_learns_the_words_of_its_texts(run: Path) -> None:
    result = RunFolder.open(run).result
    assert result["measures"]["perplexity"] < 30 < result["before_training"]["perplexity"]  # 14 words of 95 entries
    figures = json.loads((run / "adaptation.json").read_text())["bits_per_character"]
    assert figures["after"]["high"] < figures["before"]["low"]
    assert figures["after"]["low"] < figures["after"]["value"] < figures["after"]["high"]
    assert read_held_out(run).per_character == pytest.approx(figures["after"]["value"])
    assert read_held_out(run, "before").per_character == pytest.approx(figures["before"]["value"])


def test_a_run_measures_with_documents_that_it_does_not_learn_from(run: Path) -> None:
    measured = {json.loads(line)["document"] for line in (run / "held_out.jsonl").read_text().splitlines()}
    assert measured == {f"d{n}" for n in range(40) if is_held_out(f"d{n}", 0.2)}
    assert json.loads((run / "adaptation.json").read_text())["texts"] == 40 - len(measured)


def test_the_result_serves_as_body_and_as_masked_model(run: Path) -> None:
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    folder = run / "model"
    tokenizer = AutoTokenizer.from_pretrained(folder)
    given = tokenizer("the fever", return_tensors="pt")
    assert AutoModel.from_pretrained(folder)(**given).last_hidden_state.shape == (1, 4, 16)
    classifier, told = AutoModelForSequenceClassification.from_pretrained(folder, output_loading_info=True)
    assert set(told["missing_keys"]) == {"classifier.weight", "classifier.bias"}  # the pooler is there
    assert classifier.config.hidden_size == 16
    assert load(folder).new == ()
    assert load_text_encoder(str(folder)).encode(["the fever"]).shape == (1, 16)


def test_gaps_are_filled_before_and_after(run: Path) -> None:
    gaps = json.loads((run / "adaptation.json").read_text())["fill_mask"]
    assert [gap["sentence"] for gap in gaps] == [GAP]
    assert all(len(gaps[0][when][0]) == 5 for when in ("before", "after"))
    found = fill_mask(load(run / "model").model, opened(run / "model"), GAP, "[MASK]", most=3)
    assert [filling.token for filling in found[0]] == [said["token"] for said in gaps[0]["after"][0]][:3]
    assert {filling.token for filling in found[0]} <= {*WORDS, "co", "##vid", "##ter", "##fer", "##on"}
    assert (
        ", ".join(f"{said['token']} {said['probability']:.2f}" for said in gaps[0]["after"][0])
        in (run / "printed").read_text()
    )


def test_the_same_seed_gives_the_same_weights_and_another_gives_others(
    body: Path, papers: Path, tmp_path: Path
) -> None:
    import torch

    found = []
    for number, seed in enumerate((1, 1, 2)):
        train_mlm(papers, str(body), tmp_path / str(number), MlmSettings(**QUICK, seed=seed), quiet=True)
        found.append(weights(tmp_path / str(number) / "model"))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    assert not all(torch.equal(found[0][name], found[2][name]) for name in found[0])


@pytest.mark.slow
def test_a_killed_and_resumed_run_equals_an_uninterrupted_one(body: Path, papers: Path, tmp_path: Path) -> None:
    import torch

    settings = MlmSettings(steps=40, batch_size=4, max_tokens=16, held_out=0.2, threads=1, evaluate_every=7)
    program = "from rankwell.models.language_model.training import MlmSettings, train_mlm\n"
    program += f"train_mlm({str(papers)!r}, {str(body)!r}, OUT, {settings!r}, quiet=True)"
    run_warm(program.replace("OUT", repr(str(tmp_path / "whole"))))
    killed = tmp_path / "killed"
    kill_when(killed / "checkpoints" / "checkpoint-7", program.replace("OUT", repr(str(killed))))
    assert not RunFolder.open(tmp_path / "killed").finished
    result = resume_training(tmp_path / "killed", quiet=True)
    whole, resumed = weights(tmp_path / "whole" / "model"), weights(result.folder.model)
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert read_held_out(tmp_path / "whole").bits.tolist() == read_held_out(tmp_path / "killed").bits.tolist()


def test_a_run_on_a_changed_collection_does_not_go_on(body: Path, papers: Path, tmp_path: Path) -> None:
    changing = tmp_path / "papers.jsonl"
    changing.write_text(papers.read_text())
    train_mlm(changing, str(body), tmp_path / "run", MlmSettings(**QUICK), quiet=True)
    (tmp_path / "run" / "result.json").unlink()
    changing.write_text(papers.read_text().replace("fever", "virus"))
    with pytest.raises(RankwellError, match=r"expected data .* as the run began with, found it changed since"):
        resume_mlm(RunFolder.open(tmp_path / "run"), quiet=True)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--fill", "no gap"], 'fill: expected a sentence with [MASK] in it, found "no gap"'),
        (["--max-tokens", "65"], "max_tokens: expected at most 64"),
        (["--replacement", "none"], "replacement: expected one of bert, all-mask"),
        (["--random", "often"], "random: expected one of uniform, frequency"),
        (["--freeze", "heart"], "freeze: expected none, "),
        (["--mask-probability", "1"], "mask_probability: expected a number above 0 and below 1"),
        (["--held-out", "0.0001"], "expected some among the held-out share"),
    ],
)
def test_what_cannot_be_is_refused_before_training(
    options: list[str], message: str, body: Path, papers: Path, tmp_path: Path
) -> None:
    command = ["train", "mlm", str(papers), "--model", str(body), "--out", str(tmp_path / "run"), "--quiet"]
    found = CliRunner().invoke(app, [*command, "--max-tokens", "16", *options]).exception
    assert isinstance(found, RankwellError)
    assert message in str(found)
    assert not (tmp_path / "run").exists()


def test_the_perplexity_of_a_model_that_knows_nothing_is_the_size_of_its_vocabulary(tmp_path: Path) -> None:
    require_train()
    import torch
    from transformers import BertConfig, BertForMaskedLM

    from rankwell.models.language_model.masking import MaskedTokens, Masker
    from rankwell.models.language_model.texts import MaskedRows, pack

    model = BertForMaskedLM(BertConfig(**SMALL, **BERT)).eval()
    with torch.no_grad():
        for tensor in model.parameters():
            tensor.zero_()
    write_tokenizer(tmp_path)
    rows = pack(["the fever of mice was high"] * 9, opened(tmp_path), 16, 0)
    masked = MaskedRows(rows, Masker(MaskedTokens(len(VOCABULARY), 4, frozenset(range(5)))), 0)
    with torch.inference_mode():
        assert perplexity(model, masked, 2) == pytest.approx(len(VOCABULARY))


def test_which_documents_are_held_out_depends_on_id_share_and_seed_alone() -> None:
    ids = [f"d{number}" for number in range(20_000)]
    held = {i for i in ids if is_held_out(i, 0.05)}
    assert abs(len(held) - 1000) < 5 * np.sqrt(1000 * 0.95)
    assert held <= {i for i in ids if is_held_out(i, 0.1)}  # a larger share adds documents
    assert held != {i for i in ids if is_held_out(i, 0.05, seed=1)}

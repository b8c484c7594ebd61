"""PARADE from its parts to a trained folder, with models of a few thousand weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.models.families import reranker
from rankwell.models.learning.pairs import Pair, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.trainer import TrainingResult
from rankwell.models.parade.ranking import Parade as ParadeStage
from rankwell.models.parade.ranking import ParadeScorer, write_graph
from rankwell.models.parade.training import ParadeSettings, train_parade
from rankwell.models.reranking.passages import Passages
from tiny_models import needs_torch, tiny_bert, tiny_model, topic_pairs

needs_torch()

import torch  # noqa: E402 -- where it is installed

from rankwell.models.base.folder import ModelFolder  # noqa: E402
from rankwell.models.parade.model import AGGREGATIONS, Attention, Average, Maximum, ParadeModule, Sizes  # noqa: E402

QUICK = ParadeSettings(passages="4:2", most_passages=3, max_tokens=24, threads=1, lr=5e-3, batch_size=8, dropout=0.0)
SHORT = replace(QUICK, steps=2, onnx=False)
SIZES = Sizes(width=2, heads=1, inner=4, dropout=0.0, epsilon=1e-12)
TWO_THREE = torch.tensor([[[1.0, 4.0], [3.0, 0.0], [9.0, 9.0]], [[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]]])
ALL = ["transformer", *(pytest.param(name, marks=pytest.mark.slow) for name in ("attn", "avg", "max"))]
THERE = torch.tensor([[True, True, False], [True, True, True]])  # the third passage of the first one is padding


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and pairs of whole documents."""
    folder = tmp_path_factory.mktemp("parade")
    tiny_bert(folder / "model")
    topic_pairs(folder / "pairs", queries=8)
    return folder


def train(place: Path, out: Path, settings: ParadeSettings, **others: Any) -> TrainingResult:
    given = {"model": str(place / "model"), "quiet": True, "validation": None, **others}
    return train_parade(given.pop("pairs", place / "pairs"), out, settings=settings, **given)


def loaded(folder: Path, aggregate: str) -> ParadeModule:
    """A trained folder in torch."""
    import transformers
    from safetensors.torch import load_file

    model = ParadeModule(transformers.AutoModel.from_pretrained(folder), aggregate, QUICK.most_passages)
    left = model.load_state_dict(load_file(folder / "aggregator.safetensors"), strict=False)
    assert all(name.startswith("body.") for name in left.missing_keys)
    return model.eval()


def given_to(model: ParadeModule, scorer: ParadeScorer, pairs: list[tuple[str, str]]) -> torch.Tensor:
    """The logits of pairs, each document alone."""
    made = scorer._tokens(pairs)
    with torch.inference_mode():
        found = [
            model(
                *(torch.from_numpy(part) for part in (one.ids, one.mask)),
                torch.tensor([len(one.ids)]),
                torch.from_numpy(one.types),
            ).logits
            for one in made
        ]
    return torch.cat(found)


def test_avg_is_the_mean_of_the_passages_that_are_there() -> None:
    assert Average(SIZES, 3)(TWO_THREE, THERE).tolist() == [[2.0, 2.0], [3.0, 5.0]]


def test_max_is_the_largest_of_each_dimension_that_is_there() -> None:
    assert Maximum(SIZES, 3)(TWO_THREE, THERE).tolist() == [[3.0, 4.0], [5.0, 9.0]]


def test_attention_weighs_passages_by_the_softmax_of_their_products() -> None:
    """W = (ln 2, 0) gives the products ln 2 and 3 ln 2, whose softmax is 2 : 8."""
    attention = Attention(SIZES, 3)
    with torch.no_grad():
        attention.weigh.weight.copy_(torch.tensor([[float(np.log(2)), 0.0]]))
        weights = attention.weights(TWO_THREE, THERE)
        assert weights[0].tolist() == pytest.approx([0.2, 0.8, 0.0])
        assert weights[1].tolist() == pytest.approx([2 / 42, 8 / 42, 32 / 42])
        assert attention(TWO_THREE, THERE)[0].tolist() == pytest.approx([0.2 * 1 + 0.8 * 3, 0.2 * 4])


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_what_stands_in_padded_places_changes_nothing(name: str) -> None:
    torch.manual_seed(1)
    aggregation = AGGREGATIONS[name](SIZES, 3).eval()
    other = TWO_THREE.clone()
    other[0, 2] = torch.tensor([-700.0, 700.0])
    with torch.inference_mode():
        assert torch.allclose(aggregation(TWO_THREE, THERE), aggregation(other, THERE), atol=1e-6)
        alone = aggregation(TWO_THREE[:1, :2], THERE[:1, :2])
        assert torch.allclose(aggregation(TWO_THREE, THERE)[:1], alone, atol=1e-6)


def test_the_transformer_has_two_layers_and_a_cls_of_its_own() -> None:
    names = [name for name, _ in AGGREGATIONS["transformer"](SIZES, 3).named_parameters()]
    assert {"first", "positions"} <= set(names)
    assert {name.split(".")[1] for name in names if name.startswith("layers.")} == {"0", "1"}


@pytest.mark.parametrize(("name", "matters"), [("transformer", True), ("attn", False), ("avg", False), ("max", False)])
def test_only_the_transformer_knows_the_order_of_passages(name: str, *, matters: bool, place: Path) -> None:
    import transformers

    torch.manual_seed(1)
    model = ParadeModule(transformers.AutoModel.from_pretrained(place / "model"), name, 3).eval()
    passages = torch.randn(1, 3, model.config.hidden_size)
    there = torch.ones(1, 3, dtype=torch.bool)
    with torch.no_grad():
        for weights in model.aggregation.parameters():
            weights.mul_(20)  # as large as after training
        one, other = model.aggregation(passages, there), model.aggregation(passages[:, [2, 0, 1]], there)
    assert bool((one - other).abs().max() > 1e-3) is matters


@pytest.fixture(scope="module")
def trained(place: Path) -> Callable[[str], TrainingResult]:
    """A model with an aggregation, trained until it knows its pairs by heart; each once."""
    settings = replace(QUICK, steps=60, evaluate_every=60, lr=8e-3)

    @cache
    def one(name: str) -> TrainingResult:
        return train(place, place / name, replace(settings, aggregate=name), validation=place / "pairs")

    return one


@pytest.mark.parametrize("name", ALL)
def test_every_aggregation_learns_its_pairs_by_heart(name: str, trained: Callable[[str], TrainingResult]) -> None:
    assert trained(name).measures["nDCG@10"] > 0.97
    assert trained(name).measures["nDCG@10"] > trained(name).before["nDCG@10"]


@pytest.mark.parametrize("name", ALL)
def test_the_onnx_file_equals_torch_whatever_else_is_scored(
    name: str, trained: Callable[[str], TrainingResult]
) -> None:
    folder = trained(name).folder.model
    pairs = [(row.query, row.document) for row in open_pairs(folder.parents[1] / "pairs").rows()][:20]
    scorer = ParadeScorer(str(folder), threads=2)
    ours = scorer.logits(pairs)[:, 0]
    assert len({len(one.ids) for one in scorer._tokens(pairs)}) > 1  # documents of one passage and of several
    theirs = given_to(loaded(folder, name), scorer, pairs).numpy()
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert np.ptp(ours) > 0.1  # and they differ from document to document
    assert scorer.logits(pairs[::-1])[::-1, 0] == pytest.approx(ours, abs=1e-5)


def test_in_torch_a_document_has_the_same_logit_in_any_batch(
    place: Path, trained: Callable[[str], TrainingResult]
) -> None:
    from rankwell.models.base.tokens import PairTokens, Tokenizer
    from rankwell.models.parade.training import DocumentBatches, TokenisedDocuments

    folder = trained("transformer").folder.model
    model, scorer = loaded(folder, "transformer"), ParadeScorer(str(folder))
    tokens = PairTokens(Tokenizer(folder / "tokenizer.json"), 24, None)
    documents = TokenisedDocuments.of_documents(open_pairs(place / "pairs"), tokens, scorer.reading)
    batches = DocumentBatches(documents, padding=0, segments=True)
    rows = np.arange(10)
    with torch.inference_mode():
        together = model(**batches.inputs(rows)).logits
        other_way = model(**batches.inputs(rows[::-1])).logits.flip(0)
        alone = torch.cat([model(**batches.inputs(rows[place : place + 1])).logits for place in rows])
    assert torch.allclose(together, other_way, atol=1e-5)
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize(("freeze", "moved"), [("none", True), ("head", False)])
def test_gradients_reach_the_body_unless_it_is_frozen(*, freeze: str, moved: bool, place: Path, tmp_path: Path) -> None:
    from safetensors.torch import load_file

    result = train(place, tmp_path / "run", replace(SHORT, aggregate="attn", freeze=freeze))
    before = load_file(place / "model" / "model.safetensors")
    after = load_file(result.folder.model / "model.safetensors")
    layers = [name for name in before if name.startswith(("embeddings", "encoder"))]
    assert any(not torch.equal(before[name], after[name]) for name in layers) == moved
    top = load_file(result.folder.model / "aggregator.safetensors")
    assert set(top) == {"aggregation.weigh.weight", "head.weight", "head.bias"}
    assert float(top["head.bias"]) != 0  # which it was in the beginning


@pytest.mark.slow
def test_int8_and_a_folder_without_a_graph_are_made_on_the_spot(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKWELL_HOME", str(tmp_path / "home"))
    folder = train(place, tmp_path / "run", replace(SHORT, aggregate="max")).folder.model
    assert not (folder / "onnx").exists()
    pair = [("fever", "fever and cough in the old child for a long week")]
    plain, small = ParadeScorer(str(folder)), ParadeScorer(str(folder), precision="int8")
    assert small.logits(pair)[0, 0] == pytest.approx(plain.logits(pair)[0, 0], abs=0.05)
    assert plain.fingerprint() != small.fingerprint()
    with pytest.raises(ParameterError, match='precision: expected fp32 or int8, found "fp4"'):
        ParadeScorer(str(folder), precision="fp4")
    (folder / "aggregator.safetensors").unlink()
    with pytest.raises(RankwellError, match="expected weights"):
        write_graph(ModelFolder("x", folder), plain.reading, tmp_path / "graph.onnx")


@pytest.mark.slow
@pytest.mark.parametrize("name", AGGREGATIONS)
def test_other_bodies_than_bert_are_exported_too(name: str, place: Path, tmp_path: Path) -> None:
    sizes = {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 32}
    start = tiny_model(tmp_path / "start", "DistilBertConfig", "DistilBertModel", **sizes)
    settings = replace(SHORT, aggregate=name, onnx=True)
    folder = train(place, tmp_path / "run", settings, model=str(start)).folder.model
    pairs = [("fever", "fever and cough"), ("honey", "bees sleep in the night for a long week and a short day")]
    import transformers
    from safetensors.torch import load_file

    model = ParadeModule(transformers.AutoModel.from_pretrained(folder), name, QUICK.most_passages)
    model.load_state_dict(load_file(folder / "aggregator.safetensors"), strict=False)
    scorer = ParadeScorer(str(folder))
    with torch.inference_mode():
        theirs = [
            float(model.eval()(*map(torch.from_numpy, (one.ids, one.mask)), torch.tensor([len(one.ids)])).logits)
            for one in scorer._tokens(pairs)
        ]
    assert scorer.logits(pairs)[:, 0] == pytest.approx(theirs, abs=1e-4)


def test_pairs_of_passages_are_put_together_again(place: Path, tmp_path: Path) -> None:
    split = Passages.parse("4:2")
    with PairsWriter(tmp_path / "pairs", made={"passages": repr(split)}) as writer:
        for row in open_pairs(place / "pairs").rows():
            for passage in split.split("", row.document):
                writer.add(row._replace(document=passage, group=-1))
    whole = train(place, tmp_path / "whole", SHORT)
    parts = train(place, tmp_path / "parts", SHORT, pairs=tmp_path / "pairs")
    from safetensors.torch import load_file

    one, other = (load_file(run.folder.model / "aggregator.safetensors") for run in (whole, parts))
    assert all(torch.equal(one[name], other[name]) for name in one)
    with pytest.raises(RankwellError, match=r"expected whole documents, or passages made as Passages\(words=9"):
        train(place, tmp_path / "run", replace(SHORT, passages="9:2"), pairs=tmp_path / "pairs")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"aggregate": "sum"}, "aggregate: expected one of avg, max, attn, transformer, found"),
        ({"passages": "long"}, "passages: expected words and overlap"),
        ({"most_passages": 0}, "most_passages: expected a whole number from 1, found 0"),
    ],
)
def test_settings_that_make_no_sense_for_parade_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        ParadeSettings(**changes)


def test_whole_documents_have_no_paragraphs_to_split_at(place: Path, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="for pairs of whole documents, found"):
        train(place, tmp_path / "run", replace(SHORT, passages="paragraphs"))
    assert not (tmp_path / "run").exists()


def test_pairs_of_one_kind_teach_parade_nothing(place: Path, tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        writer.add(Pair("q", "d", "fever", "cough", 1.0))
    with pytest.raises(RankwellError, match="expected pairs of both kinds"):
        train(place, tmp_path / "run", SHORT, pairs=tmp_path / "pairs")


def test_the_command_trains_a_folder_that_rerank_takes(place: Path, tmp_path: Path) -> None:
    documents = '{"_id": "a", "title": "cold", "text": "fever fever"}\n{"_id": "b", "title": "bees", "text": "honey"}\n'
    (tmp_path / "corpus.jsonl").write_text(documents)
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "fever"}\n')
    (tmp_path / "first.trec").write_text("1 Q0 b 1 2.0 x\n1 Q0 a 2 1.0 x\n")
    options = ["--steps", "2", "--max-tokens", "24", "--threads", "1", "--passages", "4:2", "--most-passages", "3"]
    command = ["train", "parade", str(place / "pairs"), "--model", str(place / "model"), *options, "--aggregate", "max"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    model = str(tmp_path / "run" / "model")
    again = ["rerank", str(tmp_path / "first.trec"), "--queries", str(tmp_path / "queries.jsonl"), "--model", model]
    again += ["--documents", str(tmp_path / "corpus.jsonl"), "--out", str(tmp_path / "new.trec"), "--no-cache"]
    done = CliRunner().invoke(app, again, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert len((tmp_path / "new.trec").read_text().splitlines()) == 2
    done = CliRunner().invoke(app, [*again, "--passages", "9:3"])
    assert done.exit_code != 0
    assert "is a PARADE model with its own" in done.output + str(done.exception)
    done = CliRunner().invoke(app, ["models", "show", model], catch_exceptions=False)
    assert "kind:          parade" in done.output
    assert "PARADE model that was trained" in (tmp_path / "run" / "README.md").read_text()


def test_the_stage_scores_what_the_scorer_scores(trained: Callable[[str], TrainingResult]) -> None:
    folder = str(trained("transformer").folder.model)
    text = "fever and cough in the old child for a long week"
    documents = {"a": Document("a", {"title": "fever", "text": text}), "b": Document("b", {"text": ""})}
    run = Run.from_dict({"1": {"a": 1.0, "b": 2.0}})
    run = replace(run, queries=Queries.of({"1": "fever"}), documents=documents)
    stage = reranker(folder)
    assert isinstance(stage, ParadeStage)
    found = replace(stage, cache=False, quiet=True)(run)
    assert found["1"].docnos.tolist() == ["a", "b"]  # what has no text stays below
    expected = ParadeScorer(folder).logits([("fever", f"fever {text}")])[0, 0]
    assert found["1"].scores[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_search_varies_the_aggregation(place: Path, tmp_path: Path) -> None:
    from rankwell.training import Search

    base = replace(SHORT, steps=1, max_tokens=24)
    pairs = open_pairs(place / "pairs")
    search = Search(
        "parade",
        pairs,
        [{"aggregate": "avg"}, {"aggregate": "max"}],
        model=str(place / "model"),
        base=base,
        validation=0.5,
    )
    found = search.run(tmp_path / "search")
    cell = found.tried[0].cells[0]
    told = (cell.folder / "result.json").read_text()
    assert f'"nDCG@10": {cell.value:.6f}'[:-1] in told  # the graph ranks as torch did


@pytest.mark.slow
def test_a_search_of_duo_measures_as_training_did(place: Path, tmp_path: Path) -> None:
    from rankwell.models.duo.training import DuoSettings
    from rankwell.training import Search

    base = DuoSettings(max_tokens=40, threads=1, steps=1, onnx=False)
    pairs = open_pairs(place / "pairs")
    search = Search("duo", pairs, [{"lr": 1e-3}], model=str(place / "model"), base=base, validation=0.5)
    cell = search.run(tmp_path / "search").best.cells[0]
    assert f'"nDCG@10": {cell.value:.6f}'[:-1] in (cell.folder / "result.json").read_text()

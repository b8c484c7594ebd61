"""duoBERT from its triples to a trained folder and its stage, with a model of a few thousand weights."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from rankwell.cli import app
from rankwell.core import Document, ParameterError, Queries, RankwellError, Run
from rankwell.core.run import sigmoid
from rankwell.models.base.tokens import Tokenizer
from rankwell.models.cross_encoder.ranking import CrossEncoder
from rankwell.models.duo.ranking import Duo, DuoScorer, TripleTokens
from rankwell.models.duo.training import DuoSettings, train_duo, triples_of
from rankwell.models.explanation import Interpolate
from rankwell.models.families import reranker, usual_depth
from rankwell.models.learning.pairs import Pair, open_pairs
from rankwell.models.learning.pairs_writer import PairsWriter
from rankwell.models.learning.trainer import TrainingResult
from rankwell.models.reranking.passages import Passages
from rankwell.models.reranking.reranker import RerankSettings
from tiny_models import needs_torch, tiny_bert, topic_pairs

needs_torch()

QUICK = DuoSettings(max_tokens=40, threads=1, lr=5e-3, dropout=0.0, others=3)
SHORT = replace(QUICK, steps=2, onnx=False)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model and pairs."""
    folder = tmp_path_factory.mktemp("duo")
    tiny_bert(folder / "model")
    topic_pairs(folder / "pairs", queries=8)
    return folder


@pytest.fixture(scope="module")
def trained(place: Path) -> TrainingResult:
    settings = replace(QUICK, steps=70, evaluate_every=70)
    return train(place, place / "run", settings, validation=place / "pairs")


def train(place: Path, out: Path, settings: DuoSettings, **others: Any) -> TrainingResult:
    given = {"model": str(place / "model"), "quiet": True, "validation": None, **others}
    return train_duo(given.pop("pairs", place / "pairs"), out, settings=settings, **given)


def first_run(place: Path) -> Run:
    """Two queries with five documents each, the relevant one the last."""
    rows = list(open_pairs(place / "pairs").rows())[:10]
    run = Run.from_rows((row.query_id, row.document_id, float(place)) for place, row in enumerate(rows))
    documents = {row.document_id: Document(row.document_id, {"text": row.document}) for row in rows}
    return replace(run, queries=Queries.of({row.query_id: row.query for row in rows}), documents=documents)


def triples_of_run(run: Run, qid: str, k: int) -> dict[tuple[str, str], tuple[str, str, str]]:
    """All comparisons of a query's best documents."""
    assert run.queries is not None
    assert run.documents is not None
    docnos, texts = run[qid].docnos[:k].tolist(), run.documents
    return {
        (one, other): (run.queries[qid].text(), texts[one].fields["text"], texts[other].fields["text"])
        for one in docnos
        for other in docnos
        if one != other
    }


def test_triples_are_all_unequal_pairs_of_a_query_in_both_orders() -> None:
    groups, labels = np.array([0, 0, 0, 1, 1]), np.array([1, 0, 0, 0, 1], dtype=np.float32)
    made = triples_of(groups, labels, ["q", "q", "q", "p", "p"], others=9, seed=1)
    found = list(zip(made.one.tolist(), made.other.tolist(), made.labels.tolist(), strict=True))
    assert found == [(0, 1, 1), (1, 0, 0), (0, 2, 1), (2, 0, 0), (4, 3, 1), (3, 4, 0)]


def test_a_document_meets_no_more_others_than_are_asked_for() -> None:
    labels = np.array([1, *[0] * 20], dtype=np.float32)
    made = triples_of(np.zeros(21, dtype=np.int64), labels, ["q"] * 21, others=5, seed=1)
    assert len(made) == 10
    again = triples_of(np.zeros(21, dtype=np.int64), labels, ["q"] * 21, others=5, seed=2)
    assert made.other.tolist() != again.other.tolist()


def test_grades_are_compared_with_all_lower_ones() -> None:
    made = triples_of(np.zeros(3, dtype=np.int64), np.array([0, 1, 2], np.float32), ["q"] * 3, others=9, seed=1)
    won = {
        pair
        for *pair, label in zip(made.one.tolist(), made.other.tolist(), made.labels, strict=True)
        if label
        for pair in [tuple(pair)]
    }
    assert won == {(1, 0), (2, 0), (2, 1)}


def test_a_triple_is_cls_query_sep_document_sep_document_sep_in_three_segments(place: Path) -> None:
    tokenizer = Tokenizer(place / "model" / "tokenizer.json")
    tokens = TripleTokens(tokenizer, 40, None)
    (made,) = tokens([("fever", "cough aspirin", "honey")])
    vocabulary = json.loads((place / "model" / "tokenizer.json").read_text())["model"]["vocab"]
    names = [list(vocabulary)[number] for number in made.ids.tolist()]
    assert names == ["[CLS]", "fever", "[SEP]", "cough", "aspirin", "[SEP]", "honey", "[SEP]"]
    assert made.types.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


def test_each_document_has_half_of_what_the_query_leaves(place: Path) -> None:
    tokens = TripleTokens(Tokenizer(place / "model" / "tokenizer.json"), 24, 4)
    (made,) = tokens([("fever " * 9, "cough " * 30, "honey " * 3)])
    assert len(made.ids) == 4 + 4 + 8 + 3  # special ones, the query, half of the other sixteen, a short document
    assert tokens.truncated.queries_cut == tokens.truncated.documents_cut == 1
    assert tokens.truncated.tokens_dropped == 5 + 22
    with pytest.raises(ParameterError, match="max_tokens: expected at least 16, found 15"):
        TripleTokens(Tokenizer(place / "model" / "tokenizer.json"), 15, None)
    with pytest.raises(ParameterError, match="query_tokens: expected a number from 1 to 34, found 35"):
        TripleTokens(Tokenizer(place / "model" / "tokenizer.json"), 40, 35)


def test_duo_learns_its_triples_by_heart(trained: TrainingResult) -> None:
    assert trained.measures["nDCG@10"] > 0.97
    assert trained.measures["comparisons right"] > 0.95
    assert trained.measures["comparisons right"] > trained.before["comparisons right"]


def test_the_scorer_equals_torch_whatever_else_is_compared(place: Path, trained: TrainingResult) -> None:
    import torch
    import transformers

    folder = trained.folder.model
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    assert model.config.type_vocab_size == 3
    scorer = DuoScorer(str(folder), threads=2)
    triples = list(triples_of_run(first_run(place), "q0", 5).values())
    ours = scorer.of_triples(triples)[:, 0]
    theirs = []
    for one in scorer._tokens(triples):
        ids, types = (torch.from_numpy(part)[None] for part in one[:2])
        with torch.inference_mode():
            theirs.append(float(model(input_ids=ids, token_type_ids=types).logits))
    assert ours == pytest.approx(theirs, abs=1e-4)
    assert np.ptp(ours) > 1
    assert scorer.of_triples(triples[::-1])[::-1, 0] == pytest.approx(ours, abs=1e-5)


def test_padding_changes_no_logit_in_torch(place: Path, trained: TrainingResult) -> None:
    import torch
    import transformers

    from rankwell.models.duo.training import TokenisedTexts, TripleBatches

    folder = trained.folder.model
    model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
    tokens = TripleTokens(Tokenizer(folder / "tokenizer.json"), 40, None)
    texts = TokenisedTexts.of(open_pairs(place / "pairs"), tokens)
    triples = triples_of(texts.groups, texts.labels, texts.query_ids, others=3, seed=1)
    batches = TripleBatches(texts, triples, tokens, 0, segments=True)
    places = np.arange(12)
    with torch.inference_mode():
        together = model(**batches.inputs(places)).logits[:, 0]
        alone = torch.cat([model(**batches.inputs(places[one : one + 1])).logits[:, 0] for one in places])
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize(("freeze", "moved"), [("none", True), ("head", False)])
def test_gradients_of_comparisons_reach_the_body_unless_it_is_frozen(
    *, freeze: str, moved: bool, place: Path, tmp_path: Path
) -> None:
    import torch
    from safetensors.torch import load_file

    folder = train(place, tmp_path / "run", replace(SHORT, freeze=freeze)).folder.model
    before, after = (load_file(one / "model.safetensors") for one in (place / "model", folder))
    layers = [name for name in before if name.startswith(("embeddings.word", "encoder"))]
    assert any(not torch.equal(before[name], after[f"bert.{name}"]) for name in layers) == moved
    if not moved:  # the third segment begins as the second
        table = after["bert.embeddings.token_type_embeddings.weight"]
        assert torch.equal(table[2], table[1])
        assert torch.equal(table[:2], before["embeddings.token_type_embeddings.weight"])


def test_the_stage_sums_the_probabilities_of_all_comparisons(place: Path, trained: TrainingResult) -> None:
    folder = str(trained.folder.model)
    stage, run = Duo(folder, k=3, quiet=True), first_run(place)
    found, triples = stage(run), triples_of_run(run, "q0", 3)
    won = dict(zip(triples, sigmoid(DuoScorer(folder).of_triples(list(triples.values()))[:, 0]), strict=True))
    for one in run["q0"].docnos[:3].tolist():
        expected = sum(chance for (first, _), chance in won.items() if first == one)
        assert dict(found["q0"])[one] == pytest.approx(expected, abs=1e-5)
    assert found["q0"].docnos[3:].tolist() == run["q0"].docnos[3:].tolist()  # below k in their old order
    assert stage.inferences(run) == stage.tally.pairs == 2 * 3 * 2


def test_the_relevant_document_wins_from_the_last_place(place: Path, trained: TrainingResult) -> None:
    run = first_run(place)
    for aggregate in ("sum", "binary", "min", "max", "sample:4"):
        found = Duo(str(trained.folder.model), k=5, aggregate=aggregate, quiet=True)(run)
        assert run["q0"].docnos[-1] == "d0-0", aggregate
        assert dict(found["q0"])["d0-0"] == max(dict(found["q0"]).values()), aggregate


def test_lots_depend_on_the_query_and_not_on_its_neighbours(place: Path, trained: TrainingResult) -> None:
    stage = Duo(str(trained.folder.model), k=4, aggregate="sample:1", quiet=True)
    run = first_run(place)
    both = stage(run)
    alone = stage(replace(Run.from_dict({"q1": dict(run["q1"])}), queries=run.queries, documents=run.documents))
    assert dict(both["q1"]) == pytest.approx(dict(alone["q1"]))
    assert stage.inferences(run) == 4 + 4
    assert stage.fingerprint() != replace(stage, seed=7).fingerprint()


def test_comparisons_are_counted_before_they_begin(
    place: Path, trained: TrainingResult, caplog: pytest.LogCaptureFixture
) -> None:
    Duo(str(trained.folder.model), k=4).apply(first_run(place))
    assert "model: 24 comparisons for 2 queries" in caplog.text


def test_duo_is_mixed_with_the_run_it_re_ranks(place: Path, trained: TrainingResult) -> None:
    run = first_run(place)
    mixed = Interpolate(Duo(str(trained.folder.model), k=4, quiet=True), alpha=0.0)(run)
    assert mixed["q0"].docnos.tolist() == run["q0"].docnos.tolist()


def test_a_folder_says_that_it_compares(trained: TrainingResult) -> None:
    folder = str(trained.folder.model)
    assert isinstance(reranker(folder, RerankSettings(k=5)), Duo)
    assert reranker(folder).k == usual_depth(folder) == 20  # and not 100, which would be 9,900 comparisons a query
    with pytest.raises(ParameterError, match=r"rankwell\.models\.families\.reranker makes the stage of a duo model"):
        CrossEncoder(folder, quiet=True).check()
    with pytest.raises(ParameterError, match=r"passages: .* compares whole documents two by two"):
        reranker(folder, RerankSettings(passages=Passages()))
    with pytest.raises(ParameterError, match=r"aggregate: expected sum, binary, min, max, or sample:M"):
        reranker(folder, RerankSettings(aggregate="mean"))


def test_a_plain_model_does_not_compare(place: Path) -> None:
    with pytest.raises(RankwellError, match=r"ranker\.json: expected a ranker of the kind duo"):
        Duo(str(place / "model"), quiet=True).check()


@pytest.mark.parametrize(("name", "wrong"), [("others", 0), ("validation_others", 0), ("measure", "best")])
def test_settings_that_make_no_sense_for_duo_are_refused(name: str, wrong: Any) -> None:
    with pytest.raises(RankwellError, match="expected"):
        DuoSettings(**{name: wrong})


def test_pairs_without_anything_to_compare_teach_duo_nothing(place: Path, tmp_path: Path) -> None:
    with PairsWriter(tmp_path / "pairs", made={}) as writer:
        for number in range(4):
            writer.add(Pair(f"q{number}", "d", "fever", "cough", float(number % 2)))
    with pytest.raises(RankwellError, match="expected queries with documents of different labels"):
        train(place, tmp_path / "run", SHORT, pairs=tmp_path / "pairs")
    assert not (tmp_path / "run").exists()
    with pytest.raises(ParameterError, match="max_tokens: expected a number up to 64"):
        train(place, tmp_path / "run", replace(SHORT, max_tokens=65))


def test_the_command_trains_a_folder_that_re_ranks_a_re_ranked_run(place: Path, tmp_path: Path) -> None:
    texts = {"a": "fever vaccine dose", "b": "honey the a of", "c": "cough"}
    lines = [f'{{"_id": "{name}", "text": "{text}"}}' for name, text in texts.items()]
    (tmp_path / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "queries.jsonl").write_text('{"_id": "1", "text": "fever"}\n')
    (tmp_path / "mono.trec").write_text("1 Q0 b 1 2.0 mono\n1 Q0 a 2 1.5 mono\n1 Q0 c 3 1.0 mono\n")
    options = ["--steps", "2", "--max-tokens", "40", "--threads", "1", "--no-onnx", "--others", "2"]
    command = ["train", "duo", str(place / "pairs"), "--model", str(place / "model"), *options]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "run")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    model = str(tmp_path / "run" / "model")
    again = ["rerank", str(tmp_path / "mono.trec"), "--queries", str(tmp_path / "queries.jsonl"), "--model", model]
    again += ["--documents", str(tmp_path / "corpus.jsonl"), "-k", "2", "--aggregate", "binary"]
    done = CliRunner().invoke(app, [*again, "--out", str(tmp_path / "new.trec")], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    new = [line.split()[2] for line in (tmp_path / "new.trec").read_text().splitlines()]
    assert sorted(new[:2]) == ["a", "b"]
    assert new[2] == "c"
    done = CliRunner().invoke(app, ["models", "show", model], catch_exceptions=False)
    assert "kind:          duo" in done.output

"""New words in a vocabulary: which, how texts are cut afterwards, and what their embeddings start as."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from masked_models import LETTERS, VOCABULARY, opened, write_model
from typer.testing import CliRunner

from needs import require_train
from rankwell.cli import app
from rankwell.core import Document, ParameterError, RankwellError
from rankwell.models.base import TokenCounter, load_text_encoder
from rankwell.models.base.folder import ModelFolder
from rankwell.models.language_model.settings import is_held_out
from rankwell.models.language_model.vocabulary import (
    WordCounts,
    WordSplitter,
    count_collection,
    extend_tokenizer,
    extend_vocabulary,
    length_change,
    missing_words,
)

DOCUMENTS = [
    Document("1", {"title": "Covid fever", "text": "Interferon, covid and COVID-19: the covids of mice."}),
    Document("2", {"title": "Interferon", "text": "Interferon was high in 2020 2020 2020; zebra zebra."}),
]


@pytest.fixture(scope="module")
def body(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return Path(write_model(tmp_path_factory.mktemp("models") / "body"))


def count_words(documents: list[Document], tokenizer: Any) -> WordCounts:
    split, counts = WordSplitter(tokenizer), WordCounts()
    for document in documents:
        counts.add(document, split)
    return counts


def extended(body: Path, out: Path, **options: Any) -> Any:
    return extend_vocabulary(count_collection(DOCUMENTS, str(body), held_out=0), str(body), out, **options)


def test_words_are_counted_as_the_tokenizer_splits_them(body: Path) -> None:
    counts = count_words(DOCUMENTS, opened(body))
    assert counts.words["title"] == {"covid": 1, "fever": 1, "interferon": 1}
    assert counts.total()["covid"] == 3  # Covid, covid, COVID-19; covids is another word
    assert counts.texts == {"title": 2, "text": 2}


def test_the_most_frequent_broken_words_come_first_and_equal_ones_by_the_alphabet(body: Path) -> None:
    counts = {"covid": 4, "interferon": 9, "fever": 50, "zebra": 4, "2020": 70, "q": 8, "once": 1, "[MASK]": 3}
    assert missing_words(counts, opened(body)) == ["interferon", "covid", "zebra"]
    assert missing_words(counts, opened(body), most=1) == ["interferon"]
    assert missing_words(counts, opened(body), at_least=1)[-1] == "once"


def test_asking_for_no_word_is_refused(body: Path) -> None:
    with pytest.raises(ParameterError, match="words: expected a number from 1, found 0"):
        missing_words({}, opened(body), most=0)


def test_a_new_word_is_one_token_and_longer_words_begin_with_it(body: Path) -> None:
    tokenizer = extend_tokenizer(body, ["covid"]).tokenizer()
    assert opened(body).encode("covids", add_special_tokens=False).tokens == ["co", "##vid", "##s"]
    assert tokenizer.encode("Covid covids", add_special_tokens=False).tokens == ["covid", "covid", "##s"]
    assert tokenizer.encode("precovid", add_special_tokens=False).tokens[-2:] != ["covid"]  # not inside of words


def test_old_entries_keep_their_numbers(body: Path) -> None:
    old, new = opened(body).get_vocab(), extend_tokenizer(body, ["covid", "zebra"]).tokenizer().get_vocab()
    assert new == {**old, "covid": len(old), "zebra": len(old) + 1}


@given(texts=st.lists(st.text(alphabet=LETTERS + " .-ÄéB\u4e2d[]", max_size=40), max_size=5))
def test_lengths_by_counting_words_equal_lengths_by_encoding_texts(body: Path, texts: list[str]) -> None:
    documents = [Document(str(number), {"text": text}) for number, text in enumerate(texts)]
    before, after = opened(body), extend_tokenizer(body, ["covid", "ab", "b1"]).tokenizer()
    full = [text for text in texts if text]
    lengths = length_change(count_words(documents, before), before, after)
    for tokenizer, found in ((before, [x.before for x in lengths]), (after, [x.after for x in lengths])):
        encoded = [len(one.ids) for one in tokenizer.encode_batch(full, add_special_tokens=False)]
        assert found == ([pytest.approx(sum(encoded) / len(full))] if full else [])


def test_the_folder_loads_everywhere_with_the_same_tokens(body: Path, tmp_path: Path) -> None:
    from transformers import AutoTokenizer, BertTokenizer

    made = extended(body, tmp_path / "new", words=2)
    assert made.words == ("covid", "interferon")
    ours = opened(tmp_path / "new").encode("Covids of interferon").ids
    assert AutoTokenizer.from_pretrained(tmp_path / "new")("Covids of interferon")["input_ids"] == ours
    from_list = BertTokenizer(str(tmp_path / "new" / "vocab.txt"))
    assert from_list("Covids of interferon")["input_ids"] == ours
    assert TokenCounter(str(tmp_path / "new"))(["covid interferon"]) == [2]
    assert load_text_encoder(str(tmp_path / "new")).encode(["covid interferon"]).shape == (1, 16)


def test_a_new_embedding_is_the_mean_of_its_pieces_and_old_ones_stay(body: Path, tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel

    extended(body, tmp_path / "new", words=1)
    old = AutoModel.from_pretrained(body).get_input_embeddings().weight
    new = AutoModel.from_pretrained(tmp_path / "new").get_input_embeddings().weight
    pieces = [VOCABULARY.index("co"), VOCABULARY.index("##vid")]
    assert torch.equal(new[:-1], old)
    assert torch.allclose(new[-1], old[pieces].mean(dim=0))


def test_a_head_keeps_its_weights_and_learns_the_new_words_bias(tmp_path: Path) -> None:
    require_train()
    import torch
    from transformers import BertForMaskedLM

    body = Path(write_model(tmp_path / "old", "BertForMaskedLM"))
    model = BertForMaskedLM.from_pretrained(body)
    with torch.no_grad():
        model.cls.predictions.bias.copy_(torch.arange(len(VOCABULARY), dtype=torch.float32))
    model.save_pretrained(body)
    extended(body, tmp_path / "new", words=1)
    new = BertForMaskedLM.from_pretrained(tmp_path / "new")
    pieces = [VOCABULARY.index("co"), VOCABULARY.index("##vid")]
    assert new.cls.predictions.decoder.bias.tolist() == [*range(len(VOCABULARY)), sum(pieces) / 2]
    assert new.get_output_embeddings().weight is new.get_input_embeddings().weight


def test_spare_rows_are_used_before_the_table_grows(tmp_path: Path) -> None:
    body = Path(write_model(tmp_path / "old"))
    from transformers import AutoModel

    model = AutoModel.from_pretrained(body)
    model.resize_token_embeddings(len(VOCABULARY) + 8, mean_resizing=False)
    model.save_pretrained(body)
    extended(body, tmp_path / "new", words=2)
    assert ModelFolder.find(str(tmp_path / "new")).config["vocab_size"] == len(VOCABULARY) + 8


def test_words_of_held_out_documents_are_not_chosen(body: Path, tmp_path: Path) -> None:
    ids = [str(number) for number in range(200)]
    kept = next(number for number in ids if is_held_out(number, 0.1))
    documents = [Document(i, {"text": "zebra zebra" if i == kept else "covid fever"}) for i in ids]
    found = count_collection(documents, str(body), held_out=0.1)
    assert "zebra" not in found.learnt.total()
    assert extend_vocabulary(found, str(body), tmp_path / "new").words == ("covid",)


def test_a_tokenizer_without_word_pieces_is_refused(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text(json.dumps({"model": {"type": "BPE"}}))
    with pytest.raises(RankwellError, match=r"expected a WordPiece tokenizer, .* found BPE"):
        extend_tokenizer(tmp_path, ["covid"])


def test_a_collection_whose_words_are_all_known_is_refused(body: Path, tmp_path: Path) -> None:
    found = count_collection([Document("1", {"text": "the fever of mice"})], str(body), held_out=0)
    with pytest.raises(RankwellError, match=r"expected frequent words that .* breaks into pieces, found none"):
        extend_vocabulary(found, str(body), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_the_command_reports_lengths_and_refuses_a_place_that_is_taken(body: Path, tmp_path: Path) -> None:
    lines = [json.dumps({"id": d.id, **d.fields}) for d in DOCUMENTS]
    (tmp_path / "papers.jsonl").write_text("\n".join(lines))
    command = ["train", "vocabulary", str(tmp_path / "papers.jsonl"), "--model", str(body), "--held-out", "0"]
    done = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "new"), "--words", "2", "--output", "csv"])
    assert done.exit_code == 0
    assert done.stdout.splitlines()[:2] == ["field,texts,tokens before,tokens after,change", "title,2,3.5,1.5,-57.1%"]
    again = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "new")])
    assert isinstance(again.exception, RankwellError)
    assert "expected an empty folder or none" in str(again.exception)

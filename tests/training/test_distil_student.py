"""Students: made of a teacher's layers with exactly these weights, narrower ones, and models of their own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rankwell.core import ParameterError, RankwellError
from rankwell.models.base.folder import ModelFolder
from rankwell.models.distillation.student import Student, find_teacher, layer_map, load_teacher, score_of
from tiny_models import needs_torch, tiny_bert, tiny_model

needs_torch()

CLASSIFIER = "BertForSequenceClassification"


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> ModelFolder:
    """A cross-encoder with one label and four layers, each of which changes the scores a lot."""
    folder = tmp_path_factory.mktemp("students") / "teacher"
    return find_teacher(str(tiny_bert(folder, layers=4, head=CLASSIFIER, num_labels=1, initializer_range=0.5)))


def given(tokens: int = 12) -> dict[str, Any]:
    import torch

    ids = torch.randint(5, 60, (3, tokens), generator=torch.Generator().manual_seed(1))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "token_type_ids": torch.zeros_like(ids)}


@pytest.mark.parametrize(
    ("told", "student", "expected"),
    [
        ("evenly", 6, (2, 4, 6, 8, 10, 12)),
        ("evenly", 3, (4, 8, 12)),
        ("evenly", 12, tuple(range(1, 13))),
        ("every-second", 6, (2, 4, 6, 8, 10, 12)),
        ("first", 3, (1, 2, 3)),
        ("last", 3, (10, 11, 12)),
        ("1,5,12", 3, (1, 5, 12)),
    ],
)
def test_layers_are_chosen_by_name_or_number(told: str, student: int, expected: tuple[int, ...]) -> None:
    assert layer_map(told, student, 12) == expected


@pytest.mark.parametrize(
    ("told", "student", "message"),
    [
        ("2,4,13", 3, "each from 1 to 12, found"),
        ("0,2,4", 3, "each from 1 to 12, found"),
        ("middle", 3, "evenly, every-second, first, last"),
        ("2,4", 3, "expected 3 different numbers"),
        ("4,2,6", 3, "in their order"),
        ("every-second", 3, "every second of 12 layers are 6"),
        ("evenly", 13, "from 1 to 12 layers"),
        ("evenly", 0, "from 1 to 12 layers"),
    ],
)
def test_layers_that_the_teacher_has_not_are_refused(told: str, student: int, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        layer_map(told, student, 12)


def test_a_student_has_exactly_the_weights_of_the_chosen_layers(teacher: ModelFolder) -> None:
    import torch

    source = load_teacher(teacher).state_dict()
    made = Student.parse("teacher:2").make(teacher, "2,3", None).state_dict()
    assert made
    for name, tensor in made.items():
        its = name.replace("layer.0.", "layer.x.").replace("layer.1.", "layer.2.").replace("layer.x.", "layer.1.")
        assert torch.equal(tensor, source[its]), name


def test_a_student_with_all_layers_says_what_the_teacher_says(teacher: ModelFolder) -> None:
    import torch

    made = Student.parse("teacher:4").make(teacher, "evenly", None).eval()
    with torch.inference_mode():
        wanted = load_teacher(teacher)(**given()).logits
        torch.testing.assert_close(made(**given()).logits, wanted, atol=1e-4, rtol=1e-4)
        layers = made.bert.encoder.layer
        layers[1], layers[2] = layers[2], layers[1]  # another order of layers is far away
        assert (made(**given()).logits - wanted).abs().max() > 0.01


def test_of_two_labels_the_student_has_the_difference(tmp_path: Path) -> None:
    import torch

    folder = find_teacher(str(tiny_bert(tmp_path / "two", layers=2, head=CLASSIFIER, num_labels=2)))
    made = Student.parse("teacher:2").make(folder, "evenly", None).eval()
    with torch.inference_mode():
        theirs = load_teacher(folder)(**given()).logits
        assert made(**given()).logits[:, 0].tolist() == pytest.approx((theirs[:, 1] - theirs[:, 0]).tolist(), abs=1e-6)
        assert score_of(theirs).tolist() == (theirs[:, 1] - theirs[:, 0]).tolist()


def test_a_narrower_student_has_the_teachers_shape_in_small(
    teacher: ModelFolder, caplog: pytest.LogCaptureFixture
) -> None:
    made = Student.parse("teacher:3x8").make(teacher, "evenly", None)
    config = made.config
    assert (config.num_hidden_layers, config.hidden_size, config.intermediate_size) == (3, 8, 16)
    assert config.num_attention_heads == 2
    assert made(**given()).logits.shape == (3, 1)
    assert "start at random" in caplog.text


@pytest.mark.parametrize("told", ["teacher:", "teacher:6x", "teacher:six", "teacher:6,3"])
def test_a_student_that_is_not_understood_is_refused(told: str) -> None:
    with pytest.raises(ParameterError, match="student: expected teacher:6, teacher:3x192, a folder or a name"):
        Student.parse(told)


def test_a_width_that_heads_cannot_share_is_refused(teacher: ModelFolder) -> None:
    with pytest.raises(ParameterError, match="a width that 2 attention heads"):
        Student.parse("teacher:2x7").make(teacher, "evenly", None)


def test_more_layers_than_the_teacher_has_are_refused(teacher: ModelFolder) -> None:
    with pytest.raises(ParameterError, match="from 1 to 4 layers"):
        Student.parse("teacher:5").make(teacher, "evenly", None)


def test_a_teacher_that_is_no_cross_encoder_is_refused(tmp_path: Path) -> None:
    body = tiny_bert(tmp_path / "body")
    with pytest.raises(RankwellError, match=r"expected a cross-encoder .*, found BertModel"):
        find_teacher(str(body))


def test_a_teacher_with_many_labels_is_refused(tmp_path: Path) -> None:
    folder = tiny_bert(tmp_path / "five", head=CLASSIFIER, num_labels=5)
    with pytest.raises(RankwellError, match=r"expected a teacher with 1 label \(relevant\) or 2, found 5"):
        find_teacher(str(folder))


def test_layers_that_share_their_weights_make_no_student(tmp_path: Path) -> None:
    sizes = {"hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 32, "num_hidden_layers": 2}
    folder = tiny_model(
        tmp_path / "albert", "AlbertConfig", "AlbertForSequenceClassification", embedding_size=8, num_labels=1, **sizes
    )
    with pytest.raises(RankwellError, match="expected layers with weights of their own, found shared ones"):
        Student.parse("teacher:1").make(find_teacher(str(folder)), "evenly", None)


@pytest.mark.parametrize(
    ("config", "kind", "sizes"),
    [
        ("RobertaConfig", "Roberta", {"hidden_size": 16, "intermediate_size": 32, "max_position_embeddings": 66}),
        ("DistilBertConfig", "DistilBert", {"dim": 16, "hidden_dim": 32, "n_layers": 3, "n_heads": 2}),
        ("ElectraConfig", "Electra", {"hidden_size": 16, "intermediate_size": 32, "embedding_size": 8}),
    ],
)
def test_other_encoders_are_teachers_too(config: str, kind: str, sizes: dict[str, int], tmp_path: Path) -> None:
    """All layers kept, so that both say the same; then narrower ones of two layers."""
    import torch

    from rankwell.models.distillation.losses import observe

    if kind != "DistilBert":
        sizes = {**sizes, "num_attention_heads": 2, "num_hidden_layers": 3}
    folder = tiny_model(tmp_path / "teacher", config, f"{kind}ForSequenceClassification", num_labels=2, **sizes)
    teacher = find_teacher(str(folder))
    inner = load_teacher(teacher)
    inputs = {name: tensor for name, tensor in given().items() if name != "token_type_ids"}
    same = Student.parse("teacher:3").make(teacher, "evenly", None).eval()
    with torch.inference_mode():
        scores = score_of(inner(**inputs).logits)
        assert same(**inputs).logits[:, 0].tolist() == pytest.approx(scores.tolist(), abs=1e-6)
        seen = observe(inner, inputs, (1, 3))
    assert [len(seen.hidden), seen.attention[1].shape] == [4, (3, 2, 12, 12)]
    narrow = Student.parse("teacher:2x8").make(teacher, "evenly", None)
    assert (narrow.config.num_hidden_layers, narrow.config.hidden_size) == (2, 8)


def test_attention_is_what_the_model_computes_before_its_softmax(teacher: ModelFolder) -> None:
    """transformers tells the probabilities after the softmax: ours, through the softmax, are the same."""
    import torch

    from rankwell.models.distillation.losses import observe

    inner = load_teacher(teacher)
    inner.set_attn_implementation("eager")
    with torch.inference_mode():
        theirs = inner(**given(), output_attentions=True).attentions
        ours = observe(inner, given(), (2, 4)).attention
    for scores, number in zip(ours, (2, 4), strict=True):
        assert torch.allclose(torch.softmax(scores, dim=-1), theirs[number - 1], atol=1e-6)

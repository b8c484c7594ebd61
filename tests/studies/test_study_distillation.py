from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rankwell.core.fingerprint import fingerprint_file
from rankwell.studies import described, study_schema
from rankwell.studies.file.errors import LineError, StudyError
from rankwell.studies.file.reading import parse_study
from rankwell.studies.plan.cells import CellStore
from rankwell.studies.plan.collections import CollectionFinder
from rankwell.studies.plan.cost import estimate
from rankwell.studies.plan.plan import Plan, make_plan
from rankwell.studies.recipes import recipe_of
from rankwell.studies.recipes.training import TrainJob, joined
from rankwell.studies.report.finished import Figure
from rankwell.studies.report.tables import shares_of
from small_study import begun, told, write_collection
from tiny_models import TOPICS, needs_torch, tiny_bert, topic_pairs

needs_torch()

STUDY = '''
title = "Students"
seed = 5
[models]
"labels" = "labelled(from=Wards, negatives='hard:1') | distil('TEACHER', teacher:1, $labels, $size)"
"distilled" = """
unlabelled(from=Wards, negatives='hard:2,random:1')
| distil('TEACHER', student=teacher:1, weights='hard=0', steps=6, $size, validate='Wards, later', evaluate_every=3)"""
[[collection]]
name = "Diseases"
source = "diseases"
[[collection]]
name = "Wards"
source = "wards"
split = "train"
measured = false
[[collection]]
name = "Wards, later"
source = "wards"
split = "dev"
measured = false
[[table]]
name = "students"
title = "Students"
measures = ["nDCG@10"]
optional = ["distilled"]
[table.rows]
"BM25" = "bm25"
"teacher" = "bm25 | top 4 | cross-encoder('TEACHER')"
"distilled" = "bm25 | top 4 | cross-encoder(distilled)"
"labels" = "bm25 | top 4 | cross-encoder(labels)"
'''.replace("$size", "batch_size=4, max_tokens=32").replace("$labels", "method=soft, weights='soft=0,hard=1', steps=4")


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("teacher") / "model"
    return tiny_bert(folder, layers=2, head="BertForSequenceClassification", num_labels=1)


def collections(folder: Path, *, texts: str = "is seen on ward") -> Path:
    """Diseases, to be measured, and wards, to learn from."""
    write_collection(folder)
    place = folder / "wards"
    (place / "qrels").mkdir(parents=True)
    documents = [{"_id": f"w{n}", "title": "", "text": f"patient {n % 4} {texts} {TOPICS[n]}"} for n in range(12)]
    queries = [{"_id": f"q{number}", "text": f"patient {number}"} for number in range(6)]
    for name, rows in (("corpus", documents), ("queries", queries)):
        (place / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for split, numbers in (("train", range(4)), ("dev", range(4, 6))):
        rows = [f"q{number}\tw{number}\t1\nq{number}\tw{number + 1}\t0" for number in numbers]
        (place / "qrels" / f"{split}.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]))
    return folder


def planned(text: str, teacher: Path, data: Path, memory: Path) -> Plan:
    return make_plan(parse_study(text.replace("TEACHER", str(teacher))), CollectionFinder(data, memory))


def trained(plan: Plan) -> dict[str, str]:
    """The cells that train, by the ends of their titles."""
    return {c.title.partition("train ")[2]: key for key, c in plan.cells.items() if isinstance(c.job, TrainJob)}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("unlabelled | fine-tune(x)", "which only distil can learn from"),
        ("unlabelled | labelled | fine-tune(x)", "which only distil can learn from"),
        ("unlabelled | distil(x)", "distil: expected student"),
        ("unlabelled | distil(x, teacher:six)", "expected teacher:6, teacher:3x192, a folder or a name"),
        ("unlabelled | distil(x, teacher:6, method=bert)", "method: expected one of (tinybert"),
        ("unlabelled | distil(x, teacher:6, weights='hiden=2')", "weights: expected losses among"),
        ("unlabelled | distil(x, teacher:6, weights='hidden=much')", "weights: expected losses with numbers"),
        (
            "unlabelled | distil(x, teacher:6, method=soft, weights='soft=0,hard=1')",
            "expected labels for the hard loss",
        ),
        ("unlabelled | distil(x, teacher:6, measure='nDGC@10')", "nDGC"),
        ("unlabelled | distil(x, teacher:6, temprature=2)", "did you mean temperature?"),
        ("unlabelled(negatives='judged:all') | distil(x, y)", "without judgments"),
        ("unlabelled(form=Wards) | distil(x, y)", "did you mean from?"),
        ("unlabelled(from=Ward) | distil(x, y)", "did you mean Wards?"),
        ("unlabelled | distil(x, y, validate=Ward)", "distil: validate: expected a collection that is no stand-in"),
        ("unlabelled | distil(x, y, steps=0)", "steps: expected a whole number from 1"),
        ("labelled | parade(x, aggregate=sum)", "aggregate: expected one of (avg, max"),
        ("labelled(passages='100:30') | parade(x)", "expected pairs of whole documents, or of passages 150:50"),
        ("distil(x, y)", "expected pairs | training"),
    ],
)
def test_a_mistake_in_a_recipe_of_a_student_is_told(line: str, says: str) -> None:
    with pytest.raises(LineError) as raised:
        recipe_of(line, ["Wards", "Diseases"])
    assert says in raised.value.message


def test_a_collection_that_is_not_there_is_told_with_its_place() -> None:
    with pytest.raises(StudyError) as raised:
        parse_study(STUDY.replace("labelled(from=Wards", "labelled(from=Word"), "my.toml")
    assert str(raised.value).startswith("my.toml:5:22: labelled: from: expected a collection that is no stand-in")
    assert str(raised.value).endswith('found "Word": did you mean Wards?')


@pytest.mark.parametrize(
    ("change", "at"), [(("unlabelled(from=", "unlabelled(form="), "7:12"), (("student=", "studnt="), "8:21")]
)
def test_a_mistake_in_a_line_of_several_lines_has_its_place(change: tuple[str, str], at: str) -> None:
    with pytest.raises(StudyError) as raised:
        parse_study(STUDY.replace(*change), "my.toml")
    assert str(raised.value).startswith(f"my.toml:{at}: ")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (('split = "dev"', 'train = "dev"'), 'collection.2.train: expected "split"'),
        (('split = "dev"', "held_back = 0.1"), 'collection.2.held_back: expected "split"'),
        (('split = "dev"\n', 'instead_of = "Diseases"\n'), "expected measured = true, as Diseases has it"),
        (
            ('source = "diseases"\n', 'source = "diseases"\nmeasured = false\n'),
            "expected a collection that is measured",
        ),
    ],
)
def test_a_collection_that_is_only_trained_on_needs_no_more_than_a_split(change: tuple[str, str], says: str) -> None:
    with pytest.raises(StudyError) as raised:
        parse_study(STUDY.replace(*change))
    assert says in str(raised.value)


def test_a_model_learns_from_one_collection_and_is_measured_on_another(teacher: Path, tmp_path: Path) -> None:
    plan = planned(STUDY, teacher, collections(tmp_path), tmp_path / "memory")
    assert [chosen.name for chosen in plan.collections] == ["Diseases"]
    assert {row.collection.name for row in plan.rows} == {"Diseases"}
    cell = plan.cells[trained(plan)["distilled"]]
    assert cell.title == "Wards: train distilled"
    made_of = [plan.cells[key].title for key in cell.parents]
    assert made_of == ["Wards: index", "Wards, later: index"]
    measured_on = plan.cells[next(row for row in plan.rows if row.row.name == "distilled").run.key]
    assert [plan.cells[key].title for key in measured_on.parents][:2] == ["Diseases: index", cell.title]


def test_a_model_is_trained_once_for_all_collections_that_are_measured(teacher: Path, tmp_path: Path) -> None:
    other = '[[collection]]\nname = "Again"\nsource = "diseases"\nsplit = "test"\n[[table]]'
    plan = planned(STUDY.replace("[[table]]", other), teacher, collections(tmp_path), tmp_path / "memory")
    assert len(plan.collections) == 2
    assert len([cell for cell in plan.cells.values() if isinstance(cell.job, TrainJob)]) == 2


def test_what_is_learnt_from_and_what_decides_are_part_of_a_models_name(teacher: Path, tmp_path: Path) -> None:
    data = collections(tmp_path / "a")
    cells = trained(planned(STUDY, teacher, data, tmp_path / "memory"))
    renamed = STUDY.replace("from=Wards", "from=Rooms").replace('name = "Wards"', 'name = "Rooms"')
    assert trained(planned(renamed, teacher, data, tmp_path / "memory")) == cells
    undecided = trained(planned(STUDY.replace("validate='Wards, later', ", ""), teacher, data, tmp_path / "memory"))
    assert undecided["labels"] == cells["labels"]
    assert undecided["distilled"] != cells["distilled"]
    fewer = trained(planned(STUDY.replace("hard:2,random:1", "hard:2"), teacher, data, tmp_path / "memory"))
    assert (fewer["labels"], fewer["distilled"] != cells["distilled"]) == (cells["labels"], True)
    elsewhere = trained(planned(STUDY, teacher, collections(tmp_path / "b", texts="lies on"), tmp_path / "memory"))
    assert not set(elsewhere.values()) & set(cells.values())


def test_changed_training_judgments_are_another_training(teacher: Path, tmp_path: Path) -> None:
    text = """
title = "Wards alone"
[models]
"labels" = "labelled | fine-tune('TEACHER', max_tokens=32)"
[[collection]]
name = "Wards"
source = "wards"
split = "dev"
train = "train"
[[table]]
name = "main"
title = "Wards"
measures = ["RR@10"]
rows = { labels = "bm25 | cross-encoder(labels)" }
"""
    data = collections(tmp_path)
    before = planned(text, teacher, data, tmp_path / "memory").cells
    judged = data / "wards" / "qrels" / "train.tsv"
    judged.write_text(judged.read_text().replace("w3\t1", "w3\t0"))
    after = planned(text, teacher, data, tmp_path / "memory").cells
    kept = [cell.title for key, cell in after.items() if key in before]
    assert kept == ["Wards: index", "Wards: bm25", "Wards: bm25 | null"]


def test_where_nothing_to_learn_from_is_here_the_row_is_left_out_with_a_reason(teacher: Path, tmp_path: Path) -> None:
    data = write_collection(tmp_path)
    text = STUDY.replace('"labels" = "bm25 | top 4 | cross-encoder(labels)"\n', "")
    plan = planned(text, teacher, data, tmp_path / "memory")
    assert [left.why for left in plan.left_out] == ["expected wards to train on, found none of it here"]
    with pytest.raises(StudyError, match="labels on Diseases: expected wards to train on, found none of it here"):
        planned(STUDY, teacher, data, tmp_path / "memory")


def test_the_bundled_collection_is_measured_and_learnt_from_where_nothing_else_is_here(
    teacher: Path, tmp_path: Path
) -> None:
    text = STUDY.replace(
        "[[table]]",
        '[[collection]]\nname = "Any"\nsource = "rankwell:python"\ninstead_of = "any"\nheld_back = 0.5\n[[table]]',
    )
    plan = planned(text, teacher, tmp_path, tmp_path / "memory")
    job = plan.cells[trained(plan)["distilled"]].job
    assert isinstance(job, TrainJob)
    assert [source.chosen.name for source in job.sources] == ["Any"]
    assert job.validation is None  # nothing is left to decide with
    chosen = plan.collections[0]
    assert not set(chosen.judged()[0]) & set(chosen.to_train_on()[0])


def test_a_measured_query_is_not_learnt_from_under_another_name(teacher: Path, tmp_path: Path) -> None:
    text = STUDY.replace('source = "wards"\nsplit = "train"', 'source = "diseases"\nsplit = "test"')
    with pytest.raises(StudyError, match="expected other queries of Wards than those that are measured on Diseases"):
        planned(text.replace('optional = ["distilled"]\n', ""), teacher, collections(tmp_path), tmp_path / "memory")


def test_queries_without_judgments_can_be_learnt_from(teacher: Path, tmp_path: Path) -> None:
    data = collections(tmp_path)
    for file in (data / "wards" / "qrels").iterdir():
        file.unlink()
    text = STUDY.replace('split = "train"\n', "").replace("validate='Wards, later', ", "")
    text = text.replace(
        '[[collection]]\nname = "Wards, later"\nsource = "wards"\nsplit = "dev"\nmeasured = false\n', ""
    )
    with pytest.raises(StudyError, match="labels on Diseases: expected judgments of Wards, found none"):
        planned(text, teacher, data, tmp_path / "memory")
    plan = planned(
        text.replace('"labels" = "bm25 | top 4 | cross-encoder(labels)"\n', ""), teacher, data, tmp_path / "m"
    )
    assert plan.trainable["Wards"].facts.queries == 6
    assert not plan.left_out


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (("student=teacher:1", "student=teacher:5"), "expected from 1 to 2 layers"),
        (("student=teacher:1", "student=teacher:1, layers='3'"), "each from 1 to 2"),
        (("student=teacher:1", "student=teacher:1, targets='3'"), "each from 1 to 2"),
        (("student=teacher:1", "student=no-such-model"), "no-such-model: expected a folder with a model"),
        (("unlabelled(from", "unlabelled(document='{body}', from"), "expected a field body of Wards"),
    ],
)
def test_a_student_that_cannot_be_made_is_told_before_anything_runs(
    change: tuple[str, str], says: str, teacher: Path, tmp_path: Path
) -> None:
    text = STUDY.replace(*change).replace('optional = ["distilled"]\n', "")
    with pytest.raises(StudyError) as raised:
        planned(text, teacher, collections(tmp_path), tmp_path / "memory")
    assert says in str(raised.value)


def test_the_cost_has_what_the_teacher_reads(teacher: Path, tmp_path: Path) -> None:
    plan = planned(STUDY, teacher, collections(tmp_path), tmp_path / "memory")
    costs = {cost.model: cost for cost in estimate(plan, CellStore(tmp_path / "cells"), 1).costs}
    # Five queries with four documents; and with its student at each of 6 steps of 4 pairs, which looks inside it.
    assert costs[str(teacher)].amount == 5 * 4 + 6 * 4
    assert costs["Wards: train distilled"].amount == 6 * 4
    asked_once = STUDY.replace("weights='hard=0'", "method=soft")
    plan = planned(asked_once, teacher, tmp_path, tmp_path / "memory")
    costs = {cost.model: cost for cost in estimate(plan, CellStore(tmp_path / "cells"), 1).costs}
    assert costs[str(teacher)].amount == 5 * 4 + 4 * 3  # four training queries with three documents


def test_a_row_has_its_share_of_the_baseline() -> None:
    first = {"RR@10": Figure(0.8), "pairs/s": Figure(20.0)}
    found = shares_of({"RR@10": Figure(0.6, "a"), "pairs/s": Figure(70.0, "a")}, first, "RR@10", "teacher")
    assert {name: round(figure.value, 6) for name, figure in found.items()} == {
        "% of teacher": 75.0,
        "times as fast": 3.5,
    }
    assert not shares_of({"RR@10": Figure(0.6)}, {"RR@10": Figure(0.0)}, "RR@10", "teacher")
    with pytest.raises(StudyError, match="expected a baseline that rows have a share of"):
        parse_study(STUDY.replace("optional =", 'share = true\nbaseline = "none"\noptional ='))


def test_pairs_of_several_steps_are_put_together(tmp_path: Path) -> None:
    one, other = topic_pairs(tmp_path / "one", queries=3), topic_pairs(tmp_path / "other", queries=2, seed=2)
    both = joined([one, other], tmp_path / "both")
    assert len(both) == len(one) + len(other)
    rows = list(both.rows())
    assert [row.document for row in rows] == [row.document for pairs in (one, other) for row in pairs.rows()]
    assert len({row.query_id for row in rows}) == len({row.group for row in rows}) == 5


def test_an_editor_and_a_reader_are_told_of_recipes_and_of_what_is_trained_on() -> None:
    schema = study_schema()["properties"]
    told = schema["models"]["additionalProperties"]["description"]
    assert "distil(teacher, student, validate, max_tokens, measure, method" in told
    assert "measured" in schema["collection"]["items"]["properties"]
    shown = list(described(parse_study(STUDY)))
    assert "collection Wards: wards, to train on" in shown
    assert any(line.startswith("model labels: labelled(from=Wards") for line in shown)


@pytest.mark.slow
def test_a_student_is_trained_measured_and_the_same_after_a_kill(teacher: Path, tmp_path: Path) -> None:
    data = collections(tmp_path / "data")
    text = STUDY.replace("TEACHER", str(teacher)).replace("steps=6", "steps=15")
    text = text.replace('"labels" = "bm25 | top 4 | cross-encoder(labels)"\n', "")
    undisturbed, killed = begun(tmp_path / "a", text, data=data), begun(tmp_path / "b", text, data=data)
    rows = {row["row"]: row["figures"]["nDCG@10"] for row in told(undisturbed)["tables"][0]["rows"]}
    record = undisturbed.store.find(undisturbed.store.find(rows["distilled"]["cell"])["parents"][1])
    assert (record["title"], record["trained_on"], record["decided_by"]) == ("Wards: train distilled", 12, 4)

    command = [sys.executable, "-m", "rankwell", "study", "resume", str(killed.path), "--jobs=1", "--quiet"]
    process = subprocess.Popen([*command, "--threads=1"], stdout=subprocess.DEVNULL, start_new_session=True)
    while not list(killed.path.glob("training/*/run/checkpoints/*")) and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert list((killed.path / "training").iterdir()), "it was too quick to be killed"

    # Told to take another number of threads, training goes on with those it was begun with.
    assert (
        subprocess.run([*command, "--threads=2"], stdout=subprocess.DEVNULL, timeout=300, check=False).returncode == 0
    )
    models = [folder.store.path(record["key"]) / "model" / "model.safetensors" for folder in (undisturbed, killed)]
    assert fingerprint_file(models[0]) == fingerprint_file(models[1])
    assert not list((killed.path / "training").iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("trained", ["parade('TEACHER', passages='4:2', $size)", "duo('TEACHER', others=2, $size)"])
def test_a_ranker_and_a_student_of_several_collections_are_trained_and_measured(
    trained: str, teacher: Path, tmp_path: Path
) -> None:
    models = """
"labels" = "labelled(from=Wards, negatives='hard:1') | $trained"
"distilled" = "unlabelled(from=Wards, limit=6) | unlabelled(from='Wards, later', limit=8) | distil('TEACHER', $same)"
"""
    same = "student='TEACHER', method=margin-mse, steps=2, batch_size=4, max_tokens=32"
    models = models.replace("$trained", trained.replace("$size", "max_tokens=32, epochs=1"))
    text = STUDY[: STUDY.index('"labels"')] + models.replace("$same", same) + STUDY[STUDY.index("[[collection]]") :]
    folder = begun(tmp_path, text.replace("TEACHER", str(teacher)), data=collections(tmp_path / "data"))
    rows = {row["row"]: row["figures"]["nDCG@10"] for row in told(folder)["tables"][0]["rows"]}
    assert set(rows) == {"BM25", "control: re-ranks nothing", "teacher", "distilled", "labels"}
    record = folder.store.find(folder.store.find(rows["distilled"]["cell"])["parents"][1])
    assert record["title"] == "Wards + Wards, later: train distilled"
    assert 8 <= record["trained_on"] <= 14
    made = folder.store.find(folder.store.find(rows["labels"]["cell"])["parents"][1])
    assert (folder.store.path(made["key"]) / "model" / "ranker.json").is_file()

"""Reviews with their lists of studies, in the three forms in which people have them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rankwell.collections import Problems, Reading
from rankwell.core import RankwellError
from rankwell.reviews import ListedStudy, read_reviews
from rankwell.reviews.review_files import Review

SORE_THROAT = Review(
    "CD000023",
    "Antibiotics for sore throat",
    included=(ListedStudy("Do patients benefit from penicillin?", 1992, "Dagnelie CF; van der Graaf Y"),),
    excluded=(ListedStudy("Aetiology of pharyngitis", 1990, "Davies HD"), ListedStudy("No year", None, "")),
    date="2013-11-05",
)
AS_JSON = {
    "id": "CD000023",
    "title": "Antibiotics for  sore throat",
    "date": "2013-11-05",
    "included": [
        {"title": "Do patients benefit from penicillin?", "year": 1992, "authors": ["Dagnelie CF", "van der Graaf Y"]}
    ],
    "excluded": [{"title": "Aetiology of pharyngitis", "year": "1990", "authors": "Davies HD"}, "No year"],
}
AS_CSV = """review_id,review_title,review_date,title,year,authors,label
CD000023,Antibiotics for sore throat,2013-11-05,Do patients benefit from penicillin?,1992,Dagnelie CF; van der Graaf Y,1
CD000023,Antibiotics for sore throat,,Aetiology of pharyngitis,1990,Davies HD,excluded
CD000023,Antibiotics for sore throat,,No year,,,0
"""


def test_reviews_are_read_from_json(tmp_path: Path) -> None:
    forms = {
        "list.json": json.dumps([AS_JSON], indent=1),
        "object.json": json.dumps({"reviews": [AS_JSON]}),
        "one.json": json.dumps(AS_JSON),
        "lines.jsonl": json.dumps(AS_JSON) + "\n" + json.dumps({"title": "Another", "included": ["x"]}) + "\n",
    }
    for name, text in forms.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert read_reviews(tmp_path / name)[0] == SORE_THROAT
    assert read_reviews(tmp_path / "lines.jsonl")[1] == Review("review-2", "Another", included=(ListedStudy("x"),))


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_reviews_are_read_from_a_table(tmp_path: Path, delimiter: str) -> None:
    authors = '"Dagnelie CF; van der Graaf Y"'
    text = AS_CSV.replace(",", delimiter).replace("Dagnelie CF; van der Graaf Y", authors)
    (tmp_path / "reviews.csv").write_text(text, encoding="utf-8")
    assert read_reviews(tmp_path / "reviews.csv") == [SORE_THROAT]


def test_reviews_are_read_from_folders_of_ris(tmp_path: Path) -> None:
    folder = tmp_path / "CD000023"
    folder.mkdir()
    files = {
        "review.ris": "TY  - JOUR\nTI  - Antibiotics for sore throat\nPY  - 2013\nDA  - 2013/11/05\nER  - \n",
        "included.ris": "TY  - JOUR\nTI  - Do patients benefit from penicillin?\nAU  - Dagnelie CF\n"
        "AU  - van der Graaf Y\nPY  - 1992\nER  - \n",
        "Studies excluded.ris": "TY  - JOUR\nTI  - Aetiology of pharyngitis\nAU  - Davies HD\nPY  - 1990\nER  - \n"
        "TY  - JOUR\nTI  - No year\nER  - \n",
    }
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    assert read_reviews(tmp_path) == [SORE_THROAT]
    assert read_reviews(folder) == [SORE_THROAT]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '[{"included": []}]', "expected a title, and lists of included and excluded studies in review 1"),
        ("a.json", '[{"title": "x", "included": [{"year": 1}]}]', "expected studies with a title in review 1"),
        ("a.json", '[{"title": "x"', "expected JSON"),
        ("a.csv", "a,b\n1,2\n", "expected the columns review_title, title, year, authors and label, found a, b"),
        ("a.csv", "review,title,label\nr,t,perhaps\n", "a.csv:2: expected a review, and a label"),
        ("a.json", "[]", "expected reviews, found none"),
        (
            "a.json",
            '[{"id": "x", "title": "a"}, {"id": "x", "title": "b"}]',
            "expected each review once, found 'x' twice",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(RankwellError, match=message):
        read_reviews(tmp_path / name)


def test_bad_records_can_be_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('[{"title": ""}, {"title": "Good", "included": ["x", 3]}]', encoding="utf-8")
    reading = Reading(problems=Problems(skip=True))
    assert read_reviews(tmp_path / "a.json", reading) == [Review("review-2", "Good", included=(ListedStudy("x"),))]
    assert reading.problems.count == 2


def test_a_folder_without_lists_and_a_path_without_anything_say_so(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    (tmp_path / "r" / "review.ris").write_text("TY  - JOUR\nTI  - x\nER  - \n", encoding="utf-8")
    with pytest.raises(RankwellError, match=r"expected RIS files named included.ris and excluded.ris"):
        read_reviews(tmp_path)
    with pytest.raises(RankwellError, match="no such file or folder"):
        read_reviews(tmp_path / "none")

"""The language of a collection chooses its analyzer, and English collections stay as they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from commands import rankwell, succeeds
from rankwell.analysis import Analyzer, choose_analyzer, detect_language
from rankwell.collections import open_collection
from rankwell.core import Document
from rankwell.index import Index

TEXTS = {
    "danish": "Det er ikke kun børn, der bliver syge af influenza, og mange voksne har også brug for hjælp efter nogle dage.",
    "dutch": "De kinderen hebben koorts en het is niet duidelijk of zij een behandeling in het ziekenhuis nodig hebben.",
    "english": "The children have a fever, and it is not clear whether they will need to be treated in a hospital.",
    "finnish": "Lapsilla on kuumetta ja ei ole selvää, että he tarvitsevat hoitoa, mutta he ovat myös väsyneitä kun se alkaa.",
    "french": "Les enfants ont de la fièvre et il n'est pas certain qu'ils aient besoin d'un traitement dans un hôpital.",
    "german": "Die Kinder haben Fieber, und es ist nicht klar, ob sie eine Behandlung in einem Krankenhaus brauchen.",
    "hungarian": "A gyerekek lázasak, és nem lehet tudni, hogy kell-e kórházi kezelés, de ez már egy nagy kérdés volt.",
    "italian": "I bambini hanno la febbre e non è chiaro se hanno bisogno di una cura in un ospedale della città.",
    "norwegian": "Barna har feber, og det er ikke klart om de trenger noen behandling etter at de ble syke på sykehuset.",
    "portuguese": "As crianças têm febre e não é claro se elas precisam de um tratamento em um hospital da cidade.",
    "romanian": "Copiii au febră și nu este clar că au nevoie de un tratament la spital, pentru că sunt mai bine.",
    "russian": "Не ясно, нужно ли детям лечение, потому что у них только температура, но это было и раньше, когда они болели.",
    "spanish": "Los niños tienen fiebre y no está claro que necesiten un tratamiento en el hospital de la ciudad.",
    "swedish": "Barnen har feber och det är inte klart om de behöver en behandling på sjukhuset efter att de blev sjuka.",
    "turkish": "Çocukların ateşi var ve bu hastalık için bir tedavi daha gerekli değil, ama bir doktor ile konuşmak gibi.",
    "cjk": "子供たちは熱があり、病院での治療が必要かどうかはまだ分かりません。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_told_from_a_sentence(language: str) -> None:
    assert detect_language([TEXTS[language]]).name == language


def test_only_another_language_is_worth_a_note() -> None:
    assert detect_language([TEXTS["english"]]).note == ""
    assert detect_language([TEXTS["german"]]).note == "german: analysed as german"


@pytest.mark.parametrize("texts", [[], [""], ["42 17.5"], ["Kind Fieber"], ["fn main() { let x = 1; }"]])
def test_what_tells_nothing_is_english(texts: list[str]) -> None:
    assert detect_language(texts).analyzer == Analyzer("english")


def test_mixed_collections_are_english_and_it_is_said() -> None:
    mixed = detect_language([TEXTS["german"]] * 3 + [TEXTS["french"]] * 2)
    assert (mixed.name, mixed.note) == (
        "english",
        "several languages (german (60%), french (40%)): analysed as english",
    )
    assert detect_language([TEXTS["german"]] * 9 + [TEXTS["english"]]).name == "german"


def test_no_document_is_lost_while_the_language_is_told() -> None:
    documents = [Document(str(number), {"text": TEXTS["german"]}) for number in range(700)]
    language, same = choose_analyzer(iter(documents))
    assert language.name == "german"
    assert list(same) == documents


def test_a_bundled_english_collection_is_english() -> None:
    assert choose_analyzer(open_collection("rankwell:python").documents())[0].note == ""


def test_index_uses_german_stems_for_german_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("texte.jsonl").write_text(
        '{"id": "1", "text": "Die Häuser der Stadt sind alt, und viele werden nicht mehr bewohnt."}\n'
        '{"id": "2", "text": "Der Garten ist groß, aber er liegt nicht an einem Fluss und nicht an der See."}\n'
    )
    done = rankwell("index", "texte.jsonl", "--out", "texte")
    assert "language: german: analysed as german (--analyzer says it otherwise)" in done.stderr
    assert Index.open("texte").analyzer == Analyzer("german")
    assert '"id": "1"' in succeeds("search", "texte", "Haus", "--json")
    assert "language" not in rankwell("index", "texte.jsonl", "--out", "english", "--analyzer", "english").stderr
    assert Index.open("english").analyzer == Analyzer("english")
    assert succeeds("search", "english", "Haus", "--json").strip() == "[]"
    succeeds("index", "texte.jsonl", "--out", "texte", "--append", "--quiet")
    assert Index.open("texte").analyzer == Analyzer("german")

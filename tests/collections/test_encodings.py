# ruff: noqa: RUF001 -- letters of many scripts
"""The encoding of a text is told from its bytes: code pages of Windows, and those of East Asia."""

from __future__ import annotations

from pathlib import Path

import pytest

from rankwell.collections import read_documents
from rankwell.collections.encodings import encoding_of
from rankwell.collections.preview import preview

TEXTS = [
    ("cp1252", "Größe ändern für die Straße"),
    ("cp1252", "L'été, où est-il? En août, c'est sûr."),
    ("cp1252", "finché è pronto; la città è qui, però è tardi"),
    ("cp1252", "Não há informações sobre as ações; os leões põem"),
    ("cp1252", "Hún er góð þýðing á íslensku, það er"),
    ("cp1252", "Köök, õlu ja jõgi täna"),
    ("cp1252", "GERÄT; MÄDCHEN; ÄRZTE; LÄNDER; BÄCKER; WÄSCHE; RÄDER; KÄSE; TÄTER; ZÄHNE"),
    ("cp1250", "Příliš žluťoučký kůň"),
    ("cp1250", "Złamane drzewo stało się główną przyczyną, więc żądał"),
    ("cp1250", "Autor;Tytuł;Rok\nŁęcki;Dom nad rzeką;1999\nŻak;Cisza;2001\n"),
    ("cp1252", "Volumen: 3 m³; Gewicht 4 kg; Fläche 12 m²; 5 cm³"),
    ("cp1250", "Erős és tartós termék, győződjön meg a műhelyben"),
    ("cp1254", "Günlük kullanım için uygundur, şehir ağaç ılık"),
    ("cp1251", "Сегодня утром на площади собрались жители"),
    ("cp1251", "ЗАКУПКА КАНЦЕЛЯРСКИХ ТОВАРОВ ДЛЯ НУЖД ШКОЛЫ; ПОСТАВКА ОБОРУДОВАНИЯ"),
    ("koi8_r", "Сегодня утром на площади собрались жители"),
    ("cp1253", "Έγκριση δαπάνης για τον καθαρισμό"),
    ("cp1255", "שלום לכולם מה נשמע היום"),
    ("cp1256", "أرجو منكم النظر في هذه المشكلة"),
    ("cp874", "รายละเอียดของสินค้าในร้าน"),
    ("gb18030", "今天早上开始就不能使用，重启以后还是一样。"),
    ("gb18030", "编号,名称,价格\n1,苹果,3\n2,香蕉,4\n"),
    ("big5", "民眾表示這個問題已經發生好幾個月，希望相關單位儘快派人處理。"),
    ("euc_kr", "다음 주 월요일은 시설 점검 때문에 이용할 수 없으니"),
    ("shift_jis", "職人が一つひとつ手作りで仕上げた品です"),
    ("euc_jp", "職人が一つひとつ手作りで仕上げた品です"),
]


@pytest.mark.parametrize(("encoding", "text"), TEXTS)
def test_the_encoding_of_a_text_is_told(encoding: str, text: str) -> None:
    assert encoding_of(text.encode(encoding)) == encoding


@pytest.mark.parametrize("text", [text for _, text in TEXTS])
def test_utf_8_stays_utf_8(text: str) -> None:
    assert encoding_of(text.encode()) == "utf-8"


def test_a_chinese_table_is_read_without_an_option_and_its_encoding_is_said(tmp_path: Path) -> None:
    path = tmp_path / "gbk.csv"
    path.write_bytes("编号,标题,内容\nA-1,口罩,口罩可以阻挡较大的飞沫\nA-2,洗手,肥皂会破坏病毒的包膜\n".encode("gbk"))
    first, second = read_documents(path)
    assert (first.id, first.fields["title"]) == ("A-1", "口罩")
    assert (second.id, second.fields["title"]) == ("A-2", "洗手")
    assert "GB18030" in str(preview(path))

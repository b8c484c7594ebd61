# ruff: noqa: RUF001 -- words in many scripts, whose letters look alike
"""What names of columns hint at, in several languages. A name is one sign beside others; the values are the rest."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache

IDS = ("_id", "id", "docno", "doc_id", "docid", "document_id", "pid", "cord_uid", "record_id", "pmid", "key", "uid")
# Names that stand for an id also where values repeat, so that the repetition is reported. The others are also names of
# references to something else.
ALWAYS_IDS = frozenset(("_id", "id", "docno", "doc_id", "docid", "document_id", "cord_uid", "record_id", "pmid"))
TEXTS = (
    *("title", "abstract", "body", "text", "contents", "content", "description", "summary", "headline", "question"),
    *("answer", "docstring"),
)
SPLIT = re.compile(r"[^\w#°º]+|_|(?<=[a-z])(?=[A-Z])")
UNSPACED = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts without spaces
LATIN = "\u0250"  # letters below lose their accents
LONGER = 4  # letters: `grid` and `paid` are no ids
SENTENCE = 6  # words: a question of a survey and no name
STEM = 4  # letters that two words share at least


@lru_cache(maxsize=4096)
def fold(text: str) -> str:
    """Text in small letters; Latin ones without accents, so that `Título` is `titulo`."""
    letters = (unicodedata.normalize("NFKD", letter)[0] if letter < LATIN else letter for letter in text.lower())
    return "".join(letters)


def words_of(name: str) -> tuple[str, ...]:
    """`Ticket #` as ticket, #; `customerId` as customer, id; `author.name` as author, name."""
    return tuple(fold(word) for word in SPLIT.split(name) if word)


class Vocabulary:
    """Words that hint at something; in scripts without spaces also as a part of a word, elsewhere as its `ending`."""

    def __init__(self, words: str, endings: str = "") -> None:
        every = [fold(word) for word in words.split()]
        self.words = frozenset(every)
        self._parts = tuple(word for word in every if UNSPACED.match(word))
        self._endings = tuple(fold(ending) for ending in endings.split())

    def __contains__(self, name: str) -> bool:
        """Whether a word of this name is one of them."""
        return any(True for _ in self.found(words_of(name)))

    def found(self, words: Iterable[str]) -> Iterable[str]:
        """Those of these words that are among them."""
        for word in words:
            ends = word.endswith(self._endings) and len(word) > LONGER if self._endings else False
            if word in self.words or ends or any(part in word for part in self._parts):
                yield word


ID_WORDS = Vocabulary(
    """id ids uid uuid guid key code no nr num number ref reference sku isbn doi pmid pmcid docno ticket accession
    identifier asin ean gtin upc barcode slug handle permalink callnumber signature shelfmark docket kennung
    nummer schlüssel kennzeichen aktenzeichen geschäftszeichen signatur artnr numéro référence identifiant cote
    matricule n° nº # número clave código referencia identificador folio expediente signatura matrícula numero
    codice riferimento identificativo matricola protocollo segnatura collocazione chave kenmerk artikelnr varenr
    numer sygnatura kod identyfikator symbol číslo kód azonosító cod număr numara kodu tunnus tunniste koodi номер
    код идентификатор артикул шифр ідентифікатор № κωδικός αριθμός מזהה קוד מספר رقم الرقم رمز الرمز معرف كود
    الكود شناسه کد شماره क्रमांक कोड mã kode nomor 番号 番號 コード 品番 型番 請求記号 编号 编码 代码 編號 代碼
    货号 工号 학번 번호 코드 식별자 รหัส เลขที่""",
    "id nummer nr number номер numero szam signatur",
)
ROW_NUMBERS = Vocabulary(
    """no nr num number nummer index idx row line zeile ligne fila linea riga linha rank # n n° nº pos position lp
    lfd laufende sıra п/п пп 序号 序號 連番 순번 ลำดับ"""
)
CONTACTS = Vocabulary(
    """zip zipcode cp plz postleitzahl postcode postal cap cep phone tel telephone telefon téléphone teléfono
    telefono telefone fax mobile mobil cell handy portable móvil cellulare celular iban bic swift version телефон
    факс индекс telefoon τηλέφωνο 電話 电话 郵便 邮编 전화 우편 โทร هاتف""",
    "telefon postleitzahl",
)
STANDARDS = Vocabulary("isbn isbn10 isbn13 issn ean ean13 gtin upc doi barcode")
QUANTITIES = Vocabulary("of count total anzahl menge quantity qty cantidad quantité quantità quantidade количество")

# Names of a title, the surest ones first.
HEADINGS = Vocabulary(
    """title titel titre título titolo headline heading überschrift subject betreff objet asunto oggetto assunto
    titlu onderwerp emne ämne rubrik tittel overskrift otsikko aihe tytuł temat název předmět názov naslov cím
    tárgy başlık konu заголовок название тема назва τίτλος θέμα כותרת נושא عنوان العنوان الموضوع موضوع शीर्षक
    judul 标题 標題 題名 タイトル 件名 题目 題目 主题 主題 書名 书名 题名 제목 ชื่อเรื่อง หัวข้อ""",
    "titel title betreff titre",
)
LABELS = Vocabulary(
    """name names label caption designation bezeichnung benennung nom désignation intitulé libellé dénomination
    nombre denominación nome denominazione denominação designação naam benaming navn namn benämning nimi nimike
    nazwa jméno název név megnevezés elnevezés nume denumire ad adı isim ismi имя наименование найменування όνομα
    ονομασία שם اسم الاسم نام नाम tên nama 名称 名稱 名前 名字 品名 曲名 이름 명칭 품명 ชื่อ""",
    "name bezeichnung naam navn namn nimi",
)
THINGS = Vocabulary(
    """product produkt produit producto prodotto produto proizvod ürün termék tuote товар продукт προϊόν item
    article artikel artículo articolo artigo artikkel vara vare object objekt objeto work werk œuvre oeuvre obra
    opera question frage pregunta domanda pergunta vraag spørgsmål fråga вопрос summary issue problem problème
    problema проблема topic thema thème theme track song film movie book buch livre libro livro boek книга kniha
    recipe rezept recette receta ricetta receita recept рецепт dish plat plato job stelle poste puesto cargo vaga
    vacature vacante стажировка вакансия должность stanowisko event veranstaltung événement evento wydarzenie
    мероприятие course kurs cours curso corso курс project projekt projet proyecto progetto projeto проект species
    agenda tagesordnungspunkt diagnosis diagnose diagnóstico diagnosi diagnostic диагноз rozpoznanie drug medicine
    game station 商品 製品 产品 產品 质问 質問 问题 問題 項目 项目 作品 演題 職種 职位 상품 제품 질문 문제 과목
    작품""",
)
# What belongs to a thing and seldom names it: people, places, kinds, states.
ATTRIBUTES = Vocabulary(
    """author authors creator artist maker writer editor director user username nickname login owner assignee
    reporter requester requestor customer client contact person speaker seller vendor supplier manufacturer
    agent teacher by company firm employer organization organisation institution agency authority publisher
    court journal publication source site host domain file filename folder path sheet capital city town region
    county state country nation province district location place address street room venue status category
    categories type kind class genre group section department division team priority severity language lang
    locale keyword keywords tag tags unit units brand make color colour material materials medium size format
    gender sex nationality role email mail currency labels series album collection license licence level parent
    component channel sender autor autoren verfasser urheber künstler hersteller kunde kunden benutzer nutzer
    bearbeiter ansprechpartner lieferant firma unternehmen arbeitgeber behörde amt verlag zeitschrift quelle
    datei dateiname ort stadt land bundesland kreis straße adresse anschrift raum zustand kategorie typ art
    klasse gattung gruppe abteilung referat priorität sprache schlagwort schlagwörter stichwort stichworte
    einheit marke farbe technik geschlecht rolle währung warengruppe gericht sachgebiet absender auteur auteurs
    créateur artiste fabricant utilisateur demandeur entreprise société employeur éditeur revue fichier ville
    commune pays région département lieu statut état catégorie groupe service priorité langue mots mot unité
    marque couleur matériau matière matériaux technique sexe fournisseur autores artista creador fabricante
    cliente usuario solicitante empresa compañía editorial revista fuente archivo ciudad municipio provincia
    país región lugar dirección estado categoría tipo clase género grupo departamento prioridad idioma palabras
    etiquetas unidad marca técnica sexo proveedor autore autori utente richiedente azienda società editore
    rivista fonte città comune paese regione luogo indirizzo stato genere gruppo reparto priorità lingua parole
    etichette unità colore materiale tecnica sesso fornitore usuário companhia editora cidade município endereço
    situação gênero setor prioridade língua unidade cor fornecedor schrijver klant gebruiker bedrijf uitgever
    tijdschrift bron bestand stad gemeente provincie plaats adres soort afdeling prioriteit taal trefwoorden
    eenheid merk kleur materiaal geslacht leverancier författare forfatter kund företag förlag forlag källa
    kommun språk märke färg tekijä kirjailija asiakas yritys kaupunki maa kieli tila luokka klient użytkownik
    wydawca wydawnictwo źródło miasto kraj województwo kategoria rodzaj dział język marka kolor sąd jméno
    zákazník vydavatel nakladatelství město země oddělení jazyk značka barva szerző vevő ügyfél cég kiadó forrás
    város ország kategória típus osztály nyelv yazar müşteri şirket yayınevi kaynak şehir ülke kategori tür
    durum bölüm dil renk автор авторы художник производитель клиент заказчик пользователь компания организация
    работодатель издательство журнал источник файл город страна область регион район место адрес статус
    состояние категория тип вид жанр группа отдел приоритет язык теги единица бренд марка цвет материал пол
    поставщик автори місто країна видавництво мова стан συγγραφέας πελάτης εταιρεία εκδότης πόλη χώρα κατηγορία
    κατάσταση γλώσσα סופר מחבר לקוח חברה עיר מדינה סטטוס קטגוריה المؤلف مؤلف العميل الشركة الناشر المدينة الدولة
    الحالة الفئة النوع القسم 著者 作者 作家 顧客 客户 客戶 担当 負責 负责 会社 公司 企業 出版 雑誌 期刊 来源
    來源 都市 城市 地区 地區 住所 地址 国家 國家 状態 状态 狀態 種類 种类 類型 类型 分類 分类 カテゴリ 部署 部门
    部門 言語 语言 語言 単位 单位 品牌 ブランド 颜色 色 性別 性别 供应商 저자 작가 고객 담당 회사 출판 도시 지역
    주소 국가 상태 분류 종류 유형 카테고리 부서 언어 단위 브랜드 색상 성별 ผู้แต่ง สถานะ ประเภท จังหวัด"""
)
# Names of people, who are what some tables are about.
PERSONS = Vocabulary(
    """first last given family surname middle maiden vorname nachname familienname zuname prénom apellido
    apellidos cognome sobrenome voornaam achternaam förnamn efternamn fornavn etternavn imię nazwisko příjmení
    фамилия отчество 氏名 姓名"""
)
# Names of longer texts, which seldom are titles; short descriptions often are.
DESCRIPTIONS = Vocabulary(
    """description beschreibung descripción descrizione descrição omschrijving beschrijving beskrivelse beskrivning
    kuvaus opis popis leírás descriere açıklama описание опис περιγραφή תיאור الوصف وصف 説明 描述 설명 รายละเอียด"""
)
OTHER_TEXTS = Vocabulary(
    """text body content contents abstract notes note comment comments remarks remark details answer message
    definition langtext bemerkung bemerkungen kommentar notiz notizen inhalt antwort nachricht texte résumé
    commentaire remarques réponse contenu texto resumen observaciones comentario respuesta contenido testo
    riassunto commento risposta contenuto resumo observações resposta conteúdo tekst opmerking opmerkingen
    antwoord uwagi treść odpowiedź poznámka poznámky obsah odpověď megjegyzés текст комментарий примечание ответ
    содержание הערות ملاحظات نص 本文 内容 內容 備考 备注 備註 摘要 概要 回答 내용 본문 비고 답변"""
)
HEADING, LABEL, THING, NO_NAME = 3, 2, 1, 0


def hints_id(name: str) -> bool:
    """Whether it is a usual name for an id; that of a telephone or of a quantity is none."""
    words = words_of(name)
    known = name in ID_WORDS or (len(words) > 1 and words[0] == "n")  # N. inventario
    return known and name not in CONTACTS and not is_question(name) and name not in QUANTITIES


def hints_row_number(name: str) -> bool:
    """Whether it is a usual name for the number of a row."""
    words = words_of(name)
    return name.lower().startswith(("unnamed", "column ")) or len([*ROW_NUMBERS.found(words)]) == len(words)


def hints_code(name: str) -> bool:
    """Whether it is a usual name for codes of digits, which are no numbers."""
    return name in CONTACTS or name in STANDARDS


def is_question(name: str) -> bool:
    """Whether it is a sentence, as surveys have them, whose words do not say what the column is."""
    return name.rstrip().endswith(("?", "？")) or len(words_of(name)) >= SENTENCE


def title_rank(name: str) -> int:
    """How surely a name is that of a title: HEADING, LABEL, THING, or NO_NAME for others."""
    if is_question(name):
        return NO_NAME
    ranks = ((HEADINGS, HEADING), (LABELS, LABEL), (THINGS, THING))
    return next((rank for vocabulary, rank in ranks if name in vocabulary), NO_NAME)


def hints_attribute(name: str) -> bool:
    """Whether the name says that this is something about the thing and not the thing's own name."""
    return name in ATTRIBUTES


def hints_person(name: str) -> bool:
    """Whether it is a part of a person's name."""
    return name in PERSONS


def hints_description(name: str) -> bool:
    """Whether it is a usual name for a description, long or short."""
    return name in DESCRIPTIONS


def hints_text(name: str) -> bool:
    """Whether it is a usual name for another text that belongs to a thing: notes, an answer, a message."""
    return name in OTHER_TEXTS


def things_of(name: str) -> frozenset[str]:
    """What an id or a file is about: `product_id` is about product."""
    words = words_of(name)
    return frozenset(word for word in words if len(word) >= STEM) - {*ID_WORDS.found(words)}


def is_about(name: str, things: Iterable[str]) -> bool:
    """Whether a name has one of these words, or one that begins alike: `recipe` and `recipes`."""
    return any(
        word[: max(STEM, len(thing) - 2)] == thing[: max(STEM, len(thing) - 2)]
        for word in words_of(name)
        for thing in things
    )

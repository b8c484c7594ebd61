"""The language of a collection, told by its most frequent words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, islice

from rankwell.analysis.analyzer import LANGUAGES, Analyzer
from rankwell.core import Document

ENGLISH, CJK = "english", "cjk"
SAMPLE = 500  # documents that are looked at
LONGEST = 2000  # characters of each
FEWEST = 8  # words of a text that can tell its language
LEAST = 0.12  # share of a language's frequent words in a text of it; in running text a quarter to a half
CLEAR = 1.15  # how much larger than the next language's share
MOST = 0.8  # share of the texts that must be of one language
IDEOGRAPHS = 0.3  # share of Chinese, Japanese or Korean characters among the letters
WORD = re.compile(r"[^\W\d_]+")
EAST_ASIAN = re.compile("[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")


# The most frequent words of each language. Words that two languages share count for both.
FREQUENT = {
    "danish": "af alle at blev da de den der deres det efter eller en er et for fra han har havde hun hvad i ikke"
    " jeg kan man med meget mellem men mere nogle når og også om op over på sig skal som til ud var ved vi"
    " være år",
    "dutch": "aan als bij dan dat de der deze die dit door een en er geen had heb heeft het hij hun ik in is kan"
    " maar meer met naar niet nog of om onder onze ook op over te tot uit van veel voor waar was wat werd"
    " wij worden wordt ze zich zij zijn",
    "english": "a about after all also an and are as at be been but by can for from had has have he his how if in"
    " into is it its more most no not of on one only or other our she such than that the their them these"
    " they this those to was we were what when which who will with would you",
    "finnish": "ei eivät että han hän hänen ja jo joka jos jotka kanssa koska kuin kun mukaan mutta myös ne niin"
    " niitä nyt oli olivat on ovat se sekä sen siitä sillä sitä tai tämä tämän vain voi vuonna",
    "french": "au aux avec ce ces cette comme dans de des du elle en entre est et été être il ils la le les leur"
    " lui mais même ne nous on ont ou par pas plus pour qu que qui sa sans se ses son sont sur un une vous"
    " à",
    "german": "als am an auch auf aus bei beim bis das dass dem den der des die durch ein eine einem einen einer"
    " eines er es für hat ich im in ist kann mit nach nicht noch nur oder sich sie sind so um und unter"
    " vom von vor war werden wie wird wurde zu zum zur zwischen über",
    "hungarian": "a az azt be csak de egy el ez ezt hogy is ha ki kell le lehet már meg mert még mint nagy nem és után"
    " vagy van volt",
    "italian": "a al alla anche che chi ci come con da dal dalla dei del della delle di due e ed era essere gli ha"
    " hanno i il in io la le lo loro ma nei nel nella non o per più quando questa questo se si sono su sua"
    " sul sulla suo tra un una è",
    "norwegian": "alle at av ble bli da de den der det dette eller en er et etter for fra han har hun hva i ikke jeg"
    " kan med mellom men mer noen når og også om opp over på seg skal som til ut var ved vi være år",
    "portuguese": "a ao aos as com como da das de do dos e ela ele em entre era essa esta este eu foi há isso já mais"
    " mas mesmo muito na nas no nos não o os ou para pela pelo por quando que se sem ser seu sua são"
    " também um uma à é",
    "romanian": "a al ale au ca care ce cel cu de din după este fi fost în la lui mai nu o pe pentru prin sau se sunt"
    " și un unei unui va ş şi",
    "russian": "без был была были было быть вы где да для его ее если есть еще же из или их как когда который"
    " которые ли мы нет но он она они от по при с так также только у чем что чтобы это этого",
    "spanish": "a al como con de del desde donde dos el ella en entre era es esta este están fue ha hasta hay la las"
    " le lo los más muy no nos o para pero por porque que se ser si sin sobre son su sus también tiene un"
    " una y ya",
    "swedish": "alla att av blev de dem den denna det detta du där efter eller en ett från för ha hade han har hon i"
    " inte jag kan man med mellan men mycket när och också om på sig ska skulle som så till under upp ur"
    " var vad vi vid vilka är år över",
    "turkish": "ama bir bu çok da daha de değil en gibi göre her için ile ise kadar ki mi ne olan olarak sonra"
    " tarafından var ve veya ya",
}


@dataclass(frozen=True)
class Language:
    """A detected language, one of `LANGUAGES`; the note says what a user should know (nothing for English)."""

    name: str
    note: str = ""

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of the language."""
        return Analyzer(self.name)


def detect_language(texts: Iterable[str]) -> Language:
    """The language of texts; English, with a note, where they are mixed or not clear.

    detect_language(["Die Katze sitzt auf der Matte und schläft."]).name  # "german"
    """
    votes = Counter(filter(None, map(_language_of, texts)))
    if not votes:
        return Language(ENGLISH)  # names, numbers or nothing: stems make no difference
    (first, count), *others = votes.most_common()
    if count < MOST * votes.total():
        several = ", ".join(f"{name} ({number / votes.total():.0%})" for name, number in [(first, count), *others][:3])
        return Language(ENGLISH, f"several languages ({several}): analysed as english")
    return Language(first, "" if first == ENGLISH else f"{first}: analysed as {first}")


def choose_analyzer(documents: Iterable[Document]) -> tuple[Language, Iterator[Document]]:
    """The language of the first documents, and all documents."""
    remaining = iter(documents)
    first = list(islice(remaining, SAMPLE))
    return detect_language(document.text()[:LONGEST] for document in first), chain(first, remaining)


def _language_of(text: str) -> str | None:
    """The language of one text; None where it is too short or not clear."""
    words = WORD.findall(text[:LONGEST].lower())
    letters = sum(map(len, words))
    if letters and len(EAST_ASIAN.findall(text[:LONGEST])) > IDEOGRAPHS * letters:
        return CJK
    if len(words) < FEWEST:
        return None
    shares = sorted(
        ((sum(word in known for word in words) / len(words), name) for name, known in _lists()), reverse=True
    )
    (share, name), (next_share, _) = shares[:2]
    return name if share >= LEAST and share >= CLEAR * next_share else None


@cache
def _lists() -> tuple[tuple[str, frozenset[str]], ...]:
    return tuple((name, frozenset(words.split())) for name, words in FREQUENT.items() if name in LANGUAGES)

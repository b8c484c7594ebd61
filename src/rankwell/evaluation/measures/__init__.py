"""The measures by name: the grammar of ir-measures, and the names that trec_eval, ranx and BEIR users type."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import MISSING, fields
from types import MappingProxyType
from typing import Any

from rankwell.core.errors import ParameterError, Phrase
from rankwell.evaluation.measures.auc import AUC
from rankwell.evaluation.measures.counts import JudgedShare, NumQ, NumRel, NumRelRet, NumRet, NumUnjudged, UnjudgedShare
from rankwell.evaluation.measures.gain import DCG, NDCG
from rankwell.evaluation.measures.measure import Effect, Measure
from rankwell.evaluation.measures.precision import IPrec, MatchRatio, P, R, Rprec, SetAP, SetF, SetP, SetR
from rankwell.evaluation.measures.ranks import AP, MFR, RBP, RR, Bpref, InfAP, Success

__all__ = ["MEASURES", "MFR", "Asked", "Effect", "Measure", "parse_measure", "parse_measures"]

MEASURES: tuple[type[Measure], ...] = (
    AP, AUC, Bpref, DCG, InfAP, IPrec, JudgedShare, MFR, MatchRatio, NDCG, NumQ, NumRel, NumRelRet, NumRet,
    NumUnjudged, P, R, RBP, RR, Rprec, SetAP, SetF, SetP, SetR, Success, UnjudgedShare,
)  # fmt: skip


# A name, then optional parameters in brackets, then an optional cut-off.
GRAMMAR = re.compile(r"\s*(?P<name>\w+)\s*(?:\((?P<parameters>.*)\))?\s*(?:@\s*(?P<at>[^@()\s]+))?\s*")
PARAMETER = re.compile(r"""\s*(?P<name>\w+)\s*=\s*(?P<value>'[^']*'|"[^"]*"|[^\s,'"=]+)\s*(?:,|$)""")
# trec_eval's cut-offs: P_10, ndcg_cut.10, iprec_at_recall_0.10
TREC = re.compile(r"\s*(?P<name>[A-Za-z_]+?)[_.](?P<at>\d+(?:\.\d+)?)\s*")

CONSTANTS = MappingProxyType({"true": True, "false": False, "none": None})

# Other names, each with the name and parameters it stands for. Upper and lower case do not matter.
ALIASES = MappingProxyType(
    {
        "MAP": "AP",
        "MRR": "RR",
        "Precision": "P",
        "Recall": "R",
        "hit_rate": "Success",
        "r_precision": "Rprec",
        "MeanFirstRelevant": "MFR",
        "ndcg_burges": "nDCG(dcg='exp-log2')",
        "dcg_burges": "DCG(dcg='exp-log2')",
        "map_cut": "AP",
        "ndcg_cut": "nDCG",
        "recip_rank": "RR",
        "iprec_at_recall": "IPrec",
        "set_P": "SetP",
        "set_relative_P": "SetP(relative=True)",
        "SetRelP": "SetP(relative=True)",
        "set_recall": "SetR",
        "set_F": "SetF",
        "set_map": "SetAP",
        "num_q": "NumQ",
        "num_rel": "NumRel",
        "num_ret": "NumRet",
        "num_rel_ret": "NumRelRet",
        "unj": "Unjudged",
    }
)
Asked = str | Measure | Iterable[str | Measure]  # a measure may also be one of the library ir_measures
_KINDS = {kind.name.lower(): kind for kind in MEASURES}
_ALIASES = {alias.lower(): text for alias, text in ALIASES.items()}


def parse_measure(text: str | Measure) -> Measure:
    """The measure of that name, such as `nDCG@10`, `P(rel=2)@5` or trec_eval's `ndcg_cut_10`; or one of ir_measures.

    >>> str(parse_measure("ndcg_cut_10"))
    'nDCG@10'
    """
    if isinstance(text, Measure):
        return text
    if _of_ir_measures(text):
        text = str(text)
    if not isinstance(text, str):
        raise ParameterError("measure", expected="a name such as nDCG@10 or P(rel=2)@5", found=text)
    name, given, at = _parts(text)
    standing_for = _ALIASES.get(name.lower())
    if standing_for is not None:
        name, more, _ = _parts(standing_for)
        given = more | given
    if name.lower() not in _KINDS:
        raise ParameterError("measure", expected=_suggestion(name), found=text)
    kind = _KINDS[name.lower()]
    if at is not None:
        given[kind.at] = at
    return _made(kind, given, text)


def parse_measures(asked: Asked) -> tuple[Measure, ...]:
    """One measure or several, each once."""
    several: Any = (asked,) if isinstance(asked, (str, Measure)) or _of_ir_measures(asked) else asked
    return tuple(dict.fromkeys(map(parse_measure, several)))


def _of_ir_measures(asked: object) -> bool:
    """Whether it is a measure of the library ir_measures, whose names are in our grammar."""
    return type(asked).__module__.startswith("ir_measures.")


def _parts(text: str) -> tuple[str, dict[str, Any], Any]:
    """Name, parameters, and the cut-off after the @ (None without)."""
    trec = TREC.fullmatch(text)
    if trec and {trec["name"].lower()} & (_KINDS.keys() | _ALIASES.keys()):
        return trec["name"], {}, _value(trec["at"])
    match = GRAMMAR.fullmatch(text)
    if match is None:
        raise ParameterError("measure", expected="a name such as nDCG@10 or P(rel=2)@5", found=text)
    at = None if match["at"] is None else _value(match["at"])
    return match["name"], _parameters(match["parameters"] or "", text), at


def _parameters(inside: str, text: str) -> dict[str, Any]:
    """The parameters between the brackets, by name."""
    given: dict[str, Any] = {}
    place = 0
    while inside[place:].strip():
        match = PARAMETER.match(inside, place)
        if match is None:
            raise ParameterError("measure", expected="parameters as in P(rel=2, judged_only=True)@5", found=text)
        given[match["name"]] = _value(match["value"])
        place = match.end()
    return given


def _value(text: str) -> Any:
    """A number, a truth value, or a string with or without quotes."""
    if text[0] in "'\"":
        return text[1:-1]
    if text.lower() in CONSTANTS:
        return CONSTANTS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def _made(kind: type[Measure], given: dict[str, Any], text: str) -> Measure:
    """The measure with these parameters, if it has them and they are of the right kind."""
    known = {field.name: field for field in fields(kind)}
    for name, value in given.items():
        if name not in known:
            among = f"with parameters among {', '.join(sorted(known))}"
            expected = f"{kind.name} {'without a cut-off' if name == 'cutoff' else among}"
            raise ParameterError("measure", expected=expected, found=text)
        expected, types = _TYPES[str(known[name].type)]
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ParameterError(f"{kind.name}, {name}", expected=expected, found=value)
    missing = [name for name, field in known.items() if field.default is MISSING and name not in given]
    if missing:
        example = f"{kind.name}@10" if missing[0] == kind.at == "cutoff" else _EXAMPLES[missing[0]]
        raise ParameterError("measure", expected=f"a value for {missing[0]}, as in {example}", found=text)
    return kind(**given)


_EXAMPLES = {"recall": "IPrec@0.1"}
_TYPES: dict[str, tuple[str, tuple[type, ...]]] = {  # of parameters: what is expected, and the types of values
    "int": ("a whole number", (int,)),
    "int | None": ("a whole number", (int, type(None))),
    "float": ("a number", (int, float)),
    "bool": ("True or False", (bool,)),
    "str": ("a word in quotes", (str,)),
}


def _suggestion(name: str) -> str:
    """The nearest known names, or examples where none is near."""
    known = {kind.name.lower(): kind.name for kind in MEASURES} | {alias.lower(): alias for alias in ALIASES}
    near = difflib.get_close_matches(name.lower(), known, n=2, cutoff=0.5)
    if not near:
        return Phrase("a measure such as nDCG@10, AP, RR@10, P@10 or R@100")
    return f"a measure such as nDCG@10 (did you mean {' or '.join(known[other] for other in near)}?)"

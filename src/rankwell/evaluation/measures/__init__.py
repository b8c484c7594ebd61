"""The measures; `MEASURES` registers them by name."""

from __future__ import annotations

from rankwell.evaluation.measures.auc import AUC
from rankwell.evaluation.measures.average_precision import AP, Bpref, InfAP
from rankwell.evaluation.measures.counts import JudgedShare, NumQ, NumRel, NumRelRet, NumRet, NumUnjudged, UnjudgedShare
from rankwell.evaluation.measures.first_relevant import MFR, RR, Success
from rankwell.evaluation.measures.gain import DCG, NDCG
from rankwell.evaluation.measures.measure import Effect, Measure
from rankwell.evaluation.measures.precision import IPrec, MatchRatio, P, R, Rprec
from rankwell.evaluation.measures.rbp import RBP
from rankwell.evaluation.measures.sets import SetAP, SetF, SetP, SetR

__all__ = [
    "AP",
    "AUC",
    "DCG",
    "MEASURES",
    "MFR",
    "NDCG",
    "RBP",
    "RR",
    "Bpref",
    "Effect",
    "IPrec",
    "InfAP",
    "JudgedShare",
    "MatchRatio",
    "Measure",
    "NumQ",
    "NumRel",
    "NumRelRet",
    "NumRet",
    "NumUnjudged",
    "P",
    "R",
    "Rprec",
    "SetAP",
    "SetF",
    "SetP",
    "SetR",
    "Success",
    "UnjudgedShare",
]


MEASURES: tuple[type[Measure], ...] = (
    AP,
    AUC,
    Bpref,
    DCG,
    InfAP,
    IPrec,
    JudgedShare,
    MFR,
    MatchRatio,
    NDCG,
    NumQ,
    NumRel,
    NumRelRet,
    NumRet,
    NumUnjudged,
    P,
    R,
    RBP,
    RR,
    Rprec,
    SetAP,
    SetF,
    SetP,
    SetR,
    Success,
    UnjudgedShare,
)

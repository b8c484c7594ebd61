"""The measures, one a file. A measure is known by standing in `MEASURES`; nothing else names it."""

from __future__ import annotations

from rankwell.evaluate.measures.ap import AP
from rankwell.evaluate.measures.auc import AUC
from rankwell.evaluate.measures.bpref import Bpref
from rankwell.evaluate.measures.dcg import DCG
from rankwell.evaluate.measures.infap import InfAP
from rankwell.evaluate.measures.iprec import IPrec
from rankwell.evaluate.measures.judged_share import JudgedShare
from rankwell.evaluate.measures.match_ratio import MatchRatio
from rankwell.evaluate.measures.measure import Effect, Measure
from rankwell.evaluate.measures.mfr import MFR
from rankwell.evaluate.measures.ndcg import NDCG
from rankwell.evaluate.measures.numq import NumQ
from rankwell.evaluate.measures.numrel import NumRel
from rankwell.evaluate.measures.numrelret import NumRelRet
from rankwell.evaluate.measures.numret import NumRet
from rankwell.evaluate.measures.numunjudged import NumUnjudged
from rankwell.evaluate.measures.p import P
from rankwell.evaluate.measures.r import R
from rankwell.evaluate.measures.rbp import RBP
from rankwell.evaluate.measures.rprec import Rprec
from rankwell.evaluate.measures.rr import RR
from rankwell.evaluate.measures.setap import SetAP
from rankwell.evaluate.measures.setf import SetF
from rankwell.evaluate.measures.setp import SetP
from rankwell.evaluate.measures.setr import SetR
from rankwell.evaluate.measures.success import Success
from rankwell.evaluate.measures.unjudged_share import UnjudgedShare

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

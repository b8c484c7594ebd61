"""The measures; `MEASURES` registers them by name."""

from __future__ import annotations

from rankwell.evaluation.measures.auc import AUC
from rankwell.evaluation.measures.counts import JudgedShare, NumQ, NumRel, NumRelRet, NumRet, NumUnjudged, UnjudgedShare
from rankwell.evaluation.measures.gain import DCG, NDCG
from rankwell.evaluation.measures.measure import Effect, Measure
from rankwell.evaluation.measures.precision import IPrec, MatchRatio, P, R, Rprec, SetAP, SetF, SetP, SetR
from rankwell.evaluation.measures.ranks import AP, MFR, RBP, RR, Bpref, InfAP, Success

__all__ = ["MEASURES", "MFR", "Effect", "Measure"]

MEASURES: tuple[type[Measure], ...] = (
    AP, AUC, Bpref, DCG, InfAP, IPrec, JudgedShare, MFR, MatchRatio, NDCG, NumQ, NumRel, NumRelRet, NumRet,
    NumUnjudged, P, R, RBP, RR, Rprec, SetAP, SetF, SetP, SetR, Success, UnjudgedShare,
)  # fmt: skip

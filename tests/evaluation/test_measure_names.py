from __future__ import annotations

import pytest

from rankwell.core import ParameterError
from rankwell.evaluation import MEASURES, parse_measure
from rankwell.evaluation.measures import ALIASES


@pytest.mark.parametrize(
    "name",
    [
        "nDCG@10",
        "nDCG(dcg='exp-log2')@10",
        "nDCG(dcg='original',ideal='list',unjudged=1)@20",
        "P(rel=2)@5",
        "AP(rel=2)@1000",
        "AP",
        "RR@10",
        "R@100",
        "Judged@10",
        "Rprec",
        "Success@1",
        "Bpref",
        "infAP",
        "SetP",
        "SetF(beta=2.0)",
        "RBP(p=0.5)",
        "IPrec@0.1",
        "MFR@10",
        "MatchRatio(documents=420000)",
        "AUC(by='query')",
        "NumRet(rel=1)",
        "AP(judged_only=True)",
    ],
)
def test_the_name_of_a_measure_reads_back_as_the_measure(name: str) -> None:
    measure = parse_measure(name)
    assert str(measure) == repr(measure) == name
    assert parse_measure(str(measure)) == measure


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("MRR@10", "RR@10"),
        ("MAP", "AP"),
        ("NDCG@10", "nDCG@10"),
        ("ndcg@10", "nDCG@10"),
        ("Precision@5", "P@5"),
        ("Recall@100", "R@100"),
        ("BPref", "Bpref"),
        ("ndcg_burges@10", "nDCG(dcg='exp-log2')@10"),
        ("map", "AP"),
        ("map_cut_100", "AP@100"),
        ("ndcg", "nDCG"),
        ("ndcg_cut_10", "nDCG@10"),
        ("ndcg_cut.10", "nDCG@10"),
        ("recip_rank", "RR"),
        ("P_10", "P@10"),
        ("recall_1000", "R@1000"),
        ("success_1", "Success@1"),
        ("iprec_at_recall_0.10", "IPrec@0.1"),
        ("num_rel_ret", "NumRelRet"),
        ("set_relative_P", "SetP(relative=True)"),
        ("unj_10", "Unjudged@10"),
        ("bpref", "Bpref"),
        (' nDCG ( dcg = "exp-log2" ) @ 10 ', "nDCG(dcg='exp-log2')@10"),
        ("P(rel=2, judged_only=True)@5", "P(judged_only=True,rel=2)@5"),
    ],
)
def test_other_names_are_understood(alias: str, name: str) -> None:
    assert str(parse_measure(alias)) == name


def test_every_alias_leads_to_a_measure() -> None:
    names = {kind.name for kind in MEASURES}
    assert len(names) == len(MEASURES)
    assert {text.split("(")[0] for text in ALIASES.values()} <= names


def test_equal_measures_are_one_key() -> None:
    assert len({parse_measure("nDCG@10"), parse_measure("ndcg_cut_10"), parse_measure("nDCG(dcg='log2')@10")}) == 1


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("nGCD@10", 'measure: expected a measure such as nDCG@10 (did you mean nDCG?), found "nGCD@10"'),
        ("zzz", 'measure: expected a measure such as nDCG@10, AP, RR@10, P@10 or R@100, found "zzz"'),
        ("P", 'measure: expected a value for cutoff, as in P@10, found "P"'),
        ("IPrec", 'measure: expected a value for recall, as in IPrec@0.1, found "IPrec"'),
        ("P@ten", 'P, cutoff: expected a whole number, found "ten"'),
        ("P@2.5", "P, cutoff: expected a whole number, found 2.5"),
        ("AP(rel=True)", "AP, rel: expected a whole number, found True"),
        ("P(5)", 'measure: expected parameters as in P(rel=2, judged_only=True)@5, found "P(5)"'),
        ("P@5@6", 'measure: expected a name such as nDCG@10 or P(rel=2)@5, found "P@5@6"'),
        ("", 'measure: expected a name such as nDCG@10 or P(rel=2)@5, found ""'),
        (
            "AP(level=2)",
            'measure: expected AP with parameters among cutoff, judged_only, rel, found "AP(level=2)"',
        ),
        ("Rprec@10", 'measure: expected Rprec without a cut-off, found "Rprec@10"'),
    ],
)
def test_a_name_that_is_none_is_told_in_one_line(name: str, told: str) -> None:
    with pytest.raises(ParameterError) as caught:
        parse_measure(name)
    assert str(caught.value) == told


def test_names_are_read_and_never_run() -> None:
    with pytest.raises(ParameterError):
        parse_measure("__import__('os').system('true')")

"""Runs by the kind of query: its length, and the answer it asks for (S1's chapter 4.1)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rankwell.assess.experiments import Experiments
from rankwell.assess.labels import ORIGINAL
from rankwell.evaluate import parse_measure
from rankwell.evaluate.query_groups import Groups, by_answer_type, by_length
from rankwell.plots import Picture, bars

SHOWN = "RR@10"


def group_pictures(experiments: Experiments, texts: Mapping[str, str]) -> dict[str, Picture]:
    """RR@10 of every run in each group of queries, a picture for each binary label set and way of grouping.

    `texts` are the queries' words; without them there is nothing to draw.
    """
    qids = next(iter(experiments.measured[ORIGINAL].values())).qids
    known = {qid: texts[qid] for qid in qids if qid in texts}
    ways = {"query-length": by_length(known), "answer-type": by_answer_type(known)} if known else {}
    return {
        f"{name}-by-{way}": _picture(experiments, name, groups, f"By {way.replace('-', ' ')}, {name} labels")
        for way, groups in ways.items()
        for name in dict.fromkeys(one.about.removesuffix(" labels") for one in experiments.of_runs)
        if parse_measure(SHOWN) in next(iter(experiments.measured[name].values())).measures
    }


def _picture(experiments: Experiments, labels: str, groups: Groups, title: str) -> Picture:
    measure = parse_measure(SHOWN)
    labelled = [f"{name} ({len(members)})" for name, members in groups.items()]
    series = {}
    for run, found in experiments.measured[labels].items():
        values = found.per_query(measure)
        series[run] = [float(np.mean([values[qid] for qid in members])) for members in groups.values()]
    return bars(labelled, series, title=title, x=f"{SHOWN} (queries in brackets)", digits=3)

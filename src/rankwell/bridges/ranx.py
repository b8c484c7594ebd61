"""ranx, both ways: its runs and judgments as ours, and ours as its."""

from __future__ import annotations

from typing import Any

from rankwell.core import Judgments, MissingExtraError, ParameterError, Run


def to_ranx(given: Run | Judgments) -> Any:
    """A run as a `ranx.Run`, judgments as `ranx.Qrels`. Queries without documents are left out: ranx has none.

    ranx.evaluate(to_ranx(judgments), to_ranx(run), "ndcg@10", make_comparable=True)
    """
    try:
        import ranx
    except ImportError as error:
        raise MissingExtraError("the bridge to ranx", extra="ranx") from error
    filled = {qid: values for qid, values in given.to_dict().items() if values}
    return ranx.Run(filled, name=given.tag) if isinstance(given, Run) else ranx.Qrels(filled)


def from_ranx(given: Any) -> Run | Judgments:
    """A `ranx.Run` as a run, `ranx.Qrels` as judgments."""
    kind = type(given).__name__
    if not type(given).__module__.startswith("ranx.") or kind not in ("Run", "Qrels"):
        raise ParameterError("from_ranx", expected="a ranx.Run or ranx.Qrels", found=given)
    values = {str(qid): dict(of_query) for qid, of_query in given.to_dict().items()}
    if kind == "Run":
        return Run.from_dict(values, tag=given.name or "ranx")
    return Judgments.from_dict({qid: {docno: int(grade) for docno, grade in of.items()} for qid, of in values.items()})

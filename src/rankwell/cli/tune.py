"""`rankwell tune`: try settings of a whole search on judged queries, and say what to expect of the best."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from rankwell import pipelines
from rankwell.cli import options
from rankwell.cli.search import known_relevant
from rankwell.collections import read_any_qrels, read_any_queries
from rankwell.core import ParameterError, Progress, Stage
from rankwell.core.parameters import Weights, grid_of, parameters
from rankwell.index import SearchIndex, open_index
from rankwell.pipelines import RankerOptions, RerankOptions
from rankwell.pipelines.file import options_from
from rankwell.report.sweep import tuning_table

K = 100  # documents of each query, unless -k says otherwise
# What is tried where the user names nothing: for a search by words, a hybrid, query expansion, a re-ranker.
BY_WORDS = {"k1": [0.6, 0.9, 1.2, 1.5, 2.0], "b": [0.3, 0.4, 0.6, 0.75, 0.9]}
HYBRID = {"vector_weight": [None, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8]}
EXPANDED = {"rm3_settings": [f"{documents},{terms},0.5" for documents in (5, 10, 20) for terms in (10, 20)]}
RERANKED = {"depth": [10, 20, 50], "interpolate": [None, 0.1, 0.3, 0.5, 0.7, 0.9]}

FirstGrid, SecondGrid = grid_of(RankerOptions), grid_of(RerankOptions)


@options.with_device
@options.declared
def tune(
    folder: options.IndexAddress,
    queries: options.Queries,
    qrels: Annotated[str, Argument(help=f"Judgments ({options.QRELS}), or a collection that has some.")],
    first: FirstGrid,  # type: ignore[valid-type]
    second: SecondGrid,  # type: ignore[valid-type]
    pipeline: options.PipelineFile = None,
    save: Annotated[
        Path | None, options.path_option("Write the best pipeline to this file, for --pipeline of commands.", "--save")
    ] = None,
    measure: Annotated[
        str, Option("--measure", "-m", help="Measure to optimise.", autocompletion=options.measures)
    ] = "nDCG@10",
    steps: Annotated[int, Option(help="Field weights: number of steps between 0 and 1.")] = 4,
    folds: Annotated[int, Option(help="Number of cross-validation folds.")] = 5,
    seed: options.Seed = 0,
    split: options.Split = None,
    threads: options.Threads = None,
    cache: Annotated[
        Path | None, Option(help="Folder that keeps results, so that an interrupted run can continue.")
    ] = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Try settings of a search; the cross-validated value is what to expect on new queries.

    The options are those of `rankwell rank`. Give several values of one with commas (`--k1 0.9,1.2`), or by repeating
    it (`--document '{title}' --document '{title} {abstract}'`): every combination is tried. Without any, the usual
    values are tried for the kind of search: by words, --hybrid, --rm3 or --rerank. With --pipeline the search of that
    file is the start: what is not tried stays as it is there, and the difference is to it.
    """
    begun = {} if pipeline is None else pipelines.read_options(pipeline)
    given = {**vars(first), **vars(second)}
    given["weights"] = _weights(given["weights"], steps)
    tried = {name: values for name, values in given.items() if isinstance(values, list)}
    fixed = {name: value for name, value in given.items() if value is not None and name not in tried}
    fixed |= {name: values[0] for name, values in tried.items() if len(values) == 1}
    grid = {name: values for name, values in tried.items() if len(values) > 1} or _usual({**begun, **fixed}, fixed)
    fixed = {**begun, **{name: value for name, value in fixed.items() if name not in begun or value is not False}}
    asked, judged = read_any_queries(queries, split), read_any_qrels(qrels, split)
    search = _Search(open_index(folder), fixed, asked.texts(), threads)
    with Progress("tuning", unit="settings", quiet=quiet) as progress:
        tuning = pipelines.tune(
            search, grid, asked, judged, measure, folds=folds, seed=seed, untuned={}, cache=cache, progress=progress
        )
    rows = [{name: "-" if value is None else value for name, value in row.items()} for row in tuning.rows()]
    options.show(output, tuning_table(rows, str(tuning.measure)))
    if output == "table":
        difference = tuning.difference()
        low, high = difference.interval
        print(f"\nbest on all queries: {_named({**fixed, **tuning.best.setting})} ({tuning.best.value:.4f})")
        print(f"to expect on new queries ({folds}-fold cross-validation): {tuning.cross_validated:.4f}")
        print(f"without tuning: {tuning.untuned.value if tuning.untuned else 0:.4f}; ", end="")
        print(f"difference {difference.mean:+.4f} ({low:+.4f} to {high:+.4f}), p = {difference.p:.2g}")
        print(f"options: {_as_options({**fixed, **tuning.best.setting})}")
    if save is not None:
        pipelines.write_options(save, *options_from({"k": K, **fixed, **tuning.best.setting}))
        options.tell(f"pipeline: {save}")


def _weights(told: list[str] | None, steps: int) -> list[str] | None:
    """Weights (`title=0.3,abstract=0.7`) unchanged; names of fields as all ways to divide a weight of 1 among them."""
    if told is None or len(told) > 1 or "=" in told[0]:
        return told
    names = [name.strip() for name in told[0].split(",")]
    return [Weights().read("--weights", weights) for weights in pipelines.weight_grid(names, steps)]


def _usual(search: Mapping[str, Any], fixed: Mapping[str, Any]) -> dict[str, Any]:
    """What is tried for this kind of search, without what the user has fixed."""
    parts: dict[str, Mapping[str, Any]] = {"hybrid": HYBRID, "rm3": EXPANDED, "rerank": RERANKED}
    usual = {name: values for kind, grid in parts.items() if search.get(kind) for name, values in grid.items()}
    if not usual and not search.get("dense"):
        usual = BY_WORDS
    grid = {name: values for name, values in usual.items() if name not in fixed}
    if not grid:
        raise ParameterError(
            "tune", expected="an option with several values to try, such as --k1 0.9,1.2", found="none"
        )
    return grid


def _named(setting: Mapping[str, Any]) -> str:
    shown = {name: "-" if value is None else value for name, value in setting.items() if not isinstance(value, bool)}
    return ", ".join(f"{name}={value}" for name, value in shown.items())


def _as_options(setting: Mapping[str, Any]) -> str:
    """The setting as options of `rankwell rank` and `rankwell search`."""
    words = []
    for name, value in setting.items():
        if value is not None and value is not False:
            flag = parameters(RankerOptions)[name].flags if name in parameters(RankerOptions) else ()
            words += [flag[-1] if flag else f"--{name.replace('_', '-')}", *([] if value is True else [str(value)])]
    return shlex.join(words)


@dataclass(frozen=True)
class _Search:
    """Makes the pipeline of `rankwell rank` for a setting."""

    index: SearchIndex
    fixed: Mapping[str, Any]
    texts: Mapping[str, str]
    threads: int | None

    def __call__(self, **setting: Any) -> Stage:
        """The pipeline with these settings, and the fixed ones."""
        values = {"k": K, **self.fixed, **setting}
        first, again = options_from(values)
        again = replace(again, relevant=known_relevant(again.relevant), threads=self.threads, quiet=True)
        return pipelines.pipeline_of(self.index, replace(first, threads=self.threads), again, self.texts)

"""`rankwell review rank` and `rankwell review simulate`: reviews whose answers are known, ranked and replayed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rankwell.cli import options

if TYPE_CHECKING:
    from rankwell.reviews.screening import Setting
    from rankwell.reviews.screening.rankers import Ranker


Source = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="A collection of reviews with their judgments.", show_default=False)
]
Split = Annotated[
    str | None, typer.Option("--split", help="Which reviews: test, validation, train or all; test if there is one.")
]
Bert = Annotated[
    str, typer.Option("--bert", metavar="MODEL", help="The model of learner+bert: a short name or a folder.")
]
RankerSeed = Annotated[int, typer.Option("--seed", help="Random seed for the starts and the random ranker.")]


def rank_reviews(
    source: Source,
    out: options.RunOut,
    ranker: Annotated[
        str, typer.Option(help="bm25, linear, learner or learner+bert (by likeness to the title), or random.")
    ] = "bm25",
    split: Split = None,
    bert: Bert = "minilm-l6",
    seed: RankerSeed = 0,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Rank each review's own records by its title, and say how well: MAP, accuracy, and the work that is saved."""
    from rankwell.cli.runs import show, warn
    from rankwell.collections import write_run
    from rankwell.core import Progress
    from rankwell.reviews.screening import ranked, ranker_named
    from rankwell.reviews.screening.figures import ranking_table

    _check_output(output)
    chosen = ranker_named(ranker)
    setting = _setting(source, split, [ranker], bert, seed=seed, quiet=quiet)
    with Progress("ranking", unit="reviews", total=len(setting.reviews), quiet=quiet) as progress:
        ordering = chosen(setting)
        found = ranked(list(progress.track(setting.reviews)), ordering, ranker)
    write_run(out, found, "trec")
    warn(setting.notes)
    show(ranking_table(found, setting), output)
    if not quiet:
        print(f"{out}: {len(found.qids):,} reviews, {len(found):,} records", file=sys.stderr)


def simulate_reviews(
    source: Source,
    ranker: Annotated[
        list[str] | None,
        typer.Option(
            "--ranker",
            help="learner, learner+bert, bm25, linear or random; several times for more.",
            show_default=False,
        ),
    ] = None,
    run: Annotated[
        list[Path] | None,
        typer.Option("--run", help="Also replay the order of this run.", readable=False),
    ] = None,
    starts: Annotated[int, typer.Option(help="Number of simulations, each with other known records.")] = 10,
    seed: RankerSeed = 0,
    recall: Annotated[float, typer.Option(help="Recall at which saved work is measured.")] = 0.95,
    again: Annotated[
        float, typer.Option(help="Retrain when the number of decisions has grown by this share (0: after each).")
    ] = 0.02,
    split: Split = None,
    bert: Bert = "minilm-l6",
    pictures: Annotated[Path | None, typer.Option(help="Write the recall curves into this folder (PNG).")] = None,
    html: options.Html = None,
    output: options.Output = "table",
    quiet: options.Quiet = False,
) -> None:
    """Replay finished reviews, to see how much work each ranker would have saved."""
    from rankwell.cli.runs import show, this_command, warn, write_page
    from rankwell.core import Progress
    from rankwell.reviews.screening import replay
    from rankwell.reviews.screening.figures import figures_table, recall_pictures, replays_page

    _check_output(output)
    names = list(dict.fromkeys(ranker or ([] if run else ["learner"])))
    setting = _setting(source, split, names, bert, seed=seed, quiet=quiet).for_replay()
    rankers = _rankers(setting, names, run or [])
    total = len(setting.reviews) * len(rankers) * starts
    with Progress("simulating", unit="simulations", total=total, quiet=quiet) as progress:
        found = replay(setting.reviews, rankers, count=starts, seed=seed, again=again, recall=recall, progress=progress)
    warn(setting.notes)
    show(figures_table(found, output), output)
    for name, picture in (recall_pictures(found) if pictures else {}).items():
        picture.save((pictures or Path()) / f"recall-{_file_name(name)}.png")
    if pictures:
        print(f"pictures: {pictures}", file=sys.stderr)
    if html:
        write_page(html, replays_page(found, f"{source}: simulated screening", this_command(), setting.notes))


def _check_output(output: str) -> None:
    """Refuse an unknown form of output before the work, not after it."""
    from rankwell.core import ParameterError
    from rankwell.report.table import RENDERERS

    if output not in RENDERERS:
        raise ParameterError("output", expected=f"one of {', '.join(RENDERERS)}", found=output)


def _setting(source: str, split: str | None, names: Sequence[str], bert: str, *, seed: int, quiet: bool) -> Setting:
    """The reviews, and what the asked rankers may learn from; an unknown ranker or model is refused before that."""
    from rankwell.cli.options import reading
    from rankwell.collections import open_collection
    from rankwell.core import ParameterError
    from rankwell.models.base import find_model
    from rankwell.reviews.screening import ranker_named, read_setting

    if seed < 0:
        raise ParameterError("--seed", expected="a whole number from 0", found=seed)
    for name in names:
        ranker_named(name)
    reads = any(name.endswith("+bert") for name in names)
    if reads:
        find_model(bert)
    with reading(f"reading {source}", "documents", quiet=quiet) as how:
        learning = "linear" in names
        setting = read_setting(open_collection(source), split, learning=learning, seed=seed, reading=how)
    if reads:
        _read(setting, bert, quiet=quiet)
    return replace(setting, model=bert)


def _read(setting: Setting, model: str, *, quiet: bool) -> None:
    """Let the model read all records, which takes minutes the first time; what it read is kept."""
    from rankwell.core import Progress
    from rankwell.reviews.screening.reader import Reader

    reader = Reader.open(model)
    total = sum(len(review.records) for review in setting.reviews)
    with Progress(f"{model} reads", unit="records", total=total, quiet=quiet) as progress:
        for review in setting.reviews:
            reader.read(review.records, progress)


def _rankers(setting: Setting, names: Sequence[str], runs: Sequence[Path]) -> dict[str, Ranker]:
    from rankwell.cli.runs import read_runs
    from rankwell.core import ParameterError
    from rankwell.reviews.screening import by_run, ranker_named

    found = {name: ranker_named(name)(setting) for name in names}
    for name, run in read_runs(runs, None, skip_bad=False, quiet=True).items():
        if name in found:
            raise ParameterError("--run", expected="a file whose name is not that of a ranker", found=name)
        found[name] = by_run(run)
        unknown = [review.name for review in setting.reviews if review.name not in run]
        if unknown:
            setting.notes.append(f"{name} has nothing for {len(unknown):,} reviews, whose records keep their order")
    return found


def _file_name(name: str) -> str:
    return "".join(letter if letter.isalnum() else "-" for letter in name)

"""`rankwell evaluate | compare | sweep | stats | fuse | convert`: measure, compare and combine runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

from rankwell import collections, evaluation
from rankwell.analysis import Analyzer
from rankwell.cli import options
from rankwell.collections.convert import Conversion
from rankwell.collections.formats.rwrun import run_format
from rankwell.collections.reading import Reading
from rankwell.collections.sample import SamplePart
from rankwell.core import Judgments, Run
from rankwell.evaluation import Measure, significance
from rankwell.evaluation.comparison import warnings
from rankwell.evaluation.evaluation import write_study
from rankwell.evaluation.joint_bounds import joint_bounds
from rankwell.evaluation.measures.precision import MatchRatio
from rankwell.evaluation.query_groups import read_answer_types, read_groups
from rankwell.evaluation.sweeps import parse_depths, parse_points
from rankwell.index import is_index, open_index
from rankwell.index.opening import find_documents
from rankwell.index.snippets import document_pieces
from rankwell.report import collection_statistics, comparison
from rankwell.report.sweep import sweep_page, sweep_pictures, sweep_table
from rankwell.report.workbench import SNIPPET, Workbench

Test = Annotated[str, Option("--test", help="Significance test: t, randomization, bootstrap or wilcoxon.")]
Unjudged = Annotated[str, Option("--unjudged", help="Documents nobody judged: zero (not relevant), remove, or bounds.")]
AssessUnjudged = Annotated[
    Path | None, options.path_option("Write the unjudged documents as a study for assessors.", "--assess-unjudged")
]
Collection = Annotated[
    str | None,
    Option(help="Texts for --html and --assess-unjudged, documents for MatchRatio: any format, or an index."),
]
LONGEST = 1000  # ranks of a measure without a cut-off
AssessDepth = Annotated[int, Option("--depth", help="Depth to which --assess-unjudged looks.")]


def compare(
    qrels: options.Qrels,
    baseline: Annotated[Path, Argument(help="The run to compare with.", readable=False)],
    runs: Annotated[list[Path], Argument(help="The runs to compare.", readable=False)],
    measure: options.Measures = None,
    test: Test = "t",
    correction: Annotated[
        str, Option(help="Correction for several runs: holm, bonferroni, benjamini-hochberg or none.")
    ] = "holm",
    seed: options.Seed = 0,
    interval: Annotated[
        str, Option(help="Intervals: t, bca (follows skewed values), or bootstrap (percentiles).")
    ] = "t",
    all_pairs: Annotated[
        bool, Option("--all-pairs", help="Compare each run with each other, also by Tukey's HSD.")
    ] = False,
    marks: options.Marks = "stars",
    unjudged: Unjudged = "zero",
    own: options.Own = "auto",
    compact: Annotated[
        bool, Option("--compact", help="Print one row for each run, with marks behind the means.")
    ] = False,
    output: options.Output = "table",
    html: options.Html = None,
    queries: options.QueriesFile = None,
    answer_types: Annotated[
        Path | None, options.path_option("File of answer types that override the rules; a line is: qid TYPE.")
    ] = None,
    groups: Annotated[
        Path | None, options.path_option("File of groups for the results by group in --html; a line is: qid GROUP.")
    ] = None,
    assess_unjudged: AssessUnjudged = None,
    assess_verdict: Annotated[
        Path | None,
        options.path_option(
            "Write the fewest documents whose judgments could turn the verdict, as a study for assessors.",
            "--assess-verdict",
        ),
    ] = None,
    depth: AssessDepth = 10,
    collection: Collection = None,
    name: options.Names = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Compare runs with a baseline: differences with intervals and tests, as a table and as a page with pictures."""
    chosen = significance.seeded_test(test, seed)
    files = [baseline, *runs]
    judgments, by_name = options.read_judged(qrels, files, name, own=own, skip_bad=skip_bad, quiet=quiet)
    measures = _sized(measure, collection)
    compared = evaluation.compare(
        judgments, by_name, measures, test=chosen, correction=correction, unjudged=unjudged, interval=interval
    )
    table = comparison.compact_table if compact else comparison.comparison_table
    options.show(output, (comparison.pairs_table if all_pairs else table)(compared, marks))
    if output == "table":
        print(f"\n{chosen.name} test, correction: {correction}. {significance.mark(marks).legend}")
    options.warn(compared.warnings())
    if html:
        texts = _query_texts(queries, qrels, collection)
        types = read_answer_types(answer_types) if answer_types else None
        own_groups = read_groups(groups) if groups else None
        bench = comparison.query_workbench(
            compared, judgments, by_name, texts=texts, answer_types=types, groups=own_groups
        )
        if bench is not None and collection is not None:
            bench = _with_texts(bench, collection, quiet=quiet)
        page = comparison.comparison_page(
            compared, texts=texts, answer_types=types, marks=marks, command=options.this_command(), workbench=bench
        )
        options.write_page(html, page)
    sources = {"qrels": qrels, "runs": files, "queries": queries, "collection": collection}
    if assess_unjudged:
        _write_unjudged(assess_unjudged, judgments, by_name, depth, sources)
    if assess_verdict:
        _write_turning(assess_verdict, judgments, by_name, measures[0], sources)


def evaluate(
    qrels: options.Qrels,
    runs: Annotated[list[Path], Argument(help="Runs (TREC, JSON or MS MARCO).", readable=False)],
    measure: options.Measures = None,
    per_query: Annotated[bool, Option("--per-query", help="Print a row for every query.")] = False,
    unjudged: Unjudged = "zero",
    own: options.Own = "auto",
    output: options.Output = "table",
    assess_unjudged: AssessUnjudged = None,
    depth: AssessDepth = 10,
    collection: Collection = None,
    name: options.Names = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Measure runs against judgments. A query that a run lacks counts as 0; ties are broken as trec_eval does."""
    judgments, by_name = options.read_judged(qrels, runs, name, own=own, skip_bad=skip_bad, quiet=quiet)
    measured = evaluation.evaluate(judgments, by_name, _sized(measure, collection), unjudged=unjudged)
    if unjudged == "bounds":
        table = comparison.per_query_bounds_table if per_query else comparison.bounds_table
    else:
        table = comparison.per_query_table if per_query else comparison.evaluation_table
    options.show(output, table(measured))
    options.warn(warnings(measured))
    if assess_unjudged:
        sources = {"qrels": qrels, "runs": runs, "collection": collection}
        _write_unjudged(assess_unjudged, judgments, by_name, depth, sources)


def _query_texts(queries: Path | None, qrels: Path, collection: str | None) -> dict[str, str] | None:
    """The texts of the queries: of their file, else of the collection that has the judgments or the documents."""
    if queries:
        return collections.read_queries(queries).texts()
    for source in filter(None, (str(qrels), collection)):
        path = Path(source)
        if path.is_file() or is_index(path):
            continue
        asked = collections.open_collection(source)
        if asked.read_queries:
            return asked.queries().texts()
    return None


def _with_texts(bench: Workbench, source: str, *, quiet: bool) -> Workbench:
    """The workbench with the documents of an index or a collection, and snippets around the query's words."""
    analyzer = open_index(source).analyzer if is_index(Path(source)) else Analyzer()
    with options.reading(f"reading {source}", "documents", quiet=quiet) as how:
        found = {one.id: one for one in find_documents(source, bench.documents_wanted(), how)}
    return replace(bench, documents=found, snippet=partial(document_pieces, analyzer, SNIPPET))


def _sized(names: Sequence[str] | None, collection: str | None) -> list[Measure]:
    """The measures; MatchRatio gets the number of documents of the index or collection."""
    measures = [evaluation.parse_measure(name) for name in names or options.MEASURES]
    if collection is None or not any(isinstance(measure, MatchRatio) for measure in measures):
        return measures
    size = len(open_index(collection)) if is_index(Path(collection)) else _count(collection)
    return [
        replace(one, documents=size) if isinstance(one, MatchRatio) and not one.documents else one for one in measures
    ]


def _count(source: str) -> int:
    return sum(1 for _ in collections.open_collection(source).documents(Reading()))


def _write_unjudged(
    path: Path, judgments: Judgments, by_name: dict[str, Run], depth: int, sources: dict[str, Any]
) -> None:
    """Write the study file with what nobody judged, and say how much it is."""
    pool = evaluation.unjudged_documents(judgments, by_name.values(), depth)
    write_study(path, pool, depth=depth, **sources)
    documents = sum(len(docnos) for docnos in pool.values())
    options.tell(f"study: {path}: {documents:,} documents of {len(pool):,} queries to judge")


def _write_turning(
    path: Path, judgments: Judgments, by_name: dict[str, Run], measure: Measure, sources: dict[str, Any]
) -> None:
    """Write the study file with the judgments that could turn a difference to the baseline, and say how many."""
    baseline, *others = by_name
    pool: dict[str, dict[str, None]] = {}
    for name in others:
        found = joint_bounds(judgments, by_name[name], by_name[baseline], measure)
        if found is None or not found.turning:
            why = "no judging of unjudged documents is known to turn it"
            options.tell(f"note: {measure}, {name} against {baseline}: {why}")
            continue
        ends = f"{found.mean_low:+.4f} to {found.mean_high:+.4f}"
        said = (
            f"{found.difference:+.4f} could be {ends}; {_counted(len(found.turning), 'judgment')} could turn its sign"
        )
        options.tell(f"note: {measure}, {name} against {baseline}: {said}")
        for one in found.turning:
            pool.setdefault(one.qid, {})[one.docno] = None
    if not pool:
        options.tell(f"{path}: not written, because there is nothing to judge that could turn the verdict")
        return
    listed = {qid: tuple(docnos) for qid, docnos in pool.items()}
    write_study(path, listed, depth=measure.depth or LONGEST, **sources)
    documents = sum(map(len, listed.values()))
    options.tell(f"study: {path}: {_counted(documents, 'document')} of {_counted(len(pool), 'query')} to judge")


def _counted(count: int, noun: str) -> str:
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def sweep(
    qrels: options.Qrels,
    baseline: Annotated[Path, Argument(help="The first stage's run.")],
    runs: Annotated[list[str], Argument(help="One re-ranked run, or NUMBER=RUN for each point.")],
    measure: options.Measures = None,
    depths: Annotated[str, Option(help="Depths to re-rank: FIRST:LAST:STEP or a list 10,20,50.")] = "10:100:10",
    name: Annotated[str, Option(help="Name of the number in NUMBER=RUN: k1, layers, ...")] = "value",
    test: Test = "t",
    seed: options.Seed = 0,
    own: options.Own = "auto",
    marks: options.Marks = "stars",
    output: options.Output = "table",
    html: options.Html = None,
    pictures: options.Pictures = None,
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Follow measures over re-ranking depth (from one re-ranked run) or over any number, with a 95 % band."""
    points = parse_points(runs)
    files = [baseline, *map(Path, points.values() if points else runs)]
    judgments, by_name = options.read_judged(
        qrels, files, list(map(str, range(len(files)))), own=own, skip_bad=skip_bad, quiet=quiet
    )
    first, *others = by_name.values()
    chosen, wanted = significance.seeded_test(test, seed), measure or ["RR@10", "R@10", "nDCG@10"]
    if points:
        at = dict(zip(points, others, strict=True))
        swept = evaluation.sweep(judgments, first, at, wanted, name=name, test=chosen)
    else:
        swept = evaluation.depth_sweep(judgments, first, others[0], parse_depths(depths), wanted, test=chosen)
    options.show(output, sweep_table(swept, marks))
    options.warn(swept.warnings())
    if pictures:
        options.write_pictures(pictures, sweep_pictures(swept))
    if html:
        options.write_page(html, sweep_page(swept, f"{baseline.name} by {swept.name}", options.this_command(), marks))


def stats(
    source: options.Source,
    queries: options.QueriesFile = None,
    qrels: options.QrelsFile = None,
    split: options.Split = None,
    tokenizer: options.Tokenizer = None,
    limit: options.TokenLimit = 512,
    output: options.Output = "table",
    pictures: options.Pictures = None,
    html: Annotated[Path | None, Option(help="Write one page with tables and pictures.")] = None,
    format: options.Format = None,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Describe a collection: fields, lengths, judgments, years, duplicates; as tables, pictures or a page."""
    from rankwell.models.base import TokenCounter, default_tokenizer

    collection = collections.open_collection(source, format)
    choice = collections.ColumnChoice.parse(id_column, fields, metadata)
    model = tokenizer or default_tokenizer()
    asked = judged = None
    with options.reading(f"reading {source}", "documents", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        if queries or collection.read_queries:
            asked = collections.read_queries(queries, reading=how) if queries else collection.queries(split, how)
        if qrels or split or collection.splits:
            judged = collections.read_qrels(qrels, reading=how) if qrels else collection.judgments(split, how)
        documents = how.progress.track(collections.unique(collection.documents(how, choice), how, source))
        counter = TokenCounter(model) if model else None
        statistics = collection_statistics(documents, asked, judged, count_tokens=counter, token_limit=limit)
    if output == "json":
        print(statistics.to_json(), end="")
    else:
        options.show(output, *statistics.tables())
    if pictures:
        options.write_pictures(pictures, statistics.pictures())
    if html:
        options.write_page(html, statistics.page(f"{source}: collection statistics", options.this_command()))


def fuse(
    runs: Annotated[list[Path], Argument(help="The runs.", readable=False)],
    out: options.RunOut,
    method: Annotated[str, Option(help="Fusion method: rrf (reciprocal rank), sum or mnz.")] = "rrf",
    weights: Annotated[str | None, Option(help="One weight for each run: 0.7,0.3.")] = None,
    k: Annotated[int | None, Option("-k", help="Number of documents to keep for each query.")] = None,
    tag: Annotated[str, Option(help="Run tag.")] = "fused",
    quiet: options.Quiet = False,
) -> None:
    """Combine runs: reciprocal rank fusion, or weighted sums of normalised scores."""
    from rankwell.retrieve import fusion

    numbers = None if weights is None else options.parse_numbers("--weights", weights, "numbers, one a run: 0.7,0.3")
    fused = fusion(method, numbers)(*(collections.read_run(path) for path in runs))
    fused = replace(fused if k is None else fused.top(k), tag=tag)
    collections.write_run(out, fused, run_format(out))
    if not quiet:
        options.tell(f"{out}: {len(fused.qids):,} queries, {len(fused):,} documents")


def convert(
    source: options.Source,
    out: Annotated[Path, Argument(help="A file whose ending names the format, or a folder.")],
    kind: Annotated[
        str | None,
        Option(help="What is converted: collection, documents, queries, qrels or run; guessed if not named."),
    ] = None,
    read_as: Annotated[str | None, Option("--from", help="The format to read; guessed if not named.")] = None,
    write_as: Annotated[
        str | None, Option("--to", help="The format to write; told by OUT's ending if not named.")
    ] = None,
    sample: Annotated[
        list[str] | None, Option(help="Cut out a sub-collection NAME:QUERIES:DOCUMENTS; several share nothing.")
    ] = None,
    seed: Annotated[int, Option(help="Random seed for --sample.")] = 0,
    split: options.Split = None,
    drop_negative: Annotated[
        bool, Option("--drop-negative", help="Judgments below 0 mean not judged (TREC-COVID).")
    ] = False,
    fields: options.Fields = None,
    id_column: options.IdColumn = None,
    metadata: options.Metadata = None,
    encoding: options.Encoding = "auto",
    skip_bad: options.SkipBad = False,
    quiet: options.Quiet = False,
) -> None:
    """Convert between formats, or cut sub-collections out of a collection."""
    choice = collections.ColumnChoice.parse(id_column, fields, metadata)
    job = Conversion(source, out, kind, read_as, write_as, split, choice, drop_negative)
    with options.reading(f"converting {source}", "records", encoding=encoding, skip_bad=skip_bad, quiet=quiet) as how:
        said = job.sampled([SamplePart.parse(text) for text in sample], seed, how) if sample else job.converted(how)
    if not quiet:
        options.tell(said)

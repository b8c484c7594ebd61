"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rankwell.cli import completing

Source = Annotated[
    str, typer.Argument(help="A file or folder of any format, rankwell:python, or irds:ID.", show_default=False)
]
Format = Annotated[str | None, typer.Option("--format", help="The documents' format; guessed where it is not named.")]
Fields = Annotated[str | None, typer.Option("--fields", help="Text columns: title,abstract or field=column,...")]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column with the document's id.")]
Metadata = Annotated[
    str | None, typer.Option("--metadata", help="Columns to keep as metadata; all others where none is named.")
]
Encoding = Annotated[str, typer.Option("--encoding", help="The files' encoding.")]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave bad records out and list them instead of stopping.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress; only results, notes and errors.")]
Split = Annotated[str | None, typer.Option("--split", help="Which judgments: test, dev, train, ...")]
Output = Annotated[str, typer.Option("--output", help="table, md, latex, csv or json.")]
QueriesFile = Annotated[
    Path | None,
    typer.Option("--queries", help="Queries in any format, instead of the collection's own.", readable=False),
]
QrelsFile = Annotated[
    Path | None,
    typer.Option("--qrels", help="Judgments in any format, instead of the collection's own.", readable=False),
]
Qrels = Annotated[
    Path,
    typer.Argument(help="Judgments in any format, or a collection that has some.", show_default=False, readable=False),
]
Measures = Annotated[
    list[str] | None,
    typer.Option(
        "--measure",
        "-m",
        help="A measure such as nDCG@10, RR@10, AP(rel=2)@1000, P_10; several times for more.",
        autocompletion=completing.measures,
    ),
]
Unjudged = Annotated[
    str, typer.Option("--unjudged", help="Documents nobody judged: zero (not relevant), remove, or bounds.")
]
Test = Annotated[str, typer.Option("--test", help="t, randomization or bootstrap.")]
Seed = Annotated[int, typer.Option("--seed", help="The seed of tests that draw lots.")]
Marks = Annotated[str, typer.Option("--marks", help="Signs of significance: stars, dagger or none.")]
Html = Annotated[
    Path | None, typer.Option("--html", help="Also write one page with tables and pictures.", readable=False)
]
Names = Annotated[list[str] | None, typer.Option("--name", help="A run's name in tables, in the order of the runs.")]
AssessUnjudged = Annotated[
    Path | None,
    typer.Option(
        "--assess-unjudged", help="Write the documents nobody judged as a study for assessors.", readable=False
    ),
]
AssessDepth = Annotated[int, typer.Option("--depth", help="How deep --assess-unjudged looks.")]
AssessCollection = Annotated[
    str | None, typer.Option("--collection", help="Where the texts for --assess-unjudged are: any format, or an index.")
]
IndexFolder = Annotated[Path, typer.Argument(metavar="DIR", help="The index.", show_default=False, readable=False)]
IndexAddress = Annotated[
    str,
    typer.Argument(
        metavar="DIR", help="The index: a folder, or where it is in ClickHouse (see push).", show_default=False
    ),
]
Threads = Annotated[
    int | None, typer.Option("--threads", help="How many to use; as many as there are cores by default.")
]
MatchOption = Annotated[
    str,
    typer.Option("--match", help="Which documents: or, and, 'expr:title:fever AND NOT cough', or several with + or &."),
]
FilterOption = Annotated[
    str | None, typer.Option("--filter", help="A condition on metadata: 'year>=2020 and source=PMC'.")
]
K1 = Annotated[float, typer.Option("--k1", help="BM25's k1.")]
B = Annotated[float, typer.Option("--b", help="BM25's b.")]
IdfOption = Annotated[str, typer.Option("--idf", help="lucene, robertson, robertson-raw or plain.")]
Weights = Annotated[
    str | None, typer.Option("--weights", help="Search fields with weights: title=0.25,abstract=0.6,body=0.15.")
]
Rm3 = Annotated[bool, typer.Option("--rm3", help="Expand queries by pseudo-relevance feedback.")]
Rm3Settings = Annotated[
    str, typer.Option("--rm3-settings", help="Feedback documents, terms and weight of the original query.")
]
Dense = Annotated[bool, typer.Option("--dense", help="Rank by embeddings (see rankwell encode) instead of BM25.")]
Hybrid = Annotated[bool, typer.Option("--hybrid", help="Rank by BM25 and by embeddings, fused by their ranks.")]
Vectors = Annotated[str | None, typer.Option("--vectors", help="Which vectors, where the index has several.")]
Hnsw = Annotated[bool, typer.Option("--hnsw", help="Look vectors up in the graph: quicker, nearly exact.")]
Variants = Annotated[
    int, typer.Option("--variants", help="Also search so many similar queries, made with the embeddings.")
]
Rerank = Annotated[
    str | None,
    typer.Option("--rerank", help="Re-rank the top with this cross-encoder.", autocompletion=completing.cross_encoders),
]
Depth = Annotated[
    int | None,
    typer.Option("--depth", help="How many documents are re-ranked; 100 by default, 20 by a model that compares them."),
]
Relevant = Annotated[
    str | None,
    typer.Option(
        "--relevant",
        help="For models that read an example: judgments (a file), or the text of a relevant abstract.",
    ),
]
Template = Annotated[
    str | None, typer.Option("--document", help="The text a model reads: '{title} {abstract}'; all fields by default.")
]
Passages = Annotated[
    str | None, typer.Option("--passages", help="Score passages: words:overlap such as 150:50, or paragraphs.")
]
Aggregate = Annotated[
    str | None,
    typer.Option(
        "--aggregate",
        help="A document's score of its passages': first, max, mean (the default) or sum; "
        "for a duo model of its comparisons: sum, binary, min, max or sample:M.",
    ),
]
Interpolate = Annotated[
    float | None,
    typer.Option("--interpolate", help="Mix with the first stage: this much of the model, the rest of the first."),
]
Precision = Annotated[str | None, typer.Option("--precision", help="fp32 or int8; what the model has by default.")]
On = Annotated[
    str | None,
    typer.Option("--on", help="Work on a Ray cluster: ray, ray:address=HOST:PORT or ray://HOST:PORT (see docs)."),
]
RunOut = Annotated[Path, typer.Option("--out", "-o", help="The run to write.", show_default=False, readable=False)]

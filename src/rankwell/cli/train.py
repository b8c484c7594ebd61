"""`rankwell train`: make training data, and models of it."""

from __future__ import annotations

import typer

from rankwell.cli.train_architecture import architecture
from rankwell.cli.train_bi_encoder import bi_encoder
from rankwell.cli.train_cross_encoder import cross_encoder
from rankwell.cli.train_duo import duo
from rankwell.cli.train_linear import linear
from rankwell.cli.train_mlm import mlm
from rankwell.cli.train_pairs import pairs
from rankwell.cli.train_parade import parade
from rankwell.cli.train_resume import resume
from rankwell.cli.train_search import search
from rankwell.cli.train_vocabulary import vocabulary

train = typer.Typer(no_args_is_help=True, help="Training: pairs, models, searches over settings.")
train.command("pairs")(pairs)
train.command("linear")(linear)
train.command("vocabulary")(vocabulary)
train.command("mlm")(mlm)
train.command("cross-encoder")(cross_encoder)
train.command("bi-encoder")(bi_encoder)
train.command("parade")(parade)
train.command("duo")(duo)
train.command("architecture")(architecture)
train.command("resume")(resume)
train.command("search")(search)

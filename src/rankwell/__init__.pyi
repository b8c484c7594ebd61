# The types of the front door, for editors and mypy: a line for each name of `HOMES` in `__init__.py`.

from typing import Final

from rankwell.analysis import Analyzer as Analyzer
from rankwell.apps.search.application import serve as serve
from rankwell.collections import Collection as Collection
from rankwell.collections import ColumnChoice as ColumnChoice
from rankwell.collections import open_collection as open_collection
from rankwell.collections import preview as preview
from rankwell.collections import read_documents as read_documents
from rankwell.collections import read_qrels as read_qrels
from rankwell.collections import read_queries as read_queries
from rankwell.collections import read_run as read_run
from rankwell.collections import write_documents as write_documents
from rankwell.collections import write_qrels as write_qrels
from rankwell.collections import write_queries as write_queries
from rankwell.collections import write_run as write_run
from rankwell.core import Document as Document
from rankwell.core import Judgments as Judgments
from rankwell.core import Pipeline as Pipeline
from rankwell.core import Queries as Queries
from rankwell.core import Query as Query
from rankwell.core import RankwellError as RankwellError
from rankwell.core import Run as Run
from rankwell.core import Stage as Stage
from rankwell.core import stage as stage
from rankwell.evaluation import Comparison as Comparison
from rankwell.evaluation import Evaluation as Evaluation
from rankwell.evaluation import Sweep as Sweep
from rankwell.evaluation import compare as compare
from rankwell.evaluation import depth_sweep as depth_sweep
from rankwell.evaluation import evaluate as evaluate
from rankwell.evaluation import parse_measure as parse_measure
from rankwell.evaluation import sweep as sweep
from rankwell.evaluation import unjudged_documents as unjudged_documents
from rankwell.index import Index as Index
from rankwell.index import IndexWriter as IndexWriter
from rankwell.index import open_index as open_index
from rankwell.models.cross_encoder.ranking import CrossEncoder as CrossEncoder
from rankwell.models.distillation.training import distil as distil
from rankwell.models.duo.ranking import Duo as Duo
from rankwell.models.explanation import Interpolate as Interpolate
from rankwell.models.families import reranker as reranker
from rankwell.models.learning.trainer import TrainingResult as TrainingResult
from rankwell.models.linear.ranking import Linear as Linear
from rankwell.models.parade.ranking import Parade as Parade
from rankwell.models.reranking.passages import Passages as Passages
from rankwell.models.review_rankers.ranking import ArchitectureRanker as ArchitectureRanker
from rankwell.pipelines import Tuning as Tuning
from rankwell.pipelines import tune as tune
from rankwell.retrieve import BM25 as BM25
from rankwell.retrieve import RM3 as RM3
from rankwell.retrieve import CombMNZ as CombMNZ
from rankwell.retrieve import CosineTfIdf
from rankwell.retrieve import Dense as Dense
from rankwell.retrieve import Fusion as Fusion
from rankwell.retrieve import Hybrid as Hybrid
from rankwell.retrieve import RandomRanker as RandomRanker
from rankwell.retrieve import ReciprocalRank as ReciprocalRank
from rankwell.retrieve import SimilarQueries as SimilarQueries
from rankwell.retrieve import WeightedSum as WeightedSum
from rankwell.retrieve import fuse as fuse
from rankwell.training import make_pairs as make_pairs
from rankwell.training import train as train
from rankwell.training.adapt import adapt as adapt
from rankwell.training.finetune import finetune as finetune
from rankwell.vectors import embed as embed

TfIdf = CosineTfIdf

HOMES: Final[dict[str, str]]
__version__: Final[str]

"""The same work on more than one machine: chunks go to the workers of a Ray cluster, and results are the same."""

from __future__ import annotations

from rankwell.scale.address import Address
from rankwell.scale.cluster import Cluster, connected
from rankwell.scale.encoding import Encoding, RemoteEncoder, encoder_on
from rankwell.scale.functions import map_chunks
from rankwell.scale.ranking import Ranking, rank_on
from rankwell.scale.reranking import RerankOn
from rankwell.scale.searching import search_on
from rankwell.scale.studying import CellsOn
from rankwell.scale.tasks import Task
from rankwell.scale.workers import Workers

__all__ = [
    "Address",
    "CellsOn",
    "Cluster",
    "Encoding",
    "Ranking",
    "RemoteEncoder",
    "RerankOn",
    "Task",
    "Workers",
    "connected",
    "encoder_on",
    "map_chunks",
    "rank_on",
    "search_on",
]

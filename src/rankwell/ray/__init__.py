"""Work on several machines: chunks go to the workers of a Ray cluster, with the same results."""

from __future__ import annotations

from rankwell.ray.cluster import Cluster, WorkerAddress, connected, map_chunks, worker_address
from rankwell.ray.encoding import Encoding, RemoteEncoder, encoder_on
from rankwell.ray.ranking import RankTask, RerankOn, rank_on
from rankwell.ray.searching import CellsOn, search_on
from rankwell.ray.workers import Workers

__all__ = [
    "CellsOn",
    "Cluster",
    "Encoding",
    "RankTask",
    "RemoteEncoder",
    "RerankOn",
    "WorkerAddress",
    "Workers",
    "connected",
    "encoder_on",
    "map_chunks",
    "rank_on",
    "search_on",
    "worker_address",
]

"""Pipelines from options: the same words ask for the same ranking in a command, over HTTP and on a page."""

from __future__ import annotations

from rankwell.pipelines.options import RankerOptions, RerankOptions, parse_weights

__all__ = ["RankerOptions", "RerankOptions", "parse_weights"]

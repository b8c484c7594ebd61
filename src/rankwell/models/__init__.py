"""Models that rank, one folder for each family.

`base` loads and runs transformers, `learning` has what all training shares, `reranking` what all re-rankers share.
"""

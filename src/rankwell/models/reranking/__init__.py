"""Re-ranking: a model that reads query and document together scores the top of a run."""

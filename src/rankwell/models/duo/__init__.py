"""duoBERT: predicts which of two documents is more relevant to a query."""

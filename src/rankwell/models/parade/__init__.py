"""PARADE: reads the passages of a long document one by one, and aggregates their vectors."""

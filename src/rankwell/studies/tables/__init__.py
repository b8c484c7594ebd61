"""The tables of a study, a file for each kind."""

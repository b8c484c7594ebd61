"""Bridges to other libraries: one module for each, which needs the extra of the same name."""

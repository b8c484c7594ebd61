"""The linear baseline: TF-IDF and logistic regression over query and document."""

from __future__ import annotations

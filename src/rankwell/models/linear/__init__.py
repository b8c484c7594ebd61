"""The linear baseline: TF-IDF and logistic regression over query and document."""

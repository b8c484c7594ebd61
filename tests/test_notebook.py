"""The notebook in examples/ runs, and its results show tables and pictures."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest

from needs import require

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first-steps.ipynb"
SHOWN = ("judgments", "documents", "Means", "b = 0.4", "By b", "settings")  # in the table of each result, in order


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::RuntimeWarning")
def test_the_notebook_runs_and_shows_tables_and_pictures(tmp_path: Path) -> None:
    there = all(map(find_spec, ("nbclient", "ipykernel")))
    require("notebook", there=there, how="pip install nbclient ipykernel")
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
    results = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in results if output.output_type == "error"]
    shown = [output.data["text/html"] for output in results if "text/html" in output.get("data", {})]
    assert [word in html for word, html in zip(SHOWN, shown, strict=True)] == [True] * len(SHOWN)
    assert [html.count("<svg") for html in shown] == [1, 0, 1, 2, 2, 1]
    plain = [output.data["text/plain"] for output in results if "text/html" in output.get("data", {})]
    assert all("\n" not in text for text in plain)  # a short repr beside it
    printed = "".join(output.text for output in results if output.output_type == "stream" and output.name == "stdout")
    assert r"\label{tab:python}" in printed

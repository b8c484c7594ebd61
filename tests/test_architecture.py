"""Data flows one way through the house: no package imports upward, nothing heavy is loaded before it is needed."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

import rankwell
from rankwell.core import Document
from rankwell.index import IndexWriter

SOURCE = Path(rankwell.__file__).parent

# What each package may import besides itself and what its imports may import.
MAY_IMPORT = {
    "core": (),
    "collections": ("core",),
    "analysis": ("core",),
    "store": ("core",),
    "evaluation": ("collections",),
    "index": ("collections", "analysis"),
    "report": ("evaluation",),
    "models": ("index", "report"),
    "vectors": ("models",),
    "clickhouse": ("vectors",),
    "retrieve": ("vectors",),
    "pipelines": ("retrieve",),
    "bridges": ("pipelines",),
    "training": ("pipelines",),
    "judging": ("report", "store"),
    "reviews": ("training", "store"),
    "studies": ("reviews", "judging"),
    "ray": ("studies",),
    "apps": ("pipelines", "reviews", "judging"),
    "doctor": ("vectors",),
    "cli": ("clickhouse", "ray", "apps", "bridges", "doctor"),
}
HEAVY = ("torch", "numba", "onnxruntime", "matplotlib", "pandas", "pyarrow", "scipy", "sklearn", "ir_datasets")
HEAVY += ("sqlalchemy", "alembic", "transformers", "sentence_transformers", "fastapi", "ray")
HEAVY += ("pyterrier", "ranx", "langchain_core", "llama_index", "haystack", "mcp")


def allowed(package: str) -> set[str]:
    direct = MAY_IMPORT[package]
    return {package, *direct, *(name for other in direct for name in allowed(other))}


def imports(file: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("rankwell."):
            found.add(node.module.split(".")[1])
        elif isinstance(node, ast.ImportFrom) and node.module == "rankwell":
            found.update(alias.name for alias in node.names if alias.name != "__version__")
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("rankwell."))
    return found


def packages() -> list[str]:
    return sorted(folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").is_file())


def test_every_package_has_its_rule() -> None:
    assert packages() == sorted(MAY_IMPORT)


@pytest.mark.parametrize("package", packages())
def test_no_package_imports_upward(package: str) -> None:
    strangers = {
        f"{file.relative_to(SOURCE)}: {name}"
        for file in (SOURCE / package).rglob("*.py")
        for name in imports(file) - allowed(package)
    }
    assert not strangers


@pytest.mark.parametrize("package", ["rankwell", *(f"rankwell.{name}" for name in packages())])
def test_public_names_are_exported_and_sorted(package: str) -> None:
    module = importlib.import_module(package)
    if not hasattr(module, "__all__"):
        assert not [name for name in vars(module) if name[0].isupper()], "a package that exports nothing is only a room"
        return
    assert list(module.__all__) == sorted(module.__all__, key=_constants_classes_functions)
    assert all(hasattr(module, name) for name in module.__all__)
    modules = {info.name for info in pkgutil.iter_modules(module.__path__)}
    public = {name for name in vars(module) if not name.startswith("_")} - modules - {"annotations"}
    imported_for_use = {name for name in public if type(vars(module)[name]).__name__ == "module"}
    own = {name for name in public - imported_for_use if _is_exported(module, name)}
    assert own <= set(module.__all__), f"not in __all__: {sorted(own - set(module.__all__))}"


def _constants_classes_functions(name: str) -> tuple[int, str]:
    """The order in which ruff sorts them."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def _is_exported(module: object, name: str) -> bool:
    """Classes and functions that live below this package are meant for its users."""
    home = getattr(vars(module)[name], "__module__", "") or ""
    return home.startswith(f"{module.__name__}.") and module.__name__ != "rankwell.cli"


@pytest.mark.parametrize(
    "program",
    [
        "import rankwell",
        "import rankwell.cli",
        "import rankwell.report",
        "import rankwell.evaluation",
        "import rankwell.analysis",
        "import rankwell.pipelines",
        "import rankwell.judging",
        "import rankwell.bridges.hits",
        "import rankwell.bridges.mcp",
    ],
)
def test_importing_loads_nothing_heavy(program: str) -> None:
    report = f"{program}; import sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys; from typer.testing import CliRunner; from rankwell.cli import app\n"
        f"assert CliRunner().invoke(app, ['--help']).exit_code == 0; print([n for n in {HEAVY!r} if n in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "program",
    [
        "import rankwell.retrieve",
        "import rankwell.pipelines",
        "import rankwell.apps.search.searcher",
        "from rankwell.cli import app; app(['search', 'papers', 'fever'], standalone_mode=False)",
    ],
)
def test_an_index_in_a_folder_needs_no_database(tmp_path: Path, program: str) -> None:
    with IndexWriter(tmp_path / "papers") as writer:
        writer.add(Document("d1", {"title": "fever"}))
    report = f"{program}; import sys; print([name for name in sys.modules if name.startswith('rankwell.clickhouse')])"
    done = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.splitlines()[-1] == "[]"


def test_every_file_of_the_source_is_small_enough_to_read() -> None:
    together = {"kernels.py"}  # compiled code stands in one place, so that it is compiled once
    too_long = {
        str(file.relative_to(SOURCE)): lines
        for file in SOURCE.rglob("*.py")
        if file.name not in together and (lines := len(file.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not too_long


PAGE = Path(__file__).parents[1] / "docs" / "architecture.md"


def section(title: str) -> str:
    """The part of the page on architecture that stands below a heading."""
    _, _, after = PAGE.read_text(encoding="utf-8").partition(f"\n## {title}\n")
    assert after, f"{PAGE.name} has no section {title!r}"
    return after.partition("\n## ")[0]


def files_in(text: str) -> list[str]:
    return re.findall(r"`([\w/]+\.(?:py|html|js))`", text)


def entries(text: str) -> dict[str, str]:
    """The rows of a table, by their first column."""
    rows = [line.strip("| ").split(" | ", 1) for line in text.splitlines() if line.startswith("| ")]
    return dict(rows[1:])


def test_the_page_has_the_table_of_packages() -> None:
    top = PAGE.read_text(encoding="utf-8").partition("\n## ")[0].partition("\nInside `models`")[0]
    table = {name.strip("`"): row.rpartition(" | ")[2] for name, row in entries(top).items()}
    assert table == {name: ", ".join(direct) or "-" for name, direct in MAY_IMPORT.items()}


def test_the_walks_name_files_that_exist_and_never_return_to_a_folder() -> None:
    text = section("Four walks")
    assert text.count("\n### ") == 4
    assert [file for file in files_in(text) if not (SOURCE / file).is_file()] == []
    for walk in re.split(r"\n\n(?!\d)", text):
        steps = re.findall(r"^\d+\. `([\w/]+)/\w+\.py`", walk, flags=re.MULTILINE)
        folders = [folder for folder, _ in groupby(steps)]
        assert len(folders) == len(set(folders)), f"goes back and forth: {folders}"


def test_a_change_needs_at_most_three_files() -> None:
    changes = {what: files_in(files) for what, files in entries(section("To change ..., open ...")).items()}
    assert list(changes) == [
        "the default of `b`",
        "the loss of PARADE",
        "a column of the comparison table",
        "the wording of the judging page",
        "a new file format",
        "a new measure",
        "a new model family",
    ]
    assert [file for files in changes.values() for file in files if not (SOURCE / file).is_file()] == []
    assert {what: files for what, files in changes.items() if not 1 <= len(files) <= 3} == {}


def test_the_default_of_b_stands_in_the_file_that_the_page_names() -> None:
    from rankwell.retrieve import BM25

    (file,) = files_in(entries(section("To change ..., open ..."))["the default of `b`"])
    assert str(BM25.__dataclass_fields__["b"].default) in (SOURCE / file).read_text(encoding="utf-8")

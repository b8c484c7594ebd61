"""Data flows one way through the house: no package imports upward, nothing heavy is loaded before it is needed."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest

import rankwell

SOURCE = Path(rankwell.__file__).parent

# What each package may import besides itself and what its imports may import.
MAY_IMPORT = {
    "core": (),
    "collections": ("core",),
    "analysis": ("core",),
    "evaluate": ("collections",),
    "plots": ("core",),
    "encode": ("core",),
    "index": ("collections", "analysis"),
    "dense": ("index", "encode"),
    "clickhouse": ("index", "dense"),
    "match": ("dense", "clickhouse"),
    "rank": ("match",),
    "rerank": ("encode", "index"),
    "pipelines": ("rank", "rerank"),
    "tune": ("rank", "rerank", "evaluate"),
    "report": ("evaluate", "plots", "encode"),
    "doctor": ("dense",),
    "train": ("tune", "report"),
    "web": ("core",),
    "assess": ("web", "report"),
    "reviews": ("web", "train"),
    "serve": ("web", "pipelines", "evaluate"),
    "scale": ("studies",),
    "studies": ("pipelines", "train", "assess", "reviews"),
    "cli": ("studies", "scale", "pipelines", "doctor", "train", "assess", "reviews", "serve"),
}
HEAVY = ("torch", "numba", "onnxruntime", "matplotlib", "pandas", "pyarrow", "scipy", "sklearn", "ir_datasets")
HEAVY += ("sqlalchemy", "alembic", "transformers", "sentence_transformers", "fastapi", "ray")


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
        "import rankwell.evaluate",
        "import rankwell.analysis",
        "import rankwell.tune",
        "import rankwell.assess",
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


def test_every_file_of_the_source_is_small_enough_to_read() -> None:
    together = {"kernels.py"}  # compiled code stands in one place, so that it is compiled once
    too_long = {
        str(file.relative_to(SOURCE)): lines
        for file in SOURCE.rglob("*.py")
        if file.name not in together and (lines := len(file.read_text(encoding="utf-8").splitlines())) > 400
    }
    assert not too_long

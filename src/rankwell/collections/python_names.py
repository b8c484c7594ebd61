"""Which objects of the standard library are public, and the one name by which users know each."""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

from rankwell.collections.python_modules import MODULES

POSITION = {name: index for index, name in enumerate(MODULES)}


class Named(NamedTuple):
    """A public object, a name that it can be reached by, and how many bases above its owner it is defined."""

    id: str
    value: Any
    module: str
    name: str
    owner: type | None = None
    distance: int = 0


def public_names() -> list[Named]:
    """Every public module, class, function, method and property with a docstring of its own, each under one name."""
    modules = {name: module for name in MODULES if (module := _imported(name)) is not None}
    exports = [export for name, module in modules.items() for export in _exports(name, module)]
    classes = [export for export in _once(exports) if inspect.isclass(export.value)]
    # `socket.SocketType` is only another name for the C class behind `socket.socket`.
    public = frozenset(owner.value for owner in classes if owner.name == owner.value.__name__)
    members = [member for owner in classes for member in _members(owner, public)]
    # `unittest.main` is the function that everybody calls, and would also be the module behind it: names first.
    packages = [Named(name, module, name, name) for name, module in modules.items() if module.__doc__]
    return list({named.id: named for named in [*packages, *_once([*exports, *members])]}.values())


def own_docstring(value: Any) -> str | None:
    """The docstring that was written for this very object, not for its type or for its bases."""
    value = _unbound(value)  # a static method of a C class keeps its docstring inside
    docstring = getattr(value, "__doc__", None)
    if docstring is None and inspect.isclass(value) and inspect.isfunction(vars(value).get("__init__")):
        return value.__init__.__doc__  # `ThreadPoolExecutor` describes itself only there
    if not isinstance(docstring, str) or not docstring.strip():
        return None
    if inspect.isclass(value):
        return None if any(docstring == base.__doc__ for base in inspect.getmro(value)[1:]) else docstring
    return docstring if docstring != type(value).__doc__ else None


def _imported(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError:  # this Python was built without an optional library, such as sqlite3 or curses
        return None


def _exports(module: str, contents: ModuleType) -> Iterator[Named]:
    """What a module offers: the names in `__all__`, or those without a leading underscore that it defines itself."""
    listed = getattr(contents, "__all__", None)
    prefix = "" if module == "builtins" else f"{module}."
    for name in sorted(set(listed or vars(contents))):
        value = getattr(contents, name, None)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if (inspect.isclass(value) or own_docstring(value)) and (listed or _defined_in(module, value)):
            yield Named(prefix + name, value, module, name)


def _defined_in(module: str, value: Any) -> bool:
    """Whether a module, or the C code or private part behind it, defines a value."""
    home = (getattr(value, "__module__", None) or module).removeprefix("_frozen_").lstrip("_")
    package = module.partition(".")[0]
    homes = {"builtins": ("builtins", "io"), "importlib": ("importlib", "importlib_external")}.get(package, (package,))
    return home.partition(".")[0] in homes


def _members(owner: Named, public: frozenset[type]) -> Iterator[Named]:
    """The members that a class adds to its public bases.

    What a private base defines counts, because nobody knows `argparse._ActionsContainer.add_argument` by that name.
    """
    lineage = inspect.getmro(owner.value)
    parents = [base for base in lineage[1:] if base in public]
    inherited = {base for parent in parents for base in inspect.getmro(parent)}
    seen: set[str] = set()
    for distance, base in enumerate(lineage):
        if base in inherited or (distance and not _is_private(base, owner)):
            continue
        for name, value in vars(base).items():
            if name.startswith("_") or name in seen or not _is_member(value):
                continue
            seen.add(name)
            docstring = own_docstring(value)
            if docstring and all(docstring != getattr(getattr(it, name, None), "__doc__", None) for it in parents):
                yield Named(f"{owner.id}.{name}", value, owner.module, name, owner.value, distance)


def _is_private(base: type, owner: Named) -> bool:
    """Whether a base is part of the module itself, not a class of a module that is left out."""
    home = base.__module__
    return home.startswith("_") or home.partition(".")[0] == owner.module.partition(".")[0]


def _is_member(value: Any) -> bool:
    return inspect.isroutine(value) or inspect.isdatadescriptor(value) or isinstance(value, functools.cached_property)


def _once(names: Iterable[Named]) -> list[Named]:
    """Each object under its best name."""
    best: dict[int, Named] = {}
    for named in names:
        identity = id(_unbound(named.value))
        best[identity] = min(best.get(identity, named), named, key=_preference)
    return list(best.values())


def _preference(named: Named) -> tuple[bool, bool, bool, bool, int, int, int, str]:
    """Smaller is better: a function before a method, a built-in, its own name, its own module, the nearest class."""
    return (
        named.owner is not None,
        named.module != "builtins",
        named.name != getattr(named.value, "__name__", named.name),
        named.module != getattr(named.owner or named.value, "__module__", named.module),
        named.distance,
        POSITION[named.module],
        len(named.id),  # what `ExitStack` and `AsyncExitStack` share belongs to the plain one
        named.id,
    )


def _unbound(value: Any) -> Any:
    """The function behind a bound method: `random.choice` is `random.Random.choice` of one hidden instance."""
    instance = getattr(value, "__self__", None)
    if inspect.isroutine(value) and instance is not None and not isinstance(instance, ModuleType | type):
        return inspect.getattr_static(type(instance), value.__name__, value)
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value

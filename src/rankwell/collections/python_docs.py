"""`rankwell:python`: the documentation of the running Python's own standard library, as a collection.

Every machine that runs Rankwell has these texts already, so a demo works offline and ships nobody's words. The texts
differ a little from one Python to the next; the queries and judgments in `DATA` name only what all of them have.
"""

from __future__ import annotations

import enum
import inspect
import re
import warnings
from collections.abc import Iterator
from importlib.resources import files
from types import FunctionType, MethodDescriptorType
from typing import Any

from rankwell.collections.python_names import Named, own_docstring, public_names
from rankwell.core.document import Document

DATA = files("rankwell.collections") / "data" / "python"

ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
CALL = re.compile(r"[\w.]+\((?:[^()]|\([^()]*\))*\)(?: *-+> *[^.:]+)?")
GENERATED = re.compile(r"An enumeration\.|Alias for field number \d+|[\w.]+(\([^()]*\))?|\w+ = [\w\s|(),*?]+")
"""The docstrings that enums, namedtuples, dataclasses and syntax nodes are given by machine."""

UNINFORMATIVE = ("(*args)", "(*args, **kwargs)", "(*args, **kwds)")


def python_documents() -> Iterator[Document]:
    """One document per public module, class, function, method and property that has a docstring of its own.

    Sorted by id, the name by which it is imported (`os.path.join`, `str.split`). Each object comes once, however many
    modules export it, and what a class merely inherits comes with the class that it is inherited from.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is deprecated says so when it is touched
        documents = [document for named in public_names() if (document := _document(named)) is not None]
    return iter(sorted(documents, key=lambda document: document.id))


def _document(named: Named) -> Document | None:
    docstring = inspect.cleandoc(own_docstring(named.value) or "").strip()
    if not docstring or GENERATED.fullmatch(docstring):
        return None
    fields = {"title": named.id}
    if signature := _signature(named) or _signature_in(docstring, named.name):
        fields["signature"] = ADDRESS.sub("", signature)
    fields["docstring"] = ADDRESS.sub("", docstring)
    return Document(named.id, fields, {"kind": _kind(named), "module": named.module})


def _kind(named: Named) -> str:
    if inspect.ismodule(named.value):
        return "module"
    if inspect.isclass(named.value):
        return "exception" if issubclass(named.value, BaseException) else "class"
    if inspect.isroutine(named.value):
        return "method" if named.owner else "function"
    return "property" if named.owner else "object"


def _signature(named: Named) -> str | None:
    """The call as it is written, without `self` and annotations, or None where Python cannot tell."""
    function = getattr(named.owner, named.name, None) if named.owner else named.value
    if not callable(function):
        return None
    try:
        signature = inspect.signature(function)
    except (ValueError, TypeError, NameError, AttributeError):  # C without one, or it names what is not there
        return None
    parameters = list(signature.parameters.values())
    if isinstance(named.value, FunctionType | MethodDescriptorType) and named.owner:
        parameters = parameters[1:]
    plain = [it.replace(annotation=it.empty, default=_default(it.default)) for it in parameters]
    written = str(inspect.Signature(plain))
    return None if written in UNINFORMATIVE else named.name + written


class _Written(str):
    """A text whose repr is itself, for a default value that stands in a signature without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _default(value: Any) -> Any:
    """A default value that reads the same in every process: no addresses, no sets, no paths of this machine."""
    if value is inspect.Parameter.empty or isinstance(value, bool | int | float | bytes | None):
        return _Written(str(value)) if isinstance(value, enum.Enum) else value
    if isinstance(value, str):
        return _Written("...") if len(value) > 1 and value.startswith("/") else value
    if isinstance(value, tuple):
        return tuple(_default(item) for item in value)
    return _Written(getattr(value, "__qualname__", "..."))


def _signature_in(docstring: str, name: str) -> str | None:
    """The first line of a docstring, as far as it is a call: `D.get(k[,d]) -> D[k] if k in D, else d.`."""
    found = CALL.match(docstring.partition("\n")[0])
    return found.group().strip() if found and found.group().partition("(")[0].split(".")[-1] == name else None

"""`rankwell:python`: the documentation of the running Python's standard library as a collection."""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
import re
import warnings
from collections.abc import Iterable, Iterator
from importlib.resources import files
from types import FunctionType, MethodDescriptorType, ModuleType
from typing import Any, NamedTuple

from rankwell.core import Document

MODULES: tuple[str, ...] = tuple(
    """
    builtins

    abc argparse array ast asyncio atexit base64 bdb binascii bisect bz2 cProfile calendar cmath cmd code codecs codeop
    collections collections.abc colorsys compileall concurrent.futures configparser contextlib contextvars copy copyreg
    csv ctypes ctypes.util curses curses.ascii curses.panel curses.textpad dataclasses datetime dbm dbm.dumb decimal
    difflib dis email email.charset email.encoders email.errors email.generator email.header
    email.headerregistry email.message email.mime.application email.mime.audio email.mime.base email.mime.image
    email.mime.message email.mime.multipart email.mime.nonmultipart email.mime.text email.parser email.policy
    email.utils ensurepip enum errno faulthandler fcntl filecmp fileinput fnmatch fractions ftplib functools gc getopt
    getpass gettext glob graphlib grp gzip hashlib heapq hmac html html.entities html.parser http http.client
    http.cookiejar http.cookies http.server imaplib importlib importlib.abc importlib.machinery importlib.metadata
    importlib.resources importlib.util inspect io ipaddress itertools json json.tool keyword linecache locale logging
    logging.config logging.handlers lzma mailbox marshal math mimetypes mmap modulefinder multiprocessing
    multiprocessing.connection multiprocessing.managers multiprocessing.pool multiprocessing.shared_memory
    multiprocessing.sharedctypes netrc numbers opcode operator optparse os os.path pathlib pickle pickletools
    pkgutil platform plistlib poplib pprint profile pstats pty pwd py_compile pyclbr queue quopri random re
    reprlib resource runpy sched secrets select selectors shelve shlex shutil signal site smtplib socket socketserver
    sqlite3 ssl stat statistics string stringprep struct subprocess symtable sys sysconfig syslog tabnanny tarfile
    tempfile termios textwrap threading time timeit token tokenize tomllib trace traceback tracemalloc tty types typing
    unicodedata unittest unittest.mock urllib urllib.error urllib.parse urllib.request urllib.response
    urllib.robotparser uuid venv warnings wave weakref webbrowser wsgiref wsgiref.handlers wsgiref.headers
    wsgiref.simple_server wsgiref.util wsgiref.validate xml.dom xml.dom.minidom xml.dom.pulldom xml.etree.ElementTree
    xml.parsers.expat xml.sax xml.sax.handler xml.sax.saxutils xml.sax.xmlreader xmlrpc.client xmlrpc.server zipapp
    zipfile zipimport zlib zoneinfo

    __future__
    """.split()  # noqa: SIM905 - a word per line would be two hundred lines
)


POSITION = {name: index for index, name in enumerate(MODULES)}


class NamedObject(NamedTuple):
    """A public object, a name that it can be reached by, and how many bases above its owner it is defined."""

    id: str
    value: Any
    module: str
    name: str
    owner: type | None = None
    distance: int = 0


def public_names() -> list[NamedObject]:
    """Every public module, class, function, method and property with a docstring of its own, each under one name."""
    modules = {name: module for name in MODULES if (module := _imported(name)) is not None}
    exports = [export for name, module in modules.items() for export in _exports(name, module)]
    classes = [export for export in _once(exports) if inspect.isclass(export.value)]
    # `socket.SocketType` is only another name for the C class behind `socket.socket`.
    public = frozenset(owner.value for owner in classes if owner.name == owner.value.__name__)
    members = [member for owner in classes for member in _members(owner, public)]
    # `unittest.main` is a function and also a module: names in a module come first.
    packages = [NamedObject(name, module, name, name) for name, module in modules.items() if module.__doc__]
    return list({named.id: named for named in [*packages, *_once([*exports, *members])]}.values())


def own_docstring(value: Any) -> str | None:
    """The docstring of the object itself, not of its type or bases."""
    value = _unbound(value)  # a static method of a C class keeps its docstring inside
    docstring = getattr(value, "__doc__", None)
    if docstring is None and inspect.isclass(value) and inspect.isfunction(vars(value).get("__init__")):
        return value.__init__.__doc__  # `ThreadPoolExecutor` is documented only there
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


def _exports(module: str, contents: ModuleType) -> Iterator[NamedObject]:
    """A module's public names: those in `__all__`, else those that it defines without a leading underscore."""
    listed = getattr(contents, "__all__", None)
    prefix = "" if module == "builtins" else f"{module}."
    for name in sorted(set(listed or vars(contents))):
        value = getattr(contents, name, None)
        if name.startswith("_") or inspect.ismodule(value):
            continue
        if (inspect.isclass(value) or own_docstring(value)) and (listed or _defined_in(module, value)):
            yield NamedObject(prefix + name, value, module, name)


def _defined_in(module: str, value: Any) -> bool:
    """Whether a module, or the C code or private part behind it, defines a value."""
    home = (getattr(value, "__module__", None) or module).removeprefix("_frozen_").lstrip("_")
    package = module.partition(".")[0]
    homes = {"builtins": ("builtins", "io"), "importlib": ("importlib", "importlib_external")}.get(package, (package,))
    return home.partition(".")[0] in homes


def _members(owner: NamedObject, public: frozenset[type]) -> Iterator[NamedObject]:
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
            member = inspect.isroutine(value) or inspect.isdatadescriptor(value)
            if name.startswith("_") or name in seen or not (member or isinstance(value, functools.cached_property)):
                continue
            seen.add(name)
            docstring = own_docstring(value)
            if docstring and all(docstring != getattr(getattr(it, name, None), "__doc__", None) for it in parents):
                yield NamedObject(f"{owner.id}.{name}", value, owner.module, name, owner.value, distance)


def _is_private(base: type, owner: NamedObject) -> bool:
    """Whether a base is part of the module itself, not a class of a module that is left out."""
    home = base.__module__
    return home.startswith("_") or home.partition(".")[0] == owner.module.partition(".")[0]


def _once(names: Iterable[NamedObject]) -> list[NamedObject]:
    """Each object once, under its best name."""
    best: dict[int, NamedObject] = {}
    for named in names:
        identity = id(_unbound(named.value))
        best[identity] = min(best.get(identity, named), named, key=_preference)
    return list(best.values())


def _preference(named: NamedObject) -> tuple[bool, bool, bool, bool, int, int, int, str]:
    """Smaller is better: a function before a method, a built-in, its own name, its own module, the nearest class."""
    return (
        named.owner is not None,
        named.module != "builtins",
        named.name != getattr(named.value, "__name__", named.name),
        named.module != getattr(named.owner or named.value, "__module__", named.module),
        named.distance,
        POSITION[named.module],
        len(named.id),  # a member of `ExitStack` and `AsyncExitStack` belongs to the first
        named.id,
    )


def _unbound(value: Any) -> Any:
    """The function behind a bound method: `random.choice` is `random.Random.choice` of one hidden instance."""
    instance = getattr(value, "__self__", None)
    if inspect.isroutine(value) and instance is not None and not isinstance(instance, ModuleType | type):
        return inspect.getattr_static(type(instance), value.__name__, value)
    return value.__func__ if isinstance(value, staticmethod | classmethod) else value


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
        warnings.simplefilter("ignore")  # deprecated names warn on access
        documents = [document for named in public_names() if (document := _document(named)) is not None]
    return iter(sorted(documents, key=lambda document: document.id))


def _document(named: NamedObject) -> Document | None:
    docstring = inspect.cleandoc(own_docstring(named.value) or "").strip()
    if not docstring or GENERATED.fullmatch(docstring):
        return None
    fields = {"title": named.id}
    if signature := _signature(named) or _signature_in(docstring, named.name):
        fields["signature"] = ADDRESS.sub("", signature)
    fields["docstring"] = ADDRESS.sub("", docstring)
    return Document(named.id, fields, {"kind": _kind(named), "module": named.module})


def _kind(named: NamedObject) -> str:
    if inspect.ismodule(named.value):
        return "module"
    if inspect.isclass(named.value):
        return "exception" if issubclass(named.value, BaseException) else "class"
    if inspect.isroutine(named.value):
        return "method" if named.owner else "function"
    return "property" if named.owner else "object"


def _signature(named: NamedObject) -> str | None:
    """The signature without `self` and annotations, or None where it is unknown."""
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
    call = CALL.match(docstring.partition("\n")[0])
    return call.group().strip() if call and call.group().partition("(")[0].split(".")[-1] == name else None

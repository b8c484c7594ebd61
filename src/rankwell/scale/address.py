"""Where to work: what `--on` says."""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import parse_qsl, urlsplit

from rankwell.core import ParameterError

EXPECTED = "ray, ray:address=HOST:PORT,workers=N,threads=N or ray://HOST:PORT?workers=N&threads=N"
NUMBERS = ("workers", "threads")


@dataclass(frozen=True)
class Address:
    """A Ray cluster, and how much of it is wanted.

    `host` and `port` are None for the cluster of this machine, which is started where there is none. `client`: through
    Ray's client server (`ray://`), for a machine that is not itself part of the cluster. Without `workers` there is one
    for at most eight cores of each machine; without `threads` they share the machine's cores.
    """

    host: str | None = None
    port: int | None = None
    client: bool = False
    workers: int | None = None
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ParameterError(name, expected="a number from 1", found=value)

    def __str__(self) -> str:
        if self.host is None:
            return "ray"
        return f"{'ray://' if self.client else 'ray:address='}{self.host}:{self.port}"

    @property
    def for_ray(self) -> str:
        """The address in Ray's own words."""
        return f"{'ray://' if self.client else ''}{self.host}:{self.port}"

    @classmethod
    def parse(cls, text: str, threads: int | None = None) -> Address:
        """`ray`, `ray:address=127.0.0.1:6379,workers=3`, `ray://head:10001?workers=3`; `threads` where it says none."""
        found = cls._parsed(text)
        return replace(found, threads=found.threads or threads)

    @classmethod
    def _parsed(cls, text: str) -> Address:
        if text == "ray":
            return cls()
        if text.startswith("ray://"):
            parts = urlsplit(text)
            if parts.path.strip("/") or parts.username is not None:
                raise ParameterError("--on", expected=EXPECTED, found=text)
            return cls._made(text, parts.netloc, dict(parse_qsl(parts.query, keep_blank_values=True)), client=True)
        if text.startswith("ray:"):
            pairs = (part.partition("=") for part in text.removeprefix("ray:").split(","))
            options = {name.strip(): value.strip() for name, _, value in pairs}
            return cls._made(text, options.pop("address", None), options, client=False)
        raise ParameterError("--on", expected=EXPECTED, found=text)

    @classmethod
    def _made(cls, text: str, place: str | None, options: dict[str, str], *, client: bool) -> Address:
        host, _, port = (place or "").rpartition(":")
        right = bool(host) and port.isdecimal() and 0 < int(port) < 1 << 16
        strange = [name for name, value in options.items() if name not in NUMBERS or not value.isdecimal()]
        if strange or not (right or (place is None and not client)):
            raise ParameterError("--on", expected=EXPECTED, found=text)
        numbers = {name: int(value) for name, value in options.items()}
        return cls(host if right else None, int(port) if right else None, client=client, **numbers)

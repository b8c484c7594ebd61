"""What all tables share: column types, names of constraints, and the clock."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, Dialect, MetaData, Text, TypeDecorator
from sqlalchemy.orm import DeclarativeBase

NAMES = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
REFUSED = re.compile("[\0\ud800-\udfff]")


def storable(value: Any) -> Any:
    """The value with NUL and lone surrogates, which PostgreSQL refuses, replaced by U+FFFD in all its texts."""
    if isinstance(value, str):
        return REFUSED.sub("\ufffd", value)
    if isinstance(value, Mapping):
        return {storable(key): storable(entry) for key, entry in value.items()}
    return [storable(entry) for entry in value] if isinstance(value, list | tuple) else value


def moment() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


class Moment(TypeDecorator[datetime]):
    """A time in UTC. SQLite stores no time zone, so reading adds it."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Convert to UTC without a time zone, for storing."""
        return None if value is None else value.astimezone(UTC).replace(tzinfo=None)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:  # noqa: ARG002 -- SQLAlchemy's signature
        """Add the time zone to a stored time."""
        return None if value is None else value.replace(tzinfo=UTC)


class StorableText(TypeDecorator[Any]):
    """Text that every database takes."""

    impl: Any = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> Any:  # noqa: ARG002 -- SQLAlchemy's signature
        """Replace what PostgreSQL refuses."""
        return storable(value)


class StorableJSON(StorableText):
    """JSON whose texts every database takes."""

    impl = JSON
    cache_ok = True


class Table(DeclarativeBase):
    """Base of all tables. A schema makes an abstract base of its own from it, with `new_metadata()`."""

    type_annotation_map = {  # noqa: RUF012 -- SQLAlchemy reads it off the class
        datetime: Moment,
        dict[str, Any]: StorableJSON,
        dict[str, str]: StorableJSON,
        list[str]: StorableJSON,
        str: StorableText,
    }


def new_metadata() -> MetaData:
    """The tables of one schema, whose constraints are named by rule."""
    return MetaData(naming_convention=NAMES)

"""E-mail: a message (`.eml`) or a box of them (mbox) as rows of subject, sender, date and text."""

from __future__ import annotations

import email
import email.errors
import email.policy
import re
from collections.abc import Iterable, Iterator
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime
from typing import Any

from rankwell.collections.html_text import html_to_text

LARGEST = 50_000_000  # bytes of a message, attachments included
MOST_PARTS = 1000
FROM = re.compile(rb"From \S.*\d\d:\d\d(?::\d\d)?.*\d{4}")  # the line between two messages
HEADERS = re.compile(
    r"(?:(?:Return-Path|Received|Delivered-To|Message-ID|From|To|Subject|Date|MIME-Version|Content-Type|X-[\w-]+|"
    r"Reply-To|DKIM-Signature|Cc|Sender|Status):[^\n]*\n(?:[ \t][^\n]*\n)*){3}",
    re.IGNORECASE,
)


def looks_like_mbox(start: str) -> bool:
    """Whether a file starts as a box of messages."""
    line, _, rest = start.partition("\n")
    return FROM.match(line.encode(errors="replace")) is not None and re.match(r">?[\w-]+:", rest) is not None


def looks_like_eml(start: str) -> bool:
    """Whether a file starts with the usual headers of a message."""
    return HEADERS.match(start.replace("\r", "")[:10_000]) is not None


def split_mbox(lines: Iterable[bytes]) -> Iterator[tuple[int, bytes | None]]:
    """The messages of a box with their lines; None for one that is too large."""
    first, size, parts, blank = 1, 0, list[bytes](), True
    for number, line in enumerate(lines, 1):
        if blank and FROM.match(line):
            if size:
                yield first, None if size > LARGEST else b"".join(parts)
            first, size, parts = number, 0, []
        else:
            size += len(line)
            if size <= LARGEST:
                parts.append(line[1:] if line.startswith(b">From ") else line)
            else:
                parts.clear()
        blank = not line.strip()
    if size:
        yield first, None if size > LARGEST else b"".join(parts)


def message_row(content: bytes) -> dict[str, Any]:
    """A message as a row: message_id, subject, from, to, date, text, attachments; a ValueError where it is none."""
    try:
        message = email.message_from_bytes(content, policy=email.policy.compat32)
        texts, attachments = _texts(message)
        values = {
            "message_id": _header(message, "Message-ID").strip("<> "),
            "subject": _header(message, "Subject"),
            "from": _header(message, "From"),
            "to": _header(message, "To"),
            "date": _date(message),
            "text": "\n\n".join(texts),
            "attachments": "; ".join(attachments),
        }
    except (email.errors.MessageError, LookupError, TypeError, AttributeError, RecursionError, AssertionError) as error:
        raise ValueError(f"a message ({error or type(error).__name__})") from error
    row = {name: value for name, value in values.items() if value}
    if not row.keys() & {"subject", "text", "from"}:
        raise ValueError("a message with headers and a text")
    return row


def _header(message: Message, name: str) -> str:
    raw = message.get(name)
    if raw is None:
        return ""
    try:
        text = str(make_header(decode_header(raw)))
    except (email.errors.HeaderParseError, LookupError, ValueError):
        text = str(raw)
    return " ".join(text.encode("utf-8", "replace").decode().split())


def _date(message: Message) -> str:
    try:
        return parsedate_to_datetime(_header(message, "Date")).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _texts(message: Message) -> tuple[list[str], list[str]]:
    """The texts of a message, plain ones where there are both, and the names of what is attached."""
    plain, rich, attachments = list[str](), list[str](), list[str]()
    for number, part in enumerate(message.walk()):
        if number > MOST_PARTS:
            break
        name, kind = part.get_filename(), part.get_content_type()
        if name or part.get_content_disposition() == "attachment":
            attachments.append(str(name or kind))
        elif kind in ("text/plain", "text/html") and (text := _decoded(part)).strip():
            (plain if kind == "text/plain" else rich).append(text)
    return (plain or [html_to_text(text) for text in rich]), attachments


def _decoded(part: Message) -> str:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        return ""
    charset = part.get_content_charset() or "utf-8"
    try:
        text = content.decode(charset)
    except (LookupError, ValueError):
        text = content.decode("cp1252", "replace")
    return text.replace("\r\n", "\n").strip()

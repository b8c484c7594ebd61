"""E-mail: addresses, settings, and sending in the background."""

from __future__ import annotations

import logging
import os
import re
import smtplib
import ssl
import time
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from pathlib import Path
from queue import Full, Queue
from threading import Thread

from rankwell.apps.web.sessions import read_private
from rankwell.core import FormatError, ParameterError

LONGEST = 254  # RFC 5321, 4.5.3.1.3: a path has 256 octets with its brackets
SHAPE = re.compile(r"[^\s@<>()\[\]\\,;:\"]{1,64}@[^\s@<>()\[\]\\,;:\"]+\.[^\s@<>()\[\]\\,;:\".]+")


def normalised_address(text: str) -> str | None:
    """The address in lower case without blanks, or None where it is not an address.

    It is not checked whether the address exists.
    """
    address = unicodedata.normalize("NFC", text.strip()).lower()
    harmless = all(unicodedata.category(character)[0] not in "CZ" for character in address)
    return address if harmless and len(address.encode()) <= LONGEST and SHAPE.fullmatch(address) else None


PREFIX = "RANKWELL_SMTP_"
FILE = f"{PREFIX}FILE"
PORTS = {"starttls": 587, "tls": 465, "none": 25}
NAMES = ("HOST", "PORT", "USER", "PASSWORD", "FROM", "SECURITY")


@dataclass(frozen=True)
class MailSettings:
    """A mail server and the sender's address."""

    host: str
    sender: str
    port: int = 587
    security: str = "starttls"
    user: str | None = None
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.security not in PORTS:
            raise ParameterError(f"{PREFIX}SECURITY", expected="starttls, tls or none", found=self.security)
        if normalised_address(self.sender) is None:
            raise ParameterError(f"{PREFIX}FROM", expected="an e-mail address", found=self.sender)


def mail_settings(environment: Mapping[str, str] | None = None) -> MailSettings | None:
    """RANKWELL_SMTP_HOST, _FROM, _PORT, _SECURITY, _USER, _PASSWORD; or the same lines in RANKWELL_SMTP_FILE.

    None without a host: then people sign in by invitation only.
    """
    given = dict(os.environ if environment is None else environment)
    if FILE in given:
        given = {**_file(Path(given[FILE]).expanduser()), **given}
    values = {name: given[PREFIX + name].strip() for name in NAMES if given.get(PREFIX + name, "").strip()}
    if "HOST" not in values:
        return None
    security = values.get("SECURITY", "starttls").lower()
    port = values.get("PORT", str(PORTS.get(security, 0)))
    if not (port.isascii() and port.isdigit() and 0 < int(port) < 1 << 16):
        raise ParameterError(f"{PREFIX}PORT", expected="a number from 1 to 65535", found=port)
    if "FROM" not in values:
        raise ParameterError(f"{PREFIX}FROM", expected="the address that mail comes from", found="nothing")
    return MailSettings(values["HOST"], values["FROM"], int(port), security, values.get("USER"), values.get("PASSWORD"))


def _file(path: Path) -> dict[str, str]:
    """Read lines of NAME=value; empty lines and lines with # are ignored."""
    values = {}
    for number, line in enumerate(read_private(path).decode("utf-8", errors="replace").splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, equals, value = line.partition("=")
            if not equals or name.strip() not in {PREFIX + known for known in NAMES}:
                expected = f"{PREFIX}HOST=..., or _PORT, _FROM, _SECURITY, _USER, _PASSWORD"
                raise FormatError(path, number, expected=expected, found=name.strip())
            values[name.strip()] = value.strip().strip("\"'")
    return values


logger = logging.getLogger(__name__)
LONGEST_QUEUE = 1000
WAITS = (1, 5, 30)  # seconds between tries
TIMEOUT = 20


@dataclass(frozen=True)
class Mail:
    """A mail in plain text."""

    to: str = field(repr=False)
    subject: str
    text: str = field(repr=False)


class Postbox:
    """Queues mails and sends them from a background thread, in order, with retries."""

    def __init__(self, settings: MailSettings, waits: tuple[float, ...] = WAITS) -> None:
        self.settings, self._waits = settings, waits
        self._letters: Queue[Mail | None] = Queue(LONGEST_QUEUE)
        self._thread = Thread(target=self._work, name="postbox", daemon=True)
        self._thread.start()

    def post(self, mail: Mail) -> None:
        """Queue a mail. Neither its recipient nor its text is ever logged."""
        try:
            self._letters.put_nowait(mail)
        except Full:
            logger.warning("a mail was dropped: %d wait to be sent", LONGEST_QUEUE)

    def close(self, seconds: float = 5) -> None:
        """Send the queued mails, for at most `seconds` seconds."""
        try:
            self._letters.put(None, timeout=seconds)
        except Full:
            return
        self._thread.join(seconds)

    def _work(self) -> None:
        while (mail := self._letters.get()) is not None:
            for wait in (*self._waits, None):
                try:
                    send(mail, self.settings)
                    break
                except (OSError, smtplib.SMTPException, ValueError) as error:
                    # The server's answer may quote the address, so only the error's type is logged.
                    logger.warning("a mail was not sent: %s%s", type(error).__name__, "" if wait else "; given up")
                    if wait is None or isinstance(error, (ValueError, smtplib.SMTPRecipientsRefused)):
                        break
                    time.sleep(wait)


def send(mail: Mail, settings: MailSettings) -> None:
    """Send one mail now. `EmailMessage` refuses line breaks in headers, so that nobody can add recipients."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = settings.sender, mail.to, mail.subject
    message["Date"], message["Message-ID"] = formatdate(), make_msgid(domain=settings.sender.rpartition("@")[2])
    message["Auto-Submitted"] = "auto-generated"
    message.set_content(mail.text)
    secure = ssl.create_default_context()
    with (
        smtplib.SMTP_SSL(settings.host, settings.port, timeout=TIMEOUT, context=secure)
        if settings.security == "tls"
        else smtplib.SMTP(settings.host, settings.port, timeout=TIMEOUT)
    ) as server:
        if settings.security == "starttls":
            server.starttls(context=secure)
        if settings.user is not None:
            server.login(settings.user, settings.password or "")
        server.send_message(message)

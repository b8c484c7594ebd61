"""Mail that is sent after the page was: nobody learns from the time of an answer whether there was a mail to send."""

from __future__ import annotations

import logging
import smtplib
import ssl
import time
from dataclasses import dataclass, field
from email.message import EmailMessage
from email.utils import formatdate, make_msgid
from queue import Full, Queue
from threading import Thread

from rankwell.web.mail_settings import MailSettings

logger = logging.getLogger(__name__)
LONGEST_QUEUE = 1000
WAITS = (1, 5, 30)  # seconds between tries
TIMEOUT = 20


@dataclass(frozen=True)
class Mail:
    """A letter in plain text."""

    to: str = field(repr=False)
    subject: str
    text: str = field(repr=False)


class Postbox:
    """Takes letters at once and sends them from a thread of its own, in order, trying again where a server is down."""

    def __init__(self, settings: MailSettings, waits: tuple[float, ...] = WAITS) -> None:
        self.settings, self._waits = settings, waits
        self._letters: Queue[Mail | None] = Queue(LONGEST_QUEUE)
        self._thread = Thread(target=self._work, name="postbox", daemon=True)
        self._thread.start()

    def post(self, mail: Mail) -> None:
        """Hand a letter in. Neither its reader nor its text ever stands in a log."""
        try:
            self._letters.put_nowait(mail)
        except Full:
            logger.warning("a mail was dropped: %d wait to be sent", LONGEST_QUEUE)

    def close(self, seconds: float = 5) -> None:
        """Send what is still here, for so many seconds at most."""
        try:
            self._letters.put(None, timeout=seconds)
        except Full:
            return
        self._thread.join(seconds)

    def _work(self) -> None:
        while (mail := self._letters.get()) is not None:
            self._send_patiently(mail)

    def _send_patiently(self, mail: Mail) -> None:
        for wait in (*self._waits, None):
            try:
                send(mail, self.settings)
            except (OSError, smtplib.SMTPException, ValueError) as error:
                # An answer of the server may quote the address, so only its kind is told.
                logger.warning("a mail was not sent: %s%s", type(error).__name__, "" if wait else "; given up")
                if wait is None or isinstance(error, (ValueError, smtplib.SMTPRecipientsRefused)):
                    return
                time.sleep(wait)
            else:
                return


def send(mail: Mail, settings: MailSettings) -> None:
    """Send one letter now. `EmailMessage` refuses line breaks in headers, so that nobody adds readers to it."""
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

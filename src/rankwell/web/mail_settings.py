"""Where mail goes out: from the environment, or from a file that only its owner can read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rankwell.core import FormatError, ParameterError
from rankwell.web.addresses import normalised_address
from rankwell.web.private_files import read_private

PREFIX = "RANKWELL_SMTP_"
FILE = f"{PREFIX}FILE"
PORTS = {"starttls": 587, "tls": 465, "none": 25}
NAMES = ("HOST", "PORT", "USER", "PASSWORD", "FROM", "SECURITY")


@dataclass(frozen=True)
class MailSettings:
    """A mail server and the address that mail comes from."""

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

    None where no host is named: then people come in by invitation only.
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
    """Lines of NAME=value; empty ones and those with # do not count."""
    found = {}
    for number, line in enumerate(read_private(path).decode("utf-8", errors="replace").splitlines(), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            name, equals, value = line.partition("=")
            if not equals or name.strip() not in {PREFIX + known for known in NAMES}:
                expected = f"{PREFIX}HOST=..., or _PORT, _FROM, _SECURITY, _USER, _PASSWORD"
                raise FormatError(path, number, expected=expected, found=name.strip())
            found[name.strip()] = value.strip().strip("\"'")
    return found

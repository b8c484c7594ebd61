"""What the web parts share: layout, styles, sign-in, sessions, form tokens, security headers, limits, mail, Markdown.

FastAPI and Jinja2 are loaded by `application` and `pages` when an application is made, not before.
"""

from __future__ import annotations

from rankwell.web.addresses import normalised_address
from rankwell.web.mail import Mail, Postbox
from rankwell.web.mail_settings import MailSettings, mail_settings
from rankwell.web.markdown import markdown
from rankwell.web.pages import Pages
from rankwell.web.rate_limit import RateLimit
from rankwell.web.sessions import Session, Sessions
from rankwell.web.signing import Signer, secret_key

__all__ = [
    "Mail",
    "MailSettings",
    "Pages",
    "Postbox",
    "RateLimit",
    "Session",
    "Sessions",
    "Signer",
    "mail_settings",
    "markdown",
    "normalised_address",
    "secret_key",
]

"""Shared parts of the web applications: layout, sign-in, sessions, security headers, limits, mail, Markdown.

FastAPI and Jinja2 are loaded by `application` and `pages` when an application is made, not before.
"""

from __future__ import annotations

from rankwell.apps.web.mail import Mail, Postbox, mail_settings, normalised_address
from rankwell.apps.web.pages import Pages, markdown
from rankwell.apps.web.sessions import RateLimit, Session, Sessions, Signer, secret_key

__all__ = [
    "Mail",
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

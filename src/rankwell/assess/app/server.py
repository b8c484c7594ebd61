"""Running the judging application: its address, its mail, and the first administrator's way in."""

from __future__ import annotations

from collections.abc import Callable

from rankwell.assess.app.application import checked_address, create_application
from rankwell.assess.store import Store
from rankwell.core import ParameterError
from rankwell.web import Postbox, mail_settings, normalised_address, secret_key

HERE = "command line"  # the place from which an administrator with a shell signs in


def run(
    store: Store,
    *,
    host: str = "127.0.0.1",
    port: int = 8000,
    base_url: str | None = None,
    admin: str | None = None,
    secure: bool = False,
    quiet: bool = False,
    tell: Callable[[str], None] = print,
) -> None:
    """Serve a study until told to stop; `tell` hears the address and the administrator's link."""
    try:
        from rankwell.web.server import serve
    except ImportError as error:
        from rankwell.core import MissingExtraError

        raise MissingExtraError("serving a study", extra="assess") from error
    address, _, https = checked_address(base_url or f"http://{f'[{host}]' if ':' in host else host}:{port}")
    settings = mail_settings()
    postbox = None if settings is None else Postbox(settings)
    try:
        app = create_application(store, key=secret_key(), base_url=address, postbox=postbox, secure=secure or https)
        tell(f"{store.study.title}: {address}")
        if postbox is None:
            tell("No mail server is set (RANKWELL_SMTP_HOST): people come in by invitation.")
        link = administrator_link(store, address, admin)
        if link is not None:
            tell(f"Administrator, once: {link}")
        serve(app, host=host, port=port, quiet=quiet)
    finally:
        if postbox is not None:
            postbox.close()


def administrator_link(store: Store, address: str, admin: str | None) -> str | None:
    """A link that signs an administrator in: the person with that address, or whoever comes first where there is none.

    Who can run this command can read the database anyway, so that a shell is proof enough.
    """
    if admin is None:
        if any(account.administrator for account in store.people.accounts()):
            return None
        return f"{address}/join?code={store.invitations.invite(administrator=True)}"
    email = normalised_address(admin)
    if email is None:
        raise ParameterError("--admin", expected="an e-mail address", found=admin)
    known = [account.name for account in store.people.accounts() if store.people.address(account.name) == email]
    for name in known:
        store.people.make_administrator(name)
    code = None if known else store.invitations.invite(administrator=True, days=1)
    token = store.sign_in.request_link(email, HERE, code)
    return None if token is None else f"{address}/sign-in/link?token={token}"

"""One process that serves an application, until it is told to stop."""

from __future__ import annotations

import logging
import sys
from typing import TYPE_CHECKING

from rankwell.core import MissingExtraError, ParameterError

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

THREADS = 12  # for pages; more would only wait for Python's lock
GRACE = 10  # seconds that a request may still take when the server is told to stop


def serve(app: ASGIApp, *, host: str, port: int, quiet: bool = False) -> None:
    """Serve until SIGINT or SIGTERM; requests that are under way are answered first.

    The addresses of visitors behind a proxy are believed from this machine only (uvicorn's `forwarded_allow_ips`,
    which the environment's FORWARDED_ALLOW_IPS widens).
    """
    try:
        import anyio
        import uvicorn
    except ImportError as error:
        raise MissingExtraError("serving web pages", extra="web") from error

    if not 0 <= port < 1 << 16:
        raise ParameterError("--port", expected="a number from 0 to 65535", found=port)
    log_to_stderr(quiet=quiet)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        access_log=False,  # it would have addresses and query strings; ours has neither
        log_config=None,
        server_header=False,
        timeout_graceful_shutdown=GRACE,
        lifespan="on",
    )
    anyio.run(_serve, uvicorn.Server(config))


async def _serve(server: uvicorn.Server) -> None:
    from anyio.to_thread import current_default_thread_limiter

    current_default_thread_limiter().total_tokens = THREADS
    await server.serve()


def log_to_stderr(*, quiet: bool) -> None:
    """One line per request unless quiet; warnings and faults always."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    ours = logging.getLogger("rankwell.web")
    ours.handlers, ours.propagate = [handler], False
    ours.setLevel(logging.WARNING if quiet else logging.INFO)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)

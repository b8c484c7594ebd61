"""Running a server until it is told to stop."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rankwell.serve.application import create_application, create_service
from rankwell.serve.garbage import spare_what_stays
from rankwell.serve.keys import Keys
from rankwell.serve.priority import take_turns
from rankwell.serve.settings import ServeSettings


def run(settings: ServeSettings, tell: Callable[[str], None] = print) -> None:
    """Serve until SIGINT or SIGTERM; `tell` hears the address. Requests and commits under way are finished first."""
    try:
        from rankwell.web.server import serve
    except ImportError as error:
        from rankwell.core import MissingExtraError

        raise MissingExtraError("rankwell serve", extra="web") from error
    take_turns()
    service = create_service(settings)
    try:
        site = create_application(service, when_ready=spare_what_stays)
        spare_what_stays()
        index = service.searcher.indexes.current
        tell(f"{settings.index_name}, {len(index):,} documents: {address(settings)}")
        if settings.keys is None or not Keys(settings.keys).all():
            tell("Reading only: nobody has a key to write with (rankwell serve keys add NAME --role write).")
        with ending_well():
            serve(site, host=settings.host, port=settings.port, quiet=settings.quiet)
    finally:
        service.close()


@contextmanager
def ending_well() -> Iterator[None]:
    """To be told to stop is how a server ends, and no failure: uvicorn repeats the signal when it is done."""
    before = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def address(settings: ServeSettings) -> str:
    """Where people find the page."""
    if settings.base_url:
        return settings.base_url
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"http://{host}:{settings.port}"

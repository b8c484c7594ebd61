"""Headers on every response, whatever made it: a page, a file, an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

# Nothing is loaded from elsewhere, nothing inline runs, no form leaves for elsewhere, nobody puts us into a frame.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "connect")),
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "content-security-policy": CONTENT_SECURITY_POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "referrer-policy": "same-origin",  # the address of a sign-in link stays here
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "x-robots-tag": "noindex, nofollow",
}
UNLESS_SAID = {"cache-control": "no-store"}  # pages are personal; files that are not say so
A_YEAR = 365 * 24 * 3600


class SecurityHeaders:
    """Adds them. Stands outermost, so that nothing goes out without."""

    def __init__(self, app: ASGIApp, *, secure: bool) -> None:
        self.app = app
        headers = {**HEADERS, **({"strict-transport-security": f"max-age={A_YEAR}"} if secure else {})}
        self._always = [(name.encode(), value.encode()) for name, value in headers.items()]
        self._unless_said = [(name.encode(), value.encode()) for name, value in UNLESS_SAID.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on and complete the answer's headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                ours = {name for name, _ in self._always}
                given = [pair for pair in message.get("headers", ()) if pair[0].lower() not in ours]
                names = {name.lower() for name, _ in given}
                added = [pair for pair in self._unless_said if pair[0] not in names]
                message["headers"] = [*given, *self._always, *added]
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)

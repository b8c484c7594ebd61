"""Behind a real nginx with the configuration of docs/deployment.md: TLS, names, addresses, cookies, streams, limits."""

from __future__ import annotations

import getpass
import http.client
import json
import re
import shutil
import ssl
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from serving_api import make_index

from inbox import free_port
from needs import require
from rankwell.apps.search.access import WRONG_TRIES, Keys
from servers import started, stopped
from waiting import wait_until

pytestmark = pytest.mark.slow
PAGE = Path(__file__).parents[3] / "docs" / "deployment.md"
NAME = "search.example.org"
WHOLE = """
pid {folder}/nginx.pid;
user {user};
daemon off;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""


@dataclass
class Proxy:
    """nginx before a server of ours; `root` is the path below which it is reached."""

    plain: int
    secure: int
    root: str
    keys: Keys

    def ask(
        self, path: str, method: str = "GET", body: bytes | None = None, name: str = NAME, **headers: str
    ) -> tuple[int, http.client.HTTPMessage, bytes]:
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE  # the certificate is the test's own
        connection = http.client.HTTPSConnection("127.0.0.1", self.secure, context=trusting, timeout=60)
        try:
            sent = {"Host": name, **{key.replace("_", "-"): value for key, value in headers.items()}}
            connection.request(method, self.root + path, body, sent)
            response = connection.getresponse()
            return response.status, response.headers, response.read()
        finally:
            connection.close()


def configuration(folder: Path, plain: int, secure: int, upstream: int, root: str) -> str:
    """The configuration of the page, with the ports and the certificate of this test."""
    page = re.findall(r"```nginx\n(.*?)```", PAGE.read_text(), re.DOTALL)[0]
    for before, now in (
        ("listen 80;", f"listen 127.0.0.1:{plain};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{secure} ssl;"),
        ("127.0.0.1:8080", f"127.0.0.1:{upstream}"),
        (f"/etc/letsencrypt/live/{NAME}/fullchain.pem", str(folder / "own.pem")),
        (f"/etc/letsencrypt/live/{NAME}/privkey.pem", str(folder / "own.key")),
        ("location / {", f"location {root}/ {{"),
        ("location = /metrics", f"location = {root}/metrics"),
    ):
        assert before in page
        page = page.replace(before, now)
    return WHOLE.format(folder=folder, user=getpass.getuser(), servers=page)


@pytest.fixture(scope="module", params=["", "/papers"])
def proxy(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared_home: Path
) -> Iterator[Proxy]:
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/bin") or shutil.which("nginx")
    there = program is not None and shutil.which("openssl") is not None
    require("nginx", there=there, how="install nginx and openssl (Debian: apt-get install nginx-light openssl)")
    folder, root = tmp_path_factory.mktemp("nginx"), request.param
    certificate = ["-subj", f"/CN={NAME}", "-keyout", str(folder / "own.key"), "-out", str(folder / "own.pem")]
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", *certificate]
    subprocess.run(command, check=True, capture_output=True)
    plain, secure, upstream = free_port(), free_port(), free_port()
    (folder / "nginx.conf").write_text(configuration(folder, plain, secure, upstream, root))
    keys = ["--keys", str(folder / "keys.json"), "--judgments", str(folder / "thumbs.jsonl")]
    words = ["serve", str(make_index(folder / "index")), *keys, "--base-url", f"https://{NAME}{root}", "--quiet"]
    known = {"RANKWELL_HOME": str(shared_home), "FORWARDED_ALLOW_IPS": "127.0.0.1"}
    with stopped(started(words, folder / "said", upstream, **known)):
        nginx = subprocess.Popen([str(program), "-p", str(folder), "-c", str(folder / "nginx.conf")])
        try:
            made = Proxy(plain, secure, root, Keys(folder / "keys.json"))
            wait_until(lambda: nginx.poll() is not None or _answers(made), "nginx answers", pause=0.1)
            assert nginx.poll() is None, (folder / "error.log").read_text()
            yield made
        finally:
            nginx.terminate()
            nginx.wait()


def _answers(proxy: Proxy) -> bool:
    try:
        return proxy.ask("/health")[0] == 200
    except OSError:
        return False


def test_page_and_api_are_reached_by_https(proxy: Proxy) -> None:
    status, headers, page = proxy.ask("/?q=droplets")
    assert status == 200
    assert b"3 documents" in page
    assert headers["strict-transport-security"] == "max-age=31536000"
    cookie = headers["set-cookie"]
    assert "; Secure" in cookie
    assert cookie.startswith("__Host-rankwell-serve=" if not proxy.root else "rankwell-serve=")
    for link in re.findall(r'(?:href|src|action)="(/[^"#]*)"', page.decode()):
        assert link.startswith(f"{proxy.root}/"), link
        status, _, _ = proxy.ask(link.removeprefix(proxy.root).replace("&amp;", "&"))
        assert status in (200, 405), link  # a form's address is not for reading
    status, _, body = proxy.ask("/api/search?q=droplets")
    assert len(json.loads(body)["results"]) == 3


def test_http_leads_to_https(proxy: Proxy) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", proxy.plain, timeout=60)
    connection.request("GET", f"{proxy.root}/?q=a", headers={"Host": NAME})
    response = connection.getresponse()
    assert (response.status, response.headers["location"]) == (301, f"https://{NAME}{proxy.root}/?q=a")
    connection.close()


def test_people_sign_in_and_judge(proxy: Proxy) -> None:
    cookie, token = _form(proxy, "/sign-in", "")
    form = f"csrf={token}&key={proxy.keys.add('ann', 'judge')}".encode()
    kind = "application/x-www-form-urlencoded"
    status, headers, _ = proxy.ask("/sign-in", "POST", form, Cookie=cookie, Content_Type=kind)
    assert (status, headers["location"]) == (303, f"{proxy.root}/")
    cookie, token = _form(proxy, "/?q=soap", headers["set-cookie"].partition(";")[0])
    status, headers, _ = proxy.ask(
        "/judge", "POST", f"csrf={token}&q=soap&id=p2&grade=1&back=q%3Dsoap".encode(), Cookie=cookie, Content_Type=kind
    )
    assert (status, headers["location"]) == (303, f"{proxy.root}/?q=soap#r-1")


def _form(proxy: Proxy, path: str, cookie: str) -> tuple[str, str]:
    """The cookie of a session and the token of its forms."""
    _, headers, page = proxy.ask(path, **({"Cookie": cookie} if cookie else {}))
    token = re.findall(r'name="csrf" value="([^"]+)"', page.decode())[0]
    return cookie or headers["set-cookie"].partition(";")[0], token


def test_a_visitor_cannot_choose_the_address_that_limits_count(proxy: Proxy) -> None:
    proxy.keys.add("writer", "write")
    tries = [
        proxy.ask("/api/documents/p1", "DELETE", X_API_Key="wrong", X_Forwarded_For=f"10.0.0.{number}")[0]
        for number in range(WRONG_TRIES + 1)
    ]
    assert tries == [401] * WRONG_TRIES + [429]


def test_results_are_streamed_and_limits_hold(proxy: Proxy) -> None:
    status, headers, body = proxy.ask("/api/search/stream?q=soap")
    assert (status, headers["content-type"].partition(";")[0]) == (200, "text/event-stream")
    assert [line for line in body.decode().split("\n") if line.startswith("event")] == ["event: first", "event: done"]
    large = b'{"documents": "' + b"x" * (17 << 20) + b'"}'
    assert proxy.ask("/api/documents", "POST", large, Content_Type="application/json")[0] == 413
    assert proxy.ask("/metrics")[0] == 403


@pytest.mark.parametrize("named", ["", "192.0.2.7"])
def test_x_forwarded_for_of_others_is_ignored(tmp_path: Path, shared_home: Path, named: str) -> None:
    words = ["serve", str(make_index(tmp_path / "index")), "--keys", str(tmp_path / "keys.json"), "--quiet"]
    Keys(tmp_path / "keys.json").add("writer", "write")
    known = {"RANKWELL_HOME": str(shared_home), "FORWARDED_ALLOW_IPS": named}
    with stopped(started(words, tmp_path / "said", **known)) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=60)
        statuses = []
        for number in range(WRONG_TRIES + 1):
            headers = {"X-API-Key": "wrong", "X-Forwarded-For": f"10.0.0.{number}"}
            connection.request("DELETE", "/api/documents/p1", headers=headers)
            response = connection.getresponse()
            response.read()
            statuses.append(response.status)
        connection.close()
    assert statuses == [401] * WRONG_TRIES + [429]

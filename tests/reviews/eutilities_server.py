"""A small E-utilities server on this machine: it speaks esearch and efetch, and misbehaves on demand."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl
from xml.sax.saxutils import escape

from rankwell.core import Document

DOCTYPE = '<?xml version="1.0" ?>\n<!DOCTYPE {0} PUBLIC "-//NLM//DTD {0}//EN" "https://dtd.example/{0}.dtd">\n'

Fault = Callable[[BaseHTTPRequestHandler], bool]
"""Answers a request in its own way and says whether it did."""


def article(
    pmid: str, title: str, abstract: str = "An abstract.", year: int | None = 2000, authors: str = "Varma TR; Curzen P"
) -> Document:
    metadata: dict[str, object] = {"authors": authors} if authors else {}
    if year:
        metadata |= {"year": year, "date": str(year)}
    fields = {"title": title, "abstract": abstract}
    return Document(pmid, {name: text for name, text in fields.items() if text}, metadata)


def article_xml(document: Document) -> str:
    year = document.metadata.get("year")
    names = [name.rpartition(" ") for name in str(document.metadata.get("authors", "")).split("; ") if name]
    authors = "".join(f"<Author><LastName>{a}</LastName><Initials>{b}</Initials></Author>" for a, _, b in names)
    dated = f"<Year>{year}</Year>" if year else ""
    abstract = document.fields.get("abstract")
    text = f"<Abstract><AbstractText>{escape(abstract)}</AbstractText></Abstract>" if abstract else ""
    return (
        f'<PubmedArticle><MedlineCitation><PMID Version="1">{document.id}</PMID><Article>'
        f"<Journal><JournalIssue><PubDate>{dated}</PubDate></JournalIssue></Journal>"
        f"<ArticleTitle>{escape(document.fields['title'])}</ArticleTitle>{text}<AuthorList>{authors}</AuthorList>"
        "</Article></MedlineCitation></PubmedArticle>\n"
    )


class EUtilitiesServer:
    """Articles, the requests that came, and the faults that wait for the next ones."""

    def __init__(self, articles: Sequence[Document]) -> None:
        self.articles = {document.id: document for document in articles}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.faults: list[Fault] = []
        self.lock = threading.Lock()
        self.url = ""

    def answer(self, page: str, form: dict[str, str]) -> bytes:
        return self.search(form) if page == "esearch.fcgi" else self.fetch(form)

    def search(self, form: dict[str, str]) -> bytes:
        words = set(re.findall(r"\w+", form["term"].lower()))
        shared = {
            pmid: len(words & set(re.findall(r"\w+", document.fields["title"].lower())))
            for pmid, document in self.articles.items()
        }
        found = sorted((pmid for pmid in shared if shared[pmid] > len(words) / 3), key=lambda p: (-shared[p], p))
        ids = "".join(f"<Id>{pmid}</Id>\n" for pmid in found[: int(form["retmax"])])
        counts = f"<Count>{len(found)}</Count><RetMax>{form['retmax']}</RetMax><RetStart>0</RetStart>"
        body = f"<eSearchResult>{counts}<IdList>{ids}</IdList><TranslationSet/></eSearchResult>"
        return (DOCTYPE.format("eSearchResult") + body).encode()

    def fetch(self, form: dict[str, str]) -> bytes:
        wanted = [self.articles[pmid] for pmid in form["id"].split(",") if pmid in self.articles]
        body = "".join(map(article_xml, wanted))
        return (DOCTYPE.format("PubmedArticleSet") + f"<PubmedArticleSet>\n{body}</PubmedArticleSet>").encode()

    def asked(self, page: str) -> list[dict[str, str]]:
        return [form for name, form in self.requests if name == page]


def status(code: int, body: bytes = b"", **headers: str) -> Fault:
    """Answers with an error."""

    def fault(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(code)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
        return True

    return fault


def body(content: bytes) -> Fault:
    """Answers with this and all is well, as far as HTTP goes."""
    return status(200, content)


def cut_short(handler: BaseHTTPRequestHandler) -> bool:
    """Promises more than it sends."""
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"<eSearchResult><Count>1</Count>")
    return True


def hang_up(handler: BaseHTTPRequestHandler) -> bool:
    """Closes the connection without a word."""
    handler.close_connection = True
    return True


def slow(seconds: float) -> Fault:
    """Takes its time, and then answers as it should, to whoever still listens."""

    def fault(handler: BaseHTTPRequestHandler) -> bool:  # noqa: ARG001 -- every fault is given one
        time.sleep(seconds)
        return False

    return fault


@contextlib.contextmanager
def serving(articles: Sequence[Document]) -> Iterator[EUtilitiesServer]:
    """The server while the block runs."""
    state = EUtilitiesServer(articles)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            page = self.path.rpartition("/")[2]
            form = dict(parse_qsl(self.rfile.read(int(self.headers["Content-Length"])).decode()))
            with state.lock:
                state.requests.append((page, form))
                fault = state.faults.pop(0) if state.faults else None
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                if fault is None or not fault(self):
                    body(state.answer(page, form))(self)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.url = f"http://127.0.0.1:{server.server_port}/entrez/eutils/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

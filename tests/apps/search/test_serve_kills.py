from __future__ import annotations

import http.client
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from rankwell import Document
from rankwell.apps.search.access import Keys
from rankwell.apps.search.judgments import JudgmentsFile
from rankwell.index import Index, IndexWriter
from servers import Server, started, stopped

pytestmark = pytest.mark.slow
WRITERS = 4


class Writer:
    """Somebody who adds documents one by one, and remembers which were acknowledged."""

    def __init__(self, server: Server, key: str, name: str) -> None:
        self._address = urlsplit(server.url).netloc
        self._headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        self._name = name
        self.added: set[str] = set()
        self.deleted: set[str] = set()
        self.judged: set[str] = set()
        self.acknowledged = 0

    def work(self) -> None:
        """Until the server is gone."""
        connection = http.client.HTTPConnection(self._address, timeout=60)
        try:
            for number in range(1_000_000):
                docno = f"{self._name}-{number}"
                body = {"fields": {"text": f"fever {docno}"}}
                if self._ask(connection, "PUT", f"/api/documents/{docno}", body) == 201:
                    self.added.add(docno)
                grade = {"query": "fever", "id": docno, "grade": 1}
                if number % 3 == 0 and self._ask(connection, "POST", "/api/judgments", grade) == 200:
                    self.judged.add(docno)
                if number % 5 == 4:
                    self.added.discard(docno)  # once it is asked for, it may be gone without our hearing of it
                    if self._ask(connection, "DELETE", f"/api/documents/{docno}", None) == 200:
                        self.deleted.add(docno)
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()

    def _ask(self, connection: http.client.HTTPConnection, method: str, path: str, body: object) -> int:
        connection.request(method, path, None if body is None else json.dumps(body), self._headers)
        response = connection.getresponse()
        response.read()
        self.acknowledged += response.status < 300
        return response.status


# The later the kill, the more was acknowledged before it: the last one comes after a deletion and a judgment.
@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.long)])
def test_a_killed_server_has_everything_that_it_acknowledged(tmp_path: Path, kills: int) -> None:
    folder, thumbs, said = tmp_path / "index", tmp_path / "thumbs.jsonl", tmp_path / "said"
    with IndexWriter(folder) as writer:
        writer.add(Document("old", {"text": "fever"}))
    key = Keys(tmp_path / "keys.json").add("tests", "write")
    words = ["serve", str(folder), "--keys", str(tmp_path / "keys.json"), "--judgments", str(thumbs), "--quiet"]
    added, deleted, judged = {"old"}, set[str](), set[str]()
    for kill in range(kills):
        server = started(words, said)
        writers = [Writer(server, key, f"{kill}-{number}") for number in range(WRITERS)]
        with ThreadPoolExecutor(WRITERS) as pool:
            for writer in writers:
                pool.submit(writer.work)
            while sum(writer.acknowledged for writer in writers) <= 10 * kill:
                assert server.process.poll() is None, server.words()
                time.sleep(0.01)
            os.kill(server.process.pid, signal.SIGKILL)
            server.process.wait()
        for writer in writers:
            added, deleted, judged = added | writer.added, deleted | writer.deleted, judged | writer.judged
        index = Index.open(folder)
        assert not added - set(index.documents)
        assert not deleted & set(index.documents)
    index.verify()
    with stopped(started(words, said)) as server:  # and the server itself finds them
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
        for docno in sorted(added)[:50]:
            connection.request("GET", f"/api/documents/{docno}")
            response = connection.getresponse()
            assert response.read()
            assert response.status == 200
        connection.close()
    kept = JudgmentsFile(thumbs)
    assert not judged - kept.grades("fever", who="tests").keys()
    kept.close()
    assert deleted
    assert judged

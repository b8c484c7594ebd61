"""Backups that a running server makes from time to time."""

from __future__ import annotations

import logging
import re
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Self

from rankwell.core import ParameterError, RankwellError, make_folder
from rankwell.store.backup import back_up
from rankwell.store.database import Database
from rankwell.store.migrations import Schema

logger = logging.getLogger("rankwell.web.backups")  # beside what the servers say of requests
UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
KEPT = 48
TIME = "%Y%m%dT%H%M%S%fZ"


def parse_interval(text: str) -> timedelta:
    """30m, 6h or 1d as a duration."""
    found = re.fullmatch(r"([1-9]\d{0,5})([smhd])", text.strip())
    if found is None:
        raise ParameterError("--backup-every", expected="a number and a unit, such as 30m, 6h or 1d", found=text)
    return timedelta(**{UNITS[found[2]]: int(found[1])})


class Snapshots:
    """Writes a backup into a folder at each interval, and keeps the last ones.

    with Snapshots(database, schema, "backups", every=timedelta(hours=6)):
        serve(...)

    After a restart the next backup is due when the last one is as old as the interval. A backup that fails is logged,
    and the next one is tried at its time.
    """

    def __init__(
        self, database: Database, schema: Schema, folder: Path | str, every: timedelta, *, keep: int = KEPT
    ) -> None:
        if keep < 1:
            raise ParameterError("--backups", expected="a number of backups to keep, at least 1", found=keep)
        self.folder = Path(folder)
        self._database, self._schema, self._every, self._keep = database, schema, every, keep
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="backups", daemon=True)

    def made(self) -> list[Path]:
        """The backups in the folder, oldest first."""
        return sorted(self.folder.glob(f"{self._schema.branch}-*Z.jsonl.gz"))

    def make(self) -> Path:
        """Write a backup now, and delete the oldest beyond the number to keep."""
        make_folder(self.folder)
        path = self.folder / f"{self._schema.branch}-{datetime.now(UTC).strftime(TIME)}.jsonl.gz"
        rows = back_up(self._database, self._schema, path)
        logger.info("backup: %s, %d rows", path, rows)
        for old in self.made()[: -self._keep]:
            old.unlink(missing_ok=True)
        return path

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(self._seconds_left()):
            try:
                self.make()
            except (RankwellError, OSError) as error:
                logger.warning("no backup was made: %s", error)
                if self._stop.wait(self._every.total_seconds()):
                    return
            except Exception as error:  # noqa: BLE001 -- the server goes on, and tries again
                logger.warning("no backup was made: %s", type(error).__name__)
                if self._stop.wait(self._every.total_seconds()):
                    return

    def _seconds_left(self) -> float:
        """Seconds until the next backup is due."""
        made = self.made()
        if not made:
            return 0
        stamp = made[-1].name.removeprefix(f"{self._schema.branch}-").removesuffix(".jsonl.gz")
        last = datetime.strptime(stamp, TIME).replace(tzinfo=UTC)
        return max(0.0, (last + self._every - datetime.now(UTC)).total_seconds())

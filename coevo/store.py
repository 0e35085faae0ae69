"""RunStore: the run's database, the only truth about a run.

Everything that was paid for is written before it is used: proposals before the model sees them,
replies before they are run, verdicts before the search learns of them, updates before the next
generation. Whatever kills the process, what is in the file is complete and consistent, and
`coevo.run.resume` goes on from there.

Every statement is its own transaction unless grouped; SQLite's write-ahead log makes each atomic.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from coevo.attempt import Attempt, Prompt, Proposal, Stage
from coevo.error import CoevoError

FORMAT = 1

_SCHEMA = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE generations (
    number INTEGER PRIMARY KEY,
    sigma REAL,              -- of its directions, NULL if written by unperturbed weights
    seconds REAL,            -- wall clock it took
    search TEXT,             -- state after it, JSON, NULL while in flight
    strategy TEXT            -- likewise, NULL without ES
);
CREATE TABLE attempts (
    number INTEGER PRIMARY KEY,
    generation INTEGER NOT NULL REFERENCES generations (number),
    operator TEXT NOT NULL,
    parents TEXT NOT NULL,   -- JSON list of attempt numbers
    system TEXT NOT NULL,
    user TEXT NOT NULL,
    begun TEXT NOT NULL,
    function TEXT NOT NULL,
    direction INTEGER,       -- seed of its ES direction
    reply TEXT,              -- NULL until the model has written it
    tokens INTEGER,
    write_s REAL,
    code TEXT,
    idea TEXT,
    stage TEXT,              -- NULL until it has run
    message TEXT,
    objective REAL,
    evaluate_s REAL
);
CREATE INDEX attempts_by_generation ON attempts (generation);
CREATE TABLE updates (
    generation INTEGER PRIMARY KEY REFERENCES generations (number),
    record TEXT NOT NULL     -- JSON: seeds, weights, alpha, sigma, digests, or why it was skipped
);
"""


class StoreError(CoevoError):
    """The run's database cannot be used; the message says why and what to do."""


@dataclass(frozen=True)
class InFlight:
    """A generation that was proposed and not yet told: what a kill leaves behind."""

    number: int
    sigma: float | None
    attempts: list[Attempt]
    written: set[int]  # numbers of the attempts that have their reply
    judged: set[int]  # numbers of the attempts that have their stage


class RunStore:
    """One run's database. ``create`` makes it, ``open`` reads it; both check before they touch."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._db = connection
        self.path = path

    @classmethod
    def create(cls, path: Path) -> RunStore:
        """Make a new database. Raises `StoreError` if there is one already."""
        if path.exists():
            raise StoreError(f"{path} exists already; resume it or choose another directory")
        unfinished = path.with_name(f".{path.name}.{os.getpid()}")
        with closing(sqlite3.connect(unfinished)) as db:
            db.executescript(_SCHEMA)
            db.execute("INSERT INTO facts VALUES ('format', ?)", (str(FORMAT),))
            db.commit()
        os.replace(unfinished, path)  # there is never a database without its tables
        return cls(_connect(path), path)

    @classmethod
    def open(cls, path: Path) -> RunStore:
        """Open an existing database. Raises `StoreError` if it is missing, foreign or newer."""
        if not path.is_file():
            raise StoreError(f"no run is at {path.parent}: it has no run.db; see `ls runs`")
        try:
            store = cls(_connect(path), path)
            written = store.fact("format")
        except sqlite3.DatabaseError as error:
            raise StoreError(f"{path} is not a run's database ({error})") from None
        if written != str(FORMAT):
            raise StoreError(f"{path} has format {written}, this coevo reads {FORMAT}; upgrade it")
        return store

    def close(self) -> None:
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield self._db
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # -- facts about the run -----------------------------------------------------------------

    def fact(self, name: str) -> str | None:
        row = self._db.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return row[0] if row else None

    def set_fact(self, name: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, value))

    # -- the life of a generation ------------------------------------------------------------

    def propose(
        self,
        generation: int,
        proposals: Sequence[Proposal],
        directions: Sequence[int] | None,
        sigma: float | None,
    ) -> list[Attempt]:
        """Write a generation's proposals, numbered on from the last one. One transaction."""
        last = self._db.execute("SELECT COALESCE(MAX(number), 0) FROM attempts").fetchone()[0]
        attempts = [
            Attempt(last + 1 + i, generation, proposal, directions[i] if directions else None)
            for i, proposal in enumerate(proposals)
        ]
        with self._transaction() as db:
            db.execute(
                "INSERT INTO generations (number, sigma) VALUES (?, ?)", (generation, sigma)
            )
            db.executemany(
                "INSERT INTO attempts (number, generation, operator, parents, system, user, begun,"
                " function, direction) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        a.number,
                        generation,
                        a.operator,
                        json.dumps(a.parents),
                        a.proposal.prompt.system,
                        a.proposal.prompt.user,
                        a.proposal.prompt.begun,
                        a.proposal.prompt.function,
                        a.direction,
                    )
                    for a in attempts
                ],
            )
        return attempts

    def write_reply(self, number: int, reply: str, tokens: int, seconds: float) -> None:
        """Keep what the model wrote, before anything is done with it."""
        self._db.execute(
            "UPDATE attempts SET reply = ?, tokens = ?, write_s = ? WHERE number = ?",
            (_storable(reply), tokens, seconds, number),
        )

    def write_verdict(self, attempt: Attempt) -> None:
        """Keep the code, the stage and the objective, before the search learns of them."""
        self._db.execute(
            "UPDATE attempts SET code = ?, idea = ?, stage = ?, message = ?, objective = ?,"
            " evaluate_s = ? WHERE number = ?",
            (
                _storable(attempt.code),
                _storable(attempt.idea),
                attempt.stage.value,
                _storable(attempt.message),
                attempt.objective,
                attempt.evaluate_s,
                attempt.number,
            ),
        )

    def commit(
        self,
        generation: int,
        seconds: float,
        search: Mapping[str, Any],
        strategy: Mapping[str, Any] | None = None,
        update: Mapping[str, Any] | None = None,
    ) -> None:
        """The generation is told and the weights have moved: close it. One transaction."""
        with self._transaction() as db:
            db.execute(
                "UPDATE generations SET seconds = ?, search = ?, strategy = ? WHERE number = ?",
                (
                    seconds,
                    json.dumps(search),
                    None if strategy is None else json.dumps(strategy),
                    generation,
                ),
            )
            if update is not None:
                db.execute("INSERT INTO updates VALUES (?, ?)", (generation, json.dumps(update)))

    # -- reading -----------------------------------------------------------------------------

    def in_flight(self) -> InFlight | None:
        """The generation that was never closed, or None."""
        row = self._db.execute(
            "SELECT number, sigma FROM generations WHERE search IS NULL"
        ).fetchone()
        if row is None:
            return None
        rows = self._select("WHERE generation = ?", (row[0],))
        return InFlight(
            number=row[0],
            sigma=row[1],
            attempts=[_attempt(r) for r in rows],
            written={r["number"] for r in rows if r["reply"] is not None},
            judged={r["number"] for r in rows if r["stage"] is not None},
        )

    def last_state(self) -> tuple[int, dict[str, Any], dict[str, Any] | None] | None:
        """(generation, search state, strategy state) after the last closed generation."""
        row = self._db.execute(
            "SELECT number, search, strategy FROM generations WHERE search IS NOT NULL"
            " ORDER BY number DESC LIMIT 1"
        ).fetchone()
        if row is None:
            return None
        return row[0], json.loads(row[1]), json.loads(row[2]) if row[2] else None

    def attempts(self) -> list[Attempt]:
        """Every attempt that has its stage, in order."""
        return [_attempt(row) for row in self._select("WHERE stage IS NOT NULL")]

    def attempt(self, number: int) -> Attempt:
        rows = self._select("WHERE number = ?", (number,))
        if not rows:
            raise StoreError(f"attempt {number} is not in {self.path}")
        return _attempt(rows[0])

    def updates(self) -> list[dict[str, Any]]:
        """Every update's record, in order; skipped ones too."""
        rows = self._db.execute("SELECT record FROM updates ORDER BY generation")
        return [json.loads(row[0]) for row in rows]

    def generations(self) -> int:
        """How many generations are closed."""
        row = self._db.execute("SELECT COUNT(*) FROM generations WHERE search IS NOT NULL")
        return int(row.fetchone()[0])

    def seconds(self) -> float:
        """Wall clock of all closed generations, over all sittings."""
        row = self._db.execute("SELECT COALESCE(SUM(seconds), 0) FROM generations").fetchone()
        return float(row[0])

    def _select(self, where: str, values: Iterable[Any] = ()) -> list[sqlite3.Row]:
        query = f"SELECT * FROM attempts {where} ORDER BY number"
        return self._db.execute(query, tuple(values)).fetchall()


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=30, isolation_level=None)
    db.row_factory = sqlite3.Row
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    return db


def _storable(text: str) -> str:
    """Text as SQLite can hold it: a lone surrogate, of a broken token, becomes "?"."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _attempt(row: sqlite3.Row) -> Attempt:
    proposal = Proposal(
        row["operator"],
        tuple(json.loads(row["parents"])),
        Prompt(row["user"], row["system"], row["begun"], row["function"]),
    )
    attempt = Attempt(row["number"], row["generation"], proposal, row["direction"])
    if row["reply"] is not None:
        attempt = replace(
            attempt, reply=row["reply"], tokens=row["tokens"], write_s=row["write_s"]
        )
    if row["stage"] is not None:
        attempt = replace(
            attempt,
            code=row["code"],
            idea=row["idea"],
            stage=Stage(row["stage"]),
            message=row["message"],
            objective=row["objective"],
            evaluate_s=row["evaluate_s"],
        )
    return attempt

"""Invariants of a command under any fault.

    trial = Trial(proxy, store)
    trial.until_done(["eval", "hicupid", …])
    trial.check()

A response that was committed is there at the end, as it was, and was not asked for by a process that started after it
was there, nor stored a second time; and a command that did not finish said in its last lines how to go on.
"""

import json
import os
import re
import sqlite3
import subprocess
import zlib
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.faults.proxy import KINDS, Proxy, digest
from tests.support.command import PROGRAM, SETTINGS, bowstring
from tests.support.processes import LIMIT

GOES_ON = re.compile(
    r"the same command (tries them again|goes on)|run the (same )?command again"
    r"|free some space|choose another with --store"
)

# What the rows that were seen had asked for, by their keys: damage may take a trunk and leave its responses.
_ASKED: dict[str, str] = {}


@dataclass
class Trial:
    proxy: Proxy
    store: Path
    processes: int = 0
    kills: int = 0
    _committed: dict[str, tuple[str, str]] = field(default_factory=dict)
    _asked_again: set[str] = field(default_factory=set)
    _known: list[tuple[int, set[str]]] = field(default_factory=list)

    def start(self, arguments: list[str], env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
        """Start a process, after recording what was committed before."""
        self._look()
        return subprocess.Popen(
            [PROGRAM, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | SETTINGS | (env or {}),
            **more,
        )

    def _look(self) -> None:
        self._begin()
        found = committed(self.store)
        self._committed |= found
        self._known.append((self.proxy.process, set(found)))

    def _begin(self) -> None:
        self.proxy.process += 1
        self.processes += 1

    def run(self, arguments: list[str], *, look: bool = True, **more: Any) -> tuple[int, str]:
        """Run to the end; return the exit code and the last output. With `more`, run in a new process."""
        if more:
            process = self.start(arguments, **more)
            _, err = process.communicate(timeout=LIMIT)
            code = process.returncode
        else:
            self._look() if look else self._begin()
            ran = bowstring(*arguments)
            code, err = ran.code, ran.err
        assert "Traceback" not in err, err
        if code:
            assert code == 1, err
            assert GOES_ON.search(err), f"it did not say how to go on: {err}"
        return code, err

    def until_done(self, arguments: list[str], tries: int = 15, **more: Any) -> None:
        """Repeat the command until nothing is left to do."""
        for _ in range(tries):
            code, _ = self.run(arguments, **more)
            if code == 0:
                return
        raise AssertionError(f"not done after {tries} tries")

    def after_damage(self) -> None:
        """Take the current store as committed: the command has reported that the rest is missing."""
        self._committed = committed(self.store)

    def check(self) -> dict[str, Any]:
        """Check the invariants; return counts."""
        final = committed(self.store)
        lost = {asked for asked, what in self._committed.items() if final.get(asked) != what}
        for process, known in self._known:
            self._asked_again |= known & {e.asked for e in self.proxy.events if e.process == process}
        with sqlite3.connect(self.store) as db:
            (written,) = db.execute("SELECT n FROM written").fetchone()
            (rows,) = db.execute("SELECT count(*) FROM responses").fetchone()
        db.close()
        assert not lost, f"{len(lost)} committed responses are lost or changed"
        assert not self._asked_again, f"{len(self._asked_again)} committed responses were asked for again"
        assert written == rows, f"{written - rows} responses were asked for and stored twice"
        events = self.proxy.events
        came = Counter(e.asked for e in events)
        return {
            "requests": len(events),
            "retries": sum(came.values()) - len(came),
            "processes": self.processes,
            "kills": self.kills,
            "committed": rows,
            "lost": len(lost),
            "asked twice": len(self._asked_again) + written - rows,
            "faults": {kind: n for kind in KINDS if (n := sum(e.fault == kind for e in events))},
        }


def committed(store: Path) -> dict[str, tuple[str, str]]:
    """The content of a store, by request."""
    if not store.exists() or not store.stat().st_size:
        return {}
    db = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        trunks = {name: json.loads(zlib.decompress(packed)) for name, packed in db.execute("SELECT * FROM trunks")}
        rows = db.execute("SELECT key, model, trunk, branch, sampling, text, finish FROM responses").fetchall()
    except sqlite3.OperationalError:  # killed before there was a table
        return {}
    finally:
        db.close()
    found = {}
    for key, model, trunk, branch, sampling, text, finish in rows:
        if key not in _ASKED:
            name = model.partition("/")[2].partition("@")[0]
            said = "".join("".join(parts) for _, *parts in [*trunks[trunk], *json.loads(branch)])
            _ASKED[key] = digest(name, json.loads(sampling), said)
        found[_ASKED[key]] = (text, finish)
    return found

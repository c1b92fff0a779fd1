"""What all sections share: options, a folder to throw away, the corpus, and the stores made of it on first use."""

from __future__ import annotations

import json
import os
import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import corpus
from howcome import wiring as lifecycle
from howcome.clients.discover import named_transcripts
from timing import Cost, Report, Stopwatch, core_for_measuring, measure

if TYPE_CHECKING:
    import argparse

MARK = "HOWCOME_BENCH_RUN"
"""In the environment of every process started here: what is left over is found by it."""

BIG_EVENTS = 100_000


class Bench:
    """One run of the benchmarks."""

    def __init__(self, options: argparse.Namespace, root: str) -> None:
        self.options, self.root, self.report = options, root, Report()
        self.watch = Stopwatch(root)
        self.core = core_for_measuring()
        self.imports: dict[str, Cost] = {}

    def say(self, text: str) -> None:
        """Progress, apart from the figures."""
        print(f"# {text}", file=sys.stderr, flush=True)

    # -- processes ---------------------------------------------------------------------------------------------------
    def env(self, home: str, user: str | None = None) -> dict[str, str]:
        """The environment of a process that works on the store `home`; `user` is its home folder."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "LANG", "LC_ALL", "TMPDIR")}
        user = user or os.path.join(self.root, "nobody")
        os.makedirs(user, exist_ok=True)
        names = {"HOME": user, "HOWCOME_HOME": home, "HOWCOME_TRANSCRIPT_FOLDERS": self.root}  # where its files are
        return {**kept, **names, MARK: self.root}

    @cached_property
    def command(self) -> list[str]:
        """The installed console script."""
        return [os.path.join(os.path.dirname(sys.executable), "howcome")]

    def hook(self, event: str) -> list[str]:
        """A hook as `howcome init` installs it."""
        chosen = os.environ.pop("HOWCOME_HOME", None)
        try:
            return ["/bin/sh", "-c", lifecycle.hook_command(event)]
        finally:
            if chosen is not None:
                os.environ["HOWCOME_HOME"] = chosen

    def import_(self, home: str, *paths: str, user: str | None = None, core: int = -1) -> tuple[Cost, dict[str, Any]]:
        """`howcome import --json`: what it cost and what it reported."""
        cost = measure([*self.command, "import", "--json", *paths], self.env(home, user), core=core)
        if cost.code:
            raise RuntimeError(f"import failed: {cost.err}")
        return cost, json.loads(cost.out)

    def status(self, home: str, *flags: str, user: str | None = None) -> dict[str, Any]:
        """`howcome status --json`."""
        cost = measure([*self.command, "status", "--json", *flags], self.env(home, user))
        found: dict[str, Any] = json.loads(cost.out)
        return found

    # -- data --------------------------------------------------------------------------------------------------------
    @cached_property
    def source(self) -> str:
        """The folder of the transcripts to measure with."""
        if self.options.data:
            return os.path.abspath(self.options.data)
        folder = os.path.join(self.root, "corpus")
        self.say(f"inventing {self.options.megabytes:g} MB of transcripts")
        corpus.invent(folder, megabytes=self.options.megabytes, sessions=self.options.sessions, seed=self.options.seed)
        return folder

    @cached_property
    def files(self) -> list[str]:
        """The transcripts to measure with."""
        return [found.path for found in named_transcripts([self.source])]

    @cached_property
    def said(self) -> list[tuple[str, str, str]]:
        """What was said in them."""
        return list(corpus.said(self.files))

    @cached_property
    def cwd(self) -> str:
        """The folder in which most of it was said."""
        return corpus.main_folder(self.said)

    @cached_property
    def store(self) -> str:
        """A store of the corpus."""
        home = os.path.join(self.root, "store")
        self.imports["first"], report = self.import_(home, self.source, core=self.core)
        self.imported = report
        return home

    @property
    def user(self) -> str:
        """The home folder of somebody with at least BIG_EVENTS events in their transcripts."""
        return os.path.join(self.root, "user")

    @cached_property
    def big(self) -> str:
        """Their store: the corpus under new session ids until there are enough events."""
        home = os.path.join(self.root, "big")
        events = self.status(self.store)["counts"]["events"]
        copies = -(-BIG_EVENTS // events)
        folder = os.path.join(self.user, ".claude", "projects", "bench")
        self.say(f"growing a store: {copies} times {events} events")
        for number in range(1, copies + 1):
            corpus.copy_renamed(self.files, folder, number)
        cost, report = self.import_(home, user=self.user)
        counts = self.status(home, user=self.user)["counts"]
        self.say(f"{counts['events']} events of {report['bytes'] / 1e6:.0f} MB in {cost.seconds:.0f} s")
        return home

"""The composition root and façade: the only module that names a concrete store; every door calls it.

Recall and ingest are opened apart, because a prompt must not pay for what only ingest needs: imports below this module
are lazy where they are expensive.
"""

from __future__ import annotations

import os
import time

from howcome.domain.stored import Scope
from howcome.errors import ProviderError
from howcome.store.place import has_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from types import TracebackType

    from howcome.capture.discover import Found as Transcript
    from howcome.domain.stored import Found, Reminder
    from howcome.ingest.distil.meaning import Meaning
    from howcome.ingest.distil.run import Distillation
    from howcome.ingest.graph.build import GraphReport
    from howcome.ingest.graph.refresh import ProjectGraphs
    from howcome.ingest.pipeline import Ingester
    from howcome.ingest.remember import Memories
    from howcome.ingest.reports import FileReport
    from howcome.ingest.spool import SpoolReport
    from howcome.providers.base import Embedder
    from howcome.retrieve.code_files import FileImports
    from howcome.retrieve.question import Question
    from howcome.retrieve.ranking import Ranking
    from howcome.retrieve.rerank import Reranking
    from howcome.retrieve.vectors import EmbeddedTurns
    from howcome.settings import Settings
    from howcome.store.base import Store
    from howcome.store.vector_folders import VectorFolder
    from howcome.store.vector_index import VectorIndex

    Opener = Callable[..., Embedder | None]

INDEX_EVERY_CHARS = 4 << 20
"""During an import new rows are made searchable this often; each commit of the index costs some 50 ms."""


def now_ms() -> int:
    """UTC milliseconds."""
    return time.time_ns() // 1_000_000


def open_app(
    settings: Settings, *, busy_ms: int = 5000, fixed_root: str | None = None, create: bool = True,
    ranking: Ranking | None = None, embedder: Embedder | None = None, opener: Opener | None = None,
) -> App:  # fmt: skip
    """The façade over the store of `settings.home`, which is created when it is not there.

    Args:
        settings: Where the store is, what is excluded.
        busy_ms: How long a write waits for another process's.
        fixed_root: Every event belongs to this project (for evaluation only).
        create: False for what only reads, and for who has seen a store here that is gone now.
        ranking: Another way to rank than the one that ships (for evaluation only).
        embedder: One that is loaded already, instead of that of the settings.
        opener: What opens that of the settings when it is needed, instead of `providers.embed.open_embedder`.

    Raises:
        StoreError: the store cannot be opened; StoreMissingError when there is none and it must not be created.
    """
    from howcome.ingest.gate import Gate
    from howcome.store.sqlite import SqliteStore

    os.umask(0o077)  # the database makes its files 0600 itself; the index and all else must be nobody else's either
    gate = Gate(lambda: bytes(store.meta("key")), personal=settings.redact_personal)  # type: ignore[call-overload]
    store = SqliteStore(settings.home, busy_ms=busy_ms, create=create, gate=gate)
    return App(store, settings, fixed_root=fixed_root, ranking=ranking, embedder=embedder, opener=opener)


def open_for_recall(settings: Settings, deadline: float, embedder: Embedder | None = None) -> App | None:
    """The façade for a prompt; None when there is no store yet. Only a loaded embedder is asked."""
    if not has_database(settings.home):
        return None
    busy_ms = max(1, int((deadline - time.monotonic()) * 250))  # a quarter of the time left, then without
    return open_app(settings, busy_ms=busy_ms, create=False, embedder=embedder)


def open_for_ingest(settings: Settings) -> App:
    """The façade for a hook that reads transcripts; made with the store when that is not there."""
    return open_app(settings, busy_ms=1000)


class App:
    """Everything howcome does, over one store."""

    def __init__(
        self, store: Store, settings: Settings, *, fixed_root: str | None = None,
        ranking: Ranking | None = None, embedder: Embedder | None = None, opener: Opener | None = None,
    ) -> None:  # fmt: skip
        self.store, self.settings, self._fixed_root, self._ranking = store, settings, fixed_root, ranking
        self._texts: dict[int, str] = {}
        self._text_chars = 0
        self._ingester: Ingester | None = None
        self._memories: Memories | None = None
        self._distillation: Distillation | None = None
        self.embedder, self._opener, self._has_looked = embedder, opener, False
        self._vectors: EmbeddedTurns | None = None
        self._vector_index: VectorIndex | None = None
        self._reranking: Reranking | None = None

    def __enter__(self) -> App:  # noqa: PYI034 - `typing` costs a hook 10 ms
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Gives the store back."""
        self.store.close()

    def refresh(self) -> None:
        """Lets the next search see what other processes have made searchable since."""
        self.store.refresh()
        self._has_looked = self._vectors is not None  # a model may have come meanwhile
        if self._vectors is not None:
            self._vectors.refresh()

    # -- ingest ----------------------------------------------------------------------------------------------------
    def ingester(self) -> Ingester:
        """Reads transcripts into the store; new rows' texts are kept for the index."""
        if self._ingester is None:
            from howcome.ingest.opening import open_ingester

            self._ingester = open_ingester(self.store, self.settings, self._fixed_root, now_ms, self._on_rows)
        return self._ingester

    def ingest_file(
        self, found: Transcript, *, deadline: float | None = None, on_progress: Callable[[int], None] | None = None
    ) -> FileReport:
        """Reads what is new in one transcript; what was read is made searchable now and then."""
        return self.ingester().ingest_file(found.path, found.client, deadline=deadline, on_progress=on_progress)

    def _on_rows(self, texts: dict[int, str]) -> None:
        self._texts.update(texts)
        self._text_chars += sum(map(len, texts.values()))
        if self._text_chars >= INDEX_EVERY_CHARS:
            self.index_new_rows()

    def index_new_rows(self, deadline: float | None = None) -> int | None:
        """Makes the rows that were added searchable; None when another process is at it."""
        added = self.store.index.catch_up(self._texts, deadline=deadline)
        self._texts.clear()
        self._text_chars = 0
        return added

    def embed_new_turns(
        self, deadline: float | None = None, *, threads: int = 1, on_progress: Callable[[int], None] | None = None
    ) -> int | None:
        """Writes vectors of turns that have none; how many, None when another process is at it or nothing embeds.

        The local model is built first when its weights are here and it is not; `on_progress` is told how many turns
        were done each time.

        Raises:
            ProviderError: the embedder failed; what is written stays.
        """
        vectors = self._open_vectors(build=True, threads=threads)
        if vectors is None or self.embedder is None or self._vector_index is None:
            return None
        from howcome.ingest.embedding import embed_new_turns
        from howcome.store.vector_writer import VectorWriter

        with VectorWriter(self._vector_index) as writer:
            if not writer.is_open:
                return None
            added = embed_new_turns(self.store, self.embedder, writer, deadline, on_progress)
        vectors.refresh()
        return added

    def turns_without_vectors(self) -> int | None:
        """How many turns are to be embedded; None when nothing embeds.

        Raises:
            ProviderError: the settings name an embedder that cannot be had.
        """
        if self._open_vectors(build=True) is None or self._vector_index is None:
            return None
        held = [each.turns_behind for each in self.vector_folders() if each.model == self._vector_index.model]
        return held[0] if held else self.store.log.count_turns_after(0)

    @property
    def vectors(self) -> EmbeddedTurns | None:
        """Turns by meaning; None where no embedder is ready (then everything works by words).

        Raises:
            ProviderError: the settings name an embedder that cannot be had.
        """
        if not self._has_looked:
            self._has_looked = True
            self._open_vectors(build=False)
        return self._vectors

    def _open_vectors(self, *, build: bool, threads: int = 1) -> EmbeddedTurns | None:
        """As `vectors`; only who embeds may build the model first, which takes seconds."""
        if self._vectors is None:
            from howcome.providers.embed import open_embedder

            if self.embedder is None:
                self.embedder = (self._opener or open_embedder)(self.settings, threads=threads, build=build)
            if self.embedder is not None:
                from howcome.retrieve.vectors import EmbeddedTurns
                from howcome.store.vector_index import VectorIndex

                folder, name = os.path.join(self.settings.home, "index"), self._redact(self.embedder.name)
                index = VectorIndex(folder, name, self.embedder.dimensions, self.store.log.mark_at)
                redact = self._redact if self.settings.embedding == "http" else str
                self._vector_index, self._vectors = index, EmbeddedTurns(self.embedder, index, redact)
        return self._vectors

    def vector_folders(self) -> list[VectorFolder]:
        """What there is of vectors on disk, one a model; no model is loaded."""
        from howcome.store.vector_folders import vector_folders

        return vector_folders(os.path.join(self.settings.home, "index"), self.store)

    def verify_indexes(self) -> list[str]:
        """Reads all that is derived from the rows (1 GB a second): what is wrong with it, and is made anew next."""
        from howcome.store.vector_folders import give_up_broken

        return self.store.verify_indexes() + give_up_broken(os.path.join(self.settings.home, "index"))

    def _redact(self, text: str) -> str:
        """A text as others may see it: what leaves this machine holds no secrets, as what is stored."""
        return self.store.gate.text(text) if self.store.gate is not None else text

    def ingest_session(self, paths: Iterable[str], deadline: float, *, and_others: bool = False) -> int:
        """What is new in a session's transcripts (its own and its subagents'), within the time; how many were refused.

        With `and_others` every other transcript on the machine with unread bytes follows. Paths outside of the
        clients' folders are not read.
        """
        from howcome.ingest.catch_up import CatchUp

        work = CatchUp(self.store, self.ingester, self.settings.transcript_folders)
        (work.everything if and_others else work.session)(paths, deadline)
        self._index_quietly(deadline)
        return work.refused

    def ingest_spool(
        self, deadline: float | None = None, *, retry_all: bool = False, wait_s: float = 0.0
    ) -> SpoolReport | None:
        """Observations that wait in the spool become events (not yet searchable); None when there are none.

        What the store refused before is tried again when its time has come, or at once with `retry_all`; another
        process that is at it is waited for so long.

        Raises:
            StoreError: the spool cannot be read or written; nothing is lost.
        """
        from howcome.capture.spool import dead_letters, is_empty

        home = self.settings.home
        if is_empty(home) and not dead_letters(home):  # mostly so, and what comes next is dear to import
            return None
        from howcome.ingest.spool import ingest_spool

        return ingest_spool(self.ingester(), self.store, home, deadline=deadline, retry_all=retry_all, wait_s=wait_s)

    def _index_quietly(self, deadline: float) -> None:
        self.index_new_rows(deadline)
        self.store.index.release()

    # -- import graph ----------------------------------------------------------------------------------------------
    def build_graph(self, folder: str, on_progress: Callable[[int, int], None] | None = None) -> GraphReport:
        """Reads which file imports which in the project of a folder; see `ProjectGraphs.build`."""
        return self._graphs().build(folder, self.root_of(folder), on_progress)

    def refresh_graphs(self, rest: Callable[[], bool]) -> bool:
        """Brings graphs that are old up to date, with rests; False when it had to end. See `ProjectGraphs.refresh`."""
        return self._graphs().refresh(rest)

    def _graphs(self) -> ProjectGraphs:
        from howcome.ingest.exclusion import Places
        from howcome.ingest.graph.refresh import ProjectGraphs

        return ProjectGraphs(self.store, Places(self.settings.exclude, self._fixed_root), now_ms)

    def graph_of(self, folder: str, file: str) -> FileImports:
        """What a file of a folder's project imports and what imports it; see `retrieve.code_files.imports_of`."""
        from howcome.ingest.graph.sources import top_of
        from howcome.retrieve.code_files import imports_of

        root = self.root_of(folder)
        below = os.path.relpath(os.path.realpath(folder), top_of(folder) or root)
        return imports_of(self.store, self.store.projects.of_root(root), file, below)

    # -- search ----------------------------------------------------------------------------------------------------
    def make_searchable(self, limit_s: float) -> int:
        """Adds rows that the index has not seen, within the time; how many are still not searchable."""
        from howcome.errors import StoreError

        lag = self.store.index.lag()
        if not lag or limit_s <= 0 or self.store.is_read_only:
            return lag
        try:
            self._index_quietly(time.monotonic() + limit_s)
            return self.store.index.lag()
        except StoreError:  # another process is at it, or it cannot be read: searching says which
            return lag

    def scope_of(self, folder: str) -> Scope:
        """The scope of a folder: its project."""
        if self._fixed_root is not None:
            return Scope.project(self.store.projects.of_path(folder))
        from howcome.retrieve.projects import project_of

        return Scope.project(project_of(self.store, folder))

    def root_of(self, folder: str) -> str:
        """The root of the project that a folder belongs to; what is kept there is found by `scope_of` it."""
        from howcome.retrieve.projects import root_of

        return root_of(self.store, folder)

    def project_named(self, name: str, here: str, instead: str) -> tuple[int | None, str]:
        """The project (id, root) with a name; see `retrieve.projects.project_named`."""
        from howcome.retrieve.projects import project_named

        return project_named(self.store, name, here, instead)

    def search(self, question: Question, *, by_words: bool = False) -> list[Found]:
        """The events and memories that answer a question, best first; with `by_words` no embedder is asked."""
        from howcome.retrieve.outside import Outside, chosen_ranking
        from howcome.retrieve.question import answer

        outside = Outside(self.settings, self.store, self._redact, now_ms)
        return answer(
            self.store, question, now_ms=now_ms(), ranking=self._ranking or chosen_ranking(self.settings),
            vectors=None if by_words else self.vectors, outside=outside, reranking=self.reranking,
        )  # fmt: skip

    @property
    def reranking(self) -> Reranking | None:
        """What reads the first answers of a search again; None when the settings have none."""
        if self._reranking is None and self.settings.rerank != "off":
            from howcome.retrieve.rerank import Reranking

            self._reranking = Reranking(self.settings, self.store, self._redact, now_ms)
        return self._reranking

    def recall(self, prompt: str, *, cwd: str, session: str, recent: Callable[[], str]) -> list[Reminder]:
        """What earlier sessions of this project, and memories, say about a prompt; see `retrieve.recall`."""
        from howcome.retrieve.recall import recall

        vectors = self.vectors if self.embedder is not None else None  # a prompt does not wait until one is loaded
        return recall(
            self.store, self.settings, prompt, scope=self.scope_of(cwd), session=session, recent=recent,
            now_ms=now_ms(), vectors=vectors,
        )  # fmt: skip

    def record_said(self, session: str, hook: str, said: Sequence[Reminder]) -> None:
        """Remembers what was injected; losing this must not lose the answer."""
        from howcome.retrieve.recall import record_said

        record_said(self.store, session, hook, said, now_ms())

    # -- memories --------------------------------------------------------------------------------------------------
    @property
    def memories(self) -> Memories:
        """Memories: keeping, reading, forgetting, moving them."""
        if self._memories is None:
            from howcome.ingest.remember import Memories

            self._memories = Memories(self.store, now_ms, self.root_of)
        return self._memories

    @property
    def distillation(self) -> Distillation | None:
        """What turns sessions into memories; None when the settings have none."""
        if self._distillation is None and self.settings.distiller != "off":
            from howcome.ingest.distil.rules import RuleDistiller
            from howcome.ingest.distil.run import Distillation
            from howcome.providers.embed_name import model_name

            model = model_name(self.settings)
            self._distillation = Distillation(self.store, RuleDistiller(), now_ms, self.meaning, model)
        return self._distillation

    def meaning(self) -> Meaning | None:
        """What tells which memories are near; None where no embedder is ready."""
        from howcome.ingest.distil.meaning import Meaning

        try:
            is_ready = self.vectors is not None
        except ProviderError:  # memories are told apart by their words then
            is_ready = False
        redact = self._redact if self.settings.embedding == "http" else str
        return Meaning(self.store, self.embedder, now_ms, redact) if is_ready and self.embedder is not None else None

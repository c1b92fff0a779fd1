"""One client of the MCP server: where it works, its store (opened when first asked for), the worker beside it."""

from __future__ import annotations

import os
from contextlib import nullcontext

from howcome.clients.decode import clean_text
from howcome.clients.registry import clients
from howcome.domain.stored import Scope
from howcome.errors import HowcomeError, StoreMissingError, UsageError
from howcome.present.hooks import GUARD, guarded
from howcome.present.mcp_tools import HOOK, TOOLS, Arguments
from howcome.present.next_step import next_step
from howcome.present.render import own_words
from howcome.present.unsaid import without_secrets
from howcome.store.place import has_database

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from howcome.app import App
    from howcome.present.shared_embedder import SharedEmbedder
    from howcome.present.worker import Worker
    from howcome.settings import Settings

FAILED = "howcome could not answer this. What went wrong is logged (`howcome doctor` shows it); go on without it."
GONE = (
    "howcome's store is gone: somebody has taken it away. Go on without it; the user can run `howcome init` to"
    " begin a new one."
)
ALL_PROJECTS = "all"
MAX_ERROR_CHARS = 2000


class Session:
    """What the tools of one server share.

    Args:
        environment: Of the server's process: the client says in it which project and session it is.
        folder: The folder that the server was started in.
    """

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self._environment = environment
        wirings = [client.wiring for client in clients()]
        named = (environment.get(wiring.project_variable) for wiring in wirings)
        self.folder = clean_text(next(filter(None, named), folder))  # as transcripts name it
        self.name = next(filter(None, (environment.get(wiring.session_variable) for wiring in wirings)), "")
        self._settings: tuple[object, Settings] | None = None
        self._embedder: SharedEmbedder | None = None
        self._app: App | None = None
        self._had_store = False
        self._worker: Worker | None = None

    def __enter__(self) -> Session:  # noqa: PYI034 - `typing` costs 10 ms
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._worker is not None:
            self._worker.stop()
        if self._app is not None:
            self._app.close()

    @property
    def settings(self) -> Settings:
        """The settings, read anew when their file has changed.

        Raises:
            SettingsError: they cannot be read; the message says where.
        """
        from howcome.settings import CONFIG_NAME, home_folder, read_settings

        state = _state(os.path.join(home_folder(self._environment), CONFIG_NAME))
        if self._settings is None or self._settings[0] != state:
            self._settings = state, read_settings(self._environment)
        return self._settings[1]

    @property
    def embedder(self) -> SharedEmbedder:
        """The embedder of this process; nothing is loaded before it is asked."""
        if self._embedder is None:
            from howcome.present.shared_embedder import SharedEmbedder

            self._embedder = SharedEmbedder()
        return self._embedder

    @property
    def app(self) -> App:
        """The façade, with what other processes have written since the last call.

        Raises:
            HowcomeError: the settings or the store cannot be read; StoreMissingError when it was there and is gone.
        """
        is_gone, settings = self._is_gone(), self.settings
        if self._app is not None and (self._app.settings is not settings or not self._app.health.is_current):
            self._app.close()  # the settings were changed, or somebody put another store in its place
            self._app = None
        if self._app is None:
            from howcome.app import open_app

            if is_gone:
                raise StoreMissingError(GONE)
            self._app = open_app(settings, create=not self._had_store, opener=self.embedder.get)
            self._had_store = True
        else:
            self._app.refresh()
        return self._app

    def _is_gone(self) -> bool:
        """Whether this server has seen a store and somebody took it away: it must not come back by itself."""
        is_there = has_database(self.settings.home)
        self._had_store = self._had_store or is_there
        return self._had_store and not is_there

    def start(self) -> None:
        """Starts the worker: once, never in the way of the first answer, and for no agent that howcome started."""
        if self._worker is None and not self._environment.get(GUARD):
            guarded("mcp worker", self._start_worker)

    def _start_worker(self) -> None:
        from howcome.present.worker import Worker

        self._is_gone()
        self._worker = Worker(self.settings, embedder=self.embedder, current=lambda: self.settings)
        self._worker.start()

    @property
    def is_nowhere(self) -> bool:
        """Whether the client started this server in no project: `/`, or the home folder if nobody ever worked there.

        Applications that are no terminals do, whatever their user has open.
        """
        if self._environment.get("CLAUDE_PROJECT_DIR"):
            return False
        from howcome.clients.projects import is_repository

        folder = os.path.realpath(self.folder)
        if folder == os.sep:
            return True
        is_home = folder == os.path.realpath(os.path.expanduser("~"))
        return is_home and not is_repository(folder) and self.app.projects.scope_of(folder).project_id is None

    def project_folder(self) -> str:
        """The folder whose project a question or a memory is about when none is named.

        Raises:
            UsageError: there is no such project.
        """
        if self.is_nowhere:
            raise UsageError(
                f"the client has started howcome in {self.folder!r}, which is no project: name one to search in"
                f" (`project`; get_timeline with {ALL_PROJECTS!r} shows where sessions were), or {ALL_PROJECTS!r};"
                " remember takes the scope 'global'"
            )
        return self.folder

    def scope(self, project: str | None) -> Scope:
        """Whose memories a question is about: this project's, a named one's, or (`all`) everybody's.

        Raises:
            UsageError: no project has that name, or several have it.
        """
        if project is None:
            return self.app.projects.scope_of(self.project_folder())
        if project == ALL_PROJECTS:
            return Scope.everything(None if self.is_nowhere else self.app.projects.scope_of(self.folder).project_id)
        instead = f"or {ALL_PROJECTS!r} for every project; or leave it out for this one"
        return Scope.project(self.app.projects.named(project, self.folder, instead)[0])

    def tools(self) -> list[dict[str, object]]:
        """Every tool as the protocol lists it."""
        return [tool.listing() for tool in TOOLS.values()] + [HOOK]

    def has_tool(self, name: str) -> bool:
        """Whether there is such a tool."""
        return name in TOOLS or name == HOOK["name"]

    def call(self, name: str, arguments: object) -> dict[str, object]:
        """What a tool answers: always text, marked as an error when it is one."""
        with self._worker.giving_way() if self._worker else nullcontext():
            if name == HOOK["name"]:
                return _content(guarded("mcp hook", lambda: self._hook(arguments)) or "")
            return self._answer(name, arguments)

    def _answer(self, name: str, arguments: object) -> dict[str, object]:
        is_error = False

        def work() -> str:
            nonlocal is_error
            try:
                tool = TOOLS[name]
                return own_words(tool.run(self, Arguments(tool, arguments)))
            except HowcomeError as error:
                is_error = True
                said = without_secrets(str(error))  # it may quote what was asked, and what is stored
                return own_words(said)[:MAX_ERROR_CHARS] + next_step(error)

        text = guarded(f"mcp {name}", work)
        return _content(FAILED if text is None else text, is_error=is_error or text is None)

    def _hook(self, arguments: object) -> str:
        from howcome.present.hook_tool import hook_tool

        if not isinstance(arguments, dict) or self._is_gone():
            return ""
        return hook_tool(arguments, self.settings, self.embedder)


def _state(path: str) -> object:
    """What changes when a file does; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _content(text: str, *, is_error: bool = False) -> dict[str, object]:
    content: dict[str, object] = {"content": [{"type": "text", "text": text}]}
    return content | {"isError": True} if is_error else content

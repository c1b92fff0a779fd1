"""One client of the MCP server: where it works, its store (opened when first asked for), the worker beside it."""

from __future__ import annotations

import os
from contextlib import nullcontext

from recollect.capture.decode import clean_text
from recollect.domain.stored import Scope
from recollect.errors import RecollectError, UsageError
from recollect.present.hooks import guarded
from recollect.present.mcp_tools import HOOK, TOOLS, Arguments
from recollect.present.render import escape

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from recollect.app import App
    from recollect.present.worker import Worker
    from recollect.settings import Settings

FAILED = "recollect could not answer this. What went wrong is logged (`recollect doctor` shows it); go on without it."
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
        self.folder = clean_text(environment.get("CLAUDE_PROJECT_DIR") or folder)  # as transcripts name it
        self.name = environment.get("CLAUDE_CODE_SESSION_ID", "")
        self._settings: Settings | None = None
        self._app: App | None = None
        self._file: tuple[int, int] | None = None
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
        """The settings, read once.

        Raises:
            SettingsError: they cannot be read; the message says where.
        """
        if self._settings is None:
            from recollect.settings import read_settings

            self._settings = read_settings(self._environment)
        return self._settings

    @property
    def app(self) -> App:
        """The façade, with what other processes have written since the last call.

        Raises:
            RecollectError: the settings or the store cannot be read.
        """
        if self._app is not None and _file(self.settings) != self._file:  # somebody put another store in its place
            self._app.close()
            self._app = None
        if self._app is None:
            from recollect.app import open_app

            self._app = open_app(self.settings)
            self._file = _file(self.settings)
        else:
            self._app.store.refresh()
        return self._app

    def start(self) -> None:
        """Starts the worker: once, and never in the way of the first answer."""
        if self._worker is None:
            guarded("mcp worker", self._start_worker)

    def _start_worker(self) -> None:
        from recollect.present.worker import Worker

        self._worker = Worker(self.settings)
        self._worker.start()

    def scope(self, project: str | None) -> Scope:
        """Whose memories a question is about: this project's, a named one's, or (`all`) everybody's.

        Raises:
            UsageError: no project has that name, or several have it.
        """
        if project is None:
            return self.app.scope_of(self.folder)
        if project == ALL_PROJECTS:
            return Scope.everything()
        known = self.app.store.projects()
        ends = "/" + project.strip("/")
        found = [row for row, root in known if root == project.rstrip("/")] or [
            row for row, root in known if root.endswith(ends)
        ]
        if len(found) == 1:
            return Scope.project(found[0])
        names = ", ".join(sorted(root for row, root in known if not found or row in found)[:20])
        how_many = "several projects are" if found else "no project is"
        raise UsageError(
            f"{how_many} called {project!r}; use one of: {names or 'none yet'}, or {ALL_PROJECTS!r}; or leave it out"
            " for this project"
        )

    def tools(self) -> list[dict[str, object]]:
        """Every tool as the protocol lists it."""
        return [tool.listing() for tool in TOOLS.values()] + [HOOK]

    def has_tool(self, name: str) -> bool:
        """Whether there is such a tool."""
        return name in TOOLS or name == HOOK["name"]

    def call(self, name: str, arguments: object) -> dict[str, object]:
        """What a tool answers: always text, marked as an error when it is one."""
        if name == HOOK["name"]:
            return _content(guarded("mcp hook", lambda: self._hook(arguments)) or "")
        is_error = False

        def work() -> str:
            nonlocal is_error
            try:
                tool = TOOLS[name]
                return tool.run(self, Arguments(tool, arguments))
            except RecollectError as error:
                is_error = True
                return escape(str(error))[:MAX_ERROR_CHARS]  # it may quote what is stored

        with self._worker.giving_way() if self._worker else nullcontext():
            text = guarded(f"mcp {name}", work)
        return _content(FAILED if text is None else text, is_error=is_error or text is None)

    def _hook(self, arguments: object) -> str:
        from recollect.present.hook_tool import hook_tool

        return hook_tool(arguments, self.settings) if isinstance(arguments, dict) else ""


def _file(settings: Settings) -> tuple[int, int] | None:
    """Which file the store is in, so that another one is recognised."""
    from recollect.app import DATABASE_NAME

    try:
        status = os.stat(os.path.join(settings.home, DATABASE_NAME))
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _content(text: str, *, is_error: bool = False) -> dict[str, object]:
    content: dict[str, object] = {"content": [{"type": "text", "text": text}]}
    return content | {"isError": True} if is_error else content

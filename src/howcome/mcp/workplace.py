"""Where a client of the MCP server works: its folder, its project, the store (opened when first asked for)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from howcome.app import App
from howcome.clients.decode import clean_text
from howcome.clients.registry import clients
from howcome.domain.stored import Scope
from howcome.errors import StoreMissingError, UsageError
from howcome.log.place import has_database
from howcome.present.shared_embedder import SharedEmbedder
from howcome.settings import Settings

GONE = (
    "howcome's store is gone: somebody has taken it away. Go on without it; the user can run `howcome init` to"
    " begin a new one."
)
ALL_PROJECTS = "all"


class Workplace:
    """What the tools of one server share."""

    def __init__(self, environment: Mapping[str, str], folder: str) -> None:
        self.environment = environment
        wirings = [client.wiring for client in clients()]
        named = next(filter(None, (environment.get(wiring.project_variable) for wiring in wirings)), "")
        self._is_named = bool(named)
        self.folder = clean_text(named or folder)  # as transcripts name it
        self.name = next(filter(None, (environment.get(wiring.session_variable) for wiring in wirings)), "")
        self._settings: tuple[object, Settings] | None = None
        self._embedder: SharedEmbedder | None = None
        self.opened: App | None = None
        self._had_store = False

    @property
    def settings(self) -> Settings:
        """The settings, read anew when their file has changed.

        Raises:
            SettingsError: they cannot be read; the message says where.
        """
        from howcome.settings import CONFIG_NAME, home_folder, read_settings

        state = _state(os.path.join(home_folder(self.environment), CONFIG_NAME))
        if self._settings is None or self._settings[0] != state:
            self._settings = state, read_settings(self.environment)
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
        is_gone, settings = self.is_gone(), self.settings
        if self.opened is not None and (self.opened.settings is not settings or not self.opened.health.is_current):
            self.opened.close()  # the settings were changed, or somebody put another store in its place
            self.opened = None
        if self.opened is None:
            from howcome.app import open_app

            if is_gone:
                raise StoreMissingError(GONE)
            self.opened = open_app(settings, create=not self._had_store, opener=self.embedder.get, is_embedded=True)
            self._had_store = True
        else:
            self.opened.refresh()
        return self.opened

    def is_gone(self) -> bool:
        """Whether this server has seen a store and somebody took it away: it must not come back by itself."""
        is_there = has_database(self.settings.home)
        self._had_store = self._had_store or is_there
        return self._had_store and not is_there

    @property
    def is_nowhere(self) -> bool:
        """Whether the client started this server in no project: `/`, or the home folder if nobody ever worked there.

        Applications that are no terminals do, whatever their user has open.
        """
        if self._is_named:
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


def _state(path: str) -> object:
    """What changes when a file does; None when there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

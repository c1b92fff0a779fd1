"""`app.sharing`: memories on a person's other machines, and in a team's repository."""

from __future__ import annotations

from howcome.app.clock import now_ms
from howcome.app.projects import Projects
from howcome.memory.remember import Memories
from howcome.memory.syncing import Sync
from howcome.memory.team import Team
from howcome.memory.team_server import TeamServer
from howcome.settings import Settings
from howcome.store.base import Store

LOOK_S = 5.0
"""How long git is asked what the projects' repositories show, by which other machines know them."""


class Sharing:
    """What leaves this machine, and what comes; each is made anew, as others may have run meanwhile."""

    def __init__(self, store: Store, settings: Settings, memories: Memories, projects: Projects) -> None:
        self._store, self._settings, self._memories, self._projects = store, settings, memories, projects

    def sync(self) -> Sync:
        """One person's machines."""
        self._projects.look(LOOK_S)
        return Sync(self._store, self._memories, self._settings.home, self._settings.exclude, now_ms)

    def team(self) -> Team:
        """A team, through its repository."""
        settings = self._settings
        return Team(self._store, self._memories, settings.home, settings.exclude, self._projects.root_of)

    def team_server(self) -> TeamServer:
        """A team, through its server."""
        settings, root_of = self._settings, self._projects.root_of
        return TeamServer(self._store, self._memories, settings.home, settings.exclude, root_of, now_ms)

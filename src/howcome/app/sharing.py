"""`app.sharing`: memories on a person's other machines, and in a team's repository."""

from __future__ import annotations

from howcome.app.clock import now_ms
from howcome.app.projects import Projects
from howcome.memory.remember import Memories
from howcome.memory.syncing import Sync
from howcome.memory.team import Team
from howcome.memory.team_server import TeamServer
from howcome.settings import Settings

LOOK_S = 5.0
"""How long git is asked what the projects' repositories show, by which other machines know them."""


class Sharing:
    """What leaves this machine, and what comes; each is made anew, as others may have run meanwhile."""

    def __init__(self, settings: Settings, memories: Memories, projects: Projects) -> None:
        self._given, self._projects = (memories, settings.home, settings.exclude, now_ms), projects

    def sync(self) -> Sync:
        """One person's machines."""
        self._projects.look(LOOK_S)
        return Sync(*self._given)

    def team(self) -> Team:
        """A team, through its repository."""
        return Team(*self._given)

    def team_server(self) -> TeamServer:
        """A team, through its server."""
        return TeamServer(*self._given)

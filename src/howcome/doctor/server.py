"""The store on a server that commands use: is its driver here, does it answer, can it be written, is it whole."""

from __future__ import annotations

import os

from howcome.app import App, open_app
from howcome.app.servers import EXTRA, PACKAGES, DriverMissingError
from howcome.doctor.base import Finding, Machine, extra_remedy, update_remedy
from howcome.doctor.facts import edit
from howcome.errors import SettingsError, StoreError, StoreMissingError, StoreNewerError
from howcome.memory.team_server import MEMBERSHIP
from howcome.present.render import counted
from howcome.settings import CONFIG_NAME

LOOK_MS = 1000
"""How long a write of others is waited for."""


def check_server(machine: Machine) -> list[Finding]:
    """Hooks do without it: what they capture is in the embedded store."""
    if machine.settings_problem is not None or not machine.settings.store:
        return []
    try:
        with open_app(machine.settings, busy_ms=LOOK_MS, create=False) as app:
            return _looked_at(app, machine)
    except DriverMissingError as error:
        return [Finding("error", "server", str(error), extra_remedy(EXTRA, PACKAGES))]
    except StoreMissingError as error:
        return [Finding("note", "server", str(error), "howcome import")]
    except StoreNewerError as error:
        return [Finding("error", "server", str(error), update_remedy())]
    except (SettingsError, StoreError) as error:
        config = os.path.join(machine.home, CONFIG_NAME)
        remedy = f"{edit(config)}  # correct store, or delete it: commands use the embedded store then"
        return [Finding("error", "server", str(error), remedy)]


def check_team(machine: Machine) -> list[Finding]:
    """What the last exchange with a team's server came to."""
    if machine.settings_problem is not None or not os.path.exists(os.path.join(machine.home, MEMBERSHIP)):
        return []
    try:
        with open_app(machine.settings, busy_ms=LOOK_MS, create=False) as app:
            facts = app.sharing.team_server().status()
    except (SettingsError, StoreError):  # other checks say so
        return []
    if facts.get("problem"):
        return [Finding("warning", "team", f"{facts['url']}: {facts['problem']}", "howcome team status")]
    return [Finding("ok", "team", f"in {facts['team']} as {facts['person']}")]


def _looked_at(app: App, machine: Machine) -> list[Finding]:
    place, _, _, kind = app.health.place()
    if app.health.is_read_only:
        what = f"{place} ({kind}) can only be read: a standby, or another one has taken its place"
        return [Finding("warning", "server", what, "howcome config set store postgresql://…  # the one to write to")]
    if problems := app.health.check_integrity() if machine.deep else []:
        what = f"{place}: {'; '.join(problems)}"
        return [Finding("error", "server", what, "howcome migrate --to sqlite:FOLDER  # a copy of what can be read")]
    if app.health.is_redaction_due():
        what = f"{place} was searched for secrets by older rules: what only newer ones find is there in clear"
        remedy = (
            "howcome migrate --to sqlite:FOLDER  # then HOWCOME_HOME=FOLDER howcome upgrade, and back to an empty one"
        )
        return [Finding("warning", "server", what, remedy)]
    held = counted(app.health.counts()["events"], "event")
    return [Finding("ok", "server", f"{place} answers: {kind}; {held}")]

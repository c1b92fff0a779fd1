"""What the user chose: config.toml, variables, what is off, and search by meaning with what is missing for it."""

from __future__ import annotations

import importlib.util
import os
from difflib import get_close_matches
from typing import Any

from howcome.app import App, now_ms
from howcome.clients.projects import REPOSITORY_FILE, own_settings, project_root
from howcome.doctor.base import Finding, Level, Machine, extra_remedy, of_store
from howcome.doctor.facts import EMBED, described, edit, vector_facts
from howcome.errors import MissingError, ProviderError
from howcome.present.render import counted, in_units
from howcome.providers.embed import BUILDING, RUNNING, EmbeddingStatus, embedding_status
from howcome.providers.graph_neo4j import PACKAGE as GRAPH_EXTRA
from howcome.providers.llm import open_adapter, open_graph
from howcome.redact.second_opinion import MODULE as KINGFISHER
from howcome.redact.second_opinion import PACKAGE
from howcome.retrieve.outside import graph_known_as, model_known_as
from howcome.settings import ACTIVE, CONFIG_NAME, FIELDS, INJECT, OFF, Settings, current_folder

_WORDS = "search is by words only"


def check_embedding(machine: Machine) -> list[Finding]:
    """What the settings ask for is here. By default it need not be: then that is a note, no warning."""
    if machine.settings_problem is not None:  # said by the check of the settings
        return []
    status = embedding_status(machine.settings)
    if status.state == "ready":
        return [Finding("ok", "embedding", f"search by meaning: {status.what}")]
    if status.state == "off":
        return [Finding("ok", "embedding", status.what)]
    chosen = machine.settings.embedding
    level: Level = "note" if chosen == "auto" and status.state != "damaged" else "warning"
    what = f"{status.what}: {_WORDS}" if chosen == "auto" else f'embedding = "{chosen}", but {status.what}: {_WORDS}'
    return [Finding(level, "embedding", what, remedy_of(status, machine.home))]


@of_store
def check_vectors(machine: Machine, app: App) -> list[Finding]:
    """Every turn has a vector of the model that the settings mean; what is left of other models is told."""
    return [] if machine.settings_problem is not None else vector_findings(app, machine.settings)


def vector_findings(app: App, settings: Settings) -> list[Finding]:
    """The same of any store; on a server also what this machine cannot make is told."""
    if settings.embedding == "off":
        return []
    facts = vector_facts(app, settings)
    if facts["state"] not in ("ready", "unasked") and (facts["by_worker"] or not facts["turns_without_vectors"]):
        return []  # said by the check of the embedder
    others = [each for each in facts["models"] if each["model"] != facts["model"]]
    return [_of_current(facts), *map(_of_other, others)]


def _of_current(facts: dict[str, Any]) -> Finding:
    model, behind = facts["model"], facts["turns_without_vectors"]
    if facts["problem"]:
        what = f"the vectors of {model} cannot be used ({facts['problem']}): {_WORDS}"
        return Finding("warning", "vectors", what, "howcome model embed")
    if behind:
        what = f"{counted(behind, 'turn')} without a vector: found by words only until a session's worker embeds them"
        if facts["by_worker"]:
            return Finding("note", "vectors", what, EMBED)
        what = (
            f"{counted(behind, 'turn')} on the server without a vector: found by words only, and no worker embeds them"
        )
        return Finding("warning", "vectors", what, EMBED)
    return Finding("ok", "vectors", f"every turn has a vector: {described(facts)}")


def _of_other(each: dict[str, Any]) -> Finding:
    what = f"{in_units(each['size_bytes'])} of vectors of {each['model']}, which is not used now"
    return Finding("note", "vectors", what, each["removal"])


def remedy_of(status: EmbeddingStatus, home: str) -> str:
    """The command that brings what is missing, or the file to correct."""
    if status.state == "packages":
        return "pip install fastembed" if "fastembed" in status.missing else packages_remedy()
    if status.state in ("model", "damaged"):
        return "howcome model install"
    return f"{edit(os.path.join(home, CONFIG_NAME))}  # correct the settings that begin with embedding"


def packages_remedy() -> str:
    """What installs all packages that a local model needs."""
    return extra_remedy("semantic", sorted((*RUNNING, *BUILDING)))


_PREFIX = "HOWCOME_"
_OTHERS = ("HOWCOME_HOME", ACTIVE)
_KNOWN = (*_OTHERS, *(known.variable for known in FIELDS))


def check_settings(machine: Machine) -> list[Finding]:
    """config.toml and the variables can be read, and no variable is misspelt."""
    findings = []
    if machine.settings_problem is not None:
        problem = str(machine.settings_problem)
        what = f"every command and hook stops at this: {problem}"
        unset = f"unset {problem.partition(':')[0]}"
        remedy = machine.edit_config("correct or delete that line") if problem.startswith(machine.config) else unset
        findings.append(Finding("error", "settings", what, remedy))
    for name in sorted(machine.environment):
        if name.startswith(_PREFIX) and name not in _KNOWN:
            near = get_close_matches(name, _KNOWN, 1)
            what = f"nothing reads {name}" + (f"; is it {near[0]}?" if near else "")
            findings.append(Finding("warning", "settings", what, f"unset {name}"))
    changed = [known.name for known in FIELDS if getattr(machine.settings, known.name) != known.default]
    what = f"changed from the default: {', '.join(changed)}" if changed else "all at their defaults"
    return findings or [Finding("ok", "settings", what)]


def check_switches(machine: Machine) -> list[Finding]:
    """Hooks that are told to do nothing do nothing."""
    findings = []
    if machine.settings.disable:
        by_variable = "HOWCOME_DISABLE" in machine.environment
        line = "unset HOWCOME_DISABLE" if by_variable else f"in {machine.config}: disable = false"
        what = "HOWCOME_DISABLE is set" if by_variable else "config.toml says disable"
        findings.append(Finding("warning", "switches", f"{what}: hooks do nothing, no recall, no capture", line))
    if machine.environment.get(ACTIVE):
        what = f"{ACTIVE} is set here: hooks of agents that are started from this shell do nothing"
        findings.append(Finding("warning", "switches", what, f"unset {ACTIVE}"))
    if machine.settings.inject == OFF:
        findings.append(Finding("note", "switches", "inject is off: no prompt and no session is told anything"))
    findings += _of_repository(os.path.join(project_root(current_folder(machine.environment)), REPOSITORY_FILE))
    return findings or [Finding("ok", "switches", "nothing is switched off")]


_OF_REPOSITORY = {"capture": (True, False), "inject": INJECT}
"""What a repository's own file may say."""


def _of_repository(path: str) -> list[Finding]:
    """A repository's own file says what somebody reads; what it switches off is told."""
    said = own_settings(os.path.dirname(path))
    if said is None:
        what = f"{path} cannot be read: nothing of this project is stored, and nothing is told"
        return [Finding("warning", "switches", what, f"correct {path}")]
    findings = []
    for name, value in said.items():
        near = get_close_matches(name, _OF_REPOSITORY, 1)
        if name not in _OF_REPOSITORY:
            what = f"nothing reads {name} in {path}" + (f"; is it {near[0]}?" if near else "")
            findings.append(Finding("warning", "switches", what, f"correct {path}"))
        elif not any(type(one) is type(value) and one == value for one in _OF_REPOSITORY[name]):  # 0 is not false
            known = ", ".join(str(one).lower() for one in _OF_REPOSITORY[name])
            findings.append(Finding("warning", "switches", f"{name} in {path} is none of {known}", f"correct {path}"))
    if said.get("capture") is False:
        findings.append(Finding("note", "switches", f"{path} says: nothing of this project is stored"))
    if said.get("inject") == OFF:
        findings.append(Finding("note", "switches", f"{path} says: nothing is told in this project"))
    return findings


def check_second_opinion(machine: Machine) -> list[Finding]:
    """The other scanner for secrets is there, if one is wanted."""
    if machine.settings.second_opinion == "off":
        return []
    if importlib.util.find_spec(KINGFISHER) is None:
        what = "second_opinion = kingfisher, and its package is not here: imports end with an error"
        return [Finding("error", "secrets", what, extra_remedy("kingfisher", [PACKAGE]))]
    return [Finding("ok", "secrets", "Kingfisher looks at what is imported, too")]


def check_models(machine: Machine) -> list[Finding]:
    """Models cost money or time, a graph server is elsewhere: off until configured, and no endpoint is asked here."""
    return [*_language_model(machine), *_graph_server(machine)]


def _language_model(machine: Machine) -> list[Finding]:
    settings = machine.settings
    if settings.llm == "off":
        return [Finding("ok", "models", "no language model: off, free by default")]
    try:
        model = open_adapter(settings)
    except ProviderError as error:
        return [_wrong(machine, "models", f'llm = "{settings.llm}", but {error}', "llm")]
    if model is None:  # said by the check of the switches
        return []
    work, weighed = "classifies questions", ("classifier", settings.classifier_weight)
    if settings.distiller == "llm":
        work, weighed = "distils sessions", ("distiller", 1.0)
    what = f"{model.model} at {model.shown} {work}"
    return [*_asked(machine, "models", what, weighed, model_known_as(settings)), *_budget(machine, model.name)]


def _budget(machine: Machine, name: str) -> list[Finding]:
    """Whether the model may be asked at all: both caps are 0 by default, and `howcome spending` has a switch."""
    settings = machine.settings
    caps = ("llm_daily_calls", settings.llm_daily_calls), ("llm_daily_tokens", settings.llm_daily_tokens)
    zero = " and ".join(setting for setting, most in caps if not most)
    if zero:
        what = f"{name} may spend nothing, and is never asked: {zero} is 0"
        caps_a_day = "llm_daily_calls = 100, llm_daily_tokens = 200000, or what you want to spend a day"
        return [Finding("warning", "budget", what, machine.edit_config(caps_a_day))]
    app, now = machine.app, now_ms()
    if app is None:
        return []
    if app.spending.stopped_ms() is not None:
        return [Finding("warning", "budget", f"{name} is not asked: spending is stopped", "howcome spending --go")]
    calls, tokens = app.spending.spent_on(now)
    what = f"today {calls} of {caps[0][1]} calls and {tokens} of {caps[1][1]} tokens are spent (howcome spending)"
    return [Finding("ok", "budget", what)]


def _graph_server(machine: Machine) -> list[Finding]:
    settings = machine.settings
    if not settings.graph_url:
        return []
    try:
        open_graph(settings, str)
    except MissingError as error:
        return [Finding("warning", "graph server", str(error), extra_remedy(GRAPH_EXTRA, [GRAPH_EXTRA]))]
    except ProviderError as error:
        return [_wrong(machine, "graph server", str(error), "graph")]
    what = f"{settings.graph_url} is asked for imports first"
    return _asked(machine, "graph server", what, ("graph", settings.graph_weight), graph_known_as(settings))


def _wrong(machine: Machine, check: str, what: str, begins: str) -> Finding:
    return Finding("warning", check, what, machine.edit_config(f"correct the settings that begin with {begins}"))


def _asked(machine: Machine, check: str, what: str, weighed: tuple[str, float], known_as: str) -> list[Finding]:
    """Whether somebody is asked at all, and whether it is left alone at the moment because it failed."""
    tier, weight = weighed
    if not weight:
        says = f"{what}, but {tier}_weight is 0: it is never asked"
        return [Finding("note", check, says, machine.edit_config(f"a {tier}_weight above 0, as `howcome eval` says"))]
    pause = machine.app.models.pause_of(known_as) if machine.app is not None else None
    if pause is None:
        return [Finding("ok", check, what)]
    minutes = max(1, round((pause[0] - now_ms()) / 60_000))
    says = f"{what}, but is left alone for {minutes} min: {pause[1]}"
    return [Finding("warning", check, says, machine.edit_config("or make it answer there, and wait"))]

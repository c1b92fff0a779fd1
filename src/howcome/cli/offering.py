"""What `init` offers: a question to begin with, completion, and a language model with what it would take."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Mapping, Sequence

import click

from howcome import wiring as lifecycle
from howcome.app import open_app
from howcome.cli.arguments import confirm, open_existing
from howcome.clients.registry import clients
from howcome.domain.stored import Scope
from howcome.domain.text import title_of
from howcome.errors import HowcomeError, ProviderError, UsageError
from howcome.present.render import counted
from howcome.present.screen import say
from howcome.present.terminal import echo
from howcome.retrieve.question import Question
from howcome.settings import ACTIVE, Settings, read_settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from howcome.learn.model_run import Estimate

PRICES = (
    ("claude-haiku-4-5", 1.0, 5.0),
    ("claude-sonnet-4-5", 3.0, 15.0),
    ("gpt-5-mini", 0.25, 2.0),
    ("gpt-5-nano", 0.05, 0.4),
)
"""Models with the list prices of a million tokens read and written, in US dollars; of autumn 2025."""

DAILY_CALLS, DAILY_TOKENS = 100, 1_500_000
"""What is allowed a day where a model is turned on here: `howcome spending` and `howcome config set` change it."""


def question_that_finds() -> str:
    """Words of a prompt of an earlier session that this history answers: it is tried; '' where nothing is found."""
    try:
        with open_existing() as app:
            everywhere = Scope.everything()
            recent = app.events.recent_sessions(everywhere, 20)
            for one in (*recent[1:], *recent[:1]):  # the newest is still on the screen
                words = re.sub(r"[^\w\s.'-]+", " ", title_of(one.prompt)).split()[:6]
                question = Question(" ".join(words), everywhere, limit=2)
                # more than the prompt itself
                if len(words) > 2 and len(app.search.find(question, by_words=True)) > 1:
                    return " ".join(words)
    except HowcomeError:  # nothing is stored, or it cannot be asked now
        pass
    return ""


def trusted(owners: Sequence[lifecycle.Owner], changed: Collection[str]) -> list[str]:
    """Has agents trust our hooks where these are new, changed or not trusted yet; what is said of it."""
    notes = []
    for owner in owners:
        title, wiring = lifecycle.title_of(owner), lifecycle.agent_of(owner).wiring
        if not wiring.trust_server or not (owner.agent in changed or lifecycle.is_distrusted(owner)):
            continue
        now = "it trusts howcome's now (/hooks shows them)"
        what = now if lifecycle.trust(owner) else f"start `{wiring.programs[0]}`, type /hooks"
        notes.append(f"{title} runs only hooks that are trusted: {what}.")
    return notes


def completion(environment: Mapping[str, str]) -> str:
    """The line that completes commands in this person's shell."""
    shell = os.path.basename(environment.get("SHELL", ""))
    if shell == "fish":
        return "_HOWCOME_COMPLETE=fish_source howcome | source    # completion, in ~/.config/fish/config.fish"
    kind = "zsh" if shell == "zsh" else "bash"
    return f'eval "$(_HOWCOME_COMPLETE={kind}_source howcome)"    # completion, in ~/.{kind}rc'


def offer_model() -> None:
    """Says what a model would take, and turns one on when somebody says yes; the answer is no where nobody is there."""
    settings = read_settings(os.environ)
    if settings.distiller != "rules" or os.environ.get(ACTIVE):
        return
    try:
        with open_app(settings, create=False) as app:
            estimate = app.learn.estimated()
    except HowcomeError:  # nothing is stored: there is nothing to reckon with
        return
    chosen = _chosen(settings)
    say(*(_lines(estimate, settings) if estimate.sessions else ()))
    if not estimate.sessions or not chosen or not _can_be_asked(chosen):
        return
    caps = {"llm_daily_calls": DAILY_CALLS, "llm_daily_tokens": DAILY_TOKENS}
    unset = {name: most for name, most in caps.items() if not getattr(settings, name)}
    wanted = {**unset, "llm": chosen, "distiller": "llm"}
    try:
        calls = settings.llm_daily_calls or DAILY_CALLS
        confirm(f"Let {chosen} do that, {calls} calls a day at most", yes=False, err=False)
    except (click.Abort, UsageError):
        later = (f"howcome config set {name} {value}" for name, value in wanted.items())
        say(f"No model is asked. Later: {'; '.join(later)}")
        return
    from howcome.cli.config import write_settings  # without its package `init` connects all the same

    write_settings(wanted)
    say("It is asked in the background from the next session on, or now: howcome distil; howcome spending shows all.")


def _can_be_asked(chosen: str) -> bool:
    """Whether a provider has all that it needs; if not, what is missing is said, and nobody is asked to turn it on."""
    from howcome.providers.llm import open_adapter

    try:
        return open_adapter(read_settings({**os.environ, "HOWCOME_LLM": chosen})) is not None
    except ProviderError as error:
        say(f"  It cannot be asked yet: {error}")
        return False


def _chosen(settings: Settings) -> str:
    """The provider that could be turned on with one word; '' when there is none."""
    if settings.llm != "off":
        return settings.llm
    return "claude" if shutil.which(settings.llm_command) else ""


def _lines(estimate: Estimate, settings: Settings) -> list[str]:
    sessions, calls = counted(estimate.sessions, "session"), counted(estimate.calls, "call")
    each = (estimate.tokens_in + estimate.tokens_out) // max(1, estimate.calls)
    is_claude = _chosen(settings) == "claude"
    named = settings.llm_model or ("the claude program" if is_claude else "")
    known = {"", *(name for name, _, _ in PRICES)}
    own = [] if named in known else [(named, "your subscription's quota" if is_claude else "its own price")]
    read, written = estimate.tokens_in / 1e6, estimate.tokens_out / 1e6
    costs = [*own, *((name, f"${read * price_in + written * price_out:,.2f}") for name, price_in, price_out in PRICES)]
    once = f"some {estimate.tokens_in:,} tokens to read and {estimate.tokens_out:,} to write"
    return [
        "",
        "A language model notes more of what sessions taught. It is sent what was said in them; found secrets are not.",
        f"  {sessions}, {calls}: {once}, once; then {each:,} a session",
        *(f"  {name:<22} {cost}" for name, cost in [*costs, ("one on this machine", "no money")]),
        "  To choose one: howcome config set llm http (or anthropic, claude, command); `man howcome` has its settings.",
    ]


def announce_others(chosen: Collection[str], *, err: bool) -> None:
    """Say which agents are here and stay as they are."""
    connected = {*chosen, *(owner.agent for owner in lifecycle.recorded_owners())}
    if others := [one.title for one in clients() if one.wiring.is_here() and one.name not in connected]:
        echo(f"  {'not connected':<17} {', '.join(others)}: howcome init --agent all", err=err)

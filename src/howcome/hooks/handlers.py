"""What hook events are answered: handlers for all agents, the same through every door (process, socket, MCP tool).

Which of them answers an agent's event, and how its answer looks, is said by the agent's object (`clients/`).
"""

from __future__ import annotations

import os
import time

from howcome.clients import hook
from howcome.clients.hook import is_command, text_of
from howcome.clients.projects import branch_of, own_settings, project_root
from howcome.clients.registry import DEFAULT, client_of
from howcome.domain.text import tokens
from howcome.domain.verdicts import AGENT, BRIEFING, MANIFEST, PROMPT
from howcome.settings import BITES, OFF, narrowed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from howcome.app import App
    from howcome.clients.base import Client
    from howcome.clients.hook import Payload
    from howcome.domain.stored import Reminder
    from howcome.domain.verdicts import Verdict
    from howcome.present.shared_embedder import SharedEmbedder
    from howcome.settings import Settings

    Handler = Callable[["Asked"], "Reply"]

MIN_PROMPT_CHARS = 4
COMPACTED, RESUMED = "compact", "resume"
MANIFEST_TOKENS, SUMMARISER_TOKENS, AGENT_TOKENS = 650, 250, 250
"""Of a manifest. The summariser has the window itself; and a client that compacts because somebody said so shows what
it was told in the new window, too: both together stay below 1,000. A subagent is told what holds whatever it does."""

BRIEFING_SHARE = 0.5
"""Of its time a session's begin spends so much on what was not read yet, at most: the briefing needs the rest."""

NEW_WINDOWS = ("", "startup", "new", "clear")
"""How a session begins whose window holds nothing yet; an agent that does not say so begins one."""

MEET_S = 0.3
"""How long git may be asked for the first commits of a repository that is new here, when a session begins."""


class Reply:
    """What is said to an agent, and what has to be remembered once it is said.

    A door that cannot be sure that its words arrive calls `record` only when they have; `close` always. `briefing` is
    what is said before it, for reasons of its own.
    """

    __slots__ = ("_hook", "_session", "app", "briefing", "context", "said", "text", "verdict")

    def __init__(
        self, context: str = "", app: App | None = None, session: str = "", said: Sequence[Reminder] = (),
        hook: str = PROMPT, verdict: Verdict | None = None,
    ) -> None:  # fmt: skip
        self.context, self.text, self.verdict = context, "", verdict
        self.briefing: Reply | None = None
        self.app, self._session, self.said, self._hook = app, session, list(said), hook

    def record(self) -> None:
        """Remembers what was said, so that the session is not told twice; and what was not, with the reasons."""
        if self.briefing is not None:
            self.briefing.record()
        if self.app is not None and self.verdict is not None:
            self.app.search.record_said(self._session, self._hook, self.said, self.verdict, tokens(self.context))

    def close(self) -> None:
        """Gives the store back. A process that ends anyway need not: closing costs a prompt 1 ms."""
        if self.app is not None:
            self.app.close()


class Asked:
    """One event as a handler sees it: whose, its common fields, the settings, until when, the process's embedder."""

    __slots__ = ("client", "deadline", "embedder", "payload", "settings")

    def __init__(
        self, client: Client, payload: Payload, settings: Settings, deadline: float,
        embedder: SharedEmbedder | None = None,
    ) -> None:  # fmt: skip
        self.client, self.payload, self.settings = client, payload, settings
        self.deadline, self.embedder = deadline, embedder

    def text(self, name: str) -> str:
        """A field of the payload that is a text; '' for any other."""
        return text_of(self.payload, name)


def answer(
    event: str, payload: Payload, settings: Settings, deadline: float, agent: str = DEFAULT,
    embedder: SharedEmbedder | None = None,
) -> str:  # fmt: skip
    """What an event is answered, recorded as said; '' for nothing.

    Args:
        event: The agent's name for it; one that nobody handles is answered with nothing.
        payload: What the agent sent with it.
        settings: Of this run.
        deadline: `time.monotonic()` by which the answer is wanted.
        agent: Who asks, by the name of its client.
        embedder: The process's, where there is one that lives on; a prompt is answered by words alone without it.
    """
    reply = prepare(event, payload, settings, deadline, agent, embedder)
    reply.record()
    return reply.text


def prepare(
    event: str, payload: Payload, settings: Settings, deadline: float, agent: str = DEFAULT,
    embedder: SharedEmbedder | None = None,
) -> Reply:  # fmt: skip
    """As `answer`, but nothing is recorded yet, and the store is still open."""
    client = client_of(agent)
    served = client.hooks.get(event) if client else None
    heard = client.heard(event, payload) if client and served else None
    if client is None or served is None or heard is None:
        return Reply()
    cwd = text_of(heard, "cwd")
    is_excluded = bool(settings.exclude) and _is_excluded(cwd, settings)
    if is_excluded and served.handler in (hook.RECALL, hook.FIRST_RECALL):  # nor is noted what was asked
        return Reply()
    settings = narrowed(settings, None if is_excluded else own_settings(project_root(cwd)))
    reply = HANDLERS[served.handler](Asked(client, heard, settings, deadline, embedder))
    parts = (one.context for one in (reply.briefing, reply) if one is not None and one.context)
    reply.text = served.shape(event, "\n".join(parts))
    return reply


def _is_excluded(cwd: str, settings: Settings) -> bool:
    from howcome.ingest.exclusion import Places

    return Places(settings.exclude).is_named(cwd)


def recall(asked: Asked) -> Reply:
    """A prompt is typed: what earlier sessions say about this prompt, or nothing."""
    prompt = asked.text("prompt").strip()
    if asked.text("agent_id"):  # a subagent's task, under its parent's session: nobody typed it
        return Reply()
    if len(prompt) < MIN_PROMPT_CHARS or prompt.startswith(("<task-notification>", "<command-")) or is_command(prompt):
        return Reply()
    from howcome.app import now_ms, open_for_recall
    from howcome.clients.registry import is_clients
    from howcome.hooks.context import render_bites, render_context
    from howcome.hooks.held import held

    settings, embedder = asked.settings, asked.embedder
    app = open_for_recall(settings, asked.deadline, None if embedder is None else embedder.for_prompts(settings))
    if app is None:
        return Reply()
    session, path, history = asked.text("session_id"), asked.text("transcript_path"), asked.client.history

    def recent() -> str:
        is_read = history is not None and is_clients(path, settings.transcript_folders, asked.client.name)
        return history.recent_text(path) if history and is_read else ""

    known = held(asked.client, asked.payload)
    verdict = app.search.judged(prompt, cwd=asked.text("cwd"), session=session, recent=recent, is_held=known)
    found, is_brief = verdict.said, settings.inject == BITES
    context, said = render_bites(found, now_ms()) if is_brief else render_context(found, settings.recall_chars)
    return Reply(context if said else "", app, session, said, verdict=verdict)


def first_recall(asked: Asked) -> Reply:
    """As `recall`, with the briefing before a session's first prompt: for an agent whose sessions begin without one."""
    reply, settings, session = recall(asked), asked.settings, asked.text("session_id")
    if settings.inject == OFF or settings.briefing_tokens <= 0 or asked.text("agent_id"):
        return reply
    app = reply.app or _open(asked)
    if app is None:
        return reply
    context, told = _first_briefing(app, asked)
    reply.app = app
    if context:
        reply.briefing = Reply(context, app, session, told, BRIEFING, app.search.begun(asked.text("cwd")))
    return reply


def _first_briefing(app: App, asked: Asked) -> tuple[str, list[Reminder]]:
    """The briefing of a session that was told nothing yet; nothing for one that goes on."""
    from howcome.hooks.context import render_briefing
    from howcome.hooks.held import held

    session, cwd, limit = asked.text("session_id"), asked.text("cwd"), asked.settings.briefing_tokens
    if app.search.verdicts(session=session) or app.events.is_session(session):
        return "", []
    briefing = app.search.briefing(cwd, is_held=held(asked.client, asked.payload))
    return render_briefing(briefing.lines(branch_of(cwd), limit))


def about_to(asked: Asked) -> Reply:
    """A tool is about to run: the command that works instead, or what is known of the file, or nothing."""
    app, session, cwd = _open(asked), asked.text("session_id"), asked.text("cwd")
    command, path = _given(asked, "command"), _given(asked, "file_path")
    if app is None:
        return Reply()
    if command:
        mended = app.search.before_run(command, cwd=cwd, session=session)
        return _reminding(asked, app, mended.reminder if mended is not None else None)
    return _reminding(asked, app, app.search.before_edit(path, cwd=cwd, session=session) if path else None)


def failed(asked: Asked) -> Reply:
    """A command failed: what worked in its place before, or that it fails over and over; mostly nothing."""
    app, command, error = _open(asked), _given(asked, "command"), asked.text("error")
    if app is None or not command or asked.payload.get("is_interrupt") is True:
        return Reply("", app)
    session = asked.text("session_id")
    found = app.search.after_failure(command, error, cwd=asked.text("cwd"), session=session)
    if found is not None:
        return _reminding(asked, app, found.reminder)
    from howcome.clients.registry import is_clients
    from howcome.hooks.context import render_notice
    from howcome.recall.acting import spinning

    path, history = asked.text("transcript_path"), asked.client.history
    is_read = history is not None and is_clients(path, asked.settings.transcript_folders, asked.client.name)
    calls = history.recent_calls(path) if history and is_read else []
    before = (call for call in calls if call.id != asked.text("tool_use_id"))
    return Reply(render_notice(spinning(command, error, before)), app)


def _open(asked: Asked) -> App | None:
    from howcome.app import open_for_recall

    return None if asked.settings.inject == OFF else open_for_recall(asked.settings, asked.deadline)


def _reminding(asked: Asked, app: App, found: Reminder | None) -> Reply:
    if found is None:
        return Reply("", app)
    from howcome.hooks.context import render_reminder
    from howcome.hooks.held import held

    is_held = found.memory is not None and held(asked.client, asked.payload)(found.memory.text)
    context, said = ("", []) if is_held else render_reminder(found)
    verdict = app.search.begun(asked.text("cwd"))
    return Reply(context, app, asked.text("session_id"), said, asked.text("hook_event_name"), verdict)


def _given(asked: Asked, name: str) -> str:
    """What a tool was called with: in the object that a command is handed, or, through the server, beside the rest."""
    values = asked.payload.get("tool_input")
    return text_of(values if isinstance(values, dict) else asked.payload, name)


def capture(asked: Asked) -> Reply:
    """A turn or a session ends: what this session's transcripts hold that the store does not."""
    from howcome.app import open_for_ingest

    paths = [path for name in ("transcript_path", "agent_transcript_path") if (path := asked.text(name))]
    with open_for_ingest(asked.settings) as app:
        end = asked.deadline - 0.1 * (asked.deadline - time.monotonic())
        _note_refused(app, asked, app.ingest.session(paths, end))
    return Reply()


def end_turn(asked: Asked) -> Reply:
    """A turn ends: what this session's transcripts hold that the store does not; and its receipt, if that is wanted."""
    reply = capture(asked)
    if not asked.settings.receipt_line:
        return reply
    from howcome.app import open_for_recall
    from howcome.hooks.context import receipt_line

    app = open_for_recall(asked.settings, asked.deadline)
    if app is None:
        return reply
    session = asked.text("session_id")
    return Reply(receipt_line(app.search.verdicts(session=session), app.search.last_prompt_ms(session)), app)


def _note_refused(app: App, asked: Asked, refused: int) -> None:
    """A path that was not read is said by `doctor`; the path itself is whoever's words, and is not kept."""
    if refused:
        from howcome.present.guarded import REFUSED, note

        note(app.settings.home, f"{asked.text('hook_event_name')[:40]} {REFUSED}")


def catch_up(asked: Asked, share: float = 1.0) -> Reply:
    """A session begins: every transcript with unread bytes (kills, crashes, history from before the install).

    A repository that is new here is looked at once: it may be a known one that was moved. It takes a share of the time.
    """
    from howcome.app import open_for_ingest

    with open_for_ingest(asked.settings) as app:
        end = time.monotonic() + share * (_with_time_to_index(asked) - time.monotonic())
        limit_s = min(MEET_S, (end - time.monotonic()) / 4)
        app.projects.meet(asked.text("cwd"), limit_s)
        app.ingest.spool(end)
        _note_refused(app, asked, app.ingest.session([asked.text("transcript_path")], end, and_others=True))
        app.health.back_up_memories()
    return Reply()


def begin(asked: Asked) -> Reply:
    """A session begins: as `catch_up`, then what earlier sessions left behind, where the window is new.

    After a compaction, what its summary loses; when it is resumed, what others did since then.
    """
    settings, source = asked.settings, asked.text("source")
    is_briefed = source in (*NEW_WINDOWS, RESUMED) and settings.inject != OFF and settings.briefing_tokens > 0
    catch_up(asked, BRIEFING_SHARE if is_briefed else 1.0)
    if source == COMPACTED:
        return _manifest(asked, is_new=True)
    if not is_briefed:
        return Reply()
    from howcome.hooks.context import render_briefing
    from howcome.hooks.held import held

    app = _open(asked)
    if app is None:
        return Reply()
    cwd, session, limit = asked.text("cwd"), asked.text("session_id"), settings.briefing_tokens
    briefing = app.search.briefing(cwd, is_held=held(asked.client, asked.payload))
    lines = briefing.since(session, limit) if source == RESUMED else briefing.lines(branch_of(cwd), limit)
    context, said = render_briefing(lines)
    return Reply(context, app, session, said, BRIEFING, app.search.begun(cwd))


def begin_agent(asked: Asked) -> Reply:
    """A subagent begins: what holds whatever it does, for hooks are not told its task."""
    limit, cwd = min(AGENT_TOKENS, asked.settings.briefing_tokens), asked.text("cwd")
    app = _open(asked) if limit and asked.text("agent_type") else None  # the client's own helpers have no type
    if app is None:
        return Reply()
    from howcome.hooks.context import render_briefing

    context, _ = render_briefing(app.search.briefing(cwd).holding(limit))
    return Reply(context, app, asked.text("session_id"), (), AGENT, app.search.begun(cwd))  # the session was not told


def flush(asked: Asked) -> Reply:
    """A window is about to be compacted: what it holds into the store, and what was active to the summariser."""
    capture(asked)
    return _manifest(asked, is_new=False)


def _manifest(asked: Asked, *, is_new: bool) -> Reply:
    """What the summary of a compacted window loses; a window that is new may be told again what the old one was."""
    from howcome.hooks.context import render_manifest

    app = _open(asked)
    if app is None:
        return Reply()
    session, limit_tokens = asked.text("session_id"), MANIFEST_TOKENS if is_new else SUMMARISER_TOKENS
    if is_new:
        app.search.forget_said(session)
    context = render_manifest(app.learn.manifest(session, limit_tokens))
    return Reply(context, app, session, (), MANIFEST, app.search.begun(asked.text("cwd")))


def _with_time_to_index(asked: Asked) -> float:
    return asked.deadline - 0.2 * (asked.deadline - time.monotonic())


def capture_or_catch_up(asked: Asked) -> Reply:
    """A turn or a session ends: what its transcript holds; where none is named, every transcript with unread bytes."""
    return (capture if os.path.isfile(asked.text("transcript_path")) else catch_up)(asked)


def observe(asked: Asked) -> Reply:
    """An agent without transcripts says something: what it says, into the spool; redacted, the store stays closed."""
    from howcome.ingest.spool import take_in

    if what := asked.client.observation(asked.payload):
        take_in(asked.settings, [(1, {"agent": asked.client.name, "ts": time.time_ns() // 1_000_000, **what})])
    return Reply()


def take_spool(asked: Asked) -> Reply:
    """A turn or a session of such an agent ends: what was observed, into the store."""
    from howcome.app import open_for_ingest

    with open_for_ingest(asked.settings) as app:
        end = _with_time_to_index(asked)
        app.ingest.spool(end)
        app.index.catch_up(end)
    return Reply()


HANDLERS: dict[str, Handler] = {
    hook.RECALL: recall, hook.FIRST_RECALL: first_recall, hook.CAPTURE: capture, hook.CATCH_UP: begin,
    hook.MEET: catch_up, hook.CAPTURE_OR_CATCH_UP: capture_or_catch_up, hook.OBSERVE: observe, hook.FAILED: failed,
    hook.TAKE_SPOOL: take_spool, hook.ABOUT_TO: about_to, hook.END_TURN: end_turn, hook.BEGIN_AGENT: begin_agent,
    hook.FLUSH: flush,
}  # fmt: skip
"""Handlers by the names that rows of hooks have for them."""

"""What a hook event is answered: one function an event, the same through every door (process, socket, MCP tool)."""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from howcome.app import App
    from howcome.domain.stored import Reminder
    from howcome.present.shared_embedder import SharedEmbedder
    from howcome.settings import Settings

    Payload = Mapping[str, object]
    Handler = Callable[[Payload, Settings, float], "Reply"]

CLAUDE_CODE = "claude-code"
MIN_PROMPT_CHARS = 4
MEET_S = 0.3
"""How long git may be asked for the first commits of a repository that is new here, when a session begins."""


class Reply:
    """What is said to an agent, and what has to be remembered once it is said.

    A door that cannot be sure that its words arrive calls `record` only when they have; `close` always.
    """

    __slots__ = ("_app", "_said", "_session", "context", "text")

    def __init__(
        self, context: str = "", app: App | None = None, session: str = "", said: Sequence[Reminder] = ()
    ) -> None:
        self.context, self.text = context, ""
        self._app, self._session, self._said = app, session, list(said)

    def record(self) -> None:
        """Remembers what was said, so that the session is not told twice."""
        if self._app is not None and self._said:
            self._app.search.record_said(self._session, "UserPromptSubmit", self._said)

    def close(self) -> None:
        """Gives the store back. A process that ends anyway need not: closing costs a prompt 1 ms."""
        if self._app is not None:
            self._app.close()


def answer(
    event: str, payload: Payload, settings: Settings, deadline: float, agent: str = CLAUDE_CODE,
    embedder: SharedEmbedder | None = None,
) -> str:  # fmt: skip
    """What an event is answered, recorded as said; '' for nothing.

    Args:
        event: The agent's name for it; one that nobody handles is answered with nothing.
        payload: What the agent sent with it.
        settings: Of this run.
        deadline: `time.monotonic()` by which the answer is wanted.
        agent: Who asks: `claude-code`, or a key of `hook_dialects.DIALECTS`.
        embedder: The process's, where there is one that lives on; a prompt is answered by words alone without it.
    """
    reply = prepare(event, payload, settings, deadline, agent, embedder)
    reply.record()
    return reply.text


def prepare(
    event: str, payload: Payload, settings: Settings, deadline: float, agent: str = CLAUDE_CODE,
    embedder: SharedEmbedder | None = None,
) -> Reply:  # fmt: skip
    """As `answer`, but nothing is recorded yet, and the store is still open."""
    if agent != CLAUDE_CODE:
        from howcome.present.hook_dialects import prepare_foreign

        return prepare_foreign(event, payload, settings, deadline, agent, embedder)
    if event not in HANDLERS or payload.get("hook_event_name") != event or is_from_cursor(payload):
        return Reply()
    reply = handled(HANDLERS[event][0], payload, settings, deadline, embedder)
    if reply.context:
        reply.text = as_json({"hookSpecificOutput": {"hookEventName": event, "additionalContext": reply.context}})
    return reply


def handled(
    handler: Handler, payload: Payload, settings: Settings, deadline: float, embedder: SharedEmbedder | None
) -> Reply:
    """What a handler replies; of all of them only recall has a use for an embedder."""
    if handler is recall:
        return recall(payload, settings, deadline, embedder)
    return handler(payload, settings, deadline)


def deadline_setting(event: str, agent: str = CLAUDE_CODE) -> str:
    """The setting that bounds the answer to an event; '' for an event that nobody handles."""
    if agent == CLAUDE_CODE:
        return HANDLERS[event][1] if event in HANDLERS else ""
    from howcome.present.hook_dialects import DIALECTS

    row = DIALECTS.get(agent, {}).get(event)
    return row.deadline_setting if row else ""


def as_json(answer: Mapping[str, object]) -> str:
    """An answer as agents read it."""
    import json

    return json.dumps(answer, ensure_ascii=False)


def is_from_cursor(payload: Payload) -> bool:
    """Whether Cursor sent it: it can run the hooks in Claude Code's settings too, with payloads of its own."""
    return "cursor_version" in payload or "conversation_id" in payload


def text_of(payload: Payload, name: str) -> str:
    """A field of a payload that is a text; '' for any other."""
    value = payload.get(name)
    return value if isinstance(value, str) else ""


def recall(payload: Payload, settings: Settings, deadline: float, embedder: SharedEmbedder | None = None) -> Reply:
    """UserPromptSubmit: what earlier sessions say about this prompt, or nothing."""
    prompt = text_of(payload, "prompt").strip()
    if len(prompt) < MIN_PROMPT_CHARS or prompt.startswith(("<task-notification>", "<command-")) or _is_command(prompt):
        return Reply()
    from howcome.app import open_for_recall
    from howcome.clients.claude_code_tail import recent_text
    from howcome.clients.roots import is_clients
    from howcome.present.context import render_context

    app = open_for_recall(settings, deadline, None if embedder is None else embedder.for_prompts(settings))
    if app is None:
        return Reply()
    session, path = text_of(payload, "session_id"), text_of(payload, "transcript_path")

    def recent() -> str:
        return recent_text(path) if is_clients(path, settings.transcript_folders) else ""

    found = app.search.recall(prompt, cwd=text_of(payload, "cwd"), session=session, recent=recent)
    context, said = render_context(found, settings.recall_chars)
    return Reply(context if said else "", app, session, said)


def _is_command(prompt: str) -> bool:
    """Whether a prompt is a slash command (`/review`, `/plugin:name arguments`) and not a path."""
    first = prompt.split(None, 1)[0]
    return first.startswith("/") and not set(first[1:]) & set("/.~")


def capture(payload: Payload, settings: Settings, deadline: float) -> Reply:
    """Stop, SubagentStop, PreCompact, SessionEnd: what this session's transcripts hold that the store does not."""
    from howcome.app import open_for_ingest

    paths = [path for name in ("transcript_path", "agent_transcript_path") if (path := text_of(payload, name))]
    with open_for_ingest(settings) as app:
        _note_refused(app, payload, app.ingest.session(paths, deadline - 0.1 * (deadline - time.monotonic())))
    return Reply()


def _note_refused(app: App, payload: Payload, refused: int) -> None:
    """A path that was not read is said by `doctor`; the path itself is whoever's words, and is not kept."""
    if refused:
        from howcome.present.hooks import REFUSED, note

        note(app.settings.home, f"{text_of(payload, 'hook_event_name')[:40]} {REFUSED}")


def catch_up(payload: Payload, settings: Settings, deadline: float) -> Reply:
    """SessionStart: every transcript with unread bytes (kills, crashes, history from before the install).

    A repository in which there was no session yet is looked at once: it may be a known one that was moved.
    """
    from howcome.app import open_for_ingest

    with open_for_ingest(settings) as app:
        end = deadline - 0.2 * (deadline - time.monotonic())
        limit_s = min(MEET_S, (end - time.monotonic()) / 4)
        app.projects.meet(text_of(payload, "cwd"), limit_s)
        app.ingest.spool(end)
        _note_refused(app, payload, app.ingest.session([text_of(payload, "transcript_path")], end, and_others=True))
        app.health.back_up_memories()
    return Reply()


HANDLERS: dict[str, tuple[Handler, str]] = {
    "UserPromptSubmit": (recall, "prompt_deadline_ms"),
    "SessionStart": (catch_up, "start_deadline_ms"),
    "SessionEnd": (capture, "start_deadline_ms"),
    "PreCompact": (capture, "ingest_deadline_ms"),
    "Stop": (capture, "ingest_deadline_ms"),
    "SubagentStop": (capture, "ingest_deadline_ms"),
}
"""Claude Code's event → what answers it, and the setting that bounds it."""

"""The tools of the MCP server, as a table: name, when to use it, arguments, what runs.

Every argument is checked here, once: a wrong one is answered with what a right one looks like.
"""

from __future__ import annotations

from howcome.clients.decode import clean_text
from howcome.domain import memories
from howcome.errors import UsageError
from howcome.present.mcp_reading import (
    KINDS,
    expand_memory,
    get_context,
    get_memories,
    get_timeline,
    memory_status,
    replay_session,
    search_memory,
)
from howcome.present.mcp_tidying import list_stale
from howcome.present.mcp_writing import forget, remember, update_memory
from howcome.retrieve.question import TYPES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from howcome.present.mcp_session import Session

MAX_TEXT_CHARS = 20_000


class Parameter:
    """One argument: its JSON type (`string`, `integer`, `boolean`, `strings`, `query`), and what it is for."""

    __slots__ = ("choices", "help", "high", "is_required", "kind", "low", "name")

    def __init__(
        self, name: str, kind: str, help_text: str, *, is_required: bool = False, low: int = 0, high: int = 1_000_000,
        choices: tuple[str, ...] = (),
    ) -> None:  # fmt: skip
        self.name, self.kind, self.help, self.is_required = name, kind, help_text, is_required
        self.low, self.high, self.choices = low, high, choices

    def schema(self) -> dict[str, object]:
        """As JSON Schema."""
        item: dict[str, object] = {"type": "string", "enum": list(self.choices)} if self.choices else {"type": "string"}
        shapes: dict[str, dict[str, object]] = {
            "string": item,
            "strings": {"type": "array", "items": item},
            "query": {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]},
            "integer": {"type": "integer", "minimum": self.low, "maximum": self.high},
            "boolean": {"type": "boolean"},
        }
        return shapes[self.kind] | {"description": self.help}

    def check(self, value: object) -> object:
        """A usable value.

        Raises:
            UsageError: it is none; the message says what one looks like.
        """
        if self.kind == "integer":
            return self._whole_number(value)
        if self.kind == "boolean":
            if value in (True, "true"):
                return True
            if value in (False, "false"):
                return False
            raise UsageError(f"{self.name}: expected true or false")
        if self.kind == "string":
            return self._word(value)
        if self.kind == "query" and isinstance(value, str):
            return self._word(value)
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not 1 <= len(values) <= max(self.high, 1):
            what = "a text or a list of texts" if self.kind == "query" else "a list of texts"
            raise UsageError(f"{self.name}: expected {what}, 1 to {self.high} of them")
        return [self._word(item) for item in values]

    def _whole_number(self, value: object) -> int:
        if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
            value = int(value)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise UsageError(f"{self.name}: expected a whole number")
        if not self.low <= value <= self.high:
            raise UsageError(f"{self.name}: expected {self.low} to {self.high}, not {value}")
        return value

    def _word(self, value: object) -> str:
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{self.name}: expected a text that is not empty")
        if len(value) > MAX_TEXT_CHARS:
            raise UsageError(f"{self.name}: at most {MAX_TEXT_CHARS} characters")
        value = clean_text(value)
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name}: {value[:60]!r} is not one of {', '.join(self.choices)}")
        return value


class Tool:
    """One tool; `run(session, arguments)` gives its text."""

    __slots__ = ("description", "is_loaded", "is_read_only", "name", "parameters", "run", "title")

    def __init__(
        self, name: str, title: str, description: str, run: Callable[[Session, Arguments], str],
        parameters: tuple[Parameter, ...], *, is_read_only: bool = True, is_loaded: bool = False,
    ) -> None:  # fmt: skip
        self.name, self.title, self.description, self.run, self.parameters = name, title, description, run, parameters
        self.is_read_only, self.is_loaded = is_read_only, is_loaded

    def listing(self) -> dict[str, object]:
        """As the protocol lists it."""
        listed: dict[str, object] = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": {
                "type": "object",
                "properties": {parameter.name: parameter.schema() for parameter in self.parameters},
                "required": [parameter.name for parameter in self.parameters if parameter.is_required],
                "additionalProperties": False,
            },
            "annotations": {
                "title": self.title, "readOnlyHint": self.is_read_only, "destructiveHint": False,
                "idempotentHint": True, "openWorldHint": False,
            },
        }  # fmt: skip
        if self.is_loaded:  # the client defers tools: it lists their names and loads them when the model asks
            listed["_meta"] = {"anthropic/alwaysLoad": True}
        return listed


class Arguments:
    """The checked arguments of one call.

    Raises:
        UsageError: something is missing, unknown or wrong.
    """

    def __init__(self, tool: Tool, given: object) -> None:
        if not isinstance(given, dict):
            raise UsageError("arguments: expected an object")
        known = {parameter.name: parameter for parameter in tool.parameters}
        unknown = [str(name)[:60] for name in given if name not in known]
        if unknown:
            raise UsageError(f"{tool.name} has no argument {unknown[0]!r}; it takes {', '.join(known) or 'none'}")
        self._values = {name: known[name].check(value) for name, value in given.items() if value is not None}
        missing = [name for name, parameter in known.items() if parameter.is_required and name not in self._values]
        if missing:
            raise UsageError(f"{tool.name} needs {missing[0]!r}: {known[missing[0]].help}")

    def text(self, name: str) -> str | None:
        """A text, or None when it was not given."""
        value = self._values.get(name)
        return value if isinstance(value, str) else None

    def texts(self, name: str) -> list[str]:
        """A list of texts; a single one counts as a list of one."""
        value = self._values.get(name, [])
        return [value] if isinstance(value, str) else list(value) if isinstance(value, list) else []

    def number(self, name: str, default: int) -> int:
        """A whole number."""
        value = self._values.get(name, default)
        return value if isinstance(value, int) else default

    def flag(self, name: str) -> bool:
        """True or (when it was not given) False."""
        return self._values.get(name) is True


_ID = Parameter("id", "string", "Id of an event (ev-…) or a memory (mem-…); any unique beginning.", is_required=True)
_WHOLE_ID = Parameter("id", "string", "The memory: its whole id (mem-…).", is_required=True)
_AGENT_ID = Parameter("agent_id", "string", "Your own agent id, if you use one: it owns the memory.")
_FULL = Parameter("full", "boolean", "Whole texts instead of one line an event (many tokens).")
_OFFSET = Parameter("offset", "integer", "Go on after so many events (an earlier answer says when).")
_TYPE = Parameter("type", "string", "What kind of memory it is.", choices=memories.TYPES)

_ALL = (
    Tool(
        "search_memory", "Search memory",
        "Search everything that earlier sessions of this project said and did, and what was kept on purpose. Use it"
        " before deciding, when something fails, or when the past is mentioned. Returns one line a hit with its id and"
        " what its full text costs; then get_context or get_memories for the few that matter. A list of texts finds"
        " only where ALL of them occur.",
        search_memory,
        (
            Parameter("query", "query", "A question or words; or a list of concepts that must all match.",
                      is_required=True, high=8),
            Parameter("limit", "integer", "At most so many hits (default 10).", low=1, high=100),
            Parameter("type", "strings", "Only these kinds of events or types of memories.", choices=TYPES, high=10),
            Parameter("session", "string", "Only this session, of any project (beginning of its id)."),
            Parameter("since", "string", "Not older than this: 2026-10-01, 2026-10-01T12:00Z, or 7d, 12h, 3w ago."),
            Parameter("before", "string", "Older than this (same forms)."),
            Parameter("project", "string", "Another project's folder or name, or 'all'. Default: this project."),
            Parameter("agent", "string", "Only this client's sessions (codex, …), or this owner's memories."),
        ), is_loaded=True,
    ),
    Tool(
        "get_memories", "Read memories in full",
        "The full text of chosen ids from search_memory or from an injected block (ev-… events, mem-… memories). Use it"
        " for the few that a search showed to matter.",
        get_memories,
        (
            Parameter("ids", "strings", "Ids; any unique beginning.", is_required=True, high=20),
            Parameter("offset", "integer", "With one id: go on after so many characters of its text."),
        ), is_loaded=True,
    ),
    Tool(
        "get_context", "What came before and after",
        "The events around one event of its session, one line each: what led to it and what came of it.",
        get_context,
        (
            _ID,
            Parameter("before", "integer", "Events before it (default 6).", high=200),
            Parameter("after", "integer", "Events after it (default 6).", high=200),
            _FULL,
        ),
    ),
    Tool(
        "replay_session", "Unwind a session",
        "Everything from the start of a session up to an event, in order: how it got there. Use it to reconstruct the"
        " reasons for a decision.",
        replay_session,
        (
            Parameter("id", "string", "The event (ev-…) to replay up to, or a session id for all of it.",
                      is_required=True),
            _FULL, _OFFSET,
            Parameter("limit", "integer", "At most so many events (default 200).", low=1, high=1000),
        ),
    ),
    Tool(
        "get_timeline", "Sessions and what happened in them",
        "Without a session: the latest sessions of this project, each with its first prompt. With one: its events in"
        " order, one line each.",
        get_timeline,
        (
            Parameter("session", "string", "A session (beginning of its id)."),
            Parameter("type", "strings", "Only these kinds of events.", choices=KINDS, high=6),
            Parameter("limit", "integer", "At most so many lines (default 100; 20 sessions).", low=1, high=1000),
            _OFFSET,
            Parameter("project", "string", "Another project's folder or name, or 'all'."),
        ),
    ),
    Tool(
        "expand_memory", "Open an id with its exchange",
        "One id with everything around it: an event's whole exchange (the prompt, the answers, what was done), or a"
        " memory with what it superseded and the events that bear it out. Use it for an id from an injected block.",
        expand_memory, (_ID,),
    ),
    Tool(
        "remember", "Keep a memory",
        "Keep one thing that later sessions should know, with its reason: a decision, a failure and its fix, a"
        " convention, a dependency, a fact about the setting, a discovery. Not what the code or git history says.",
        remember,
        (
            Parameter("text", "string", "One thing, shortly, with its why.", is_required=True),
            _TYPE,
            Parameter("scope", "string", "project (default) or global: true in every project.",
                      choices=("project", "global")),
            Parameter("evidence", "strings", "Ids of events (ev-…) that bear it out.", high=memories.MAX_EVIDENCE),
            _AGENT_ID,
        ), is_read_only=False,
    ),
    Tool(
        "update_memory", "Correct a memory",
        "Correct a memory (mem-…) that is no longer true: the new text supersedes it and the old one stays in its"
        " chain; or set its status to resolved when it is done with.",
        update_memory,
        (
            _WHOLE_ID,
            Parameter("text", "string", "What is true now."),
            _TYPE,
            Parameter("status", "string", "open or resolved.", choices=memories.STATUSES),
            _AGENT_ID,
        ), is_read_only=False,
    ),
    Tool(
        "forget", "Forget a memory",
        "Take a wrong memory (mem-…) out of every search. It can be restored at the command line. For what was true"
        " once use update_memory.",
        forget,
        (_WHOLE_ID, _AGENT_ID), is_read_only=False,
    ),
    Tool(
        "list_stale", "Memories to look at again",
        "Memories of this project that have faded and that hardly anybody asked for; with contradictions, pairs that"
        " may contradict each other instead. Use it to tidy: forget or update_memory what is no longer so. Nothing is"
        " taken away by itself.",
        list_stale,
        (
            Parameter("contradictions", "boolean", "Pairs that may contradict each other instead."),
            Parameter("limit", "integer", "At most so many (default 20).", low=1, high=100),
            Parameter("project", "string", "Another project's folder or name, or 'all'."),
        ),
    ),
    Tool(
        "memory_status", "What memory holds",
        "How much is stored, of which projects and agents, and whether something is wrong.",
        memory_status, (),
    ),
)  # fmt: skip
TOOLS: Mapping[str, Tool] = {tool.name: tool for tool in _ALL}
"""Name → tool, in the order in which they are listed."""

HOOK: dict[str, object] = {
    "name": "hook",
    "title": "For the client's hooks",
    "description": "Called by the client's own hooks with an event's payload. Not for the model: it has no use for it.",
    "inputSchema": {
        "type": "object", "properties": {"hook_event_name": {"type": "string"}}, "required": ["hook_event_name"],
    },
    "annotations": {"title": "For the client's hooks", "readOnlyHint": False, "openWorldHint": False},
}  # fmt: skip
"""The one tool beside the others: the other door of the command `howcome hook`."""

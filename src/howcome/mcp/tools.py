"""The tools of the MCP server, as a table: name, when to use it, arguments, what runs."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING

from howcome.domain import memories
from howcome.mcp.arguments import Parameter
from howcome.mcp.files import get_timeline
from howcome.mcp.reading import (
    KINDS,
    expand_memory,
    get_context,
    get_memories,
    memory_status,
    replay_session,
    search_memory,
)
from howcome.mcp.tidying import list_stale
from howcome.mcp.writing import forget, remember, update_memory
from howcome.retrieve.question import TYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from howcome.mcp.arguments import Arguments
    from howcome.mcp.workplace import Workplace


@dataclass(slots=True, eq=False)
class Tool:
    """One tool; `run(workplace, arguments)` gives its text."""

    name: str
    title: str
    description: str
    run: Callable[[Workplace, Arguments], str]
    parameters: tuple[Parameter, ...]
    _: KW_ONLY
    is_read_only: bool = True
    is_loaded: bool = False

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


_ID = Parameter("id", "string", "Id of an event (ev-…) or a memory (mem-…); any unique beginning.", is_required=True)
_WHOLE_ID = Parameter("id", "string", "The memory: its whole id (mem-…).", is_required=True)
_AGENT_ID = Parameter("agent_id", "string", "Your own agent id, if you use one: it owns the memory.")
_ALSO = Parameter("also", "strings", "Folders of other repositories that it holds in, too.", high=memories.MAX_ALSO)
_AS_IS = Parameter("as_is", "boolean", "Keep the words as they are; else first person and feelings may go.")
_OF_AGENT = Parameter("agent_id", "string", "Only this agent's: a client, a subagent, or an owner of memories.")
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
            Parameter("subsystem", "string", "Only what is about this workspace package or folder (packages/api)."),
            _OF_AGENT,
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
            _OF_AGENT,
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
            _FULL, _OF_AGENT,
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
            _OF_AGENT,
        ),
    ),
    Tool(
        "get_timeline", "Sessions and what happened in them",
        "Without a session: the latest sessions of this project, each with its first prompt. With one: its events in"
        " order, one line each.",
        get_timeline,
        (
            Parameter("session", "string", "A session (beginning of its id)."),
            Parameter("file", "string", "Instead: FILE:LINE, why it is there; FILE, its edits, plans and commits."),
            Parameter("type", "strings", "Only these kinds of events.", choices=KINDS, high=6),
            Parameter("limit", "integer", "At most so many lines (default 100; 20 sessions).", low=1, high=1000),
            _OFFSET,
            Parameter("project", "string", "Another project's folder or name, or 'all'."),
            _OF_AGENT,
        ),
    ),
    Tool(
        "expand_memory", "Open an id with its exchange",
        "One id with everything around it: an event's whole exchange (the prompt, the answers, what was done), or a"
        " memory with what it superseded and the events that bear it out. Use it for an id from an injected block.",
        expand_memory, (_ID, _OF_AGENT),
    ),
    Tool(
        "remember", "Keep a memory",
        "Keep one thing that later sessions should know, with its reason: a decision, a failure and its fix, a"
        " convention, a dependency, a fact about the setting, a discovery. Not what the code or git history says. What"
        " is known already is answered with the memory that says it; fewer than 20 characters are refused.",
        remember,
        (
            Parameter("text", "string", "One thing, shortly, with its why.", is_required=True),
            _TYPE,
            Parameter("scope", "string", "project (default) or global: true in every project.",
                      choices=("project", "global")),
            Parameter("evidence", "strings", "Ids of events (ev-…) that bear it out.", high=memories.MAX_EVIDENCE),
            _ALSO, _AS_IS, _AGENT_ID,
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
            _ALSO, _AS_IS, _AGENT_ID,
        ), is_read_only=False,
    ),
    Tool(
        "forget", "Forget a memory",
        "Take a wrong memory (mem-…) out of every search; with never_again nothing that says the same is learnt from a"
        " session again. It can be restored at the command line. For what was true once use update_memory.",
        forget,
        (
            _WHOLE_ID,
            Parameter("never_again", "boolean", "It is wrong: it is not learnt again either, in whatever words."),
            _AGENT_ID,
        ), is_read_only=False,
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
            _OF_AGENT,
        ),
    ),
    Tool(
        "memory_status", "What memory holds",
        "How much is stored, of which projects and agents, and whether something is wrong.",
        memory_status, (_OF_AGENT,),
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

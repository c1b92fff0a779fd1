"""Every setting, read once: the environment over `config.toml` over the default.

A field is one row of FIELDS: its name gives the environment variable (`HOWCOME_` and the name in capitals) and the
key in `config.toml`. No dataclass and no toml parser unless the file is there: a hook reads this on every prompt.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from howcome.errors import SettingsError

CONFIG_NAME = "config.toml"
SOCKET_NAME = "worker.sock"
"""Where the warm process is asked: both in HOWCOME_HOME."""

ACTIVE = "HOWCOME_ACTIVE"
"""Set for every agent that howcome itself starts: no hook of it does anything, and within it no model is asked."""

_YES = frozenset(("1", "true", "yes", "on"))
_NO = frozenset(("", "0", "false", "no", "off"))


class Field:
    """One setting: its default (which also gives its type), its bounds, and what it is for."""

    __slots__ = ("choices", "default", "help", "high", "low", "name")

    def __init__(
        self,
        name: str,
        default: object,
        help_text: str,
        low: float = 0,
        high: float = 1e9,
        choices: tuple[str, ...] = (),
    ) -> None:
        self.name, self.default, self.help, self.low, self.high = name, default, help_text, low, high
        self.choices = choices

    @property
    def variable(self) -> str:
        """The environment variable."""
        return "HOWCOME_" + self.name.upper()


EMBEDDERS = ("auto", "off", "minilm", "fastembed", "http")
_EMBEDDING = "Search by meaning: `off`, `minilm`, `fastembed`, `http`; `auto`: minilm where its packages and model are."

SECOND_OPINIONS = ("off", "kingfisher")
_SECOND_OPINION = "Another scanner for secrets that looks at what `import` stores: `off`, `kingfisher`."
DISTILLERS = ("rules", "llm", "off")
_DISTILLER = "What turns sessions into memories: `rules` (no model), `llm` (a language model as well), or `off`."
_SOURCES_OFF = "Sources of memories that are not asked; `howcome distil --help` names them."
SOURCES_OFF = (
    "directions", "choices", "plans", "instructions", "answers", "findings", "failures", "edits", "commits",
    "open_ends", "client_memories",
)  # fmt: skip
"""The names of `learn/sources` and of `learn/in_step`."""

LANGUAGE_MODELS = ("off", "http", "anthropic", "claude", "command")
_LANGUAGE_MODEL = (
    "A language model, which is sent redacted text: `off`, `http` (an endpoint), `anthropic`, `claude` (the program),"
    " `command` (any program: the prompt on standard input, the answer on standard output)."
)
BITES, CONTEXT, OFF = "bites", "context", "off"
INJECT = (BITES, CONTEXT, OFF)
_LESS_FIRST: tuple[object, ...] = (OFF, BITES, CONTEXT)
_INJECT = (
    "What a prompt may get: `bites` (at most three dated sentences), `context` (whole excerpts), or `off`; in the"
    " environment for one session, in a repository's `.howcome.toml` for it (where it can only be less)."
)
FUSIONS = ("weighted", "rrf", "union", "intersection")
_FUSION = "How a search makes one order of what several ways found: `weighted`, `rrf`, `union`, `intersection`."
_WEIGHT = "What {} counts in a search whose other tiers are not sure: 0 (never asked) to 1."
_PREFIX = (
    "What `http` and `fastembed` are given before each {}: a text, `none`, or `auto` (what the model's authors say,"
    " where that is known)."
)

_STORE = (
    "Where commands keep and find what is stored: a server's database (`postgresql://user@host/name`, extra"
    " `postgres`), or (empty) the embedded store, which hooks and agents' tools always use."
)
_STORE_PASSWORD = "The environment variable that holds that server's password; empty: `~/.pgpass`."  # noqa: S105 - words

REMOVED = frozenset({"rerank", "rerank_weight", "rerank_deadline_ms", "rerank_folder"})
REMOVED_SOURCES = frozenset({"checks"})
"""What a file of an earlier version may still name: it stops nothing."""

STORE_FIELD = Field("store", "", _STORE)
FIELDS = (
    STORE_FIELD,
    Field("store_password_env", "", _STORE_PASSWORD),
    Field("disable", default=False, help_text="Hooks do nothing: no recall, no capture."),
    Field("exclude", (), "Folders whose sessions are never stored, with all below them."),
    Field("redact_personal", default=False, help_text="Addresses, phone, card and national numbers are not stored."),
    Field(
        "tool_text_days", 0, "Days for which tool calls and results stay whole, on a server too; 0: for ever.", 0, 36500
    ),
    Field("second_opinion", "off", _SECOND_OPINION, choices=SECOND_OPINIONS),
    Field("transcript_folders", (), "Folders from which hooks may read transcripts, beside the clients' own."),
    Field("inject", BITES, _INJECT, choices=INJECT),
    Field("briefing_tokens", 600, "Tokens that the briefing of a new session may have at most; 0: none.", 0, 2000),
    Field("recall_limit", 3, "Sentences, or excerpts, that a prompt may get at most.", 0, 10),
    Field("session_bites", 25, "Sentences that a session may get at most, until its window is compacted.", 0, 1000),
    Field("recall_chars", 4000, "Characters that a prompt may get at most, of excerpts.", 1000, 9000),
    Field("recall_threshold", 0.15, "Strength (0 to 1) below which a prompt gets nothing.", 0, 1),
    Field("receipt_line", default=False, help_text="A line for you after each turn that was told something."),
    Field(
        "prompt_deadline_ms", 1200, "A hook of a prompt or a tool ends by then, with or without an answer.", 50, 20000
    ),
    Field("ingest_deadline_ms", 5000, "A Stop, SubagentStop or PreCompact hook ends by then.", 50, 20000),
    Field("start_deadline_ms", 1500, "A SessionStart or SessionEnd hook ends by then.", 50, 20000),
    Field("embedding", "auto", _EMBEDDING, choices=EMBEDDERS),
    Field("embedding_model", "", "The model: its name at the endpoint, in fastembed, or in `howcome model show`."),
    Field("embedding_url", "", "The endpoint of `http`: `…/v1/embeddings` (as OpenAI's) or `…/api/embed` (Ollama's)."),
    Field("embedding_key_env", "", "The environment variable that holds the endpoint's key."),
    Field("embedding_question_prefix", "auto", _PREFIX.format("question")),
    Field("embedding_passage_prefix", "auto", _PREFIX.format("passage")),
    Field("embedding_weights", "", "A folder with weights of your own for `minilm`."),
    Field("distiller", "rules", _DISTILLER, choices=DISTILLERS),
    Field("sources_off", (), _SOURCES_OFF, choices=SOURCES_OFF),
    Field("llm", "off", _LANGUAGE_MODEL, choices=LANGUAGE_MODELS),
    Field("llm_url", "", "Endpoint of `http`: `…/v1` (OpenAI, Ollama, llama.cpp, vLLM); of `anthropic`, if another."),
    Field("llm_model", "", "The model's name there; for `claude` and `command` it may be left out."),
    Field("llm_key_env", "", "The environment variable that holds the key for `http` or `anthropic`."),
    Field("llm_command", "claude", "The program of `claude` (on PATH, or a path); of `command`, with its arguments."),
    Field("llm_deadline_s", 300, "Seconds that a call may take for which nobody waits.", 5, 3600),
    Field("llm_answer_tokens", 8192, "Tokens that one answer may have at most.", 256, 65536),
    Field("llm_daily_calls", 0, "Calls of the language model that may be made a day (UTC); 0: none."),
    Field("llm_daily_tokens", 0, "Tokens that they may use a day, in and out; 0: none."),
    Field("fusion", "weighted", _FUSION, choices=FUSIONS),
    Field("classifier_weight", 0.0, _WEIGHT.format("the classifier (rules, or the language model)"), 0, 1),
    Field("graph_weight", 0.0, _WEIGHT.format("the import graph"), 0, 1),
    Field("graph_url", "", "A Neo4j with import graphs (extra `neo4j`): `bolt://host:7687`, `bolt+s://…`, `…/NAME`."),
    Field("graph_user", "neo4j", "Its user; one that may only read is enough."),
    Field("graph_password_env", "", "The environment variable that holds that user's password."),
)


def _refused(what: str) -> SettingsError:
    """What is wrong, as an error: a hook of whose settings nothing is wrong loads none."""
    from howcome.errors import SettingsError

    return SettingsError(what)


class Settings:
    """The settings of one run; attributes are the names of FIELDS, and `home`, where everything is kept."""

    home: str
    store: str
    store_password_env: str
    disable: bool
    exclude: tuple[str, ...]
    redact_personal: bool
    tool_text_days: int
    second_opinion: str
    transcript_folders: tuple[str, ...]
    inject: str
    briefing_tokens: int
    recall_limit: int
    session_bites: int
    recall_chars: int
    recall_threshold: float
    receipt_line: bool
    prompt_deadline_ms: int
    ingest_deadline_ms: int
    start_deadline_ms: int
    embedding: str
    embedding_model: str
    embedding_url: str
    embedding_key_env: str
    embedding_question_prefix: str
    embedding_passage_prefix: str
    embedding_weights: str
    distiller: str
    sources_off: tuple[str, ...]
    llm: str
    llm_url: str
    llm_model: str
    llm_key_env: str
    llm_command: str
    llm_deadline_s: int
    llm_answer_tokens: int
    llm_daily_calls: int
    llm_daily_tokens: int
    classifier_weight: float
    graph_weight: float
    fusion: str
    graph_url: str
    graph_user: str
    graph_password_env: str

    def __init__(self, values: Mapping[str, object]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"settings are read once: {name} cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"settings are read once: {name} cannot be removed")


def narrowed(settings: Settings, said: Mapping[str, object] | None) -> Settings:
    """Settings with what a repository's own file says of them: it may take away (`inject`), never give.

    What cannot be understood (None: the file cannot be read) takes away all of it.
    """
    wish = OFF if said is None else said.get("inject", settings.inject)
    least = min(wish if wish in _LESS_FIRST else OFF, settings.inject, key=_LESS_FIRST.index)
    return settings if least == settings.inject else Settings({**vars(settings), "inject": least})


def home_folder(environment: Mapping[str, str]) -> str:
    """Where the store is: HOWCOME_HOME, or ~/.howcome."""
    chosen = environment.get("HOWCOME_HOME")
    if chosen:
        return os.path.abspath(os.path.expanduser(chosen))
    return os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".howcome")


def current_folder(environment: Mapping[str, str]) -> str:
    """The folder that this process was started in, also when it is gone: a worktree that was removed was a project.

    Raises:
        UsageError: it is gone, and nobody knows how it was called.
    """
    try:
        return os.getcwd()
    except FileNotFoundError as error:
        name = environment.get("PWD", "")
        if not os.path.isabs(name):
            from howcome.errors import UsageError

            raise UsageError("the folder that you are in is gone: go to another one") from error
        return name


def read_settings(environment: Mapping[str, str]) -> Settings:
    """The settings of this run.

    Raises:
        SettingsError: `config.toml` or a variable cannot be read; the message names it.
    """
    home = home_folder(environment)
    path = os.path.join(home, CONFIG_NAME)
    configured = read_config(home)
    values: dict[str, object] = {"home": home}
    for field in FIELDS:
        if field.variable in environment:
            values[field.name] = parse_text(field, environment[field.variable], field.variable)
        elif field.name in configured:
            values[field.name] = check_value(field, configured[field.name], f"{path}: {field.name}")
        else:
            values[field.name] = field.default
    return Settings(values)


def read_config(home: str) -> dict[str, object]:
    """What `config.toml` in a folder says, not yet checked; {} when there is none.

    Raises:
        SettingsError: it cannot be read, or names a setting that there is not.
    """
    path = os.path.join(home, CONFIG_NAME)
    if not os.path.isfile(path):
        return {}
    try:
        with open(path, "rb") as stream:
            return _decoded(stream.read(), path)
    except OSError as error:
        raise _refused(f"{path}: {error}") from error


def _decoded(data: bytes, path: str) -> dict[str, object]:
    import tomllib

    try:
        configured = tomllib.loads(data.decode())
    except ValueError as error:  # TOML's own errors and bytes that are no UTF-8
        raise _refused(f"{path}: {error}") from error
    configured = {name: value for name, value in configured.items() if name not in REMOVED}
    if isinstance(off := configured.get("sources_off"), list):
        configured["sources_off"] = [name for name in off if name not in REMOVED_SOURCES]
    unknown = set(configured) - {field.name for field in FIELDS}
    if unknown:
        raise _refused(f"{path}: unknown setting {min(unknown)!r}")
    return configured


def checked_config(data: bytes, path: str) -> None:
    """Refuses what `read_settings` would refuse, before it is the file that every hook reads.

    Raises:
        SettingsError: it is no TOML, names a setting that there is not, or has a value that is none.
    """
    configured = _decoded(data, path)
    for field in FIELDS:
        if field.name in configured:
            check_value(field, configured[field.name], f"{path}: {field.name}")


def parse_text(field: Field, text: str, place: str) -> object:
    """The value that a text means for a setting; `place` names it in errors.

    Raises:
        SettingsError: it is none.
    """
    if isinstance(field.default, bool):
        word = text.strip().lower()
        if word not in _YES | _NO:
            raise _refused(f"{place}: expected yes or no, not {text!r}")
        return word in _YES
    if isinstance(field.default, tuple):
        return check_value(field, tuple(part for part in text.split(os.pathsep) if part), place)
    if isinstance(field.default, str):
        return check_value(field, text, place)
    try:
        number = float(text)
    except ValueError as error:
        raise _refused(f"{place}: {text!r} is not a number") from error
    return check_value(field, number, place)


def check_value(field: Field, value: object, place: str) -> object:
    """A value as the setting has it.

    Raises:
        SettingsError: it is of another type, or out of bounds.
    """
    if isinstance(field.default, bool):
        if not isinstance(value, bool):
            raise _refused(f"{place}: expected true or false")
        return value
    if isinstance(field.default, tuple):
        return _check_names(field, value, place) if field.choices else _check_folders(value, place)
    if isinstance(field.default, str):
        return _check_text(field, value, place)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _refused(f"{place}: expected a number")
    if not field.low <= value <= field.high:
        raise _refused(f"{place}: expected {field.low:g} to {field.high:g}, not {value:g}")
    if isinstance(field.default, int):
        if value != int(value):
            raise _refused(f"{place}: expected a whole number, not {value:g}")
        return int(value)
    return value


def _check_text(field: Field, value: object, place: str) -> str:
    if not isinstance(value, str) or not value.strip().isprintable():
        raise _refused(f"{place}: expected a line of text")
    if field.choices and value.strip() not in field.choices:
        raise _refused(f"{place}: expected one of {', '.join(field.choices)}, not {value.strip()!r}")
    if field.name == "store" and value:
        _check_server(value.strip(), place)
    return value.strip()


def _check_server(value: str, place: str) -> None:
    """A server by its address; a password in it would be shown by whatever shows settings."""
    scheme, _, rest = value.partition("://")
    if scheme not in ("postgresql", "postgres") or not rest:
        raise _refused(f"{place}: expected postgresql://user@host/database, or nothing for the embedded store")
    user, _, _ = rest.partition("/")[0].rpartition("@")
    if ":" in user or "password=" in rest:
        raise _refused(f"{place}: no password belongs there: ~/.pgpass has it, or the variable of store_password_env")


def _check_names(field: Field, value: object, place: str) -> tuple[str, ...]:
    names = value if isinstance(value, list | tuple) else (value,)
    for name in names:
        if name not in field.choices:
            raise _refused(f"{place}: expected some of {', '.join(field.choices)}, not {name!r}")
    return tuple(names)


def _check_folders(value: object, place: str) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise _refused(f"{place}: expected a list of folders")
    for folder in value:
        if not folder.startswith(("/", "~")):  # relative to what, in a hook?
            raise _refused(f"{place}: {folder!r} is no absolute folder; begin it with / or ~")
    return tuple(value)

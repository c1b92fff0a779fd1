"""A prompt's hook asks the warm process: the same words, recorded once, and never a prompt that waits for it."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.builders import Claude, write
from tests.processes import HOOK, LAUNCH, answer_of, ask, assert_silent, hook, payload
from tests.warm import LIMIT_S, end, eventually, server, socket_of

from howcome import __version__
from howcome.hooks.tool import hook_tool
from howcome.present import warm_client
from howcome.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = pytest.mark.timeout(600)  # seconds, on a machine that is busy with something else
EVENT = "UserPromptSubmit"
PROMPT = "why does berth1 fail again?"


def prompt(session: str, text: str = PROMPT, **fields: Any) -> bytes:
    """The payload of a prompt in a session."""
    return payload(EVENT, Path("/gone.jsonl"), session, prompt=text, **fields)


def said_to(folder: Path, session: str) -> int:
    """How many rows are recorded as said to a session, or to those whose names begin with what stands before a %."""
    with closing(sqlite3.connect(folder / "howcome.db")) as connection:
        [count] = connection.execute("SELECT count(*) FROM injections WHERE session LIKE ?", (session,)).fetchone()
        return int(count)


@pytest.fixture
def warm(past: Path, store_folder: Path) -> Iterator[subprocess.Popen[str]]:  # noqa: ARG001 - makes a store
    """A server that answers."""
    with server() as process:
        socket_of(store_folder)
        yield process


LOADED = f"""
import sys, os
told = os.dup(2)  # a hook closes its own
def report(code):
    os.write(told, "\\n".join(sorted(sys.modules)).encode())
    os._real_exit(0)
os._real_exit, os._exit = os._exit, report
sys.argv = [{str(LAUNCH)!r}, "{EVENT}"]
with open(sys.argv[0]) as script:
    exec(compile(script.read(), sys.argv[0], "exec"), {{"__name__": "__main__", "__file__": sys.argv[0]}})
"""
WORK = {"json", "re", "apsw", "tantivy", "howcome.app", "howcome.present.render", "socket", "select"}


def loaded(data: bytes, **environment: str) -> tuple[bytes, set[str]]:
    """What a hook answers and what it has loaded by then."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-E", "-c", LOADED], input=data, capture_output=True, check=False,
        timeout=LIMIT_S, env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout, set(done.stderr.decode().split("\n"))


def warmly(text: str, name: str = "asked") -> bytes:
    """What a hook of a new session answers that left the work to the warm process; one that was late asks again."""

    def is_quick() -> list[bytes]:
        answer, modules = loaded(prompt(f"{name} {time.monotonic()}", text))
        return [] if modules & WORK else [answer]

    [answer] = eventually(is_quick, what="every hook did the work itself")
    return bytes(answer)


PROMPTS = (PROMPT, "zzgloop frabnitz", "/review", "run it", "berth1 " * 5000, "港の berth1 \0 é")


@pytest.mark.parametrize("text", PROMPTS, ids=lambda text: text[:8])
@pytest.mark.usefixtures("past")
def test_three_doors_say_the_same_bytes(text: str, store_folder: Path) -> None:
    """The process alone, the process that asks the socket, and the MCP tool: one answer for one state."""
    alone = hook(EVENT, prompt("alone", text)).stdout
    tool = hook_tool(json.loads(prompt("tool", text)), read_settings(os.environ))
    with server():
        socket_of(store_folder)
        assert tool.encode() == alone
        assert (b"berth1" in alone) == (text == PROMPT)
        told = said_to(store_folder, "alone")
        assert said_to(store_folder, "tool") == told

        def is_noted() -> bool:
            session = f"asked {time.monotonic()}"
            assert hook(EVENT, prompt(session, text)).stdout == alone
            time.sleep(0.1)
            return said_to(store_folder, session) == told

        eventually(is_noted)  # what a busy machine takes too late is not noted


@pytest.mark.usefixtures("warm")
def test_a_hook_that_is_answered_loads_next_to_nothing(store_folder: Path) -> None:
    """Neither a JSON decoder nor a store is loaded; what was said is recorded, and not said again."""

    def is_taken() -> tuple[str, bytes] | None:
        session = f"asked {time.monotonic()}"
        answer, modules = loaded(prompt(session))
        assert b"berth1" in answer
        time.sleep(0.1)
        return None if modules & WORK or not said_to(store_folder, session) else (session, answer)

    session, answer = eventually(is_taken)  # what a busy machine answers or takes too late is done otherwise
    before = said_to(store_folder, session)
    second, _ = loaded(prompt(session))
    assert second != answer
    if not second:
        assert said_to(store_folder, session) == before
    assert warmly("ok, go ahead", "quiet") == b""
    assert said_to(store_folder, "quiet %") == 0


@pytest.mark.usefixtures("warm")
def test_the_hooks_settings_count_not_the_servers() -> None:
    """A variable of the hook's environment is obeyed by whoever answers; a guarded hook asks nobody."""
    assert loaded(prompt("a"), HOWCOME_RECALL_THRESHOLD="1")[0] == b""
    short = loaded(prompt("b"), HOWCOME_RECALL_CHARS="1000")[0]
    assert 0 < len(json.loads(short)["hookSpecificOutput"]["additionalContext"]) <= 1000
    for name in ("HOWCOME_ACTIVE", "HOWCOME_DISABLE"):
        answer, modules = loaded(prompt("c"), **{name: "1"})
        assert answer == b""
        assert "_socket" not in modules


@pytest.mark.usefixtures("past")
def test_new_rows_a_new_index_and_a_new_store_are_noticed(tmp_path: Path, store_folder: Path) -> None:
    """Nothing that the warm process knew before is taken for what is there now."""
    other = tmp_path / "other"
    path = write(tmp_path / "third.jsonl", *Claude("third").conversation(3, "signal"))
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.setenv("HOWCOME_HOME", str(other))
        ask("import", path)
    with server(60) as process:  # its first scan is over when the import is
        socket_of(store_folder)
        ask("import", write(tmp_path / "new.jsonl", *Claude("newer").conversation(3, "lantern")))
        eventually(lambda: b"lantern" in loaded(prompt(f"a {time.monotonic()}", "why does lantern1 fail again?"))[0])
        for path in store_folder.glob("howcome.db*"):
            path.unlink(missing_ok=True)  # the log goes by itself when its last reader closes
        shutil.rmtree(store_folder / "index")
        shutil.copytree(other / "index", store_folder / "index")
        shutil.copy(other / "howcome.db", store_folder)
        assert b"signal" in warmly("why does signal1 fail again?")
        assert loaded(prompt("c"))[0] == b""
        assert end(process)


def test_many_questions_leave_nothing_behind(warm: subprocess.Popen[str]) -> None:
    """Threads and open files stay as they are; memory does but for a little."""

    def state() -> tuple[int, int, int]:
        folder = Path(f"/proc/{warm.pid}")
        status = dict(line.split(":", 1) for line in (folder / "status").read_text().splitlines())
        own_kb = int(status["RssAnon"].split()[0])  # pages of files come and go with the machine's memory
        return len(list((folder / "task").iterdir())), len(list((folder / "fd").iterdir())), own_kb

    def is_answered() -> bool:
        home = os.environ["HOWCOME_HOME"]
        return warm_client.ask(home, EVENT, "claude-code", prompt("a", "zzgloop berth9"), 1) is not None

    for _ in range(50):
        eventually(is_answered)
    threads, files, memory_kb = state()
    for _ in range(300):
        eventually(is_answered)
    eventually(lambda: state()[0] <= threads + 1 and state()[1] <= files + 1)
    assert state()[2] < memory_kb + 8000


# -- a warm process that fails -----------------------------------------------------------------------------------------
def listening(folder: Path, serve: Callable[[socket.socket], object]) -> socket.socket:
    """A socket where hooks ask, with something else behind it."""
    folder.mkdir(exist_ok=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "worker.sock"))
    listener.listen()

    def run() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.recv(1 << 16)
                    serve(connection)
                except OSError:
                    continue

    threading.Thread(target=run, daemon=True).start()
    return listener


ODD: dict[str, Callable[[socket.socket], object]] = {
    "closes": lambda _: None,
    "hangs": lambda _: time.sleep(40),
    "answers garbage": lambda it: it.sendall(os.urandom(1000)),
    "answers a line without an end": lambda it: (it.sendall(b"1" * 15), time.sleep(40)),
    "answers half": lambda it: it.sendall(b'100\n{"hookSpecific'),
    "answers too much": lambda it: it.sendall(b"5\n{}{}{}{}"),
    "answers a huge size": lambda it: it.sendall(b"99999999999\n{}"),
    "answers a negative size": lambda it: it.sendall(b"-1\n"),
    "answers slowly": lambda it: [(it.sendall(byte), time.sleep(0.05)) for byte in (b"1", b"0", b"0", b"\n", b"{")],
    "answers too late": lambda it: (time.sleep(5), it.sendall(b"2\n{}")),
    "hangs up while being asked": lambda it: it.shutdown(socket.SHUT_RDWR),
}  # fmt: skip


@pytest.mark.parametrize("what", ODD)
def test_a_warm_process_that_fails_is_not_waited_for(what: str, past: Path, store_folder: Path) -> None:  # noqa: ARG001
    """The hook then answers by itself, in its time, and records that once."""
    hook(EVENT, prompt("alone"))
    once = said_to(store_folder, "alone")
    assert once > 0
    listener = listening(store_folder, ODD[what])
    started = time.monotonic()
    answer = answer_of(EVENT, hook(EVENT, prompt("running")))
    assert time.monotonic() - started < 30
    assert answer is not None
    assert "berth1" in answer["additionalContext"]
    assert said_to(store_folder, "running") == once
    listener.close()
    assert not (store_folder / "hook-errors.log").exists()


KILLED = """
import os, signal, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("ready", flush=True)
connection, _ = listener.accept()
connection.recv(1 << 16)
connection.sendall(b"4000\\n" + b"x" * 2000)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_server_that_is_killed_in_mid_answer_costs_nothing(past: Path, store_folder: Path) -> None:  # noqa: ARG001
    """What has come of its answer is thrown away."""
    path = str(store_folder / "worker.sock")
    with subprocess.Popen([sys.executable, "-c", KILLED, path], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        assert answer_of(EVENT, hook(EVENT, prompt("running"))) is not None
    assert answer_of(EVENT, hook(EVENT, prompt("other"))) is not None  # and the socket that is left refuses


@pytest.mark.parametrize("what", ["a file", "a folder", "a dead socket", "a link to nothing"])
def test_what_is_no_socket_is_not_asked(what: str, past: Path, store_folder: Path) -> None:  # noqa: ARG001
    """Whatever stands in its place; and the next worker puts it right, where it can."""
    path = store_folder / "worker.sock"
    if what == "a file":
        path.write_text("no socket")
    elif what == "a folder":
        path.mkdir()
    elif what == "a dead socket":
        with closing(socket.socket(socket.AF_UNIX)) as dead:
            dead.bind(str(path))
    else:
        path.symlink_to("/nowhere/at/all")
    assert answer_of(EVENT, hook(EVENT, prompt("running"))) is not None
    with server() as process:
        if what != "a folder":
            eventually(lambda: "json" not in loaded(prompt("again"))[1])
        assert answer_of(EVENT, hook(EVENT, prompt("third"))) is not None
        assert end(process)


AS_NOBODY = """
import os, socket, sys, time
os.setuid(65534)
sock = socket.socket(socket.AF_UNIX)
if sys.argv[1] == "serve":
    sock.bind(sys.argv[2])
    os.chmod(sys.argv[2], 0o777)
    sock.listen()
    print("ready", flush=True)
    connection, _ = sock.accept()
    connection.recv(1 << 16)
    answer = b'{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "planted"}}'
    connection.sendall(b"%d\\n%s" % (len(answer), answer))
    time.sleep(2)
else:
    try:
        sock.connect(sys.argv[2])
    except PermissionError:
        sys.exit(3)
    try:
        sock.sendall(open(0, "rb").read())
        print(sock.recv(1 << 16))
    except OSError:
        print(b"")
"""


@pytest.fixture
def open_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A store in a folder that every user may enter and write."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "store")
        monkeypatch.setenv("HOWCOME_HOME", str(folder))
        ask("import", write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6)))
        Path(root).chmod(0o777)
        folder.chmod(0o777)
        yield folder


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_another_user_is_not_asked(open_folder: Path) -> None:
    """Even where the folder's mode lets them in: the kernel says who is at the other end."""
    words = [sys.executable, "-S", "-c", AS_NOBODY, "serve", str(open_folder / "worker.sock")]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        answer = answer_of(EVENT, hook(EVENT, prompt("running")))
        process.kill()
    assert answer is not None
    assert "planted" not in answer["additionalContext"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be two users")
def test_another_user_is_not_answered(open_folder: Path) -> None:
    """Not even one whom the socket's mode would let in."""
    with server(60):
        path = socket_of(open_folder)
        words = [sys.executable, "-S", "-c", AS_NOBODY, "ask", str(path)]

        def ask_as_nobody() -> bytes:
            open_folder.chmod(0o777)  # whoever opens the store closes it again
            path.chmod(0o777)
            return subprocess.run(words, input=request(prompt("x")), capture_output=True, check=False).stdout

        assert eventually(ask_as_nobody) == b"b''\n"
        assert_answers(open_folder)


# -- the server against odd clients ------------------------------------------------------------------------------------
def request(data: bytes, variables: bytes = b"", **changed: object) -> bytes:
    """A request as a hook makes it, with words of its first line changed."""
    words: dict[str, object] = {
        "name": "howcome", "protocol": warm_client.PROTOCOL, "version": __version__, "event": EVENT,
        "agent": "claude-code", "variables": len(variables), "payload": len(data),
    }  # fmt: skip
    return " ".join(map(str, {**words, **changed}.values())).encode() + b"\n" + variables + data


def asked(folder: Path, data: bytes, *, ack: bytes = b"") -> bytes:
    """What the server answers to bytes; '' when it closes."""
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.settimeout(LIMIT_S)
        connection.connect(str(folder / "worker.sock"))
        answer = b""
        with suppress(ConnectionResetError, BrokenPipeError):
            connection.sendall(data)
            answer = connection.recv(1 << 16)
            if ack:
                connection.sendall(ack)
                connection.recv(1)
        return answer


def assert_answers(folder: Path, data: bytes = request(prompt("x")), ack: bytes = b"") -> None:
    """The server answers the prompt; it closes on whom it served too late, who then asks again."""
    eventually(lambda: b"berth1" in asked(folder, data, ack=ack))


@pytest.mark.usefixtures("warm")
def test_only_what_a_hook_has_taken_is_recorded(store_folder: Path) -> None:
    """A hook that is gone when the answer comes, or says anything but that it has it, was told nothing."""
    data = prompt("gone")
    with closing(socket.socket(socket.AF_UNIX)) as connection:
        connection.connect(str(store_folder / "worker.sock"))
        connection.sendall(request(data))
    assert_answers(store_folder, request(data))
    assert_answers(store_folder, request(data), b"no")
    assert said_to(store_folder, "gone") == 0

    def is_recorded() -> bool:
        asked(store_folder, request(data), ack=warm_client.ACK)
        return said_to(store_folder, "gone") > 0

    eventually(is_recorded)


@pytest.mark.usefixtures("warm")
def test_silence_is_recorded_when_a_hook_has_taken_it(store_folder: Path) -> None:
    """Once: a hook that lost patience does the work, and records it, itself."""
    data = request(prompt("silent", "zwieback with marmalade, and how is it eaten?"))

    def verdicts() -> int:
        with closing(sqlite3.connect(store_folder / "howcome.db")) as connection:
            [count] = connection.execute("SELECT count(*) FROM verdicts WHERE session = 'silent'").fetchone()
            return int(count)

    assert asked(store_folder, data) == asked(store_folder, data, ack=b"no") == b"0\n"
    assert verdicts() == 0
    asked(store_folder, data, ack=warm_client.ACK)
    eventually(lambda: verdicts() == 1)


ODD_REQUESTS: dict[str, bytes] = {
    "nothing": b"", "a line of words": b"hello\n", "no line": b"x" * 5000, "noise": os.urandom(5000),
    "another protocol": request(prompt("x"), protocol=2), "another version": request(prompt("x"), version="9.9"),
    "another event": request(prompt("x"), event="Stop"), "an unknown agent": request(prompt("x"), agent="nobody"),
    "half a payload": request(prompt("x")[:-5]), "no JSON": request(b"}" * 100), "a list": request(b"[1]"),
    "a deep payload": request(b'{"a":' * 200_000), "less than it says": request(b"{}", payload=500),
    "more than it says": request(b"{}{}{}", payload=2), "too large": request(b"{}", payload=2 << 20),
    "a negative size": request(b"{}", payload=-2), "no number": request(b"{}", payload="x"),
    "odd variables": request(b"{}", b"\xff\0=\0A\0"),
    "a wrong setting": request(prompt("x"), b"HOWCOME_RECALL_LIMIT=x\0"),
    "switched off": request(prompt("x"), b"HOWCOME_DISABLE=1\0"),
    "another event's payload": request(payload("Stop", Path("/x"), "x")),
}  # fmt: skip


@pytest.mark.usefixtures("warm")
def test_odd_requests_are_closed_and_the_server_goes_on(store_folder: Path) -> None:
    """Whatever comes in, the next hook is answered."""
    for what, data in ODD_REQUESTS.items():
        answer = asked(store_folder, data) if data else b""
        assert answer in (b"", b"0\n"), what
    assert_answers(store_folder)
    log = store_folder / "hook-errors.log"

    def is_logged() -> bool:
        assert asked(store_folder, ODD_REQUESTS["a wrong setting"]) in (b"", b"0\n")
        return log.exists()

    assert log.exists() or eventually(is_logged)
    assert {tuple(line.split()[1:3]) for line in log.read_text().splitlines()} == {(EVENT, "SettingsError")}


@pytest.mark.usefixtures("warm")
def test_a_client_that_says_nothing_holds_nobody_up(store_folder: Path) -> None:
    """It is listened to for as long as a hook waits, no longer: a dozen of them, one after the other."""
    with ExitStack() as stack:
        for _ in range(12):
            silent = stack.enter_context(closing(socket.socket(socket.AF_UNIX)))
            silent.settimeout(LIMIT_S)
            silent.connect(str(store_folder / "worker.sock"))
        started = time.monotonic()
        assert_answers(store_folder)
        assert time.monotonic() - started < 30


@pytest.mark.usefixtures("warm")
def test_a_payload_that_comes_in_pieces_is_waited_for() -> None:
    """A piece that merely ends like a payload is refused by the server; the hook reads on."""
    data = prompt("running", padding={"a": {"b": "x"}})
    place = data.index(b"}}") + 2
    process = subprocess.Popen([*HOOK, EVENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(data[:place])
    process.stdin.flush()
    time.sleep(0.2)
    out, error = process.communicate(data[place:], timeout=LIMIT_S)
    assert b"berth1" in out
    assert error == b""


@pytest.mark.skipif(sys.platform != "linux", reason="a socket goes by its folder's descriptor there")
def test_a_home_with_a_long_path_has_a_socket_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More than the 107 bytes that a socket's address may have."""
    folder = tmp_path.joinpath(*["a" * 50] * 4, "store")
    folder.parent.mkdir(parents=True)
    monkeypatch.setenv("HOWCOME_HOME", str(folder))
    ask("import", write(tmp_path / "past.jsonl", *Claude("earlier").conversation(6)))
    with server() as process:
        socket_of(folder)
        assert b"berth1" in warmly(PROMPT)
        assert end(process)
    assert not (folder / "worker.sock").exists()


# -- the MCP tool ------------------------------------------------------------------------------------------------------
ARGUMENTS: list[dict[str, Any]] = [
    {}, *({"hook_event_name": name} for name in (None, 7, [], "", "Nothing", EVENT)),
    *({"hook_event_name": EVENT, "prompt": value} for value in (["x"], None, "${prompt}", PROMPT * 2_000_000)),
    *({"hook_event_name": EVENT, "prompt": PROMPT, "agent": agent} for agent in (7, None, "nobody", "cursor")),
    {"hook_event_name": EVENT, "prompt": PROMPT, "cwd": "${cwd}", "session_id": None, "transcript_path": "\0"},
    {"hook_event_name": "Stop", "transcript_path": "/gone"},
]  # fmt: skip


@pytest.mark.parametrize("arguments", ARGUMENTS, ids=lambda value: str(value)[:60])
@pytest.mark.usefixtures("past")
def test_the_tool_survives_any_arguments(arguments: dict[str, Any]) -> None:
    """Unknown, missing, unsubstituted, huge or wrong: nothing is said, nothing raised."""
    assert hook_tool(arguments, read_settings(os.environ)) == ""


def test_the_tool_is_silent_where_the_command_would_be(
    past: Path,  # noqa: ARG001 - makes a store
    store_folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Guarded, switched off, or on a store that cannot be read; the last is logged."""
    arguments = json.loads(prompt("running"))
    monkeypatch.setenv("HOWCOME_ACTIVE", "1")
    assert hook_tool(arguments, read_settings(os.environ)) == ""
    monkeypatch.delenv("HOWCOME_ACTIVE")
    monkeypatch.setenv("HOWCOME_DISABLE", "1")
    assert hook_tool(arguments, read_settings(os.environ)) == ""
    monkeypatch.delenv("HOWCOME_DISABLE")
    settings = read_settings(os.environ)
    assert "berth1" in hook_tool(arguments, settings)
    (store_folder / "howcome.db").write_bytes(b"garbage" * 1000)
    for name in ("howcome.db-wal", "howcome.db-shm"):
        (store_folder / name).unlink(missing_ok=True)
    assert hook_tool(arguments, settings) == ""
    assert "UserPromptSubmit StoreDamagedError" in (store_folder / "hook-errors.log").read_text()


def test_the_tool_captures_as_the_command_does(tmp_path: Path, store_folder: Path) -> None:
    """An event that reads a transcript reads it."""
    path = write(tmp_path / "a.jsonl", *Claude("running").conversation(2))
    arguments = json.loads(payload("Stop", path, "running"))
    assert hook_tool(arguments, read_settings(os.environ)) == ""
    assert_silent(hook("Stop", payload("Stop", path, "running")))
    with closing(sqlite3.connect(store_folder / "howcome.db")) as connection:
        assert connection.execute("SELECT count(*) FROM events").fetchone() == (10,)

"""A team through its server, as members use it: nothing private leaves, nothing is told before a review."""

from __future__ import annotations

import contextlib
import http.server
import json
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.machines import Machine, repository
from tests.processes import run
from tests.teams import Server, TeamDatabase, served, team_database
from tests.ungated import KEY_ID

from howcome.errors import StoreLockedError
from howcome.memory.team import FOLDER, MEMBERSHIP
from howcome.memory.team_server import MAX_PAGES, TeamServer
from howcome.present.patience import Patience
from howcome.settings import read_settings
from howcome.worker.passes import CatchUp

UPLOADS = "Uploads are retried five times because the gateway drops every third one"
SEVEN, NINE = UPLOADS.replace("five", "seven"), UPLOADS.replace("five", "nine")
QUESTION = "how often are uploads to the gateway retried?"
DAY_MS = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def database() -> Iterator[TeamDatabase]:
    """One team."""
    with team_database("acme") as found:
        yield found


@pytest.fixture(scope="module")
def server(database: TeamDatabase, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Its server."""
    with served(database, tmp_path_factory.mktemp("serve") / "log") as found:
        yield found


@pytest.fixture
def repository_name(request: pytest.FixtureRequest) -> str:
    """A repository of each test's own."""
    return f"git.example.org/acme/{request.node.name[:60].replace('[', '-').replace(']', '')}"


def joined(machine: Machine, server: str, token: str) -> Any:
    """Makes a machine a member."""
    done = run(
        "team", "join", server, "--json", data=token.encode() + b"\n",
        environment=machine.environment, folder=machine.folder,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def ann(tmp_path: Path, database: TeamDatabase, server: Server, repository_name: str) -> Machine:
    """A member."""
    machine = Machine(
        tmp_path / "home-ann", repository(tmp_path / "ann", f"git@{repository_name.replace('/', ':', 1)}.git")
    )
    joined(machine, f"http://{server.host}", database.invite("acme", "Ann"))
    return machine


@pytest.fixture
def bob(tmp_path: Path, database: TeamDatabase, server: Server, repository_name: str) -> Machine:
    """Another, who reached the same repository in another way."""
    machine = Machine(tmp_path / "home-bob", repository(tmp_path / "bob", f"https://bob@{repository_name}"))
    joined(machine, f"http://{server.host}", database.invite("acme", "Bob"))
    return machine


def settle(machine: Machine, keep: str = "newer") -> None:
    """Settles everything that waits."""
    for pair in machine.ask("memories", "--review", "--all-projects")["reviews"]:
        machine.ask("memories", "--settle", str(pair["number"]), "--keep", keep)


def there(database: TeamDatabase, repository_name: str) -> list[tuple[str, bool]]:
    """What the server holds of a repository."""
    statement = "SELECT text, is_withdrawn FROM memories WHERE repository = %s ORDER BY position"
    return database.owner.execute(statement, (repository_name,)).fetchall()


def test_what_is_pushed_is_reviewed_and_then_said_with_its_author(ann: Machine, bob: Machine) -> None:
    """Found when asked for, never said unasked, until it is accepted; its author and date stay."""
    ann.keep(UPLOADS)
    assert ann.ask("team", "push")["pushed"] == 1
    assert ann.ask("team", "push")["pushed"] == 0
    assert bob.ask("team", "pull")["to_review"] == 1
    assert bob.ask("team", "pull")["to_review"] == 0
    assert UPLOADS not in bob.told(QUESTION)
    assert [row["is_outside"] for row in bob.ask("memories")["memories"]] == [True]
    assert "nothing that may be told has its words" in bob.run("try", QUESTION).stdout
    shown = bob.run("team", "review").stdout
    assert ("Ann proposes" in shown, UPLOADS in shown, "--accept" in shown, "--keep" in shown) == (
        True,
        True,
        True,
        False,
    )
    [pair] = bob.ask("team", "review")["reviews"]
    assert bob.ask("team", "review", str(pair["number"]), "--accept") == {"accepted": [pair["number"]]}
    assert f"(Ann) {UPLOADS}" in bob.told(QUESTION)
    assert "  of Ann  " in bob.run("search", "gateway", "uploads").stdout
    found = bob.one(UPLOADS)
    assert "hand, of Ann, long-term" in bob.run("memories", "--why", found["id"]).stdout
    assert (found["agent"], found["origin"], found["ts"]) == ("Ann", "user", ann.one(UPLOADS)["ts"])
    assert bob.ask("team", "push")["pushed"] == 0, "it is Ann's"
    status = bob.ask("team", "status")
    assert (status["team"], status["person"], "token" in status) == ("acme", "Bob", False)


def test_nothing_private_leaves(ann: Machine, database: TeamDatabase, server: Server, repository_name: str) -> None:
    """Secrets, private spans, what is from outside, what was distilled, other projects, excluded ones."""
    ann.keep(UPLOADS)
    planted = ["a key " + KEY_ID, "a <private>quiet harbour</private> word", "a page says: always deploy on Friday"]
    for number, text in enumerate(planted):
        ann.plant(10 + number, text, origin="user" if number < 2 else "external")
    ann.plant(20, "of another project", project="/somewhere/else")
    online = (ann.store / MEMBERSHIP).read_text()
    with counting() as (url, sent):
        (ann.store / MEMBERSHIP).write_text(json.dumps({**json.loads(online), "url": url}))
        assert ann.run("team", "push").returncode == 1
    wire = "".join(sent)
    assert UPLOADS in wire
    assert all(word not in wire for word in (KEY_ID, "harbour", "Friday", "another project", str(ann.folder), "hct_"))
    (ann.store / MEMBERSHIP).write_text(online)
    report = ann.ask("team", "push")
    assert (report["pushed"], len(report["left_out"])) == (1, 3)
    assert there(database, repository_name) == [(UPLOADS, False)]
    log = server.log.read_text()
    assert all(word not in log for word in (KEY_ID, "harbour", "Friday", "gateway"))
    (ann.store / "config.toml").write_text(f"exclude = [{json.dumps(str(ann.folder))}]\n")
    done = ann.run("team", "push")
    assert (done.returncode, "excluded" in done.stderr) == (2, True)


def test_an_edit_takes_its_place_and_a_forgotten_one_is_withdrawn(
    ann: Machine, bob: Machine, database: TeamDatabase, repository_name: str
) -> None:
    """Where it was accepted, too, after a review; what waits for one goes."""
    first = ann.keep(UPLOADS)
    ann.ask("team", "push")
    bob.ask("team", "pull")
    settle(bob)
    ann.ask("update", first, SEVEN)
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 1
    assert UPLOADS in bob.told(QUESTION)
    settle(bob)
    assert bob.texts() == [SEVEN]
    second = ann.keep("The tide tables are in feet, since the harbour master reads feet")
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 1
    ann.ask("forget", second)
    assert ann.ask("team", "push")["withdrawn"] == 1
    assert ann.ask("team", "push")["withdrawn"] == 0
    assert bob.ask("team", "pull")["taken_back"] == 1
    assert bob.texts() == [SEVEN]
    assert ("", True) in there(database, repository_name)


def test_what_came_through_the_server_is_not_shared_through_git(ann: Machine, bob: Machine) -> None:
    """It would be signed as the words of who accepted it, and come back to its author for a review."""
    bob.keep(UPLOADS)
    bob.ask("team", "push")
    ann.ask("team", "pull")
    settle(ann)
    shared = ann.ask("share", "--project")
    assert (shared["written"], list(shared["left_out"].values())) == ([], ["it is of Bob"])
    assert ann.run("share", ann.one(UPLOADS)["id"]).returncode == 1


def both_ways(giver: Machine, taker: Machine) -> tuple[int, int]:
    """What waits in addition where something is pushed and pulled, then shared in a file and received."""
    giver.ask("team", "push")
    pulled = taker.ask("team", "pull")["to_review"]
    giver.ask("share", "--project")
    shutil.copytree(giver.folder / FOLDER, taker.folder / FOLDER, dirs_exist_ok=True)
    return pulled, taker.ask("share", "--receive")["added"]


@pytest.mark.parametrize("answer", ["--accept", "--refuse", ""])
def test_what_came_in_one_way_does_not_wait_again_by_another(ann: Machine, bob: Machine, answer: str) -> None:
    """Whatever became of it here; an edit of it is offered once, too."""
    first = ann.keep(UPLOADS)
    assert both_ways(ann, bob) == (1, 0)
    for pair in bob.ask("team", "review")["reviews"] if answer else ():
        bob.ask("team", "review", str(pair["number"]), answer)
    bob.ask("share", "--receive")
    bob.ask("team", "pull")
    assert len(bob.ask("memories", "--review")["reviews"]) == (answer == "")
    if answer == "--accept":
        bob.ask("update", bob.one(UPLOADS)["id"], NINE)
        assert bob.ask("share", "--receive")["added"] == 0
    ann.ask("update", first, SEVEN)
    assert both_ways(ann, bob) == (1, 0)
    [pair] = bob.ask("memories", "--review")["reviews"]
    assert pair["newer"]["text"] == SEVEN


def test_what_both_kept_in_the_same_words_is_each_one_s_own(
    ann: Machine, bob: Machine, database: TeamDatabase, repository_name: str
) -> None:
    """It waits at neither's, both push it, and who takes it back takes back nothing of the other."""
    ident = ann.keep(UPLOADS)
    bob.keep(UPLOADS)
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 0
    assert bob.ask("team", "push")["pushed"] == 1
    assert ann.ask("team", "pull")["to_review"] == 0
    assert ann.ask("team", "push")["withdrawn"] == 0
    ann.ask("forget", ident)
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["taken_back"] == 0
    assert bob.texts() == [UPLOADS]
    assert there(database, repository_name) == [(UPLOADS, False), ("", True)]


def test_what_two_say_in_the_same_words_waits_for_both(
    ann: Machine, bob: Machine, database: TeamDatabase, server: Server, repository_name: str, tmp_path: Path
) -> None:
    """One takes it back: the other's still waits."""
    eve = Machine(tmp_path / "home-eve", repository(tmp_path / "eve", f"https://eve@{repository_name}"))
    joined(eve, f"http://{server.host}", database.invite("acme", "Eve"))
    ident = eve.keep(UPLOADS)
    ann.keep(UPLOADS)
    for machine in (eve, ann):
        machine.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 2
    eve.ask("forget", ident)
    eve.ask("team", "push")
    assert bob.ask("team", "pull")["taken_back"] == 1
    assert [pair["newer"]["agent"] for pair in bob.ask("team", "review")["reviews"]] == ["Ann"]
    settle(bob)
    assert bob.one(UPLOADS)["agent"] == "Ann"


def test_a_proposal_goes_where_its_author_says_by_now_what_is_here(ann: Machine, bob: Machine) -> None:
    """The old text would wait for ever."""
    bob.keep(SEVEN)
    ident = ann.keep(UPLOADS)
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 1
    ann.ask("update", ident, SEVEN)
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 0
    assert (bob.ask("team", "review")["reviews"], bob.texts()) == ([], [SEVEN])


def test_what_an_older_version_shared_stays_shared(ann: Machine, database: TeamDatabase, repository_name: str) -> None:
    """It pushed what belongs to an agent, too; only what is new is held back for that."""
    ann.keep(UPLOADS)
    ann.ask("team", "push")
    ann.keep(SEVEN, "--agent", "scout")
    with sqlite3.connect(ann.store / "howcome.db") as rows:
        rows.execute("UPDATE memories SET agent = 'scout'")
    rows.close()
    report = ann.ask("team", "push")
    assert (report["withdrawn"], list(report["left_out"].values())) == (0, ["it is of scout"])
    assert there(database, repository_name) == [(UPLOADS, False)]


def test_a_review_is_listed_by_its_numbers(ann: Machine, bob: Machine) -> None:
    """And what would take another's place says so; `memories --settle` has the same two words."""
    first = ann.keep(UPLOADS)
    ann.plant(30, "The oldest of all was kept years before")
    ann.ask("team", "push")
    bob.ask("team", "pull")
    pairs = bob.ask("team", "review")["reviews"]
    assert [pair["number"] for pair in pairs] == sorted(pair["number"] for pair in pairs)
    for pair in pairs:
        word = "--accept" if pair["newer"]["text"] == UPLOADS else "--refuse"
        bob.ask("memories", "--settle", str(pair["number"]), word)
    assert bob.texts() == [UPLOADS]
    ann.ask("update", first, SEVEN)
    ann.ask("team", "push")
    bob.ask("team", "pull")
    said = bob.run("memories", "--review").stdout
    assert "Ann proposes in the place of the older one" in said
    assert ("--accept" in said, "one of --keep" in bob.run("memories", "--settle", "1").stderr) == (True, True)
    assert bob.run("memories", "--settle", "1", "--accept", "--refuse").returncode == 2
    settle(bob)
    bob.keep("Uploads to the gateway are retried four times")
    bob.keep("Uploads to the gateway are not retried four times")
    pairs = bob.ask("memories", "--review")["reviews"]
    assert {pair["reason"] for pair in pairs} == {"negation"}
    done = bob.run("memories", "--settle", str(pairs[0]["number"]), "--accept")
    assert (done.returncode, "--keep" in done.stderr) == (2, True)


def test_the_status_is_that_of_the_last_exchange(ann: Machine, database: TeamDatabase, server: Server) -> None:
    """Also of one by hand, be there something to send or not; `howcome status` has a line of it."""
    assert "not yet" in ann.run("team", "status").stdout
    assert ann.run("team", "pull").stdout == "0 memories to review, 0 taken back\n"
    assert ann.run("team", "push").stdout == "0 memories pushed, 0 withdrawn\n"
    assert "last run today" in ann.run("team", "status").stdout
    assert "in acme as Ann; last run today" in ann.run("status").stdout
    assert ann.run("team", "push", "mem-0000").returncode == 1
    assert ann.ask("team", "status")["problem"] is None, "that was no word of the server's"
    good = (ann.store / MEMBERSHIP).read_text()
    (ann.store / MEMBERSHIP).write_text(json.dumps({**json.loads(good), "url": "http://127.0.0.1:9"}))
    for command in ("push", "pull"):
        assert ann.run("team", command).returncode == 1
        assert "problem: http://127.0.0.1:9/v1/" in ann.run("team", "status").stdout
    assert ann.ask("status")["team"]["problem"]
    assert "does not answer" in ann.run("status").stdout
    assert ann.run("doctor").stdout.count("http://127.0.0.1:9") == 1
    joined(ann, f"http://{server.host}", database.invite("acme", "Eve"))
    assert ann.ask("team", "status")["problem"] is None
    database.admin.revoke("acme", "Eve")
    assert (ann.run("team", "push").returncode, ann.run("team", "pull").returncode) == (1, 1)
    assert f"http://{server.host} does not know this token" in ann.run("doctor").stdout


def test_a_membership_that_lacks_something_is_shown(ann: Machine) -> None:
    """A file that somebody or an older version wrote."""
    path = ann.store / MEMBERSHIP
    state = json.loads(path.read_text())
    path.write_text(
        json.dumps({name: value for name, value in state.items() if name not in ("repositories", "pushed")})
    )
    for command in (("status",), ("team", "status"), ("doctor",)):
        assert "Traceback" not in ann.run(*command).stderr
    assert "in acme as Ann" in ann.run("status").stdout


class Busy(TeamServer):
    """A membership whose store is busy."""

    def _pull(self, *_: object) -> None:
        raise StoreLockedError("busy")


def test_whatever_ends_an_exchange_is_noted(bob: Machine) -> None:
    """A store that is busy is no good run."""
    with contextlib.closing(bob.app()) as app:
        one = Busy(app.memories, str(bob.store), (), lambda: 1_790_000_000_000)
        with pytest.raises(StoreLockedError):
            one.pull(str(bob.folder))
    assert bob.ask("team", "status")["problem"] == "busy"


def test_who_accepted_what_is_taken_back_is_told(ann: Machine, bob: Machine) -> None:
    """It stays theirs; the pull says so once, the status until it is forgotten, or offered again."""
    ident = ann.keep(UPLOADS)
    ann.ask("team", "push")
    bob.ask("team", "pull")
    settle(bob)
    theirs = bob.one(UPLOADS)["id"]
    said = f"Ann took {theirs} back. You accepted it, so it stays until you `howcome forget {theirs}`"
    for change in ("forget", "restore", "forget"):
        ann.ask(change, ident)
        ann.ask("team", "push")
        is_gone = change == "forget"
        assert (said in bob.run("team", "pull").stdout) == is_gone
        assert said not in bob.run("team", "pull").stdout
        assert (said in bob.run("team", "status").stdout) == is_gone
    assert bob.ask("team", "status")["left"] == {theirs: "Ann"}
    bob.ask("forget", theirs)
    assert bob.ask("team", "status")["left"] == {}


def test_what_is_refused_stays_refused(ann: Machine, bob: Machine) -> None:
    """Pulling again does not ask again."""
    ann.keep(UPLOADS)
    ann.ask("team", "push")
    bob.ask("team", "pull")
    [pair] = bob.ask("team", "review")["reviews"]
    for words in (("--accept",), (str(pair["number"]),), ("999", "--accept"), ("1", "--accept", "--refuse")):
        assert bob.run("team", "review", *words).returncode == 2
    assert bob.ask("team", "review", str(pair["number"]), "--refuse") == {"refused": [pair["number"]]}
    assert bob.ask("team", "review") == {"reviews": []}
    assert bob.ask("team", "pull")["to_review"] == 0
    assert bob.texts() == []


def member(machine: Machine, now_ms: list[int]) -> tuple[Any, TeamServer]:
    """The membership of a machine, with a clock of the test's."""
    app = machine.app()
    settings = read_settings(machine.environment)
    one = TeamServer(app.memories, settings.home, settings.exclude, lambda: now_ms[0])
    return app, one


def test_a_day_without_network_loses_nothing(
    ann: Machine, bob: Machine, database: TeamDatabase, repository_name: str
) -> None:
    """The worker tries less and less often, prompts are answered meanwhile, and then both are in step."""
    ann.ask("team", "push")
    bob.ask("team", "pull")
    state = json.loads((ann.store / MEMBERSHIP).read_text())
    good = state["url"]
    (ann.store / MEMBERSHIP).write_text(json.dumps({**state, "url": "http://127.0.0.1:9"}))
    ann.keep(UPLOADS)
    now_ms, tries = [int(time.time() * 1000)], 0
    app, one = member(ann, now_ms)
    for _ in range(24 * 60):
        now_ms[0] += DAY_MS // (24 * 60)
        before = one.status()["run_ms"]
        one.run_if_due()
        tries += one.status()["run_ms"] != before
    app.close()
    assert 20 < tries < 40
    assert "does not answer" in str(ann.ask("team", "status")["problem"])
    assert "does not answer" in ann.run("doctor").stdout
    ann.told(QUESTION)
    state = json.loads((ann.store / MEMBERSHIP).read_text())
    (ann.store / MEMBERSHIP).write_text(json.dumps({**state, "url": good}))
    now_ms[0] += DAY_MS // 24
    app, one = member(ann, now_ms)
    one.run_if_due()
    app.close()
    assert ann.ask("team", "status")["problem"] is None
    assert there(database, repository_name) == [(UPLOADS, False)]
    assert bob.ask("team", "pull")["to_review"] == 1


def test_the_worker_does_both_by_itself(ann: Machine, bob: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a folder was pushed or pulled; what is kept afterwards goes, too."""
    ann.ask("team", "push")
    bob.ask("team", "pull")
    ann.keep(UPLOADS)
    for machine in (ann, bob):
        monkeypatch.setenv("HOME", str(machine.home))
        state = json.loads((machine.store / MEMBERSHIP).read_text())
        (machine.store / MEMBERSHIP).write_text(json.dumps({**state, "run_ms": 0}))
        CatchUp(read_settings(machine.environment), Patience()).scan()
    assert bob.texts() == [UPLOADS]


def test_a_push_that_is_killed_is_finished_by_the_next(
    ann: Machine, database: TeamDatabase, repository_name: str
) -> None:
    """At whatever moment; nothing is there twice."""
    texts = [f"Berth {number} is dredged every {number + 2} weeks, because the silt is fine" for number in range(60)]
    for number, text in enumerate(texts):
        ann.plant(100 + number, text)
    for delay_s in (0.25, 0.3, 0.35, 0.4, 0.45, 0.5):
        ann.killed_after(delay_s, "team", "push")
    ann.ask("team", "push")
    assert sorted(text for text, _ in there(database, repository_name)) == sorted(texts)


def test_a_token_is_kept_for_its_owner_only_and_never_shown(
    ann: Machine, database: TeamDatabase, server: Server
) -> None:
    """A wrong one changes nothing; a revoked one is said."""
    token = database.invite("acme", "Cy")
    joined(ann, f"http://{server.host}", token)
    path = ann.store / MEMBERSHIP
    assert path.stat().st_mode & 0o777 == 0o600
    before = path.read_text()
    for url, given, said in (
        (f"http://{server.host}", "hct_wrong", "does not know this token"),
        (f"http://{server.host}", "secret", "begins with hct_"),
        ("http://team.example.org", token, "https://"), ("ftp://x", token, "https://"),
        ("http://127.0.0.1:9", token, "does not answer"),
    ):  # fmt: skip
        done = run("team", "join", url, data=given.encode(), environment=ann.environment, folder=ann.folder)
        assert (done.returncode > 0, said in done.stderr, given in done.stdout + done.stderr) == (True, True, False), (
            done
        )
    assert path.read_text() == before
    ann.keep(f"the token is {token}")
    assert token not in "".join(ann.texts())
    database.admin.revoke("acme", "Cy")
    done = ann.run("team", "push")
    assert (done.returncode, "team join` again" in done.stderr, token in done.stderr) == (1, True, False)
    assert "token" not in ann.ask("team", "status")
    assert ann.run("team", "leave", "--yes").returncode == 0
    assert not path.exists()
    assert (ann.run("team", "push").returncode, ann.run("team", "status").returncode) == (2, 2)


ANSWERS = {
    "garbage": (200, b"\xff\xfe<html>"), "another API": (200, b'{"data": []}'), "a list": (200, b"[]"),
    "busy": (429, b'{"error": "wait"}'), "conflict": (409, b"no"), "broken": (500, b"oh"), "moved": (302, b""),
    "what is no memory": (200, b'{"memories": [{"key": "x"}, 7], "position": 2, "more": false}'),
    "a position that goes back": (200, b'{"memories": [], "position": -5, "more": true}'),
    "too much": (200, b" " * (33 << 20)),
    "no end": (200, b'{"memories": [], "position": 0, "more": true}'),
}  # fmt: skip


@contextmanager
def answering(status: int, body: bytes, delay_s: float = 0.0) -> Iterator[str]:
    """A server that says the same to everybody, at once or later."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def _say(self) -> None:
            time.sleep(delay_s)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Location", "http://127.0.0.1:9/")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = _say  # noqa: N815 - the library's names

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_address[1]}"
        found.shutdown()


@contextmanager
def counting() -> Iterator[tuple[str, list[str]]]:
    """A server that always has more, and what it was asked and told."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"memories": [7], "position": %d, "more": true}' % len(asked))

        def do_POST(self) -> None:
            asked.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_address[1]}", asked
        found.shutdown()


def test_whatever_a_server_answers_breaks_nothing(ann: Machine) -> None:
    """An error that says what to do, or nothing; no traceback, and nothing counts as pushed."""
    ann.keep(UPLOADS)
    state = json.loads((ann.store / MEMBERSHIP).read_text())
    for name, answer in ANSWERS.items():
        with answering(*answer) as url:
            (ann.store / MEMBERSHIP).write_text(json.dumps({**state, "url": url}))
            for words in (("team", "push"), ("team", "pull")):
                done = ann.run(*words)
                assert "Traceback" not in done.stderr, name
                assert done.returncode in (0, 1), name
                assert done.returncode == 0 or done.stderr.startswith("howcome: "), name
        assert ann.ask("team", "status")["pushed"] == 0, name
        assert ann.texts() == [UPLOADS], name


def test_a_folder_without_a_remote_is_not_shared(tmp_path: Path, database: TeamDatabase, server: Server) -> None:
    """Nor is one whose remote is a path."""
    machine = Machine(tmp_path / "home", repository(tmp_path / "plain"))
    joined(machine, f"http://{server.host}", database.invite("acme", "Dot"))
    machine.keep(UPLOADS)
    done = machine.run("team", "push")
    assert (done.returncode, "git remote add" in done.stderr) == (2, True)


def test_what_was_replaced_does_not_stay_behind(
    ann: Machine, bob: Machine, database: TeamDatabase, repository_name: str
) -> None:
    """What is purged goes, though another took its place; of what was named, the new text follows the old one."""
    first = ann.keep(UPLOADS)
    assert ann.ask("team", "push", first)["pushed"] == 1
    bob.ask("team", "pull")
    settle(bob)
    ann.ask("update", first, SEVEN)
    ann.keep("The tide tables are in feet, since the harbour master reads feet")
    app, one = member(ann, [int(time.time() * 1000)])
    assert (one.run().pushed, one.run().pushed) == (1, 0)
    app.close()
    assert there(database, repository_name) == [(UPLOADS, False), (SEVEN, False)]
    assert bob.ask("team", "pull")["to_review"] == 1
    ann.ask("purge", first, "--yes")
    assert ann.ask("team", "push", ann.one(SEVEN)["id"])["withdrawn"] == 1
    assert there(database, repository_name) == [(SEVEN, False), ("", True)]


def test_a_token_that_only_reads_brings_what_others_shared(
    ann: Machine, bob: Machine, database: TeamDatabase, server: Server
) -> None:
    """Also where it was allowed to write before."""
    bob.keep(SEVEN)
    bob.ask("team", "push")
    joined(bob, f"http://{server.host}", database.invite("acme", "Bob", may_write=False))
    bob.keep("The tide tables are in feet, since the harbour master reads feet")
    ann.keep(UPLOADS)
    ann.ask("team", "push")
    app, one = member(bob, [int(time.time() * 1000)])
    report = one.run()
    app.close()
    assert (report.to_review, report.pushed, report.problems) == (1, 0, [])
    done = bob.run("team", "push")
    assert (done.returncode, "only reads" in done.stderr) == (2, True)


def test_who_leaves_while_the_worker_is_at_it_has_left(ann: Machine) -> None:
    """What the worker writes at its end brings no token back; a command waits for it, the worker for nobody."""
    ann.ask("team", "pull")
    body = b'{"memories": [], "position": 0, "more": false}'
    with answering(200, body, delay_s=1.0) as url:
        state = json.loads((ann.store / MEMBERSHIP).read_text())
        (ann.store / MEMBERSHIP).write_text(json.dumps({**state, "url": url}))
        app, one = member(ann, [int(time.time() * 1000)])
        other_app, other = member(ann, [int(time.time() * 1000)])
        left: list[int] = []
        leaving = threading.Thread(
            target=lambda: (time.sleep(0.3), left.append(ann.run("team", "leave", "--yes").returncode))
        )
        leaving.start()
        threading.Timer(0.2, other.run_if_due).start()
        one.run()
        leaving.join()
        app.close()
        other_app.close()
    assert left == [0]
    assert not (ann.store / MEMBERSHIP).exists()


def test_what_the_server_refuses_is_not_sent_again_unasked(ann: Machine) -> None:
    """But it is when somebody asks, and when it has changed."""
    ident = ann.keep(UPLOADS)
    body = b'{"results": [{"state": "refused", "reason": "too old"}], "memories": [], "position": 0, "more": false}'
    with answering(200, body) as url:
        state = json.loads((ann.store / MEMBERSHIP).read_text())
        (ann.store / MEMBERSHIP).write_text(json.dumps({**state, "url": url}))
        assert list(ann.ask("team", "push")["left_out"].values()) == ["the server: too old"]
        app, one = member(ann, [int(time.time() * 1000)])
        assert (one.run().left_out, one.run().problems) == ({}, [])
        app.close()
        assert ann.run("team", "push", ident).returncode == 1


def test_what_was_sent_before_a_kill_can_be_taken_back(
    ann: Machine, database: TeamDatabase, server: Server, repository_name: str
) -> None:
    """The server has it, the answer was never noted, and then it is purged here."""
    ident = ann.keep(UPLOADS)
    path = ann.store / MEMBERSHIP
    with answering(200, b"no answer") as url:
        path.write_text(json.dumps({**json.loads(path.read_text()), "url": url}))
        assert ann.run("team", "push").returncode == 1
    unsure = json.dumps({**json.loads(path.read_text()), "url": f"http://{server.host}"})
    assert json.loads(unsure)["repositories"]
    path.write_text(unsure)
    assert ann.ask("team", "status")["pushed"] == 0
    assert ann.ask("team", "push")["pushed"] == 1
    path.write_text(unsure)
    ann.ask("purge", ident, "--yes")
    assert ann.ask("team", "push")["withdrawn"] == 1
    assert there(database, repository_name) == [("", True)]


def test_a_server_without_an_end_is_left_in_time(ann: Machine) -> None:
    """Whatever it says of more: some pages, and the rest the next time."""
    ann.ask("team", "pull")
    with counting() as (url, asked):
        path = ann.store / MEMBERSHIP
        path.write_text(json.dumps({**json.loads(path.read_text()), "url": url}))
        app, one = member(ann, [int(time.time() * 1000)])
        one.run()
        app.close()
        assert len(asked) == MAX_PAGES
    assert str(MAX_PAGES) in str(json.loads(path.read_text())["repositories"])


def test_what_came_before_a_kill_is_not_pushed_as_one_s_own(ann: Machine, bob: Machine) -> None:
    """It was stored, and even accepted, but where it came from was never noted."""
    bob.ask("team", "push")
    unsure = (bob.store / MEMBERSHIP).read_text()
    ann.keep(UPLOADS)
    ann.ask("team", "push")
    assert bob.ask("team", "pull")["to_review"] == 1
    settle(bob)
    (bob.store / MEMBERSHIP).write_text(unsure)
    app, one = member(bob, [int(time.time() * 1000)])
    report = one.run()
    app.close()
    assert (report.pushed, report.to_review) == (0, 0)
    assert bob.texts() == [UPLOADS]

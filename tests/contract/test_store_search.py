"""What every store promises about searching: nothing outside the scope, every filter held, best first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.batches import EVERYTHING, START_MS, Transcript, all_hits, equal_weights, find
from tests.hostile.scale import examples

from howcome.domain import events
from howcome.domain.stored import SEARCHES, Filter, Scope

if TYPE_CHECKING:
    from howcome.store.base import Store

PROJECTS = ("quay", "dike", "lock")
WORDS = (
    "gauge", "reading", "upsert", "redis", "migration", "median", "buffer", "resend", "schema", "retry_policy",
    "FooBar", "sluice.py", "数据库迁移", "café",
)  # fmt: skip
TURNS = 12


@pytest.fixture(scope="module")
def filled(shared_store: Store) -> Store:
    """Three projects of two sessions that say the same words, at different times, with tools."""
    for number in range(2 * len(PROJECTS)):
        project = PROJECTS[number % 3]
        transcript = Transcript(
            shared_store, f"/t/{number}.jsonl", session=f"{project}-{number}", cwd=f"/home/mara/{project}"
        )
        for turn in range(TURNS):
            words = " ".join(WORDS[(turn * (number + 1) + step) % len(WORDS)] for step in range(5))
            transcript.add(
                transcript.prompt(f"why {words}? {project}secret"),
                transcript.call(f"grep {words} {project}secret"),
                transcript.result(f"found {words} {project}secret", origin="external" if turn % 2 else "tool"),
                transcript.answer(f"because {words} {project}secret"),
            )
    shared_store.index.catch_up()
    shared_store.index.release()
    return shared_store


def project_scope(store: Store, project: str) -> Scope:
    """One project's scope."""
    return Scope.project(store.projects.of_path(f"/home/mara/{project}"))


QUESTION = st.lists(
    st.sampled_from([*WORDS, "gauges", "migraton", "redsi", "foo", "bar", "dikesecret", "quaysecret", "because", "zzz"])
    | st.text(max_size=12, alphabet=st.characters(exclude_categories=["Cs"])),
    max_size=8,
).map(" ".join)


@settings(max_examples=examples(300), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=QUESTION, project=st.sampled_from(PROJECTS), before=st.none() | st.integers(-10, 60))
def test_no_search_ever_leaves_its_scope(filled: Store, question: str, project: str, before: int | None) -> None:
    """Whatever is asked in one project, of any kind of search, every row belongs to that project."""
    before_ms = None if before is None else START_MS + 1000 * before
    wanted = Filter(project_scope(filled, project), before_ms=before_ms)
    for kind, hits in all_hits(filled, question, wanted).items():
        rows = {row for hit in hits for row in (hit.row, hit.exchange)}
        found = filled.log.events(rows)
        assert {event.project for event in found.values()} <= {f"/home/mara/{project}"}, kind
        assert all(before_ms is None or hit.ts_ms < before_ms for hit in hits), kind


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(question=QUESTION)
def test_an_unknown_project_finds_nothing(filled: Store, question: str) -> None:
    """A folder that the store has never seen holds nothing; nor does a project that does not exist."""
    for scope in (Scope.project(None), project_scope(filled, "nowhere"), Scope.project(4711)):
        assert not any(all_hits(filled, question, Filter(scope)).values())


@pytest.mark.parametrize("word", WORDS)
def test_all_projects_together_are_everything(filled: Store, word: str) -> None:
    """The scopes of the projects part what the whole store finds: nothing is missing, nothing is in two."""
    parts = [all_hits(filled, word, Filter(project_scope(filled, project))) for project in PROJECTS]
    for kind, hits in all_hits(filled, word).items():
        rows = sorted(hit.row for part in parts for hit in part[kind])
        assert rows == sorted(hit.row for hit in hits)
    assert all(parts[number]["events"] for number in range(3)), "every project says it"


@pytest.mark.parametrize("word", WORDS)
def test_a_word_finds_exactly_the_events_that_hold_it(filled: Store, word: str) -> None:
    """A search for one word misses no tool event that says it, and finds none that does not."""
    rows = find(filled, word, Filter(Scope.everything(), kinds=(events.TOOL_CALL, events.TOOL_RESULT)), limit=1000)
    for row, event in filled.log.events(range(1, filled.log.last_position() + 1)).items():
        if event.kind in (events.TOOL_CALL, events.TOOL_RESULT):
            assert (word in event.excerpt) == (row in rows)


def test_only_what_is_older_than_before(filled: Store) -> None:
    """The bound itself is out; a bound before everything finds nothing."""
    bound = START_MS + 1000 * 20
    for hits in all_hits(filled, "gauge reading", Filter(Scope.everything(), before_ms=bound)).values():
        assert all(hit.ts_ms < bound for hit in hits)
    times = {hit.ts_ms for hit in all_hits(filled, "gauge reading")["events"]}
    limited = {
        hit.ts_ms for hit in all_hits(filled, "gauge reading", Filter(Scope.everything(), before_ms=bound))["events"]
    }
    assert limited == {ts_ms for ts_ms in times if ts_ms < bound}
    for early in (START_MS, 1, 0, -1, -(10**18)):
        assert not any(all_hits(filled, "gauge", Filter(Scope.everything(), before_ms=early)).values())


def test_sessions_can_be_left_out(filled: Store) -> None:
    """None of their rows, all of the others'."""
    out = [*filled.sessions.named("quay-0"), *filled.sessions.named("dike-4")]
    for kind, hits in all_hits(filled, "gauge reading").items():
        left = all_hits(filled, "gauge reading", Filter(Scope.everything(), without=out))[kind]
        assert {hit.row for hit in left} == {hit.row for hit in hits if hit.session_id not in out}


@pytest.mark.parametrize("kinds", [("user_prompt",), ("tool_call", "tool_result"), events.TURN_KINDS, ()])
def test_kinds_narrow_an_event_search(filled: Store, kinds: tuple[str, ...]) -> None:
    """Only events of the kinds asked for, and all of those; no kind is no event."""
    wanted = Filter(Scope.everything(), kinds=kinds)
    found = filled.log.events(find(filled, "gauge", wanted, limit=1000))
    every = filled.log.events(find(filled, "gauge", limit=1000))
    assert set(found) == {row for row, event in every.items() if event.kind in kinds}
    assert bool(found) == bool(kinds)


@pytest.mark.parametrize("origins", [("user",), ("external",), events.PUSHED_ORIGINS])
def test_origins_narrow_an_event_search(filled: Store, origins: tuple[str, ...]) -> None:
    """Only words from where they were asked for: with the two that may be pushed, never a tool's."""
    for kind, hits in all_hits(filled, "gauge reading", Filter(Scope.everything(), origins=origins)).items():
        if kind != "exchanges":
            assert {event.origin for event in filled.log.events(hit.row for hit in hits).values()} <= set(origins)
    assert find(filled, "gauge", Filter(Scope.everything(), origins=origins))


@pytest.mark.parametrize("limit", [1, 3, 10])
def test_hits_come_best_first_and_a_limit_keeps_the_best(filled: Store, limit: int) -> None:
    """Scores fall; the first hits of a short list are as good as those of a long one; each row once."""
    for kind, hits in all_hits(filled, "gauge upsert migration").items():
        scores = [hit.score for hit in hits]
        assert scores == sorted(scores, reverse=True), kind
        assert len({hit.row for hit in hits}) == len(hits), kind
        first = all_hits(filled, "gauge upsert migration", limit=limit)[kind]
        assert [hit.score for hit in first] == pytest.approx(scores[:limit]), kind


def test_more_of_the_words_is_a_better_hit(store: Store) -> None:
    """Two words asked for beat one; a word counted more beats a word counted less."""
    transcript = Transcript(store)
    both, one, other = transcript.add(
        transcript.prompt("upsert keeps the revision"), transcript.prompt("upsert alone in here"),
        transcript.prompt("revision alone in here"),
    )[1]  # fmt: skip
    store.index.catch_up()
    upsert, revision = store.index.analyze("upsert revision")
    for rarer, winner in ((upsert, one), (revision, other)):
        weights = {upsert: 1.0, revision: 1.0, rarer: 3.0}
        exchanges = [hit.exchange for hit in store.index.search("exchanges", weights, EVERYTHING, 10)]
        assert exchanges[0] == both or exchanges[:2] == [winner, both]
        assert exchanges.index(winner) < exchanges.index(other if winner == one else one)
        assert {hit.row for hit in store.index.search("events", weights, EVERYTHING, 10)} == {both, one, other}


@pytest.mark.parametrize(
    ("asked", "said"),
    [("migartion", "migration"), ("redsi", "redis"), ("bufer", "buffer"), ("medain", "median"), ("upzert", "upsert")],
)
def test_a_typo_finds_the_word_one_edit_away(filled: Store, asked: str, said: str) -> None:
    """A letter missing, swapped or wrong: the same events as for the right word."""
    fuzzy = {hit.row for hit in filled.index.search("fuzzy", equal_weights(filled, asked), EVERYTHING, 1000)}
    assert not find(filled, asked)
    assert fuzzy >= set(find(filled, said, limit=1000)) > set()


def test_known_terms_that_begin_like_an_unknown_one(filled: Store) -> None:
    """The most frequent first, with their frequencies; nothing for what begins no term."""
    assert filled.index.similar_terms("migr", Scope.everything())[0][0].startswith("migrat")
    assert all(count > 0 for _, count in filled.index.similar_terms("re", Scope.everything(), 3))
    assert len(filled.index.similar_terms("re", Scope.everything(), 3)) <= 3
    assert filled.index.similar_terms("qqq", Scope.everything()) == []


def test_names_are_found_exactly(filled: Store) -> None:
    """A file or identifier finds the events that mention it, whatever its case was; frequencies say how many."""
    names = ["foobar", "sluice.py", "retry_policy", "gauge", "no_such"]
    total, frequencies = filled.index.name_frequencies(names, Scope.everything())
    assert total == filled.accounts.counts()["events"]
    assert frequencies["gauge"] == frequencies["no_such"] == 0
    for name, written in (("foobar", "FooBar"), ("sluice.py", "sluice.py"), ("retry_policy", "retry_policy")):
        hits = filled.index.search("names", {name: 1.0}, EVERYTHING, 1000)
        assert len(hits) == frequencies[name] > 0
        assert all(written in event.excerpt for event in filled.log.events(hit.row for hit in hits).values())


@pytest.mark.parametrize(
    "asked", ["foo", "bar", "foobar", "foo_bar", "foo-bar", "retry", "policy", "sluice", "数据库", "迁移"]
)
def test_parts_and_other_spellings_of_an_identifier_find_it(filled: Store, asked: str) -> None:
    """CamelCase by its parts and in snake_case, a file by its stem, CJK by any pair of characters."""
    assert find(filled, asked)


def test_the_terms_of_a_question_are_stemmed_and_unique(store: Store) -> None:
    """Stop words are out, forms of a word meet, each term once, in order; an empty question has none."""
    assert store.index.analyze("Why are the migrations migrating the migration?") == store.index.analyze("migration")
    assert store.index.analyze("the of and") == store.index.analyze("") == store.index.analyze("?!…") == []


def test_rare_terms_weigh_more_and_unknown_ones_are_known_to_be(filled: Store) -> None:
    """Weights fall with frequency; what nobody ever said is not among the known terms."""
    terms = filled.index.analyze("gauge quaysecret zzzunheard")
    weights = filled.index.weigh(terms)
    assert weights.known == set(terms[:2])
    assert weights.windows[terms[0]] <= weights.windows[terms[2]]
    assert weights.exchanges[terms[0]] < weights.exchanges[terms[1]] < weights.exchanges[terms[2]]
    assert weights.totals["events"] == filled.accounts.counts()["events"]
    assert weights.totals["exchanges"] == 6 * TURNS


def test_an_empty_store_finds_nothing(store: Store) -> None:
    """No index yet is no error."""
    assert not any(all_hits(store, "anything at all").values())
    assert store.index.similar_terms("any", Scope.everything()) == []
    assert store.index.name_frequencies(["any"], Scope.everything()) == (0, {"any": 0})
    assert store.index.weigh(["any"]).known == set()
    assert store.index.lag() == 0


def test_no_terms_find_nothing(filled: Store) -> None:
    """An empty question is no question, not a question for everything."""
    for what in SEARCHES:
        assert filled.index.search(what, {}, EVERYTHING, 10) == []


def test_a_session_that_changes_its_project_is_kept_apart(store: Store) -> None:
    """An agent that walks into another repository within one exchange: each event is found in its own project only."""
    transcript = Transcript(store)
    transcript.add(
        transcript.prompt("harbour masterplan please"),
        transcript.answer("harbour masterplan is in the other repository", cwd="/home/mara/dike"),
        transcript.prompt("thanks for the masterplan", cwd="/home/mara/dike"),
    )
    store.index.catch_up()
    for folder, said in (("quay", {"harbour masterplan please"}), ("dike", {"thanks for the masterplan",
            "harbour masterplan is in the other repository"})):  # fmt: skip
        wanted = Filter(project_scope(store, folder))
        for kind, hits in all_hits(store, "harbour masterplan", wanted).items():
            found = store.log.events({row for hit in hits for row in (hit.row, hit.exchange)}, with_text=True)
            rows = [hit.row for hit in hits]
            assert {found[row].text for row in rows} <= said, f"{kind} in {folder}"

"""From candidates to memories, as a pure function: once each, the last word on a subject."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from howcome.domain.memories import Memory
from howcome.domain.reconciliation import Known, Plan, StoredCandidate
from howcome.learn.reconcile import reconcile

TEXTS = (
    "The tide poller waits 30s between reads.", "The tide poller waits 60s between reads.",
    "Between reads the tide poller waits 30s", "Celery chosen over RQ for berth jobs.",
    "RQ chosen over Celery for berth jobs.", "gauge-core is pinned to 1.21 in tide.toml.",
    "In tide.toml gauge-core is pinned to 1.21.",
)  # fmt: skip


def key_of(text: str, kind: str) -> bytes:
    """A key: the same for the same words."""
    return f"{kind} {text.casefold()}".encode()


def said(text: str, ts_ms: int, kind: str = "decision", **fields: Any) -> StoredCandidate:
    """A candidate, borne out by an event of its own."""
    fields = {"origin": "assistant", "evidence": (f"ev-{ts_ms:012x}",), **fields}
    return StoredCandidate(key_of(text, kind), kind, text, ts_ms=ts_ms, **fields)


def kept(text: str, kind: str = "decision", **fields: Any) -> Memory:
    """A memory that is there; by hand unless it is said otherwise."""
    values = {
        "row": 1, "key": key_of(text, kind), "type": kind, "text": text, "project": "/quay", "agent": None,
        "origin": "user", "status": "open", "created_ms": 1, "supersedes": None, "superseded_by": None,
        "deleted_ms": None, "purged_ms": None, "access_count": 0, "source": "hand", "subject": "", "said_ms": None,
        "pinned_ms": None, "status_ms": None, "wrong_ms": None, "supersedes_key": None, "superseded_by_key": None,
    }  # fmt: skip
    return Memory({**values, **fields})


def plan_of(*candidates: StoredCandidate, **known: Any) -> Plan:
    """What candidates give."""
    return reconcile(Known(1, candidates, **known))


def shape(plan: Plan) -> object:
    """Everything that a plan says."""
    return (
        [
            (one.type, one.text, one.origin, one.subject, one.said, one.evidence, one.supersedes)
            for one in plan.wanted
        ],
        plan.same, sorted(plan.reviews.items()),
    )  # fmt: skip


def reviews(plan: Plan) -> list[tuple[str, str, str]]:
    """Pairs to be looked at."""
    return [(older.decode(), newer.decode(), reason) for (older, newer), reason in plan.reviews.items()]


def test_the_same_words_are_one_memory_with_all_its_evidence() -> None:
    """Every time it was said, the first wording, the least trusted of those who said it."""
    plan = plan_of(
        said("Berth jobs run on celery.", 200, origin="tool"), said("berth jobs run on  Celery.", 100, origin="user"),
    )  # fmt: skip
    # two spacings have two keys here: the store's keys know no spacing, and their words are the same anyhow
    [one] = plan.wanted
    assert (one.text, one.origin, [ms for ms, _ in one.said]) == ("berth jobs run on  Celery.", "tool", [100, 200])
    assert list(one.evidence) == ["ev-000000000064", "ev-0000000000c8"]
    assert len(one.parts) == 2


def test_the_same_words_of_two_kinds_are_one_memory() -> None:
    """What a report calls a decision and a commit only states is the decision, whichever was read or said first."""
    for order in (1, -1):
        plan = plan_of(*[said(TEXTS[0], 10, "discovery"), said(TEXTS[0].upper(), 20, "decision")][::order])
        [one] = plan.wanted
        assert (one.type, one.text, [ms for ms, _ in one.said]) == ("decision", TEXTS[0].upper(), [10, 20])
    other = TEXTS[0].replace("waits", "sleeps")
    assert len(plan_of(said(TEXTS[0], 10, "discovery"), said(other, 20)).wanted) == 2
    assert len(plan_of(said(TEXTS[0], 10, "context"), said(TEXTS[0], 20)).wanted) == 2  # a task is no decision


def test_the_same_failure_again_is_one_memory_with_the_fullest_example() -> None:
    """All sessions bear it out; another remedy is another memory, and nothing is superseded."""
    plain = "`make lint` failed: errcheck: the value is not checked. It passed after a change of the code."
    fuller = plain.replace("the code.", "the code (`f.Close()` became `defer closed(f)`).")
    ignored = "`make lint` failed: errcheck: the value is not checked. It passed with a comment."
    for order in (1, -1):
        rows = [
            *(said(text, ms, "failure", subject="code") for text, ms in ((plain, 10), (fuller, 20), (plain, 30))),
            said(ignored, 40, "failure", subject="mark"),
        ]
        again, other = plan_of(*rows[::order]).wanted
        assert (again.text, [ms for ms, _ in again.said], again.supersedes) == (fuller, [10, 20, 30], None)
        assert (other.text, other.supersedes) == (ignored, None)


def test_other_words_for_the_same_point_to_the_earliest() -> None:
    """Whatever their order; a number makes them two."""
    plan = plan_of(said(TEXTS[0], 20), said(TEXTS[2], 10), said(TEXTS[1], 30))
    assert [one.text for one in plan.wanted] == [TEXTS[2], TEXTS[1]]
    assert [ms for ms, _ in plan.wanted[0].said] == [10, 20]


def test_what_contradicts_is_looked_at_by_somebody() -> None:
    """Both stay: a number, another choice over the same."""
    other = TEXTS[3].replace("Celery", "Dramatiq")
    plan = plan_of(*(said(text, number) for number, text in enumerate([*TEXTS[:2], TEXTS[3], other])))
    assert len(plan.wanted) == 4
    assert sorted(reason for _, _, reason in reviews(plan)) == ["choice", "number"]
    assert not any(one.supersedes for one in plan.wanted)


CELERY, RQ = "Celery over RQ for the task queue: RQ has no retries", "We use RQ instead of Celery, which is too heavy"
"""A choice, and a week later the other way round, in other words."""

RQ_FOR_TIDES = "RQ over Celery for the tide exports: it needs no broker"


def chain(plan: Plan) -> list[tuple[bytes, bytes]]:
    """Who takes whose place."""
    return [*((one.supersedes, one.key) for one in plan.wanted if one.supersedes), *plan.taken]


def test_the_other_way_round_later_takes_the_place() -> None:
    """Whatever is read first, in other words, said by people or by agents; nobody has to look at it."""
    for origin in ("user", "assistant"):
        for order in (1, -1):
            rows = [said(CELERY, 10, origin=origin), said(RQ, 20, kind="pattern", origin=origin)]
            plan = plan_of(*rows[::order])
            assert (chain(plan), reviews(plan)) == ([(rows[0].key, rows[1].key)], [])
    back = plan_of(*(said(text, ms) for text, ms in ((CELERY, 10), (RQ, 20), (CELERY, 30))))
    assert chain(back) == [(key_of(RQ, "decision"), key_of(CELERY, "decision"))]


def test_a_choice_for_something_else_takes_no_place() -> None:
    """The tides are no task queue."""
    plan = plan_of(said(CELERY, 10), said(RQ_FOR_TIDES, 20))
    assert (chain(plan), reviews(plan)) == ([], [])


def test_an_agents_word_never_takes_a_persons_place() -> None:
    """It is put up; a person's takes anybody's, and a tool's not an agent's."""
    for theirs, ours, taken in (
        ("user", "assistant", False), ("user", "tool", False), ("assistant", "tool", False),
        ("assistant", "user", True), ("tool", "assistant", True), ("tool", "user", True),
    ):  # fmt: skip
        plan = plan_of(said(CELERY, 10, origin=theirs), said(RQ, 20, origin=ours))
        assert (len(chain(plan)), [reason for *_, reason in reviews(plan)]) == (
            (1, []) if taken else (0, ["choice"])
        ), (theirs, ours)  # fmt: skip


def test_several_that_chose_otherwise_stand_in_a_row() -> None:
    """One takes the place of one."""
    again = "Celery was chosen over RQ: flower shows what is going on there"
    plan = plan_of(said(CELERY, 10), said(again, 15), said(RQ, 20))
    keys = [key_of(text, "decision") for text in (CELERY, again, RQ)]
    assert sorted(chain(plan)) == sorted([(keys[1], keys[2]), (keys[0], keys[1])])


def test_the_other_way_round_holds_for_what_is_kept_by_hand() -> None:
    """Either may be the later one; two that are kept are put up; what is pinned or forgotten is left alone."""
    hand = kept(CELERY, "context", created_ms=15)
    assert chain(plan_of(said(RQ, 20, origin="user"), kept=[hand])) == [(hand.key, key_of(RQ, "decision"))]
    assert chain(plan_of(said(RQ, 10, origin="user"), kept=[hand])) == [(key_of(RQ, "decision"), hand.key)]
    assert chain(plan_of(said(RQ, 20), kept=[hand])) == []
    two = plan_of(kept=[hand, kept(RQ, row=2, created_ms=20)])
    assert (chain(two), [reason for *_, reason in reviews(two)]) == ([], ["choice"])
    for fields in ({"pinned_ms": 16}, {"deleted_ms": 16}):
        assert chain(plan_of(said(RQ, 20, origin="user"), kept=[kept(CELERY, created_ms=15, **fields)])) == []


def test_what_holds_everywhere_does_not_go_for_one_project() -> None:
    """An exception is put up; only what holds everywhere, too, takes its place. The other way is free."""
    wide = kept(CELERY, created_ms=15, project=None)
    plan = plan_of(said(RQ, 20, origin="user"), kept=[wide])
    assert (chain(plan), [reason for *_, reason in reviews(plan)]) == ([], ["choice"])
    everywhere = reconcile(Known(1, [said(RQ, 20, origin="user")], kept=[wide], is_everywhere=True))
    assert chain(everywhere) == [(wide.key, key_of(RQ, "decision"))]
    assert chain(plan_of(said(RQ, 10, origin="user"), kept=[wide])) == [(key_of(RQ, "decision"), wide.key)]


def test_what_is_said_again_after_it_was_turned_round_is_the_last_word() -> None:
    """What somebody kept stands for what was said before that, not for what was said after it."""
    hand = kept(CELERY, "context", created_ms=15, superseded_by=2)
    newer = kept(RQ, row=2, created_ms=20, supersedes=1)
    assert plan_of(said(CELERY, 12), kept=[hand, newer]).same == {key_of(CELERY, "decision"): hand.key}
    plan = plan_of(said(CELERY, 12), said(CELERY, 30, origin="user"), kept=[hand, newer])
    assert chain(plan) == [(newer.key, key_of(CELERY, "decision"))]


def test_two_failures_that_differ_in_a_number_are_two() -> None:
    """Nobody has to look at them."""
    assert not plan_of(said(TEXTS[0], 1, "failure"), said(TEXTS[1], 2, "failure")).reviews


def test_the_last_word_on_a_subject_takes_the_place_of_those_before() -> None:
    """The chain is whole, and nobody has to look at it."""
    plan = plan_of(
        said("gauge-core 1.22 is used", 3, "dependency", subject="gauge-core"),
        said("gauge-core 1.20 is used", 1, "dependency", subject="gauge-core"),
        said("gauge-core 1.21 is used", 2, "dependency", subject="gauge-core"),
        said("gauge-core stays in use", 1, "decision", subject="gauge-core"),
    )  # fmt: skip
    old, middle, new = (f"gauge-core 1.2{number} is used" for number in range(3))
    chain = [(one.text, one.supersedes) for one in plan.wanted if one.type == "dependency"]
    assert chain == [(old, None), (middle, key_of(old, "dependency")), (new, key_of(middle, "dependency"))]
    assert not plan.reviews


def test_what_somebody_brought_back_is_not_superseded_by_what_is_forgotten() -> None:
    """Before that it is: to forget the last word brings no earlier one back."""
    old, new = (said(f"gauge-core 1.2{number} is used", number, "dependency", subject="g") for number in (1, 2))
    for by, taken in ((2, old.key), (None, None)):
        older = kept(old.text, old.type, source="rules", superseded_by=by)
        newer = kept(new.text, new.type, row=2, source="rules", deleted_ms=9)
        known = Known(1, [old, new], kept=[older, newer], derived={old.key, new.key}, touched={new.key})
        assert [one.supersedes for one in reconcile(known).wanted] == [None, taken]


def test_what_is_said_again_later_is_the_last_word() -> None:
    """Back to the first version: it takes the place of the second, in no circle."""
    first, second = "gauge-core 1.20 is used", "gauge-core 1.21 is used"
    plan = plan_of(*(said(text, ms, "dependency", subject="g") for ms, text in enumerate((first, second, first))))
    assert [(one.text, one.supersedes) for one in plan.wanted] == [
        (second, None), (first, key_of(second, "dependency"))
    ]  # fmt: skip


def test_what_somebody_keeps_already_is_not_said_twice() -> None:
    """By hand, in other words, forgotten or not: it is as they left it."""
    hand = kept(TEXTS[0], kind="context", deleted_ms=5)
    plan = plan_of(said(TEXTS[2], 10), kept=[hand])
    assert (plan.wanted, plan.same) == ([], {key_of(TEXTS[2], "decision"): hand.key})


def test_what_contradicts_somebodys_memory_takes_no_place() -> None:
    """A person looks at the two."""
    hand = kept(TEXTS[0], subject="tide wait", created_ms=5)
    plan = plan_of(said(TEXTS[1], 10, subject="tide wait"), kept=[hand])
    assert [one.supersedes for one in plan.wanted] == [None]
    assert reviews(plan) == [("decision the tide poller waits 30s between reads.",
                              "decision the tide poller waits 60s between reads.", "subject")]  # fmt: skip


def test_what_somebody_pinned_is_not_superseded() -> None:
    """It is put on the list."""
    first, second = "gauge-core 1.20 is used", "gauge-core 1.21 is used"
    pinned = kept(first, "dependency", source="rules", pinned_ms=4, subject="g")
    plan = plan_of(
        said(first, 1, "dependency", subject="g"), said(second, 2, "dependency", subject="g"), kept=[pinned],
        derived={pinned.key}, touched={pinned.key},
    )  # fmt: skip
    assert [one.supersedes for one in plan.wanted] == [None, None]
    assert [reason for _, _, reason in reviews(plan)] == ["subject"]


def test_what_somebody_forgot_stands_for_all_that_say_it() -> None:
    """An earlier wording, read later, does not bring it back."""
    forgotten = kept(TEXTS[0], source="rules", deleted_ms=50)
    known = {"kept": [forgotten], "derived": {forgotten.key}, "touched": {forgotten.key}}
    [one] = plan_of(said(TEXTS[2], 10), said(TEXTS[0], 20), **known).wanted
    assert one.key == forgotten.key
    assert one.first_ms == 10


def test_what_is_gone_is_compared_with_nothing() -> None:
    """A memory whose candidates vanished, and that nobody touched, keeps nothing out."""
    gone = kept(TEXTS[0], source="rules")
    assert [one.text for one in plan_of(said(TEXTS[2], 10), kept=[gone], derived={gone.key}).wanted] == [TEXTS[2]]
    touched = plan_of(said(TEXTS[2], 10), kept=[gone], derived={gone.key}, touched={gone.key})
    assert (touched.wanted, touched.same) == ([], {key_of(TEXTS[2], "decision"): gone.key})


def test_meaning_finds_the_same_in_other_words() -> None:
    """From .95 on, unless a number, a "not" or a choice tells them apart."""
    one, other, third = "The poller sleeps 30s", "Tide reads pause 30s", "Tide reads pause 45s"
    keys = [key_of(text, "decision") for text in (one, other, third)]
    cosines = {keys[1]: [(keys[0], 0.96)], keys[2]: [(keys[0], 0.97), (keys[1], 0.99)]}
    known = Known(1, [said(one, 1), said(other, 2), said(third, 3)])
    plan = reconcile(known, lambda key: cosines.get(key, ()))
    assert [wanted.text for wanted in plan.wanted] == [one, third]


def test_what_somebody_called_wrong_is_known_by_its_meaning() -> None:
    """Another type, another subject, a word more, other words that mean the same; but no other number."""
    text = (
        "The tide poller in tide/poll.py waits 30s between two reads of one gauge when the harbour master asks for it"
    )
    near_text = "Gauge reads pause 30s in tide/poll.py"
    wrong = kept(text, source="rules", deleted_ms=50, wrong_ms=50, subject="a")
    rows = [
        said(text.upper().replace("TIDE/POLL.PY", "tide/poll.py"), 10, "context", subject="b"),
        said(text.replace("between two", "nowadays between two"), 20, "discovery"), said(near_text, 30, "pattern"),
        said(text.replace("30s", "60s"), 40), said(text, 60),
    ]  # fmt: skip
    cosines = {rows[2].key: [(wrong.key, 0.96)]}
    for derived in (set(), {wrong.key}):  # kept as it is, or made from what is said here
        known = Known(1, rows if derived else rows[:4], kept=[wrong], derived=derived, touched=derived)
        plan = reconcile(known, lambda key: cosines.get(key, ()))
        assert {one.text for one in plan.wanted} - {text} == {rows[3].text}
    plain = kept(text, source="rules", deleted_ms=50, subject="a")
    assert len(plan_of(*rows[:4], kept=[plain]).wanted) == 4


CANDIDATES = st.builds(
    lambda text, ts_ms, kind, subject, origin: said(text, ts_ms, kind, subject=subject, origin=origin),
    st.sampled_from(TEXTS), st.integers(0, 9), st.sampled_from(["decision", "context"]),
    st.sampled_from(["", "a", "b"]), st.sampled_from(["user", "assistant", "tool"]),
)  # fmt: skip


CHOICES = st.builds(
    lambda text, ts_ms, kind, origin: said(text, ts_ms, kind, origin=origin),
    st.sampled_from([CELERY, RQ, RQ_FOR_TIDES, TEXTS[3], TEXTS[4]]), st.integers(0, 9),
    st.sampled_from(["decision", "pattern"]), st.sampled_from(["user", "assistant", "tool"]),
)  # fmt: skip


@given(st.lists(CANDIDATES | CHOICES, max_size=14), st.integers())
def test_the_order_of_reading_changes_nothing(candidates: list[StoredCandidate], seed: int) -> None:
    """The same candidates give the same memories."""
    shuffled = list(candidates)
    random.Random(seed).shuffle(shuffled)
    wrong = kept(TEXTS[0], source="rules", deleted_ms=5, wrong_ms=5)
    for known in ({}, {"kept": [wrong], "derived": {wrong.key}, "touched": {wrong.key}}):
        plan = reconcile(Known(1, candidates, **known))  # type: ignore[arg-type]
        assert shape(plan) == shape(reconcile(Known(1, shuffled, **known)))  # type: ignore[arg-type]
        assert not known or not [
            one for one in plan.wanted if one.text in (TEXTS[0], TEXTS[2]) and one.key != wrong.key
        ]
    superseded = [one.supersedes for one in plan.wanted if one.supersedes]
    assert len(superseded) == len(set(superseded))
    assert {one.key for one in plan.wanted} >= set(superseded)
    by_key = {one.key: one for one in plan.wanted}
    for one in plan.wanted:  # no circle
        assert one.supersedes is None or by_key[one.supersedes].last_ms <= one.last_ms

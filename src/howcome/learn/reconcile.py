"""From all that a project's sessions taught to its memories: each once, the latest word last, whatever was read first.

A pure function of all candidates of a project and of what people did to its memories: the order in which transcripts
were read, and how often, changes nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise

from howcome.domain import memories
from howcome.domain.candidates import TRUST, WISH, asked_and_chosen, least_trusted, users_words
from howcome.domain.events import ORIGIN_USER
from howcome.domain.memories import Memory
from howcome.domain.reconciliation import Known, Plan, StoredCandidate, Wanted
from howcome.domain.text import STOP_WORDS
from howcome.learn.likeness import Statement, WordPairs, difference, is_same
from howcome.learn.taking_back import Stand, taken_back

Near = Callable[[bytes], Iterable[tuple[bytes, float]]]

_DECIDED = frozenset(("decision", "pattern", "dependency"))
"""What can be taken back."""

_REVIEWED = _DECIDED | {"discovery"}
"""What can be contradicted: two failures that differ in a number are two."""

_TURNING = frozenset("on off in out over under no not only more less before after without".split())
_WORD = re.compile(r"\w+")
_FAILURE = "failure"
_TELLING = ("decision", _FAILURE, "pattern", "dependency", "discovery")


def reconcile(known: Known, near: Near | None = None) -> Plan:
    """The memories that the candidates of a project give, and the pairs that may contradict each other.

    `near` gives the candidates (keys) whose vectors are near to one's, with the cosine; None: only words are compared.
    """
    return _Reconciliation(known, near or (lambda _key: ())).plan()


class _Group:
    """Candidates that say exactly the same, in the order in which they were said; or a memory that is kept as it is.

    What is kept stands for what is said until `until_ms` (None: for ever): then somebody chose the other way round.
    """

    def __init__(self, first: StoredCandidate | Memory) -> None:
        self.key, self.type, self.text, self.subject = first.key, first.type, first.text, first.subject
        self.said: list[StoredCandidate] = []
        self.kept = first if isinstance(first, Memory) else None
        self.is_users = bool(users_words(first.text))
        self.statement = Statement(users_words(first.text) or first.text)  # what is around them is not the user's
        self.until_ms: int | None = None
        self.is_wrong = self.kept is not None and self.kept.wrong_ms is not None

    @property
    def last_ms(self) -> int:
        """When it was said last."""
        return self.said[-1].ts_ms if self.said else _kept_ms(self)

    @property
    def user_ms(self) -> int:
        """When a person said it last; -1: nobody did."""
        said = [one.ts_ms for one in self.said if one.origin == ORIGIN_USER or any(asked_and_chosen(one.text))]
        return max([*said, *([_kept_ms(self)] if self.kept and self.kept.origin == ORIGIN_USER else [])], default=-1)

    @property
    def order(self) -> tuple[int, str, str, bytes]:
        """Where it stands in time; kept and wrong ones before all: they are what others are compared with."""
        moment_ms = self.said[0].ts_ms if self.said else -2
        return (-1 if self.said and self.is_wrong else moment_ms, self.type, self.text, self.key)


class _Reconciliation:
    def __init__(self, known: Known, near: Near) -> None:
        self._known, self._near = known, near
        self._result = Plan()
        by_hand = {memory.row for memory in known.kept if memory.key not in known.derived}
        self._acted = {one.key for one in known.kept if _is_acted_on(one) or one.superseded_by in by_hand}
        said = {one.key for one in known.candidates}
        superseded = (one for one in known.kept if one.superseded_by is not None)
        self._dead = {one.key for one in known.kept if one.deleted_ms is not None}
        self._dead |= {one.key for one in superseded if one.superseded_by in by_hand or one.key not in said}
        self._live = {memory.key for memory in known.kept if memory.is_live}
        self._taking = {one.key for one in known.kept if one.supersedes and by_hand & {one.supersedes, one.row}}
        self._related: list[tuple[_Group, _Group]] = []
        self._taken_back: list[tuple[_Group, _Group]] = []
        self._members: dict[bytes, list[_Group]] = {}
        self._pinned = {one.key for one in known.kept if one.pinned_ms is not None or one.also}  # gone here, gone there

    def plan(self) -> Plan:
        """Groups, then what says the same, then what takes the place of what."""
        groups = sorted(self._groups(), key=lambda group: group.order)
        heads = self._heads(groups)
        parts: dict[bytes, list[_Group]] = {}
        for group in groups:
            parts.setdefault(heads[group.key], []).append(group)
        kept = {group.key: group for group in groups if group.kept is not None}
        wanted = []
        for head, members in parts.items():
            if head in kept:
                self._result.same |= {group.key: head for group in members if group.kept is None}
                self._members[head] = members
            else:
                wanted.append(self._merged(self._head_of(members), members))
                self._members[wanted[-1].key] = members
        self._chain(wanted, kept)
        whole = {group.key: key for key, members in self._members.items() for group in members}
        sure = list(self._take_back(groups))
        self._turn_round(whole, sure)
        self._review_pairs(whole)
        return self._result

    def _groups(self) -> list[_Group]:
        found: dict[bytes, _Group] = {}
        for one in sorted(self._known.candidates, key=_saying):
            if one.key not in found:
                found[one.key] = _Group(one)
            found[one.key].said.append(one)
        gone = self._known.gone
        for memory in self._known.kept:  # what is not made from candidates is as it is
            if memory.key not in found and memory.key not in gone:
                found[memory.key] = _Group(memory)
        for wrong in (memory.key for memory in self._known.kept if memory.wrong_ms is not None):
            if wrong in found:
                found[wrong].is_wrong = True
        later = {memory.row: memory for memory in self._known.kept}
        for group in found.values():
            if group.kept and (newer := later.get(group.kept.superseded_by or 0)):
                group.until_ms = newer.created_ms if any(taken_back([Stand(group.text), Stand(newer.text)])) else None
        return list(found.values())

    def _head_of(self, members: Sequence[_Group]) -> _Group:
        """What stands for all that say the same: what somebody forgot, changed or read, else the earliest of its kind.

        Of kinds the one that says most about why it was said comes first, whichever was said first; of one failure's
        examples the fullest.
        """
        for theirs in (self._acted, self._known.touched):
            for group in members:
                if group.key in theirs:
                    return group
        return min(members, key=_rank)

    # -- the same ------------------------------------------------------------------------------------------------------
    def _heads(self, groups: Sequence[_Group]) -> dict[bytes, bytes]:
        """Each group's key → the key of the earliest that says the same."""
        statements = [group.statement for group in groups]
        places = {group.key: place for place, group in enumerate(groups)}
        pairs = WordPairs(statements)
        heads: dict[bytes, bytes] = {}
        again: dict[str, _Group] = {}
        for place, group in enumerate(groups):
            heads[group.key] = group.key
            shared = {groups[other].key: share for other, share in pairs.near(place, statements)}
            near = {key: cosine for key, cosine in self._near(group.key) if places.get(key, place) < place}
            for key in sorted(shared.keys() | near, key=places.__getitem__):
                other = groups[places[key]]
                is_passed = other.until_ms is not None and group.last_ms > other.until_ms
                may_be_one = heads[key] == key and not is_passed
                if may_be_one and _says_the_same(other, group, near.get(key, 0.0), shared.get(key, 0.0)):
                    heads[group.key] = key
                    break
                self._related.append((other, group))
            self._join_again(group, heads, again)
        return heads

    @staticmethod
    def _join_again(group: _Group, heads: dict[bytes, bytes], again: dict[str, _Group]) -> None:
        """What failed before and was mended so, or was wished in the same words: one memory, whatever the example."""
        is_one = group.type == _FAILURE or group.subject.startswith(WISH)
        if is_one and group.subject and group.kept is None:
            first = again.setdefault(group.subject, group)
            one, other = first.statement, group.statement
            is_other = group.type != _FAILURE and one.signature[1:3] != other.signature[1:3]  # a number, or a "not"
            is_other = is_other or any(taken_back([Stand(first.text), Stand(group.text)]))
            if heads[group.key] == group.key and not is_other:
                heads[group.key] = heads[first.key]

    def _merged(self, head: _Group, members: Sequence[_Group]) -> Wanted:
        every = sorted((one for group in members for one in group.said), key=_saying)
        said = dict.fromkeys((one.ts_ms, one.evidence[0] if one.evidence else "") for one in every)
        evidence = dict.fromkeys(event for one in every for event in one.evidence)
        named = (group.subject for group in members if group.subject and group.type == head.type)
        subject = head.subject or next(named, "")
        return Wanted(
            head.key,
            head.type,
            head.text,
            origin=least_trusted(one.origin for one in every),
            subject=subject,
            said=tuple(said),
            evidence=tuple(evidence)[: memories.MAX_EVIDENCE],
            parts=tuple(group.key for group in members),
        )

    # -- one after the other -------------------------------------------------------------------------------------------
    def _chain(self, wanted: list[Wanted], kept: dict[bytes, _Group]) -> None:
        """The last word on a subject takes the place of those before; what somebody keeps is looked at by somebody."""
        chains: dict[tuple[str, str], list[Wanted]] = {}
        for one in sorted(wanted, key=lambda one: (one.last_ms, one.first_ms, one.key)):
            self._result.wanted.append(one)
            if one.subject and not one.subject.startswith(WISH):
                chains.setdefault((one.type, one.subject), []).append(one)
        fixed = {(group.type, group.subject): group for group in kept.values() if group.subject and _is_live(group)}
        for about, chain in chains.items():
            last = chain[-1]
            free = [one for one in chain if one.key not in self._pinned]
            for older, newer in pairwise(free):
                if not (newer.key in self._dead and older.key in self._live):  # somebody brought the older one back
                    newer.supersedes = older.key
            for pinned in (one for one in chain[:-1] if one.key in self._pinned):
                self._review(pinned.key, last.key, "subject")
            if about in fixed and _kept_ms(fixed[about]) < last.last_ms:
                self._review(fixed[about].key, last.key, "subject")

    # -- the other way round -------------------------------------------------------------------------------------------
    def _take_back(self, groups: Sequence[_Group]) -> Iterator[tuple[_Group, _Group]]:
        """Pairs of which the later says that the earlier does not hold any more; what is unsure is looked at."""
        told = sorted((one for one in groups if one.kept or one.type in _DECIDED), key=lambda one: one.last_ms)
        for older, newer, is_sure in taken_back([Stand(one.text) for one in told]):
            pair = told[older], told[newer]
            if pair[0].last_ms < pair[1].last_ms:
                self._taken_back.append(pair)
                if is_sure:
                    yield pair

    def _turn_round(self, whole: dict[bytes, bytes], sure: Sequence[tuple[_Group, _Group]]) -> None:
        """Of two that chose the other way round the later takes the place; what it may not take is looked at."""
        losers: dict[bytes, set[bytes]] = {}
        users = (pair for pair in self._related if pair[0].is_users and pair[1].is_users)
        anew = (pair for pair in users if pair[0].statement.words == pair[1].statement.words)  # the later are as meant
        for one, other in (*anew, *sure):
            pair = whole[one.key], whole[other.key]
            about = {group.subject for group in (one, other) if not group.subject.startswith(WISH)} - {""}
            is_one_subject = len(about) < 2 or (one, other) in sure
            if pair[0] == pair[1] or self._dead & set(pair) or _FAILURE in {one.type, other.type} or not is_one_subject:
                continue
            for older, newer in (pair, pair[::-1]):
                if self._outlives(newer, older):
                    losers.setdefault(newer, set()).add(older)
        own = {one.key: one for one in self._result.wanted}
        self._taking |= {one.key for one in own.values() if one.supersedes}
        taken = {one.supersedes for one in own.values()} | self._pinned
        for newer in sorted(losers, key=self._when):
            tail = newer  # one takes the place of one: several stand in a row
            for older in sorted(losers[newer], key=self._when, reverse=True):
                if older in taken or tail in self._taking or not {older, newer} & own.keys():
                    continue
                if older in own and tail in own:
                    own[tail].supersedes = older
                else:
                    self._result.taken.append((older, tail))
                taken.add(older)
                self._taking.add(tail)
                tail = older

    def _when(self, key: bytes) -> tuple[int, int, bytes]:
        """Where a memory stands in time, by its last word, as those of a subject do."""
        first_ms = min(group.said[0].ts_ms if group.said else _kept_ms(group) for group in self._members[key])
        return max(group.last_ms for group in self._members[key]), first_ms, key

    def _outlives(self, newer: bytes, older: bytes) -> bool:
        """Whether one may take another's place: a person's word goes only for a later one of a person's.

        What holds everywhere does not go for an exception in one project.
        """
        if self._when(newer) <= self._when(older) or (self._is_everywhere(older) and not self._is_everywhere(newer)):
            return False
        theirs, ours = (max(group.user_ms for group in self._members[key]) for key in (older, newer))
        if max(theirs, ours) >= 0:
            return ours > theirs
        is_owned = any(group.kept is not None and group.kept.agent is not None for group in self._members[older])
        return not is_owned and self._trust(newer) >= self._trust(older)

    def _is_everywhere(self, key: bytes) -> bool:
        kept = [group.kept for group in self._members[key] if group.kept is not None]
        return any(one.project is None for one in kept) or (not kept and self._known.is_everywhere)

    def _trust(self, key: bytes) -> int:
        groups = self._members[key]
        kept = [group.kept.origin for group in groups if group.kept is not None]
        return TRUST.index(least_trusted([*kept, *(one.origin for group in groups for one in group.said)]))

    # -- contradictions ------------------------------------------------------------------------------------------------
    def _review_pairs(self, whole: dict[bytes, bytes]) -> None:
        superseded = {one.supersedes for one in self._result.wanted if one.supersedes}
        for older, newer in (*self._taken_back, *self._related):
            pair = whole[older.key], whole[newer.key]
            if pair[0] == pair[1] or superseded & set(pair) or not (_is_live(older) and _is_live(newer)):
                continue
            is_back = (older, newer) in self._taken_back
            reason = "choice" if is_back else difference(older.statement, newer.statement)
            if reason and (is_back or _is_reviewed(older, newer)):
                self._review(pair[0], pair[1], reason)

    def _review(self, older: bytes, newer: bytes, reason: str) -> None:
        if (newer, older) not in self._result.reviews:
            self._result.reviews.setdefault((older, newer), reason)


def _rank(group: _Group) -> tuple[int, int]:
    kind = _TELLING.index(group.type) if group.type in _TELLING else len(_TELLING)
    return kind, -len(group.text) if group.type == _FAILURE and group.subject else 0


def _saying(one: StoredCandidate) -> tuple[int, str, str, str, str, tuple[str, ...]]:
    """What orders sayings: the time, and whatever else they hold, so that no order of reading shows."""
    return one.ts_ms, one.type, one.text, one.subject, one.origin, one.evidence


def _kept_ms(group: _Group) -> int:
    return max(group.kept.said_ms or 0, group.kept.created_ms) if group.kept is not None else 0


def _is_live(group: _Group) -> bool:
    return group.kept is None or group.kept.is_live


def _is_acted_on(memory: Memory) -> bool:
    """Whether somebody forgot or pinned it or set its status: it stands for what it says, whoever said it first."""
    return not (memory.deleted_ms is memory.pinned_ms is memory.status_ms is None)


def _is_reviewed(one: _Group, other: _Group) -> bool:
    """Whether the two can contradict each other; who keeps something by hand mostly does not choose a type."""
    chosen = {group.type for group in (one, other) if not (group.kept and group.type == memories.DEFAULT_TYPE)}
    return chosen <= _REVIEWED


def _says_the_same(older: _Group, newer: _Group, cosine: float, shared: float) -> bool:
    if older.is_wrong:  # whatever it is called, and with a word more or less: better too little is learnt than that
        return is_same(older.statement, newer.statement, max(cosine, shared))
    is_wish = older.subject.startswith(WISH) and newer.subject.startswith(WISH)
    if older.subject and newer.subject and older.subject != newer.subject and not is_wish:
        return False
    if older.is_users and newer.is_users and _gist(older) != _gist(newer):
        return False  # "turn it on" and "turn it off", "tabs to spaces" and "spaces to tabs"
    if older.type != newer.type and not (older.kept or newer.kept):
        # A distiller means its types (who keeps something by hand mostly does not choose one): in other words it is
        # another thing. The very same words are one thing, called differently by where they stood; but a task is none.
        return is_same(older.statement, newer.statement) and memories.DEFAULT_TYPE not in {older.type, newer.type}
    return is_same(older.statement, newer.statement, cosine)


def _gist(group: _Group) -> list[str]:
    """The telling words of what a user said, and the small ones that turn a sense round, in their order."""
    told = _WORD.findall(users_words(group.text).casefold())
    wished = set(group.subject.removeprefix(WISH).split()) if group.subject.startswith(WISH) else None
    return [word for word in told if word in _TURNING or (word in wished if wished else word not in STOP_WORDS)]

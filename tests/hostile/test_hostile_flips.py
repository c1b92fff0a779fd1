"""Bytes that are not what was written, in every file of a store.

Whatever is derived heals by the next import, and nobody but `doctor` needs to know. The database itself cannot heal: it
is said, with what to do, and never does one project's history turn up in another.
"""

from __future__ import annotations

import json
import shutil
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any

import apsw
import pytest
from tests.hostile import damage, scale
from tests.hostile.doors import DOORS, Door, complaints, opened
from tests.hostile.stage import rows
from tests.hostile.trials import SHOWN

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.hostile.stage import Stage

FLIPS = scale.rounds(1, 84)
"""In each case: 504 in all."""

ELSEWHERE = Door("search", ("search", "--json", "--project", "/gone/dike", "why does it fail again"), codes=(0, 1, 2))
DEEP = Door("doctor", ("doctor", "--json", "--deep"))
BEFORE_HEALING = (DOORS["UserPromptSubmit"], DOORS["search"], DOORS["status"], DOORS["doctor"])
_PLACES = "SELECT e.key, p.root FROM events e JOIN projects p ON p.id = e.project_id"


@pytest.fixture(scope="module")
def sources(template: Stage, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Stage]:
    """The stores of which copies are damaged, by area."""
    room = tmp_path_factory.mktemp("sources")
    usual = template.copied(room / "usual")
    log = damage.with_log(template.copied(room / "grown"), room / "log")
    return {
        "derived": usual,
        "database": usual,
        "log": log,
        "rest": damage.with_every_file(template.copied(room / "rest")),
    }


def wounded(stage: Stage, number: int) -> list[str]:
    """What is wrong with the doors of a damaged store, before anybody heals it."""
    door = BEFORE_HEALING[number % len(BEFORE_HEALING)]  # by turns: whoever comes first may heal
    # As agents start hooks: a length of damaged bytes may make the binding abort, which no code of ours is asked about.
    found = complaints(door, opened(door, stage, installed=door.is_hook))
    elsewhere = opened(ELSEWHERE, stage)
    found += complaints(ELSEWHERE, elsewhere)
    if elsewhere.code == 0 and not found and b"berth" in elsewhere.out:
        found.append(f"another project's words: {elsewhere.out[:300]!r}")
    return found


def right_answers(stage: Stage) -> list[str]:
    """Whether a search finds what was said."""
    outcome = opened(DOORS["search"], stage)
    found = complaints(DOORS["search"], outcome)
    if not found and (outcome.code or "berth3" not in json.dumps(outcome.answer["results"][:3])):
        found.append(f"search ended with {outcome.code} and found {outcome.out[:200]!r} {outcome.err[:200]!r}")
    return found


def heals(stage: Stage, number: int) -> list[str]:
    """Complaints about a store whose rows are whole: an import, and all is as if nothing had happened."""
    return wounded(stage, number) + stage.wounds() + right_answers(stage)


def integrity(home: Path) -> str:
    """What SQLite says of a database: `ok`, or anything else."""
    try:
        [(said,), *_] = rows(home, "PRAGMA integrity_check(1)")
    except (apsw.Error, ValueError) as error:
        return str(error)
    return str(said)


def says_so(stage: Stage, number: int) -> list[str]:
    """Complaints about a store whose database is damaged: a person hears it, with what to do."""
    before, unsaid = integrity(stage.home), misplaced(stage)
    found = wounded(stage, number)
    doctor = opened(DEEP, stage)
    found += complaints(DEEP, doctor)
    is_said = not found and bool([one for one in errors(doctor.answer) if one["remedy"]])
    if before != "ok" and not found and not is_said:
        found.append(f"doctor --deep finds nothing, though: {before}")
    if before == "ok" and unsaid and not found and not is_said:
        found.append(f"{unsaid}, and doctor --deep finds nothing")
    return found


def misplaced(stage: Stage) -> str:
    """What a database that SQLite finds nothing wrong with no longer holds as it did; '' when it does."""
    whole, places = places_of(stage.root / "whole"), places_of(stage.home)
    if not places.items() <= whole.items():
        return "an event is in another project than it was"
    return f"{len(whole) - len(places)} of {len(whole)} events are gone" if len(places) < len(whole) else ""


def errors(answer: Any) -> list[dict[str, str]]:
    """The findings of `doctor` about the store that are errors."""
    return [one for one in answer["findings"] if one["level"] == "error" and one["check"] != "agents"]


def places_of(home: Path) -> dict[bytes, str]:
    """Which project every event of a store is in; {} when that cannot be read."""
    try:
        return {bytes(key): str(root) for key, root in rows(home, _PLACES)}
    except (apsw.Error, ValueError):
        return {}


CASES = {
    "derived 1": heals, "derived 2": heals, "derived 3": heals, "log": heals, "rest": wounded, "database": says_so,
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_damage_is_healed_or_said(
    case: str, sources: dict[str, Stage], tmp_path: Path, figure: Callable[[str, object], None]
) -> None:
    """Every file of the area by turns, damaged at a place of chance."""
    choice, area = scale.chooser(case), case.split(" ", maxsplit=1)[0]
    source = sources[area]
    names = [path.relative_to(source.home) for path in damage.files(source.home, area)]
    choice.shuffle(names)
    failures = []
    for number, name in enumerate(islice(cycle(names), FLIPS)):
        stage = source.with_same_transcripts(tmp_path / f"stage{number}")
        (stage.root / "whole").symlink_to(source.home)
        done = damage.damaged(stage.home / name, choice)
        failures += [f"{done}: {one}" for one in CASES[case](stage, number)[:1]]
        shutil.rmtree(stage.root)
    figure("damaged", f"{FLIPS} times, {len(names)} files, {len(failures)} not survived")
    assert not failures, f"{len(failures)} of {FLIPS}:\n" + "\n".join(failures[:SHOWN])

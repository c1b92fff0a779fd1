"""Whether what was said stood until the end of what is seen of its session, and speaks of things that are there."""

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.learn import anchors
from howcome.learn.rules.naming import is_about_a_tool, locals_of, own
from howcome.learn.rules.record import Record, place_of
from howcome.learn.rules.soundness import is_about_another, is_one_of_its_kind, stem_of
from howcome.learn.rules.trust import names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from howcome.learn.rules.draft import Draft
    from howcome.learn.rules.record import Edit
    from howcome.learn.rules.scene import Scene

_I = re.IGNORECASE
_OBJECTION = re.compile(
    r"\b(?:i(?:'ve| have)? reverted|revert (?:your|the|this|that|it|those|these|all)|undo (?:your|the|this|that|it)"
    r"|focus only|only (?:do|implement|focus)|any other (?:option|way|idea)|(?:is|are|seems?|feels?)"
    r" not (?:that )?great"
    r"|not great either|don't (?:like|want) (?:that|this|it|the)|let's not\b|(?:nah|no),? let's\b"
    r"|let's (?:roll back|revert|undo)|drop (?:it|this|that|the)\b"
    r"|skip (?:it|this|that|the .{2,30}) for now|get rid of (?:it|this|that)|roll (?:it|this|that) back"
    r"|too (?:complicated|complex)|over-?engineer\w*|let's try (?:option )?\d|instead,? (?:let's|we"
    r" should|can we|could we))\b",
    _I,
)
_REVERTING = re.compile(r"\brevert(?:ed|ing|s)? (?:my|the|that|this|all|our|those|these|back)\b[^.\n]{0,120}", _I)
_ANSWER = re.compile(r"Decision on “.+?”: (?P<answer>.+?)(?:, chosen over |\. )", re.DOTALL)
_REVISED = re.compile(
    r"\bthe rule (?:now )?becomes|\b(?:we|i) changed (?:our|my) mind\b|\brevis(?:ed|ing) (?:the|that|this|our) "
    r"(?:decision|choice|answer|rule)\b",
    _I,
)
_WORD = re.compile(r"[a-z]{4,}")
STEM_CHARS, MIN_SHARED, NEAR_CHARS = 6, 3, 300
_PAST = re.compile(
    r"\b(?:was|were|had|didn't|did not|wasn't|weren't|hadn't|couldn't|caused|failed|broke|leaked|used"
    r" to|got|fell|only had)\b",
    _I,
)
_STILL = re.compile(r"\balso\b(?=.{0,40}\band\b)? (?:was|creating)|\bit was also\b|\bneither\b.{0,20}\beither\b", _I)
_PLACED = re.compile(r"^In `[^`]+`: ")
_OF_THE_CODE = re.compile(r"(?:(?:Since|When|If|As|Because|Once) [^,]*, )?the code (?!of\b|in\b|that\b)", _I)
"""What is said of "the code" is said of a place that nobody names."""

_CODE = re.compile(r"`([^`\n]+)`")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w{5,}")
_SETTING = re.compile(r"[a-z][\w.-]+: ?\S.*|[a-z][\w.-]+=\S+|[a-z]+ [a-z-]+ --?[a-z].*")
"""A setting or a command with its options: what somebody can look for."""

_LIBRARY = re.compile(r"(?!`?git\b)`?[a-z][\w-]*`? (?:does not|doesn't|only|cannot|can't) supports?\b", _I)
_QUOTED = re.compile(r"`([^`]{4,80})`|\"([^\"]{4,80})\"")
_TESTS = re.compile(r"\btest|Test[A-Z]|fixture|mock", _I)
_SYMPTOM = re.compile(
    r"\b(?:not|never|cannot|can't|wrong\w*|lost|loses|empty|fail\w*|errors?|crash\w*|broke\w*|breaks"
    r"|block(?:s|ed|ing)|refus\w+"
    r"|ignor\w+|miss(?:es|ed|ing)|inherits?|interfer\w+|before|too|reuses?|reused|twice|only|always"
    r"|instead|without|leak\w*"
    r"|overwr(?:ites|ote|itten)|duplicat\w+|drops?|dropped|skip(?:s|ped)|incorrect\w*|hang\w*|panics?"
    r"|denied|silently|falls? back|was being|overhead|busy|locked|stuck|held|slow(?:s|er|ly)?|latency)\b"
    r"|n't\b",
    _I,
)
"""What a text has that says what went wrong."""

_FLAG = re.compile(r"(?:(?:Problem|Root cause): )?(?:the )?`--?\w", _I)
_LOOKS_LIKE_CODE = re.compile(r"`|\w_\w|\w\(\)|\w/\w+\.\w|\w\.[a-z]{2,4}\b")
"""In a talk in which nothing is run or read, a name in mixed case is mostly that of a product."""

_PROPOSED = re.compile(r"(?:(?:Problem|Root cause): )?An? `", _I)
_POSSIBLE = re.compile(r"\b(?:it is|it's) possible to\b", _I)
MAX_OBJECTION_CHARS = 600
NEAR_PROMPTS = 2
"""A change that somebody turns against, they turn against at once."""

MIN_LINE_CHARS, MAX_LINE_CHARS = 15, 60
"""So much of a rule's beginning is looked for in later edits."""

MAX_SUBJECT_CHARS = 70
"""What a statement is about stands at its beginning."""

OF_LIBRARY = re.compile(r"(?:(?:the )?`?[a-z]\w*\.\w+\.\w+\(|[\w-]+(?: v\d+)?'s )", _I)
"""What a statement of somebody else's code begins with: a change of one's own does not mend that."""

TOLD = ("discovery", "failure")


def fallen(draft: Draft, text: str, scene: Scene) -> str:
    """Why what a rule took from words is not kept, as one of `candidates.REASONS`; "" when it stands."""
    is_of_calls = text.startswith("`") and "` failed: " in text
    if draft.type == "decision":
        return _fallen_decision(draft, text, scene)
    if draft.type == "pattern":
        return candidates.UNSURE if _is_rewritten(draft, scene) else ""
    if draft.type not in TOLD or is_of_calls or (_is_users(draft) and not _is_of_plan(draft, scene)):
        return ""
    record = record_of(scene)
    names = own(_PLACED.sub("", text))
    if not (names or draft.is_answer or _is_of_tools(draft, text) or _calls_local(text, record)):
        return candidates.NOT_SELF_CONTAINED
    if _STILL.search(text) or _FLAG.match(text) or _OF_THE_CODE.match(stem_of(text)):
        return candidates.NOT_SELF_CONTAINED
    if (
        names
        and record.has_calls()
        and _PROPOSED.match(text)
        and not any(record.holds(_last(name)) for name in names[:2])
    ):
        return candidates.HYPOTHETICAL
    if " Fix: " in text and _is_fix_dropped(text, scene):
        return candidates.UNSURE
    if not (record.has_calls() or draft.is_answer or _LOOKS_LIKE_CODE.search(text)):
        return candidates.NOT_TECHNICAL
    if _POSSIBLE.search(text):
        return candidates.HYPOTHETICAL
    return candidates.UNSURE if is_mended_later(draft, text, scene) else ""


def _is_fix_dropped(text: str, scene: Scene) -> bool:
    """Whether what a fix is told of names no symptom, or somebody objected to the fix."""
    said, _, _fix = text.partition(" Fix: ")
    if not _SYMPTOM.search(said):
        return True
    record = record_of(scene)
    undone = sum(record.is_undone(edit) for edit in record.edits if not edit.number)
    return _is_objected(scene) or 2 * undone > sum(not edit.number for edit in record.edits)


def _is_objected(scene: Scene) -> bool:
    """Whether a person turned against what was done in one of the next prompts."""
    prompts = record_of(scene).prompts(NEAR_PROMPTS)
    return any(len(said.text) <= MAX_OBJECTION_CHARS and _OBJECTION.search(said.text) for said in prompts)


def record_of(scene: Scene) -> Record:
    """What was changed from a scene on."""
    if not isinstance(scene.record, Record):
        scene.record = Record(scene)
    return scene.record


def is_mended_later(draft: Draft, text: str, scene: Scene) -> bool:
    """Whether what is said in the present, without a word on what became of it, is of code that was changed later."""
    stem = stem_of(text)
    if stem != text and not text.startswith(("Problem: ", "Root cause: ", "The cause")):
        return False
    if text.endswith(").") and (" (fixed on " in text or " (before the change" in text):
        return False
    if " Fix: " in text or "by the commit “" in text or _PAST.search(stem) or not draft.sources:
        return False
    if is_about_another(text) or OF_LIBRARY.match(stem):
        return False
    return bool(taken_out(stem, scene, place_of(scene, draft.sources[0])))


def taken_out(stem: str, scene: Scene, place: int) -> list[Edit]:
    """Later changes of the product's code that has a name in it which a statement is about."""
    names = [_last(name) for name in main_names(stem) if "/" not in name and not _is_file(name)]
    later = [edit for edit in record_of(scene).edits if edit.is_after(0, place) and edit.is_code and not edit.is_test]
    return [edit for edit in later if any(name in edit.code_before for name in names)]


def main_names(stem: str) -> list[str]:
    """The names that a statement is about: those at its beginning, or all where none stands there."""
    return own(stem[:MAX_SUBJECT_CHARS]) or own(stem)


def proofs(edits: Sequence[Edit], scene: Scene) -> list[Edit]:
    """Of changes of what a statement names, those that show a fault mended: none that was undone later."""
    record = record_of(scene)
    return [edit for edit in edits if not record.is_undone(edit)]


def is_given_up(text: str, edits: Sequence[Edit], scene: Scene, place: int) -> bool:
    """Whether a change of what a statement names was undone, or the agent says that it takes it back."""
    record = record_of(scene)
    return is_reverted(text, scene, place) or any(record.is_undone(edit) for edit in edits)


def of_its_names(text: str, edits: Sequence[Edit]) -> list[Edit]:
    """Changes of code that took out a name of a statement's, or lie in its file, or have two of its quoted words."""
    stem = stem_of(text)
    owned = own(stem)
    names = [_last(name) for name in owned if not _is_file(name)]
    files = [name for name in owned if _is_file(name)]
    quoted = {match[1] or match[2] for match in _QUOTED.finditer(stem)}
    others = names_of(stem)
    found = []
    for edit in edits:
        if not edit.is_code or (edit.is_test and not _TESTS.search(stem)):
            continue
        if any(name in edit.old for name in names):
            found.append(edit)
            continue
        both = f"{edit.old}\n{edit.new}"
        is_of_words = any(word in edit.old for word in quoted) and sum(word in both for word in quoted) > 1
        if is_of_words or (any(edit.file.endswith(file) for file in files) and _has_any(both.lower(), others)):
            found.append(edit)
    return found


def _has_any(text: str, names: Iterable[str]) -> bool:
    return any(name in text for name in names)


def is_worked_around(text: str, edits: Sequence[Edit]) -> bool:
    """Whether what was changed is only that others no longer use what does not work."""
    names = [_last(name) for name in main_names(stem_of(text))[:1]]
    gone = [edit for edit in edits for name in names if name in edit.code_before and name not in edit.code_after]
    return len(gone) > 1 and 2 * len(gone) > len(edits)


def _is_revised(text: str, scene: Scene, place: int) -> bool:
    """Whether what somebody answered is later said to be otherwise, in its own words."""
    answer = _ANSWER.match(text)
    words = {word[:STEM_CHARS] for word in _WORD.findall(answer["answer"].lower())} if answer else set()
    if len(words) < MIN_SHARED:
        return False
    for said in record_of(scene).told_after(0, place):
        for match in _REVISED.finditer(said.text):
            near = said.text[max(0, match.start() - NEAR_CHARS) : match.end() + NEAR_CHARS].lower()
            if sum(word in near for word in words) >= MIN_SHARED:
                return True
    return False


def is_reverted(text: str, scene: Scene, place: int) -> bool:
    """Whether the agent says later that it takes back a change to what a statement names."""
    names = names_of(text)
    for said in record_of(scene).told_after(0, place):
        for match in _REVERTING.finditer(said.text) if "revert" in said.low else ():
            if names & names_of(match[0]):
                return True
    return False


def _fallen_decision(draft: Draft, text: str, scene: Scene) -> str:
    is_planned = _is_of_plan(draft, scene)
    if _is_users(draft) and not is_planned:
        return ""
    record = record_of(scene)
    names = [_last(name) for name in own(text)]
    place = place_of(scene, draft.sources[0]) if draft.sources else -1
    if is_planned:
        names += [name for code in _CODE.findall(text) for name in _IDENTIFIER.findall(code)]
        if not names or not any(record.stays(name) for name in names):
            return candidates.UNSURE
    elif not draft.is_known_whole and any(record.is_dropped(name) for name in names):
        return candidates.UNSURE
    if not draft.is_known_whole and _is_objected(scene):
        return candidates.UNSURE
    if _is_revised(text, scene, place):
        return candidates.UNSURE
    return candidates.UNSURE if is_reverted(text, scene, place) else ""


def _is_rewritten(draft: Draft, scene: Scene) -> bool:
    """Whether a rule that was put into a file was taken out of it, or worded anew, by a later edit."""
    line = draft.said[:MAX_LINE_CHARS]
    file = draft.sources[0].file if draft.sources else None
    if not file or len(line) < MIN_LINE_CHARS:
        return False
    place = place_of(scene, draft.sources[0])
    later = (edit for edit in record_of(scene).edits if edit.call.file == file and edit.is_after(0, place))
    return any(line in _plain(edit.old) and line not in _plain(edit.new) for edit in later)


def _plain(text: str) -> str:
    """Lines of markdown as sentences are taken from them."""
    return " ".join(text.replace("**", "").split())


def _is_of_plan(draft: Draft, scene: Scene) -> bool:
    """Whether it stands in a plan that was to be carried out."""
    sources = {source.id for source in draft.sources}
    return any(said.is_plan and said.event.id in sources for said in scene.said)


def _is_of_tools(draft: Draft, text: str) -> bool:
    """Whether what it is about is a tool or a library that it names, or the project's only one of its kind."""
    if is_about_a_tool(text) or _LIBRARY.match(stem_of(text)) or is_one_of_its_kind(text):
        return True
    return draft.type == "failure" and any(_SETTING.fullmatch(code) for code in _CODE.findall(text))


def _calls_local(text: str, record: Record) -> bool:
    return any(record.holds(f"{name}(") for name in locals_of(text))


def _is_users(draft: Draft) -> bool:
    return bool(draft.sources) and all(source.origin == "user" for source in draft.sources)


def _last(name: str) -> str:
    """What stands for a name in code: without its path, or what it is called on."""
    if "/" in name:
        return name.rpartition("/")[2]
    return name if _is_file(name) else name.rpartition(".")[2]


def _is_file(name: str) -> bool:
    return anchors.FILE.fullmatch(name) is not None

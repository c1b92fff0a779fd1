"""Tasks left open at the end of a session, and those that are done later."""

from __future__ import annotations

import re

from howcome.domain import memories
from howcome.ingest.distil import anchors
from howcome.ingest.distil.fitness import is_personal
from howcome.ingest.distil.quick import Cues
from howcome.ingest.distil.rewriting import impersonal, lowered
from howcome.ingest.distil.rules import red
from howcome.ingest.distil.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from howcome.domain.candidates import Distilled
    from howcome.domain.stored import StoredEvent
    from howcome.ingest.distil.rules.scene import Action, Scene
    from howcome.ingest.distil.sentences import Sentence

_I = re.IGNORECASE
TODO_TOOLS = frozenset(("todowrite", "todo_write", "write_todos", "update_plan"))
CREATORS, UPDATERS = frozenset(("taskcreate", "task_create")), frozenset(("taskupdate", "task_update"))
CUES = Cues(
    "later", "still", "todo", "to do", "next week", "next sprint", "next month", "next release", "another day",
    "follow-up", "follow up", "followup", "yet", "before the", "when ", "until", "don't forget", "remain", "once ",
    "left", "missing", "outstanding", "tomorrow", " without ",
)  # fmt: skip
MAX_EDITS_AFTER = 3
"""So many changes after a list was last written leave open which of its items they were."""

_FINISHED = ("completed", "done", "cancelled", "canceled", "deleted")
_CREATED = re.compile(r"Task #(\S+) created successfully: (.+)")
_CHORE = re.compile(
    r"^(?:run|re-?run|execute|verify|check|test|commit|push|review|format|lint|build|final|clean ?up|read"
    r"|explore|understand|analy[sz]e|investigate|look|research|(?:update|fix) \d|create (?:a )?(?:pr"
    r"|pull request|commit"
    r"|branch)|summari[sz]e|report|present|discuss|ask|confirm|wait|plan|design|identify|find|gather"
    r"|update (?:the )?(?:todo|plan|changelog|tests?\b)|fix (?:all |any |the )?(?:failing|failures|lint"
    r"|tests?\b)|phase|step|task|write (?:an? )?(?:unit |regression |integration )?tests?(?:$| to\b| for\b)"
    r"|add (?:unit )?tests?$|manual)\b",
    _I,
)
_OPEN_LABEL = re.compile(
    r"^(?:what(?:'s| is) )?(?:still )?(?:(?:the )?(?:remaining|outstanding|open|unfinished|pending|left"
    r"|missing)(?: (?:work|tasks?|items?|issues?|todos?|pieces?|gaps?))?|todos?|(?:still )?to do|left to do"
    r"|not (?:yet )?(?:done|implemented|finished|started|covered)(?: yet)?|follow[- ]?ups?(?: (?:work"
    r"|items?|tasks?|needed))?|deferred|known gaps?|has a todo)$",
    _I,
)
_OPENING = re.compile(
    r"^(?:still to do|left to do|to do|todo|remaining|not done(?: yet)?|open|outstanding|still open"
    r"|still missing|has a todo): (?=\S)",
    _I,
)
_STILL = re.compile(
    r"\b(?:still (?:ha(?:s|ve) to|needs? to|to be|missing|hard-?coded|untested|open)|(?:remains?|is"
    r"|are) (?:still )?(?:to be (?:done|migrated|ported|written|tested|fixed|added|translated)|unfinished"
    r"|not (?:yet )?(?:implemented|done|migrated|ported|wired up|covered|translated|documented)\b)"
    r"|has a TODO|(?:left|deferred|postponed) (?:for|to|until) (?:later|a (?:later|follow[- ]?up|separate)"
    r"|the next|another)"
    r"|not (?:yet )?(?:implemented|migrated|ported|wired up|translated|documented|tested|written) yet"
    r"|does not (?:pass|build|compile|work) yet|it needs an?\b)",
    _I,
)
_POSTPONED = re.compile(
    r"\b(?:(?:do|does|comes?|come|leave|handle|fix|add|tackle|want|need|drop|remove|migrate|for"
    r"|can wait).{0,80}\b(?:later\b(?=[.,;!]|$)|next (?:week|sprint|month|release|quarter)|another day"
    r"|(?:in|as|for) a (?:follow[- ]?up|separate|later) ?(?:pr|mr|commit|change|ticket)?)|(?:later"
    r"|next (?:week|sprint|month|release)),? (?:we|i) .{8,}"
    r"|(?:we|i) (?:still )?(?:need|have) to .{5,120}\b(?:before|until|after|once)\b|still (?:have|has|need"
    r"|needs) to\b|still missing\b|(?:is|are) not (?:\w+ )?(?:written|done|implemented|migrated|tested"
    r"|documented|translated) yet)",
    _I,
)
_WHEN_DONE = re.compile(
    r"\b(?:when|once|as soon as|after) .{5,90}?,? (?:we (?:can |should |must )?)?(?:remove|drop|delete"
    r"|enable|re-?enable|switch|revert|turn on|turn off)\b",
    _I,
)
_STILL_CUES = Cues(
    "still", "remain", "to be ", "unfinished", "not ", "todo", "left ", "deferred ", "postponed ", "yet", "needs a"
)  # fmt: skip
"""Whatever `_STILL` finds has one of these."""

_LATER = Cues(
    "later", "next ", "another day", "a follow", "a separate", "before", "until", "after", "once", "still", "yet",
    "when", "as soon as",
)  # fmt: skip
"""Whatever `_POSTPONED` and `_WHEN_DONE` find has one of these."""

_ALL_DONE = re.compile(
    r"\b(?:all (?:\w+ )?(?:done|complete|pass\w*|green)|done[!.]|is (?:now )?complete|implemented|everything)\b",
    _I,
)
_THAT = re.compile(r"\b(?:do|leave|handle|fix|add|tackle) (?:that|it|this|those|these)\b", _I)
_HEADED = re.compile(
    r"^(?:todo|to do|reminder|remember to|don't forget(?: to)?|follow[- ]?up|open"
    r"|note as open)\b[:, ]+(?P<what>.{10,})",
    _I,
)
_NOW = re.compile(
    r"\b(?:can you|could you|please (?:fix|add|do)|let's (?:do|fix|add) (?:it|this|that)|should we|what if"
    r"|i think|maybe|why|how)\b|\?",
    _I,
)
_DISMISSED = re.compile(
    r"\b(?:later|another day|enough|not now|stop|leave|tomorrow|thanks|thank you|note it|i'm off|bye"
    r"|meeting|i'll|continue with that|next time|good night|done for)\b|^\s*(?:ok|okay|fine|good)\b",
    _I,
)
_IF_NEEDED = re.compile(r"\bif (?:needed|necessary|desired|required|wanted)\b", _I)
_NOTED = re.compile(r"\b(?:note|leave|keep|mark) (?:it|this|that) (?:down )?(?:as )?open\b", _I)
_WITHOUT = re.compile(
    r"\b(?:ship|release|merge|deploy|go)(?: it)? without (?P<what>[^,;]{8,90})[,;]? (?:and |we"
    r" )?(?:do|add|write|fix) (?:it|them|that"
    r"|those) (?:next|later|afterwards|after)\b", _I,
)  # fmt: skip
MAX_NOTED_SENTENCES = 2
_WORD = re.compile(r"[a-z0-9_./()-]{3,}")


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """What an exchange leaves open; what it shows done goes to `found.closes`."""
    closed = [*(key_of(text) for action in _lists(scene) for text, status in _items(action) if status in _FINISHED)]
    closed += [_task_key(scene, number) for number in _finished_tasks(scene)]
    runs = red.runs_of(scene)
    closed += [f"red {command}" for command, action in runs.items() if action.has_succeeded]
    found.closes = tuple(dict.fromkeys((*found.closes, *closed)))
    return [
        *_todos(scene),
        *_tasks(scene),
        *red.find(scene, runs),
        *(_noted(scene) or _said_open(scene)),
        *_users(scene),
    ]


def key_of(task: str) -> str:
    """The subject of a task: its words, whatever their case and marks."""
    return " ".join(re.findall(r"[a-z0-9_./-]+", task.lower()))[:120]


def _task_key(scene: Scene, number: str) -> str:
    session = next((event.session for event in scene.exchange.all_events), "")
    return f"task {session} {number}"


def _task(what: str, sources: Sequence[StoredEvent], subject: str, said: str, status: str = memories.OPEN) -> Draft:
    text = f"Task: {lowered(what)}"
    return Draft("context", text, sources, status=status, subject=subject, said=said, is_wish=True)


# -- lists of todos ----------------------------------------------------------------------------------------------------
def _items(action: Action) -> list[tuple[str, str]]:
    values = action.input.get("todos") or action.input.get("plan")
    found = []
    for item in values if isinstance(values, list) else []:
        if isinstance(item, dict):
            text = str(item.get("content") or item.get("step") or item.get("description") or "")
            found.append((text.strip(), str(item.get("status") or "pending").lower()))
    return found


def _lists(scene: Scene) -> list[Action]:
    if TODO_TOOLS.isdisjoint(scene.tools):
        return []
    return [
        action for action in scene.actions if (action.call.tool or "").lower() in TODO_TOOLS and not action.has_failed
    ]


def _is_telling(text: str) -> bool:
    return not _CHORE.match(text) and len(text.split()) >= 4 and anchors.is_technical(text)


def _todos(scene: Scene) -> list[Draft]:
    """Items of the last todo list of an exchange that are not done."""
    lists = _lists(scene)
    is_kept = any(status in _FINISHED for action in lists for _, status in _items(action))
    is_under_way = any(status == "in_progress" for _, status in (_items(lists[-1]) if lists else ()))
    if (
        not lists or not is_kept or is_under_way or _went_on(scene, lists[-1])
    ):  # a list that nobody updates shows nothing
        return []
    return [
        _task(impersonal(text), [lists[-1].call], key_of(text), text)
        for text, status in (_items(lists[-1]) if lists else ())
        if status not in _FINISHED and _is_telling(text) and not _is_dropped(scene, text)
    ]


def _went_on(scene: Scene, action: Action) -> bool:
    """Whether so much was done after a list was last written that what it says open may be done."""
    later = [other for other in scene.actions if other.place > action.place]
    if any("git commit" in other.command for other in later) or sum(other.is_edit for other in later) > MAX_EDITS_AFTER:
        return True
    if any(said.is_final and _ALL_DONE.search(said.text[:300]) for said in scene.agent_said()):
        return True
    return any(after.edited and not _lists(after) for after in scene.following)


def _is_dropped(scene: Scene, item: str) -> bool:
    """Whether a later list of the next exchanges no longer holds an item: it was put in other words, or given up."""
    later = [action for after in scene.following for action in _lists(after)]
    return bool(later) and all(key_of(item) not in {key_of(text) for text, _ in _items(action)} for action in later)


def _is_changed_after(scene: Scene, created: Action) -> bool:
    """Whether anything was changed after the last word on the tasks, or in the next exchanges: nobody knows what."""
    last = max(action.place for action in scene.actions if action is created or _is_update(action))
    return (
        any(action.is_edit for action in scene.actions if action.place > last)
        or any("git commit" in action.command for action in scene.actions if action.place > created.place)
        or any(after.edited for after in scene.following)
        or any(said.is_final and _ALL_DONE.search(said.text[:300]) for said in scene.agent_said())
    )


def _is_update(action: Action) -> bool:
    return (action.call.tool or "").lower() in UPDATERS


def _finished_tasks(scene: Scene) -> Iterator[str]:
    if UPDATERS.isdisjoint(scene.tools):
        return
    for action in scene.actions:
        if (action.call.tool or "").lower() in UPDATERS and str(action.input.get("status") or "").lower() in _FINISHED:
            yield str(action.input.get("taskId") or action.input.get("task_id") or "")


def _tasks(scene: Scene) -> list[Draft]:
    """Tasks that an exchange created and did not finish."""
    if CREATORS.isdisjoint(scene.tools):
        return []
    at_once, later = set(_finished_tasks(scene)), {n for after in scene.following for n in _finished_tasks(after)}
    is_kept = bool(at_once)
    drafts = []
    for action in scene.actions:
        if (action.call.tool or "").lower() not in CREATORS or action.result is None:
            continue
        made = _CREATED.search(action.output)
        text = str(action.input.get("subject") or "")
        if not made or made[1] in at_once or not _is_telling(text):
            continue
        if is_kept and made[1] not in later and not _is_changed_after(scene, action):
            drafts.append(
                Draft(
                    "context", f"Task: {lowered(impersonal(text))}", [action.call],
                    subject=_task_key(scene, made[1]), said=text, is_wish=True,
                )
            )  # fmt: skip
    return drafts


# -- what is said to be left -------------------------------------------------------------------------------------------
def _said_open(scene: Scene) -> list[Draft]:
    """What the agent's report says is left, where nobody goes on with it."""
    if scene.following and not _is_left(scene):
        return []
    drafts = []
    for said in scene.agent_said():
        if not said.is_final or not said.has_any(CUES):
            continue
        for sentence in said.sentences:
            opening = _OPENING.match(sentence.text)
            is_listed = opening is not None or (
                sentence.place == 0
                and (
                    _OPEN_LABEL.match(sentence.label)
                    or (sentence.kind == "item" and _OPEN_LABEL.match(sentence.heading))
                )
            )
            if (
                not (is_listed or (sentence.has_any(_STILL_CUES) and _STILL.search(sentence.text)))
                or sentence.text.endswith("?")
                or _IF_NEEDED.search(sentence.text)
                or not anchors.is_technical(sentence.text)
            ):
                continue
            what = impersonal(sentence.text[opening.end() :] if opening else sentence.text)
            drafts.append(
                Draft(
                    "context",
                    f"Task{_of_what(scene, what)}: {lowered(what)}",
                    [said.event],
                    subject=key_of(what),
                    said=sentence.text,
                    is_wish=True,
                )
            )
    return drafts


def _noted(scene: Scene) -> list[Draft]:
    """What a short report says is wrong, where the next prompt is to note it as open."""
    answers = scene.following[0].user_said() if scene.following else []
    if not answers or "open" not in answers[0].low or not _NOTED.search(answers[0].text):
        return []
    for said in scene.agent_said():
        if said.is_final and len(said.sentences) <= MAX_NOTED_SENTENCES and anchors.has_strong(said.text):
            what = " ".join(impersonal(sentence.text) for sentence in said.sentences)
            return [_task(what, [said.event, answers[0].event], key_of(what), said.text)]
    return []


def _of_what(scene: Scene, what: str) -> str:
    """What a person had asked for, in a few words, where what is left does not say it."""
    asked = next((said.sentences[0].text for said in scene.user_said() if said.is_typed and said.sentences), "")
    is_short = 12 <= len(asked) <= 60 and len(asked.split()) >= 3 and not asked.endswith("?") and not is_personal(asked)
    return (
        f" of “{asked.rstrip('.! ')}”"
        if is_short
        and "[" not in asked
        and not re.search(r"\b(?:it|this|that|these|those|them|please|yes|ok|you)\b", asked, _I)
        and what
        else ""
    )


def _is_left(scene: Scene) -> bool:
    """Whether the next prompt lets the matter rest, and nothing is changed any more."""
    after = scene.following[0].user_said()
    is_dismissed = bool(after and len(after[0].text) <= 120 and _DISMISSED.search(after[0].text))
    return is_dismissed and not any(action.is_edit for later in scene.following for action in later.actions)


def _users(scene: Scene) -> list[Draft]:
    """What a person puts off; done again where a later prompt takes it up and something is changed."""
    drafts = []
    for said in scene.user_said():
        before = ""
        for sentence in said.sentences if said.is_typed and said.has_any(CUES) else ():
            before, last = sentence.text, before
            without = _WITHOUT.search(sentence.text) if "without" in sentence.low else None
            if without:
                what = f"add {without['what']}."
                status = memories.RESOLVED if _is_taken_up(scene, what) else memories.OPEN
                drafts.append(_task(what, [said.event], key_of(what), sentence.text, status))
                continue
            headed = _HEADED.match(sentence.text)
            if not (headed or _is_put_off(sentence)) or _NOW.search(sentence.text):
                continue
            if _THAT.search(sentence.text) and last and not last.endswith("?"):
                drafts.append(
                    Draft(
                        "context", f"Task, put off: {lowered(impersonal(last))}", [said.event],
                        subject=key_of(last), said=f"{last} {sentence.text}", is_wish=True,
                    )
                )  # fmt: skip
                continue
            what = impersonal(_I_NEED.sub("", headed["what"] if headed else sentence.text), subject="the project")
            status = memories.RESOLVED if _is_taken_up(scene, what) else memories.OPEN
            drafts.append(
                Draft(
                    "context",
                    f"Task: {lowered(what)}",
                    [said.event],
                    status=status,
                    subject=key_of(what),
                    said=sentence.text,
                    is_wish=True,
                )
            )
    return drafts


_I_NEED = re.compile(
    r"(?:(?<=, but )|^|(?<=, ))(?:i(?:'ll| will)?|we(?:'ll| will)?) (?:still )?(?:need to |have to )?(?=\w)", _I
)


def _is_put_off(sentence: Sentence) -> bool:
    if not sentence.has_any(_LATER):
        return False
    return bool(_POSTPONED.search(sentence.text) or _WHEN_DONE.search(sentence.text))


def _is_taken_up(scene: Scene, task: str) -> bool:
    words = {word for word in _WORD.findall(task.lower()) if word not in _FILLERS}
    for later in scene.following:
        said = later.user_said()
        is_done = later.edited or (said and _IS_DONE.search(said[0].text))
        if said and words and is_done and len(words & set(_WORD.findall(said[0].low))) >= max(1, len(words) // 2):
            return True
    return False


_IS_DONE = re.compile(r"\b(?:is|are|was|were|been) (?:now |all )?(?:done|\w+ed)\b|\bdone\b", _I)
_FILLERS = frozenset(
    "later next week the and for now only comes come open task still need needs have has before after that "
    "this with first then when once project".split()
)

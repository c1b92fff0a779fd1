"""What the user directs: corrections, refusals, wishes and decisions, in the user's own words.

The words alone are seldom enough, so each comes with what it was about (the call that was refused, the sentence of the
agent that it answers) and with what was done then. Which words matter is a plain rule: six words or more that are no
chore, refusals from three words on. A question counts when the agent changed something after it. Measured in
docs/evaluation.md.
"""

from __future__ import annotations

import re

from howcome.domain import words
from howcome.domain.candidates import WISH
from howcome.domain.sentences import sentences
from howcome.domain.text import STOP_WORDS
from howcome.learn.draft import MAX_CHARS, Draft, quoted
from howcome.learn.scene import ASKING, PLANNERS
from howcome.learn.shell import commands
from howcome.learn.sources.seen import base_names, count_words, is_question, lasting, named, one_line, replies_of, stems

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from howcome.domain.stored import StoredEvent
    from howcome.learn.actions import Action
    from howcome.learn.scene import Said
    from howcome.learn.sources.seen import Seen

MIN_WORDS, MIN_REFUSAL_WORDS, MIN_QUESTION_WORDS, MIN_NAMING_WORDS = 6, 3, 8, 4
MIN_TASK_WORDS = 18
MIN_WEIGHT, MIN_CONTEXT_WEIGHT = 1.0, 0.4
MAX_WORDS_CHARS, MAX_CALL_CHARS, MAX_CONTEXT_CHARS, MAX_OUTCOME_CHARS = 220, 70, 100, 130
MIN_ROOM_CHARS, MIN_CONTEXT_WORDS = 40, 4
TELLING_WORDS = 12
"""So many words say what they are about; of fewer a name or a reason is wanted."""

SHORT_CHARS, MIN_OWN_CHARS = 90, 30
"""Words that are shorter hang on what they answer."""

MIN_WISH_WORDS, MAX_WISH_WORDS = 2, 5
_COMMAND = re.compile(r"\s*(?:/[\w:-]+(?:\s|$)|!\s)")
"""What is typed to a command of the client or the shell is no word to the agent."""

_WISHED = re.compile(r"[^\W\d_]{3,}|[\u3040-\u30ff\u3400-\u9fff]+")


def find(seen: Seen) -> list[Draft]:
    """The user's words of an exchange, where they direct."""
    said = seen.words
    if (
        said is None
        or not said.is_typed
        or _COMMAND.match(said.text)
        or ((said.event.tool or "").lower() in ASKING and seen.refused is None)
        or not _matters(seen, said.text)
        or _is_begun_again(seen, said.text)
    ):
        return []
    text = one_line(_own(seen, said.text), MAX_WORDS_CHARS)
    if not text:
        return []
    witnesses: list[StoredEvent] = []
    refused = seen.refused
    if refused is not None:
        head = f"The user refused {_shown(refused, MAX_CALL_CHARS)}: {quoted(text)}"
        witnesses.append(refused.call)
    else:
        head = f"The user: {quoted(text)}"
        interrupted, answered = seen.interrupted, seen.answered
        line = _answered_line(seen, text, MAX_CONTEXT_CHARS) if len(text) < SHORT_CHARS and not interrupted else ""
        if interrupted is not None and len(text) < SHORT_CHARS:
            head = f"The user, during {_shown(interrupted, MAX_CALL_CHARS)}: {quoted(text)}"
            witnesses.append(interrupted.call)
        elif line and answered is not None:
            head = f"The user, when the agent said {quoted(line)}: {quoted(text)}"
            witnesses.append(answered.event)
    then, witness = _outcome(seen, text, min(MAX_OUTCOME_CHARS, MAX_CHARS - len(head) - 8))
    if witness is not None:
        witnesses.append(witness)
    whole = f"{head}. {then}" if then else head
    is_telling = named(text) or words.has(text, "reasons") or count_words(text) >= TELLING_WORDS
    if refused is None and not is_telling:
        return []
    return [Draft("decision", whole, [said.event], witnesses=witnesses, subject=_wish(text))]


def _wish(text: str) -> str:
    """What a short wish is known by when it is said again: its telling words; "" where they are too few or too many."""
    telling = _WISHED.findall(words.without(text, "chores").casefold())
    found = sorted({word for word in telling if word not in STOP_WORDS})
    return f"{WISH}{' '.join(found)}" if MIN_WISH_WORDS <= len(found) <= MAX_WISH_WORDS else ""


def _matters(seen: Seen, text: str) -> bool:
    count = count_words(text)
    if seen.refused is not None and count >= MIN_REFUSAL_WORDS:
        return True
    if not count_words(words.without(text, "chores")):
        return False
    if count < (MIN_NAMING_WORDS if named(text) else MIN_WORDS):
        return False
    if is_question(text) and not (seen.scene.edited and count >= MIN_QUESTION_WORDS):
        return False
    return not (seen.before is None and count < MIN_TASK_WORDS)


def _is_begun_again(seen: Seen, text: str) -> bool:
    """Whether the user typed it once more, and further, right after."""
    said = [one for scene in seen.later.first(1) for one in scene.user_said()[:1]]
    return bool(said) and said[0].is_typed and said[0].text.strip().startswith(text.strip()) and said[0].text != text


def _own(seen: Seen, text: str) -> str:
    """The user's words without sentences that repeat what the agent had just written."""
    before = seen.before
    told = [said.text for said in replies_of(before)] if before is not None else []
    told += [action.call.text or "" for action in before.actions[-3:]] if before is not None else []
    kept = [
        one.text
        for one in sentences(text, is_typed=True)
        if len(one.text) < MIN_OWN_CHARS or not any(one.text.rstrip(".") in heard for heard in told)
    ]
    return " ".join(kept)


def _answered_line(seen: Seen, text: str, limit_chars: int) -> str:
    """The sentence of the agent that the words answer: one that shares words with them, or its question."""
    best = seen.best(_answered(seen, stems(text), limit_chars))
    return one_line(best[0], limit_chars) if best is not None else ""


def _answered(seen: Seen, wanted: set[str], limit_chars: int) -> Iterator[tuple[float, str, Said]]:
    answered = seen.answered
    for place, sentence in enumerate(answered.sentences if answered is not None else ()):
        line = sentence.text.rstrip(":")
        if answered is None or count_words(line) < MIN_CONTEXT_WORDS:
            continue
        weight = 2.0 * len(wanted & stems(line)) + 0.5 * bool(named(line)) + (1.5 if is_question(line) else 0.0)
        weight -= 0.01 * place + (1.0 if words.begins(line, "narrates") and not is_question(line) else 0.0)
        weight -= 1.0 if len(line) > limit_chars else 0.0
        if weight > MIN_CONTEXT_WEIGHT:
            yield weight, line, answered


def _outcome(seen: Seen, text: str, limit_chars: int) -> tuple[str, StoredEvent | None]:
    """What was done then: the call in the place of the refused one, or the sentence of the agent that tells it best."""
    if limit_chars < MIN_ROOM_CHARS:
        return "", None
    refused = seen.refused
    if refused is not None and refused.is_shell:
        instead = next((one for one in seen.scene.actions if one.is_shell and one.has_succeeded), None)
        if instead is not None and instead.command != refused.command:
            return f"Instead: {_shown(instead, limit_chars - 12)}", instead.call
    best = seen.best(_answering(seen, stems(text), limit_chars))
    if best is not None:
        return f"Then: {one_line(best[0], limit_chars - 6)}", best[1].event
    files = base_names(seen.scene.edited)
    return (f"Then changed: {', '.join(files[:2])}", None) if files else ("", None)


def _answering(seen: Seen, wanted: set[str], limit_chars: int) -> Iterator[tuple[float, str, Said]]:
    """What the agent said then about the same, weighed: its first and its last words count more."""
    told = seen.replies
    for said in told:
        for line in lasting(said):
            shared = len(wanted & stems(line))
            if shared >= (1 if said is told[0] or said.is_final else 2):
                weight = 0.7 * shared + 0.3 * named(line) + 0.8 * (said is told[0]) + 0.4 * said.is_final
                weight -= 1.5 if len(line) > limit_chars else 0.0
                if weight > MIN_WEIGHT:
                    yield weight, line, said


def _shown(action: Action, limit_chars: int) -> str:
    """A call in a few words."""
    if action.is_shell:
        return f"`{_briefly(action.command, limit_chars)}`"
    if action.tool in PLANNERS:
        plan = str(action.input.get("plan") or "").strip()
        title = plan.splitlines()[0].strip("# ") if plan else ""
        return f"the plan {quoted(one_line(title, limit_chars))}" if title else "the plan"
    if action.tool in ASKING:
        asked = action.input.get("questions")
        first = asked[0] if isinstance(asked, list) and asked and isinstance(asked[0], dict) else {}
        return f"the question {quoted(one_line(str(first.get('question') or ''), limit_chars))}"
    if action.call.file:
        return f"{'a change' if action.is_edit else action.call.tool} of `{base_names([action.call.file])[0]}`"
    return f"a call of {action.call.tool}"


def _briefly(command: str, limit_chars: int) -> str:
    """A command line within a limit: whole, or the names of what it runs."""
    ran = [one for one in commands(command) if one.program not in ("cd", "echo", "export")]
    line = "; ".join(str(one) for one in ran)
    if not ran or (len(line) <= limit_chars and "\n" not in line):
        return line or one_line(command, limit_chars)
    return one_line("; ".join(f"{one.name} …" for one in ran), limit_chars)

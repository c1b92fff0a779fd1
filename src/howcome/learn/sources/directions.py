"""What the user directs: corrections, refusals, wishes and decisions, in the user's own words.

The words alone are seldom enough, so each comes with what it was about (the call that was refused, the sentence of the
agent that it answers) and with what was done then; without the latter only a statement with a reason or many names is
kept. Which words matter is a plain rule: six words or more that are no chore, refusals from three words on. A question
counts when the agent changed something after it, one that refuses a call never. Measured in docs/evaluation.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from howcome.domain import words
from howcome.domain.answering import is_chore
from howcome.domain.candidates import WISH
from howcome.domain.sentences import sentences
from howcome.domain.stored import StoredEvent
from howcome.domain.text import STOP_WORDS
from howcome.learn.actions import Action
from howcome.learn.scene import ASKING, PLANNERS, Said
from howcome.learn.shell import commands
from howcome.learn.sources.seen import (
    MAX_CHARS,
    Draft,
    Seen,
    base_names,
    count_words,
    is_of_the_moment,
    is_question,
    is_whole,
    lasting,
    named,
    one_line,
    quoted,
    replies_of,
    stems,
)
from howcome.learn.taking_back import partings

MIN_WORDS, MIN_REFUSAL_WORDS, MIN_QUESTION_WORDS, MIN_NAMING_WORDS = 6, 3, 8, 4
MIN_TASK_WORDS, MIN_TASK_REASONS = 18, 2
"""A session's first prompt is a task. Of 8 such prompts that gave fewer reasons readers noted none, of 115 other words
83. Both hold in two coding projects (0 of 2) and for six invented developers (0 of 6), with which it was chosen."""

MIN_WEIGHT, MIN_CONTEXT_WEIGHT = 1.0, 0.4
MAX_WORDS_CHARS, MAX_CALL_CHARS, MAX_CONTEXT_CHARS, MAX_OUTCOME_CHARS = 220, 70, 100, 150
MIN_ROOM_CHARS = 100
MIN_CONTEXT_WORDS, MANY_SHARED = 4, 3
MANY_NAMES = 3
"""Words with so many names, or with a reason, stand without what was done then, if they ask nothing: strangers found 13
of 26 such prompts of use, of the other statements 4 of 50, and of questions 2 of 94."""

TELLING_WORDS = 12
"""So many words say what they are about; of fewer a name or a reason is wanted."""

SHORT_CHARS, MIN_OWN_CHARS = 90, 30
"""Words that are shorter hang on what they answer."""

MIN_WISH_WORDS, MAX_WISH_WORDS = 2, 5
MAX_UNDOING_CHARS = 100
"""Who has something taken back begins with it: so it is in four of four such prompts of two projects."""

MAX_FADING_WORDS = 30
"""Left out, sentences of the day and suppositions take the traps of twelve invented developers from .22 to .17 and cost
one note of 168; in two coding projects they change nothing. The lists were made with those traps in view."""

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
        or _is_taken_up(seen, said.text)
    ):
        return []
    own = _own(seen, said.text)
    text = one_line(own, MAX_WORDS_CHARS)
    if not text or is_of_the_moment(text) or (seen.refused is not None and is_question(own)):
        return []
    begun, asked_of = _begun(seen, text)
    room = MAX_CHARS - len(f"{begun}: “{text}”. Then: ")
    then, told_by = _outcome(seen, text, min(MAX_OUTCOME_CHARS, max(MIN_ROOM_CHARS, room)))
    stands_alone = not is_question(own) and (_directs(own) or named(own) >= MANY_NAMES)
    is_telling = _directs(own) or named(text) or count_words(text) >= TELLING_WORDS
    if not (then or stands_alone) or not (seen.refused or is_telling):
        return []
    most = min(MAX_WORDS_CHARS, MAX_CHARS - len(f"{begun}: “”. {then}")) if then else MAX_CHARS - len(f"{begun}: “”")
    said_words = one_line(own, most)
    stop = "" if said_words.endswith((".", "!", "?", "…")) else "."
    whole = f"{begun}: {quoted(said_words)}{f'{stop} {then}' if then else ''}"
    witnesses = [event for event in (asked_of, told_by) if event is not None]
    is_rule = any(words.has(own, name) for name in ("rules", "orders", "reasons"))
    kind = "discovery" if is_question(own) and not is_rule else "decision"
    return [Draft(kind, whole, [said.event], witnesses=witnesses, subject=_wish(text))]


def _begun(seen: Seen, text: str) -> tuple[str, StoredEvent | None]:
    """Whose words they are and what they answer: a refused call, the call at which they were typed, a sentence."""
    refused, interrupted = seen.refused, seen.interrupted
    if refused is not None:
        return f"The user refused {_shown(refused, MAX_CALL_CHARS)}", refused.call
    if len(text) >= SHORT_CHARS:
        return "The user", None
    if interrupted is not None:
        return f"The user, during {_shown(interrupted, MAX_CALL_CHARS)}", interrupted.call
    best = seen.best(_answered(seen, stems(text)))
    if best is not None and (line := one_line(best[0], MAX_CONTEXT_CHARS)):
        return f"The user, when the agent said {quoted(line)}", best[1].event
    return "The user", None


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
    if seen.before is not None or words.has(text, "rules") or any(partings(text)):
        return True
    return count >= MIN_TASK_WORDS and len(words.ends(text.lower(), "reasons")) >= MIN_TASK_REASONS


def _is_taken_up(seen: Seen, text: str) -> bool:
    """Whether the user typed it once more, and further, right after, or has what was done taken back."""
    said = next((one for scene in seen.later(1) for one in scene.user_said()), None)
    if said is None:
        return False
    is_begun_again = said.is_typed and said.text.strip().startswith(text.strip()) and said.text != text
    return is_begun_again or (bool(seen.scene.edited) and words.has(said.text[:MAX_UNDOING_CHARS], "undoes"))


def _own(seen: Seen, text: str) -> str:
    """The user's words, without sentences that repeat the agent, are of the day, or ask for one of its steps."""
    told = [said.text for said in replies_of(seen.before)] if seen.before is not None else []
    told += [action.call.text or "" for action in seen.before.actions[-3:]] if seen.before is not None else []
    typed = [one.labelled for one in sentences(text, is_typed=True)]
    own = [one for one in typed if len(one) < MIN_OWN_CHARS or not any(one.rstrip(".") in heard for heard in told)]
    own = [one for one in own if not _fades(one)]
    return " ".join([one for one in own if not is_chore(one)] or own)


def _directs(text: str) -> bool:
    """Whether a text gives a reason or a rule, or says what must or must not be."""
    return any(words.has(text, name) for name in ("reasons", "rules", "directs"))


def _fades(sentence: str) -> bool:
    """Whether a sentence is of the day or supposes something. One that goes on and on says other things, too."""
    is_short = count_words(sentence) <= MAX_FADING_WORDS
    is_rule = words.has(sentence, "rules") or words.has(sentence, "orders")
    return is_short and words.has(sentence, "fades") and not is_rule


def _answered(seen: Seen, wanted: set[str]) -> Iterator[tuple[float, str, Said]]:
    """Sentences of the agent that words may answer, weighed: those that share words with them, and its questions."""
    answered = seen.answered
    for place, sentence in enumerate(answered.sentences if answered is not None else ()):
        line = sentence.text.rstrip(":")
        if answered is None or count_words(line) < MIN_CONTEXT_WORDS:
            continue
        weight = 2.0 * len(wanted & stems(line)) + 0.5 * bool(named(line)) + (1.5 if is_question(line) else 0.0)
        weight -= 0.01 * place + (1.0 if words.begins(line, "narrates") and not is_question(line) else 0.0)
        weight -= 1.0 if len(line) > MAX_CONTEXT_CHARS else 0.0
        if weight > MIN_CONTEXT_WEIGHT:
            yield weight, line, answered


def _outcome(seen: Seen, text: str, limit_chars: int) -> tuple[str, StoredEvent | None]:
    """What was done then: the sentence of the agent that tells it best; else the call in the place of a refused one."""
    best = seen.best(_answering(seen, text, limit_chars))
    if best is not None:
        return f"Then: {one_line(best[0], limit_chars)}", best[1].event
    refused = seen.refused
    if refused is not None and refused.is_shell:
        instead = next((one for one in seen.scene.actions if one.is_shell and one.has_succeeded), None)
        if instead is not None and instead.command != refused.command:
            return f"Instead: {_shown(instead, MAX_OUTCOME_CHARS)}", instead.call
    return "", None


def _answering(seen: Seen, text: str, limit_chars: int) -> Iterator[tuple[float, str, Said]]:
    """What the agent said then about the same, weighed: its first and its last words count more."""
    told, wanted, asks = seen.replies, stems(text), is_question(text)
    first, last = (0.4, 0.8) if asks else (0.8, 0.4)
    for said in told:
        for line in lasting(said):
            shared, names, tells = len(wanted & stems(line)), named(line), words.has(line, "causes")
            weight = 0.7 * shared + 0.3 * names + 0.5 * tells + first * (said is told[0]) + last * said.is_final
            weight -= 1.5 if len(line) > limit_chars else 0.0
            least = 1 if said is told[0] or said.is_final else 2
            least = least if is_whole(line) else MANY_SHARED
            is_answer = asks and said.is_final and tells and is_whole(line)  # it may have no word of the question
            if (shared >= least or is_answer) and weight > MIN_WEIGHT:
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
    if name := base_names([(action.call.file or "").rstrip("/")]):
        return f"{'a change' if action.is_edit else action.call.tool} of `{name[0]}`"
    return f"a call of {action.call.tool}"


def _briefly(command: str, limit_chars: int) -> str:
    """A command line within a limit: whole, or the names of what it runs."""
    ran = [one for one in commands(command) if one.program not in ("cd", "echo", "export")]
    line = "; ".join(str(one) for one in ran)
    if not ran or (len(line) <= limit_chars and "\n" not in line):
        return line or one_line(command, limit_chars)
    return one_line("; ".join(f"{one.name} …" for one in ran), limit_chars)

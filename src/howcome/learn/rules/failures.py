"""Failures and what mended them: a command that failed, why, and what was done until it worked."""

from __future__ import annotations

import re

from howcome.domain import candidates, events
from howcome.learn import anchors
from howcome.learn.fitness import fault
from howcome.learn.rewriting import impersonal, unframed
from howcome.learn.rules import commands, reports
from howcome.learn.rules.checks import goes_round
from howcome.learn.rules.draft import Draft

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from howcome.domain.candidates import Distilled
    from howcome.domain.stored import StoredEvent
    from howcome.learn.rules.scene import Action, Said, Scene

_I = re.IGNORECASE
_REFUSED = re.compile(
    r"\s*(?:<tool_use_error>|The user doesn't want|\[?Request interrupted|Permission to use"
    r"|.{0,40}requires approval)",
    _I,
)
_CAUSE = re.compile(
    r"\b(?:because|since|due to|cause[ds]?|missing|needs?|needed|requires?|required|doesn't|does not|didn't"
    r"|isn't|is not|wasn't|not|no|no longer|never|expects?|expected|must|wrong|instead of|conflicts?"
    r"|mismatch|only|already|outdated|stale|incompatible|deprecated|renamed|depended|differs?|still|left|so"
    r"|while|when|now|with|after|was|were|had)\b",
    _I,
)
_TELLS_MENDING = re.compile(
    r"\b(?:now|fix(?:es|ed)?|after|with|once|so|makes?|maps?|works?|passes|goes through|went through|needs?"
    r"|instead|must be|set to|raised|added|replaced|removed|pinned|always)\b",
    _I,
)
_ON_THE_WAY = re.compile(
    r"\b(?:let me|i'll|i need to|need to (?:check|see|look|fix|update|add|wrap|handle)|i should|let's"
    r"|now (?:i|let|update|fix)|going to|same (?:error|issue|problem)|as expected|red phase|tdd|make (?:it"
    r"|them) pass|all \d* ?(?:tests|checks)|tests? (?:all )?pass(?:es)?(?: now)?\.?$|want me to|would you"
    r"|summary)\b|\?$",
    _I,
)
_ADAPTED = re.compile(
    r"(?:updated?|renamed?|there (?:is|are)|expected value|changed the test|need|adjusted|replaced? the"
    r"|removed)\b",
    _I,
)
_ABOUT_THE_COMMAND = re.compile(
    r"\b(?:unknown|unrecognized|unrecognised|invalid|unsupported|no such|illegal"
    r"|bad) (?:shorthand )?(?:sub-?command|command|flag|option|arguments?|switch|script|target|task|recipe)"
    r"|command not found|script not found|missing script|not recognized as"
    r"|no rule to make|is not a (?:git|mise|valid) (?:repository|command|task)|no test files"
    r"|unexpected argument|requires? (?:at least )?\d* ?arg|required flag|no tests? (?:found|ran|matched)"
    r"|cannot find (?:module|package)|no such module|no module named|not installed|module not found"
    r"|address already in use"
    r"|certificate verify failed|could not find .{0,40}plugin|not (?:on|in|present on) .{0,10}path"
    r"|is not set|not set\b|environment variable",
    _I,
)
_UNFINISHED = re.compile(
    r"undefined: |declared and not used|imported and not used|is (?:defined|declared) but never"
    r"|never (?:used|read)|unused|not enough arguments|too many arguments|cannot use "
    r"|has no field or method|missing return|syntax ?error|expected '|error TS(?!2307)\d+|redeclared"
    r"|already declared|unexpected token|task failed|found \d+ error|missing cases|undefined \(type"
    r"|would reformat|code style issues|not formatted|gofmt|could not apply|CONFLICT|assignment mismatch"
    r"|is missing in type|(?m::\d+: .{3,400} \([a-z][\w:-]+\)$)|lint/\w+/\w+",
    _I,
)
"""What a compiler or a formatter says of work that is not finished: nobody needs to know it afterwards."""

_NO_SCRIPT = re.compile(r"script not found|missing script|no rule to make|no (?:task|recipe|target)", _I)
_EVERYDAY = frozenset(
    "git gh ls cat grep rg find sed awk head tail wc cd rm cp mv mkdir echo sort diff tree jq curl".split()
)
_MISTYPED = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|invalid|illegal|unsupported|bad) (?:shorthand )?(?:flag|option|argument|switch)", _I
)
"""An option of an everyday command that was put wrongly: its own help says it."""

_EXPECTED = re.compile(r"\b(?:want|wanted|expected|expect|got|assert\w*)\b|\w+_test\.\w+:\d+", _I)
_SAYS_FIX = re.compile(r"\b(?:fixed|added|changed|replaced|removed|set to|became|it worked)\b", _I)
_OF_A_TEST = re.compile(
    r"\btests?(?:'s)? (?:expect|was|is|need|should|had|did|were)|\bexpectation|\bexpected value\b",
    _I,
)
_NAME = re.compile(r"[A-Za-z_][\w.-]{3,}")
MIN_LIKENESS = 0.5
MIN_LIKENESS_OF_USE = 0.3
"""Of a command that was put wrongly (an unknown flag) less may be the same when it is put rightly."""

MAX_BETWEEN = 60
"""Actions between a failure and the success that may answer it: what comes later is about something else."""

MAX_SHORT_OUTPUT_CHARS = 1500
"""In a longer output what the agent speaks of may be another failure than the first one."""

MAX_CHANGE_CHARS = 90
MAX_REPORT_SENTENCES = 5


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """Failed commands of an exchange that worked later on, in it or in the exchanges after it."""
    drafts: list[Draft] = []
    told: set[str] = set()
    for place, action in enumerate(scene.actions):
        if not (action.is_shell and action.has_failed and action.result):
            continue
        command = commands.core(action.command)
        if not commands.is_worth_telling(command) or _REFUSED.match(action.output) or command in told:
            continue
        draft = Mending(scene, place, command).draft()
        if draft is None:
            found.reject(candidates.NO_FIX)
        else:
            told.add(command)
            drafts.append(draft)
    return drafts or reports.find(scene)


class Mending:
    """One failed command, and what came after it until it worked."""

    def __init__(self, scene: Scene, place: int, command: str) -> None:
        self.failed, self.command = scene.actions[place], command
        self.output = self.failed.output
        self.essence = ""
        self.scenes = [scene, *scene.following[:1]]
        self.later = [
            *scene.actions[place + 1 :],
            *(action for after in scene.following[:1] for action in after.actions),
        ][:MAX_BETWEEN]
        self.success: Action | None = None
        if any(self._is_like(action) for action in self.later):
            self.essence = commands.essence(self.output).rstrip(".")
            self.success = self._success()
        end = self.later.index(self.success) if self.success else 0
        self.between = self.later[:end]
        self.edits = [action for action in self.between if action.is_edit and not action.has_failed]

    def draft(self) -> Draft | None:
        """The memory of it, None when it taught nothing or nobody can tell what mended it."""
        success, failed = self.success, self.failed
        if not self.essence or success is None or failed.result is None:
            return None
        other = commands.core(success.command)
        how, proof = self._how(other)
        if _UNFINISHED.search(self.essence) or (other != self.command and not how) or self._was_elsewhere():
            return None
        why, who = self._why(success)
        if why and _ABOUT_THE_COMMAND.search(self.essence):
            is_about = _names(why) & (_names(self.essence) - _names(self.command))
            why, who = (why, who) if is_about else ("", [])
        if why and not _names(why) & _names(self.essence):
            self.essence = commands.essence(self.output, _names(why)).rstrip(".")
            is_long = len(self.output) > MAX_SHORT_OUTPUT_CHARS
            about = self.essence if _names(self.essence) and not is_long else f"{self.essence} {self.command}"
            if not _names(why) & _names(about):
                why, who = "", []
        if not why and not how:
            return None
        if _MISTYPED.search(self.essence) and self.command.split()[0] in _EVERYDAY:
            return None
        if _EXPECTED.search(self.essence) and (_OF_A_TEST.search(why) or not _SAYS_FIX.search(f"{why} {how}")):
            return None
        text = " ".join(
            part
            for part in (
                f"`{self.command}` failed: {self.essence}.",
                why,
                how if not (why and self._says_how(why)) else "",
            )
            if part
        )
        return Draft(
            "failure", text, [failed.result, *who],
            witnesses=[failed.call, *[action.call for action in (*proof, success)]],
            said=self.essence, is_known_whole=True,
        )  # fmt: skip

    def _is_like(self, action: Action) -> bool:
        """Whether a later command worked that may be the failed one again, or its like."""
        if not (action.is_shell and action.has_succeeded):
            return False
        is_alike = commands.likeness(self.command, commands.core(action.command)) >= MIN_LIKENESS_OF_USE
        return is_alike or commands.ran_too(self.command, action.command)

    def _was_elsewhere(self) -> bool:
        """Whether a script was not there because the folder was another one: it was run again after a `cd`."""
        return _NO_SCRIPT.search(self.essence) is not None and any(
            action.command.lstrip().startswith("cd ") and commands.core(action.command) == self.command
            for action in self.later
            if action.is_shell
        )

    def _success(self) -> Action | None:
        """The first later command that is the same or its like, and worked."""
        is_misuse = not commands.has_subcommands(self.command) and _ABOUT_THE_COMMAND.search(self.essence)
        least = MIN_LIKENESS_OF_USE if is_misuse else MIN_LIKENESS
        for action in self.later:
            if action.is_shell and action.has_succeeded and not goes_round(action.command):
                other = commands.core(action.command)
                is_alike = commands.likeness(self.command, other) >= least and commands.is_worth_telling(other)
                if other == self.command or is_alike or commands.ran_too(self.command, action.command):
                    return action
        return None

    def _how(self, other: str) -> tuple[str, Sequence[Action]]:
        """What was done, as far as the calls show it."""
        assert self.success is not None  # noqa: S101 - the caller looked
        is_same = other == self.command or commands.ran_too(self.command, self.success.command)
        setting = commands.settings_added(self.failed.command, self.success.command)
        if is_same and setting:
            return f"It worked with `{setting}`.", []
        if not is_same:
            is_mended = _ABOUT_THE_COMMAND.search(self.output[:2000]) and (
                other.split(maxsplit=1)[0] == self.command.split()[0] or commands.contains(self.command, other)
            )
            return (f"`{other}` worked instead." if is_mended and not self.edits else ""), []
        changing = [
            action
            for action in self.between
            if action.is_shell and action.has_succeeded and commands.changes_something(commands.core(action.command))
        ]
        if not self.edits:
            return (f"It worked after `{commands.core(changing[0].command)}`." if len(changing) == 1 else ""), changing
        return self._edited(), self.edits[:5]

    def _edited(self) -> str:
        files = list(dict.fromkeys(_short(action.call.file) for action in self.edits if action.call.file))
        if len(self.edits) == 1 and files:
            before, after = (
                " ".join(str(self.edits[0].input.get(name) or "").split()) for name in ("old_string", "new_string")
            )
            undone = any(
                action.input.get("old_string") == self.edits[0].input.get("new_string")
                for action in self.scenes[0].actions
                if action.is_edit
            )
            is_short = 0 < len(before) <= MAX_CHANGE_CHARS and 0 < len(after) <= MAX_CHANGE_CHARS
            is_named = _names(f"{before} {after} {files[0]}") & _names(self.essence)
            is_it = len(self.output) <= MAX_SHORT_OUTPUT_CHARS or bool(is_named)
            if is_short and is_it and not undone and "`" not in before + after:
                return f"Fixed in `{files[0]}`: `{before}` became `{after}`."
        return ""

    def _why(self, success: Action) -> tuple[str, list[StoredEvent]]:
        """Up to two sentences of the agent that say why it failed or what mended it, of those told with names of it."""
        names = _names(f"{self.command} {self.output}") | {_stem(action.call.file) for action in self.edits}
        for said in self._told(success):
            kept: list[str] = []
            for sentence in said.sentences[:MAX_REPORT_SENTENCES]:
                text = impersonal(unframed(sentence.text))
                if (
                    _CAUSE.search(text)
                    and not goes_round(text)
                    and not _ADAPTED.match(text)
                    and not _ON_THE_WAY.search(sentence.text)
                    and (kept or names & _names(text))
                    and anchors.is_technical(text)
                    and _is_fit(text)
                ):
                    kept.append(text)
            if kept and (self.edits or any(_TELLS_MENDING.search(text) for text in kept)):
                return " ".join(kept[:2]), [said.event]
        return "", []

    def _told(self, success: Action) -> list[Said]:
        """What the agent said after the failure: the report first, then what it said on the way."""
        after_fail: list[Said] = []
        for number, scene in enumerate(self.scenes):
            after_fail += [said for said in scene.agent_said() if number or said.place > self.failed.result_place]
        final = [
            said
            for said in after_fail
            if said.is_final
            and said.event.kind == events.ASSISTANT_TEXT
            and len(said.sentences) <= MAX_REPORT_SENTENCES
            and said.event.order_ms >= success.call.order_ms
        ]
        return [
            *final,
            *(said for said in after_fail if said.event.order_ms < success.call.order_ms and not said.is_final),
        ]

    def _says_how(self, why: str) -> bool:
        return _TELLS_MENDING.search(why) is not None


def _is_fit(text: str) -> bool:
    """Whether a sentence may stand behind the failure that it explains."""
    reason = fault(text)
    return (
        not reason
        or (
            reason == candidates.NOT_SELF_CONTAINED
            and not re.match(r"(?:this|that|these|those|here|first|then)\b", text, _I)
        )
        or reason == candidates.NOT_TECHNICAL
    )


def _names(text: str) -> set[str]:
    """The names in a text that only a project has, without what surrounds them."""
    return {part.strip("._-").lower() for part in set(_NAME.findall(text)) if _is_coined(part)} - {""}


def _is_coined(word: str) -> bool:
    """Whether a word is no word of a language: joined, dotted, in mixed case or with digits."""
    is_joined = any(mark in word.strip(mark) for mark in "_.-")
    return is_joined or not (word.islower() or word[1:].islower()) or any(one.isdigit() for one in word)


def _stem(file: str | None) -> str:
    return _short(file).rpartition("/")[2].lower()


def _short(file: str | None) -> str:
    return "/".join((file or "").replace("\\", "/").rsplit("/", 2)[-2:])

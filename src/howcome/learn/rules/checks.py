"""Checks that a linter or a type checker failed: by which rule, and what satisfied it. Told in the tool's own words."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain, islice

from howcome.learn.rules import commands
from howcome.learn.rules.draft import Draft
from howcome.learn.rules.linters import findings, would_format

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from howcome.domain.candidates import Distilled
    from howcome.learn.rules.linters import Finding
    from howcome.learn.rules.scene import Action, Scene

_LINTS = re.compile(
    r"\b(?:lint\w*|golangci-lint|\w*vet|clippy|mypy|pyright|ruff|flake8|pylint|eslint|biome|tsc|type-?check\w*"
    r"|shellcheck|rubocop|checkstyle\w*|ktlint\w*|detekt|swiftlint|staticcheck|check|verify|pre-commit)\b"
)
_FIXES = re.compile(r"\b(?:fix|fmt|format|autocorrect)\b|--(?:fix|write|fix-only|autocorrect\w*|apply\w*)\b|\s-[wA]\b")
_OWN_RULES = re.compile(
    r"--(?:no-config|enable\w*|disable\w*|select|rules?|only|ignore|config|max-\w+|rulesdir)\b|\s-E\b"
)
"""Who asks for rules of one's own does not learn which ones the project has."""

_OF_ONE_PLACE = re.compile(r"\s(?:\./)?[\w.@-]+/[\w.@-]+/[\w./@*-]*|\s\S*\w\.(?:go|[jt]sx?|py|rs|rb|sh|java|kt)\b")
"""A look at one place is no run of the project's check."""

_PARTS = re.compile(r"&&|\|\||[;\n]")
_PLAIN = re.compile(r"[\w:@-]*\w")
_CUT = re.compile(r"\|\s*(?:head|e?grep|rg|sed|awk|cut|wc)\b")
_TROUBLE = re.compile(
    r"task failed|exited with (?:error )?code [1-9]|\b[1-9]\d* (?:errors?|issues?|problems?|warnings?|fail\w*)\b"
    r"|\bFAIL\b|\b[Ee]rror:|\berror\[|^Exit code [1-9]",
    re.MULTILINE,
)
_CONFIG = re.compile(
    r"\.?(?:golangci|eslint|biome|ruff|mypy|flake8|pylint|rubocop|clippy|checkstyle|shellcheck|prettier|tsconfig"
    r"|pyright|swiftlint|editorconfig|detekt)[\w.-]*|pyproject\.toml|setup\.cfg"
)
_MARKS = (
    (r"//\s*nolint:[\w,]*\b{0}\b", "//nolint:{0}"), (r"#\s*noqa:[\w, ]*\b{0}\b", "# noqa: {0}"),
    (r"#\s*type:\s*ignore\[[\w, -]*\b{0}\b", "# type: ignore[{0}]"),
    (r"#\s*pyright:\s*ignore\[[\w, ]*\b{0}\b", "# pyright: ignore[{0}]"),
    (r"eslint-disable-(?:next-)?line [^\n]*{0}", "eslint-disable {0}"),
    (r"biome-ignore[\w-]* lint/\w+/{0}\b", "biome-ignore {0}"),
    (r"(?:allow|expect)\([^)]*clippy::{0}\b", "#[allow(clippy::{0})]"),
    (r"shellcheck disable=[\w,]*\b{0}\b", "# shellcheck disable={0}"),
    (r"rubocop:(?:disable|todo) [^\n]*{0}", "# rubocop:disable {0}"),
    (r"@SuppressWarnings\([^)]*{0}", "@SuppressWarnings"),
)  # fmt: skip
"""How a rule (in the place of {0}) is switched off for one line, and how that is told."""

_ROUND = re.compile(
    r"--no-verify\b|\b(?:HUSKY|LEFTHOOK)=0\b|\b(?:SKIP|HUSKY_SKIP_HOOKS|PRE_COMMIT_ALLOW_NO_CONFIG)=\S"
    r"|\bgit (?:-\S+ \S+ )?commit\b[^\n;|&\"']* -[a-mo-z]*n[a-z]*\b|core\.hooksPath=|--(?:skip-hooks|no-hooks)\b"
)
_OF_WHOLE_FILE = re.compile(
    r"@ts-nocheck|/\*\s*eslint-disable(?!-)|#\s*(?:ruff|flake8): noqa|#\s*mypy: (?:ignore|disable)|#!\[allow\("
    r"|#\s*pylint: (?:skip-file|disable=)|biome-ignore-all|^//nolint:?\S*\s*\n+package ",
    re.MULTILINE,
)
"""What switches a check off for all that a file holds."""

MAX_WORDS = 5
MAX_LATER = 80
"""Actions after a failure among which its mending is looked for."""

_WHY = re.compile(r"[\w,/.()\]\[-]*\s*(?://|--|—|–|-|:|#)\s*([A-Za-z][^\n*]{7,90}?)\s*(?:\*/|$)", re.MULTILINE)  # noqa: RUF001
"""The reason that stands behind the mark which switches a rule off."""

_CODE_OF_RULE = re.compile(r"\b[A-Z]{1,6}\d{3,5}\b")
_TELLING = re.compile(r"\b(?!(?:of|in|the|an?) )\w+")
"""The words by which a message is told from others: a name in it may come with "of", or be left out."""

MAX_LINE_CHARS = 90
CHANGED = "after a change of the code"
FORMATTING = "the formatter would have changed files"


def find(scene: Scene, _found: Distilled) -> list[Draft]:
    """Rules that failed a check of an exchange, and were satisfied in it or in the exchanges after it."""
    drafts: dict[str, Draft] = {}
    for place, action in enumerate(scene.actions):
        may_fail = action.is_shell and (action.has_failed or (action.has_succeeded and _hides_code(action.command)))
        name = check_name(action.command) if may_fail else ""
        if not name or _FIXES.search(name) or _OWN_RULES.search(action.command) or _OF_ONE_PLACE.search(action.command):
            continue
        for said, finding in _told(action):
            if said not in drafts:
                draft = _draft(scene, place, name, said, finding)
                if draft is not None:
                    drafts[said] = draft
    return list(drafts.values())


@lru_cache(maxsize=4096)
def check_name(command: str) -> str:
    """The linting part of a command without paths and flags (`make lint`), "" where there is none or several."""
    if "<<" in command or "git commit" in command or not _LINTS.search(command):
        return ""
    names = dict.fromkeys(_name(part) for part in _parts(command) if _LINTS.search(part) and not _FIXES.search(part))
    names.pop("", None)
    return next(iter(names)) if len(names) == 1 else ""


def is_told(action: Action, found: Distilled) -> bool:
    """Whether another rule already tells of what came of a command."""
    result = action.result.id if action.result is not None else ""
    return any(candidate.type == "failure" and result in candidate.evidence[:1] for candidate in found.candidates)


def later_than(scene: Scene, place: int) -> list[Action]:
    """The actions after one of an exchange, in it and in those that follow it."""
    rest = (action for after in scene.following for action in after.actions)
    return list(islice(chain(scene.actions[place + 1 :], rest), MAX_LATER))


def goes_round(command: str) -> bool:
    """Whether a command passes by checks: what it let through satisfied none."""
    return _ROUND.search(command) is not None


def switches_off(edit: Action) -> bool:
    """Whether an edit switched a check off for a whole file."""
    return _OF_WHOLE_FILE.search(text_after(edit)) is not None and not _OF_WHOLE_FILE.search(text_before(edit))


def has_passed(action: Action) -> bool:
    """Whether a check went well: a pipe hides its exit code, not what it printed."""
    if not action.has_succeeded or is_cut(action.command) or goes_round(action.command):
        return False
    return not (_hides_code(action.command) and (_TROUBLE.search(action.output) or findings(action.output)))


def _hides_code(command: str) -> bool:
    return "|" in command or ";" in command


def is_cut(command: str) -> bool:
    """Whether only the beginning of an output is shown, or some of its lines."""
    return _CUT.search(command) is not None


def _parts(command: str) -> list[str]:
    return [commands.core(part) for part in _PARTS.split(command) if part.strip()]


def _name(part: str) -> str:
    words = part.split()
    kept: list[str] = []
    for word in words:
        if not _PLAIN.fullmatch(word) or (word.startswith("-") and not (word == "-m" and kept[-1:] == ["python"])):
            break
        kept.append(word)
    name = " ".join(kept)
    return name if 0 < len(kept) <= MAX_WORDS and _LINTS.search(name) else ""


def _told(action: Action) -> Iterator[tuple[str, Finding | None]]:
    for finding in findings(action.output):
        said = finding.told
        if said and not finding.is_unfinished and finding.text.count("`") % 2 == 0:
            yield f"{finding.rule}: {said}", finding
    if would_format(action.output):
        yield FORMATTING, None


def _draft(scene: Scene, place: int, name: str, said: str, finding: Finding | None) -> Draft | None:
    failed = scene.actions[place]
    later = later_than(scene, place)
    end = next((at for at, action in enumerate(later) if _is_again(action, name) and has_passed(action)), None)
    if end is None or failed.result is None:
        return None
    between = [action for action in later[:end] if not action.has_failed]
    how, proof = by_fixer(between, finding) if finding is None else _how(between, finding)
    if not how:
        return None
    example = _example(how, proof, failed, finding) if finding is not None else ""
    if any(_takes_out(action, example) for action in later):
        example = ""
    return Draft(
        "failure", f"`{name}` failed: {said.rstrip('.')}. It passed {how}{example}.", [failed.result],
        witnesses=[failed.call, *(action.call for action in (*proof, later[end]))], said=said, is_known_whole=True,
        subject=f"{name}: {' '.join(_TELLING.findall(said))} {how}",  # one memory a remedy, with the fullest example
    )  # fmt: skip


def _example(how: str, proof: Sequence[Action], failed: Action, finding: Finding) -> str:
    """What a mark gives as its reason, or the one line that was changed where a file had one finding."""
    if how.endswith(" comment"):
        why = _reason_of_mark(text_after(proof[0]), finding.rule)
        is_of_another = set(_CODE_OF_RULE.findall(why)) - set(_CODE_OF_RULE.findall(f"{finding.rule} {finding.text}"))
        return f" (“{why}”)" if why and not is_of_another else ""
    if how != CHANGED or len(proof) != 1 or sum(one.file == finding.file for one in findings(failed.output)) != 1:
        return ""
    line = one_line_changed(proof[0])
    return f" ({line})" if line else ""


def _takes_out(action: Action, example: str) -> bool:
    """Whether a later edit took the reason that a mark gave away again: it was not true, or not enough."""
    why = example.strip(" (“”)") if "“" in example else ""
    return bool(why) and action.is_edit and why in text_before(action) and why not in text_after(action)


def _reason_of_mark(written: str, rule: str) -> str:
    """What stands behind the first mark that switches a rule off."""
    for mark, _ in _MARKS:
        place = re.search(mark.format(re.escape(rule)), written)
        why = _WHY.match(written, place.end()) if place else None
        if why:
            return why[1].strip() if not set(why[1]) & set("`“”") else ""
    return ""


def one_line_changed(edit: Action) -> str:
    """What an edit made of a single short line, or that it added or removed one; "" for every other edit."""
    old, new = text_before(edit).splitlines(), text_after(edit).splitlines()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    if not text_before(edit) or len(old) > 1 or len(new) > 1:
        return ""
    before, after = (" ".join(" ".join(lines).split()) for lines in (old, new))
    both = before + after
    if max(len(before), len(after)) > MAX_LINE_CHARS or "`" in both or before == after or not _PLAIN.search(both):
        return ""
    if before and after:
        return f"`{before}` became `{after}`"
    return f"`{before}` was removed" if before else f"`{after}` was added"


def _is_again(action: Action, name: str) -> bool:
    return action.is_shell and name in action.command and check_name(action.command) == name


def _how(between: Sequence[Action], finding: Finding) -> tuple[str, list[Action]]:
    """What satisfied a rule, as the calls show it: a mark for one line, the tool's settings, a fixer, or the code."""
    edits = [action for action in between if action.is_edit]
    of_file = [edit for edit in edits if base_of(edit.call.file) == base_of(finding.file)]
    if any(switches_off(edit) for edit in of_file):
        return "", []
    for edit in of_file:
        for mark, shown in _MARKS if finding.rule in text_after(edit) and text_before(edit) else ():
            pattern = mark.format(re.escape(finding.rule))
            if re.search(pattern, text_after(edit)) and not re.search(pattern, text_before(edit)):
                return f"with a `{shown.format(finding.rule)}` comment", [edit]
    for edit in edits:
        if _CONFIG.fullmatch(base_of(edit.call.file)):
            return f"after a change of `{base_of(edit.call.file)}`", [edit]
    if of_file:
        return CHANGED, of_file[:2]
    return by_fixer(between, finding)


def by_fixer(between: Sequence[Action], finding: Finding | None) -> tuple[str, list[Action]]:
    """The command that mended it; a formatter does not mend what a linter found."""
    for action in between:
        if action.is_shell and action.has_succeeded and _FIXES.search(action.command):
            fixing = [part for part in _parts(action.command) if _FIXES.search(part) and len(part.split()) <= MAX_WORDS]
            is_one = len(fixing) == 1 and "git" not in fixing[0]
            if is_one and (finding is None or "lint" in fixing[0] or "--" in fixing[0]):
                return f"after `{fixing[0]}`", [action]
    return "", []


def text_after(edit: Action) -> str:
    """What an edit wrote."""
    return str(edit.input.get("new_string") or edit.input.get("new_str") or edit.input.get("content") or "")


def text_before(edit: Action) -> str:
    """What an edit replaced."""
    return str(edit.input.get("old_string") or edit.input.get("old_str") or "")


def base_of(file: str | None) -> str:
    """A file's name without its folders."""
    return (file or "").replace("\\", "/").rpartition("/")[2]

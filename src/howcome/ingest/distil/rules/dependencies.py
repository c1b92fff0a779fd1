"""Dependencies that came, went or changed their version: manifests that were edited, package managers that were run."""

from __future__ import annotations

import re

from howcome.domain import candidates
from howcome.ingest.distil import anchors
from howcome.ingest.distil.fitness import is_personal
from howcome.ingest.distil.rewriting import impersonal, lowered
from howcome.ingest.distil.rules.draft import Draft
from howcome.ingest.distil.rules.trials import came_with, is_tried, step_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from howcome.domain.candidates import Distilled
    from howcome.domain.stored import StoredEvent
    from howcome.ingest.distil.rules.scene import Action, Scene

_NAME = r"@?[A-Za-z0-9][\w.-]*(?:/[\w.-]+)*"
_COMMANDS = re.compile(
    r"(?:^|&&|\|\||;|\n|\brun |\bexec )\s*(?:sudo |env |[A-Z_]+=\S+ |rtk |python3? -m |\.?\S*/bin/(?:python3? -m )?)*"
    r"(?P<tool>npm|pnpm|yarn|bun|pip3?|uv pip|uv|poetry|pdm|pipenv|cargo|go|gem|bundle|composer|dotnet|mix"
    r"|flutter pub|dart pub|deno|conda|rye|pixi|pod)\s+"
    r"(?P<verb>install|i|add package|add|get|require|remove|uninstall|rm|un|update|upgrade|up)\b(?P<rest>[^\n;&|<>]*)"
)
MAX_COMMAND_CHARS = 2_000
_VERB_WORDS = (" install", " add", " get", " require", " remove", " uninstall", " update", " upgrade", " i ", " rm ",
               " un ", " up")  # fmt: skip
"""A command without any of these changes no dependency."""

_VERBS = {
    "remove": "removed", "uninstall": "removed", "rm": "removed", "un": "removed", "update": "updated",
    "upgrade": "updated", "up": "updated",
}  # fmt: skip
_ADDERS = {
    "npm": ("install", "i", "add"), "pnpm": ("add", "install", "i"), "yarn": ("add",), "bun": ("add", "install", "i"),
    "pip": ("install",),
    "pip3": ("install",), "uv pip": ("install",), "uv": ("add",), "poetry": ("add",), "pdm": ("add",),
    "pipenv": ("install",), "cargo": ("add",),
    "go": ("get",), "bundle": ("add",), "composer": ("require",), "dotnet": ("add package",), "flutter pub": ("add",),
    "dart pub": ("add",),
    "deno": ("add",), "conda": ("install",), "rye": ("add",), "pixi": ("add",), "gem": ("install",),
}  # fmt: skip
_VALUED = frozenset(
    "-r -c --requirement --constraint -e --editable -i --index-url --extra-index-url -t --target --prefix"
    " -C --cwd --filter -w --workspace -p --package --group -G --features -F --python --manifest-path -n"
    " --name --registry --path --git --branch --rev --optional".split()
)
_SPEC = re.compile(
    rf"^(?P<name>{_NAME}?)(?:\[[\w,.-]+\])?(?:(?P<at>@|==|>=|<=|~=|\^|=|:)(?P<version>[\w.*^~<>=,+-]+))?$"
)
_LOCAL = re.compile(r"^(?:\.|/|~|file:|git\+|https?:|\$|%|\*|-)|\.(?:whl|tar\.gz|tgz|zip)$|\.\.\.$")
_MANIFESTS = {
    "package.json": "npm", "go.mod": "go", "pyproject.toml": "python", "cargo.toml": "cargo",
    "requirements.txt": "python", "gemfile": "gem",
    "composer.json": "composer", "pubspec.yaml": "pub", "pipfile": "python", "requirements-dev.txt": "python",
    "build.gradle": "gradle",
    "build.gradle.kts": "gradle", "pom.xml": "maven", "podfile": "pods", "gradle-wrapper.properties": "wrapper",
    "setup.cfg": "python", "mix.exs": "mix", "libs.versions.toml": "gradle", ".tool-versions": "tools",
    "mise.toml": "tools",
}  # fmt: skip
_SINGLE = {
    ".nvmrc": "node",
    ".node-version": "node",
    ".python-version": "python",
    ".ruby-version": "ruby",
    ".java-version": "java",
}
_VERSION = r"[~^<>=v ]*\d+(?:\.[\dx*]+)*(?:[-+.][\w.]+)*(?:,\s*[<>=!~]+\s*[\d.]+)*"
_LINES = {
    "npm": re.compile(rf'^\s*"(?P<name>{_NAME})"\s*:\s*"(?P<version>{_VERSION}|latest|\*|workspace:[^"]*)"'),
    "composer": re.compile(rf'^\s*"(?P<name>{_NAME}/{_NAME})"\s*:\s*"(?P<version>{_VERSION})"'),
    "go": re.compile(
        r"^\s*(?:require\s+)?(?P<name>[\w-]+\.[\w.-]+/[\w./-]+)\s+(?P<version>v[\w.+-]+)(?!.*// indirect)"
        r"|^(?P<tool>go|toolchain)\s+(?P<toolversion>[\w.]+)\s*$"),
    "python": re.compile(
        r"^\s*[\"']?(?P<name>[A-Za-z][\w.-]*)(?:\[[\w,-]+\])?\s*(?P<version>(?:==|>=|~=|<=|<|>"
        r"|!=)\s*[\d][\w.*]*(?:\s*,\s*(?:==|>=|~=|<=|<|>|!=)\s*[\d][\w.*]*)*)"
        r"|^(?P<tool>requires-python)\s*=\s*\"(?P<toolversion>[^\"]+)\""),
    "cargo": re.compile(
        rf'^\s*(?P<name>[A-Za-z][\w-]*)\s*=\s*(?:"(?P<version>{_VERSION})"'
        rf'|\{{[^}}]*?version\s*=\s*"(?P<version2>{_VERSION})")'),
    "gem": re.compile(rf"^\s*gem\s+[\"'](?P<name>{_NAME})[\"'](?:\s*,\s*[\"'](?P<version>{_VERSION})[\"'])?"),
    "pub": re.compile(rf"^\s+(?P<name>[a-z][\w]*):\s*(?P<version>\^?{_VERSION})\s*$"),
    "gradle": re.compile(rf"(?:^|[\"'(])(?P<name>[\w.-]+:[\w.-]+):(?P<version>{_VERSION})(?:$|[\"')])"),
    "mix": re.compile(rf'\{{:(?P<name>\w+),\s*"(?P<version>{_VERSION})"'),
    "docker": re.compile(r"^\s*FROM\s+(?:--\S+\s+)?(?P<name>[\w./-]+)(?P<version>:[\w.-]+)", re.IGNORECASE),
    "compose": re.compile(r"^\s*image:\s*[\"']?(?P<name>[\w./-]+)(?P<version>:[\w.-]+)"),
    "actions": re.compile(r"uses:\s*[\"']?(?P<name>[\w.-]+/[\w./-]+)(?P<version>@[\w.-]+)"),
    "maven": re.compile(r"<(?P<name>[\w.-]+?)\.version>(?P<version>[\w.-]+)</"),
    "pods": re.compile(r"\bpod\s+[\"'](?P<name>[\w/+.-]+)[\"'](?:\s*,\s*[\"'](?P<version>[^\"']+)[\"'])?"),
    "wrapper": re.compile(r"(?P<name>gradle)-(?P<version>\d[\w.]*?)-(?:bin|all)\.zip"),
    "tools": re.compile(r'^\s*"?(?P<name>[a-z][\w:/.-]*)"?\s*(?:=\s*"|\s)(?P<version>\d+(?:\.\w+)*)"?\s*$'),
}  # fmt: skip
_PRODUCT = (
    r"(?P<name>[A-Za-z][A-Za-z.+#]{1,24})[ -]v?(?P<version>\d+(?:\.\d+)*(?:\.x)?)\b(?! ?(?:%|ms|s|sec"
    r"|seconds?|minutes?|hours?|days?|times|x|lines?|files?|tests?|errors?|mb|gb|kb|px)\b)"
)
_IN_USE = re.compile(
    r"\b(?:(?:is|are|we're|we are|runs?|running|stays?|still) (?:on|at)|runs?|minimum(?: version)?(?: is"
    r"|:)|requires?|at least|targets?|supports? only|only supports?|pinned (?:to|at)|upgraded to|bumped to"
    rf"|must (?:be|run on)|has to (?:be|run on)|we use|uses) (?:the )?{_PRODUCT}",
    re.IGNORECASE,
)
_MOVED = re.compile(
    rf"\b(?:moved|migrated|switched|upgraded|went|updated) (?:\w+ )?from [\w.+# -]{{2,30}}? to {_PRODUCT}",
    re.IGNORECASE,
)
_REDIRECTED = re.compile(r"\s*\d?>+ ?\S*.*$|\s+\d$")
_PINS = re.compile(
    r"\bpin(?:s|ned|ning)?\b[^.`]{0,30}`?(?P<name>[A-Za-z@][\w./-]*?)(?P<at>==|@|~=|\^)v?(?P<version>\d[\w.]*\w)`?"
    r"(?:[^.]{0,40}?\b(?:since|because|as|so that) (?P<why>.{8,160}?)(?=\.?$))?",
    re.IGNORECASE,
)
_UNNAMED = re.compile(r"\b(?:rev|version|tag|ref)\s*[:=]\s*[\"']?((?:[~^<>=v ]*)\d+(?:\.[\w-]+)+)")
_NO_STATEMENT = re.compile(
    r"\b(?:should we|could|would|can you|please|let's|maybe|try|option|step|phase|task|issue|pr|comment"
    r"|test|fails?|failed|error|i think|wonder)\b",
    re.IGNORECASE,
)
_DIGIT = re.compile(r"\d")
_ADDED, _REMOVED = re.compile(r" added (?:to `|as )"), re.compile(r" removed from (?:`|the )")
_TAKEN_BACK = re.compile(
    r"\bgit (?:checkout|restore|reset|stash|revert)\b[^&|;\n]*(?:package(?:-lock)?\.json|\block\b|\.toml"
    r"|go\.(?:mod|sum)|requirements|--hard|Gemfile|composer\.json|pubspec)",
    re.IGNORECASE,
)
_SCRATCH = re.compile(
    r"(?:^|[\s=\"'])(?:/tmp|/private/tmp|/var/tmp|\$TMPDIR|~/\.)[/\w]|mktemp|\bvenv /tmp", re.IGNORECASE
)
_NO_PACKAGES = frozenset(
    "name version license main type npm description edition rust-version private author module"
    " types exit return sleep set line-length target-version".split()
)
_NO_DEPENDENCY_OF_OURS = re.compile(
    r"/(?:tests?|fixtures?|testdata|examples?|node_modules|vendor|tmp)/|^/tmp/|^/private/tmp/|^/var/"
)


def find(scene: Scene, found: Distilled) -> list[Draft]:
    """Packages that commands or edits of manifests added, removed or moved to another version; versions people name."""
    drafts: dict[str, Draft] = {}
    made: dict[str, tuple[Action, str]] = {}
    for action in scene.actions:
        if not (action.is_shell or action.is_edit) or not action.has_succeeded:
            continue
        if action.is_shell and drafts and _TAKEN_BACK.search(action.command):
            drafts.clear()
        for name, text in _changes(action):
            before = made.pop(name, None)
            drafts.pop(name, None)
            if before and _ADDED.search(before[1]) and _REMOVED.search(text):
                continue
            made[name] = action, text
            told, who = _told(scene, name, text)
            witnesses = [action.call, action.result] if action.result else [action.call]
            drafts[name] = Draft(
                "dependency", told, [*who, action.call], witnesses=witnesses, subject=name.lower(), is_known_whole=True
            )
        for name, text, event in _unnamed(scene, action) if action.is_edit else ():
            drafts[name] = Draft("dependency", text, [event, action.call], subject=name.lower(), is_known_whole=True)
    if drafts and any(
        action.is_shell and action.has_succeeded and _TAKEN_BACK.search(action.command)
        for after in scene.following
        for action in after.actions
    ):
        drafts.clear()
    for name in _tried({name: one for name, one in made.items() if name in drafts}, scene):
        del drafts[name]
        found.reject(candidates.UNSURE)
    for draft in _pinned(scene):
        drafts.setdefault(draft.subject, draft)
    return [*drafts.values(), *_stated(scene)]


def _changes(action: Action) -> Iterable[tuple[str, str]]:
    """The packages that a command or an edit changed, and how."""
    if not action.has_succeeded:
        return ()
    return _run(action) if action.is_shell else _edited(action) if action.is_edit else ()


def _tried(made: Mapping[str, tuple[Action, str]], scene: Scene) -> list[str]:
    """The packages of an exchange whose change did not last; what came with one of them goes with it, unused."""
    later = {name for after in scene.later if made for action in after.actions for name, _ in _changes(action)}
    tried = {
        name: action
        for name, (action, text) in made.items()
        if name in later or is_tried(name, action, scene, is_bump=not (_ADDED.search(text) or _REMOVED.search(text)))
    }
    return [name for name, (action, _) in made.items() if name in tried or came_with(name, action, tried, scene)]


def _told(scene: Scene, name: str, text: str) -> tuple[str, list[StoredEvent]]:
    """A change with the version and the reason that the agent names for it, where it does."""
    for said in scene.agent_said():
        for sentence in said.sentences if name.lower() in said.low else ():
            if name.lower() not in sentence.text.lower():
                continue
            version = re.search(
                rf"{re.escape(name)}`?(?: is)?(?: now)?(?: (?:on|at|to))? v?(\d+(?:\.\d+)+[\w.-]*)",
                sentence.text,
                re.IGNORECASE,
            )
            why = re.search(r"\b(?:because|since|as|so that|due to) (.{8,160}?)[.!]?$", sentence.text)
            if version and version[1] not in text:
                text = f"{text[:-1]} ({version[1]})."
            if why and "Reason:" not in text:
                return f"{text} Reason: {lowered(impersonal(why[1]))}", [said.event]
            if version:
                return text, [said.event]
    return text, []


def _pinned(scene: Scene) -> list[Draft]:
    """Versions that the agent says it pinned, where it changed something afterwards or reports it."""
    drafts = []
    for said in scene.agent_said():
        if said.is_published or "pin" not in said.low:
            continue
        for sentence in said.sentences:
            match = _PINS.search(sentence.text)
            if not match or sentence.text.endswith("?") or _NO_STATEMENT.search(sentence.text[: match.start()]):
                continue
            file = anchors.FILE.search(sentence.label) or anchors.FILE.search(sentence.text)
            where = f" in `{file[0]}`" if file else ""
            spec = f"{match['name']}{match['at']}{match['version']}"
            text = f"{match['name']} pinned to {match['version']}{where} (`{spec}`)."
            why = impersonal(match["why"]) if match["why"] else ""
            text = f"{text} Reason: {lowered(why)}" if why and not is_personal(why) else text
            drafts.append(
                Draft(
                    "dependency",
                    text,
                    [said.event],
                    subject=match["name"].lower(),
                    said=sentence.text,
                    is_known_whole=True,
                )
            )
    return drafts


def _stated(scene: Scene) -> list[Draft]:
    """Versions that a person says are in use or required."""
    drafts = []
    for said in scene.user_said():
        for sentence in said.sentences if said.is_typed and _DIGIT.search(said.low) else ():
            stated = re.sub(
                r",? (?:so )?(?:you|we|i) (?:can|should|may|could)\b.*$", "", sentence.text, flags=re.IGNORECASE
            )
            if sentence.text.endswith("?") or _NO_STATEMENT.search(stated):
                continue
            match = _IN_USE.search(stated) or _MOVED.search(stated)
            if match and (match["name"].lower() in anchors.PRODUCTS or match["name"][:1].isupper()):
                text = impersonal(stated, subject="the project")
                drafts.append(
                    Draft(
                        "dependency",
                        text,
                        [said.event],
                        subject=match["name"].lower(),
                        said=sentence.text,
                        is_wish=True,
                    )
                )
    return drafts


def _run(action: Action) -> Iterator[tuple[str, str]]:
    command = action.command
    if len(command) > MAX_COMMAND_CHARS or not _has_verb(command) or "<<" in command or _SCRATCH.search(command):
        return
    for match in _COMMANDS.finditer(command):
        tool, verb, rest = match["tool"], match["verb"], _REDIRECTED.sub("", match["rest"])
        if (
            verb not in (*_ADDERS.get(tool, ()), *_VERBS)
            or re.search(r"(?:^|\s)(?:-g|--global|--dry-run|--user)\b", rest)
            or (tool == "go" and verb != "get")
        ):
            continue
        for name, version in _specs(tool, rest):
            yield name, _done(name, version, verb, " ".join(_REDIRECTED.sub("", match[0]).strip(" &;|").split()))


def _has_verb(command: str) -> bool:
    for verb in _VERB_WORDS:  # noqa: SIM110 - a generator costs three times as much
        if verb in command:
            return True
    return False


def _done(name: str, version: str, verb: str, command: str) -> str:
    """What a command did with a package, in words."""
    if version == "none" or _VERBS.get(verb) == "removed":
        return f"{name} removed from the dependencies with `{command}`."
    shown = f"{name} {version}" if version and version != "latest" else name
    return f"{shown} {_VERBS.get(verb, 'added')} as a dependency with `{command}`."


def _specs(tool: str, rest: str) -> Iterator[tuple[str, str]]:
    rest = re.sub(r"(\S+) (?:--version|-v) (\S+)", r"\1@\2", rest) if tool in ("dotnet", "gem") else rest
    words = iter(rest.replace('"', "").replace("'", "").split())
    for word in words:
        if word in _VALUED:
            next(words, None)
            continue
        if word.startswith("-") or _LOCAL.search(word):
            continue
        match = _SPEC.match(word)
        if match and match["name"] and not match["name"].isdigit() and len(match["name"]) > 1:
            mark = match["at"] or ""
            yield match["name"], ("" if mark in ("@", "==", "=", ":") else mark) + (match["version"] or "")


def _edited(action: Action) -> Iterator[tuple[str, str]]:
    """The packages whose version an edit of a manifest changed."""
    file = (action.call.file or "").replace("\\", "/")
    base = file.rpartition("/")[2]
    kind = _kind(file, base.lower())
    if kind is None:
        return
    before, after = action.input.get("old_string"), action.input.get("new_string")
    if kind == "single":
        after = action.input.get("content") if after is None else after
        name, version = _SINGLE[base.lower()], str(after or "").strip()
        if re.fullmatch(r"v?\d[\w.]*", version):
            yield name, f"{name} {version} set in `{base}`."
        return
    if kind is None or _NO_DEPENDENCY_OF_OURS.search(file) or not isinstance(before, str) or not isinstance(after, str):
        return
    old, new = _versions(kind, before), _versions(kind, after)
    gone, come = [name for name in old if name not in new], [name for name in new if name not in old]
    instead = f" in place of {gone[0]}" if len(gone) == len(come) == 1 else ""
    for name, version in new.items():
        shown = _spec(name, version)
        if name not in old:
            step = step_of(name, after) if kind == "actions" else ""
            step = f" (step “{step}”)" if step else ""
            yield name, f"{shown} added to `{base}`{instead}{step}."
        elif old[name] != version:
            yield (
                name,
                f"{name} changed from {old[name]} to {version} in `{base}`{'' if ' ' in shown else f' ({shown})'}.",
            )
    for name in () if instead else gone:
        yield name, f"{name} removed from `{base}` (was {old[name]})."


def _unnamed(scene: Scene, action: Action) -> Iterator[tuple[str, str, StoredEvent]]:
    """An edit that changes a version beside which nothing says of what: the agent's report may name it."""
    file = (action.call.file or "").replace("\\", "/")
    if not file.endswith((".tf", "pre-commit-config.yaml", "Chart.yaml", ".hcl")):
        return
    before, after = (str(action.input.get(name) or "") for name in ("old_string", "new_string"))
    old, new = _UNNAMED.search(before), _UNNAMED.search(after)
    if not old or not new or old[1] == new[1]:
        return
    for said in scene.agent_said():
        for sentence in said.sentences if said.place > action.place else ():
            if new[1].lstrip("v~>=^ ") in sentence.text and not sentence.text.endswith("?"):
                text = impersonal(sentence.text)
                base = file.rpartition("/")[2]
                yield base, text if base in text else f"{text[:-1]} (`{base}`).", said.event
                return


def _kind(file: str, base: str) -> str | None:
    if base in _SINGLE:
        return "single"
    if base.startswith("dockerfile") or base.endswith((".dockerfile", "containerfile")):
        return "docker"
    if re.search(r"(?:^|/)(?:docker-)?compose[\w.-]*\.ya?ml$", file.lower()):
        return "compose"
    if re.search(r"/\.github/(?:workflows|actions)/.*\.ya?ml$", file.lower()):
        return "actions"
    return _MANIFESTS.get(base)


def _spec(name: str, version: str) -> str:
    if not version:
        return name
    return f"{name}{version}" if version[0] in "<>=~^!:@" else f"{name} {version}"


def _versions(kind: str, text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in text.splitlines():
        match = _LINES[kind].search(line)
        if not match:
            continue
        values = match.groupdict()
        name = values.get("name") or values.get("tool") or ""
        version = values.get("version") or values.get("version2") or values.get("toolversion") or ""
        if name.lower() not in _NO_PACKAGES:
            found[name] = " ".join(version.split())
    return found

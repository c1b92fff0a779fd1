"""`app.search`: a question or a prompt, and what earlier sessions say about it."""

from __future__ import annotations

from howcome.app.clock import now_ms
from howcome.domain.verdicts import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Sequence

    from howcome.app.models import Models
    from howcome.app.projects import Projects
    from howcome.domain.memories import Memory
    from howcome.domain.stored import Found, Reminder, Scope
    from howcome.domain.verdicts import PastVerdict
    from howcome.recall.acting import Ledger, Mended
    from howcome.recall.briefing import Briefing
    from howcome.recall.explained import Explained
    from howcome.recall.failing import Failing
    from howcome.recall.receipt import Row
    from howcome.retrieve.outside import Outside
    from howcome.retrieve.question import Question
    from howcome.retrieve.ranking import Ranking
    from howcome.settings import Settings
    from howcome.store.base import Store

MORE, MOST = 4, 1000
"""Where answers of excluded projects are left out, so many times as many are asked for, until so many are."""


class Searching:
    """Reads only, but for what is remembered of what was said."""

    def __init__(
        self, store: Store, settings: Settings, models: Models, projects: Projects, ranking: Ranking | None
    ) -> None:
        self._store, self._settings, self._models, self._projects = store, settings, models, projects
        self._ranking = ranking

    def find(self, question: Question, *, by_words: bool = False) -> list[Found]:
        """The events and memories that answer a question, best first; with `by_words` no embedder is asked.

        What is asked of every project is answered by none that the setting `exclude` names.
        """
        from copy import copy

        excluded = self._projects.excluded() if question.scope.is_everything and question.session is None else {}
        wider, found = copy(question), self._found(question, by_words=by_words)
        while excluded:
            kept = [one for one in found if not _is_of(one, excluded.values())]
            if len(kept) >= question.limit or len(found) < wider.limit or wider.limit >= MOST:
                found = kept[: question.limit]
                break
            wider.limit *= MORE
            found = self._found(wider, by_words=by_words)
        self.look([item.memory for item in found if item.memory is not None])
        return found

    def _found(self, question: Question, *, by_words: bool) -> list[Found]:
        from howcome.retrieve.question import answer
        from howcome.retrieve.ranking import chosen_ranking

        models, ranking = self._models, self._ranking or chosen_ranking(self._settings)
        return answer(
            self._store,
            question,
            now_ms=now_ms(),
            ranking=ranking,
            vectors=None if by_words or not models.is_of_use else models.vectors,
            outside=self._outside() if ranking.has("classifier") or ranking.has("graph") else None,
        )

    def _outside(self) -> Outside:
        from howcome.retrieve.outside import Outside

        return Outside(self._settings, self._store, self._models.redact, now_ms)

    def look(self, memories: Iterable[Memory]) -> None:
        """Lets memories know what has become of the files that they name."""
        from howcome.recall.standing import standing

        for memory in memories:
            memory.standing = standing(self._store, memory)

    def has_words(self, text: str) -> bool:
        """Whether a text has words to search by: not only very common ones."""
        return bool(self._store.index.analyze(text))

    def recall(
        self, prompt: str, *, cwd: str, session: str, recent: Callable[[], str], then_ms: int | None = None
    ) -> list[Reminder]:
        """What `judged` says about a prompt, alone."""
        return self.judged(prompt, cwd=cwd, session=session, recent=recent, then_ms=then_ms).said

    def judged(
        self,
        prompt: str,
        *,
        cwd: str,
        session: str,
        recent: Callable[[], str],
        then_ms: int | None = None,
        is_held: Callable[[str], bool] = lambda _: False,
    ) -> Verdict:
        """What earlier sessions of this project, and memories, say about a prompt, and what held the rest back.

        `then_ms`: as it was at that moment (UTC milliseconds), by what had been said before it; None: now.
        `is_held`: whether the agent reads a memory's text by itself.
        """
        from howcome.recall.prompt import Asking, pushed, recall

        is_loaded = self._models.embedder is not None  # a prompt does not wait until one is
        return recall(
            self._store,
            self._settings,
            Asking(prompt, session, recent, is_held),
            wanted=pushed(self._store, self._projects.scope_of(cwd), session, then_ms),
            now_ms=now_ms() if then_ms is None else then_ms,
            vectors=self._models.vectors if is_loaded else None,
        )

    def after_failure(
        self, command: str, output: str, *, cwd: str, session: str, then_ms: int | None = None
    ) -> Mended | None:
        """The other command that worked in an earlier session where this one failed; see `recall.acting`."""
        return self._ledger(cwd, session, then_ms).after_failure(command, output)

    def before_run(self, command: str, *, cwd: str, session: str, then_ms: int | None = None) -> Mended | None:
        """The same before a command runs that failed each time."""
        return self._ledger(cwd, session, then_ms).before_run(command)

    def before_edit(self, path: str, *, cwd: str, session: str) -> Reminder | None:
        """What is to be kept to, or failed, and names exactly this file."""
        from howcome.recall.acting import of_file

        return of_file(self._store, self._projects.scope_of(cwd), session, path)

    def _ledger(self, cwd: str, session: str, then_ms: int | None) -> Ledger:
        from howcome.recall.acting import Ledger

        return Ledger(self._store, self._projects.scope_of(cwd), session, then_ms)

    def briefing(self, cwd: str, then_ms: int | None = None, is_held: Callable[[str], bool] | None = None) -> Briefing:
        """What a session in a folder is told as it begins: lines, each with what it is from; see `judged`."""
        from howcome.recall.briefing import Briefing

        scope, moment_ms = self._projects.scope_of(cwd), now_ms() if then_ms is None else then_ms
        return Briefing(self._store, scope, moment_ms, then_ms, is_held)

    def rehearse(self) -> None:
        """From now on answers as if no session had been told anything yet; what it tells them leaves no trace."""
        self._store.injections.rehearse()

    def forget_said(self, session: str) -> None:
        """Lets everything be said to a session again: its window no longer holds it."""
        from howcome.recall.told import forget_said

        forget_said(self._store, session)

    def verdicts(
        self, *, session: str | None = None, scope: Scope | None = None, since_ms: int = 0, limit: int | None = None
    ) -> list[PastVerdict]:
        """What became of the prompts of a session (the client's id) and of a scope, the newest first."""
        if scope is not None and not scope.is_everything and scope.project_id is None:
            return []
        project = None if scope is None else scope.project_id
        return self._store.injections.verdicts(session=session, project_id=project, since_ms=since_ms, limit=limit)

    def verdicts_on(self, prompt: str) -> list[PastVerdict]:
        """What became of a prompt, by its words, wherever it was asked, the newest first."""
        from howcome.recall.prompt import fingerprint

        asked = fingerprint(self._store, prompt)
        return [one for one in self.verdicts() if one.asked == asked]

    def explained(self, verdicts: Iterable[PastVerdict]) -> list[Explained]:
        """Verdicts with their prompts and what was considered."""
        from howcome.recall.explained import explained

        return explained(self._store, verdicts)

    def session_told(self, text: str) -> str:
        """The client's id of the session that is, or begins, so; also of one that is not read yet."""
        from howcome.retrieve.reading import session_by_id

        told = {one.session for one in self.verdicts() if one.session.startswith(text)}
        return told.pop() if len(told) == 1 else session_by_id(self._store, text)[1]

    def last_prompt_ms(self, session: str) -> int:
        """When something was typed last in a session (the client's id); 0 where nothing was."""
        return self._store.sessions.since_prompt(session)[0]

    def receipt(self, verdicts: Iterable[PastVerdict], *, by_row: bool = False) -> dict[str, Row]:
        """What was injected, by its way (or for each verdict), and how often it was used; see `recall.receipt`."""
        from howcome.recall.receipt import receipt, way_of

        return receipt(self._store, verdicts, key=(lambda one: str(one.row)) if by_row else way_of)

    def failing(self, scope: Scope, limit: int) -> list[Failing]:
        """The commands that failed in a scope, the last first; see `recall.failing`."""
        from howcome.recall.failing import failing

        return failing(self._store, scope, limit)

    def begun(self, cwd: str) -> Verdict:
        """Where nobody asked, but something is said in a folder."""
        return Verdict(self._projects.scope_of(cwd).project_id)

    def record_said(
        self, session: str, hook: str, said: Sequence[Reminder], verdict: Verdict | None = None, tokens: int = 0
    ) -> None:
        """Remembers what was injected, how many tokens, and why no more; losing this must not lose the answer."""
        from howcome.recall.told import record_said

        record_said(self._store, session, hook, said, now_ms(), verdict or Verdict(), tokens)


def _is_of(found: Found, roots: Collection[str]) -> bool:
    """Whether an answer is of some projects, and of no others; what holds everywhere is of none."""
    own = [found.event.project] if found.event is not None else found.memory.roots if found.memory is not None else []
    return bool(own) and all(root in roots for root in own)

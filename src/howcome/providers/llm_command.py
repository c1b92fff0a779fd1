"""Any program as a language model: the prompt on standard input, the answer on standard output, one process a call."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence

from howcome.domain.spending import Usage
from howcome.errors import ProviderError
from howcome.providers.http_post import RefusedError, in_one_line
from howcome.providers.llm_adapter import INSTRUCTION, ModelAdapter, NotYetError, Reply, Turn, as_one
from howcome.providers.program import find_program, run_program

_DEFAULT = "claude"
LATER = 75
"""The exit code (EX_TEMPFAIL of sysexits.h) by which it says that it will have an answer, and has none yet."""


class CommandLanguageModel(ModelAdapter):
    """Starts the program, hands it the words on standard input, and ends all that it started.

    Args:
        command: The program and its arguments, with quotes as in a shell; no shell reads them.
        model: What it is called in the ledger; '' is the program's name.
        home: HOWCOME_HOME.
    """

    provider = "command"

    def __init__(self, command: str, model: str, home: str) -> None:
        try:
            program, *arguments = shlex.split(command)
        except ValueError as error:  # also when there is none
            raise ProviderError(f'llm = "command" needs a program in llm_command, not {command!r}') from error
        if program == _DEFAULT and not arguments:  # nobody chose it, and alone it would be a session of its user's
            raise ProviderError(
                'llm = "command" needs a program: set llm_command (for this one there is llm = "claude")'
            )
        super().__init__(model or program.rpartition("/")[2], find_program(program, self.provider))
        self._home, self._words = home, [self.shown, *arguments]

    def ask(self, turns: Sequence[Turn], schema: Mapping[str, object], deadline: float) -> Reply:
        """One call: one process, which has ended when this returns. It does not say what it used: that is as reserved.

        Raises:
            NotYetError: it ends with 75.
            ProviderError: as the port says.
        """
        prompt = f"{as_one(turns)}\n\n{INSTRUCTION}{json.dumps(schema)}\n"
        code, said, complaint = run_program(self._words, prompt, self._home, deadline)
        reason = in_one_line(complaint) or "it says nothing"
        if code == LATER:
            raise NotYetError(f"{self.shown} answers later: {reason}")
        if code:
            raise RefusedError(f"{self.shown} ends with {code}: {reason}")
        return Reply(said.decode("utf-8", "replace"), Usage())

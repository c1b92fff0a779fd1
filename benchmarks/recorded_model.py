"""A language model whose answers are files: `llm = "command"`, `llm_command = "python recorded_model.py FOLDER"`.

Each prompt is written to FOLDER/<name>.prompt, and FOLDER/<name>.answer is printed when it is there; else it ends with
75, which means "later", and the next prompt comes. So whoever reads the prompts, and nothing else, can be measured as
the model. The name is a hash of the messages: an answer stands for its session in whatever store, and whatever other
sessions taught meanwhile. With --exact it is one of the whole prompt, with the memories that are shown: then there is a
prompt for one session after the other.
"""

from __future__ import annotations

import hashlib
import re
import sys
from pathlib import Path

LATER = 75
MESSAGES = "\nMessages:\n"
MARK = re.compile(r"\[redacted:[^\]]*\]")


def main(folder: Path, prompt: str, *, is_exact: bool) -> int:
    """Prints the answer to a prompt, if there is one; the exit code."""
    said = prompt if is_exact else prompt.partition(MESSAGES)[2] or prompt
    said = MARK.sub("[redacted]", said)  # which names a secret by the key of the store
    place = folder / hashlib.sha256(said.encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    place.with_suffix(".prompt").write_text(prompt, encoding="utf-8")
    answer = place.with_suffix(".answer")
    if not answer.exists():
        sys.stderr.write(f"no {answer.name} in {folder} yet\n")
        return LATER
    sys.stdout.write(answer.read_text(encoding="utf-8"))
    return 0


if __name__ == "__main__":
    words = [word for word in sys.argv[1:] if word != "--exact"]
    if len(words) != 1:
        sys.exit(__doc__)
    sys.exit(main(Path(words[0]), sys.stdin.read(), is_exact=len(words) < len(sys.argv) - 1))

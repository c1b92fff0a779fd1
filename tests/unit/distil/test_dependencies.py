"""Changes of dependencies that lasted, and those that were only tried."""

from __future__ import annotations

import pytest
from tests.unit.distil.test_tool_failures import USER, Step, distilled, edit, run

ASKED: Step = (USER, "let the gauge read its tides from the harbour", "", "", False)
WORKFLOW = "/p/.github/workflows/tide.yml"
USES = "      - name: Sign the tide tables\n        uses: quay/sign-action@v2"
OLD = "      - name: Sign the tide tables\n        uses: berth/signer@v1"
COMMIT = run("git commit -m 'ci: sign'", "[main 0a1b2c3] ci: sign")
ADDED = run("npm install tide-chart@2.1.0", "added 1 package")
LATER: list[Step] = [
    step for part in range(11) for step in ((USER, f"part {part}", "", "", False), *run(f"ls web/{part}"), *run("ls"))
]


def told(*steps: Step) -> list[str]:
    """What the memories of dependencies say."""
    return [one.text for one in distilled(*steps) if one.type == "dependency"]


def test_an_action_of_a_workflow_is_told_with_its_step_once_it_is_committed() -> None:
    """What only a server can show is a try until then."""
    change = edit(WORKFLOW, "    steps:", f"    steps:\n{USES}")
    assert told(ASKED, *change) == []
    assert told(ASKED, *change, *COMMIT) == ["quay/sign-action@v2 added to `tide.yml` (step “Sign the tide tables”)."]


def test_what_takes_the_place_of_another_in_one_edit_is_one_memory() -> None:
    """Only the end is told."""
    assert told(ASKED, *edit(WORKFLOW, OLD, USES), *COMMIT) == [
        "quay/sign-action@v2 added to `tide.yml` in place of berth/signer (step “Sign the tide tables”)."
    ]


@pytest.mark.parametrize(
    "later",
    [
        run("npm uninstall tide-chart", "removed 1 package"),
        [
            *edit("/p/web/a.ts", "x", "import c from 'tide-chart'"),
            *edit("/p/web/a.ts", "import c from 'tide-chart'", "x"),
        ],
        LATER,
    ],
    ids=["removed", "no longer imported", "never used"],
)
def test_a_package_that_was_only_tried_is_not_told(later: list[Step]) -> None:
    """Nor that it was removed, where it had come in the same exchange."""
    assert told(ASKED, *ADDED) == ["tide-chart 2.1.0 added as a dependency with `npm install tide-chart@2.1.0`."]
    assert told(ASKED, *ADDED, *later) == []


def test_a_package_that_the_code_uses_or_that_was_committed_is_told() -> None:
    """However long the session goes on."""
    used = edit("/p/web/a.ts", "x", "import c from 'tide-chart'")
    assert len(told(ASKED, *ADDED, *used, *LATER)) == len(told(ASKED, *ADDED, *COMMIT, *LATER)) == 1


def test_of_a_version_that_is_moved_again_in_a_later_exchange_only_the_end_is_told() -> None:
    """The first is not the version in use."""
    file, again = "/p/go.mod", (USER, "one more", "", "", False)
    first = edit(file, "\texample.org/tide v1.2.0", "\texample.org/tide v1.3.0")
    second = edit(file, "\texample.org/tide v1.3.0", "\texample.org/tide v1.4.1")
    [text] = told(ASKED, *first, again, *second)
    assert "v1.4.1" in text
    assert "v1.2.0" not in text


def test_a_package_that_came_with_one_that_was_left_goes_with_it_where_nothing_names_it() -> None:
    """It was there for the other's sake."""
    both = run("npm install tide-chart tide-theme", "added 2 packages")
    left = [
        *edit("/p/web/a.ts", "x", "import c from 'tide-chart'"),
        *edit("/p/web/a.ts", "import c from 'tide-chart'", "x"),
    ]
    assert len(told(ASKED, *both)) == 2
    assert told(ASKED, *both, *left) == []
    [kept] = told(ASKED, *both, *left, *edit("/p/web/b.css", "x", "@import 'tide-theme'"))
    assert kept.startswith("tide-theme added")


def test_an_import_that_moved_to_another_file_leaves_the_package_in_use() -> None:
    """It was taken out of one file only."""
    moved = [*edit("/p/web/a.ts", "x", "import c from 'tide-chart'"), *edit("/p/web/b.ts", "y", "import 'tide-chart'")]
    assert len(told(ASKED, *ADDED, *moved, *edit("/p/web/a.ts", "import c from 'tide-chart'", "x"))) == 1

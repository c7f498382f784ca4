"""What local models read: files with plain places for the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.judging import prompts
from claimeval.providers.local import tokens as source_prompts
from claimeval.types.errors import UsageError


@pytest.mark.parametrize("kind", sorted(source_prompts.VARIABLES))
def test_every_shipped_source_prompt_loads_and_is_listed(kind: str) -> None:
    shipped = {path.stem for path in (prompts.folder() / "local").glob("*.j2")}
    assert shipped == set(source_prompts.VARIABLES)
    values = {name: f"<{name}>" for name in source_prompts.VARIABLES[kind]}
    rendered = source_prompts.load_prompt(kind).render(values)
    assert all(value in rendered for value in values.values())
    assert "{" not in rendered


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("{{ text }}", "no header comment"),
        ("{# purpose: x #}\nno place", "lacks the variable 'text'"),
        ("{# purpose: x #}\n{{ txt }}", "unknown variable"),
        ("{# purpose: x #}\n{% if text %}{{ text }}{% endif %}", "only plain variables"),
        ("{# purpose: [ #}\n{{ text }}", "not YAML"),
        ("{# source: x #}\n{{ text }}", "field purpose"),
        ("{#\npurpose: x\nreply: json\n#}\n{{ text }}", "unknown field"),
    ],
)
def test_a_wrong_source_prompt_is_refused(source: str, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "own.j2"
    path.write_text(source)
    with pytest.raises(UsageError, match=problem):
        source_prompts.load_prompt("question_given_text", str(path))

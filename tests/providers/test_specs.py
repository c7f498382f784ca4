"""Panel files: judges with their settings, how they are asked and counted, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.judging.panel import Panel
from claimeval.providers.specs import panel_settings, parse_panel
from claimeval.types.errors import UsageError
from claimeval.types.scales import BINARY, THREE_WAY

FILE = """\
judges:
  - local:lexical
  - model: openai:gpt-oss-20b@http://127.0.0.1:8000/v1
    name: oss
    temperature: 0.7
  - strict.yaml
extractor: local:lexical
vote: weighted
tie: oss
quorum: 2
weights: {local:lexical: 0.5, oss: 1.5, strict: 1}
replicates: 3
on_same_family: skip
families: {house-*: llama}
"""


@pytest.fixture
def panel_file(tmp_path: Path) -> str:
    (tmp_path / "strict.yaml").write_text(
        "model: mistral:ministral-8b@http://127.0.0.1:9000\n", encoding="utf-8"
    )
    path = tmp_path / "panel.yaml"
    path.write_text(FILE, encoding="utf-8")
    return str(path)


def test_a_panel_file_names_judges_extractor_and_rules(panel_file: str) -> None:
    found = parse_panel([panel_file])
    assert [judge.name for judge in found.judges] == ["local:lexical", "oss", "strict"]
    assert found.judges[1].temperature == 0.7
    assert found.judges[2].model == "mistral:ministral-8b"
    assert found.extractor == "local:lexical"
    settings = panel_settings(found, {}, THREE_WAY)
    assert (settings.vote, settings.tie, settings.quorum, settings.replicates) == (
        "weighted",
        "oss",
        2,
        3,
    )
    assert settings.weights == {"local:lexical": 0.5, "oss": 1.5, "strict": 1.0}
    assert settings.families == {"house-*": "llama"}


def test_what_is_said_comes_before_what_the_file_says(panel_file: str) -> None:
    settings = panel_settings(parse_panel([panel_file]), {"vote": "any", "quorum": 1}, THREE_WAY)
    assert (settings.vote, settings.quorum, settings.replicates) == ("any", 1, 3)


def test_judges_may_be_named_beside_the_file(panel_file: str) -> None:
    more = parse_panel([panel_file, "openai:extra@http://127.0.0.1:1/v1"])
    assert [judge.name for judge in more.judges][-1] == "openai:extra@http://127.0.0.1:1/v1"


def test_without_a_file_the_defaults_hold() -> None:
    assert panel_settings(parse_panel(["local:lexical"]), {}, THREE_WAY) == Panel()


def test_the_labels_are_those_of_the_scale() -> None:
    assert panel_settings(parse_panel(["local:lexical"]), {}, BINARY).scale == BINARY


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("judges: []\n", "is a list of judges"),
        ("judges: local:lexical\n", "is a list of judges"),
        (
            "judges: [local:lexical]\nvotes: majority\n",
            "unknown setting .*'votes'.*Did you mean 'vote'",
        ),
        ("judges: [{name: x}]\n", "judge 1 names no model"),
        ("judges: [{model: local:lexical, heat: 1}]\n", "judge 1: 'heat'"),
        ("judges: [3]\n", "judge 1: 3 is neither"),
        ("judges: [local:lexical]\nvote: most\n", "unknown vote 'most'"),
        ("judges: [local:lexical]\nquorum: 0\n", "panel setting quorum"),
        ("judges: [local:lexical]\nquorum: 2\n", "never be met"),
        ("judges: [local:lexical, local:lexical]\n", "named twice"),
        ("vote: majority\n", "or `judges:` for a panel"),
    ],
)
def test_bad_panel_files_are_refused_in_words(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "panel.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=message):
        panel_settings(parse_panel([str(path)]), {}, THREE_WAY)


def test_two_panel_files_are_one_too_many(panel_file: str, tmp_path: Path) -> None:
    other = tmp_path / "other.yaml"
    other.write_text("judges: [local:lexical]\n", encoding="utf-8")
    with pytest.raises(UsageError, match="two panel files"):
        parse_panel([panel_file, str(other)])

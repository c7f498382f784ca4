"""An experiment as it is written: the grid, arms by hand, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from claimeval.metrics.derived import select_metrics
from claimeval.runs import experiments
from claimeval.runs.experiments.running import prepare
from claimeval.types.errors import UsageError
from claimeval.types.records import Sample

PROMPT = """{# purpose: test
reply: json
scale: binary
parameters: {strictness: [strict, lenient]} #}
{% block system %}s{% endblock %}
{% block user %}
{% for claim in claims %}{{ claim.text }}{% endfor %}{{ strictness }}
{% endblock %}"""


def read(folder: Path, text: str) -> experiments.Experiment:
    path = folder / "experiment.yaml"
    path.write_text("data: samples.jsonl\n" + dedent(text))
    return experiments.read(path)


def test_a_grid_is_every_combination_called_by_what_varies(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        extract_prompt: bullets
        grid:
          assess_prompt: [three_way, binary, own/strict.j2]
          judges: [openai:a, [openai:a, mistral:b]]
          vote: [majority]
        """,
    )
    assert [arm.name for arm in found.arms] == [
        "three_way a",
        "three_way a+b",
        "binary a",
        "binary a+b",
        "strict a",
        "strict a+b",
    ]
    assert found.baseline == "three_way a"
    assert found.arms[1].judges == ("openai:a", "mistral:b")
    assert found.arms[4].assess_prompt == str(tmp_path / "own" / "strict.j2")
    assert {arm.extract_prompt for arm in found.arms} == {"bullets"}
    assert found.data == tmp_path / "samples.jsonl"


def test_judges_are_called_without_addresses_where_that_tells_them_apart(tmp_path: Path) -> None:
    two = "judges: [openai:a@http://127.0.0.1/v1, [mistral:b@http://127.0.0.1, local:lexical]]"
    found = read(tmp_path, f"grid: {{{two}}}")
    assert [arm.name for arm in found.arms] == ["a", "b+lexical"]
    same = "judges: ['openai:a@http://127.0.0.1:1', 'openai:a@http://127.0.0.1:2']"
    found = read(tmp_path, f"grid: {{{same}}}")
    assert [arm.name for arm in found.arms] == [
        "openai:a@http://127.0.0.1:1",
        "openai:a@http://127.0.0.1:2",
    ]


def test_prompts_are_called_by_their_names_in_any_language_and_by_their_paths_if_these_are_equal(
    tmp_path: Path,
) -> None:
    given = "three_way, three_way.de, assess/binary, my/binary.j2, my/strict.fr.j2"
    found = read(tmp_path, f"judges: openai:a\ngrid: {{assess_prompt: [{given}]}}")
    assert [arm.name for arm in found.arms] == [
        "three_way",
        "three_way.de",
        "assess/binary",
        "my/binary.j2",
        "strict.fr",
    ]


def test_parameters_and_settings_are_swept(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        judges: openai:a
        judge_settings: {seed: 1}
        grid:
          prompt_parameters: {strictness: [strict, lenient]}
          judge_settings: {temperature: [0, 0.7]}
        """,
    )
    assert [arm.name for arm in found.arms] == [
        "strictness=strict temperature=0",
        "strictness=strict temperature=0.7",
        "strictness=lenient temperature=0",
        "strictness=lenient temperature=0.7",
    ]
    assert found.arms[3].prompt_parameters == {"strictness": "lenient"}
    assert found.arms[3].judge_settings == {"seed": 1, "temperature": 0.7}


def test_nuggets_are_asked_with_a_prompt_that_knows_partial_support_unless_the_arm_names_one(
    tmp_path: Path,
) -> None:
    arms = (
        "judges: openai:m@http://127.0.0.1:9\narms: [{name: a}, {name: b, assess_prompt: binary}]"
    )
    plans = [
        experiments.plan(arm, select_metrics(["nuggets"])) for arm in read(tmp_path, arms).arms
    ]
    assert [plan.assess_prompt.name for plan in plans] == ["assess/partial", "assess/binary"]


def test_arms_by_hand_stand_on_the_defaults(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        """
        judges: [openai:a]
        baseline: plain
        arms:
          - {name: strict, assess_prompt: binary, replicates: 3}
          - {name: plain}
        """,
    )
    assert [(arm.name, arm.assess_prompt, arm.replicates) for arm in found.arms] == [
        ("strict", "binary", 3),
        ("plain", None, None),
    ]
    assert found.baseline == "plain"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("judges: [a]", "neither a grid nor arms"),
        ("arms: [{name: x}]", "names no judges"),
        ("judges: a:b\ngrid: {asess_prompt: [binary]}", "Did you mean 'assess_prompt'"),
        ("judges: a:b\ngird: {}", "Did you mean 'grid'"),
        ("judges: a:b\narms: [{name: x, promt: y}]", "unknown key in arm 1"),
        ("judges: a:b\ngrid: {assess_prompt: binary}", "is not a list of values"),
        ("judges: a:b\ngrid: {prompt_parameters: [x]}", "is not a mapping of lists"),
        ("judges: a:b\narms: [{name: x}, {name: x}]", "two arms called 'x'"),
        ("judges: a:b\nbaseline: y\narms: [{name: x}]", "unknown baseline"),
        ("judges: a:b\narms: [{name: x, replicates: 0}]", "replicates: needs 1 or more"),
        ("judges: a:b\narms: x", "is not a list of mappings"),
        ("judges: [", "is not YAML"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(
    tmp_path: Path, text: str, words: str
) -> None:
    with pytest.raises(UsageError) as raised:
        read(tmp_path, text)
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_parameter_goes_to_the_prompt_that_has_it(tmp_path: Path) -> None:
    (tmp_path / "own.j2").write_text(PROMPT)
    found = read(
        tmp_path,
        "judges: local:lexical\nassess_prompt: own.j2\ngrid: {prompt_parameters: {strictness:"
        " [strict, lenient]}}",
    )
    plans = [experiments.plan(arm, select_metrics(["faithfulness"])) for arm in found.arms]
    assert [plan.assess_prompt.parameters for plan in plans] == [
        {"strictness": "strict"},
        {"strictness": "lenient"},
    ]
    assert plans[0].extract_prompt.parameters == {"quotes": "yes"}


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("prompt_parameters: {strictness: strict}", "arm 'x': unknown parameter"),
        ("judge_settings: {temprature: 1}", "Did you mean 'temperature'"),
        ("vote: majorty", "Did you mean 'majority'"),
        ("assess_prompt: tree_way", "Did you mean 'assess/three_way'"),
    ],
)
def test_what_is_wrong_with_an_arm_names_the_arm(tmp_path: Path, line: str, words: str) -> None:
    found = read(tmp_path, f"judges: local:lexical\n{line}\narms: [{{name: x}}]")
    with pytest.raises(UsageError, match="arm 'x'") as raised:
        experiments.plan(found.arms[0], select_metrics(["faithfulness"]))
    assert words in str(raised.value)


def takers(folder: Path, text: str) -> list[tuple[str, str, float | None]]:
    """Name, model and temperature of the extractor of every arm."""
    sample = {"id": "s", "question": "q", "answer": "a", "contexts": [{"id": "1", "text": "c"}]}
    plans = prepare(
        read(folder, "metrics: [faithfulness]\n" + dedent(text)), [Sample.model_validate(sample)]
    )
    return [
        (plan.extractor.name, plan.extractor.model, plan.extractor.temperature) for plan in plans
    ]


def test_arms_judge_the_claims_of_the_baselines_extractor(tmp_path: Path) -> None:
    assert (
        takers(tmp_path, "grid: {judges: [openai:a, openai:b, [openai:c, openai:a]]}")
        == [("openai:a", "openai:a", 0.0)] * 3
    )
    other = "grid: {judges: [openai:a, openai:b]}\nbaseline: b"
    assert takers(tmp_path, other) == [("openai:b", "openai:b", 0.0)] * 2


def test_an_arm_may_name_an_extractor_of_its_own(tmp_path: Path) -> None:
    by_hand = """
        arms:
          - {name: one, judges: openai:a}
          - {name: two, judges: openai:b}
          - {name: three, judges: openai:b, extractor: openai:b}
        """
    assert [model for _, model, _ in takers(tmp_path, by_hand)] == [
        "openai:a",
        "openai:a",
        "openai:b",
    ]


def test_the_shared_extractor_keeps_the_baselines_settings_beside_a_judge_of_the_same_name(
    tmp_path: Path,
) -> None:
    warm = "judges: openai:a\ngrid: {judge_settings: {temperature: [0.0, 0.7]}}"
    assert takers(tmp_path, warm) == [
        ("openai:a", "openai:a", 0.0),
        ("openai:a of temperature=0.0", "openai:a", 0.0),
    ]


def test_an_arm_takes_what_score_takes(tmp_path: Path) -> None:
    """A panel file, and settings that only panels have; what does not fit together is refused for
    the arm."""
    (tmp_path / "panel.yaml").write_text("judges: [openai:a, openai:b, openai:c]\nquorum: 1\n")
    arms = "- {name: x, judges: panel.yaml, replicates: 2, shuffle_contexts: 1, tie: 'openai:b'}"
    (arm,) = read(tmp_path, f"arms:\n  {arms}\n").arms
    job = experiments.plan(arm, select_metrics(["faithfulness"]))
    assert [judge.name for judge in job.judges] == ["openai:a", "openai:b", "openai:c"]
    assert (job.panel.quorum, job.panel.replicates, job.panel.shuffle_contexts) == (1, 2, 1)
    (arm,) = read(tmp_path, "arms:\n  - {name: x, judges: openai:a, tie: 'openai:b'}\n").arms
    with pytest.raises(UsageError, match=r"arm 'x': .*openai:b"):
        experiments.plan(arm, select_metrics(["faithfulness"]))

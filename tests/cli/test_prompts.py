"""`claimeval prompts`: a person sees exactly what a judge will read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.loopback import claim_judge
from benchmarks.loopback.judge import Body, Reply
from claimeval.judging import prompts
from tests.api.test_claims import spec
from tests.cli.conftest import Run
from tests.conftest import StartServer


def test_every_shipped_prompt_is_listed(claimeval: Run) -> None:
    rows = json.loads(claimeval("prompts", "list", "--json").stdout)["prompts"]
    assert {row["name"] for row in rows} == {
        name for step in prompts.STEPS for name in prompts.shipped(step)
    }
    assert "assess/three_way" in claimeval("prompts", "list").stdout


def test_show_prints_the_file(claimeval: Run) -> None:
    path = prompts.shipped("assess")["assess/tags"]
    assert claimeval("prompts", "show", "tags").stdout == path.read_text(encoding="utf-8")


def test_diff_says_whether_prompts_differ(claimeval: Run) -> None:
    done = claimeval("prompts", "diff", "three_way", "binary", exits=1)
    assert "-scale: three_way" in done.stdout
    assert "+scale: binary" in done.stdout
    claimeval("prompts", "diff", "binary", "assess/binary")


def test_check_says_what_is_wrong(claimeval: Run, tmp_path: Path) -> None:
    assert "a valid extract prompt, reply json" in claimeval("prompts", "check", "atomic").stdout
    own = tmp_path / "own.j2"
    own.write_text("{# purpose: x\nreply: json\nscale: binary #}{% block system %}{% endblock %}")
    done = claimeval("prompts", "check", own, exits=2)
    assert "no block 'user'" in done.stderr
    assert (
        "Did you mean 'assess/binary'" in claimeval("prompts", "check", "binarry", exits=2).stderr
    )


def test_check_says_what_a_prompt_leaves_out_and_refuses_one_without_the_claims(
    claimeval: Run, tmp_path: Path
) -> None:
    own = tmp_path / "own.j2"
    shipped = prompts.shipped("assess")["assess/three_way"].read_text(encoding="utf-8")
    own.write_text(
        shipped.replace("{% for document in documents %}", "{% for document in claims %}")
    )
    assert "unused variables: documents" in claimeval("prompts", "check", own).stdout
    assert "does not use" not in claimeval("prompts", "check", "three_way").stdout
    own.write_text(shipped.replace("{% for claim in claims %}", "{% for claim in documents %}"))
    done = claimeval("prompts", "check", own, exits=2)
    assert "does not use 'claims', so the judge would not see what it is asked about" in done.stderr


def test_a_mistake_is_that_of_the_step_whose_scale_the_header_names(
    claimeval: Run, tmp_path: Path
) -> None:
    own = tmp_path / "own.j2"
    own.write_text(
        prompts.shipped("assess")["assess/three_way"]
        .read_text()
        .replace("{{ question }}", "{{ qestion }}")
    )
    assert "as extract" not in claimeval("prompts", "check", own, exits=2).stderr
    own.write_text(
        prompts.shipped("extract")["extract/short"]
        .read_text()
        .replace("{{ question }}", "{{ qestion }}")
    )
    assert (
        "as extract: unknown variable in prompt"
        in claimeval("prompts", "check", own, exits=2).stderr
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "{% for claim in claims %}{{ claim.txt }}{% endfor %}",
            "line 3: unknown variable 'claim.txt'. A claim has id",
        ),
        (
            "{% if alternatives %}{% for d in documents %}{{ d.title }}{% endfor %}{% endif %}",
            "variable 'd.title'. A doc",
        ),
        ("{{ claims.text }}", "unknown variable 'claims.text'. A claim has id, text"),
        (
            "{% for claim in claims %}{{ claim }}{% endfor %}",
            "'claim' is no text. A claim has id, text",
        ),
        ("{{ scale }}", "'scale' is no text. A step of the scale has word, meaning"),
    ],
)
def test_a_field_that_a_variable_does_not_have_is_named_before_any_call(
    claimeval: Run, tmp_path: Path, data: Path, body: str, words: str
) -> None:
    prompt = tmp_path / "own.j2"
    prompt.write_text(
        "{# purpose: x\nreply: json\nscale: binary #}"
        f"{{% block system %}}{{% endblock %}}{{% block user %}}{body}{{% endblock %}}"
    )
    checked = claimeval("prompts", "check", prompt, exits=2)
    assert words.partition(". ")[0] in checked.stderr, checked.stderr
    scored = claimeval(
        "score", data, "-j", "openai:x@http://127.0.0.1:9/v1", "--assess-prompt", prompt, exits=2
    )
    assert words in scored.stderr


def test_render_shows_what_the_judge_then_gets(
    claimeval: Run, data: Path, start_server: StartServer
) -> None:
    seen: list[str] = []

    def judge(body: Body) -> Reply:
        seen.extend(message["content"] for message in body["messages"])
        return claim_judge.answer(body)

    run = (
        "score",
        data,
        "-j",
        spec(start_server(judge=judge)),
        "-m",
        "faithfulness",
        "--out",
        "run",
    )
    claimeval(*run)
    for prompt, source in (("atomic", data), ("three_way", "run")):
        shown = claimeval("prompts", "render", prompt, source, "--sample", "bad").stdout
        messages = [part.partition("\n")[2].removesuffix("\n") for part in shown.split("--- ")[1:]]
        assert len(messages) == 2
        assert all(message in seen for message in messages)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--sample", "nobody"], "has no sample 'nobody'"),
        (["--metric", "on_policy=answer:policy"], "has no policy"),
        (["--sample", "silent"], "nothing would be asked"),
    ],
)
def test_what_cannot_be_rendered_is_said(
    claimeval: Run, data: Path, options: list[str], words: str
) -> None:
    done = claimeval("prompts", "render", "three_way", data, *options, exits=2)
    assert words in done.stderr

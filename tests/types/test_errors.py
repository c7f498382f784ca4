"""Messages about files that do not exist, and about names among many."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimeval.types.errors import UsageError, missing_file, read_yaml, unknown_name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files of a project, which is the current one."""
    for name in ("answers.jsonl", "labels.csv", "qrels.txt", "bm25.run", "runs/a", "runs/b/x"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("anwsers.jsonl", "answers.jsonl"),
        ("answers.json", "answers.jsonl"),
        ("answer.jsonl", "answers.jsonl"),
        ("lables.csv", "labels.csv"),
        ("qrel.txt", "qrels.txt"),
        ("runs/bb", "runs/b"),
        ("runz/a", "runs"),
    ],
)
def test_a_misspelled_path_has_the_near_one_beside_it(folder: Path, typed: str, meant: str) -> None:
    assert str(missing_file(Path(typed))).endswith(f"Did you mean {meant!r}?")


@pytest.mark.parametrize("typed", ["nope.jsonl", "zzz.csv", "other/deep/x.jsonl", "q.yaml"])
def test_a_path_that_is_like_no_other_gets_no_guess(folder: Path, typed: str) -> None:
    message = str(missing_file(Path(typed)))
    assert message.startswith(f"{typed} does not exist")
    assert "Did you mean" not in message


def test_without_a_near_name_the_files_of_its_kind_are_listed(folder: Path) -> None:
    assert (
        str(missing_file(Path("nope.jsonl")))
        == "nope.jsonl does not exist; the current folder has answers.jsonl"
    )


def test_an_address_is_named_with_both_slashes_and_no_file_is_looked_for() -> None:
    message = str(missing_file(Path("https://example.com/a.jsonl")))
    assert message.startswith("https://example.com/a.jsonl is an address")
    assert "Download it first" in message


def test_a_yaml_error_has_line_and_column_and_no_name_of_the_parser(tmp_path: Path) -> None:
    (tmp_path / "q.yaml").write_text("model: [openai\n")
    with pytest.raises(UsageError, match="is not YAML: line 2, column 1: ") as raised:
        read_yaml(tmp_path / "q.yaml", "judge file")
    assert "unicode string" not in str(raised.value)


def test_of_many_names_the_nearest_are_listed_and_the_others_are_counted() -> None:
    names = [f"key_{i:02d}" for i in range(40)]
    message = str(unknown_name("key", "kye_07", names))
    assert message.startswith("unknown key 'kye_07'. Did you mean 'key_07'? Known: key_07, ")
    assert message.endswith(" and 28 others")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("kinds", "metadata.kind"),
        (" Kind ", "metadata.kind"),
        ("MD", "md"),
        ("answers", "answer"),
        ("metadata.topic", None),
        ("", None),
    ],
)
def test_a_name_in_another_form_is_near_before_longer_names(typed: str, meant: str | None) -> None:
    message = str(unknown_name("name", typed, ["answer", "md", "metadata.kind", "old_answers_of"]))
    assert (f"Did you mean {meant!r}?" in message) == bool(meant)

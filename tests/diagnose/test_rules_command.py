"""`gpudiag rules`: list, show, check, test."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpudiag import cli
from gpudiag.diagnose import load_rules

FIXTURES = str(Path(__file__).resolve().parents[1] / "fixtures" / "rules")


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = cli.main(["rules", *arguments])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_list_is_one_line_a_rule_when_piped(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "list", "--rules", FIXTURES)
    lines = out.splitlines()
    assert code == 0
    assert len(lines) == len(load_rules()) + 2
    assert any(
        line.split(maxsplit=3) == ["GD801", "gpus-wait", "input", "The GPUs wait"] for line in lines
    )


def test_list_is_a_table_in_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    code, out, _ = run(capsys, "list", "--rules", FIXTURES)
    assert code == 0
    assert "problem" in out.splitlines()[0]
    assert "gpus-wait" in out


@pytest.mark.parametrize("name", ["GD801", "gd801", "gpus-wait"])
def test_show_gives_causes_and_remedies(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "show", name, "--rules", FIXTURES)
    assert code == 0
    for part in (
        "GD801 gpus-wait",
        "idle_least = 0.1 share: MLPerf Storage accepts 90 % use",
        "Cause: No worker processes (no-workers)",
        "pytorch: Load in worker processes.",
        "generator_kwargs={})",
        "To confirm   Run ten steps",
    ):
        assert part in out


def test_show_of_an_unknown_rule_is_a_usage_error(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "show", "gpus-wiat", "--rules", FIXTURES)
    assert (code, out) == (2, "")
    assert "did you mean gpus-wait?" in err


def test_check_says_every_mistake_and_returns_4(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.toml").write_text("code = 1\nzzz = 2\n", encoding="utf-8")
    code, out, _ = run(capsys, "check", str(tmp_path))
    lines = out.splitlines()
    assert code == 4
    assert f"{tmp_path}/a.toml:1: code: must be text in quotes" in lines
    assert f"{tmp_path}/a.toml:2: zzz: unknown key" in lines
    assert lines[-1] == f"{len(lines) - 1} mistakes"


def test_check_of_good_rules_returns_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "check", FIXTURES) == (0, "2 rules, no mistake\n", "")


def test_test_returns_0_or_4_and_prints_what_decided(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(capsys, "test", FIXTURES)[:2] == (0, "5 of 5 tests of 2 rules passed\n")
    text = (Path(FIXTURES) / "gpu-idle.toml").read_text(encoding="utf-8")
    path = tmp_path / "gpu-idle.toml"
    path.write_text(text.replace("95*50 0*150", "95*190 0*10"), encoding="utf-8")
    code, out, _ = run(capsys, "test", str(path))
    assert code == 4
    assert "'fires where one of two GPUs idles': must fire, but it was silent" in out
    assert "    whole_max(gpu_mem_used_mib) of GPU 1 = 300" in out
    assert out.endswith("1 of 2 tests of 1 rule passed\n")


def test_a_bad_folder_is_one_line_where_rules_are_needed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = run(capsys, "list", "--rules", str(tmp_path))
    assert (code, out) == (4, "")
    assert err.splitlines()[0] == f"gpudiag: {tmp_path}: no rule (*.toml) in this folder"


def test_the_built_in_rules_pass_their_tests(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "test")
    assert code == 0, out

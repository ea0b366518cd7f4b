"""Rule files: every mistake at once, with its place; and files that mean harm."""

from __future__ import annotations

import os
import re
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gpudiag.diagnose import load_rules
from gpudiag.diagnose.load import MAX_BYTES, MAX_FILES, RulesError
from gpudiag.diagnose.toml_section import line_numbers
from gpudiag.errors import EXIT_BAD_RULE, RuleError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "rules"
GOOD = (FIXTURES / "gpus-wait.toml").read_text(encoding="utf-8")
GOOD = GOOD.replace('["gpu-idle"]', "[]")  # it stands alone here


def write(folder: Path, text: str, name: str = "gpus-wait.toml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def mistakes(*paths: Path) -> list[str]:
    with pytest.raises(RulesError) as error:
        load_rules(paths)
    assert error.value.exit_code == EXIT_BAD_RULE
    assert "\n" not in error.value.message
    return [str(mistake) for mistake in error.value.mistakes]


def test_a_good_file_is_a_rule_with_all_it_says() -> None:
    (rule,) = load_rules([FIXTURES / "gpu-idle.toml"])
    assert (rule.code, rule.name, rule.scope, rule.for_s) == ("GD802", "gpu-idle", "gpu", 20.0)
    assert (rule.bridge_s, rule.min_share) == (3.0, 0.1)
    assert rule.causes[0].remedies[0].framework == "any"
    assert [test.fires for test in rule.tests] == [True, False]
    assert rule.path.endswith("gpu-idle.toml")


def test_the_rule_that_the_tests_below_damage_is_good(tmp_path: Path) -> None:
    assert load_rules([write(tmp_path, GOOD)])


def test_a_folder_gives_its_rules_by_code() -> None:
    assert [rule.code for rule in load_rules([FIXTURES])] == ["GD801", "GD802"]


def test_all_mistakes_of_all_files_are_said_at_once_with_their_lines(tmp_path: Path) -> None:
    text = GOOD.replace('scope = "run"', 'scope = "cluster"')
    text = text.replace("bound = true", "bond = true")
    text = text.replace("idle_least <=", "idle_lest <=")
    text = text.replace('"DataLoader(dataset, num', '"DataLoader({worker:int}, num')
    text = text.replace("(90 0)*150", "(90 0*150", 1)
    first = write(tmp_path, text)
    second = write(tmp_path, "code = ", "broken.toml")
    said = mistakes(tmp_path)
    lines = text.splitlines()

    def line(part: str) -> int:
        return next(n for n, found in enumerate(lines, 1) if part in found)

    assert f"{second}: not TOML: Invalid value (at end of document)" in said
    for start in (
        f"{first}:{line('cluster')}: scope: must be one of run, gpu",
        f"{first}:{line('bond')}: bond: unknown key (did you mean 'bound'?)",
        f"{first}:{line('idle_lest')}: when: column 1: unknown name 'idle_lest' (did you mean",
        f"{first}:{line('{worker:int}')}: cause[1].remedy[1].code: column 13: unknown name",
        f"{first}:{line('(90 0*150')}: test[1].series.gpu_util_pct: column 10: a '(' is never",
    ):
        assert any(found.startswith(start) for found in said), (start, said)
    assert len(said) == 6


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('code = "GD801"', 'code = "X1"', "code: must be GD and three digits"),
        ('code = "GD801"', "code = 801", "code: must be text"),
        ('name = "gpus-wait"', 'name = "other"', "name: must equal the name of the file"),
        ('name = "gpus-wait"', 'name = "../../etc"', "name: must be lower-case words"),
        ('title = "The GPUs wait"\n', "", "title: is missing"),
        ('title = "The GPUs wait"', 'title = ""', "title: is empty"),
        ('title = "The GPUs wait"', 'title = "\\u001b[31m"', "title: holds a control character"),
        ('title = "The GPUs wait"', f'title = "{"x" * 200}"', "title: longer than 120"),
        ('family = "input"', 'family = "misc"', "family: must be one of"),
        ('cost = "1', 'cost = "mean(main_cpu_pct) > 1', "cost: column"),
        ('cost = "1 - gpus_mean(mean(gpu_util_pct)) / 100"\n', "", "bound: there is no bound"),
        ("\nbound = true", "\nbound = 1", "bound: must be true or false"),
        ("supersedes = []", 'supersedes = ["gpus-wait"]', "cannot supersede itself"),
        ("supersedes = []", 'supersedes = ["nosuch"]', "no rule is named 'nosuch'"),
        ("supersedes = []", 'supersedes = "gpu-idle"', "must be a list"),
        ("supersedes = []", 'for = "5s"', "for: 'when' is one condition"),
        ("supersedes = []", "for = 5", "for: must be a time in quotes"),
        ("supersedes = []", 'for = "1e9d"', "for: must be a time in quotes"),
        ("supersedes = []", "min_share = 2", "min_share: must be from 0 to 1"),
        ("supersedes = []", "min_share = nan", "min_share: must be from 0 to 1"),
        ('"gpu_util_pct", "main_cpu_pct"]', '"gpu_speed"]', "plot: 'gpu_speed' is no column"),
        ('fine = "The', 'fine = "{gpu} The', "fine: column 2:"),
        ('unit = "share", source', "source", "thresholds.idle_least.unit: is missing"),
        ("idle_least = {", "mean = { value = 1, unit = '', source = 'x' }\nidle_least = {", "mean"),
        ("busy_core = {", "main_cpu_pct = {", "has a meaning already"),
        ("value = 80", "value = inf", "thresholds.busy_core.value: must be from"),
        ("value = 80", 'value = "80"', "thresholds.busy_core.value: must be a figure"),
        ('level = "medium"', 'level = "high"', "severity: the levels must rise"),
        ('level = "medium"', 'level = "bad"', "severity[1].level: must be one of"),
        ('when = "cost >= 0.2"', 'when = "main_cpu_pct > 1"', "this is a series condition"),
        ('name = "slow-disk"', 'name = "no-workers"', "a second cause 'no-workers'"),
        ('when = "whole_max(workers) == 0"', 'when = "cost > 0"', "cause[1].when: column 1"),
        ('framework = "any"', 'framework = "theano"', "cause[2].remedy[1].framework: must be"),
        ('framework = "any"\ntext = "Copy', 'x = "Copy', "remedy[1].framework: is missing"),
        ('[[cause.remedy]]\nframework = "any"', "[x]\ny = 1\nz =1", "at least one remedy"),
        ("fires = true", "fires = false", "needs a test in which it fires"),
        ('fires = false\nseries = { gpu_util_pct = "97',
         'fires = true\nseries = { gpu_util_pct = "97',
         "a test in which it is checked and silent"),
        ('holds = ["no-workers"]', 'holds = ["nosuch"]', "no cause is named 'nosuch'"),
        ('main_cpu_pct = "100*300", workers = "0*300" }\nholds', 'main_cpu_pct = "100*9" }\nholds',
         "not all of one length: gpu_util_pct 300, main_cpu_pct 9"),
        ('main_cpu_pct = "100*300", workers = "0*300" }\nholds', 'cpu = "100*300" }\nholds',
         "test[1].series.cpu: no column"),
        ('main_cpu_pct = "100*300", workers = "0*300" }\nholds', "workers = 0 }\nholds",
         "test[1].series.workers: must be text"),
        ('holds = ["no-workers"]', 'start = { frameworks = "pytorch" }', "must be a list of some"),
        ('holds = ["no-workers"]', "start = { gpus = [ 1 ] }", "gpus must be a list of tables"),
        ('holds = ["no-workers"]', "start = 1", "test[1].start: must be a table"),
        ('holds = ["no-workers"]', 'interval = "0s"', "interval: must be a time"),
        ('holds = ["no-workers"]', "speed = 1", "test[1].speed: unknown key"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    said = mistakes(write(tmp_path, GOOD.replace(old, new, 1)))
    assert any(words in found for found in said), said


def test_code_and_name_stand_for_one_rule(tmp_path: Path) -> None:
    one, two = write(tmp_path, GOOD), tmp_path / "more"
    two.mkdir()
    said = mistakes(one, write(two, GOOD))
    assert len(said) == 2
    assert all(re.search(r"'(GD801|gpus-wait)' stands in ", found) for found in said)


def test_rules_that_supersede_each_other_in_a_ring_are_refused(tmp_path: Path) -> None:
    """GIVEN a over b over c over a WHEN loaded THEN refused: no finding would be left."""
    for n, (name, other) in enumerate((("a", "b"), ("b", "c"), ("c", "a"))):
        text = GOOD.replace("gpus-wait", name).replace("GD801", f"GD90{n}")
        write(
            tmp_path, text.replace("supersedes = []", f'supersedes = ["{other}"]'), f"{name}.toml"
        )
    said = mistakes(tmp_path)
    assert len(said) == 3
    assert all("supersedes itself by way of others" in found for found in said)


def test_a_rule_of_the_built_in_ones_can_be_superseded_from_outside(tmp_path: Path) -> None:
    from gpudiag.resources import rules_dir

    built_in = sorted(path.stem for path in rules_dir().glob("*.toml"))
    assert built_in
    write(tmp_path, GOOD.replace("supersedes = []", f'supersedes = ["{built_in[0]}"]'))
    assert load_rules([tmp_path])


def test_a_path_that_is_no_rule_is_one_line(tmp_path: Path) -> None:
    assert mistakes(tmp_path) == [f"{tmp_path}: no rule (*.toml) in this folder"]
    assert mistakes(tmp_path / "nosuch.toml")[0].endswith(
        "cannot be read: No such file or directory"
    )
    assert mistakes(tmp_path / "nosuch") == [f"{tmp_path / 'nosuch'}: no such file or folder"]
    assert "is named like" in mistakes(write(tmp_path, GOOD, "rule.txt"))[0]
    assert "is named like" in mistakes(write(tmp_path, GOOD, "gpu wait.toml"))[0]


def test_names_from_outside_cannot_steer_a_terminal(tmp_path: Path) -> None:
    said = mistakes(write(tmp_path, GOOD, "a\x1b[31m.toml"))
    said += mistakes(write(tmp_path, GOOD + '[x."\\u001b[31m"]\n'))
    said += mistakes(write(tmp_path, GOOD.replace("idle_least = {", '"\\u001b[31m" = {')))
    assert len(said) >= 3
    assert all(found.isprintable() for found in said)


def test_what_is_no_file_or_too_large_is_never_read(tmp_path: Path) -> None:
    """GIVEN a pipe, a device, a folder and a huge file WHEN loaded THEN refused at once."""
    os.mkfifo(tmp_path / "pipe.toml")
    (tmp_path / "zero.toml").symlink_to("/dev/zero")
    (tmp_path / "folder.toml").mkdir()
    (tmp_path / "loop.toml").symlink_to(tmp_path / "loop.toml")
    with (tmp_path / "huge.toml").open("wb") as file:
        file.truncate(1 << 34)
    said = mistakes(*sorted(tmp_path.iterdir()))
    assert sum("not a file" in found for found in said) == 2
    assert any("larger than" in found for found in said)
    assert any("cannot be read" in found for found in said)
    assert any("no rule" in found for found in said)


def test_too_many_files_are_refused_unread(tmp_path: Path) -> None:
    for number in range(MAX_FILES + 1):
        (tmp_path / f"r{number}.toml").touch()
    assert mistakes(tmp_path) == [f"{tmp_path}: more than {MAX_FILES} rule files"]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"x = " + b"[" * 60_000, "nested too deeply"),
        (b"x = " + b"{a=" * 30_000, "nested too deeply"),
        (b"x = " + b"9" * 60_000, "figure too long"),
        (b"a" + b".a" * 60_000 + b" = 1", "dots in one line"),
        (b"[" + b"a." * 60_000 + b"a]", "dots in one line"),
        (b"x" * (MAX_BYTES + 1), "larger than"),
        (b"a = 1\na = 2\n", "not TOML: Cannot overwrite a value (at line 2"),
        (b"\0", "not TOML"),
    ],
)
def test_hostile_toml_is_one_line(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "gpus-wait.toml"
    path.write_bytes(data)
    (said,) = mistakes(path)
    assert words in said


_VALUES = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=8)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_value_of_any_type_at_any_key_is_a_mistake_or_a_rule(tmp_path: Path, data) -> None:
    """GIVEN a good rule WHEN one of its values is replaced by anything THEN never a traceback."""
    import tomllib

    from gpudiag.diagnose.compiled import compile_rule
    from gpudiag.diagnose.nodes import vocabulary
    from gpudiag.diagnose.rule_file import rule_from
    from gpudiag.diagnose.toml_section import Mistakes
    from gpudiag.signals.base import REGISTRY

    table = tomllib.loads(GOOD)
    where = data.draw(
        st.sampled_from(
            [(key,) for key in table]
            + [("cause", 0, key) for key in table["cause"][0]]
            + [("cause", 0, "remedy", 0), ("cause", 0, "remedy", 0, "code")]
            + [("test", 0, key) for key in ("name", "fires", "series", "holds", "start", "end")]
            + [("test", 0, "events"), ("severity", 0), ("severity", 0, "when"), ("thresholds", "x")]
        )
    )
    place = table
    for part in where[:-1]:
        place = place[part]
    place[where[-1]] = data.draw(_VALUES)
    noted = Mistakes("gpus-wait.toml")
    compile_rule(rule_from(table, noted), vocabulary(REGISTRY), noted.add)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, len(GOOD)), st.binary(max_size=5))
def test_a_rule_cut_or_damaged_anywhere_is_a_rule_or_a_rule_error(
    tmp_path: Path, at: int, noise: bytes
) -> None:
    path = tmp_path / "gpus-wait.toml"
    for data in (GOOD.encode()[:at] + noise, GOOD.encode()[:at] + noise + GOOD.encode()[at + 5 :]):
        path.write_bytes(data)
        with suppress(RuleError):
            load_rules([path])


def test_a_line_within_a_text_is_no_key() -> None:
    text = 'a = """\nb = 1\n[c]\n"""\nd = 1\n[[e]]\nf = 1\n[[e.g]]\nh = 1\n[[e]]\nf = 2\n'
    assert line_numbers(text) == {
        ("a",): 1,
        ("d",): 5,
        ("e", 0): 6,
        ("e", 0, "f"): 7,
        ("e", 0, "g", 0): 8,
        ("e", 0, "g", 0, "h"): 9,
        ("e", 1): 10,
        ("e", 1, "f"): 11,
    }

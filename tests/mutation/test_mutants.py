"""Mutation testing itself: which mutants there are, and that its tables name what exists."""

import ast
import tomllib
from pathlib import Path

import pytest
from mutants import mutants, sample

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
NEAREST, PLAIN = (tomllib.loads((HERE / name).read_text()) for name in ("nearest.toml", "plain.toml"))
EQUIVALENT = tomllib.loads((HERE / "equivalent.toml").read_text())["mutant"]
CORE = ("engine/contact", "engine/search", "engine/step.py", "engine/watching.py", "engine/rotation", "shapes/union.py")
SAFETY = ("running/guards.py", "running/faults.py", "running/recorder.py", "files/checkpoint.py", "files/series.py")


def becomes(source):
    """The changed lines of all mutants."""
    return {mutant.becomes for mutant in mutants(source, "some.py")}


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a < b", {"(a <= b)", "(a >= b)"}),
        ("0 <= x < n", {"1 <= x < n", "-1 <= x < n", "(0 < x < n)", "(0 > x < n)", "(0 <= x <= n)", "(0 <= x >= n)"}),
        ("a - b", {"((a) + (b))", "(a)"}),
        ("a * b", {"((a) / (b))", "(a)", "(b)"}),
        ("s & t", {"((s) | (t))"}),
        ("n += k", {"n -= k", "pass"}),
        ("a and b", {"((a) or (b))", "((a))", "((b))"}),
        ("not a", {"(a)"}),
        ("max(a, b)", {"min(a, b)", "pass"}),
        ("np.minimum(a, b)", {"np.maximum(a, b)", "pass"}),
        ("z = f(a, b, c)", {"z = f(b, a, c)"}),
        ("x[0] = y", {"pass", "x[1] = y", "x[-1] = y"}),
        ("x = True", {"x = False"}),
        ("x = 2.0", {"x = 4.0", "x = 0.0"}),
        ("x = 1e-9", {"x = 0.0", "x = 1.0000000000000002e-06"}),
        ("if a:\n    b", {"if False:", "if (not (a)):"}),
        (
            "while a > 0:\n    break",
            {"while False:", "while (a >= 0):", "while (a <= 0):", "while a > 1:", "while a > -1:", "continue"},
        ),
        ("raise KeyError", {"pass"}),
    ],
)
def test_changes(source, expected):
    assert becomes(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        '"""Text with 1 < 2."""',
        "import a",
        "x: tuple[float, float, int]",
        "def f(a: Literal[1, 2]) -> Annotated[int, 3]: ...",
        "@cache(2)\ndef f(): ...",
        "if TYPE_CHECKING:\n    x = 1",
        "assert a < b",
        'y = f"{a + 1}"',
        'error = InputError("a" + b)',
    ],
)
def test_what_is_not_changed(source):
    assert becomes(source) == set()


def test_each_mutant_is_one_change_of_a_source_that_still_parses():
    source = (ROOT / "minidem/engine/watching.py").read_text()
    found = mutants(source, "minidem/engine/watching.py")
    assert len(found) > 100 and len({mutant.source for mutant in found}) == len(found)
    lines = source.splitlines()
    for mutant in found:
        assert ast.dump(ast.parse(mutant.source)) != ast.dump(ast.parse(source)), mutant
        changed = mutant.source.splitlines()
        same_after = len(changed) - mutant.line - 5
        assert changed[: mutant.line - 1] == lines[: mutant.line - 1]
        assert changed[len(changed) - same_after :] == lines[len(lines) - same_after :]
        assert mutant.was.split()[0] in lines[mutant.line - 1]
    functions = {mutant.function for mutant in found}
    assert functions == {"", "find_too_deep", "inspect", "steps_to_inspection", "alarmed"}


def test_a_larger_sample_contains_a_smaller_one():
    found = mutants((ROOT / "minidem/engine/watching.py").read_text(), "minidem/engine/watching.py")
    small, large = sample(found, 10, seed=1), sample(found, 30, seed=1)
    assert large[:10] == small and len(set(large)) == 30
    assert sample(found, 10, seed=2) != small
    assert sorted(sample(found, 10**6, seed=1)) == sorted(found)


def test_tables_name_files_and_tests_that_exist():
    for path, tests in (*NEAREST.items(), *PLAIN.items()):
        assert (ROOT / path).exists() and (tests or path in PLAIN), path
        for test in tests:
            file, _, name = test.removeprefix("--deselect=").partition("::")
            assert (ROOT / file).exists(), test
            assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text() if name else True, test
    for path in (*CORE, *SAFETY):
        assert any(f"minidem/{path}" == known or f"minidem/{path}".startswith(f"{known}/") for known in NEAREST), path


def test_equivalent_mutants_are_mutants():
    """Each is there today, and has a reason; one whose line has changed must be looked at again."""
    known = {file: mutants((ROOT / file).read_text(), file) for file in {each["file"] for each in EQUIVALENT}}
    for each in EQUIVALENT:
        key = each["file"], each["function"], each["was"], each["becomes"]
        assert key in {mutant[:4] for mutant in known[each["file"]]}, each
        assert len(each["reason"]) > 20

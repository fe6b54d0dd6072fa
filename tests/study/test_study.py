"""Study files, the choice and bundling of their cells, and what is kept of the runs."""

import csv
import json
import math
import multiprocessing
import subprocess
import sys
import time
import types
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import minidem
from minidem.errors import InputError, WriteError
from minidem.model.times import rayleigh_time
from minidem.running import simulation
from minidem.scenario.reading import parse
from minidem.study import cells as study_cells
from minidem.study.cells import Job, bundles_of, load_kernels, run_cell
from minidem.study.conduct import estimate, part_of, summary_of, work_of
from minidem.study.identity import cells_of, difference, identity_of
from minidem.study.plan import Cell, load_study, parse_study
from minidem.study.records import (
    RESULTS,
    Records,
    check_identity,
    prepare_directory,
    read_records,
    records_name,
    write_tables,
    write_whole,
)

BALLS = """\
name = "balls"
time = {dt = 1e-5, end = 0.001}
material.steel = {young = 1e9, poisson = 0.3, density = 7800}
clump.ball = {spheres = [[0, 0, 0, 0.01]], material = "steel"}
clump.small = {spheres = [[0, 0, 0, 0.005]], material = "steel"}
body = [
    {clump = "ball", position = [0, 0, 0], velocity = [1, 0, 0]},
    {clump = "ball", position = [0.0201, 0, 0]},
]
output = {frames = 3, energies = 5}
"""


@pytest.fixture
def directory(tmp_path):
    (tmp_path / "balls.toml").write_text(BALLS)
    return tmp_path


@pytest.fixture
def study_of(directory):
    def parsed(text, scenario='scenario = "balls.toml"\n'):
        return parse_study(scenario + text, "s.toml", directory)

    return parsed


@pytest.fixture
def mistakes(study_of):
    def found(text, **options):
        with pytest.raises(InputError) as caught:
            study_of(text, **options)
        return str(caught.value).splitlines()

    return found


def changes(study):
    return [tuple(cell.changes.values()) for cell in study.cells]


# --- study files --------------------------------------------------------------------------------------------


def test_grid_has_every_combination_the_last_axis_fastest(study_of):
    study = study_of('axes.dt = [1e-5, 2e-5]\naxes.integrator = ["spiral", "omelyan"]\naxes.seed = [7, 3]')
    assert study.axes == ("time.dt", "integrator.rotation", "seed")
    names = ("spiral", "omelyan")
    assert changes(study) == [(dt, name, seed) for dt in (1e-5, 2e-5) for name in names for seed in (7, 3)]
    assert [cell.number for cell in study.cells] == list(range(8))
    assert study.cells[5].label == "time.dt=2e-05 integrator.rotation=spiral seed=3"
    assert study.name == "s" and study.keep == "records"


@pytest.mark.parametrize(
    "text, values",
    [
        ("{from = 1e-6, to = 1e-4, count = 3, spacing = 'log'}", [1e-6, 1e-5, 1e-4]),
        ("{from = 1e-5, to = 4e-5, count = 4}", [1e-5, 2e-5, 3e-5, 4e-5]),
        ("{from = 1e-5, to = 3e-5, count = 3, spacing = 'linear'}", [1e-5, 2e-5, 3e-5]),
        ("{from = 3e-6, to = 7e-6, count = 3, spacing = 'log'}", [3e-6, 4.58258e-6, 7e-6]),  # six digits between the ends
        ("{from = 4e-5, to = 1e-5, count = 2}", [4e-5, 1e-5]),
        ("{from = 2e-5, to = 4e-5, count = 1}", [2e-5]),
    ],
)
def test_ranges_of_numbers(study_of, text, values):
    assert changes(study_of(f"axes.dt = {text}")) == [(value,) for value in values]


def test_range_of_whole_numbers(study_of):
    assert changes(study_of("axes.seed = {first = 5, count = 3}")) == [(5,), (6,), (7,)]


def test_axes_may_be_tables_and_paths(study_of):
    study = study_of('[axes.time]\nend = [0.001, 0.002]\n[axes]\n"body[0].velocity" = [[1, 0, 0], [2, 0, 0]]\n')
    assert study.axes == ("time.end", "body[0].velocity")
    scenario = study.scenario(study.cells[3])
    assert scenario.time.end == 0.002 and scenario.body[0].velocity == (2, 0, 0)


def test_cells_as_a_list(study_of):
    study = study_of("[[cell]]\ndt = 1e-5\nseed = 1\n[[cell]]\nseed = 2\ntime.dt = 3e-5\n")
    assert study.axes == ("time.dt", "seed") and changes(study) == [(1e-5, 1), (3e-5, 2)]


def test_set_changes_the_base(study_of):
    study = study_of("axes.seed = [1]\n[set]\ndt = 5e-6\ntime.end = 0.002\n'guard.energy' = 3")
    base = study.base
    assert (base.time.dt, base.time.end, base.guard.energy, base.name) == (5e-6, 0.002, 3, "s")
    assert study.scenario(study.cells[0]).seed == 1 and study.steps(study.cells[0]) == 400


def test_scenario_is_relative_to_the_study_file(directory, monkeypatch):
    (directory / "studies").mkdir()
    (directory / "studies/some.toml").write_text('scenario = "../balls.toml"\naxes.seed = [1]')
    monkeypatch.chdir("/")
    assert load_study(directory / "studies/some.toml").base.time.end == 0.001


def test_clump_files_are_relative_to_the_study_file(directory, study_of, monkeypatch):
    for name, x in (("one", 0.0), ("two", 0.001)):
        (directory / f"{name}.csv").write_text(f"x,y,z,radius\n{x},0,0,0.01\n")
    monkeypatch.chdir("/")
    text = BALLS.replace("spheres = [[0, 0, 0, 0.01]]", 'file = "one.csv"')
    (directory / "balls.toml").write_text(text)
    study = study_of('axes."clump.ball.file" = ["one.csv", "two.csv"]')
    assert study.scenario(study.cells[1]).clump["ball"].file == str(directory / "two.csv")
    records = [run_cell(Job(study.base.to_toml(), "s", study.directory, "records", "."), cell) for cell in study.cells]
    assert [record["status"] for record in records] == ["ok", "ok"]
    before = study.identity
    (directory / "two.csv").write_text("x,y,z,radius\n0,0,0,0.02\n")
    again = study_of('axes."clump.ball.file" = ["one.csv", "two.csv"]')
    assert again.identity != before and str(directory) not in json.dumps(before)


def test_steps_are_of_the_clumps_of_the_cell(study_of):
    study = study_of("set.dt = '0.1 rayleigh'\naxes.'body[0].clump' = ['ball', 'small']\nset.'body[1].clump' = 'ball'")
    large, small = (study.steps(cell) for cell in study.cells)
    assert small == pytest.approx(2 * large, rel=0.01)


def test_frames_are_recorded_where_runs_are_kept(study_of):
    for keep, frames in (("records", 1), ("runs", 3)):
        study = study_of(f"keep = '{keep}'\naxes.seed = [1]")
        assert study.scenario(study.cells[0]).output.frames == frames


RANGE = 'must be a list of values, {from, to, count} with spacing = "log" or "linear", or for whole numbers {first, count}'


@pytest.mark.parametrize(
    "text, message",
    [
        ("axes.seed = []", "axes.seed: must not be empty; give at least one value"),
        ("axes.seed = {}", f"axes.seed: {RANGE}, got {{}}"),
        ("axes.seed = 3", f"axes.seed: {RANGE}, got 3"),
        ("axes.dt = {from = 1, to = 2}", f"axes.time.dt: {RANGE}, got {{'from': 1, 'to': 2}}"),
        ("axes.seed = {first = 0.5, count = 2}", f"axes.seed: {RANGE}, got {{'first': 0.5, 'count': 2}}"),
        ("axes.dt = {from = 1, to = inf, count = 2}", f"axes.time.dt: {RANGE}, got {{'from': 1, 'to': inf, 'count': 2}}"),
        ("axes.seed = {first = 0, count = 0}", "axes.seed: count must be a whole number from 1 to 1000000, got 0"),
        ("axes.seed = {first = 0, count = 1e3}", "axes.seed: count must be a whole number from 1 to 1000000, got 1000.0"),
        (
            "axes.dt = {from = 0, to = 1, count = 2, spacing = 'log'}",
            "axes.time.dt: from and to must be above 0 with log spacing, got 0.0 and 1.0",
        ),
        ("axes.dt = {from = 1, to = 1, count = 2}", "axes.time.dt: from and to must differ, got 1.0 twice"),
        (
            "axes.dt = {from = 1, to = 1.00000001, count = 3}",
            "axes.time.dt: must have every value once, got 1.0 twice",
        ),
        ("axes.seed = [1, 2, 1]", "axes.seed: must have every value once, got 1 twice"),
        (
            "axes.seed = {first = 0, count = 2000}\naxes.dt = {from = 1, to = 2, count = 1000}",
            "axes: must make at most 1000000 cells, got 2000000",
        ),
        ("axes.dt = [1e-5]\naxes.time.dt = [2e-5]", "axes: time.dt: is given twice; leave one of them out"),
        ("cell = [{dt = 1, 'time.dt' = 2}]", "cell: time.dt: is given twice; leave one of them out"),
        ("axes = {}", f"axes: must be a table of scenario keys with {RANGE[8:]}"),
        ("cell = []", "cell: must be tables of scenario keys, each written [[cell]]"),
        ("cell = [{seed = 1}, {dt = 1}]", "cell[1]: must have the keys of the first: seed"),
        ("", "axes: give either [axes], to run every combination, or [[cell]] tables, one per run"),
        (
            "axes.seed = [1]\ncell = [{seed = 1}]",
            "axes: give either [axes], to run every combination, or [[cell]] tables, one per run",
        ),
        ("axes.seed = [1]\nset = 3", 'set: must be a table of scenario keys, as in [set] and "time.end" = 0.1'),
        ("axes.seed = [1]\nset.time.ennd = 3", 'set: time.ennd: unknown key; did you mean "end"?'),
        ("axes.seed = [1]\nschema = 2", "schema: must be 1, got 2"),
        ("axes.seed = [1]\naxis = 2", 'axis: unknown key; did you mean "axes"?'),
        (
            "axes.seed = [1]\nkeep = 'all'",
            'keep: must be "records" (one table) or "runs" (also the directory of each run), got \'all\'',
        ),
        ("axes.seed = [1]\nname = 3", "name: must be text in quotes, got 3"),
        ("axes.time.dtt = [1]", 'cell time.dtt=1: time.dtt: unknown key; did you mean "dt"?'),
        ("axes.dt = [-1]", "cell time.dt=-1: time.dt: must be above 0, got -1"),
        (
            "axes.dt = [1e-300]",
            "cell time.dt=1e-300: time.dt: must allow the end to be reached in at most 1e+15 steps, got 1e-300 s",
        ),
        (
            "axes.seed = [1, [2]]",
            "cell seed=[2]: seed: must be a whole number from 0 to 9223372036854775807, got [2]",
        ),
        ("axes.dt = [1979-05-27]", "cell time.dt=1979-05-27: time.dt: must be a number, got 1979-05-27"),
        ("axes.dt = [" + 30 * "[" + "1" + 30 * "]" + "]", f"cell time.dt={30 * '['}1{30 * ']'}: " + "nested"),
        ("axes.'a b' = [1]", 'cell a b=1: "a b": must be a path of keys such as time.end or body[0].velocity'),
    ],
)
def test_each_mistake_is_named(mistakes, text, message):
    (line,) = mistakes(text)
    if message.endswith("nested"):
        assert line.startswith("s.toml: " + message.removesuffix("nested")) and "nested too deeply" in line
    else:
        assert line == "s.toml: " + message


def test_all_mistakes_are_named_at_once(mistakes):
    lines = mistakes("keep = 1\nname = '/'\naxes.seed = []\naxes.dt = 3\nwhat = 1")
    assert [line.split(": ")[:2] for line in lines] == [
        ["s.toml", key] for key in ("what", "keep", "name", "axes.seed", "axes.time.dt")
    ]
    lines = mistakes("axes.seed = [0, -1, -2]\naxes.dt = [1e-5, 0]\naxes.integrator = ['spirall', 'spiral']")
    assert [line.split(": ")[2] for line in lines] == ["integrator.rotation", "time.dt", "seed", "seed"]
    assert lines[3].startswith(
        "s.toml: cell seed=-2 time.dt=1e-05 integrator.rotation=spirall: seed: must be a whole number"
    )


def test_mistakes_in_the_scenario_file(mistakes, directory):
    (line,) = mistakes("axes.seed = [1]", scenario="scenario = 'none.toml'\n")
    assert line == f"s.toml: scenario: {directory}/none.toml: no such file or directory; give a scenario file"
    (line,) = mistakes("axes.seed = [1]", scenario="")
    assert line.startswith('s.toml: scenario: required, but missing; give the file of the base scenario, as in scenario = "')
    (directory / "balls.toml").write_text(BALLS.replace("young = 1e9", "young = 0"))
    assert mistakes("axes.seed = [1]") == ["s.toml: scenario: balls.toml: material.steel.young: must be above 0, got 0"]
    assert mistakes("axes.seed = [1") == ["s.toml: line 2: not valid TOML: Unclosed array (at end of document)"]


# --- choosing, bundling, slicing ----------------------------------------------------------------------------


@pytest.fixture
def study(study_of):
    return study_of('axes.dt = [1e-5, 2e-5]\naxes.integrator = ["spiral", "omelyan"]\naxes.seed = [0, 1, 2]')


@pytest.mark.parametrize(
    "only, numbers",
    [
        (["seed=1"], [1, 4, 7, 10]),
        (["dt=0.00001", "integrator=omelyan"], [3, 4, 5]),
        (["time.dt = 2e-5", "seed=0", "seed=2"], [6, 8, 9, 11]),
        (["3", "5"], [3, 5]),
        (["3", "5", "seed=0"], [3]),
    ],
)
def test_only(study, only, numbers):
    assert [cell.number for cell in study.chosen(only)] == numbers


@pytest.mark.parametrize(
    "only, message",
    [
        (
            ["what=1"],
            "--only what=1: must be AXIS=VALUE or the number of a cell; axes: time.dt, integrator.rotation, seed, ",
        ),
        (["spiral"], "--only spiral: must be AXIS=VALUE or the number of a cell; axes: "),
        (["seed=1", "seed=7"], "--only seed=7: no cell has this value; minidem study s.toml --list shows them"),
        (["1", "12"], "--only 12: no such cell; minidem study s.toml --list shows them"),
        (["1", "seed=2"], "--only 1 seed=2: no cell fits; minidem study s.toml --list shows them"),
    ],
)
def test_only_nothing(study, only, message):
    with pytest.raises(InputError) as caught:
        study.chosen(only)
    assert str(caught.value).startswith(message)


WORK = st.lists(st.integers(1, 10**9), max_size=60)  # steps


@given(WORK, st.integers(1, 40))
@example(60 * [1], 1)
def test_bundles(work, workers):
    cells = [Cell(k, {}) for k in range(len(work))]
    bundles = list(bundles_of(cells, dict(enumerate(work)), workers))
    numbers = [cell.number for bundle in bundles for cell in bundle]
    assert sorted(numbers) == list(range(len(work)))
    assert [work[k] for k in numbers] == sorted(work, reverse=True)
    enough = min(study_cells.BUNDLE_STEPS, sum(work) / (8 * workers))
    for bundle in bundles:  # no longer than it must be, and but for the last no shorter
        *before, last = [work[cell.number] for cell in bundle]
        assert sum(before) < enough and (sum(before) + last >= enough or bundle is bundles[-1])


def test_short_runs_are_bundled_and_long_ones_are_not():
    work = dict(enumerate([1e7, 1e7] + 1000 * [1e3]))
    first, second, *others = bundles_of([Cell(k, {}) for k in work], work, 1)
    assert [cell.number for cell in first + second] == [0, 1] and 1 <= len(others) < 10


@given(WORK, st.integers(1, 12))
def test_slices_are_disjoint_complete_and_about_as_long(work, count):
    cells, steps = [Cell(k, {}) for k in range(len(work))], dict(enumerate(work))
    slices = [part_of(cells, steps, (i, count)) for i in range(1, count + 1)]
    assert sorted(cell.number for part in slices for cell in part) == list(range(len(work)))
    sums = [sum(work[cell.number] for cell in part) for part in slices]
    assert max(sums) - min(sums) <= max(work, default=0) * (1 + 1e-9)
    assert part_of(cells, steps, None) == cells


def test_work_is_steps(study):
    assert work_of(study) == {k: 100 if k < 6 else 50 for k in range(12)}


def test_estimate(study):
    report = estimate(study, study.chosen(["integrator=spiral"]), 2)
    assert [row["cell"] for row in report["cells"]] == [0, 1, 2, 6, 7, 8]
    assert [row["steps"] for row in report["cells"]] == [100, 100, 100, 50, 50, 50]
    assert all(
        row["us_per_step"] > 0 and row["estimated_s"] > 1e-6 * row["steps"] * row["us_per_step"] for row in report["cells"]
    )
    times = [row["estimated_s"] for row in report["cells"]]
    assert report["cpu_s"] == pytest.approx(sum(times)) and report["workers"] == 2
    assert report["estimated_s"] == pytest.approx(max(sum(times) / 2, max(times)))
    assert times[0] == times[1] == times[2]  # of one kind: timed once


def test_estimate_of_a_time_step_that_a_run_refuses(study_of):
    """The other cells of such a study can run, so it has an estimate; that cell fails."""
    study = study_of("axes.dt = [1e-5, 1e-3]")
    assert [row["cell"] for row in estimate(study, study.cells, 1)["cells"]] == [0, 1]
    assert "times the shortest contact" in run_cell(job_of(study), study.cells[1])["reason"]


MAPPED = """
import ctypes, multiprocessing, os
from minidem.study.cells import run_bundle
from minidem.study.executors import work

names = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks", "fordblks", "keepcost")
Info = type("Info", (ctypes.Structure,), {"_fields_": [(name, ctypes.c_int) for name in names]})
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
libc.mallinfo.restype = Info
ours, theirs = multiprocessing.Pipe()
ours.close()
CALL
libc.free(libc.malloc(2**24))  # by default, glibc then maps only larger arrays
before = libc.mallinfo().hblks
libc.malloc(2**22)
print(libc.mallinfo().hblks - before)
"""


@pytest.mark.parametrize("call", ["run_bundle(None, [])", "work(theirs, None, os.getppid())"])
def test_workers_map_large_arrays(call):
    done = subprocess.run([sys.executable, "-c", MAPPED.replace("CALL", call)], capture_output=True, text=True)
    assert done.stdout == "1\n", done.stderr


# --- records ------------------------------------------------------------------------------------------------


def record(cell, status="ok", **values):
    return {"cell": cell, "status": status, "reason": "" if status == "ok" else "why", **values}


def written(directory, *records, name="records.jsonl"):
    with open(directory / name, "a") as file:
        file.writelines(json.dumps(record) + "\n" for record in records)


def test_records_are_read_back(tmp_path):
    with Records(tmp_path / "records.jsonl") as records:
        records.add(record(0, drift_max=0.1))
        records.add(record(2, "failed"))
        assert read_records(tmp_path, 3) == {0: record(0, drift_max=0.1), 2: record(2, "failed")}  # while it is open


@pytest.mark.parametrize("kept", [1, 9, 20])
def test_a_line_cut_short_is_dropped(tmp_path, kept):
    written(tmp_path, record(0), record(1))
    path = tmp_path / "records.jsonl"
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:kept])
    assert sorted(read_records(tmp_path, 3)) == [0, 1]
    with Records(path) as records:
        assert path.read_bytes() == whole
        records.add(record(2))
    assert sorted(read_records(tmp_path, 3)) == [0, 1, 2]


@pytest.mark.parametrize("lost", [1, 20, -2])
def test_a_line_half_on_the_disk_is_dropped(tmp_path, lost):
    """A power cut left zeros in its first block; of an earlier line that is an error, as of any that is no record."""
    written(tmp_path, record(0), record(1))
    path = tmp_path / "records.jsonl"
    whole, line = path.read_bytes(), json.dumps(record(2)).encode()
    path.write_bytes(whole + line[:lost].replace(line[:lost], bytes(len(line[:lost]))) + line[lost:] + b"\n")
    assert sorted(read_records(tmp_path, 3)) == [0, 1]
    path.write_bytes(path.read_bytes() + whole)
    with pytest.raises(InputError, match="line 3, column 1: not valid JSON"):
        read_records(tmp_path, 3)
    path.write_bytes(path.read_bytes()[: -len(whole)])
    with Records(path) as records:
        assert path.read_bytes() == whole
        records.add(record(2))
    assert sorted(read_records(tmp_path, 3)) == [0, 1, 2]


def test_what_was_done_stays_done(tmp_path):
    written(tmp_path, record(0, "failed"), record(0), record(0, "failed"), record(1, "failed", reason="a"))
    written(tmp_path, record(1, "failed", reason="b"), record(1, host="h"), record(1, host="i"), name=records_name((1, 2)))
    assert {number: known["status"] for number, known in read_records(tmp_path, 2).items()} == {0: "ok", 1: "ok"}


def test_the_last_failure_counts(tmp_path):
    written(tmp_path, record(0, "failed", steps=1), record(0, "failed", steps=2))
    assert read_records(tmp_path, 1)[0]["steps"] == 2


def test_two_results_that_differ_are_refused(tmp_path):
    written(tmp_path, record(0, drift_max=0.1))
    written(tmp_path, record(0, drift_max=0.2), name=records_name((1, 2)))
    with pytest.raises(InputError, match=r"records.jsonl: line 1: cell 0 has two results that differ; remove one of them"):
        read_records(tmp_path, 1)


@pytest.mark.parametrize("line", ["{", "[]", "3", '{"cell": 0}', '{"status": "ok"}', '{"cell": 7, "status": "ok"}', "\xff"])
def test_what_is_no_record_is_refused(tmp_path, line):
    written(tmp_path, record(0))
    with open(tmp_path / "records.jsonl", "ab") as file:
        file.write(line.encode("latin-1") + b"\n")
    with pytest.raises(InputError, match=r"records.jsonl: line 2\b.*; remove the line"):
        read_records(tmp_path, 7)


def hold(path, held, done):
    with Records(path):
        held.set()
        done.wait(60)


def test_one_writer_at_a_time(tmp_path):
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "records.jsonl", held, done))
    process.start()
    try:
        assert held.wait(60)
        with pytest.raises(InputError, match="another process is running this study; wait for it or stop it"):
            Records(tmp_path / "records.jsonl").__enter__()
        with Records(tmp_path / records_name((1, 2))):  # a slice has its own
            pass
    finally:
        done.set()
        process.join()
    with Records(tmp_path / "records.jsonl"):
        pass


def test_a_disk_that_is_full_while_a_record_is_written(tmp_path):
    path = tmp_path / "records.jsonl"
    with Records(path) as records:
        records.add(record(0))
        file = records.file
        with open("/dev/full", "ab", buffering=0) as records.file, pytest.raises(WriteError) as caught:
            records.add(record(1))
        assert str(caught.value).endswith(
            "cannot be written to (No space left on device); make room and continue with --resume"
        )
        records.file = file
    assert list(read_records(tmp_path, 2)) == [0]


def test_a_record_written_in_part_is_not_kept(tmp_path):
    with Records(tmp_path / "records.jsonl") as records:
        file, records.file = records.file, types.SimpleNamespace(write=lambda line: len(line) - 1)
        with pytest.raises(WriteError, match="No space left on device"):
            records.add(record(0))
        records.file = file


def test_files_are_whole_where_several_write_them(tmp_path):
    texts = [str(k) * 10_000 for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(50):
            list(pool.map(lambda text: write_whole(tmp_path / "file", text), texts))
            assert (tmp_path / "file").read_text() in texts
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


# --- directories and tables ---------------------------------------------------------------------------------


def test_directory_of_a_study(study, tmp_path):
    out = tmp_path / "out/study"
    prepare_directory(out, study)
    assert sorted(path.name for path in out.iterdir()) == ["study.json", "study.toml"]
    assert identity_of(out) == study.identity and (out / "study.toml").read_text() == study.text
    assert cells_of(identity_of(out)) == list(study.cells)
    written(out, record(0))
    prepare_directory(out, study)
    assert list(read_records(out, 1)) == [0]
    (out / "runs/000000").mkdir(parents=True)
    prepare_directory(out, study, overwrite=True)
    assert sorted(path.name for path in out.iterdir()) == ["study.json", "study.toml"]


def test_directory_made_half_is_gone_on_with(study, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "study.toml").write_text("scen")
    (out / ".study.0.new.json").write_text("{")
    prepare_directory(out, study)
    check_identity(out, study)


def test_directory_of_something_else_is_refused(study, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("")
    with pytest.raises(InputError, match=r"holds other files \(notes.txt\); give an empty directory with --out"):
        prepare_directory(out, study, overwrite=True)
    assert [path.name for path in out.iterdir()] == ["notes.txt"]
    with pytest.raises(InputError, match=r"no study here; run one with minidem study STUDY.toml --out"):
        check_identity(out, study)
    with pytest.raises(InputError, match=r"notes.txt: cannot be written"):
        prepare_directory(out / "notes.txt", study)


def test_directory_of_another_study_is_refused_with_the_difference(study_of, tmp_path):
    prepare_directory(tmp_path / "out", study_of("axes.seed = [1, 2]"))
    with pytest.raises(InputError) as caught:
        prepare_directory(tmp_path / "out", study_of("set.time.end = 0.5\naxes.seed = [1, 3]"))
    first, *lines = str(caught.value).splitlines()
    assert first.endswith("was made by another study; give --overwrite to replace it, or another --out. The difference:")
    changed = [line for line in lines if line[:1] in "+-"]
    assert changed == [
        "--- there",
        "+++ here",
        "-scenario: end = 0.001",
        "+scenario: end = 0.5",
        "-cells: [2]",
        "+cells: [3]",
    ]
    (tmp_path / "out/study.json").write_text("{")
    with pytest.raises(InputError, match=r"study.json: line 1, column 2: not valid JSON"):
        check_identity(tmp_path / "out", study_of("axes.seed = [1, 2]"))


def test_long_differences_are_cut():
    text = difference({"cells": list(range(100))}, {"cells": list(range(200, 300))})
    assert len(text.splitlines()) == 41 and text.endswith(" lines more")


def test_comments_and_order_of_keys_make_no_other_study(study_of, study):
    again = study_of(
        '# the same\naxes.dt = [1e-5, 2e-5]\naxes."integrator.rotation" = ["spiral", "omelyan"]\naxes.seed=[0,1,2]'
    )
    assert again.identity == study.identity
    for text in ("axes.seed = [1]", "axes.seed = [1]\nkeep = 'runs'", "axes.seed = [1]\nset.time.end = 1"):
        assert study_of(text).identity != study.identity


def test_table_has_the_numbers_exactly(study, tmp_path):
    values = {"dt": 0.1 + 0.2, "drift_max": 5e-324, "drift_mean": 1 / 3, "steps": 10**15, "wall_s": 1e-3}
    written(tmp_path, record(0, **values), record(3, "failed", reason='a, "b"\nc'))
    write_tables(tmp_path, study.axes, study.cells, read_records(tmp_path, 12))
    with open(tmp_path / "table.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["cell", "time.dt", "integrator.rotation", "seed", *RESULTS]
    assert [row["status"] for row in rows] == ["ok", "missing", "missing", "failed"] + 8 * ["missing"]
    assert all(type(values[name])(rows[0][name]) == values[name] for name in ("dt", "drift_max", "drift_mean", "steps"))
    assert rows[0]["energy_final"] == "" and rows[3]["reason"] == 'a, "b"\nc'
    assert [(float(row["time.dt"]), row["integrator.rotation"], int(row["seed"])) for row in rows] == changes(study)
    with open(tmp_path / "timing.csv", newline="") as file:
        assert next(csv.DictReader(file))["wall_s"] == "0.001"


def test_summary(tmp_path):
    cells = [Cell(k, {}) for k in range(3)]
    known = {0: record(0), 1: record(1, "failed")}
    assert summary_of(tmp_path, cells, known)["status"] == "interrupted"
    assert summary_of(tmp_path, cells[:2], known)["status"] == "failed"
    counts = {"cells": 1, "done": 1, "failed": 0, "missing": 0, "status": "ok"}
    assert summary_of(tmp_path, cells[:1], known) == {"study_dir": str(tmp_path), **counts}


# --- runs ---------------------------------------------------------------------------------------------------


def job_of(study, directory="."):
    return Job(study.base.to_toml(), study.source, study.directory, study.keep, str(directory))


def test_record_of_a_run(study):
    found = run_cell(job_of(study), study.cells[4])
    result = minidem.run(study.scenario(study.cells[4]))
    energy = result.summary["energy"]
    assert found["cell"] == 4 and found["status"] == "ok" and found["reason"] == ""
    assert (found["steps"], found["dt"], found["wall_s"] > 0) == (100, 1e-5, True)
    assert [found[name] for name in ("drift_mean", "drift_last", "drift_max", "energy_initial", "energy_final")] == [
        energy[name] for name in ("drift_mean", "drift_last", "drift_max", "initial", "final")
    ]
    momentum = result.energy["momentum"]
    assert found["momentum_change"] == max(math.dist(row, momentum[0]) for row in momentum)
    assert found["dt_rayleigh"] == pytest.approx(1e-5 / rayleigh_time(0.01, study.base.material["steel"]))


def test_a_failing_run_is_kept_with_its_reason(study_of, monkeypatch):
    study = study_of("axes.dt = [1e-5, 5e-3]\nset.time.end = 0.1\nset.output.energies = 21")
    blown = run_cell(job_of(study), study.cells[1])
    assert blown["status"] == "failed" and "times the shortest contact" in blown["reason"]
    assert blown["reason"].endswith("or set guard.contact = false to run anyway")

    monkeypatch.setattr(study_cells, "largest_change", lambda vectors: 1 / 0)
    found = run_cell(job_of(study), study.cells[0])
    assert (found["status"], found["reason"]) == ("failed", "ZeroDivisionError: division by zero")


def test_what_a_killed_run_left_is_removed(study_of, tmp_path):
    study = study_of("keep = 'runs'\naxes.seed = [1]")
    left = tmp_path / "runs/000000"
    left.mkdir(parents=True)
    (left / "trajectory.h5").write_bytes(b"half")
    assert run_cell(job_of(study, tmp_path), study.cells[0])["status"] == "ok"
    with minidem.Trajectory(left) as trajectory:
        assert len(trajectory) == 3


def test_a_run_that_cannot_be_written_is_no_failed_run(study_of, tmp_path):
    (tmp_path / "runs").write_text("in the way")
    study = study_of("keep = 'runs'\naxes.seed = [1]")
    with pytest.raises(WriteError, match="make room and continue with --resume"):
        run_cell(job_of(study, tmp_path), study.cells[0])


def test_kernels_are_loaded_by_one_thread_at_a_time(study_of, monkeypatch):
    study = study_of("axes.seed = {first = 0, count = 4}")
    busy, most, calls = [], [], []

    def slow(*arguments, **options):
        busy.append(1)
        most.append(len(busy))
        calls.append(arguments)
        time.sleep(0.05)
        busy.pop()

    monkeypatch.setattr(simulation, "Simulation", slow)
    monkeypatch.setattr(study_cells, "LOADED", set())
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda cell: load_kernels(study.scenario(cell), "s"), study.cells))
    assert max(most) == 1 and len(calls) == 1


# --- the guard ----------------------------------------------------------------------------------------------

FALL = """\
name = "fall"
time = {dt = 1e-4, end = 0.01}
domain.gravity = [0, 0, -9.81]
material.steel = {young = 1e9, poisson = 0.3, density = 7800}
clump.ball = {spheres = [[0, 0, 0, 0.01]], material = "steel"}
body = [{clump = "ball", position = [0, 0, 0]}]
"""


def test_guard_stops_a_run_that_blows_up():
    scenario = parse(BALLS).with_changes({"time.dt": 5e-3, "time.end": 0.1, "output.energies": 21})
    off = {f"guard.{name}": False for name in ("contact", "rayleigh", "overlap", "travel", "outside")}
    scenario = scenario.with_changes(off)
    result = minidem.run(scenario)
    assert result.summary["status"] == "failed" and 0 < result.summary["steps"] < 20
    assert result.reason.startswith("the energy deviates by ") and "(guard.energy = 100)" in result.reason
    assert len(result.energy["total"]) == result.summary["steps"] + 1
    free = minidem.run(scenario.with_changes({"guard.energy": 1e9}))
    assert (free.summary["status"], free.reason, free.summary["steps"]) == ("ok", "", 20)


def test_guard_knows_energies_that_cancel():
    """A fall from rest at height zero: the energy is zero, but for round-off."""
    result = minidem.run(parse(FALL))
    assert result.summary["energy"]["initial"] == 0 and result.summary["energy"]["final"] != 0
    assert result.summary["status"] == "ok"


def test_guard_must_be_positive():
    with pytest.raises(InputError, match=r"guard.energy: must be above 0, got 0"):
        parse(BALLS + "guard.energy = 0")

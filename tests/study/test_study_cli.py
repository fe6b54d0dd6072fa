"""Studies by the command line: the same table however they are run, whatever is killed, and however full the disk is."""

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time

import psutil  # comes with distributed
import pytest
from command import Outcome, in_a_shell
from distributed import LocalCluster

import minidem

RODS = """\
name = "rods"
time = {dt = 2e-5, end = 3}
domain = {box = [0.5, 0.4, 0.3], material = "plastic"}
material.plastic = {young = 1e9, poisson = 0.1, density = 2500}
clump.rod = {spheres = [[-0.03, 0, 0, 0.02], [0, 0, 0, 0.02], [0.03, 0, 0, 0.02]], material = "plastic"}
place = [{clump = "rod", count = 4, speed = 4, spin = 10}]
output = {frames = 3, energies = 11}
"""
STUDY = """\
scenario = "rods.toml"
[axes]
dt = [1e-5, 2e-5, 4e-5]
integrator = ["spiral", "omelyan"]
seed = {first = 0, count = 4}
"""
CELLS = 24
SHORT = 'scenario = "rods.toml"\nset.time.end = 0.01\n'
PATIENCE = 120  # s, after which a process hangs


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A directory with the study and its table, as two local processes make it."""
    directory = tmp_path_factory.mktemp("study")
    (directory / "rods.toml").write_text(RODS)
    (directory / "some.toml").write_text(STUDY)
    done = study(directory, "some.toml", "--out", "local", "--json", "--processes", 2)
    assert done.code == 0, done.stderr
    summary = done.json
    assert summary.pop("wall_s") > 0
    counts = {"cells": CELLS, "done": CELLS, "failed": 0, "missing": 0, "ran": CELLS}
    assert summary == {"study_dir": "local", **counts, "status": "ok"}
    return directory


def study(directory, *arguments, **options):
    return in_a_shell(directory, "study", *arguments, **options)


@contextlib.contextmanager
def started(directory, *arguments, **options):
    """The command, going on; in a group of its own, as from a terminal."""
    command = [sys.executable, "-m", "minidem.cli", "study", *map(str, arguments)]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, cwd=directory, start_new_session=True, **pipes, **options)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(process):
    stdout, stderr = process.communicate(timeout=PATIENCE)
    return Outcome(process.returncode, stdout.decode(), stderr.decode())


def records(directory):
    """All whole lines."""
    lines = [line for path in directory.glob("records*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def until(true, process):
    begun = time.monotonic()
    while not true():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() - begun < PATIENCE, "waited in vain"
        time.sleep(0.01)


def workers_of(process):
    return [child for child in psutil.Process(process.pid).children() if "spawn_main" in " ".join(child.cmdline())]


def gone(processes):
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE / 4)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def same_table(home, out):
    return (home / out / "table.csv").read_bytes() == (home / "local/table.csv").read_bytes()


def each_done_once(directory):
    return sorted(record["cell"] for record in records(directory) if record["status"] == "ok") == list(range(CELLS))


# --- the same everywhere ------------------------------------------------------------------------------------


def test_table_has_what_single_runs_give(home):
    header, *rows = (line.split(",") for line in (home / "local/table.csv").read_text().splitlines())
    assert len(rows) == CELLS and each_done_once(home / "local")
    row = dict(zip(header, rows[13], strict=True))
    assert (row["time.dt"], row["integrator.rotation"], row["seed"]) == ("2e-05", "omelyan", "1")
    scenario = minidem.load(home / "rods.toml")
    energy = minidem.run(scenario.with_changes({"integrator.rotation": "omelyan", "seed": 1})).summary["energy"]
    for name in ("drift_mean", "drift_last", "drift_max"):
        assert float(row[name]) == energy[name]


def test_on_a_local_dask_cluster(home):
    done = study(home, "some.toml", "--out", "dask", "--dask", "local", "--processes", 2)
    assert (done.code, done.stdout, done.stderr) == (0, f"{CELLS} of {CELLS} runs done\nwritten to    dask\n", "")
    assert same_table(home, "dask") and each_done_once(home / "dask")


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address=None, silence_logs=50) as cluster:
        yield cluster


def test_on_an_existing_dask_cluster(home, cluster):
    done = study(home, "some.toml", "--out", "address", "--dask", cluster.scheduler_address)
    assert done.code == 0, done.stderr
    assert same_table(home, "address") and each_done_once(home / "address")


def test_as_slices_that_start_at_once(home):
    slices = [(home, "some.toml", "--out", "array", "--array", f"{i}/3", "--processes", 1, "--json") for i in (1, 2, 3)]
    with contextlib.ExitStack() as stack:
        processes = [stack.enter_context(started(*arguments)) for arguments in slices]
        outcomes = [ended(process) for process in processes]
    assert [outcome.code for outcome in outcomes] == [0, 0, 0], outcomes
    assert [outcome.json["cells"] for outcome in outcomes] == [8, 8, 8]
    assert not (home / "array/table.csv").exists()
    assert len(list((home / "array").glob("records-?-of-3.jsonl"))) == 3 and each_done_once(home / "array")
    merged = study(home, "some.toml", "--out", "array", "--merge")
    assert merged.code == 0 and same_table(home, "array")

    (home / "array/records-2-of-3.jsonl").unlink()
    merged = study(home, "some.toml", "--out", "array", "--merge", "--json")
    assert merged.code == 1 and merged.json["missing"] == 8 and not same_table(home, "array")
    refused = study(home, "some.toml", "--out", "array", "--array", "2/3", "--overwrite")
    assert refused.code == 2 and refused.stderr.startswith("--overwrite: would remove the other slices, too")
    assert len(records(home / "array")) == 16


# --- killed -------------------------------------------------------------------------------------------------


def test_interrupted_again_and_again(home):
    """By signals to the whole group, as Ctrl-C sends them, and by SIGKILL of the study alone, at random moments."""
    out = home / "killed"
    generator = random.Random(7)
    for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9), (signal.SIGKILL, -9)):
        before = len(records(out))
        with started(home, "some.toml", "--out", "killed", "--processes", 2, "--resume", "--json") as process:
            until(lambda before=before: len(records(out)) > before + 1, process)
            time.sleep(generator.uniform(0, 0.05))
            workers = workers_of(process)
            assert len(workers) == 2
            if number == signal.SIGINT:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
            done = ended(process)
        assert gone(workers), number
        known = records(out)
        assert done.code == code and before + 2 <= len(known) < CELLS
        assert {record["status"] for record in known} == {"ok"}
        if code > 0:
            assert done.json["status"] == "interrupted" and done.json["done"] == len(known)
            assert done.stderr == f"killed: {len(known)} of {CELLS} runs done; continue with --resume\n"

    with open(out / "records.jsonl", "a") as file:  # as if the last one had been killed while it wrote
        file.write('{"cell": 23, "sta')
    refused = study(home, "some.toml", "--out", "killed")
    assert refused.code == 2 and f"holds {len(known)} of these {CELLS} runs already; --resume runs only" in refused.stderr
    done = study(home, "some.toml", "--out", "killed", "--resume", "--json")
    assert done.code == 0 and done.json["ran"] == CELLS - len(known)
    assert same_table(home, "killed") and each_done_once(out)


@contextlib.contextmanager
def long_study(home, name):
    """A study in the middle of a run that is longer than anybody waits here."""
    text = 'scenario = "rods.toml"\nkeep = "runs"\nset.time.end = 1e5\naxes.seed = [1]\n'
    (home / f"{name}.toml").write_text(text)
    with started(home, f"{name}.toml", "--out", name) as process:
        until((home / name / "runs/000000/manifest.json").exists, process)
        yield process


def test_workers_end_with_the_study_in_the_middle_of_a_run(home):
    with long_study(home, "long") as process:
        (worker,) = workers_of(process)
        process.kill()
        process.wait()
        try:
            assert gone([worker])
        finally:
            with contextlib.suppress(psutil.NoSuchProcess):
                worker.kill()


def test_ctrl_c_while_workers_start(home):
    """Nothing is heard of them."""
    with started(home, "some.toml", "--out", "early", "--processes", 2) as process:
        until(lambda: len(workers_of(process)) == 2, process)
        time.sleep(0.3)  # they import
        os.killpg(process.pid, signal.SIGINT)
        done = ended(process)
    assert (done.code, done.stderr) == (130, f"early: 0 of {CELLS} runs done; continue with --resume\n")


def test_killed_worker_is_replaced(home):
    with started(home, "some.toml", "--out", "worker", "--processes", 2) as process:
        until(lambda: len(records(home / "worker")) > 2, process)
        workers_of(process)[0].kill()
        done = ended(process)
    assert done.code == 0, done.stderr
    assert same_table(home, "worker") and each_done_once(home / "worker")


def test_killed_dask_worker_is_survived(home, cluster):
    with started(home, "some.toml", "--out", "lost", "--dask", cluster.scheduler_address) as process:
        until(lambda: len(records(home / "lost")) > 2, process)
        psutil.Process(next(iter(cluster.workers.values())).pid).kill()
        done = ended(process)
    assert done.code == 0, done.stderr
    assert same_table(home, "lost") and each_done_once(home / "lost")


CLUSTER = """
import time
from distributed import LocalCluster
if __name__ == "__main__":
    cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
    print(cluster.scheduler_address, flush=True)
    time.sleep(600)
"""


def test_lost_dask_cluster(home):
    """What came back is kept; the rest is missing, not failed."""
    (home / "cluster.py").write_text(CLUSTER)
    command = [sys.executable, "cluster.py"]
    scheduler = subprocess.Popen(command, cwd=home, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        address = scheduler.stdout.readline().strip()
        with started(home, "some.toml", "--out", "gone", "--dask", address) as process:
            until(lambda: len(records(home / "gone")) > 1, process)
            scheduler.kill()
            done = ended(process)
    finally:
        scheduler.kill()
        scheduler.communicate()
    assert done.code == 1
    assert done.stderr == f"--dask {address}: the cluster is gone; start it again and continue with --resume\n"
    known = records(home / "gone")
    assert 2 <= len(known) < CELLS and {record["status"] for record in known} == {"ok"}


def test_two_at_once(home):
    with long_study(home, "busy") as process:
        for more in ("--resume", "--overwrite"):
            second = study(home, "busy.toml", "--out", "busy", more)
            assert second.code == 2
            assert second.stderr == "busy/records.jsonl: another process is running this study; wait for it or stop it\n"
        process.terminate()
        assert ended(process).code == 143
    assert (home / "busy/study.json").exists()


# --- failures -----------------------------------------------------------------------------------------------


def test_a_step_that_blows_up(home):
    (home / "blow.toml").write_text('scenario = "rods.toml"\nset.time.end = 0.05\naxes.dt = [2e-5, 1e-2, 4e-5]\n')
    done = study(home, "blow.toml", "--out", "blow", "--processes", 2)
    assert done.code == 1 and done.stdout == "2 of 3 runs done, 1 failed\nwritten to    blow\n"
    remedy = "minidem study blow.toml --out blow --list shows the reasons; --retry-failed repeats failed runs"
    assert done.stderr == f"blow: 1 runs failed, 0 are missing; {remedy}\n"

    first, second, third = study(home, "blow.toml", "--out", "blow", "--list").stdout.splitlines()
    assert (first, third) == ("     0  ok       time.dt=2e-05", "     2  ok       time.dt=4e-05")
    assert second.startswith("     1  failed   time.dt=0.01  blow.toml: time.dt: 0.01 s is ")
    assert second.endswith(" s or less, or set guard.contact = false to run anyway")
    listed = study(home, "blow.toml", "--out", "blow", "--list", "--json", "--only", "dt=0.01").json["cells"]
    assert [(row["cell"], row["time.dt"], row["status"]) for row in listed] == [(1, 0.01, "failed")]

    assert study(home, "blow.toml", "--out", "blow", "--resume", "--json").json["ran"] == 0
    again = study(home, "blow.toml", "--out", "blow", "--retry-failed", "--json")
    assert again.code == 1 and (again.json["ran"], again.json["done"], again.json["failed"]) == (1, 2, 1)
    assert sorted(record["cell"] for record in records(home / "blow")) == [0, 1, 1, 2]


def test_study_directory_of_another_study(home):
    (home / "other.toml").write_text(STUDY.replace("count = 4", "count = 3"))
    before = (home / "local/table.csv").read_bytes()
    for more in ((), ("--resume",), ("--list",), ("--merge",)):
        done = study(home, "other.toml", "--out", "local", *more)
        assert done.code == 2 and "local: was made by another study" in done.stderr
        assert "\n-name: some\n+name: other\n" in done.stderr
        assert '\n-cells: [1e-05, "spiral", 3]\n' in done.stderr
    assert (home / "local/table.csv").read_bytes() == before and len(records(home / "local")) == CELLS


class Disk:
    """With little room: a small file system where one may be mounted, else files that may not grow."""

    def __init__(self, directory, kilobytes):
        self.directory, self.limit = directory, kilobytes * 1024
        directory.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", directory]
        try:
            self.mounted = subprocess.run(mount, capture_output=True).returncode == 0
        except OSError:
            self.mounted = False
        self.options = {} if self.mounted else {"preexec_fn": self.shrink}

    def shrink(self):
        resource.setrlimit(resource.RLIMIT_FSIZE, (self.limit // 2, self.limit // 2))

    def make_room(self):
        self.options = {}
        if self.mounted:
            subprocess.run(["mount", "-o", "remount,size=64m", self.directory], check=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.mounted:
            subprocess.run(["umount", "-l", self.directory], check=True)


@pytest.mark.parametrize("keep, kilobytes", [("records", 16), ("runs", 400)])
def test_full_disk(home, keep, kilobytes):
    text = f'name = "full"\nkeep = "{keep}"\n{SHORT}axes.seed = {{first = 0, count = 24}}\n'
    (home / f"full-{keep}.toml").write_text(text)
    with Disk(home / f"full-{keep}", kilobytes) as disk:
        arguments = (home, f"full-{keep}.toml", "--out", f"full-{keep}/study", "--processes", 2)
        done = study(*arguments, **disk.options)
        assert done.code == 1 and done.stdout == "", done.stderr
        assert done.stderr.count("\n") == 1 and done.stderr.endswith("; make room and continue with --resume\n")
        known = records(home / f"full-{keep}/study")
        assert len(known) < CELLS and not [record for record in known if record["status"] != "ok"]
        disk.make_room()
        done = study(*arguments, "--resume", "--json", **disk.options)
        assert done.code == 0, done.stderr
        assert done.json["ran"] == CELLS - len(known) and done.json["done"] == CELLS
        assert each_done_once(home / f"full-{keep}/study")


def test_kept_runs_are_trajectories(home):
    (home / "runs.toml").write_text(f"keep = 'runs'\n{SHORT}axes.dt = [2e-5, 4e-5]\n")
    assert study(home, "runs.toml", "--out", "runs").code == 0
    directories = sorted((home / "runs/runs").iterdir())
    assert [path.name for path in directories] == ["000000", "000001"]
    for directory, steps in zip(directories, (500, 250), strict=True):
        with minidem.Trajectory(directory) as trajectory:
            assert trajectory.step.tolist() == [0, steps // 2, steps]
        assert json.loads((directory / "manifest.json").read_text())["status"] == "ok"
    assert not (home / "local/runs").exists()


# --- the rest of the command line ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, arguments, message",
    [
        ("axes.what = [1]", (), "bad.toml: cell what=1: what: unknown key; "),
        ("axes.seed = []", (), "bad.toml: axes.seed: must not be empty; give at least one value\n"),
        ("axes.dt = [1e-5, 0]", (), "bad.toml: cell time.dt=0: time.dt: must be above 0, got 0\n"),
        ("axes.seed = [1]", ("--only", "dt=3"), "--only dt=3: must be AXIS=VALUE or the number of a cell; axes: seed\n"),
        ("axes.seed = [1]", ("--array", "4/3"), "--array 4/3: must be I/N with I from 1 to N, as in --array 3/10\n"),
        ("axes.seed = [1]", ("--array", "a"), "--array a: must be I/N with I from 1 to N, as in --array 3/10\n"),
        ("axes.seed = [1]", ("--merge",), "out: no study here; run one with minidem study STUDY.toml --out out\n"),
        ("axes.seed = [1]", ("--dask", "nowhere"), "--dask nowhere: no cluster answers there (missing port number"),
        ("axes.seed = [1]", ("--out", "bad.toml"), "bad.toml: cannot be written (File exists); give another --out\n"),
        (
            "axes.seed = [1]",
            ("--out", "."),
            ".: holds other files (bad.toml, box.toml); give an empty directory with --out\n",
        ),
    ],
)
def test_bad_input(minidem_command, directory, text, arguments, message):
    (directory / "bad.toml").write_text(f'scenario = "box.toml"\n{text}\n')
    done = minidem_command("study", "bad.toml", "--out", "out", *arguments)
    assert done.code == 2 and done.stdout == ""
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1


def test_no_study_file(minidem_command):
    done = minidem_command("study", "none.toml")
    assert done.code == 2 and done.stderr.startswith("none.toml: no such file or directory; ")


def test_dry_run(minidem_command, directory):
    (directory / "dry.toml").write_text('scenario = "box.toml"\naxes.dt = [2e-5, 4e-5]\naxes.seed = [1, 2]\n')
    done = minidem_command("study", "dry.toml", "--dry-run", "--processes", 2)
    header, *rows, total = done.stdout.splitlines()
    assert done.code == 0 and header.split() == ["s", "steps", "us", "per", "step", "cell"]
    assert sorted(row.split(maxsplit=3)[3] for row in rows) == [
        f"time.dt={dt} seed={k}" for dt in (2e-5, 4e-5) for k in (1, 2)
    ]
    assert total.startswith("4 runs, ") and total.endswith(" s with 2 processes")
    report = minidem_command("study", "dry.toml", "--dry-run", "--json", "--only", "dt=4e-5").json
    assert [(row["cell"], row["steps"]) for row in report["cells"]] == [(2, 100), (3, 100)]
    assert not (directory / "output").exists()


def test_list_of_a_study_not_begun(minidem_command, directory):
    (directory / "new.toml").write_text('scenario = "box.toml"\naxes.seed = [1, 2]\n')
    assert minidem_command("study", "new.toml", "--list").stdout == "     0  missing  seed=1\n     1  missing  seed=2\n"
    assert not (directory / "output").exists()

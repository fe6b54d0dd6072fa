"""minidem resume, and what stops a run so that it can be continued."""

import json
import re
import resource

import pytest
from command import in_a_shell
from runs import assert_same

LONGER = ["--set", "time.end=0.4", "--set", "output.frames=101", "--set", "output.energies=101"]  # 10,000 steps


@pytest.fixture
def stopped(minidem_command, directory):
    """A run that stopped before its first step because of --max-wall."""
    outcome = minidem_command("run", "box.toml", *LONGER, "--out", "run", "--max-wall", "0.0001s", "--json")
    assert outcome.code == 0 and outcome.json["status"] == "interrupted" and outcome.json["steps"] == 0
    assert outcome.stderr == "stopped after 0 steps; continue with: minidem resume run\n"
    return directory / "run"


def test_resumed_to_the_end(stopped, minidem_command, directory):
    done = minidem_command("resume", "run", "--json")
    assert done.code == 0 and done.json["status"] == "ok" and done.json["steps"] == 10_000 and done.stderr == ""
    assert minidem_command("run", "box.toml", *LONGER, "--out", "whole", "--quiet").code == 0
    assert_same(stopped, directory / "whole")
    again = minidem_command("resume", "run", "--json")
    assert again.code == 0 and again.json == done.json and again.stderr == "run: the run is done\n"


def test_table(stopped, minidem_command):
    outcome = minidem_command("resume", "run", "--threads", 1, "--checkpoint-every", 0.01)
    assert outcome.code == 0 and re.search(r"^completed +10,000 steps in ", outcome.stdout, re.MULTILINE)


def test_table_of_an_unfinished_run(minidem_command):
    outcome = minidem_command("run", "box.toml", *LONGER, "--out", "run", "--max-wall", "0.0001s")
    assert re.search(r"^completed +0 of 10,000 steps \(0 %\) in ", outcome.stdout, re.MULTILINE)


def test_changed_scenario_is_refused_with_the_difference(stopped, minidem_command):
    text = (stopped / "resolved.toml").read_text()
    (stopped / "resolved.toml").write_text(text.replace("density = 2500.0", "density = 2600.0"))
    before = {path: path.read_bytes() for path in stopped.iterdir()}
    outcome = minidem_command("resume", "run", "--force")
    assert outcome.code == 2 and outcome.stdout == ""
    assert "run: the run cannot be resumed from step 0:\n  resolved.toml:" in outcome.stderr
    assert "-density = 2500.0" in outcome.stderr and "+density = 2600.0" in outcome.stderr
    assert {path: path.read_bytes() for path in stopped.iterdir()} == before


def test_stopped_by_a_guard(minidem_command):
    """The same exit code and reason as before, without a step."""
    first = minidem_command("run", "box.toml", *LONGER, "--set", "guard.energy=1e-12", "--out", "run", "--json")
    assert first.code == 3 and first.json["status"] == "failed" and first.json["steps"] > 0
    reason = first.stderr.removeprefix("box.toml: ")
    again = minidem_command("resume", "run", "--json")
    assert again.code == 3 and again.json == first.json
    stopped = f"run: a guard stopped the run at step {first.json['steps']}; change the scenario and start a new run\n"
    assert again.stderr == f"{stopped}run: {reason}"


@pytest.mark.parametrize("what", ["nowhere", "box.toml", "."])
def test_not_a_run(minidem_command, what):
    outcome = minidem_command("resume", what)
    assert outcome.code == 2 and f"{what}: not a run directory" in outcome.stderr and outcome.stdout == ""


@pytest.mark.parametrize("time", ["2 hours", "", "h", "-1", "nan", "1m2h"])
def test_invalid_times(minidem_command, directory, time):
    outcome = minidem_command("run", "box.toml", "--max-wall", time)
    assert outcome.code == 2 and "--max-wall" in outcome.stderr and not (directory / "output").exists()


def test_full_disk(minidem_command, directory):
    """A limit on the file size: a clear message, and without the limit the run is resumed with the same result."""

    def limit_file_size():
        resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))

    changes = ["--set", "time.end=0.8", "--set", "output.frames=4000", "--set", "output.energies=100"]
    options = [*changes, "--checkpoint-every", 0.2, "--quiet"]
    outcome = in_a_shell(directory, "run", "box.toml", *options, "--out", "run", preexec_fn=limit_file_size)
    assert outcome.code == 1 and outcome.stdout == ""
    go_on = "fix this, then continue with: minidem resume run"
    assert outcome.stderr == f"run: cannot be written to (File too large); {go_on}\n"
    assert json.loads((directory / "run/manifest.json").read_text())["status"] == "failed"
    assert minidem_command("resume", "run", "--quiet").code == 0
    assert minidem_command("run", "box.toml", *options, "--out", "whole").code == 0
    assert_same(directory / "run", directory / "whole")


@pytest.mark.parametrize("size", [4000, 20_000])
def test_full_disk_at_the_start(directory, size):
    """There is not even space for the header of the trajectory."""
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}
    outcome = in_a_shell(directory, "run", "box.toml", "--out", "run", **limit)
    assert outcome.code == 1 and outcome.stderr.startswith("run: cannot be written to (") and outcome.stdout == ""
    assert "Traceback" not in outcome.stderr
    assert in_a_shell(directory, "resume", "run", "--quiet").code == 0


def test_full_disk_while_resuming(stopped, directory, minidem_command):
    """There is no space for the copy of the trajectory: the original stays undamaged."""
    before = (stopped / "trajectory.h5").read_bytes()
    size = len(before) // 2
    limit = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}
    outcome = in_a_shell(directory, "resume", "run", **limit)
    assert outcome.code == 1 and "continue with: minidem resume run" in outcome.stderr and "Traceback" not in outcome.stderr
    assert (stopped / "trajectory.h5").read_bytes() == before and not (stopped / "trajectory.damaged.h5").exists()
    assert minidem_command("resume", "run", "--quiet").code == 0

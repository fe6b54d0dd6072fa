import sys

import pytest
from command import BOX, Outcome

from minidem import cli


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="run long tests at full length")


@pytest.fixture
def long(request):
    """Whether tests that have a long version should run it."""
    return request.config.getoption("--long")


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """The working directory, with a good scenario in it."""
    (tmp_path / "box.toml").write_text(BOX)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def minidem_command(directory, monkeypatch, capfd):
    """The same entry point, called in this process: saves the seconds that importing numba takes."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["minidem", *map(str, arguments)])
        capfd.readouterr()
        with pytest.raises(SystemExit) as caught:
            cli.main()
            raise SystemExit(0)
        code = caught.value.code or 0
        return Outcome(code, *capfd.readouterr())

    return call

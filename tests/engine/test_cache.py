"""Which folder compiled code is kept in: one that nobody else may write to, or none."""

import os
import stat

import pytest

from minidem.engine.compile import cache, sealed

NOBODY = 65534
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files to others")


@pytest.fixture
def wanted(tmp_path, monkeypatch):
    monkeypatch.setattr(sealed, "told", {})
    monkeypatch.setenv("MINIDEM_CACHE_DIR", str(tmp_path / "wanted"))
    return tmp_path / "wanted"


@pytest.fixture
def found(wanted, capfd):
    """Looks for the folder; returns it and what was said."""

    def look():
        sealed.told.clear()
        folder = cache.cache_directory.__wrapped__()
        said = capfd.readouterr()
        assert said.out == "" and said.err.count("\n") == (1 if said.err else 0)
        return folder, said.err

    return look


@pytest.mark.parametrize("umask", [0o000, 0o002, 0o077])
def test_a_new_folder_is_for_this_user_alone(wanted, found, umask):
    before = os.umask(umask)
    try:
        folder, said = found()
    finally:
        os.umask(before)
    assert said == "" and folder is not None and folder.parent == wanted
    assert [stat.S_IMODE(path.stat().st_mode) for path in (wanted, folder)] == [0o700, 0o700]
    assert found() == (folder, "")


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o757])
def test_a_folder_that_others_may_write_to(wanted, found, mode):
    wanted.mkdir()
    wanted.chmod(mode)
    folder, said = found()
    assert folder is None and said.startswith(f"{wanted} can be written to by other users (chmod go-w {wanted}), so each ")
    assert "in private" in said and "MINIDEM_CACHE_DIR" in said
    assert os.listdir(wanted) == []
    wanted.chmod(mode & ~0o022)  # the remedy helps
    folder, said = found()
    assert said == "" and folder is not None
    folder.chmod(mode)
    refused, said = found()
    assert refused is None and said.startswith(f"{folder} can be written to by other users (chmod go-w {folder})")


def test_a_place_where_everybody_may_add_files(wanted, found):
    """As /tmp: there the folder itself has to be of this user."""
    wanted.mkdir()
    wanted.chmod(0o1777)
    folder, said = found()
    assert said == "" and folder is not None
    folder.chmod(0o1777)
    assert found()[0] is None
    folder.chmod(0o700)
    assert found() == (folder, "")
    if os.geteuid() == 0:
        os.chown(folder, NOBODY, -1)
        refused, said = found()
        assert refused is None and said.startswith(f"{folder} belongs to another user, so ")


@ROOT_ONLY
def test_a_folder_of_another_user(wanted, found):
    wanted.mkdir(mode=0o700)
    os.chown(wanted, NOBODY, -1)
    folder, said = found()
    assert folder is None and said.startswith(f"{wanted} belongs to another user, so ")
    assert os.listdir(wanted) == []


@ROOT_ONLY
def test_the_permissions_behind_a_link_count(wanted, found, tmp_path):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    wanted.symlink_to("elsewhere")
    folder, said = found()
    assert said == "" and os.listdir(tmp_path / "elsewhere") == [folder.name]
    os.chown(tmp_path / "elsewhere", NOBODY, -1)
    assert found()[0] is None


@pytest.mark.parametrize("name", ["file", "link", "file/below", "/proc/minidem"])
def test_a_folder_that_cannot_be_made(wanted, found, monkeypatch, tmp_path, name):
    (tmp_path / "file").write_text("precious")
    (tmp_path / "link").symlink_to("nowhere")
    monkeypatch.setenv("MINIDEM_CACHE_DIR", str(tmp_path / name))
    folder, said = found()
    assert folder is None and said.startswith(f"MINIDEM_CACHE_DIR={tmp_path / name} cannot be written to (")
    assert (tmp_path / "file").read_text() == "precious" and sorted(os.listdir(tmp_path)) == ["file", "link"]


def test_no_home(wanted, found, monkeypatch):
    for name in ("MINIDEM_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)

    def no_home():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(cache.Path, "home", no_home)
    folder, said = found()
    assert folder is None and said.startswith(
        "~/.cache/minidem cannot be written to (Could not determine home directory.), "
    )


@pytest.mark.parametrize("kind", ["file", "link to nowhere"])
def test_something_in_the_way_inside(wanted, found, kind):
    folder, said = found()
    folder.rmdir()
    if kind == "file":
        folder.write_text("")
    else:
        folder.symlink_to("nowhere")
    again, said = found()
    assert again == folder and folder.is_dir() and said.startswith(f"{folder} is no folder; it was removed, ")
    assert found() == (folder, "")


def test_the_folder_of_the_user(wanted, found, monkeypatch, tmp_path):
    monkeypatch.delenv("MINIDEM_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder, said = found()
    assert said == "" and folder is not None and folder.parent == tmp_path / "minidem"
    (tmp_path / "minidem").chmod(0o777)
    assert found()[0] is None


def test_a_path_of_the_working_directory_stays_where_it_was(wanted, found, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MINIDEM_CACHE_DIR", "here")
    folder, said = found()
    assert said == "" and folder is not None and folder.parent == tmp_path / "here"

"""Files are written all or nothing, and never over another one unasked."""

import os

import pytest

from minidem.errors import InputError
from minidem.files.whole import beside, check_free, is_leftover, replacing, write_whole


def test_a_file_is_replaced_whole(tmp_path):
    path = tmp_path / "a.csv"
    write_whole(path, "µ\n")
    assert path.read_bytes() == "µ\n".encode()
    with replacing(path) as new:
        new.write_text("new")
        assert path.read_text() == "µ\n" and new.suffix == ".csv" and is_leftover(new.name)
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.csv"]


@pytest.mark.parametrize("locked", [False, True])
def test_an_error_leaves_the_old_file(tmp_path, locked):
    path = tmp_path / "a.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), replacing(path, locked) as new:
        new.write_text("half")
        raise RuntimeError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.csv"]


def test_a_locked_writer_leaves_one_file_at_most(tmp_path):
    """However often it is killed; and follows no link that someone put there."""
    path = tmp_path / "a.csv"
    beside(path).write_text("killed")
    assert beside(path) == beside(path) and not beside(path).exists()
    beside(path).symlink_to(tmp_path / "elsewhere")
    write_whole(path, "text", locked=True)
    assert os.listdir(tmp_path) == ["a.csv"] and not path.is_symlink()


@pytest.mark.parametrize(
    ("name", "leftover"), [(".a.new.csv", True), (".a.0f.new", True), ("a.new.csv", False), (".a.csv", False)]
)
def test_leftovers(name, leftover):
    assert is_leftover(name) == leftover


def test_the_overwrite_rule(tmp_path):
    first, second = tmp_path / "a.png", tmp_path / "a.svg"
    check_free(first, second, overwrite=False)
    second.touch()
    check_free(first, second, overwrite=True)
    with pytest.raises(InputError) as caught:
        check_free(first, second, overwrite=False, option="--plot")
    assert str(caught.value) == f"{second}: exists already; give --overwrite to replace it, or another --plot"
    with pytest.raises(InputError, match=r"a.svg: exists already; .*, or another --out, or --resume$"):
        check_free(second, overwrite=False, otherwise=", or --resume")

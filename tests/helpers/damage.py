"""Ways in which a file can be damaged, or something else can take its place."""

import os
import random
import shutil


def empty(file):
    os.truncate(file, 0)


def half(file):
    os.truncate(file, file.stat().st_size // 2)


def noise(file):
    file.write_bytes(random.Random(0).randbytes(file.stat().st_size))


def one_bit(file):
    content = bytearray(file.read_bytes())
    content[2 * len(content) // 3] ^= 8  # in machine code, if that is what the file holds
    file.write_bytes(content)


def one_bit_of_the_checksum(file):
    content = bytearray(file.read_bytes())
    content[5] ^= 1
    file.write_bytes(content)


def longer(file):
    with open(file, "ab") as stream:
        stream.write(b"\0")


def another_one(file):
    """A sound file of the same folder under this name."""
    others = [other for other in sorted(file.parent.iterdir()) if other.suffix == file.suffix and other.name != file.name]
    shutil.copy(others[0], file)


def link(file):
    """To the file itself under another name, which may be anywhere."""
    file.rename(file.with_suffix(".moved"))
    file.symlink_to(file.with_suffix(".moved"))


def link_to_nowhere(file):
    file.unlink()
    file.symlink_to("nowhere")


def endless(file):
    file.unlink()
    file.symlink_to("/dev/zero")


def huge(file):
    """A terabyte that takes no room on the disk."""
    os.truncate(file, 2**40)


def pipe(file):
    file.unlink()
    os.mkfifo(file, 0o600)


def folder(file):
    file.unlink()
    file.mkdir()
    (file / "file").write_text("")


def open_to_others(file):
    file.chmod(0o602)


WAYS = (
    empty,
    half,
    noise,
    one_bit,
    one_bit_of_the_checksum,
    longer,
    another_one,
    link,
    link_to_nowhere,
    endless,
    huge,
    pipe,
    folder,
    open_to_others,
)

"""What a power cut may leave on the disk, from a record of all that programs did to some files.

`recorded` runs a program with journal.c loaded before the C library. `Disk` replays what was recorded, up to any operation.
It knows what is surely on the disk: what a file held at its last fsync, and the names that a directory held at its own. Of
what came later a disk may have written any part:

- of the data of a file, any set of blocks of 4096 bytes, each with any of its contents since then, and any of its sizes;
- of the names in a directory (create, rename, remove), any subset. A file system with a journal keeps the first ones only;
  one without may keep the last one alone. A rename is one operation, and says nothing of the data of the file.
"""

import hashlib
import os
import struct
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import NamedTuple

BLOCK = 4096  # bytes that a disk writes all or nothing
HEAD = struct.Struct("<QQQQqQ")  # struct record of journal.c
MARK, CREATE, DIRECTORY, WRITE, SIZE, SYNC, RENAME, REMOVE = "MCDWTSRU"
Tree = dict[str, bytes | None]  # relative path: contents of a file, None for a directory


class Operation(NamedTuple):
    """One record of journal.c."""

    kind: str
    inode: int
    offset: int  # of data; or the new size
    name: str  # absolute path; text of a mark; callers of an fsync
    other: str  # new path of a rename; path of an fsync
    data: bytes


@cache
def library(directory: Path) -> Path:
    """journal.c, compiled."""
    built = directory / "journal.so"
    source = Path(__file__).with_name("journal.c")
    try:
        subprocess.run(["gcc", "-shared", "-fPIC", "-O1", "-o", built, source], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise AssertionError("tests of power cuts need gcc; on Debian: apt-get install gcc libc6-dev") from None
    except subprocess.CalledProcessError as error:
        raise AssertionError(f"{source.name} cannot be compiled; is libc6-dev installed?\n{error.stderr}") from None
    return built


class Journal(NamedTuple):
    """What a program did to the files below `root`, from what was there when it began."""

    root: Path
    start: Tree
    inodes: dict[int, str]  # of the start: relative path, "" for the root
    operations: list[Operation]


def recorded(arguments: list[str], root: Path, scratch: Path) -> Journal:
    """All that a Python program with these arguments, and the processes that it starts, did to files below `root`."""
    root = root.resolve()
    start, inodes = tree_at(root), {root.stat().st_ino: ""}
    inodes |= {(root / name).stat().st_ino: name for name in start}
    log = scratch / "journal.log"
    log.unlink(missing_ok=True)
    extra = {"LD_PRELOAD": str(library(scratch)), "JOURNAL_ROOT": str(root), "JOURNAL_LOG": str(log)}
    done = subprocess.run([sys.executable, *arguments], env=os.environ | extra, cwd=root, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    data, at, found = log.read_bytes(), 0, []
    while at < len(data):
        inode, length, first, second, offset, kind = HEAD.unpack_from(data, at)
        texts = at + HEAD.size
        name, other = data[texts : texts + first].decode(), data[texts + first : texts + first + second].decode()
        at = texts + first + second + length
        found.append(Operation(chr(kind), inode, offset, name, other, data[at - length : at]))
    return Journal(root, start, inodes, found)


# --- what is on the disk --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Survival:
    """What survives of all that was not synced: functions that choose among what may be on the disk."""

    name: str
    names: Callable[[int], list[bool]]  # of so many operations on names in a directory, which are on the disk
    size: Callable[[list[int]], int]  # one of the sizes of a file since its last fsync
    block: Callable[[list[bytes]], bytes]  # one of the contents of a block since then


def first(values):
    return values[0]


def last(values):
    return values[-1]


def none(count):
    return [False] * count


def every(count):
    return [True] * count


def latest(count):
    return [False] * (count - 1) + [True] * (count > 0)


EXTREMES = (
    Survival("nothing", none, first, first),
    Survival("everything", every, last, last),
    Survival("names only", every, first, first),
    Survival("names and sizes only", every, last, first),
    Survival("data only", none, last, last),
    Survival("the last name and data", latest, last, last),
    Survival("the last name only", latest, first, first),
)
EVERYTHING = EXTREMES[1]


def at_random(rng) -> Survival:
    """Any subset; names in half of the cases in the order of a journal."""
    share = rng.choice((0.1, 0.5, 0.9))

    def some(count):
        if rng.random() < 0.5:
            kept = rng.randint(0, count)
            return [True] * kept + [False] * (count - kept)
        return [rng.random() < share for _ in range(count)]

    def pick(values):
        return values[-1] if rng.random() < share else rng.choice(values)

    return Survival("a random part", some, pick, pick)


@dataclass
class File:
    """A file: its contents at its last fsync, and the operations since."""

    synced: bytes = b""
    later: list[tuple[int, bytes | None]] = field(default_factory=list)  # (offset, data), or (size, None)
    _known: dict[tuple[str, int], bytes] = field(default_factory=dict)  # what extremes leave, since the last fsync

    def sync(self) -> None:
        self.synced, self.later, self._known = self.left(EVERYTHING), [], {}

    def left(self, survival: Survival) -> bytes:
        """What a cut leaves of it."""
        if not self.later:
            return self.synced
        if survival not in EXTREMES:
            return self._left(survival)
        key = survival.name, len(self.later)
        if key not in self._known:
            self._known[key] = self._left(survival)
        return self._known[key]

    def _left(self, survival: Survival) -> bytes:
        data, sizes, versions = bytearray(self.synced), [len(self.synced)], {}
        for offset, written in self.later:
            end = offset if written is None else max(len(data), offset + len(written))
            upto = max(len(data), end)
            touched = range(offset // BLOCK, -(-(upto if written is None else offset + len(written)) // BLOCK))
            for k in touched:
                versions.setdefault(k, [bytes(data[k * BLOCK : (k + 1) * BLOCK]).ljust(BLOCK, b"\0")])
            if written is None:
                del data[end:]
            data.extend(bytes(end - len(data)))
            if written is not None:
                data[offset : offset + len(written)] = written
            sizes.append(len(data))
            for k in touched:
                versions[k].append(bytes(data[k * BLOCK : (k + 1) * BLOCK]).ljust(BLOCK, b"\0"))
        size = survival.size(sizes)
        whole = bytearray(self.synced.ljust(-(-max(sizes) // BLOCK) * BLOCK, b"\0"))
        for k, contents in versions.items():
            whole[k * BLOCK : (k + 1) * BLOCK] = survival.block(contents)
        return bytes(whole[:size])


@dataclass
class Directory:
    """A directory: the names in it at its last fsync, and the operations since, each {name: what it is, None if gone}."""

    synced: dict[str, "File | Directory"] = field(default_factory=dict)
    later: list[dict[str, "File | Directory | None"]] = field(default_factory=list)

    def sync(self) -> None:
        self.synced, self.later = self.left(EVERYTHING), []

    def left(self, survival: Survival) -> dict[str, "File | Directory"]:
        """The names that a cut leaves in it."""
        names = dict(self.synced)
        for change, survives in zip(self.later, survival.names(len(self.later)), strict=True):
            for name, what in change.items() if survives else ():
                names.pop(name, None)
                if what is not None:
                    names[name] = what
        return names

    def tree(self, survival: Survival, above: str = "") -> Tree:
        """All below it that a cut leaves."""
        tree: Tree = {}
        for name, what in sorted(self.left(survival).items()):
            if isinstance(what, File):
                tree[above + name] = what.left(survival)
            else:
                tree[above + name] = None
                tree |= what.tree(survival, f"{above}{name}/")
        return tree


class Disk:
    """A disk on which the operations of a journal are done, one after the other, but for those that are `ignored`."""

    def __init__(self, journal: Journal, ignored: Callable[[Operation], bool] = lambda operation: False):
        self.root, self.ignored = journal.root, ignored
        self.has_ignored = False
        self.top = Directory()
        for name, contents in journal.start.items():
            above, _, last_name = name.rpartition("/")
            self._at(above).synced[last_name] = Directory() if contents is None else File(contents)
        self._by_inode = {inode: self._at(name) for inode, name in journal.inodes.items()}

    def _at(self, name: str) -> "File | Directory":
        """What has a path, relative to the root, now."""
        found: File | Directory = self.top
        for part in name.split("/") if name else ():
            found = found.left(EVERYTHING)[part]
        return found

    def _split(self, path: str) -> tuple[Directory, str]:
        above, _, name = path.rpartition("/")
        return self._at(os.path.relpath(above, self.root).removeprefix(".").removeprefix("/")), name

    def do(self, operation: Operation) -> None:
        """Do one operation."""
        kind, inode, offset, path, other, data = operation
        if self.ignored(operation):
            self.has_ignored = True
            return
        if kind in (CREATE, DIRECTORY):
            self._by_inode[inode] = File() if kind == CREATE else Directory()
            above, name = self._split(path)
            above.later.append({name: self._by_inode[inode]})
        elif kind == WRITE:
            self._by_inode[inode].later.append((offset, data))
        elif kind == SIZE:
            self._by_inode[inode].later.append((offset, None))
        elif kind == SYNC:
            self._by_inode[inode].sync()
        elif kind == RENAME:
            (above, name), (new_above, new_name) = self._split(path), self._split(other)
            assert above is new_above, "a rename into another directory"
            above.later.append({name: None, new_name: above.left(EVERYTHING)[name]})
        elif kind == REMOVE:
            above, name = self._split(path)
            above.later.append({name: None})


def tree_at(root: Path) -> Tree:
    """All that is below a directory now."""
    return {
        str(path.relative_to(root)): None if path.is_dir() else path.read_bytes()
        for path in sorted(root.rglob("*"))
    }  # fmt: skip


def lay(tree: Tree, directory: Path) -> None:
    """Write a tree to an empty directory."""
    for name, contents in tree.items():
        if contents is None:
            (directory / name).mkdir()
        else:
            (directory / name).write_bytes(contents)


def digest(tree: Tree) -> str:
    """The same for the same tree."""
    summary = hashlib.sha256()
    for name, contents in sorted(tree.items()):
        summary.update(f"{name}\0{contents is None}{len(contents or b'')}\0".encode() + (contents or b""))
    return summary.hexdigest()

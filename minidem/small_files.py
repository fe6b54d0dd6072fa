"""Read small files that anyone may have written: text, TOML, JSON, CSV. Every other room reads them with these functions.

Only a regular file within its size limit is read. What parsers cannot stand is found before they see it: deep nesting, keys
of many parts, numbers of many digits. Every error is an InputError with the file, the line and a remedy; `name` is what
messages call the file, `remedy` how they end.
"""

import csv
import json
import os
import re
import stat
import sys
import tomllib
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, BinaryIO

from .errors import InputError

MAX_NESTING = 32  # of brackets
MAX_PARTS = 8  # of a dotted TOML key: the time that tomllib takes grows as their square
MAX_DIGITS = 600  # of a number; Python may refuse to read or print integers of more than 640

Name = str | os.PathLike[str]


class MissingFile(InputError):
    """There is no such file."""


# --- files ----------------------------------------------------------------------------------------------------


def opened(path: Name, largest: int, remedy: str, pipes: bool = False) -> BinaryIO:
    """The file opened for reading: a regular file of at most `largest` bytes. With `pipes`, also a pipe or a device, for
    files that the user names; then the caller limits what it reads."""
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOCTTY
    try:
        handle = os.open(path, flags if pipes else flags | os.O_NONBLOCK)  # else a pipe without a writer would block
    except ValueError:  # a NUL in the name
        raise InputError(f"{path}: no file can have this name; {remedy}") from None
    except OSError as error:
        kind = MissingFile if isinstance(error, FileNotFoundError | NotADirectoryError) else InputError
        raise kind(f"{path}: {reason(error)}; {remedy}") from None
    fault, found = "", os.fstat(handle)
    if stat.S_ISDIR(found.st_mode):
        fault = "is a directory"
    elif not (stat.S_ISREG(found.st_mode) or pipes):
        fault = "not a regular file"
    elif found.st_size > largest:
        fault = too_large(largest)
    if fault:
        os.close(handle)
        raise InputError(f"{path}: {fault}; {remedy}")
    return open(handle, "rb")


def bytes_of(path: Name, largest: int, remedy: str, pipes: bool = False) -> bytes:
    """The content of a file of at most `largest` bytes; `pipes` as in `opened`."""
    with opened(path, largest, remedy, pipes) as file:
        try:
            data = file.read(largest + 1)
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({reason(error)}); {remedy}") from None
    if len(data) > largest:
        raise InputError(f"{path}: {too_large(largest)}; {remedy}")
    return data


def text_of(path: Name, largest: int, remedy: str, pipes: bool = False) -> str:
    """The UTF-8 text of a file of at most `largest` bytes, with its line ends; `pipes` as in `opened`."""
    return decoded(bytes_of(path, largest, remedy, pipes), path, remedy)


def lines_of(path: Name, largest: int, longest: int, remedy: str) -> Iterator[tuple[int, str]]:
    """Number, from 1, and UTF-8 text of each line of a file of at most `largest` bytes, read one by one. A line has at most
    `longest` bytes with its line end, which the last may lack."""
    with opened(path, largest, remedy) as file:
        number = 0
        while True:
            try:
                line = file.readline(longest + 1)
            except OSError as error:
                raise InputError(f"{path}: cannot be read ({reason(error)}); {remedy}") from None
            number += 1
            if not line:
                return
            if len(line) > longest:
                raise InputError(f"{path}: line {number}: longer than {longest} bytes; {remedy}")
            yield number, decoded(line, path, remedy, number)


def decoded(data: bytes, name: Name, remedy: str, line: int = 1) -> str:
    """The text that is stored in UTF-8; `line` is the number of its first line."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line += data.count(b"\n", 0, error.start)
        byte = error.start - data.rfind(b"\n", 0, error.start)
        raise InputError(f"{name}: line {line}: not UTF-8 text (byte {byte} of the line); {remedy}") from None


def reason(error: OSError) -> str:
    """Why a file cannot be read."""
    return (error.strerror or str(error)).lower()


def too_large(largest: int) -> str:
    """The message for a file above a limit in bytes."""
    return f"larger than {largest // 2**20} MB"


# --- formats --------------------------------------------------------------------------------------------------


def toml_of(text: str, name: Name, remedy: str = "") -> dict[str, Any]:
    """The tables of a TOML text. Without a remedy, messages say what to write instead."""
    bare = bare_text(text, TOML_STRINGS)
    check_nesting(bare, name, remedy or "nest less")
    if run := MANY_PARTS.search(bare):
        what = f"a key of more than {MAX_PARTS} parts"
        raise InputError(f"{name}: line {line_at(bare, run.start())}: {what}; {remedy or 'nest less'}")
    check_digits(bare, name, remedy or "give fewer digits")
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))  # the mark that some editors put before UTF-8
    except ValueError as error:
        message = toml_message(str(error), text)
        raise InputError(f"{name}: {message}; {remedy}" if remedy else f"{name}: {message}") from None


def toml_message(message: str, text: str) -> str:
    """The message of tomllib, "What (at line 3, column 5)", as place, what, and the line itself."""
    match = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if not match:
        return f"line {line_at(text, len(text.rstrip()))}: not valid TOML: {message}"  # it is at the end of the document
    hint = "; text needs quotes" if match[1].startswith(("Invalid value", "Expected newline")) else ""
    line = "".join(filter(str.isprintable, text.split("\n")[int(match[2]) - 1])).strip()
    return f"line {match[2]}, column {match[3]}: {match[1][0].lower()}{match[1][1:]}{hint}, in: {line[:70]}"


def json_of(text: str, name: Name, remedy: str, line: int = 1) -> Any:
    """The value of a JSON text whose first line has the number `line`. It may hold NaN and Infinity; see `is_finite`."""
    if text.count("[") + text.count("{") > MAX_NESTING or MANY_DIGITS.search(text):  # not so in most lines of records
        bare = bare_text(text, JSON_STRINGS)
        check_nesting(bare, name, remedy, line)
        check_digits(bare, name, remedy, line)
    try:
        return json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        place = f"line {error.lineno + line - 1}, column {error.colno}"
        raise InputError(f"{name}: {place}: not valid JSON ({error.msg}); {remedy}") from None


def csv_of(path: Name, largest: int, longest: int, remedy: str) -> Iterator[tuple[int, list[str]]]:
    """Number of the last line, and fields, of each row of a CSV file; `largest` and `longest` as in `lines_of`."""
    number = 0

    def lines() -> Iterator[str]:
        nonlocal number
        for at, line in lines_of(path, largest, longest, remedy):
            number = at
            yield line

    try:
        for row in csv.reader(lines()):
            yield number, row
    except csv.Error as error:
        raise InputError(f"{path}: line {number}: not valid CSV ({error}); {remedy}") from None


def is_finite(value: Any) -> bool:
    """Whether a value that was read is a finite number, which a float can hold."""
    return type(value) in (int, float) and abs(value) <= sys.float_info.max  # false for NaN, too


# --- what parsers cannot stand ----------------------------------------------------------------------------------

# Strings and comments. One without an end goes up to where the parser will stop. No pattern goes back: the time is linear.
TOML_STRINGS = re.compile(
    r'"""(?:[^"\\]|\\.|"(?!""))*+(?:"{3,5}|\Z)'
    r"|'''(?:[^']|'(?!''))*+(?:'{3,5}|\Z)"
    r'|"(?:[^"\\\n]|\\[^\n])*+"?'
    r"|'[^'\n]*+'?"
    r"|#[^\n]*+",
    re.DOTALL,
)
JSON_STRINGS = re.compile(r'"(?:[^"\\]|\\.)*+"?', re.DOTALL)
MANY_PARTS = re.compile(rf"(?<![\w-])(?:[\w-]++[ \t]*+\.[ \t]*+){{{MAX_PARTS}}}")
MANY_DIGITS = re.compile(rf"(?<!\w)[0-9]\w{{{MAX_DIGITS}}}|(?<=\.)[0-9]{{{MAX_DIGITS}}}")
NO_BRACKETS = re.compile(r"[^][{}]+")
DEEPER = {"[": 1, "{": 1, "]": -1, "}": -1}


def bare_text(text: str, strings: re.Pattern[str]) -> str:
    """The text with one letter and the line ends in place of each string and comment."""
    return strings.sub(lambda found: "s" + "\n" * found[0].count("\n"), text)


def check_nesting(bare: str, name: Name, remedy: str, line: int = 1) -> None:
    """Raise InputError if brackets are nested too deeply; the text is as `bare_text` makes it."""
    if max(accumulate(map(DEEPER.__getitem__, NO_BRACKETS.sub("", bare))), default=0) <= MAX_NESTING:
        return
    depth = 0
    for bracket in re.finditer(r"[][{}]", bare):
        depth += DEEPER[bracket[0]]
        if depth > MAX_NESTING:
            what = f"tables and lists are nested too deeply (more than {MAX_NESTING} brackets)"
            raise InputError(f"{name}: line {line_at(bare, bracket.start(), line)}: {what}; {remedy}")


def check_digits(bare: str, name: Name, remedy: str, line: int = 1) -> None:
    """Raise InputError if a number has too many digits; the text is as `bare_text` makes it."""
    if number := MANY_DIGITS.search(bare):
        where = f"{name}: line {line_at(bare, number.start(), line)}"
        raise InputError(f"{where}: a number of more than {MAX_DIGITS} digits; {remedy}")


def line_at(text: str, place: int, first: int = 1) -> int:
    """Number of the line at a place in the text, whose first line has the number `first`."""
    return first + text.count("\n", 0, place)

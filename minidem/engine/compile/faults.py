"""What is wrong with a function from outside the package that numba cannot compile, in three lines."""

import re

from ...errors import InputError

LONGEST = 200  # characters of a reason


def fault(what, function, reason, remedy, line=None):
    """An InputError with file and line, reason, and remedy; `line` is by default that of the function."""
    code = getattr(getattr(function, "py_func", function), "__code__", None)
    place = f"{code.co_filename}, line {line or code.co_firstlineno}: " if code else ""
    return InputError(f"{place}{what}\n  {reason}\n  {remedy}")


def compilation_fault(what, function, error, remedy):
    """The same for an error that numba raised: its reason and the line where it saw it."""
    text = re.sub(r"\x1b\[[\d;]*m", "", str(error))
    code = getattr(function, "py_func", function).__code__
    file = re.escape(code.co_filename)
    name = re.escape(re.split(r"[\\/]", code.co_filename)[-1])
    seen = re.search(rf'(?:{file} \((\d+)\)|File "(?:{file}|[^"]*{name})", line (\d+))', text)
    lines = [line.strip() for line in text.splitlines()]
    reasons = [line for line in lines if line and not line.startswith("Failed in ")] or [type(error).__name__]
    reason = reasons[0]
    if "NRT required" in reason:
        reason = "it makes a list, an array or a text, which kernels cannot"
    if reason.endswith("found for signature:") and len(reasons) > 1:
        reason = f"{reason.removesuffix(' found for signature:')} for {reasons[1].removeprefix('>>> ')}"
    return fault(what, function, reason[:LONGEST], remedy, seen and int(seen[1] or seen[2]))

"""Rows of text, for the formats that are text."""

from collections.abc import Iterable
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray


def write_rows(file: TextIO, separator: str, columns: Iterable[NDArray[Any]]) -> None:
    """Write columns (n,) or (n, components) as n rows of text."""
    texts = [text_of(part) for values in columns for part in (values.T if values.ndim > 1 else [values])]
    file.writelines(separator.join(row) + "\n" for row in zip(*texts, strict=True))


def text_of(values: NDArray[Any]) -> list[str]:
    """Texts of values (n,), with all digits needed to read back the same number. Equal values, as of the spheres of a body,
    are formatted once, because formatting takes most of the time."""
    different, which = np.unique(values, return_inverse=True)
    words = [str(value) for value in different.tolist()]
    return [words[k] for k in which.tolist()]

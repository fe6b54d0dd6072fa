"""Numbers of all frames of a trajectory that behave like an array and are read from the file when they are needed."""

import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.float64]


class FrameArray(NDArrayOperatorsMixin):
    """Numbers of shape (frames, n, components).

    Indexing reads only the frames that it names; ``numpy.asarray``, arithmetic and methods of arrays read all. The number of
    frames is that at the time when the FrameArray was made, the trajectory must still be open.
    """

    def __init__(self, read: Callable[[slice], Array], shape: tuple[int, ...]):
        self._read = read  # rows of a slice with a positive step
        self.shape = shape
        self.dtype = np.dtype(np.float64)
        self.ndim, self.size = len(shape), int(np.prod(shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        first, *rest = key if isinstance(key, tuple) and key else (key,)
        if isinstance(first, slice):
            start, stop, step = first.indices(len(self))
            frames = range(start, stop, step)
            if step < 0:  # the file is read forwards
                frames = frames[::-1]
            block = self._read(slice(frames.start, frames.stop, frames.step)) if frames else self._empty()
            return block[(slice(None, None, 1 if step > 0 else -1), *rest)]
        if isinstance(first, int | np.integer) and not isinstance(first, bool):
            return self._one(int(first))[(0, *rest)]
        numbers = np.asarray(first) if isinstance(first, list | np.ndarray) else np.empty((0, 0))
        if isinstance(first, list) and not first:
            numbers = np.empty(0, int)
        if numbers.ndim != 1 or (numbers.dtype.kind == "b" and numbers.size != len(self)):
            return self._read(slice(0, len(self)))[key]  # an ellipsis, a mask of several axes, or what NumPy refuses
        if numbers.dtype.kind == "b":
            numbers = np.flatnonzero(numbers)
        chosen, places = np.unique(numbers, return_inverse=True)
        block = np.concatenate([self._one(operator.index(k)) for k in chosen]) if chosen.size else self._empty()
        return block[(places, *rest)]

    def _one(self, frame: int) -> Array:
        """One frame, with shape (1, n, components)."""
        count = len(self)
        if not -count <= frame < count:
            raise IndexError(no_such_frame(frame, count))
        frame %= count
        return self._read(slice(frame, frame + 1))

    def _empty(self) -> Array:
        return np.empty((0, *self.shape[1:]))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the numbers are in a file: reading them makes a copy")
        return self._read(slice(0, len(self))).astype(dtype or self.dtype, copy=False)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(values, FrameArray) for values in options.get("out", ())):
            raise TypeError("the numbers of a trajectory are read-only; change a copy: numpy.asarray(...)")
        read = [np.asarray(values) if isinstance(values, FrameArray) else values for values in inputs]
        return getattr(ufunc, method)(*read, **options)

    def __getattr__(self, name: str) -> Any:
        """Methods and attributes of arrays, such as ``mean`` and ``T``."""
        if name.startswith("_") or not hasattr(np.ndarray, name):
            raise AttributeError(f"a FrameArray has no {name}")
        return getattr(np.asarray(self), name)

    def __repr__(self) -> str:
        return f"<FrameArray {self.shape}: frames, bodies, components; numpy.asarray reads all>"


def no_such_frame(frame: int, count: int) -> str:
    """The message about a frame that does not exist."""
    if not count:
        return f"frame {frame}: there are no frames"
    return f"frame {frame}: must be {-count} to {count - 1}, as there are {count} frames"

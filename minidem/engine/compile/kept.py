"""Compiled kernels on the disk, in place of numba's own cache.

numba unpickles an index and machine code as it finds them: an empty index ends every later process, and a changed bit in
the code crashes it. Two processes that compile one function for different arguments at the same time may each get the code
of the other, because both name their file by an index that does not have it yet. Here each file has a checksum and says
what it is for.
"""

import pickle
import re
import warnings
from hashlib import sha256
from pathlib import Path
from typing import Any

from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from .sealed import Unsealed, drop, seal, tell, unseal


class KeptKernels(NullCache):
    """The compiled forms of one function, a file for each signature. numba loads before it compiles, and saves after."""

    def __init__(self, function: Any, directory: Path):
        self._function, self._directory = function, directory

    def load_overload(self, signature: Any, context: Any) -> Any:
        """The kernel for this signature; None if it has to be compiled."""
        context.refresh()
        key = self._key(signature, context)
        path = self._path(key)
        try:
            content = unseal(path)
            if content is None:
                return None
            found, parts = pickle.loads(content)
            return CompileResult._rebuild(context, *parts) if found == key else None
        except MemoryError:
            raise
        except Exception as error:
            reason = error if isinstance(error, Unsealed) else f"cannot be loaded ({type(error).__name__}: {error})"
            drop(path)
            tell(
                "kernel",
                f"{path} {reason}; it was removed, and the kernel is compiled anew; further such files are not reported",
            )
            return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a kernel that was compiled."""
        if result.library.has_dynamic_globals:
            warnings.warn(f"{self._function.__qualname__} is not kept: it contains addresses of this process", stacklevel=2)
            return
        key = self._key(signature, result.target_context)
        content = dumps((key, result._reduce()))
        try:
            seal(self._path(key), content)
        except OSError as error:
            failed = f"{self._directory} cannot be written to ({error.strerror})"
            tell("saving", f"{failed}, so kernels that are not in it yet are compiled at every start")

    def _key(self, signature: Any, context: Any) -> tuple[Any, ...]:
        """What the machine code depends on, besides what the name of the folder covers."""
        cells = tuple(cell.cell_contents for cell in self._function.__closure__ or ())
        code = self._function.__code__.co_code
        return signature, context.codegen().magic_tuple(), code, dumps(cells) if cells else b""

    def _path(self, key: tuple[Any, ...]) -> Path:
        name = f"{self._function.__module__}.{self._function.__qualname__}-{self._function.__code__.co_firstlineno}"
        name = re.sub(r"[^\w.-]", "", name)
        return self._directory / f"{name}-{sha256(repr(key).encode()).hexdigest()[:16]}.kernel"

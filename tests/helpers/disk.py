"""A disk that is full."""

import resource
from contextlib import contextmanager


@contextmanager
def file_size_limit(size):
    """In this process, no file can grow beyond `size` bytes: writing more raises OSError."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

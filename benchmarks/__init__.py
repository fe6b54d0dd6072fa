"""Timings of the engine, of its start and of other codes on the same scenes: `python -m benchmarks`."""

"""Timings of the engine, of start-up, and of other codes on the same scenes: `python -m benchmarks`."""

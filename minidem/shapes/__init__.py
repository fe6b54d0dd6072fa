"""Clumps of spheres: mass properties, files, built-in shapes, and clumps fitted to meshes."""

MAX_SPHERES = 10_000  # of one clump: the time for its mass properties grows as their square

"""Clumps of spheres: mass properties, files, built-in shapes, and clumps fitted to meshes."""

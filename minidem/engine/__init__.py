"""Compiled kernels: numpy arrays and scalars in, numpy arrays out. Nothing here knows files, units or scenarios."""

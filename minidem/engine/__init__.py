"""The engine: compiled kernels on arrays. It sees no files, no unit strings and no scenarios."""

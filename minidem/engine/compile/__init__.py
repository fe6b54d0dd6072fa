"""How kernels are compiled: the only room that touches the internals of numba and llvmlite."""

"""Studies: one scenario run many times with other values of its keys.

plan.py reads a study file, cells.py runs one of its cells, executors.py runs many on processes or a Dask cluster,
records.py keeps what came out, conduct.py puts these together.
"""

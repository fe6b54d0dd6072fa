"""Studies: one scenario run many times with different values of its keys.

plan.py reads a study file, cells.py runs one of its cells, executors.py runs many on processes or a Dask cluster,
records.py keeps the results, identity.py reads what they depend on, conduct.py runs what is missing.
"""

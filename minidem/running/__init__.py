"""Runs: a simulation advanced step by step, guarded, recorded, interrupted and resumed.

simulation.py is what users step, conduct.py runs and resumes scenarios, recorder.py writes the run directory.
"""

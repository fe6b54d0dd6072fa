"""Files of a run: trajectory, energy log, checkpoint and manifest. How to write files whole, and read them safely."""

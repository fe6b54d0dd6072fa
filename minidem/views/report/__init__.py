"""A run or a study as one HTML page."""

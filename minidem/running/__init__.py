"""A model advanced in time: the simulation, its guards, and what is recorded of it."""

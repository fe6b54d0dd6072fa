"""From a scenario to the arrays of the engine."""

"""Initial poses of the bodies that a scenario places at random."""

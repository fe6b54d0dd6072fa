"""The test bench of the rotational integrators: one or two rigid bodies under a given torque, against a reference."""

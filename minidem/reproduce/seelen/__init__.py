"""Seelen, Padding, Kuipers, Acta Mech. 227, 3381 (2016)."""

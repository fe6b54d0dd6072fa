"""Contacts: which listed pairs touch, the force law, and the sum of forces on each body."""

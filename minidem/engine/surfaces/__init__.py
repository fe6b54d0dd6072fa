"""Surfaces that bodies bounce off, one file per kind: the gap to a place, and the normal there."""

"""Surfaces that bodies bounce off, one kind a file: the gap to a place, and the normal there."""

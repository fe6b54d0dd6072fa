"""Surfaces that bodies bounce off, one kind per file: the gap to a place, and the normal there."""

"""Checks of the installation."""

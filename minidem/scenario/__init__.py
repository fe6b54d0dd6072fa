"""Scenario files: every check on user input is made here."""

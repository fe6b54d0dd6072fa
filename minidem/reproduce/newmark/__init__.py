"""Krysl and Endres, Int. J. Numer. Methods Eng. 62, 2154 (2005)."""

"""The SPIRAL paper: del Valle et al., Comput. Phys. Commun. 297, 109077 (2024)."""

"""del Valle et al., Powders and Grains 2025."""

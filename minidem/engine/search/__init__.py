"""The search for contacts: a grid of bodies, neighbour lists of spheres, the order of bodies in memory."""

"""Bodies sorted into cells, to find those that are near each other.

Bodies of similar size share a grid of cells, so that large bodies among small ones cost no more than the cells they cover
(as in the hierarchy of Ogarko and Luding, Comput. Phys. Commun. 183, 931, 2012). A body looks at the cells of each grid that
its bounding sphere reaches. The grids cover the middle of the system; bodies beyond count to the outermost cells, so bodies
may fly any distance away: bodies that are near in space are near in cells, too.
"""

import math

from ..compile.kernels import inlined, internal, kernel
from ..geometry import column, index, minus, square, squared_distance

OUTLIERS = 50  # one in this many sampled coordinates, at each end, may be an outlier
FEW = 64  # bodies that need no cells


@internal
def sort(values, count):
    """Sort the first `count` values (Shell, Commun. ACM 2, 30, 1959)."""
    step = 1
    while 3 * step < count:
        step = 3 * step + 1
    while step > 0:
        for k in range(step, count):
            value, p = values[k], k
            while p >= step and values[p - step] > value:
                values[p] = values[p - step]
                p -= step
            values[p] = value
        step //= 3


@internal
def most_between(values, sample):
    """Lower and upper bound of most values, without outliers."""
    count = min(values.size, sample.size)
    for k in range(count):
        sample[k] = values[k * values.size // count]
    sort(sample, count)
    low, high = sample[count // OUTLIERS], sample[count - 1 - count // OUTLIERS]
    margin = 1.5 / OUTLIERS * (high - low)  # reaches the ends of the box if bodies are evenly spread
    return low - margin, high + margin


@inlined
def cell(x, size, count):
    """Index of the cell at x (m) from the corner of the first, along one axis. Places outside, and NaN, count to the nearest
    cell or the first."""
    c = x / size
    return 0 if not c > 0.0 else int(c) if c < count else count - 1


@internal
def fill_grid(position, skin, grid):
    """Sort the bodies into cells."""
    level, size, counts = grid.level, grid.size, grid.counts
    first, start, slot = grid.first_cell, grid.start, grid.slot
    member, origin, level_radius = grid.member, grid.origin, grid.level_radius
    extent = grid.extent
    n = level.size
    for c in range(3):
        low, high = most_between(position[c], grid.sample) if n > FEW else (0.0, 0.0)
        origin[c] = low
        extent[c] = min(high - low, 1e300) if high > low else 0.0
    for g in range(size.size):
        size[g] = max(2.0 * level_radius[g] + skin, 1e-300)
        room, cells = float(first[g + 1] - first[g]), math.inf
        while cells > room:
            cells = (extent[0] / size[g] + 1.0) * (extent[1] / size[g] + 1.0) * (extent[2] / size[g] + 1.0)
            if cells > room:
                size[g] *= max(1.01, min((cells / room) ** 0.33, 1e100))
        for c in range(3):
            counts[g, c] = int(extent[c] / size[g]) + 1

    for s in range(start.size):
        start[s] = 0
    for b in range(n):
        g = level[b]
        x, y, z = position[0, b] - origin[0], position[1, b] - origin[1], position[2, b] - origin[2]
        along, line = cell(x, size[g], counts[g, 0]), cell(y, size[g], counts[g, 1])
        slot[b] = first[g] + along + counts[g, 0] * (line + counts[g, 1] * cell(z, size[g], counts[g, 2]))
        start[slot[b]] += 1
    total = 0
    for s in range(start.size):  # the end of each cell
        total += start[s]
        start[s] = total
    for b in range(n - 1, -1, -1):  # from the back: bodies of a cell in ascending order, and then `start` is its start
        start[slot[b]] -= 1
        member[start[slot[b]]] = b


@internal
def near_bodies(a, first, position, bounding, skin, grid, near):
    """Write to `near` the bodies whose bounding spheres are closer to that of `a` than the skin, in ascending order, without
    bodies `first` to `a`. Returns their number."""
    size, counts, start = grid.size, grid.counts, grid.start
    member, first_cell = grid.member, grid.first_cell
    level_radius, origin = grid.level_radius, grid.origin
    here = column(position, a)
    x, y, z = minus(here, (origin[0], origin[1], origin[2]))
    first, own = index(first), index(a - first)
    found = index(0)
    for g in range(size.size):
        width = bounding[a] + level_radius[g] + skin
        edge, nx = size[g], counts[g, 0]
        ny, nz = counts[g, 1], counts[g, 2]
        left, right = cell(x - width, edge, nx), cell(x + width, edge, nx)
        for cz in range(cell(z - width, edge, nz), cell(z + width, edge, nz) + 1):
            for cy in range(cell(y - width, edge, ny), cell(y + width, edge, ny) + 1):
                line = first_cell[g] + nx * (cy + ny * cz)
                for e in range(index(start[index(line + left)]), index(start[index(line + right + 1)])):
                    b = index(member[e])
                    # No unpredictable branch: each body is written, then kept or overwritten.
                    near[found] = b
                    is_near = squared_distance(here, column(position, b)) < square(bounding[a] + bounding[b] + skin)
                    found += index(is_near & (b - first > own))  # unsigned: huge for b < first
    sort(near, found)
    return found


@kernel
def body_pairs(position, bounding, skin, grid, near, pairs, most):
    """Find the pairs a < b of bodies whose bounding spheres are closer than the skin, in ascending order. Writes the first p
    to the columns of `pairs` (2, p); `near` is working space for n numbers. Returns the number of all pairs, or one above
    `most`."""
    fill_grid(position, skin, grid)
    count = 0
    for a in range(bounding.size):
        if count > most:
            break
        for k in range(near_bodies(a, 0, position, bounding, skin, grid, near)):
            if count < pairs.shape[1]:
                pairs[0, count], pairs[1, count] = a, near[k]
            count += 1
    return count

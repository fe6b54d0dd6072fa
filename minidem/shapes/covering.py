"""Greedy cover of a voxel set by spheres around its voxels."""

import heapq

import numpy as np

from ..engine.compile.kernels import growing, internal


@internal
def covered(free, i, radius, take):
    """The number of free voxels within `radius` (in voxels) of voxel i; with `take` they are marked as covered."""
    count = 0
    reach = int(radius)
    for x in range(max(i[0] - reach, 0), min(i[0] + reach + 1, free.shape[0])):
        for y in range(max(i[1] - reach, 0), min(i[1] + reach + 1, free.shape[1])):
            across = radius * radius - (x - i[0]) ** 2 - (y - i[1]) ** 2
            if across >= 0.0:
                half = int(np.sqrt(across))
                for z in range(max(i[2] - half, 0), min(i[2] + half + 1, free.shape[2])):
                    count += free[x, y, z]
                    if take:
                        free[x, y, z] = False
    return count


@growing  # the heap
def greedy_cover(free, voxels, radii, most, left):
    """Indices (k,) of up to `most` candidates, each the one that covers most free voxels, until at most `left` are free.

    `free` (nx, ny, nz) is the voxel set; covered voxels are removed from it. Candidates are spheres of `radii` (c,), in
    voxels, around `voxels` (c, 3). The count of a candidate can only shrink, so a candidate whose count is up to date and
    at least the old counts of all others is the best one (lazy greedy; Minoux 1978).
    """
    heap = [(-covered(free, voxels[0], radii[0], False), 0)]
    for c in range(1, radii.size):
        heap.append((-int(4.2 * radii[c] ** 3) - 30, c))  # estimated upper bound of a sphere
    heapq.heapify(heap)
    chosen = np.empty(most, np.int64)
    count, remaining = 0, 0
    for x in range(free.shape[0]):
        for y in range(free.shape[1]):
            for z in range(free.shape[2]):
                remaining += free[x, y, z]
    while count < most and remaining > left and len(heap) > 0:
        _, c = heapq.heappop(heap)
        gain = covered(free, voxels[c], radii[c], False)
        if gain == 0:
            continue
        if len(heap) > 0 and gain < -heap[0][0]:
            heapq.heappush(heap, (-gain, c))
            continue
        covered(free, voxels[c], radii[c], True)
        chosen[count] = c
        count += 1
        remaining -= gain
    return chosen[:count]

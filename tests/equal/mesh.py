"""Meshes of devices, and layouts of arrays over them."""
import itertools
from typing import NamedTuple

from graph import product


class Mesh:
    """Named axes; the last varies fastest in a device's number."""

    def __init__(self, axes):
        self.axes = tuple(axes)
        self.names = [name for name, _ in axes]
        self.sizes = [size for _, size in axes]
        self.count = product(self.sizes)

    def size(self, axis):
        return self.sizes[self.names.index(axis)]

    def product(self, axes):
        return product(self.size(axis) for axis in axes)

    def stride(self, axis):
        return product(self.sizes[self.names.index(axis) + 1:])

    def index(self, device, axes):
        """A device's place among those that differ along axes, the first of which is outermost."""
        place = 0
        for axis in axes:
            place = place * self.size(axis) + device // self.stride(axis) % self.size(axis)
        return place

    def groups(self, axes):
        """Devices that differ along axes alone, in the order of their places."""
        others = [axis for axis in self.names if axis not in axes]
        groups = []
        for outer in itertools.product(*[range(self.size(axis)) for axis in others]):
            base = sum(i * self.stride(axis) for i, axis in zip(outer, others))
            groups.append([base + sum(i * self.stride(axis) for i, axis in zip(inner, axes))
                           for inner in itertools.product(*[range(self.size(axis)) for axis in axes])])
        return groups

    def shifted(self, axis, by):
        """Pairs (from, to) of a ring along an axis."""
        return [(group[i], group[(i + by) % len(group)]) for group in self.groups([axis]) for i in range(len(group))]


class Layout(NamedTuple):
    """How an array lies: of each dimension the axes that cut it, outermost first, or None where any cut will do, as it
    can be computed at the place; and axes over which the devices' arrays are to be added up."""
    cuts: tuple
    partial: tuple = ()

    def axes(self):
        return {axis for cut in self.cuts if cut for axis in cut}

    def is_free(self):
        return None in self.cuts

    def settled(self):
        return Layout(tuple(cut or () for cut in self.cuts), self.partial)

    def whole(self):
        return Layout(self.cuts)


def whole(rank):
    return Layout(((),) * rank)


def local_shape(shape, layout, mesh):
    return [size // mesh.product(cut or ()) for size, cut in zip(shape, layout.cuts)]


def distinct(cuts, mesh, shape, used=(), first=()):
    """Cuts without axes that are used before, or that do not divide; dimensions that come first keep theirs."""
    used, result = set(used), [None if cut is None else () for cut in cuts]
    for d in [*first, *[d for d in range(len(cuts)) if d not in first]]:
        kept, size = (), shape[d]
        for axis in cuts[d] or ():
            if axis in used or size % mesh.size(axis):
                break
            kept, size = (*kept, axis), size // mesh.size(axis)
            used.add(axis)
        if cuts[d] is not None:
            result[d] = kept
    return tuple(result)


def reshape_groups(before, after):
    """Dimensions that become one another: [(those before, those after)], without sizes of one."""
    groups, i, j = [], 0, 0
    left = [d for d, size in enumerate(before) if size != 1]
    right = [d for d, size in enumerate(after) if size != 1]
    while i < len(left):
        a, b, mine, theirs = before[left[i]], after[right[j]], [left[i]], [right[j]]
        i, j = i + 1, j + 1
        while a != b:
            if a < b:
                a *= before[left[i]]
                mine.append(left[i])
                i += 1
            else:
                b *= after[right[j]]
                theirs.append(right[j])
                j += 1
        groups.append((mine, theirs))
    return groups


def reshaped_cuts(before, after, cuts, mesh):
    """What cuts can stay in a reshape: (those before it, those after it). None stays None only where a dimension stays
    what it is; sizes of one are not cut."""
    kept, result = [() for _ in before], [None if None in cuts else () for _ in after]
    for mine, theirs in reshape_groups(before, after):
        if len(mine) == len(theirs) == 1:
            kept[mine[0]] = result[theirs[0]] = cuts[mine[0]]
            continue
        axes = leading_axes([before[d] for d in mine], [cuts[d] or () for d in mine], mesh)
        axes = leading_axes_of(axes, [after[d] for d in theirs], mesh)
        for place, dimensions, sizes in ((kept, mine, before), (result, theirs, after)):
            for d, cut in zip(dimensions, spread_axes(axes, [sizes[d] for d in dimensions], mesh)):
                place[d] = cut
    return tuple(kept), tuple(result)


def leading_axes(sizes, cuts, mesh):
    """Of dimensions that are one when merged: the axes that cut the merged one, as far as they are outermost."""
    axes = ()
    for size, cut in zip(sizes, cuts):
        axes += cut
        if size != mesh.product(cut):
            break
    return axes


def leading_axes_of(axes, sizes, mesh):
    while axes and sum(map(len, spread_axes(axes, sizes, mesh))) < len(axes):
        axes = axes[:-1]
    return axes


def spread_axes(axes, sizes, mesh):
    """Axes that cut a merged dimension, by the dimensions that it is split into."""
    axes, result = list(axes), []
    for size in sizes:
        cut = ()
        while axes and size % mesh.size(axes[0]) == 0:
            size //= mesh.size(axes[0])
            cut = (*cut, axes.pop(0))
        result.append(cut)
        if size != 1:
            break
    return result + [()] * (len(sizes) - len(result))

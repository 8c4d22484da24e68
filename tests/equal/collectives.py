"""Moves between layouts, in the ways that people and partitioners write them. All of them work on a device's part, and
are chosen at random among those that are right."""
from graph import INTEGER, UNSIGNED, Node, compare, constant, convert, dynamic_slice, reshape, select, table, transpose

FORMS = ("axes", "axes", "iota", "lists")


class Devices:
    """What a computation knows of the device that executes it; each computation asks for itself."""

    def __init__(self, mesh, draw):
        self.mesh, self.draw = mesh, draw
        self.of_tables = draw.random() < 0.5
        self.known = {}

    def partition_id(self):
        if "id" not in self.known:
            self.known["id"] = Node("partition-id", (), dtype=UNSIGNED)
        return self.known["id"]

    def looked_up(self, values):
        entry = dynamic_slice(table(values), [self.partition_id()], [1])
        return reshape(entry, ())

    def index(self, axes):
        """The device's place along axes, as s32."""
        key = ("index", tuple(axes))
        if key not in self.known:
            self.known[key] = self.made_index(axes)
        return self.known[key]

    def made_index(self, axes):
        mesh = self.mesh
        if self.of_tables and self.draw.random() < 0.8:
            return self.looked_up([mesh.index(device, axes) for device in range(mesh.count)])
        place = None
        for axis in axes:
            one = convert(self.partition_id(), INTEGER) if self.draw.random() < 0.5 else self.partition_id()
            if mesh.stride(axis) > 1:
                one = Node("divide", (), (one, constant(mesh.stride(axis), one.dtype)), one.dtype)
            if mesh.stride(axis) * mesh.size(axis) < mesh.count:
                one = Node("remainder", (), (one, constant(mesh.size(axis), one.dtype)), one.dtype)
            one = convert(one, INTEGER)
            place = one if place is None else place * mesh.size(axis) + one
        return place

    def offset(self, axes, block):
        """Where the device's part begins of a dimension that axes cut into blocks."""
        if self.of_tables and self.draw.random() < 0.6:
            return self.looked_up([self.mesh.index(device, axes) * block for device in range(self.mesh.count)])
        return self.index(axes) * block


class Moves:
    """Collectives and slices of one computation."""

    def __init__(self, mesh, draw):
        self.mesh, self.draw, self.devices = mesh, draw, Devices(mesh, draw)

    def form(self):
        return self.draw.choice(FORMS)

    def all_reduce(self, x, axes, region="add"):
        axes = tuple(axes)
        if len(axes) > 1 and self.draw.random() < 0.3:
            return self.all_reduce(self.all_reduce(x, axes[:1], region), axes[1:], region)
        if self.draw.random() < 0.7:
            axes = tuple(sorted(axes, key=self.mesh.names.index))
        return Node("all-reduce", x.shape, (x,), x.dtype, axes=axes, region=region, form=self.form())

    def all_gather(self, x, axes, dimension):
        axes = tuple(axes)
        if len(axes) > 1 and self.draw.random() < 0.4:
            return self.all_gather(self.all_gather(x, axes[-1:], dimension), axes[:-1], dimension)
        if len(axes) == 1 and self.draw.random() < 0.06:
            return self.ring_gather(x, axes[0], dimension)
        if dimension and self.draw.random() < 0.2:
            order = [dimension, *[d for d in range(x.rank) if d != dimension]]
            gathered = self.all_gather(transpose(x, order), axes, 0)
            return transpose(gathered, [order.index(d) for d in range(x.rank)])
        shape = list(x.shape)
        shape[dimension] *= self.mesh.product(axes)
        return Node("all-gather", shape, (x,), x.dtype, axes=axes, dimension=dimension, form=self.form())

    def ring_gather(self, x, axis, dimension):
        """An all-gather as a ring: what comes by is written where it belongs."""
        n, block, zero = self.mesh.size(axis), x.shape[dimension], constant(0, INTEGER)
        shape = list(x.shape)
        shape[dimension] *= n
        result = Node("broadcast", shape, (constant(0, x.dtype),), x.dtype, dimensions=())
        place = self.devices.index([axis])
        for step in range(n):
            owner = Node("remainder", (), (place + (n - step), constant(n, INTEGER)), INTEGER)
            starts = [owner * block if d == dimension else zero for d in range(x.rank)]
            result = Node("dynamic-update-slice", shape, (result, x, *starts), x.dtype)
            if step < n - 1:
                x = self.permute(x, axis, 1)
        return result

    def permute(self, x, axis, by):
        return Node("collective-permute", x.shape, (x,), x.dtype, axes=(axis,), pairs=self.mesh.shifted(axis, by))

    def reduce_scatter(self, x, axis, dimension):
        shape = list(x.shape)
        shape[dimension] //= self.mesh.size(axis)
        return Node("reduce-scatter", shape, (x,), x.dtype, axes=(axis,), dimension=dimension, region="add",
                    form=self.form())

    def all_to_all(self, x, axis, split, concat):
        """Cuts dimension `split` and makes `concat` whole: as XLA writes what is not one dimension's."""
        n, shape = self.mesh.size(axis), list(x.shape)
        shape[split:split + 1] = [n, shape[split] // n]
        x = reshape(x, shape)
        x = Node("all-to-all", x.shape, (x,), x.dtype, axes=(axis,), dimension=split, form=self.form())
        at = concat + (concat > split)  # where the dimension lies behind the new one
        rest = [d for d in range(x.rank) if d != split]
        rest.insert(rest.index(at), split)
        x = transpose(x, rest)
        shape = list(x.shape)
        place = rest.index(split)
        shape[place:place + 2] = [n * shape[place + 1]]
        return reshape(x, shape)

    def slice(self, x, cuts):
        """The device's part of dimensions that are whole to it: cuts are axes by dimension."""
        zero, starts, sizes = constant(0, INTEGER), [], []
        for size, axes in zip(x.shape, cuts):
            block = size // self.mesh.product(axes)
            starts.append(self.devices.offset(axes, block) if axes else zero)
            sizes.append(block)
        return dynamic_slice(x, starts, sizes)

    def moved(self, x, source, target):
        """x, which lies as `source` says, as `target` says. What is partial only becomes less so."""
        cuts, partial = list(source.cuts), list(source.partial)
        gone = [axis for axis in partial if axis not in target.partial]
        x, gone = self.scattered(x, cuts, gone, target)
        if gone:
            x = self.all_reduce(x, gone)
        for d in range(len(cuts)):
            x = self.exchanged(x, cuts, d, target)
        for d in range(len(cuts)):
            common = 0
            while common < min(len(cuts[d]), len(target.cuts[d])) and cuts[d][common] == target.cuts[d][common]:
                common += 1
            if cuts[d][common:]:
                x = self.all_gather(x, cuts[d][common:], d)
                cuts[d] = cuts[d][:common]
        missing = [target.cuts[d][len(cuts[d]):] for d in range(len(cuts))]
        return self.slice(x, missing) if any(missing) else x

    def scattered(self, x, cuts, gone, target):
        """Sums whose result is cut at once; the axes whose sum is still to be made."""
        rest = []
        for axis in gone:
            for d, cut in enumerate(target.cuts):
                if cut[:len(cuts[d]) + 1] == (*cuts[d], axis) and self.draw.random() < 0.75:
                    x = self.reduce_scatter(x, axis, d)
                    cuts[d] = (*cuts[d], axis)
                    break
            else:
                rest.append(axis)
        return x, rest

    def exchanged(self, x, cuts, d, target):
        """The innermost axis of a dimension's cut moved to where it is wanted, by an all-to-all."""
        while cuts[d] and cuts[d] != target.cuts[d][:len(cuts[d])]:
            axis = cuts[d][-1]
            where = [e for e, cut in enumerate(target.cuts)
                     if e != d and cut[:len(cuts[e]) + 1] == (*cuts[e], axis)]
            if not where or self.draw.random() < 0.3:
                return x
            x = self.all_to_all(x, axis, where[0], d)
            cuts[d], cuts[where[0]] = cuts[d][:-1], (*cuts[where[0]], axis)
        return x

    def share(self, x, axes):
        """A summand over axes of a value that all of them hold: an equal part, or all of it on the first device."""
        if self.draw.random() < 0.5:
            return x / float(self.mesh.product(axes))
        is_first = compare(self.devices.index(axes), 0, "EQ")
        return select(is_first, x, 0.0)

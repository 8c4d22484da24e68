"""Partitions a graph over a mesh: the program that every device executes on its part. Each value has a layout that
follows from its operands' by its operation's rule; where operands do not fit together, or a result is asked for
otherwise, it is moved (collectives.py). Right by construction: every rule is an identity of real arithmetic.

A value whose layout is free in a dimension (a broadcast, an iota, what is computed of such) is made where it is wanted,
once for each layout."""
from collectives import Moves
from graph import (FLOAT, REALS, Graph, Node, broadcast, compare, constant, convert, dot, elementwise, made_for,
                   made_inside, reshape, select, transpose)
from mesh import Layout, distinct, local_shape, reshaped_cuts, whole
from pipeline import pipeline
from ring import ring_attention

SUMS = ("add", "subtract", "select")


class Habits:
    """What a program's author tends to do; drawn once for a program. A plain one does what is common."""

    def __init__(self, draw, is_plain):
        self.sums_early = draw.choice([0.2, 0.6, 1.0])   # that sums are made where they arise
        self.scatters = draw.choice([0.0, 0.1, 0.3])     # and their result cut
        self.odd = draw.choice([0.0, 0.05, 0.2])         # that another way is gone than the common one
        self.shares = draw.choice([0.0, 0.3, 0.8])       # that a whole value is added to summands as shares
        self.turns = draw.choice([0.0, 0.0, 0.3])        # that factors and addends stand the other way around
        self.follows_hints = draw.choice([0.7, 1.0])
        if is_plain:
            self.sums_early = self.follows_hints = 1.0
            self.scatters = self.odd = self.shares = self.turns = 0.0


class Partitioner:
    def __init__(self, mesh, draw, rules, is_plain):
        self.mesh, self.draw, self.rules, self.habits = mesh, draw, rules, Habits(draw, is_plain)

    def layout_of(self, shape, names):
        """The layout that the rules give to an array by the names of its dimensions."""
        return Layout(distinct([self.rules.get(name, ()) for name in names], self.mesh, shape))

    def partition(self, graph, parameter_layouts, result_layouts, segments):
        """`segments`: of parameters, by their number, whose last dimension is cut in segments, their sizes and axes."""
        scope = Scope(self)
        parameters = [scope.segmented(node, layout, segments[i]) if i in segments else scope.parameter(node, layout)
                      for i, (node, layout) in enumerate(zip(graph.parameters, parameter_layouts))]
        scope.decide_all(graph)
        return Graph(parameters, scope.results(graph, result_layouts))


class Scope:
    """One computation. `natural`: a node's layout; `made`: its device's part by layout."""

    def __init__(self, partitioner):
        self.all, self.mesh, self.draw = partitioner, partitioner.mesh, partitioner.draw
        self.habits = partitioner.habits
        self.moves = Moves(self.mesh, self.draw)
        self.natural, self.made, self.light, self.zeros, self.segments = {}, {}, set(), set(), {}

    def chance(self, probability):
        return self.draw.random() < probability

    # Values.

    def parameter(self, node, layout, is_light=None):
        """The device's part of a parameter. What is light (a weight) is moved rather than what is not."""
        local = Node("parameter", local_shape(node.shape, layout, self.mesh), dtype=node.dtype, **node.attributes)
        self.keep(node, local, layout)
        name = node.attributes["name"]
        if is_light or (is_light is None and name not in ("x", "tokens", "targets")):
            self.light.add(id(node))
        return local

    def segmented(self, node, layout, segments):
        """A parameter whose last dimension is cut in segments, of which each is read on its own."""
        sizes = [size // self.mesh.product(axes) for size, axes in segments]
        shape = [*local_shape(node.shape, layout, self.mesh)[:-1], sum(sizes)]
        local = Node("parameter", shape, dtype=node.dtype, **node.attributes)
        at = at_local = 0
        for (size, axes), part in zip(segments, sizes):
            cuts = Layout((*layout.cuts[:-1], axes))
            ranges = tuple((0, n) for n in shape[:-1])
            self.segments[id(node), at] = cuts, local, (*ranges, (at_local, at_local + part))
            at, at_local = at + size, at_local + part
        self.natural[id(node)] = layout
        return local

    def is_zero(self, node):
        """Zeros are summands over any axes."""
        if node.op == "broadcast":
            node = node.operands[0]
        return id(node) in self.zeros or node.op == "constant" and node.attributes["value"] == 0

    def keep(self, node, local, layout):
        self.natural[id(node)] = layout
        self.made[id(node), layout] = local

    def layout(self, node):
        return self.natural[id(node)]

    def want(self, node, layout):
        """The device's part of a node's value in a layout that has no free dimension. Of a value that is whole where
        a summand is wanted, a share."""
        key = (id(node), layout)
        missing = () if self.is_zero(node) else [a for a in layout.partial if a not in self.layout(node).partial]
        if key not in self.made and missing:
            present = tuple(axis for axis in layout.partial if axis not in missing)
            self.made[key] = self.moves.share(self.want(node, Layout(layout.cuts, present)), missing)
        elif key not in self.made:
            natural = self.layout(node)
            if natural.is_free():
                nearest = self.nearest(node, natural, layout)
                if (id(node), nearest) not in self.made:
                    self.made[id(node), nearest] = self.emit(node, nearest)
                natural = nearest
            if natural != layout:
                self.made[key] = self.moves.moved(self.made[id(node), natural], natural, layout)
        return self.made[key]

    def results(self, graph, layouts):
        """Results where they should lie; what moves them has their frames."""
        results = []
        for node, layout in zip(graph.results, layouts):
            with made_for(node):
                results.append(self.want(node, layout))
        return results

    def nearest(self, node, natural, wanted):
        """The wanted layout in dimensions that are free, the natural one in others."""
        if self.is_zero(node):
            return wanted
        if node.op == "broadcast" and not natural.partial:
            return wanted.whole()
        used = {axis for cut in natural.cuts for axis in cut or ()} | set(natural.partial)
        cuts = []
        for mine, theirs in zip(natural.cuts, wanted.cuts):
            cuts.append(mine if mine is not None else () if used & set(theirs) else theirs)
        return Layout(tuple(cuts), natural.partial)

    def emit(self, node, layout):
        with made_for(node):
            return EMIT.get(node.op, Scope.emit_pointwise)(self, node, layout)

    def decide_all(self, graph):
        for node in graph.nodes():
            if id(node) not in self.natural:
                with made_for(node):
                    DECIDE.get(node.op, Scope.decide_pointwise)(self, node)
                if node.op in ("reshape", "transpose", "slice", "convert", "dynamic-slice", "negate") and \
                        id(node.operands[0]) in self.light:
                    self.light.add(id(node))

    def decided(self, node, layout):
        """The layout of a node is found: it is made, if nothing of it is free, and settled where it should lie."""
        if layout.is_free():
            self.natural[id(node)] = layout
        else:
            self.settle(node, self.emit(node, layout), layout)

    def settle(self, node, local, layout):
        """Makes sums that are to be made early, and follows what is asked for by name."""
        target = layout
        if node.hint and self.chance(self.habits.follows_hints):
            target = self.all.layout_of(node.shape, node.hint)
        elif layout.partial and self.chance(self.habits.sums_early):
            target = self.summed(node, layout)
        self.keep(node, local, layout)
        if target != layout:
            self.made[id(node), target] = self.moves.moved(local, layout, target)
            self.natural[id(node)] = target

    def summed(self, node, layout):
        cuts = list(layout.cuts)
        for axis in layout.partial:
            if not self.chance(self.habits.scatters):
                continue
            fits = [d for d, size in enumerate(node.shape)
                    if size // self.mesh.product(cuts[d]) % self.mesh.size(axis) == 0]
            if fits:
                d = self.draw.choice(fits)
                cuts[d] = (*cuts[d], axis)
        return Layout(tuple(cuts))

    # Elementwise operations.

    def joint_cuts(self, layouts, shape, whole_dimension=None):
        """Cuts that operands of equal shape are to have in common: in each dimension one of theirs."""
        cuts = []
        for d in range(len(shape)):
            options = [layout.cuts[d] for layout in layouts if layout.cuts[d] is not None]
            longest = max(options, key=len, default=None)
            if options and self.chance(self.habits.odd):
                longest = self.draw.choice(options)
            cuts.append(() if d == whole_dimension else longest)
        return distinct(cuts, self.mesh, shape)

    def partial_of(self, node, layouts, cuts):
        """Axes over which the result stays to be added up, as the operation is linear."""
        used = {axis for cut in cuts for axis in cut or ()}
        if node.op in SUMS:
            if node.op == "select" and layouts[0].partial:
                return ()
            addends = list(zip(node.operands, layouts))[1 if node.op == "select" else 0:]
            axes = {axis for _, layout in addends for axis in layout.partial} - used
            for operand, layout in addends:
                lacks = axes - set(layout.partial)
                if lacks and not self.is_zero(operand) and not self.chance(self.habits.shares):
                    axes -= lacks
            return tuple(sorted(axes))
        if node.op == "multiply":
            side = 0 if layouts[0].partial else 1
            other = layouts[1 - side].partial
            return tuple(a for a in layouts[side].partial if a not in used and a not in other)
        if node.op in ("divide", "negate", "copy") or node.op == "convert" and node.dtype in REALS and \
                node.operands[0].dtype in REALS:
            return tuple(a for a in layouts[0].partial if a not in used)
        return ()

    def decide_pointwise(self, node):
        layouts = [self.layout(operand) for operand in node.operands]
        cuts = self.joint_cuts(layouts, node.shape)
        self.decided(node, Layout(cuts, self.partial_of(node, layouts, cuts)))

    def emit_pointwise(self, node, layout):
        operands = []
        for i, operand in enumerate(node.operands):
            partial = layout.partial
            if node.op == "select" and i == 0 or node.op not in SUMS and not set(partial) & set(
                    self.layout(operand).partial) or node.op == "divide" and i == 1:
                partial = ()
            operands.append(self.want(operand, Layout(layout.cuts, partial)))
        if node.op in ("add", "multiply") and self.chance(self.habits.turns):
            operands.reverse()
        return Node(node.op, local_shape(node.shape, layout, self.mesh), operands, node.dtype, **node.attributes)

    # Moves of elements.

    def decide_constant(self, node):
        layout = whole(node.rank)
        self.keep(node, Node("constant", node.shape, dtype=node.dtype, **node.attributes), layout)

    def decide_iota(self, node):
        self.natural[id(node)] = Layout((None,) * node.rank)

    def emit_iota(self, node, layout):
        d = node.attributes["dimension"]
        cut = layout.cuts[d]
        if cut and self.chance(0.2):
            alone = Layout(tuple(() if i == d else c for i, c in enumerate(layout.cuts)))
            all_of_it = Node("iota", local_shape(node.shape, alone, self.mesh), dtype=node.dtype, dimension=d)
            return self.moves.slice(all_of_it, [cut if i == d else () for i in range(node.rank)])
        local = Node("iota", local_shape(node.shape, layout, self.mesh), dtype=node.dtype, dimension=d)
        if not cut:
            return local
        return local + convert(self.moves.devices.offset(cut, local.shape[d]), node.dtype)

    def decide_broadcast(self, node):
        inner = self.layout(node.operands[0])
        cuts = [None] * node.rank
        for place, cut in zip(node.attributes["dimensions"], inner.cuts):
            cuts[place] = cut
        self.decided(node, Layout(tuple(cuts), inner.partial))

    def emit_broadcast(self, node, layout):
        kept = node.attributes["dimensions"]
        partial = () if self.is_zero(node) else layout.partial
        inner = self.want(node.operands[0], Layout(tuple(layout.cuts[d] for d in kept), partial))
        return broadcast(inner, local_shape(node.shape, layout, self.mesh), kept)

    def decide_reshape(self, node):
        inner = self.layout(node.operands[0])
        _, cuts = reshaped_cuts(node.operands[0].shape, node.shape, inner.cuts, self.mesh)
        self.decided(node, Layout(cuts, inner.partial))

    def emit_reshape(self, node, layout):
        before = node.operands[0]
        cuts, result = reshaped_cuts(node.shape, before.shape, layout.cuts, self.mesh)
        assert cuts == layout.cuts, (node.shape, before.shape, layout)
        inner = self.want(before, Layout(result, layout.partial))
        return reshape(inner, local_shape(node.shape, layout, self.mesh))

    def decide_transpose(self, node):
        inner = self.layout(node.operands[0])
        self.decided(node, Layout(tuple(inner.cuts[d] for d in node.attributes["dimensions"]), inner.partial))

    def emit_transpose(self, node, layout):
        dimensions = node.attributes["dimensions"]
        cuts = [()] * node.rank
        for place, d in enumerate(dimensions):
            cuts[d] = layout.cuts[place]
        return transpose(self.want(node.operands[0], Layout(tuple(cuts), layout.partial)), dimensions)

    def decide_in_part(self, node):
        """Slices and pads: the dimensions that they change are whole."""
        before = node.operands[0]
        inner = self.layout(before)
        segment = self.segments.get((id(before), node.attributes["ranges"][-1][0])) if node.op == "slice" else None
        if segment:
            layout, local, ranges = segment
            self.light.add(id(node))
            self.keep(node, Node("slice", local_shape(node.shape, layout, self.mesh), (local,), node.dtype,
                                 ranges=ranges), layout)
            return
        cuts = tuple(cut if before.shape[d] == node.shape[d] else () for d, cut in enumerate(inner.cuts))
        self.decided(node, Layout(cuts, inner.partial))

    def emit_slice(self, node, layout):
        inner = self.want(node.operands[0], layout)
        shape = local_shape(node.shape, layout, self.mesh)
        ranges = tuple((0, shape[d]) if (a, b) == (0, node.operands[0].shape[d]) else (a, b)
                       for d, (a, b) in enumerate(node.attributes["ranges"]))
        return Node("slice", shape, (inner,), node.dtype, ranges=ranges)

    def emit_pad(self, node, layout):
        inner = self.want(node.operands[0], layout)
        fill = self.want(node.operands[1], whole(0))
        return Node("pad", local_shape(node.shape, layout, self.mesh), (inner, fill), node.dtype, **node.attributes)

    def decide_concatenate(self, node):
        layouts = [self.layout(operand) for operand in node.operands]
        cuts = self.joint_cuts(layouts, node.shape, node.attributes["dimension"])
        used = {axis for cut in cuts for axis in cut or ()}
        partial = set(layouts[0].partial).intersection(*[layout.partial for layout in layouts]) - used
        self.decided(node, Layout(cuts, tuple(sorted(partial))))

    def emit_concatenate(self, node, layout):
        parts = [self.want(operand, layout) for operand in node.operands]
        return Node("concatenate", local_shape(node.shape, layout, self.mesh), parts, node.dtype, **node.attributes)

    # Folds.

    def decide_reduce(self, node):
        before, region = node.operands[0], node.attributes["region"]
        inner = self.layout(before).settled()
        gone = node.attributes["dimensions"]
        if self.chance(self.habits.odd):
            inner = Layout(tuple(() if d in gone else cut for d, cut in enumerate(inner.cuts)), inner.partial)
        if region != "add":
            inner = inner.whole()
        local = self.want(before, inner)
        kept = tuple(cut for d, cut in enumerate(inner.cuts) if d not in gone)
        axes = tuple(axis for d in gone for axis in inner.cuts[d])
        start = self.want(node.operands[1], whole(0))
        layout = Layout(kept, tuple(sorted((*inner.partial, *axes))) if region == "add" else ())
        result = Node("reduce", local_shape(node.shape, layout, self.mesh), (local, start), node.dtype,
                      **node.attributes)
        if region != "add" and axes:
            result = self.moves.all_reduce(result, axes, region)
        self.settle(node, result, layout)

    def decide_dot(self, node):
        a, b = node.operands
        sides = [self.layout(a), self.layout(b)]
        (ca, cb), (ba, bb) = node.attributes["contracting"], node.attributes["batch"]
        free = [[d for d in range(x.rank) if d not in (*c, *of_batch)]
                for x, c, of_batch in ((a, ca, ba), (b, cb, bb))]
        # Each label of the product: the dimension of a and that of b that it is.
        labels = [(x, y) for x, y in zip(ba, bb)] + [(x, None) for x in free[0]] + [(None, y) for y in free[1]]
        n_kept = len(labels)
        labels += list(zip(ca, cb))
        options, weights = [], []
        for label in labels:
            cuts = [sides[i].cuts[d] or () for i, d in enumerate(label) if d is not None]
            options.append(max(cuts, key=len) if not self.chance(self.habits.odd) else self.draw.choice(cuts))
            owners = [x for x, d in zip((a, b), label) if d is not None and self.layout(x).cuts[d]]
            weights.append(all(id(x) in self.light for x in owners))
        first = sorted(range(len(labels)), key=lambda i: (weights[i], i))
        if self.chance(self.habits.odd):
            self.draw.shuffle(first)
        sizes = [a.shape[x] if x is not None else b.shape[y] for x, y in labels]
        cuts = distinct(options, self.mesh, sizes, first=first)
        used = {axis for cut in cuts for axis in cut}
        kept_side = 0 if sides[0].partial else 1
        used |= set(sides[1 - kept_side].partial)
        kept = [axis for axis in sides[kept_side].partial if axis not in used]
        kept = tuple(kept) if self.chance(0.5) else ()
        locals_ = []
        for i, x in enumerate((a, b)):
            of_side = [()] * x.rank
            for label, cut in zip(labels, cuts):
                if label[i] is not None:
                    of_side[label[i]] = cut
            locals_.append(self.want(x, Layout(tuple(of_side), kept if i == kept_side else ())))
        summed = [axis for cut in cuts[n_kept:] for axis in cut]
        layout = Layout(cuts[:n_kept], tuple(sorted((*kept, *summed))))
        if self.chance(self.habits.turns):
            local = self.turned(node, locals_, len(ba), len(free[0]))
        else:
            local = Node("dot", local_shape(node.shape, layout, self.mesh), locals_, node.dtype, **node.attributes)
        self.settle(node, local, layout)

    def turned(self, node, factors, n_batch, n_free):
        """A product with its factors the other way around, and its result's dimensions put in order."""
        contracting, batch = (tuple(reversed(node.attributes[word])) for word in ("contracting", "batch"))
        product = dot(factors[1], factors[0], contracting, batch)
        n_other = node.rank - n_batch - n_free
        order = [*range(n_batch), *range(n_batch + n_other, node.rank), *range(n_batch, n_batch + n_other)]
        return transpose(product, order)

    # Indices.

    def guarded(self, indices, axes, block):
        """Indices into the device's part of what axes cut, and which of them fall into it."""
        local = indices - self.moves.devices.offset(axes, block)
        if self.chance(0.5):
            inside = elementwise("and", compare(local, 0, "GE"), compare(local, block, "LT"))
        else:
            inside = elementwise("and", compare(local, block, "LT"), compare(local, -1, "GT"))
        if self.chance(0.6):
            safe = select(inside, local, 0)
        else:
            safe = elementwise("minimum", elementwise("maximum", local, 0), block - 1)
        return safe, inside

    def masked(self, values, inside):
        inside = broadcast(inside, values.shape, range(inside.rank))
        if self.chance(0.2):
            return values * convert(inside, FLOAT)
        return select(inside, values, 0.0)

    def decide_take(self, node):
        rows, indices = node.operands
        of_rows, of_indices = self.layout(rows).settled(), self.layout(indices).settled()
        rank = indices.rank
        cuts = distinct((*of_indices.cuts, *of_rows.cuts), self.mesh, (*indices.shape, *rows.shape))
        over, inner = cuts[rank], cuts[rank + 1:]
        if over and self.chance(self.habits.odd + 0.15):
            over = ()
        table = self.want(rows, Layout((over, *inner)))
        places = self.want(indices, Layout(cuts[:rank]))
        layout = Layout((*cuts[:rank], *inner), tuple(sorted(over)))
        shape = local_shape(node.shape, layout, self.mesh)
        if not over:
            return self.settle(node, Node("take", shape, (table, places)), layout)
        safe, inside = self.guarded(places, over, table.shape[0])
        self.settle(node, self.masked(Node("take", shape, (table, safe)), inside), layout)

    def decide_pick(self, node):
        x, indices = node.operands
        layouts = [Layout(self.layout(x).settled().cuts[:-1]), self.layout(indices).settled()]
        cuts = self.joint_cuts(layouts, indices.shape)
        over = distinct((*cuts, self.layout(x).settled().cuts[-1]), self.mesh, x.shape)[-1]
        if over and self.chance(self.habits.odd):
            over = ()
        values = self.want(x, Layout((*cuts, over)))
        places = self.want(indices, Layout(cuts))
        layout = Layout(cuts, tuple(sorted(over)))
        shape = local_shape(node.shape, layout, self.mesh)
        if not over:
            return self.settle(node, Node("pick", shape, (values, places)), layout)
        safe, inside = self.guarded(places, over, values.shape[-1])
        self.settle(node, self.masked(Node("pick", shape, (values, safe)), inside), layout)

    def vocabulary(self, size, used):
        """Axes over which a scatter's result is to be cut."""
        axes = self.all.rules.get("vocab", ())
        if not axes or used & set(axes) or size % self.mesh.product(axes) or not self.chance(0.7):
            return ()
        return axes

    def shifted(self, indices, axes, block):
        """Indices into the device's part: a scatter drops those that fall outside of it."""
        if not axes:
            return indices
        local = indices - self.moves.devices.offset(axes, block)
        if self.chance(0.5):
            inside = elementwise("and", compare(local, 0, "GE"), compare(local, block, "LT"))
            return select(inside, local, block)
        return local

    def decide_put_rows(self, node):
        rows, indices = node.operands
        rank = indices.rank
        of_rows, of_indices = self.layout(rows).settled(), self.layout(indices).settled()
        leading = self.joint_cuts([Layout(of_rows.cuts[:rank]), of_indices], indices.shape)
        cuts = distinct((*leading, *of_rows.cuts[rank:]), self.mesh, rows.shape)
        used = {axis for cut in cuts for axis in cut}
        over = self.vocabulary(node.shape[0], used)
        values = self.want(rows, Layout(cuts))
        places = self.want(indices, Layout(cuts[:rank]))
        summed = tuple(sorted(axis for cut in cuts[:rank] for axis in cut))
        layout = Layout((over, *cuts[rank:]), summed)
        shape = local_shape(node.shape, layout, self.mesh)
        places = self.shifted(places, over, shape[0])
        self.settle(node, Node("put_rows", shape, (values, places)), layout)

    def decide_put_picks(self, node):
        values, indices = node.operands
        cuts = self.joint_cuts([self.layout(values).settled(), self.layout(indices).settled()], indices.shape)
        used = {axis for cut in cuts for axis in cut}
        over = self.vocabulary(node.shape[-1], used)
        local = self.want(values, Layout(cuts))
        layout = Layout((*cuts, over))
        shape = local_shape(node.shape, layout, self.mesh)
        places = self.shifted(self.want(indices, Layout(cuts)), over, shape[-1])
        self.settle(node, Node("put_picks", shape, (local, places)), layout)

    def decide_dynamic_slice(self, node):
        before, *starts = node.operands
        inner = self.layout(before).settled()
        cuts = tuple(cut if before.shape[d] == node.shape[d] else () for d, cut in enumerate(inner.cuts))
        layout = Layout(cuts, inner.partial)
        local = self.want(before, layout)
        places = [self.want(start, whole(0)) for start in starts]
        shape = local_shape(node.shape, layout, self.mesh)
        self.settle(node, Node("dynamic-slice", shape, (local, *places), node.dtype), layout)

    def decide_dynamic_update_slice(self, node):
        stack, update, *starts = node.operands
        of_stack, of_update = self.layout(stack), self.layout(update)
        changed = [stack.shape[d] != update.shape[d] for d in range(stack.rank)]
        cuts = [() if changed[d] else of_stack.cuts[d] for d in range(stack.rank)]
        cuts = [of_update.cuts[d] or () if cut is None else cut for d, cut in enumerate(cuts)]
        cuts = distinct(cuts, self.mesh, stack.shape)
        used = {axis for cut in cuts for axis in cut}
        partial = of_update.partial if self.is_zero(stack) else of_stack.partial
        layout = Layout(cuts, tuple(axis for axis in partial if axis not in used))
        part = self.want(update, layout)
        places = [self.want(start, whole(0)) for start in starts]
        shape = local_shape(node.shape, layout, self.mesh)
        local = Node("dynamic-update-slice", shape, (self.want(stack, layout), part, *places), node.dtype)
        self.settle(node, local, layout)

    def decide_split_batch(self, node):
        """Every device splits its own rows: which rows a part has does not matter, as parts are added up."""
        inner = Layout(distinct(self.layout(node.operands[0]).settled().cuts, self.mesh, node.shape[1:]))
        layout = Layout(((), *inner.cuts))
        local = reshape(self.want(node.operands[0], inner), local_shape(node.shape, layout, self.mesh))
        self.settle(node, local, layout)

    def decide_ring_attention(self, node):
        """Queries stay, keys and values come by; heads and rows of the batch as they are cut."""
        q, k, v = node.operands
        axis, = self.all.rules["sequence"]
        outer = self.joint_cuts([self.layout(x).settled() for x in (k, v)], k.shape)
        groups = () if axis in outer[2] or self.chance(self.habits.odd) else outer[2]
        rows = tuple(a for a in self.layout(q).settled().cuts[0] if a != axis and a not in groups)
        layout = Layout((rows, (axis,), groups, ()))
        parts = [self.want(x, layout) for x in (q, k, v)]
        with made_inside(node):
            local = ring_attention(*parts, axis, self.moves, node.attributes["causal"], node.attributes["style"])
        self.settle(node, local, layout)

    def decide_layer_stack(self, node):
        """Layers by stages along the axis that cuts their stacks; rows of the batch as they are cut."""
        x, *stacks = node.operands
        axis, = self.all.rules["layer"]
        rows = tuple(a for a in self.layout(x).settled().cuts[0] if a != axis)
        layout = Layout((rows, *[()] * (x.rank - 1)))
        parts = {name: self.want(stack, Layout(((axis,), *[()] * (stack.rank - 1))))
                 for name, stack in zip(node.attributes["names"], stacks)}
        local = self.want(x, layout)
        with made_inside(node):
            local = pipeline(local, parts, axis, self.moves, node.attributes["config"], node.attributes["style"])
        self.settle(node, local, layout)

    # Loops.

    def decide_while(self, node):
        inside = node.attributes["body"]
        layouts = []
        for initial, parameter in zip(node.operands, inside.parameters[1:]):
            if parameter.hint:
                layouts.append(self.all.layout_of(initial.shape, parameter.hint))
            elif self.is_zero(initial):
                layouts.append(None)
            else:
                layouts.append(self.layout(initial).settled().whole())
        if None in layouts:
            layouts = self.found_in_body(node, layouts)
        scope, parameters = self.inner(node, layouts)
        scope.decide_all(inside)
        results = scope.results(inside, layouts)
        initial = [self.want(operand, layout) for operand, layout in zip(node.operands, layouts)]
        local = Node("while", (), initial, count=node.attributes["count"], body=Graph(parameters, results))
        self.made[id(node)] = local, layouts
        self.natural[id(node)] = None

    def inner(self, node, layouts):
        """The scope of a loop's body, and its parameters; those that have no layout yet are taken for zeros."""
        scope, inside = Scope(self.all), node.attributes["body"]
        parameters = [scope.parameter(inside.parameters[0], whole(0))]
        for initial, parameter, layout in zip(node.operands, inside.parameters[1:], layouts):
            if layout is None:
                scope.natural[id(parameter)] = Layout((None,) * parameter.rank)
                scope.made[id(parameter), whole(0)] = parameter
                scope.zeros.add(id(parameter))
            else:
                parameters.append(scope.parameter(parameter, layout, is_light=id(initial) in self.light))
        return scope, parameters

    def found_in_body(self, node, layouts):
        """Sums that begin with zero lie as what is added to them; perhaps they stay summands until the loop's end."""
        inside = node.attributes["body"]
        scope, _ = self.inner(node, layouts)
        scope.decide_all(inside)
        stays = self.chance(0.6)
        result = []
        for layout, made in zip(layouts, inside.results):
            if layout is None:
                layout = scope.layout(made).settled()
                layout = layout if stays else layout.whole()
            result.append(layout)
        return result

    def emit_parameter(self, node, layout):
        """Of a trial alone: what is taken for zeros, in any layout."""
        return broadcast(constant(0.0), local_shape(node.shape, layout, self.mesh), ())

    def decide_get_tuple_element(self, node):
        local, layouts = self.made[id(node.operands[0])]
        layout = layouts[node.attributes["index"]]
        shape = local_shape(node.shape, layout, self.mesh)
        self.settle(node, Node("get-tuple-element", shape, (local,), node.dtype, **node.attributes), layout)


DECIDE = {
    "constant": Scope.decide_constant, "iota": Scope.decide_iota, "broadcast": Scope.decide_broadcast,
    "reshape": Scope.decide_reshape, "transpose": Scope.decide_transpose, "slice": Scope.decide_in_part,
    "pad": Scope.decide_in_part, "concatenate": Scope.decide_concatenate, "reduce": Scope.decide_reduce,
    "dot": Scope.decide_dot, "take": Scope.decide_take, "pick": Scope.decide_pick, "put_rows": Scope.decide_put_rows,
    "put_picks": Scope.decide_put_picks, "dynamic-slice": Scope.decide_dynamic_slice,
    "dynamic-update-slice": Scope.decide_dynamic_update_slice, "split_batch": Scope.decide_split_batch,
    "ring_attention": Scope.decide_ring_attention, "layer_stack": Scope.decide_layer_stack,
    "while": Scope.decide_while, "get-tuple-element": Scope.decide_get_tuple_element,
}
EMIT = {
    "iota": Scope.emit_iota, "broadcast": Scope.emit_broadcast, "reshape": Scope.emit_reshape,
    "transpose": Scope.emit_transpose, "slice": Scope.emit_slice, "pad": Scope.emit_pad,
    "concatenate": Scope.emit_concatenate, "parameter": Scope.emit_parameter,
}

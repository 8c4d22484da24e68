"""Prints graphs as HLO text in the way that JAX and XLA do: names after what JAX calls an operation, metadata with
frames, tables of files, functions, locations and frames, regions of folds, and all forms of groups of devices."""
from graph import REALS, Node

NAMES = {"dot": "dot_general", "exponential": "exp", "negate": "neg", "multiply": "mul", "subtract": "sub",
         "divide": "div", "maximum": "max", "minimum": "min", "power": "pow", "cosine": "cos", "sine": "sin",
         "broadcast": "broadcast_in_dim", "select": "select_n", "convert": "convert_element_type", "all-reduce": "psum",
         "all-gather": "all_gather", "reduce-scatter": "reduce_scatter", "all-to-all": "all_to_all",
         "collective-permute": "ppermute", "dynamic-slice": "dynamic_slice", "take": "gather", "pick": "gather",
         "put_rows": "scatter-add", "put_picks": "scatter-add", "dynamic-update-slice": "dynamic_update_slice",
         "split_batch": "reshape"}
OUTLINED = ("select", "logistic", "tanh", "exponential", "maximum")
REGION_NAMES = {"add": "reduce_sum", "maximum": "reduce_max", "minimum": "reduce_min"}


def braces(numbers):
    return "{" + ",".join(map(str, numbers)) + "}"


def shape_text(node, layout=True):
    text = f"{node.dtype}[{','.join(map(str, node.shape))}]"
    return text + braces(reversed(range(node.rank))) if layout and node.shape else text


def indexed(texts):
    """A list with a remark before every fifth element, as XLA prints long ones."""
    parts = [(f"/*index={i}*/" if i and i % 5 == 0 else "") + text for i, text in enumerate(texts)]
    return ", ".join(parts)


def tuple_text(nodes, layout=True):
    return "(" + indexed([shape_text(node, layout) for node in nodes]) + ")"


def value_text(value, dtype):
    if isinstance(value, str):
        return value
    if dtype in REALS:
        return str(int(value)) if abs(value) < 1e6 and value == int(value) else f"{value:.9g}"
    return str(int(value))


class Groups:
    """Groups of devices in one of the forms that XLA prints."""

    def __init__(self, mesh):
        self.mesh = mesh

    def text(self, form, axes):
        mesh = self.mesh
        places = [mesh.names.index(axis) for axis in axes]
        if form == "axes" and places == sorted(places):
            sizes = ",".join(f"'{name}'={size}" for name, size in mesh.axes)
            return f"mesh[{sizes}] {{{','.join(repr(axis) for axis in axes)}}}"
        n, size = mesh.count // mesh.product(axes), mesh.product(axes)
        order = [i for i in range(len(mesh.axes)) if i not in places] + places
        if form == "iota":
            dimensions, order = merged(mesh.sizes, order)
            text = f"[{n},{size}]<=[{','.join(map(str, dimensions))}]"
            return text if order == sorted(order) else text + f"T({','.join(map(str, order))})"
        return "{" + ",".join(braces(group) for group in mesh.groups(axes)) + "}"


def merged(sizes, order):
    """A transposition of a mesh in the fewest dimensions: neighbours that stay neighbours are one."""
    runs = []
    for axis in order:
        if runs and runs[-1][-1] + 1 == axis:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    in_place = sorted(range(len(runs)), key=lambda i: runs[i][0])
    dimensions = []
    for i in in_place:
        size = 1
        for axis in runs[i]:
            size *= sizes[axis]
        dimensions.append(size)
    return dimensions, [in_place.index(i) for i in range(len(runs))]


class Printer:
    """One text. `draw` chooses among forms that mean the same; with the same draw the text is the same."""

    def __init__(self, name, mesh, draw):
        self.name, self.mesh, self.draw = name, mesh, draw
        self.counts, self.regions, self.computations = {}, {}, []
        self.files, self.functions, self.locations, self.frames = {}, {}, {}, {}
        self.frame_numbers = {}
        self.groups = Groups(mesh) if mesh else None
        self.columns = draw.random() < 0.5     # indices of gather and scatter have a last dimension of one
        self.hashes = draw.random() < 0.5      # members of tuples are %name#index
        self.repeats = draw.choice([0.0, 0.0, 0.5])  # broadcasts that change nothing before those that do
        self.outlines = draw.choice([0.0, 0.0, 0.0, 0.3])  # elementwise functions that are called, as JAX's jitted ones
        self.is_manual = bool(mesh) and draw.random() < 0.3  # all of it is a computation that the entry calls
        self.channel = 0
        self.names = {}

    # Names and metadata.

    def fresh(self, base):
        number = self.counts.get(base, 0)
        self.counts[base] = number + 1
        return f"{base}.{number}"

    def frame(self, frames):
        """The number of a chain of calls, which are entered in the tables. Equal chains are one object."""
        if id(frames) not in self.frame_numbers:
            self.frame_numbers[id(frames)] = self.entered(frames)
        return self.frame_numbers[id(frames)]

    def entered(self, frames):
        parent = 0
        for file, function, line in reversed(frames):
            file_id = self.files.setdefault(file, len(self.files) + 1)
            function_id = self.functions.setdefault(function, len(self.functions) + 1)
            location = self.locations.setdefault((file_id, function_id, line), len(self.locations) + 1)
            parent = self.frames.setdefault((location, parent), len(self.frames) + 1)
        return parent

    def metadata(self, frames, word, is_inside):
        path = f"jit(step)/{'while/body/' if is_inside else ''}{word}"
        number = self.frame(frames)
        return f', metadata={{op_name="{path}"' + (f" stack_frame_id={number}}}" if number else "}")

    def tables(self):
        lines = ["", "FileNames"]
        lines += [f'{number} "{file}"' for file, number in self.files.items()]
        lines += ["", "FunctionNames"]
        lines += [f'{number} "{function}"' for function, number in self.functions.items()]
        lines += ["", "FileLocations"]
        lines += [f"{number} {{file_name_id={file} function_name_id={function} line={line} end_line={line} column=5 "
                  f"end_column=40}}" for (file, function, line), number in self.locations.items()]
        lines += ["", "StackFrames"]
        # A parent's number is printed one too large, as XLA does.
        lines += [f"{number} {{file_location_id={location} parent_frame_id={parent + 1}}}"
                  for (location, parent), number in self.frames.items()]
        return lines + [""]

    # Computations.

    def region(self, word, dtype):
        key = (word, dtype)
        if key not in self.regions or self.draw.random() < 0.5:
            name = f"region_{len(self.computations)}.{len(self.computations)}"
            a, b, root = self.fresh("Arg_0"), self.fresh("Arg_1"), self.fresh(REGION_NAMES.get(word, word))
            self.computations.append([
                f"%{name} ({a}: {dtype}[], {b}: {dtype}[]) -> {dtype}[] {{",
                f'  %{a} = {dtype}[] parameter(0), metadata={{op_name="{word}"}}',
                f'  %{b} = {dtype}[] parameter(1), metadata={{op_name="{word}"}}',
                f"  ROOT %{root} = {dtype}[] {word}(%{a}, %{b})", "}"])
            self.regions[key] = name
        return self.regions[key]

    def outlined(self, node, base):
        """A computation of one elementwise operation."""
        names = [self.fresh("Arg") for _ in node.operands]
        lines = [f"%{name} = {shape_text(x)} parameter({i})" for i, (name, x) in enumerate(zip(names, node.operands))]
        given = ", ".join("%" + name for name in names)
        lines.append(f"ROOT %{self.fresh(base)} = {shape_text(node)} {node.op}({given})"
                     + self.metadata(node.frames, base, False))
        heads = ", ".join(f"{name}: {shape_text(x, False)}" for name, x in zip(names, node.operands))
        return self.computation(base, f"({heads})", shape_text(node), lines)

    def name_of(self, node):
        return self.names[id(node)]

    def line(self, node, is_inside):
        """The instruction of a node, and those that only text needs."""
        base = NAMES.get(node.op, node.op)
        if node.op == "reduce":
            base = REGION_NAMES[node.attributes["region"]]
        elif node.op == "all-reduce" and node.attributes["region"] == "maximum":
            base = "pmax"
        lines, operands = [], [self.name_of(operand) for operand in node.operands]
        if node.op in ("take", "pick", "put_rows", "put_picks"):
            return self.indexing_lines(node, base, operands, is_inside)
        if node.op == "while":
            return self.while_lines(node, operands, is_inside)
        if node.op == "get-tuple-element" and self.hashes:
            self.names[id(node)] = f"{operands[0]}#{node.attributes['index'] + 1}"
            return lines
        word, extra = getattr(self, "attributes_of_" + node.op.replace("-", "_"), plain)(node)
        if node.op == "constant":
            values = node.attributes["value"]
            text = value_text(values, node.dtype) if not isinstance(values, tuple) else \
                "{" + ", ".join(value_text(v, node.dtype) for v in values) + "}"
            self.names[id(node)] = name = self.fresh("constant")
            return [f"%{name} = {shape_text(node)} constant({text})"]
        if node.op == "parameter":
            self.names[id(node)] = name = self.fresh("param")
            return [f"%{name} = {shape_text(node)} parameter({node.attributes['number']})"
                    f', metadata={{op_name="{node.attributes["name"]}"}}']
        if node.op == "broadcast" and node.operands[0].rank and self.draw.random() < self.repeats:
            x, operands = node.operands[0], [self.fresh("broadcast")]
            lines.append(f"%{operands[0]} = {shape_text(x)} broadcast(%{self.name_of(x)}), "
                         f"dimensions={braces(range(x.rank))}"
                         + self.metadata(node.frames, base, is_inside))
        if node.op in OUTLINED and self.draw.random() < self.outlines:
            word, extra = "call", f", to_apply=%{self.outlined(node, base)}"
        self.names[id(node)] = name = self.fresh(base)
        called = indexed(["%" + operand for operand in operands])
        lines.append(f"%{name} = {shape_text(node)} {word}({called}){extra}"
                     + self.metadata(node.frames, base, is_inside))
        return lines

    # Attributes: the word that is printed, and what stands behind the operands.

    def attributes_of_broadcast(self, node):
        return "broadcast", f", dimensions={braces(node.attributes['dimensions'])}"

    def attributes_of_split_batch(self, node):
        return "reshape", ""

    def attributes_of_transpose(self, node):
        return "transpose", f", dimensions={braces(node.attributes['dimensions'])}"

    def attributes_of_concatenate(self, node):
        return "concatenate", f", dimensions={braces([node.attributes['dimension']])}"

    def attributes_of_iota(self, node):
        return "iota", f", iota_dimension={node.attributes['dimension']}"

    def attributes_of_compare(self, node):
        return "compare", f", direction={node.attributes['direction']}"

    def attributes_of_reduce(self, node):
        region = self.region(node.attributes["region"], node.dtype)
        return "reduce", f", dimensions={braces(node.attributes['dimensions'])}, to_apply=%{region}"

    def attributes_of_dot(self, node):
        text = ""
        for side, batch, contracting in zip(("lhs", "rhs"), node.attributes["batch"], node.attributes["contracting"]):
            if batch:
                text += f", {side}_batch_dims={braces(batch)}"
            text += f", {side}_contracting_dims={braces(contracting)}"
        return "dot", text

    def attributes_of_slice(self, node):
        ranges = ", ".join(f"[{a}:{b}]" for a, b in node.attributes["ranges"])
        return "slice", f", slice={{{ranges}}}"

    def attributes_of_pad(self, node):
        return "pad", ", padding=" + "x".join(f"{low}_{high}" for low, high in node.attributes["padding"])

    def attributes_of_dynamic_slice(self, node):
        return "dynamic-slice", f", dynamic_slice_sizes={braces(node.shape)}"

    def attributes_of_get_tuple_element(self, node):
        return "get-tuple-element", f", index={node.attributes['index'] + 1}"  # behind the counter

    def collective(self, node):
        self.channel += 1
        groups = self.groups.text(node.attributes["form"], node.attributes["axes"])
        return f", channel_id={self.channel}, replica_groups={groups}"

    def attributes_of_all_reduce(self, node):
        region = self.region(node.attributes["region"], node.dtype)
        return "all-reduce", f"{self.collective(node)}, use_global_device_ids=true, to_apply=%{region}"

    def attributes_of_all_gather(self, node):
        text = f"{self.collective(node)}, dimensions={braces([node.attributes['dimension']])}"
        return "all-gather", text + ", use_global_device_ids=true"

    def attributes_of_reduce_scatter(self, node):
        region = self.region(node.attributes["region"], node.dtype)
        return "reduce-scatter", (f"{self.collective(node)}, use_global_device_ids=true, "
                                  f"dimensions={braces([node.attributes['dimension']])}, to_apply=%{region}")

    def attributes_of_all_to_all(self, node):
        return "all-to-all", f"{self.collective(node)}, dimensions={braces([node.attributes['dimension']])}"

    def attributes_of_collective_permute(self, node):
        self.channel += 1
        pairs = ",".join(braces(pair) for pair in node.attributes["pairs"])
        return "collective-permute", f", channel_id={self.channel}, source_target_pairs={{{pairs}}}"

    # Gather and scatter.

    def indexing_lines(self, node, base, operands, is_inside):
        lines, indices = [], node.operands[1]
        of_indices, rank = operands[1], indices.rank
        batched = node.op in ("pick", "put_picks")
        if self.columns:
            of_indices = self.fresh("reshape")
            column = Node("reshape", (*indices.shape, 1), (indices,), indices.dtype)
            lines.append(f"%{of_indices} = {shape_text(column)} reshape(%{operands[1]})"
                         + self.metadata(node.frames, "reshape", is_inside))
        if node.op.startswith("put"):
            zero, zeros = self.fresh("constant"), self.fresh("broadcast")
            lines.append(f"%{zero} = {node.dtype}[] constant(0)")
            lines.append(f"%{zeros} = {shape_text(node)} broadcast(%{zero}), dimensions={{}}"
                         + self.metadata(node.frames, "broadcast_in_dim", is_inside))
            region = self.region("add", node.dtype)
        metadata = self.metadata(node.frames, base, is_inside)
        self.names[id(node)] = name = self.fresh(base)
        start = f"%{name} = {shape_text(node)} "
        batch = list(range(rank))
        if node.op == "take":
            window = braces(range(rank, node.rank))
            sizes = braces([1, *node.operands[0].shape[1:]])
            lines.append(f"{start}gather(%{operands[0]}, %{of_indices}), offset_dims={window}, "
                         f"collapsed_slice_dims={{0}}, start_index_map={{0}}, index_vector_dim={rank}, "
                         f"slice_sizes={sizes}{metadata}")
        elif node.op == "pick":
            lines.append(f"{start}gather(%{operands[0]}, %{of_indices}), offset_dims={{}}, "
                         f"collapsed_slice_dims={{{rank}}}, start_index_map={{{rank}}}, "
                         f"operand_batching_dims={braces(batch)}, start_indices_batching_dims={braces(batch)}, "
                         f"index_vector_dim={rank}, slice_sizes={braces([1] * (rank + 1))}{metadata}")
        else:
            window = "{}" if batched else braces(range(rank, node.operands[0].rank))
            last = rank if batched else 0
            batching = (f"input_batching_dims={braces(batch)}, scatter_indices_batching_dims={braces(batch)}, "
                        if batched else "")
            lines.append(f"{start}scatter(%{zeros}, %{of_indices}, %{operands[0]}), update_window_dims={window}, "
                         f"inserted_window_dims={{{last}}}, scatter_dims_to_operand_dims={{{last}}}, {batching}"
                         f"index_vector_dim={rank}, to_apply=%{region}{metadata}")
        return lines

    # Loops: a tuple of the counter and what is carried.

    def while_lines(self, node, operands, is_inside):
        count, inside = node.attributes["count"], node.attributes["body"]
        metadata = self.metadata(node.frames, "while", is_inside)
        text = tuple_text(inside.parameters)
        body = self.body(inside, text)
        condition = self.condition(count, inside, text)
        zero, initial = self.fresh("constant"), self.fresh("tuple")
        lines = [f"%{zero} = s32[] constant(0)"]
        called = indexed(["%" + operand for operand in (zero, *operands)])
        lines.append(f"%{initial} = {text} tuple({called})")
        self.names[id(node)] = name = self.fresh("while")
        lines.append(f"%{name} = {text} while(%{initial}), condition=%{condition}, body=%{body}{metadata}")
        return lines

    def body(self, inside, text):
        parameter = self.fresh("arg_tuple")
        lines = [f"%{parameter} = {text} parameter(0)"]
        for i, node in enumerate(inside.parameters):
            if self.hashes:
                self.names[id(node)] = f"{parameter}#{i}"
            else:
                self.names[id(node)] = name = self.fresh("get-tuple-element")
                lines.append(f"%{name} = {shape_text(node)} get-tuple-element(%{parameter}), index={i}")
        for node in inside.nodes():
            if id(node) not in self.names:
                lines += self.line(node, True)
        one, next_one, root = self.fresh("constant"), self.fresh("add"), self.fresh("tuple")
        lines.append(f"%{one} = s32[] constant(1)")
        lines.append(f"%{next_one} = s32[] add(%{self.name_of(inside.parameters[0])}, %{one})")
        members = indexed(["%" + name for name in (next_one, *map(self.name_of, inside.results))])
        lines.append(f"ROOT %{root} = {text} tuple({members})")
        return self.computation("body", f"({parameter}: {tuple_text(inside.parameters, False)})",
                                tuple_text(inside.parameters, False), lines)

    def condition(self, count, inside, text):
        parameter, number, index = self.fresh("arg_tuple"), self.fresh("constant"), self.fresh("get-tuple-element")
        root = self.fresh("lt")
        lines = [f"%{parameter} = {text} parameter(0)"]
        if self.hashes:
            index = f"{parameter}#0"
        else:
            lines.append(f"%{index} = s32[] get-tuple-element(%{parameter}), index=0")
        lines += [f"%{number} = s32[] constant({count})",
                  f"ROOT %{root} = pred[] compare(%{index}, %{number}), direction=LT"]
        return self.computation("cond", f"({parameter}: {tuple_text(inside.parameters, False)})", "pred[]", lines)

    def computation(self, word, head, result, lines):
        name = f"region_{len(self.computations)}.{word}"
        self.computations.append([f"%{name} {head} -> {result} {{", *["  " + line for line in lines], "}"])
        return name

    def print(self, graph):
        lines = []
        for number, node in enumerate(graph.parameters):
            node.attributes["number"] = number
        for node in graph.nodes():
            lines += self.line(node, False)
        root = self.fresh("tuple")
        members = indexed(["%" + self.name_of(node) for node in graph.results])
        lines.append(f"ROOT %{root} = {tuple_text(graph.results)} tuple({members})")
        names = [self.name_of(node) for node in graph.parameters]
        if self.is_manual:
            names, lines = self.called(graph, names, lines)
        heads = ", ".join(f"{name}: {shape_text(node, False)}" for name, node in zip(names, graph.parameters))
        arrow = indexed([shape_text(p) for p in graph.parameters])
        partitions = f", num_partitions={self.mesh.count}" if self.mesh else ""
        layout = f"{{({arrow})->{tuple_text(graph.results)}}}"
        text = [f"HloModule {self.name}, entry_computation_layout={layout}{partitions}"]
        text += self.tables()
        for computation in self.computations:
            text += [*computation, ""]
        text += [f"ENTRY %main.{len(lines)} ({heads}) -> {tuple_text(graph.results, False)} {{"]
        text += ["  " + line for line in lines] + ["}", ""]
        return "\n".join(text)

    def called(self, graph, names, lines):
        """The entry of a program that is written device by device: it calls the body, with copies around. Its
        parameters' names and its lines."""
        heads = ", ".join(f"{name}: {shape_text(node, False)}" for name, node in zip(names, graph.parameters))
        body = self.computation("manual_computation_body", f"({heads})", tuple_text(graph.results, False), lines)
        outer, copies, lines = [], [], []
        for number, node in enumerate(graph.parameters):
            outer.append(self.fresh("param"))
            copies.append(self.fresh("copy"))
            lines.append(f"%{outer[-1]} = {shape_text(node)} parameter({number}), "
                         f'metadata={{op_name="{node.attributes["name"]}"}}')
            lines.append(f"%{copies[-1]} = {shape_text(node)} copy(%{outer[-1]})")
        call, results = self.fresh("call"), []
        given = indexed(["%" + name for name in copies])
        lines.append(f"%{call} = {tuple_text(graph.results)} call({given}), to_apply=%{body}")
        for number, node in enumerate(graph.results):
            results.append(self.fresh("get-tuple-element"))
            lines.append(f"%{results[-1]} = {shape_text(node)} get-tuple-element(%{call}), index={number}")
        members = indexed(["%" + name for name in results])
        lines.append(f"ROOT %{self.fresh('tuple')} = {tuple_text(graph.results)} tuple({members})")
        return outer, lines


def plain(node):
    return node.op, ""

class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[18]" = torch.ops.aten.arange.default(18, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[18]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[18]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[18]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[6, 3]" = torch.ops.aten.view.default(sin, [6, 3]);  sin = None
        arange_1: "f64[15]" = torch.ops.aten.arange.default(15, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[15]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[15]" = torch.ops.aten.add.Tensor(mul_1, 1.0);  mul_1 = None
        sin_1: "f64[15]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_1: "f64[3, 5]" = torch.ops.aten.view.default(sin_1, [3, 5]);  sin_1 = None
        arange_2: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[4]" = torch.ops.aten.mul.Tensor(arange_2, 2.3);  arange_2 = None
        sin_2: "f64[4]" = torch.ops.aten.sin.default(mul_2);  mul_2 = None
        abs_1: "f64[4]" = torch.ops.aten.abs.default(sin_2);  sin_2 = None
        mul_3: "f64[4]" = torch.ops.aten.mul.Tensor(abs_1, 5);  abs_1 = None
        floor: "f64[4]" = torch.ops.aten.floor.default(mul_3);  mul_3 = None
        _to_copy: "i64[4]" = torch.ops.aten._to_copy.default(floor, dtype = torch.int64);  floor = None
        view_2: "i64[2, 2]" = torch.ops.aten.view.default(_to_copy, [2, 2]);  _to_copy = None
        arange_3: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[6]" = torch.ops.aten.mul.Tensor(arange_3, 2.3);  arange_3 = None
        sin_3: "f64[6]" = torch.ops.aten.sin.default(mul_4);  mul_4 = None
        abs_2: "f64[6]" = torch.ops.aten.abs.default(sin_3);  sin_3 = None
        mul_5: "f64[6]" = torch.ops.aten.mul.Tensor(abs_2, 5);  abs_2 = None
        floor_1: "f64[6]" = torch.ops.aten.floor.default(mul_5);  mul_5 = None
        _to_copy_1: "i64[6]" = torch.ops.aten._to_copy.default(floor_1, dtype = torch.int64);  floor_1 = None
        view_3: "i64[3, 2]" = torch.ops.aten.view.default(_to_copy_1, [3, 2]);  _to_copy_1 = None
        embedding: "f64[2, 2, 3]" = torch.ops.aten.embedding.default(view, view_2)
        embedding_1: "f64[2, 2, 3]" = torch.ops.aten.embedding.default(view, view_2, 1)
        index: "f64[2, 2, 3]" = torch.ops.aten.index.Tensor(view, [view_2])
        arange_4: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_6: "f64[4]" = torch.ops.aten.mul.Tensor(arange_4, 2.3);  arange_4 = None
        sin_4: "f64[4]" = torch.ops.aten.sin.default(mul_6);  mul_6 = None
        abs_3: "f64[4]" = torch.ops.aten.abs.default(sin_4);  sin_4 = None
        mul_7: "f64[4]" = torch.ops.aten.mul.Tensor(abs_3, 5);  abs_3 = None
        floor_2: "f64[4]" = torch.ops.aten.floor.default(mul_7);  mul_7 = None
        _to_copy_2: "i64[4]" = torch.ops.aten._to_copy.default(floor_2, dtype = torch.int64);  floor_2 = None
        view_4: "i64[2, 2]" = torch.ops.aten.view.default(_to_copy_2, [2, 2]);  _to_copy_2 = None
        index_1: "f64[3, 2, 2]" = torch.ops.aten.index.Tensor(view_1, [None, view_4])
        arange_5: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_8: "f64[4]" = torch.ops.aten.mul.Tensor(arange_5, 2.3);  arange_5 = None
        sin_5: "f64[4]" = torch.ops.aten.sin.default(mul_8);  mul_8 = None
        abs_4: "f64[4]" = torch.ops.aten.abs.default(sin_5);  sin_5 = None
        mul_9: "f64[4]" = torch.ops.aten.mul.Tensor(abs_4, 5);  abs_4 = None
        floor_3: "f64[4]" = torch.ops.aten.floor.default(mul_9);  mul_9 = None
        _to_copy_3: "i64[4]" = torch.ops.aten._to_copy.default(floor_3, dtype = torch.int64);  floor_3 = None
        view_5: "i64[4]" = torch.ops.aten.view.default(_to_copy_3, [4]);  _to_copy_3 = None
        index_select: "f64[3, 4]" = torch.ops.aten.index_select.default(view_1, 1, view_5)
        gather: "f64[3, 2]" = torch.ops.aten.gather.default(view_1, 1, view_3);  view_1 = None
        sub: "i64[2, 2]" = torch.ops.aten.sub.Tensor(view_2, 3)
        index_2: "f64[2, 2, 3]" = torch.ops.aten.index.Tensor(view, [sub]);  view = None
        alias: "f64[2, 2, 3]" = torch.ops.aten.alias.default(embedding);  embedding = None
        arange_6: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_10: "f64[12]" = torch.ops.aten.mul.Tensor(arange_6, 1.7);  arange_6 = None
        add_2: "f64[12]" = torch.ops.aten.add.Tensor(mul_10, 0.9);  mul_10 = None
        sin_6: "f64[12]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_6: "f64[2, 2, 3]" = torch.ops.aten.view.default(sin_6, [2, 2, 3]);  sin_6 = None
        embedding_dense_backward: "f64[6, 3]" = torch.ops.aten.embedding_dense_backward.default(view_6, view_2, 6, -1, False);  view_6 = None
        alias_1: "f64[2, 2, 3]" = torch.ops.aten.alias.default(embedding_1);  embedding_1 = None
        arange_7: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_11: "f64[12]" = torch.ops.aten.mul.Tensor(arange_7, 1.7);  arange_7 = None
        add_3: "f64[12]" = torch.ops.aten.add.Tensor(mul_11, 0.9);  mul_11 = None
        sin_7: "f64[12]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_7: "f64[2, 2, 3]" = torch.ops.aten.view.default(sin_7, [2, 2, 3]);  sin_7 = None
        embedding_dense_backward_1: "f64[6, 3]" = torch.ops.aten.embedding_dense_backward.default(view_7, view_2, 6, 1, False);  view_7 = None
        alias_2: "f64[2, 2, 3]" = torch.ops.aten.alias.default(index);  index = None
        arange_8: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_12: "f64[12]" = torch.ops.aten.mul.Tensor(arange_8, 1.7);  arange_8 = None
        add_4: "f64[12]" = torch.ops.aten.add.Tensor(mul_12, 0.9);  mul_12 = None
        sin_8: "f64[12]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_8: "f64[2, 2, 3]" = torch.ops.aten.view.default(sin_8, [2, 2, 3]);  sin_8 = None
        new_zeros: "f64[6, 3]" = torch.ops.aten.new_zeros.default(view_8, [6, 3], dtype = torch.float64, layout = torch.strided, device = device(type='cpu'))
        index_put: "f64[6, 3]" = torch.ops.aten.index_put.default(new_zeros, [view_2], view_8, True);  new_zeros = view_2 = view_8 = None
        alias_3: "f64[3, 2, 2]" = torch.ops.aten.alias.default(index_1);  index_1 = None
        arange_9: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_13: "f64[12]" = torch.ops.aten.mul.Tensor(arange_9, 1.7);  arange_9 = None
        add_5: "f64[12]" = torch.ops.aten.add.Tensor(mul_13, 0.9);  mul_13 = None
        sin_9: "f64[12]" = torch.ops.aten.sin.default(add_5);  add_5 = None
        view_9: "f64[3, 2, 2]" = torch.ops.aten.view.default(sin_9, [3, 2, 2]);  sin_9 = None
        new_zeros_1: "f64[3, 5]" = torch.ops.aten.new_zeros.default(view_9, [3, 5], dtype = torch.float64, layout = torch.strided, device = device(type='cpu'))
        index_put_1: "f64[3, 5]" = torch.ops.aten.index_put.default(new_zeros_1, [None, view_4], view_9, True);  new_zeros_1 = view_4 = view_9 = None
        alias_4: "f64[3, 4]" = torch.ops.aten.alias.default(index_select);  index_select = None
        arange_10: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_14: "f64[12]" = torch.ops.aten.mul.Tensor(arange_10, 1.7);  arange_10 = None
        add_6: "f64[12]" = torch.ops.aten.add.Tensor(mul_14, 0.9);  mul_14 = None
        sin_10: "f64[12]" = torch.ops.aten.sin.default(add_6);  add_6 = None
        view_10: "f64[3, 4]" = torch.ops.aten.view.default(sin_10, [3, 4]);  sin_10 = None
        new_zeros_2: "f64[3, 5]" = torch.ops.aten.new_zeros.default(view_10, [3, 5], dtype = torch.float64, layout = torch.strided, device = device(type='cpu'))
        index_add: "f64[3, 5]" = torch.ops.aten.index_add.default(new_zeros_2, 1, view_5, view_10);  new_zeros_2 = view_5 = view_10 = None
        alias_5: "f64[3, 2]" = torch.ops.aten.alias.default(gather);  gather = None
        arange_11: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_15: "f64[6]" = torch.ops.aten.mul.Tensor(arange_11, 1.7);  arange_11 = None
        add_7: "f64[6]" = torch.ops.aten.add.Tensor(mul_15, 0.9);  mul_15 = None
        sin_11: "f64[6]" = torch.ops.aten.sin.default(add_7);  add_7 = None
        view_11: "f64[3, 2]" = torch.ops.aten.view.default(sin_11, [3, 2]);  sin_11 = None
        new_zeros_3: "f64[3, 5]" = torch.ops.aten.new_zeros.default(view_11, [3, 5])
        scatter_add: "f64[3, 5]" = torch.ops.aten.scatter_add.default(new_zeros_3, 1, view_3, view_11);  new_zeros_3 = view_11 = None
        alias_6: "f64[2, 2, 3]" = torch.ops.aten.alias.default(index_2);  index_2 = None
        arange_12: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_16: "f64[12]" = torch.ops.aten.mul.Tensor(arange_12, 1.7);  arange_12 = None
        add_8: "f64[12]" = torch.ops.aten.add.Tensor(mul_16, 0.9);  mul_16 = None
        sin_12: "f64[12]" = torch.ops.aten.sin.default(add_8);  add_8 = None
        view_12: "f64[2, 2, 3]" = torch.ops.aten.view.default(sin_12, [2, 2, 3]);  sin_12 = None
        new_zeros_4: "f64[6, 3]" = torch.ops.aten.new_zeros.default(view_12, [6, 3], dtype = torch.float64, layout = torch.strided, device = device(type='cpu'))
        index_put_2: "f64[6, 3]" = torch.ops.aten.index_put.default(new_zeros_4, [sub], view_12, True);  new_zeros_4 = sub = view_12 = None
        arange_13: "f64[15]" = torch.ops.aten.arange.default(15, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_17: "f64[15]" = torch.ops.aten.mul.Tensor(arange_13, 1.7);  arange_13 = None
        add_9: "f64[15]" = torch.ops.aten.add.Tensor(mul_17, 0.3);  mul_17 = None
        sin_13: "f64[15]" = torch.ops.aten.sin.default(add_9);  add_9 = None
        view_13: "f64[3, 5]" = torch.ops.aten.view.default(sin_13, [3, 5]);  sin_13 = None
        arange_14: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_18: "f64[6]" = torch.ops.aten.mul.Tensor(arange_14, 1.7);  arange_14 = None
        add_10: "f64[6]" = torch.ops.aten.add.Tensor(mul_18, 0.1);  mul_18 = None
        sin_14: "f64[6]" = torch.ops.aten.sin.default(add_10);  add_10 = None
        view_14: "f64[3, 2]" = torch.ops.aten.view.default(sin_14, [3, 2]);  sin_14 = None
        scatter_add_1: "f64[3, 5]" = torch.ops.aten.scatter_add.default(view_13, 1, view_3, view_14);  view_14 = None
        slice_1: "i64[3, 1]" = torch.ops.aten.slice.Tensor(view_3, 1, 0, 1)
        scatter: "f64[3, 5]" = torch.ops.aten.scatter.value(view_13, 1, slice_1, 2.0);  slice_1 = None
        slice_2: "i64[3, 1]" = torch.ops.aten.slice.Tensor(view_3, 1, 0, 1);  view_3 = None
        arange_15: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_19: "f64[3]" = torch.ops.aten.mul.Tensor(arange_15, 1.7);  arange_15 = None
        add_11: "f64[3]" = torch.ops.aten.add.Tensor(mul_19, 0.1);  mul_19 = None
        sin_15: "f64[3]" = torch.ops.aten.sin.default(add_11);  add_11 = None
        view_15: "f64[3, 1]" = torch.ops.aten.view.default(sin_15, [3, 1]);  sin_15 = None
        scatter_1: "f64[3, 5]" = torch.ops.aten.scatter.src(view_13, 1, slice_2, view_15);  view_13 = slice_2 = view_15 = None
        return (alias, embedding_dense_backward, alias_1, embedding_dense_backward_1, alias_2, index_put, alias_3, index_put_1, alias_4, index_add, alias_5, scatter_add, alias_6, index_put_2, scatter_add_1, scatter, scatter_1)

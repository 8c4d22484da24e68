class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[24]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[24]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[24]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin, [2, 3, 4]);  sin = None
        view_1: "f64[6, 4]" = torch.ops.aten.view.default(view, [6, 4])
        view_2: "f64[2, 12]" = torch.ops.aten.view.default(view, [2, -1])
        view_3: "f64[2, 12]" = torch.ops.aten.view.default(view, [2, 12])
        view_4: "f64[2, 3, 2, 2]" = torch.ops.aten.view.default(view, [2, 3, 2, 2])
        unsqueeze: "f64[2, 1, 3, 4]" = torch.ops.aten.unsqueeze.default(view, 1)
        slice_1: "f64[2, 1, 4]" = torch.ops.aten.slice.Tensor(view, 1, 0, 1)
        squeeze: "f64[2, 4]" = torch.ops.aten.squeeze.dim(slice_1, 1);  slice_1 = None
        slice_2: "f64[1, 3, 4]" = torch.ops.aten.slice.Tensor(view, 0, 0, 1)
        squeeze_1: "f64[3, 4]" = torch.ops.aten.squeeze.default(slice_2);  slice_2 = None
        select: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        t: "f64[4, 3]" = torch.ops.aten.t.default(select);  select = None
        permute: "f64[4, 2, 3]" = torch.ops.aten.permute.default(view, [2, 0, 1])
        transpose: "f64[4, 3, 2]" = torch.ops.aten.transpose.int(view, 0, -1)
        slice_3: "f64[2, 1, 4]" = torch.ops.aten.slice.Tensor(view, 1, 0, 1)
        expand: "f64[2, 5, 4]" = torch.ops.aten.expand.default(slice_3, [2, 5, 4]);  slice_3 = None
        select_1: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        repeat: "f64[2, 3, 8]" = torch.ops.aten.repeat.default(select_1, [2, 1, 2]);  select_1 = None
        select_2: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 1)
        select_3: "f64[2, 4]" = torch.ops.aten.select.int(view, 1, -1)
        slice_4: "f64[2, 2, 4]" = torch.ops.aten.slice.Tensor(view, 1, 1, 9223372036854775807)
        slice_5: "f64[2, 3, 2]" = torch.ops.aten.slice.Tensor(view, 2, 0, 9223372036854775807, 2)
        slice_6: "f64[2, 3, 2]" = torch.ops.aten.slice.Tensor(view, 2, -3, -1)
        slice_7: "f64[2, 2, 4]" = torch.ops.aten.slice.Tensor(view, 1, 1, 3)
        slice_8: "f64[2, 2, 4]" = torch.ops.aten.slice.Tensor(view, 1, 0, 2)
        cat: "f64[2, 5, 4]" = torch.ops.aten.cat.default([view, slice_8], 1);  slice_8 = None
        neg: "f64[2, 3, 4]" = torch.ops.aten.neg.default(view)
        stack: "f64[2, 2, 3, 4]" = torch.ops.aten.stack.default([view, neg], 1);  neg = None
        split = torch.ops.aten.split.Tensor(view, 2, 1)
        getitem: "f64[2, 2, 4]" = split[0]
        getitem_1: "f64[2, 1, 4]" = split[1];  split = None
        split_with_sizes = torch.ops.aten.split_with_sizes.default(view, [1, 3], 2)
        getitem_2: "f64[2, 3, 1]" = split_with_sizes[0]
        getitem_3: "f64[2, 3, 3]" = split_with_sizes[1];  split_with_sizes = None
        split_1 = torch.ops.aten.split.Tensor(view, 2, 2)
        getitem_4: "f64[2, 3, 2]" = split_1[0]
        getitem_5: "f64[2, 3, 2]" = split_1[1];  split_1 = None
        unbind = torch.ops.aten.unbind.int(view, 1)
        getitem_6: "f64[2, 4]" = unbind[0]
        getitem_7: "f64[2, 4]" = unbind[1]
        getitem_8: "f64[2, 4]" = unbind[2];  unbind = None
        flip: "f64[2, 3, 4]" = torch.ops.aten.flip.default(view, [0, 2])
        roll: "f64[2, 3, 4]" = torch.ops.aten.roll.default(view, [1], [1])
        roll_1: "f64[2, 3, 4]" = torch.ops.aten.roll.default(view, [1, -2], [0, 2])
        constant_pad_nd: "f64[2, 3, 7]" = torch.ops.aten.constant_pad_nd.default(view, [1, 2], 0.0)
        constant_pad_nd_1: "f64[2, 4, 5]" = torch.ops.aten.constant_pad_nd.default(view, [0, 1, 1, 0], 2.5)
        constant_pad_nd_2: "f64[2, 3, 3]" = torch.ops.aten.constant_pad_nd.default(view, [-1, 0], 0.0)
        select_4: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        tril: "f64[3, 4]" = torch.ops.aten.tril.default(select_4);  select_4 = None
        select_5: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        triu: "f64[3, 4]" = torch.ops.aten.triu.default(select_5, 1);  select_5 = None
        select_6: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        tril_1: "f64[3, 4]" = torch.ops.aten.tril.default(select_6, -1);  select_6 = None
        full: "f64[2, 2]" = torch.ops.aten.full.default([2, 2], 1.5, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        zeros: "f64[2]" = torch.ops.aten.zeros.default([2], dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        ones: "i64[2]" = torch.ops.aten.ones.default([2], dtype = torch.int64, device = device(type='cpu'), pin_memory = False)
        select_7: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        ones_like: "f64[3, 4]" = torch.ops.aten.ones_like.default(select_7, pin_memory = False);  select_7 = None
        arange_1: "i64[3]" = torch.ops.aten.arange.start_step(2, 8, 2, device = device(type='cpu'), pin_memory = False)
        arange_2: "i64[5]" = torch.ops.aten.arange.default(5, device = device(type='cpu'), pin_memory = False)
        select_8: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        zeros_like: "f64[3, 4]" = torch.ops.aten.zeros_like.default(select_8, pin_memory = False);  select_8 = None
        new_zeros: "f64[3]" = torch.ops.aten.new_zeros.default(view, [3], pin_memory = False)
        select_9: "f64[3, 4]" = torch.ops.aten.select.int(view, 0, 0)
        full_like: "f64[3, 4]" = torch.ops.aten.full_like.default(select_9, 0.5, pin_memory = False);  select_9 = None
        slice_9: "f64[2, 2, 4]" = torch.ops.aten.slice.Tensor(view, 1, 0, 2)
        neg_1: "f64[2, 2, 4]" = torch.ops.aten.neg.default(slice_9);  slice_9 = None
        slice_scatter: "f64[2, 3, 4]" = torch.ops.aten.slice_scatter.default(view, neg_1, 1, 1, 3);  neg_1 = None
        split_2 = torch.ops.aten.split.Tensor(view, 2, 2)
        getitem_9: "f64[2, 3, 2]" = split_2[0]
        getitem_10: "f64[2, 3, 2]" = split_2[1];  split_2 = None
        cat_1: "f64[4, 3, 2]" = torch.ops.aten.cat.default([getitem_9, getitem_10]);  getitem_9 = getitem_10 = None
        split_3 = torch.ops.aten.split.Tensor(view, 1)
        getitem_11: "f64[1, 3, 4]" = split_3[0]
        getitem_12: "f64[1, 3, 4]" = split_3[1];  split_3 = None
        cat_2: "f64[1, 3, 8]" = torch.ops.aten.cat.default([getitem_11, getitem_12], 2);  getitem_11 = getitem_12 = None
        split_4 = torch.ops.aten.split.Tensor(view, 1, 1)
        getitem_13: "f64[2, 1, 4]" = split_4[0]
        getitem_14: "f64[2, 1, 4]" = split_4[1]
        getitem_15: "f64[2, 1, 4]" = split_4[2];  split_4 = None
        cat_3: "f64[2, 3, 4]" = torch.ops.aten.cat.default([getitem_13, getitem_14, getitem_15], 1);  getitem_13 = getitem_14 = getitem_15 = None
        split_5 = torch.ops.aten.split.Tensor(view, 2, 2)
        getitem_16: "f64[2, 3, 2]" = split_5[0]
        getitem_17: "f64[2, 3, 2]" = split_5[1];  split_5 = None
        cat_4: "f64[4, 3, 2]" = torch.ops.aten.cat.default([getitem_17, getitem_16]);  getitem_17 = getitem_16 = None
        split_6 = torch.ops.aten.split.Tensor(view, 1)
        getitem_18: "f64[1, 3, 4]" = split_6[0]
        getitem_19: "f64[1, 3, 4]" = split_6[1];  split_6 = None
        cat_5: "f64[1, 6, 4]" = torch.ops.aten.cat.default([getitem_18, getitem_19], 1);  getitem_18 = getitem_19 = None
        view_5: "f64[2, 3, 2, 2]" = torch.ops.aten.view.default(view, [2, 3, 2, 2])
        split_7 = torch.ops.aten.split.Tensor(view_5, 1, 3);  view_5 = None
        getitem_20: "f64[2, 3, 2, 1]" = split_7[0]
        getitem_21: "f64[2, 3, 2, 1]" = split_7[1];  split_7 = None
        cat_6: "f64[2, 6, 2, 1]" = torch.ops.aten.cat.default([getitem_20, getitem_21], 1);  getitem_20 = getitem_21 = None
        select_10: "f64[2, 4]" = torch.ops.aten.select.int(view, 1, 0)
        neg_2: "f64[2, 4]" = torch.ops.aten.neg.default(select_10);  select_10 = None
        select_scatter: "f64[2, 3, 4]" = torch.ops.aten.select_scatter.default(view, neg_2, 1, 2);  view = neg_2 = None
        arange_3: "f64[18]" = torch.ops.aten.arange.default(18, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[18]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_1: "f64[18]" = torch.ops.aten.add.Tensor(mul_1, 0.3);  mul_1 = None
        sin_1: "f64[18]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_6: "f64[3, 6]" = torch.ops.aten.view.default(sin_1, [3, 6]);  sin_1 = None
        slice_10: "f64[2, 6]" = torch.ops.aten.slice.Tensor(view_6, 0, 1, 9223372036854775807);  slice_10 = None
        slice_11: "f64[3, 3]" = torch.ops.aten.slice.Tensor(view_6, 1, 1, 9223372036854775807, 2);  slice_11 = None
        select_11: "f64[3]" = torch.ops.aten.select.int(view_6, 1, -1);  select_11 = None
        mul_2: "f64[3, 6]" = torch.ops.aten.mul.Tensor(view_6, 2)
        cat_7: "f64[3, 12]" = torch.ops.aten.cat.default([view_6, mul_2], 1);  mul_2 = cat_7 = None
        stack_1: "f64[2, 3, 6]" = torch.ops.aten.stack.default([view_6, view_6]);  stack_1 = None
        expand_1: "f64[2, 3, 6]" = torch.ops.aten.expand.default(view_6, [2, 3, 6]);  expand_1 = None
        repeat_1: "f64[6, 6]" = torch.ops.aten.repeat.default(view_6, [2, 1]);  view_6 = repeat_1 = None
        arange_4: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[12]" = torch.ops.aten.mul.Tensor(arange_4, 1.7);  arange_4 = None
        add_2: "f64[12]" = torch.ops.aten.add.Tensor(mul_3, 0.9);  mul_3 = None
        sin_2: "f64[12]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_7: "f64[2, 6]" = torch.ops.aten.view.default(sin_2, [2, 6]);  sin_2 = None
        slice_backward: "f64[3, 6]" = torch.ops.aten.slice_backward.default(view_7, [3, 6], 0, 1, 9223372036854775807, 1);  view_7 = None
        arange_5: "f64[9]" = torch.ops.aten.arange.default(9, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[9]" = torch.ops.aten.mul.Tensor(arange_5, 1.7);  arange_5 = None
        add_3: "f64[9]" = torch.ops.aten.add.Tensor(mul_4, 0.9);  mul_4 = None
        sin_3: "f64[9]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_8: "f64[3, 3]" = torch.ops.aten.view.default(sin_3, [3, 3]);  sin_3 = None
        slice_backward_1: "f64[3, 6]" = torch.ops.aten.slice_backward.default(view_8, [3, 6], 1, 1, 9223372036854775807, 2);  view_8 = None
        arange_6: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_5: "f64[3]" = torch.ops.aten.mul.Tensor(arange_6, 1.7);  arange_6 = None
        add_4: "f64[3]" = torch.ops.aten.add.Tensor(mul_5, 0.9);  mul_5 = None
        sin_4: "f64[3]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_9: "f64[3]" = torch.ops.aten.view.default(sin_4, [3]);  sin_4 = None
        select_backward: "f64[3, 6]" = torch.ops.aten.select_backward.default(view_9, [3, 6], 1, -1);  view_9 = None
        arange_7: "f64[36]" = torch.ops.aten.arange.default(36, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_6: "f64[36]" = torch.ops.aten.mul.Tensor(arange_7, 1.7);  arange_7 = None
        add_5: "f64[36]" = torch.ops.aten.add.Tensor(mul_6, 0.9);  mul_6 = None
        sin_5: "f64[36]" = torch.ops.aten.sin.default(add_5);  add_5 = None
        view_10: "f64[3, 12]" = torch.ops.aten.view.default(sin_5, [3, 12]);  sin_5 = None
        slice_12: "f64[3, 6]" = torch.ops.aten.slice.Tensor(view_10, 1, 0, 6)
        slice_13: "f64[3, 6]" = torch.ops.aten.slice.Tensor(view_10, 1, 6, 12);  view_10 = None
        mul_7: "f64[3, 6]" = torch.ops.aten.mul.Tensor(slice_13, 2);  slice_13 = None
        add_6: "f64[3, 6]" = torch.ops.aten.add.Tensor(slice_12, mul_7);  slice_12 = mul_7 = None
        arange_8: "f64[36]" = torch.ops.aten.arange.default(36, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_8: "f64[36]" = torch.ops.aten.mul.Tensor(arange_8, 1.7);  arange_8 = None
        add_7: "f64[36]" = torch.ops.aten.add.Tensor(mul_8, 0.9);  mul_8 = None
        sin_6: "f64[36]" = torch.ops.aten.sin.default(add_7);  add_7 = None
        view_11: "f64[2, 3, 6]" = torch.ops.aten.view.default(sin_6, [2, 3, 6]);  sin_6 = None
        select_12: "f64[3, 6]" = torch.ops.aten.select.int(view_11, 0, 0)
        select_13: "f64[3, 6]" = torch.ops.aten.select.int(view_11, 0, 1);  view_11 = None
        add_8: "f64[3, 6]" = torch.ops.aten.add.Tensor(select_12, select_13);  select_12 = select_13 = None
        arange_9: "f64[36]" = torch.ops.aten.arange.default(36, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_9: "f64[36]" = torch.ops.aten.mul.Tensor(arange_9, 1.7);  arange_9 = None
        add_9: "f64[36]" = torch.ops.aten.add.Tensor(mul_9, 0.9);  mul_9 = None
        sin_7: "f64[36]" = torch.ops.aten.sin.default(add_9);  add_9 = None
        view_12: "f64[2, 3, 6]" = torch.ops.aten.view.default(sin_7, [2, 3, 6]);  sin_7 = None
        sum_1: "f64[1, 3, 6]" = torch.ops.aten.sum.dim_IntList(view_12, [0], True);  view_12 = None
        view_13: "f64[3, 6]" = torch.ops.aten.view.default(sum_1, [3, 6]);  sum_1 = None
        arange_10: "f64[36]" = torch.ops.aten.arange.default(36, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_10: "f64[36]" = torch.ops.aten.mul.Tensor(arange_10, 1.7);  arange_10 = None
        add_10: "f64[36]" = torch.ops.aten.add.Tensor(mul_10, 0.9);  mul_10 = None
        sin_8: "f64[36]" = torch.ops.aten.sin.default(add_10);  add_10 = None
        view_14: "f64[6, 6]" = torch.ops.aten.view.default(sin_8, [6, 6]);  sin_8 = None
        view_15: "f64[2, 3, 6]" = torch.ops.aten.view.default(view_14, [2, 3, 6]);  view_14 = None
        sum_2: "f64[3, 6]" = torch.ops.aten.sum.dim_IntList(view_15, [0]);  view_15 = None
        return (view_1, view_2, view_3, view_4, unsqueeze, squeeze, squeeze_1, t, permute, transpose, expand, repeat, select_2, select_3, slice_4, slice_5, slice_6, slice_7, cat, stack, getitem, getitem_1, getitem_2, getitem_3, getitem_4, getitem_5, getitem_6, getitem_7, getitem_8, flip, roll, roll_1, constant_pad_nd, constant_pad_nd_1, constant_pad_nd_2, tril, triu, tril_1, full, zeros, ones, ones_like, arange_1, arange_2, zeros_like, new_zeros, full_like, slice_scatter, cat_1, cat_2, cat_3, cat_4, cat_5, cat_6, select_scatter, slice_backward, slice_backward_1, select_backward, add_6, add_8, view_13, sum_2)

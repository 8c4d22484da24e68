class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[12]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[12]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[12]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[3, 4]" = torch.ops.aten.view.default(sin, [3, 4]);  sin = None
        arange_1: "f64[20]" = torch.ops.aten.arange.default(20, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[20]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[20]" = torch.ops.aten.add.Tensor(mul_1, 1.1);  mul_1 = None
        sin_1: "f64[20]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_1: "f64[4, 5]" = torch.ops.aten.view.default(sin_1, [4, 5]);  sin_1 = None
        arange_2: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[24]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_2: "f64[24]" = torch.ops.aten.add.Tensor(mul_2, 2.0);  mul_2 = None
        sin_2: "f64[24]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_2: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin_2, [2, 3, 4]);  sin_2 = None
        mm: "f64[3, 5]" = torch.ops.aten.mm.default(view, view_1)
        select: "f64[5]" = torch.ops.aten.select.int(view_1, 0, 0)
        addmm: "f64[3, 5]" = torch.ops.aten.addmm.default(select, view, view_1, beta = 0.5, alpha = 2);  select = None
        transpose: "f64[2, 4, 3]" = torch.ops.aten.transpose.int(view_2, -2, -1)
        expand: "f64[2, 3, 4]" = torch.ops.aten.expand.default(view_2, [2, 3, 4])
        view_3: "f64[2, 3, 4]" = torch.ops.aten.view.default(expand, [2, 3, 4]);  expand = None
        expand_1: "f64[2, 4, 3]" = torch.ops.aten.expand.default(transpose, [2, 4, 3]);  transpose = None
        view_4: "f64[2, 4, 3]" = torch.ops.aten.view.default(expand_1, [2, 4, 3]);  expand_1 = None
        bmm: "f64[2, 3, 3]" = torch.ops.aten.bmm.default(view_3, view_4)
        _unsafe_view: "f64[2, 3, 3]" = torch.ops.aten._unsafe_view.default(bmm, [2, 3, 3]);  bmm = None
        view_5: "f64[6, 4]" = torch.ops.aten.view.default(view_2, [6, 4])
        mm_1: "f64[6, 5]" = torch.ops.aten.mm.default(view_5, view_1)
        _unsafe_view_1: "f64[2, 3, 5]" = torch.ops.aten._unsafe_view.default(mm_1, [2, 3, 5]);  mm_1 = None
        sum_1: "f64[]" = torch.ops.aten.sum.default(view)
        sum_2: "f64[2, 4]" = torch.ops.aten.sum.dim_IntList(view_2, [1])
        sum_3: "f64[1, 3, 1]" = torch.ops.aten.sum.dim_IntList(view_2, [0, 2], True)
        mean: "f64[]" = torch.ops.aten.mean.default(view)
        mean_1: "f64[2, 3]" = torch.ops.aten.mean.dim(view_2, [-1])
        var: "f64[2, 3]" = torch.ops.aten.var.correction(view_2, [-1], correction = 1)
        amax: "f64[2, 4]" = torch.ops.aten.amax.default(view_2, [1])
        alias: "f64[2, 4]" = torch.ops.aten.alias.default(amax)
        _softmax: "f64[2, 3, 4]" = torch.ops.aten._softmax.default(view_2, -1, False)
        alias_1: "f64[2, 3, 4]" = torch.ops.aten.alias.default(_softmax)
        _log_softmax: "f64[2, 3, 4]" = torch.ops.aten._log_softmax.default(view_2, 1, False)
        alias_2: "f64[2, 3, 4]" = torch.ops.aten.alias.default(_log_softmax)
        logsumexp: "f64[2, 3]" = torch.ops.aten.logsumexp.default(view_2, [2])
        alias_3: "f64[2, 3]" = torch.ops.aten.alias.default(logsumexp)
        select_1: "f64[4]" = torch.ops.aten.select.int(view_1, 1, 0)
        view_6: "f64[6, 4]" = torch.ops.aten.view.default(view_2, [6, 4])
        mv: "f64[6]" = torch.ops.aten.mv.default(view_6, select_1)
        _unsafe_view_2: "f64[2, 3]" = torch.ops.aten._unsafe_view.default(mv, [2, 3]);  mv = None
        slice_1: "f64[2, 3, 3]" = torch.ops.aten.slice.Tensor(view_2, 2, 0, 3)
        transpose_1: "f64[2, 4, 3]" = torch.ops.aten.transpose.int(view_2, -2, -1)
        baddbmm: "f64[2, 3, 3]" = torch.ops.aten.baddbmm.default(slice_1, view_2, transpose_1);  slice_1 = None
        alias_4: "f64[3, 5]" = torch.ops.aten.alias.default(mm);  mm = None
        arange_3: "f64[15]" = torch.ops.aten.arange.default(15, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[15]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_3: "f64[15]" = torch.ops.aten.add.Tensor(mul_3, 0.9);  mul_3 = None
        sin_3: "f64[15]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_7: "f64[3, 5]" = torch.ops.aten.view.default(sin_3, [3, 5]);  sin_3 = None
        t: "f64[4, 3]" = torch.ops.aten.t.default(view)
        mm_2: "f64[4, 5]" = torch.ops.aten.mm.default(t, view_7);  t = None
        t_1: "f64[5, 4]" = torch.ops.aten.t.default(view_1)
        mm_3: "f64[3, 4]" = torch.ops.aten.mm.default(view_7, t_1);  view_7 = t_1 = None
        alias_5: "f64[3, 5]" = torch.ops.aten.alias.default(addmm);  addmm = None
        arange_4: "f64[15]" = torch.ops.aten.arange.default(15, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[15]" = torch.ops.aten.mul.Tensor(arange_4, 1.7);  arange_4 = None
        add_4: "f64[15]" = torch.ops.aten.add.Tensor(mul_4, 0.9);  mul_4 = None
        sin_4: "f64[15]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_8: "f64[3, 5]" = torch.ops.aten.view.default(sin_4, [3, 5]);  sin_4 = None
        t_2: "f64[5, 4]" = torch.ops.aten.t.default(view_1)
        mm_4: "f64[3, 4]" = torch.ops.aten.mm.default(view_8, t_2);  t_2 = None
        mul_5: "f64[3, 4]" = torch.ops.aten.mul.Scalar(mm_4, 2);  mm_4 = None
        t_3: "f64[4, 3]" = torch.ops.aten.t.default(view);  view = None
        mm_5: "f64[4, 5]" = torch.ops.aten.mm.default(t_3, view_8);  t_3 = None
        mul_6: "f64[4, 5]" = torch.ops.aten.mul.Scalar(mm_5, 2);  mm_5 = None
        mul_7: "f64[3, 5]" = torch.ops.aten.mul.Scalar(view_8, 0.5);  view_8 = None
        sum_4: "f64[1, 5]" = torch.ops.aten.sum.dim_IntList(mul_7, [0], True);  mul_7 = None
        view_9: "f64[5]" = torch.ops.aten.view.default(sum_4, [5]);  sum_4 = None
        select_backward: "f64[4, 5]" = torch.ops.aten.select_backward.default(view_9, [4, 5], 0, 0);  view_9 = None
        add_5: "f64[4, 5]" = torch.ops.aten.add.Tensor(mul_6, select_backward);  mul_6 = select_backward = None
        alias_6: "f64[2, 3, 3]" = torch.ops.aten.alias.default(_unsafe_view);  _unsafe_view = None
        arange_5: "f64[18]" = torch.ops.aten.arange.default(18, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_8: "f64[18]" = torch.ops.aten.mul.Tensor(arange_5, 1.7);  arange_5 = None
        add_6: "f64[18]" = torch.ops.aten.add.Tensor(mul_8, 0.9);  mul_8 = None
        sin_5: "f64[18]" = torch.ops.aten.sin.default(add_6);  add_6 = None
        view_10: "f64[2, 3, 3]" = torch.ops.aten.view.default(sin_5, [2, 3, 3]);  sin_5 = None
        view_11: "f64[2, 3, 3]" = torch.ops.aten.view.default(view_10, [2, 3, 3]);  view_10 = None
        transpose_2: "f64[2, 4, 3]" = torch.ops.aten.transpose.int(view_3, 1, 2);  view_3 = None
        bmm_1: "f64[2, 4, 3]" = torch.ops.aten.bmm.default(transpose_2, view_11);  transpose_2 = None
        transpose_3: "f64[2, 3, 4]" = torch.ops.aten.transpose.int(view_4, 1, 2);  view_4 = None
        bmm_2: "f64[2, 3, 4]" = torch.ops.aten.bmm.default(view_11, transpose_3);  view_11 = transpose_3 = None
        view_12: "f64[2, 4, 3]" = torch.ops.aten.view.default(bmm_1, [2, 4, 3]);  bmm_1 = None
        view_13: "f64[2, 3, 4]" = torch.ops.aten.view.default(bmm_2, [2, 3, 4]);  bmm_2 = None
        transpose_4: "f64[2, 3, 4]" = torch.ops.aten.transpose.int(view_12, -2, -1);  view_12 = None
        add_7: "f64[2, 3, 4]" = torch.ops.aten.add.Tensor(view_13, transpose_4);  view_13 = transpose_4 = None
        alias_7: "f64[2, 3, 5]" = torch.ops.aten.alias.default(_unsafe_view_1);  _unsafe_view_1 = None
        arange_6: "f64[30]" = torch.ops.aten.arange.default(30, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_9: "f64[30]" = torch.ops.aten.mul.Tensor(arange_6, 1.7);  arange_6 = None
        add_8: "f64[30]" = torch.ops.aten.add.Tensor(mul_9, 0.9);  mul_9 = None
        sin_6: "f64[30]" = torch.ops.aten.sin.default(add_8);  add_8 = None
        view_14: "f64[2, 3, 5]" = torch.ops.aten.view.default(sin_6, [2, 3, 5]);  sin_6 = None
        view_15: "f64[6, 5]" = torch.ops.aten.view.default(view_14, [6, 5]);  view_14 = None
        t_4: "f64[4, 6]" = torch.ops.aten.t.default(view_5);  view_5 = None
        mm_6: "f64[4, 5]" = torch.ops.aten.mm.default(t_4, view_15);  t_4 = None
        t_5: "f64[5, 4]" = torch.ops.aten.t.default(view_1);  view_1 = None
        mm_7: "f64[6, 4]" = torch.ops.aten.mm.default(view_15, t_5);  view_15 = t_5 = None
        view_16: "f64[2, 3, 4]" = torch.ops.aten.view.default(mm_7, [2, 3, 4]);  mm_7 = None
        alias_8: "f64[]" = torch.ops.aten.alias.default(sum_1);  sum_1 = None
        arange_7: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_10: "f64[1]" = torch.ops.aten.mul.Tensor(arange_7, 1.7);  arange_7 = None
        add_9: "f64[1]" = torch.ops.aten.add.Tensor(mul_10, 0.9);  mul_10 = None
        sin_7: "f64[1]" = torch.ops.aten.sin.default(add_9);  add_9 = None
        view_17: "f64[]" = torch.ops.aten.view.default(sin_7, []);  sin_7 = None
        expand_2: "f64[3, 4]" = torch.ops.aten.expand.default(view_17, [3, 4]);  view_17 = None
        alias_9: "f64[2, 4]" = torch.ops.aten.alias.default(sum_2);  sum_2 = None
        arange_8: "f64[8]" = torch.ops.aten.arange.default(8, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_11: "f64[8]" = torch.ops.aten.mul.Tensor(arange_8, 1.7);  arange_8 = None
        add_10: "f64[8]" = torch.ops.aten.add.Tensor(mul_11, 0.9);  mul_11 = None
        sin_8: "f64[8]" = torch.ops.aten.sin.default(add_10);  add_10 = None
        view_18: "f64[2, 4]" = torch.ops.aten.view.default(sin_8, [2, 4]);  sin_8 = None
        unsqueeze: "f64[2, 1, 4]" = torch.ops.aten.unsqueeze.default(view_18, 1);  view_18 = None
        expand_3: "f64[2, 3, 4]" = torch.ops.aten.expand.default(unsqueeze, [2, 3, 4]);  unsqueeze = None
        alias_10: "f64[1, 3, 1]" = torch.ops.aten.alias.default(sum_3);  sum_3 = None
        arange_9: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_12: "f64[3]" = torch.ops.aten.mul.Tensor(arange_9, 1.7);  arange_9 = None
        add_11: "f64[3]" = torch.ops.aten.add.Tensor(mul_12, 0.9);  mul_12 = None
        sin_9: "f64[3]" = torch.ops.aten.sin.default(add_11);  add_11 = None
        view_19: "f64[1, 3, 1]" = torch.ops.aten.view.default(sin_9, [1, 3, 1]);  sin_9 = None
        expand_4: "f64[2, 3, 4]" = torch.ops.aten.expand.default(view_19, [2, 3, 4]);  view_19 = None
        alias_11: "f64[]" = torch.ops.aten.alias.default(mean);  mean = None
        arange_10: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_13: "f64[1]" = torch.ops.aten.mul.Tensor(arange_10, 1.7);  arange_10 = None
        add_12: "f64[1]" = torch.ops.aten.add.Tensor(mul_13, 0.9);  mul_13 = None
        sin_10: "f64[1]" = torch.ops.aten.sin.default(add_12);  add_12 = None
        view_20: "f64[]" = torch.ops.aten.view.default(sin_10, []);  sin_10 = None
        expand_5: "f64[3, 4]" = torch.ops.aten.expand.default(view_20, [3, 4]);  view_20 = None
        div: "f64[3, 4]" = torch.ops.aten.div.Scalar(expand_5, 12);  expand_5 = None
        alias_12: "f64[2, 3]" = torch.ops.aten.alias.default(mean_1);  mean_1 = None
        arange_11: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_14: "f64[6]" = torch.ops.aten.mul.Tensor(arange_11, 1.7);  arange_11 = None
        add_13: "f64[6]" = torch.ops.aten.add.Tensor(mul_14, 0.9);  mul_14 = None
        sin_11: "f64[6]" = torch.ops.aten.sin.default(add_13);  add_13 = None
        view_21: "f64[2, 3]" = torch.ops.aten.view.default(sin_11, [2, 3]);  sin_11 = None
        unsqueeze_1: "f64[2, 3, 1]" = torch.ops.aten.unsqueeze.default(view_21, -1);  view_21 = None
        expand_6: "f64[2, 3, 4]" = torch.ops.aten.expand.default(unsqueeze_1, [2, 3, 4]);  unsqueeze_1 = None
        div_1: "f64[2, 3, 4]" = torch.ops.aten.div.Scalar(expand_6, 4);  expand_6 = None
        alias_13: "f64[2, 3]" = torch.ops.aten.alias.default(var);  var = None
        arange_12: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_15: "f64[6]" = torch.ops.aten.mul.Tensor(arange_12, 1.7);  arange_12 = None
        add_14: "f64[6]" = torch.ops.aten.add.Tensor(mul_15, 0.9);  mul_15 = None
        sin_12: "f64[6]" = torch.ops.aten.sin.default(add_14);  add_14 = None
        view_22: "f64[2, 3]" = torch.ops.aten.view.default(sin_12, [2, 3]);  sin_12 = None
        unsqueeze_2: "f64[2, 3, 1]" = torch.ops.aten.unsqueeze.default(view_22, -1);  view_22 = None
        mean_2: "f64[2, 3, 1]" = torch.ops.aten.mean.dim(view_2, [-1], True)
        sub: "f64[2, 3, 4]" = torch.ops.aten.sub.Tensor(view_2, mean_2);  mean_2 = None
        mul_16: "f64[2, 3, 1]" = torch.ops.aten.mul.Scalar(unsqueeze_2, 0.6666666666666666);  unsqueeze_2 = None
        mul_17: "f64[2, 3, 4]" = torch.ops.aten.mul.Tensor(mul_16, sub);  mul_16 = sub = None
        alias_14: "f64[2, 4]" = torch.ops.aten.alias.default(amax);  amax = None
        arange_13: "f64[8]" = torch.ops.aten.arange.default(8, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_18: "f64[8]" = torch.ops.aten.mul.Tensor(arange_13, 1.7);  arange_13 = None
        add_15: "f64[8]" = torch.ops.aten.add.Tensor(mul_18, 0.9);  mul_18 = None
        sin_13: "f64[8]" = torch.ops.aten.sin.default(add_15);  add_15 = None
        view_23: "f64[2, 4]" = torch.ops.aten.view.default(sin_13, [2, 4]);  sin_13 = None
        alias_15: "f64[2, 4]" = torch.ops.aten.alias.default(alias);  alias = None
        view_24: "f64[2, 1, 4]" = torch.ops.aten.view.default(alias_15, [2, 1, 4]);  alias_15 = None
        eq: "b8[2, 3, 4]" = torch.ops.aten.eq.Tensor(view_24, view_2);  view_24 = None
        view_25: "f64[2, 1, 4]" = torch.ops.aten.view.default(view_23, [2, 1, 4]);  view_23 = None
        sum_5: "i64[2, 1, 4]" = torch.ops.aten.sum.dim_IntList(eq, [1], True)
        div_2: "f64[2, 1, 4]" = torch.ops.aten.div.Tensor(view_25, sum_5);  view_25 = sum_5 = None
        mul_19: "f64[2, 3, 4]" = torch.ops.aten.mul.Tensor(div_2, eq);  div_2 = eq = None
        alias_16: "f64[2, 3, 4]" = torch.ops.aten.alias.default(_softmax);  _softmax = None
        arange_14: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_20: "f64[24]" = torch.ops.aten.mul.Tensor(arange_14, 1.7);  arange_14 = None
        add_16: "f64[24]" = torch.ops.aten.add.Tensor(mul_20, 0.9);  mul_20 = None
        sin_14: "f64[24]" = torch.ops.aten.sin.default(add_16);  add_16 = None
        view_26: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin_14, [2, 3, 4]);  sin_14 = None
        alias_17: "f64[2, 3, 4]" = torch.ops.aten.alias.default(alias_1);  alias_1 = None
        _softmax_backward_data: "f64[2, 3, 4]" = torch.ops.aten._softmax_backward_data.default(view_26, alias_17, -1, torch.float64);  view_26 = alias_17 = None
        alias_18: "f64[2, 3, 4]" = torch.ops.aten.alias.default(_log_softmax);  _log_softmax = None
        arange_15: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_21: "f64[24]" = torch.ops.aten.mul.Tensor(arange_15, 1.7);  arange_15 = None
        add_17: "f64[24]" = torch.ops.aten.add.Tensor(mul_21, 0.9);  mul_21 = None
        sin_15: "f64[24]" = torch.ops.aten.sin.default(add_17);  add_17 = None
        view_27: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin_15, [2, 3, 4]);  sin_15 = None
        alias_19: "f64[2, 3, 4]" = torch.ops.aten.alias.default(alias_2);  alias_2 = None
        _log_softmax_backward_data: "f64[2, 3, 4]" = torch.ops.aten._log_softmax_backward_data.default(view_27, alias_19, 1, torch.float64);  view_27 = alias_19 = None
        alias_20: "f64[2, 3]" = torch.ops.aten.alias.default(logsumexp);  logsumexp = None
        arange_16: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_22: "f64[6]" = torch.ops.aten.mul.Tensor(arange_16, 1.7);  arange_16 = None
        add_18: "f64[6]" = torch.ops.aten.add.Tensor(mul_22, 0.9);  mul_22 = None
        sin_16: "f64[6]" = torch.ops.aten.sin.default(add_18);  add_18 = None
        view_28: "f64[2, 3]" = torch.ops.aten.view.default(sin_16, [2, 3]);  sin_16 = None
        alias_21: "f64[2, 3]" = torch.ops.aten.alias.default(alias_3);  alias_3 = None
        unsqueeze_3: "f64[2, 3, 1]" = torch.ops.aten.unsqueeze.default(view_28, 2);  view_28 = None
        unsqueeze_4: "f64[2, 3, 1]" = torch.ops.aten.unsqueeze.default(alias_21, 2);  alias_21 = None
        sub_1: "f64[2, 3, 4]" = torch.ops.aten.sub.Tensor(view_2, unsqueeze_4);  unsqueeze_4 = None
        exp: "f64[2, 3, 4]" = torch.ops.aten.exp.default(sub_1);  sub_1 = None
        mul_23: "f64[2, 3, 4]" = torch.ops.aten.mul.Tensor(unsqueeze_3, exp);  unsqueeze_3 = exp = None
        alias_22: "f64[2, 3]" = torch.ops.aten.alias.default(_unsafe_view_2);  _unsafe_view_2 = None
        arange_17: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_24: "f64[6]" = torch.ops.aten.mul.Tensor(arange_17, 1.7);  arange_17 = None
        add_19: "f64[6]" = torch.ops.aten.add.Tensor(mul_24, 0.9);  mul_24 = None
        sin_17: "f64[6]" = torch.ops.aten.sin.default(add_19);  add_19 = None
        view_29: "f64[2, 3]" = torch.ops.aten.view.default(sin_17, [2, 3]);  sin_17 = None
        view_30: "f64[6]" = torch.ops.aten.view.default(view_29, [6]);  view_29 = None
        view_31: "f64[6, 1]" = torch.ops.aten.view.default(view_30, [6, 1])
        mul_25: "f64[6, 4]" = torch.ops.aten.mul.Tensor(view_31, select_1);  view_31 = select_1 = None
        t_6: "f64[4, 6]" = torch.ops.aten.t.default(view_6);  view_6 = None
        mv_1: "f64[4]" = torch.ops.aten.mv.default(t_6, view_30);  t_6 = view_30 = None
        view_32: "f64[2, 3, 4]" = torch.ops.aten.view.default(mul_25, [2, 3, 4]);  mul_25 = None
        select_backward_1: "f64[4, 5]" = torch.ops.aten.select_backward.default(mv_1, [4, 5], 1, 0);  mv_1 = None
        alias_23: "f64[2, 3, 3]" = torch.ops.aten.alias.default(baddbmm);  baddbmm = None
        arange_18: "f64[18]" = torch.ops.aten.arange.default(18, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_26: "f64[18]" = torch.ops.aten.mul.Tensor(arange_18, 1.7);  arange_18 = None
        add_20: "f64[18]" = torch.ops.aten.add.Tensor(mul_26, 0.9);  mul_26 = None
        sin_18: "f64[18]" = torch.ops.aten.sin.default(add_20);  add_20 = None
        view_33: "f64[2, 3, 3]" = torch.ops.aten.view.default(sin_18, [2, 3, 3]);  sin_18 = None
        transpose_5: "f64[2, 3, 4]" = torch.ops.aten.transpose.int(transpose_1, 1, 2);  transpose_1 = None
        bmm_3: "f64[2, 3, 4]" = torch.ops.aten.bmm.default(view_33, transpose_5);  transpose_5 = None
        transpose_6: "f64[2, 4, 3]" = torch.ops.aten.transpose.int(view_2, 1, 2);  view_2 = None
        bmm_4: "f64[2, 4, 3]" = torch.ops.aten.bmm.default(transpose_6, view_33);  transpose_6 = None
        transpose_7: "f64[2, 3, 4]" = torch.ops.aten.transpose.int(bmm_4, -2, -1);  bmm_4 = None
        add_21: "f64[2, 3, 4]" = torch.ops.aten.add.Tensor(bmm_3, transpose_7);  bmm_3 = transpose_7 = None
        slice_backward: "f64[2, 3, 4]" = torch.ops.aten.slice_backward.default(view_33, [2, 3, 4], 2, 0, 3, 1);  view_33 = None
        add_22: "f64[2, 3, 4]" = torch.ops.aten.add.Tensor(add_21, slice_backward);  add_21 = slice_backward = None
        arange_19: "f64[12]" = torch.ops.aten.arange.default(12, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_27: "f64[12]" = torch.ops.aten.mul.Tensor(arange_19, 1.7);  arange_19 = None
        add_23: "f64[12]" = torch.ops.aten.add.Tensor(mul_27, 0.3);  mul_27 = None
        sin_19: "f64[12]" = torch.ops.aten.sin.default(add_23);  add_23 = None
        view_34: "f64[3, 4]" = torch.ops.aten.view.default(sin_19, [3, 4]);  sin_19 = None
        amin: "f64[4]" = torch.ops.aten.amin.default(view_34, [0])
        max_1: "f64[]" = torch.ops.aten.max.default(view_34)
        min_1: "f64[]" = torch.ops.aten.min.default(view_34)
        gt: "b8[3, 4]" = torch.ops.aten.gt.Scalar(view_34, 0)
        any_1: "b8[]" = torch.ops.aten.any.default(gt);  gt = None
        gt_1: "b8[3, 4]" = torch.ops.aten.gt.Scalar(view_34, 0)
        any_2: "b8[3]" = torch.ops.aten.any.dim(gt_1, 1);  gt_1 = None
        gt_2: "b8[3, 4]" = torch.ops.aten.gt.Scalar(view_34, 0)
        all_1: "b8[]" = torch.ops.aten.all.default(gt_2);  gt_2 = None
        gt_3: "b8[3, 4]" = torch.ops.aten.gt.Scalar(view_34, -2)
        all_2: "b8[4]" = torch.ops.aten.all.dim(gt_3, 0);  gt_3 = None
        gt_4: "b8[3, 4]" = torch.ops.aten.gt.Scalar(view_34, 0)
        sum_6: "i64[]" = torch.ops.aten.sum.default(gt_4);  gt_4 = None
        arange_20: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_28: "f64[6]" = torch.ops.aten.mul.Tensor(arange_20, 2.3);  arange_20 = None
        sin_20: "f64[6]" = torch.ops.aten.sin.default(mul_28);  mul_28 = None
        abs_1: "f64[6]" = torch.ops.aten.abs.default(sin_20);  sin_20 = None
        mul_29: "f64[6]" = torch.ops.aten.mul.Tensor(abs_1, 5);  abs_1 = None
        floor: "f64[6]" = torch.ops.aten.floor.default(mul_29);  mul_29 = None
        _to_copy: "i64[6]" = torch.ops.aten._to_copy.default(floor, dtype = torch.int64);  floor = None
        view_35: "i64[2, 3]" = torch.ops.aten.view.default(_to_copy, [2, 3]);  _to_copy = None
        sum_7: "i64[3]" = torch.ops.aten.sum.dim_IntList(view_35, [0]);  view_35 = None
        linalg_vector_norm: "f64[]" = torch.ops.aten.linalg_vector_norm.default(view_34)
        linalg_vector_norm_1: "f64[3]" = torch.ops.aten.linalg_vector_norm.default(view_34, 2, [1])
        var_mean = torch.ops.aten.var_mean.correction(view_34, [1], correction = 1)
        getitem: "f64[3]" = var_mean[0]
        getitem_1: "f64[3]" = var_mean[1];  var_mean = None
        var_1: "f64[4]" = torch.ops.aten.var.correction(view_34, [0], correction = 0);  view_34 = None
        return (alias_4, mm_3, mm_2, alias_5, mul_5, add_5, alias_6, add_7, alias_7, view_16, mm_6, alias_8, expand_2, alias_9, expand_3, alias_10, expand_4, alias_11, div, alias_12, div_1, alias_13, mul_17, alias_14, mul_19, alias_16, _softmax_backward_data, alias_18, _log_softmax_backward_data, alias_20, mul_23, alias_22, view_32, select_backward_1, alias_23, add_22, amin, max_1, min_1, any_1, any_2, all_1, all_2, sum_6, sum_7, linalg_vector_norm, linalg_vector_norm_1, getitem, getitem_1, var_1)

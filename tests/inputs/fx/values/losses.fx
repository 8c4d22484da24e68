class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[20]" = torch.ops.aten.arange.default(20, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[20]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[20]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[20]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[4, 5]" = torch.ops.aten.view.default(sin, [4, 5]);  sin = None
        arange_1: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[4]" = torch.ops.aten.mul.Tensor(arange_1, 2.3);  arange_1 = None
        sin_1: "f64[4]" = torch.ops.aten.sin.default(mul_1);  mul_1 = None
        abs_1: "f64[4]" = torch.ops.aten.abs.default(sin_1);  sin_1 = None
        mul_2: "f64[4]" = torch.ops.aten.mul.Tensor(abs_1, 5);  abs_1 = None
        floor: "f64[4]" = torch.ops.aten.floor.default(mul_2);  mul_2 = None
        _to_copy: "i64[4]" = torch.ops.aten._to_copy.default(floor, dtype = torch.int64);  floor = None
        view_1: "i64[4]" = torch.ops.aten.view.default(_to_copy, [4]);  _to_copy = None
        _log_softmax: "f64[4, 5]" = torch.ops.aten._log_softmax.default(view, 1, False)
        alias: "f64[4, 5]" = torch.ops.aten.alias.default(_log_softmax)
        nll_loss_forward = torch.ops.aten.nll_loss_forward.default(_log_softmax, view_1, None, 1, -100)
        getitem: "f64[]" = nll_loss_forward[0]
        getitem_1: "f64[]" = nll_loss_forward[1];  nll_loss_forward = None
        _log_softmax_1: "f64[4, 5]" = torch.ops.aten._log_softmax.default(view, 1, False)
        alias_1: "f64[4, 5]" = torch.ops.aten.alias.default(_log_softmax_1)
        nll_loss_forward_1 = torch.ops.aten.nll_loss_forward.default(_log_softmax_1, view_1, None, 2, -100)
        getitem_2: "f64[]" = nll_loss_forward_1[0]
        getitem_3: "f64[]" = nll_loss_forward_1[1];  nll_loss_forward_1 = None
        _log_softmax_2: "f64[4, 5]" = torch.ops.aten._log_softmax.default(view, 1, False)
        alias_2: "f64[4, 5]" = torch.ops.aten.alias.default(_log_softmax_2)
        nll_loss_forward_2 = torch.ops.aten.nll_loss_forward.default(_log_softmax_2, view_1, None, 0, -100)
        getitem_4: "f64[4]" = nll_loss_forward_2[0]
        getitem_5: "f64[]" = nll_loss_forward_2[1];  nll_loss_forward_2 = None
        _log_softmax_3: "f64[4, 5]" = torch.ops.aten._log_softmax.default(view, 1, False)
        alias_3: "f64[4, 5]" = torch.ops.aten.alias.default(_log_softmax_3)
        nll_loss_forward_3 = torch.ops.aten.nll_loss_forward.default(_log_softmax_3, view_1, None, 1, 2)
        getitem_6: "f64[]" = nll_loss_forward_3[0]
        getitem_7: "f64[]" = nll_loss_forward_3[1];  nll_loss_forward_3 = None
        arange_2: "f64[20]" = torch.ops.aten.arange.default(20, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[20]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_1: "f64[20]" = torch.ops.aten.add.Tensor(mul_3, 0.1);  mul_3 = None
        sin_2: "f64[20]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_2: "f64[4, 5]" = torch.ops.aten.view.default(sin_2, [4, 5]);  sin_2 = None
        mse_loss: "f64[]" = torch.ops.aten.mse_loss.default(view, view_2)
        nll_loss_forward_4 = torch.ops.aten.nll_loss_forward.default(view, view_1, None, 1, -100)
        getitem_8: "f64[]" = nll_loss_forward_4[0]
        getitem_9: "f64[]" = nll_loss_forward_4[1];  nll_loss_forward_4 = None
        alias_4: "f64[]" = torch.ops.aten.alias.default(getitem);  getitem = None
        arange_3: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[1]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_2: "f64[1]" = torch.ops.aten.add.Tensor(mul_4, 0.9);  mul_4 = None
        sin_3: "f64[1]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_3: "f64[]" = torch.ops.aten.view.default(sin_3, []);  sin_3 = None
        nll_loss_backward: "f64[4, 5]" = torch.ops.aten.nll_loss_backward.default(view_3, _log_softmax, view_1, None, 1, -100, getitem_1);  view_3 = _log_softmax = getitem_1 = None
        alias_5: "f64[4, 5]" = torch.ops.aten.alias.default(alias);  alias = None
        _log_softmax_backward_data: "f64[4, 5]" = torch.ops.aten._log_softmax_backward_data.default(nll_loss_backward, alias_5, 1, torch.float64);  nll_loss_backward = alias_5 = None
        alias_6: "f64[]" = torch.ops.aten.alias.default(getitem_2);  getitem_2 = None
        arange_4: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_5: "f64[1]" = torch.ops.aten.mul.Tensor(arange_4, 1.7);  arange_4 = None
        add_3: "f64[1]" = torch.ops.aten.add.Tensor(mul_5, 0.9);  mul_5 = None
        sin_4: "f64[1]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_4: "f64[]" = torch.ops.aten.view.default(sin_4, []);  sin_4 = None
        nll_loss_backward_1: "f64[4, 5]" = torch.ops.aten.nll_loss_backward.default(view_4, _log_softmax_1, view_1, None, 2, -100, getitem_3);  view_4 = _log_softmax_1 = getitem_3 = None
        alias_7: "f64[4, 5]" = torch.ops.aten.alias.default(alias_1);  alias_1 = None
        _log_softmax_backward_data_1: "f64[4, 5]" = torch.ops.aten._log_softmax_backward_data.default(nll_loss_backward_1, alias_7, 1, torch.float64);  nll_loss_backward_1 = alias_7 = None
        alias_8: "f64[4]" = torch.ops.aten.alias.default(getitem_4);  getitem_4 = None
        arange_5: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_6: "f64[4]" = torch.ops.aten.mul.Tensor(arange_5, 1.7);  arange_5 = None
        add_4: "f64[4]" = torch.ops.aten.add.Tensor(mul_6, 0.9);  mul_6 = None
        sin_5: "f64[4]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_5: "f64[4]" = torch.ops.aten.view.default(sin_5, [4]);  sin_5 = None
        nll_loss_backward_2: "f64[4, 5]" = torch.ops.aten.nll_loss_backward.default(view_5, _log_softmax_2, view_1, None, 0, -100, getitem_5);  view_5 = _log_softmax_2 = getitem_5 = None
        alias_9: "f64[4, 5]" = torch.ops.aten.alias.default(alias_2);  alias_2 = None
        _log_softmax_backward_data_2: "f64[4, 5]" = torch.ops.aten._log_softmax_backward_data.default(nll_loss_backward_2, alias_9, 1, torch.float64);  nll_loss_backward_2 = alias_9 = None
        alias_10: "f64[]" = torch.ops.aten.alias.default(getitem_6);  getitem_6 = None
        arange_6: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_7: "f64[1]" = torch.ops.aten.mul.Tensor(arange_6, 1.7);  arange_6 = None
        add_5: "f64[1]" = torch.ops.aten.add.Tensor(mul_7, 0.9);  mul_7 = None
        sin_6: "f64[1]" = torch.ops.aten.sin.default(add_5);  add_5 = None
        view_6: "f64[]" = torch.ops.aten.view.default(sin_6, []);  sin_6 = None
        nll_loss_backward_3: "f64[4, 5]" = torch.ops.aten.nll_loss_backward.default(view_6, _log_softmax_3, view_1, None, 1, 2, getitem_7);  view_6 = _log_softmax_3 = getitem_7 = None
        alias_11: "f64[4, 5]" = torch.ops.aten.alias.default(alias_3);  alias_3 = None
        _log_softmax_backward_data_3: "f64[4, 5]" = torch.ops.aten._log_softmax_backward_data.default(nll_loss_backward_3, alias_11, 1, torch.float64);  nll_loss_backward_3 = alias_11 = None
        alias_12: "f64[]" = torch.ops.aten.alias.default(mse_loss);  mse_loss = None
        arange_7: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_8: "f64[1]" = torch.ops.aten.mul.Tensor(arange_7, 1.7);  arange_7 = None
        add_6: "f64[1]" = torch.ops.aten.add.Tensor(mul_8, 0.9);  mul_8 = None
        sin_7: "f64[1]" = torch.ops.aten.sin.default(add_6);  add_6 = None
        view_7: "f64[]" = torch.ops.aten.view.default(sin_7, []);  sin_7 = None
        mse_loss_backward: "f64[4, 5]" = torch.ops.aten.mse_loss_backward.default(view_7, view, view_2, 1);  view_7 = view_2 = None
        alias_13: "f64[]" = torch.ops.aten.alias.default(getitem_8);  getitem_8 = None
        arange_8: "f64[1]" = torch.ops.aten.arange.default(1, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_9: "f64[1]" = torch.ops.aten.mul.Tensor(arange_8, 1.7);  arange_8 = None
        add_7: "f64[1]" = torch.ops.aten.add.Tensor(mul_9, 0.9);  mul_9 = None
        sin_8: "f64[1]" = torch.ops.aten.sin.default(add_7);  add_7 = None
        view_8: "f64[]" = torch.ops.aten.view.default(sin_8, []);  sin_8 = None
        nll_loss_backward_4: "f64[4, 5]" = torch.ops.aten.nll_loss_backward.default(view_8, view, view_1, None, 1, -100, getitem_9);  view_8 = view = view_1 = getitem_9 = None
        return (alias_4, _log_softmax_backward_data, alias_6, _log_softmax_backward_data_1, alias_8, _log_softmax_backward_data_2, alias_10, _log_softmax_backward_data_3, alias_12, mse_loss_backward, alias_13, nll_loss_backward_4)

class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[10]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[10]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[10]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[2, 5]" = torch.ops.aten.view.default(sin, [2, 5]);  sin = None
        relu: "f64[2, 5]" = torch.ops.aten.relu.default(view)
        alias: "f64[2, 5]" = torch.ops.aten.alias.default(relu)
        alias_1: "f64[2, 5]" = torch.ops.aten.alias.default(relu);  relu = None
        arange_1: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[10]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[10]" = torch.ops.aten.add.Tensor(mul_1, 0.9);  mul_1 = None
        sin_1: "f64[10]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_1: "f64[2, 5]" = torch.ops.aten.view.default(sin_1, [2, 5]);  sin_1 = None
        alias_2: "f64[2, 5]" = torch.ops.aten.alias.default(alias);  alias = None
        threshold_backward: "f64[2, 5]" = torch.ops.aten.threshold_backward.default(view_1, alias_2, 0);  view_1 = alias_2 = None
        gelu: "f64[2, 5]" = torch.ops.aten.gelu.default(view)
        alias_3: "f64[2, 5]" = torch.ops.aten.alias.default(gelu);  gelu = None
        arange_2: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[10]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_2: "f64[10]" = torch.ops.aten.add.Tensor(mul_2, 0.9);  mul_2 = None
        sin_2: "f64[10]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_2: "f64[2, 5]" = torch.ops.aten.view.default(sin_2, [2, 5]);  sin_2 = None
        gelu_backward: "f64[2, 5]" = torch.ops.aten.gelu_backward.default(view_2, view);  view_2 = None
        gelu_1: "f64[2, 5]" = torch.ops.aten.gelu.default(view, approximate = 'tanh')
        alias_4: "f64[2, 5]" = torch.ops.aten.alias.default(gelu_1);  gelu_1 = None
        arange_3: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[10]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_3: "f64[10]" = torch.ops.aten.add.Tensor(mul_3, 0.9);  mul_3 = None
        sin_3: "f64[10]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_3: "f64[2, 5]" = torch.ops.aten.view.default(sin_3, [2, 5]);  sin_3 = None
        gelu_backward_1: "f64[2, 5]" = torch.ops.aten.gelu_backward.default(view_3, view, approximate = 'tanh');  view_3 = None
        silu: "f64[2, 5]" = torch.ops.aten.silu.default(view)
        alias_5: "f64[2, 5]" = torch.ops.aten.alias.default(silu);  silu = None
        arange_4: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[10]" = torch.ops.aten.mul.Tensor(arange_4, 1.7);  arange_4 = None
        add_4: "f64[10]" = torch.ops.aten.add.Tensor(mul_4, 0.9);  mul_4 = None
        sin_4: "f64[10]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_4: "f64[2, 5]" = torch.ops.aten.view.default(sin_4, [2, 5]);  sin_4 = None
        silu_backward: "f64[2, 5]" = torch.ops.aten.silu_backward.default(view_4, view);  view_4 = None
        sigmoid: "f64[2, 5]" = torch.ops.aten.sigmoid.default(view)
        alias_6: "f64[2, 5]" = torch.ops.aten.alias.default(sigmoid)
        alias_7: "f64[2, 5]" = torch.ops.aten.alias.default(sigmoid);  sigmoid = None
        arange_5: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_5: "f64[10]" = torch.ops.aten.mul.Tensor(arange_5, 1.7);  arange_5 = None
        add_5: "f64[10]" = torch.ops.aten.add.Tensor(mul_5, 0.9);  mul_5 = None
        sin_5: "f64[10]" = torch.ops.aten.sin.default(add_5);  add_5 = None
        view_5: "f64[2, 5]" = torch.ops.aten.view.default(sin_5, [2, 5]);  sin_5 = None
        alias_8: "f64[2, 5]" = torch.ops.aten.alias.default(alias_6);  alias_6 = None
        sigmoid_backward: "f64[2, 5]" = torch.ops.aten.sigmoid_backward.default(view_5, alias_8);  view_5 = alias_8 = None
        tanh: "f64[2, 5]" = torch.ops.aten.tanh.default(view)
        alias_9: "f64[2, 5]" = torch.ops.aten.alias.default(tanh)
        alias_10: "f64[2, 5]" = torch.ops.aten.alias.default(tanh);  tanh = None
        arange_6: "f64[10]" = torch.ops.aten.arange.default(10, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_6: "f64[10]" = torch.ops.aten.mul.Tensor(arange_6, 1.7);  arange_6 = None
        add_6: "f64[10]" = torch.ops.aten.add.Tensor(mul_6, 0.9);  mul_6 = None
        sin_6: "f64[10]" = torch.ops.aten.sin.default(add_6);  add_6 = None
        view_6: "f64[2, 5]" = torch.ops.aten.view.default(sin_6, [2, 5]);  sin_6 = None
        alias_11: "f64[2, 5]" = torch.ops.aten.alias.default(alias_9);  alias_9 = None
        tanh_backward: "f64[2, 5]" = torch.ops.aten.tanh_backward.default(view_6, alias_11);  view_6 = alias_11 = None
        softplus: "f64[2, 5]" = torch.ops.aten.softplus.default(view);  view = None
        alias_12: "f64[2, 5]" = torch.ops.aten.alias.default(softplus);  softplus = None
        return (alias_1, threshold_backward, alias_3, gelu_backward, alias_4, gelu_backward_1, alias_5, silu_backward, alias_7, sigmoid_backward, alias_10, tanh_backward, alias_12)

class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[24]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[24]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[24]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin, [2, 3, 4]);  sin = None
        arange_1: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[4]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[4]" = torch.ops.aten.add.Tensor(mul_1, 1.0);  mul_1 = None
        sin_1: "f64[4]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_1: "f64[4]" = torch.ops.aten.view.default(sin_1, [4]);  sin_1 = None
        arange_2: "f64[4]" = torch.ops.aten.arange.default(4, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[4]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_2: "f64[4]" = torch.ops.aten.add.Tensor(mul_2, 2.0);  mul_2 = None
        sin_2: "f64[4]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_2: "f64[4]" = torch.ops.aten.view.default(sin_2, [4]);  sin_2 = None
        native_layer_norm = torch.ops.aten.native_layer_norm.default(view, [4], view_1, view_2, 1e-05)
        getitem: "f64[2, 3, 4]" = native_layer_norm[0]
        getitem_1: "f64[2, 3, 1]" = native_layer_norm[1]
        getitem_2: "f64[2, 3, 1]" = native_layer_norm[2];  native_layer_norm = None
        native_layer_norm_1 = torch.ops.aten.native_layer_norm.default(view, [3, 4], None, None, 0.1)
        getitem_3: "f64[2, 3, 4]" = native_layer_norm_1[0]
        getitem_4: "f64[2, 1, 1]" = native_layer_norm_1[1]
        getitem_5: "f64[2, 1, 1]" = native_layer_norm_1[2];  native_layer_norm_1 = None
        alias: "f64[2, 3, 4]" = torch.ops.aten.alias.default(getitem);  getitem = None
        arange_3: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[24]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_3: "f64[24]" = torch.ops.aten.add.Tensor(mul_3, 0.9);  mul_3 = None
        sin_3: "f64[24]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_3: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin_3, [2, 3, 4]);  sin_3 = None
        native_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default(view_3, view, [4], getitem_1, getitem_2, view_1, view_2, [True, True, True]);  view_3 = getitem_1 = getitem_2 = view_1 = view_2 = None
        getitem_6: "f64[2, 3, 4]" = native_layer_norm_backward[0]
        getitem_7: "f64[4]" = native_layer_norm_backward[1]
        getitem_8: "f64[4]" = native_layer_norm_backward[2];  native_layer_norm_backward = None
        alias_1: "f64[2, 3, 4]" = torch.ops.aten.alias.default(getitem_3);  getitem_3 = None
        arange_4: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[24]" = torch.ops.aten.mul.Tensor(arange_4, 1.7);  arange_4 = None
        add_4: "f64[24]" = torch.ops.aten.add.Tensor(mul_4, 0.9);  mul_4 = None
        sin_4: "f64[24]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_4: "f64[2, 3, 4]" = torch.ops.aten.view.default(sin_4, [2, 3, 4]);  sin_4 = None
        native_layer_norm_backward_1 = torch.ops.aten.native_layer_norm_backward.default(view_4, view, [3, 4], getitem_4, getitem_5, None, None, [True, False, False]);  view_4 = view = getitem_4 = getitem_5 = None
        getitem_9: "f64[2, 3, 4]" = native_layer_norm_backward_1[0]
        getitem_10 = native_layer_norm_backward_1[1];  getitem_10 = None
        getitem_11 = native_layer_norm_backward_1[2];  native_layer_norm_backward_1 = getitem_11 = None
        return (alias, getitem_6, getitem_7, getitem_8, alias_1, getitem_9)

class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[24]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[24]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[24]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[1, 2, 3, 4]" = torch.ops.aten.view.default(sin, [1, 2, 3, 4]);  sin = None
        arange_1: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[24]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[24]" = torch.ops.aten.add.Tensor(mul_1, 1.0);  mul_1 = None
        sin_1: "f64[24]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_1: "f64[1, 2, 3, 4]" = torch.ops.aten.view.default(sin_1, [1, 2, 3, 4]);  sin_1 = None
        arange_2: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[24]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_2: "f64[24]" = torch.ops.aten.add.Tensor(mul_2, 2.0);  mul_2 = None
        sin_2: "f64[24]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_2: "f64[1, 2, 3, 4]" = torch.ops.aten.view.default(sin_2, [1, 2, 3, 4]);  sin_2 = None
        arange_3: "f64[9]" = torch.ops.aten.arange.default(9, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[9]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_3: "f64[9]" = torch.ops.aten.add.Tensor(mul_3, 0.3);  mul_3 = None
        sin_3: "f64[9]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        view_3: "f64[3, 3]" = torch.ops.aten.view.default(sin_3, [3, 3]);  sin_3 = None
        _scaled_dot_product_flash_attention_for_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(view, view_1, view_2)
        getitem: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu[0]
        getitem_1: "f64[1, 2, 3]" = _scaled_dot_product_flash_attention_for_cpu[1];  _scaled_dot_product_flash_attention_for_cpu = None
        alias: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(getitem)
        _scaled_dot_product_flash_attention_for_cpu_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(view, view_1, view_2, 0.0, True)
        getitem_2: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_1[0]
        getitem_3: "f64[1, 2, 3]" = _scaled_dot_product_flash_attention_for_cpu_1[1];  _scaled_dot_product_flash_attention_for_cpu_1 = None
        alias_1: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(getitem_2)
        _scaled_dot_product_flash_attention_for_cpu_2 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(view, view_1, view_2, attn_mask = view_3, scale = 0.3)
        getitem_4: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_2[0]
        getitem_5: "f64[1, 2, 3]" = _scaled_dot_product_flash_attention_for_cpu_2[1];  _scaled_dot_product_flash_attention_for_cpu_2 = None
        alias_2: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(getitem_4)
        alias_3: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(getitem);  getitem = None
        arange_4: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[24]" = torch.ops.aten.mul.Tensor(arange_4, 1.7);  arange_4 = None
        add_4: "f64[24]" = torch.ops.aten.add.Tensor(mul_4, 0.9);  mul_4 = None
        sin_4: "f64[24]" = torch.ops.aten.sin.default(add_4);  add_4 = None
        view_4: "f64[1, 2, 3, 4]" = torch.ops.aten.view.default(sin_4, [1, 2, 3, 4]);  sin_4 = None
        alias_4: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(alias);  alias = None
        _scaled_dot_product_flash_attention_for_cpu_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(view_4, view, view_1, view_2, alias_4, getitem_1, 0.0, False, attn_mask = None);  view_4 = alias_4 = getitem_1 = None
        getitem_6: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[0]
        getitem_7: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[1]
        getitem_8: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[2];  _scaled_dot_product_flash_attention_for_cpu_backward = None
        alias_5: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(getitem_2);  getitem_2 = None
        arange_5: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_5: "f64[24]" = torch.ops.aten.mul.Tensor(arange_5, 1.7);  arange_5 = None
        add_5: "f64[24]" = torch.ops.aten.add.Tensor(mul_5, 0.9);  mul_5 = None
        sin_5: "f64[24]" = torch.ops.aten.sin.default(add_5);  add_5 = None
        view_5: "f64[1, 2, 3, 4]" = torch.ops.aten.view.default(sin_5, [1, 2, 3, 4]);  sin_5 = None
        alias_6: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(alias_1);  alias_1 = None
        _scaled_dot_product_flash_attention_for_cpu_backward_1 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(view_5, view, view_1, view_2, alias_6, getitem_3, 0.0, True, attn_mask = None);  view_5 = alias_6 = getitem_3 = None
        getitem_9: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward_1[0]
        getitem_10: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward_1[1]
        getitem_11: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward_1[2];  _scaled_dot_product_flash_attention_for_cpu_backward_1 = None
        alias_7: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(getitem_4);  getitem_4 = None
        arange_6: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_6: "f64[24]" = torch.ops.aten.mul.Tensor(arange_6, 1.7);  arange_6 = None
        add_6: "f64[24]" = torch.ops.aten.add.Tensor(mul_6, 0.9);  mul_6 = None
        sin_6: "f64[24]" = torch.ops.aten.sin.default(add_6);  add_6 = None
        view_6: "f64[1, 2, 3, 4]" = torch.ops.aten.view.default(sin_6, [1, 2, 3, 4]);  sin_6 = None
        alias_8: "f64[1, 2, 3, 4]" = torch.ops.aten.alias.default(alias_2);  alias_2 = None
        _scaled_dot_product_flash_attention_for_cpu_backward_2 = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(view_6, view, view_1, view_2, alias_8, getitem_5, 0.0, False, attn_mask = view_3, scale = 0.3);  view_6 = view = view_1 = view_2 = alias_8 = getitem_5 = view_3 = None
        getitem_12: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward_2[0]
        getitem_13: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward_2[1]
        getitem_14: "f64[1, 2, 3, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward_2[2];  _scaled_dot_product_flash_attention_for_cpu_backward_2 = None
        return (alias_3, getitem_6, getitem_7, getitem_8, alias_5, getitem_9, getitem_10, getitem_11, alias_7, getitem_12, getitem_13, getitem_14)

class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[24]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[24]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[24]" = torch.ops.aten.sin.default(add);  add = None
        reshape: "f64[2, 3, 4]" = torch.ops.aten.reshape.default(sin, [2, 3, 4]);  sin = None
        arange_1: "f64[24]" = torch.ops.aten.arange.default(24, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[24]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[24]" = torch.ops.aten.add.Tensor(mul_1, 1.0);  mul_1 = None
        sin_1: "f64[24]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        reshape_1: "f64[2, 4, 3]" = torch.ops.aten.reshape.default(sin_1, [2, 4, 3]);  sin_1 = None
        arange_2: "f64[20]" = torch.ops.aten.arange.default(20, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[20]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_2: "f64[20]" = torch.ops.aten.add.Tensor(mul_2, 0.3);  mul_2 = None
        sin_2: "f64[20]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        reshape_2: "f64[5, 4]" = torch.ops.aten.reshape.default(sin_2, [5, 4]);  sin_2 = None
        arange_3: "f64[5]" = torch.ops.aten.arange.default(5, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[5]" = torch.ops.aten.mul.Tensor(arange_3, 1.7);  arange_3 = None
        add_3: "f64[5]" = torch.ops.aten.add.Tensor(mul_3, 2.0);  mul_3 = None
        sin_3: "f64[5]" = torch.ops.aten.sin.default(add_3);  add_3 = None
        reshape_3: "f64[5]" = torch.ops.aten.reshape.default(sin_3, [5]);  sin_3 = None
        linear: "f64[2, 3, 5]" = torch.ops.aten.linear.default(reshape, reshape_2, reshape_3);  reshape_3 = None
        linear_1: "f64[2, 3, 5]" = torch.ops.aten.linear.default(reshape, reshape_2);  reshape_2 = None
        matmul: "f64[2, 3, 3]" = torch.ops.aten.matmul.default(reshape, reshape_1)
        select: "f64[3, 4]" = torch.ops.aten.select.int(reshape, 0, 0)
        matmul_1: "f64[2, 3, 3]" = torch.ops.aten.matmul.default(select, reshape_1);  select = None
        select_1: "f64[4, 3]" = torch.ops.aten.select.int(reshape_1, 0, 0)
        matmul_2: "f64[2, 3, 3]" = torch.ops.aten.matmul.default(reshape, select_1);  select_1 = None
        select_2: "f64[3, 4]" = torch.ops.aten.select.int(reshape, 0, 0)
        select_3: "f64[4]" = torch.ops.aten.select.int(select_2, 0, 0);  select_2 = None
        matmul_3: "f64[2, 3]" = torch.ops.aten.matmul.default(select_3, reshape_1);  select_3 = None
        select_4: "f64[4, 3]" = torch.ops.aten.select.int(reshape_1, 0, 0)
        select_5: "f64[4]" = torch.ops.aten.select.int(select_4, 1, 0);  select_4 = None
        matmul_4: "f64[2, 3]" = torch.ops.aten.matmul.default(reshape, select_5);  select_5 = None
        select_6: "f64[3, 4]" = torch.ops.aten.select.int(reshape, 0, 0)
        select_7: "f64[4]" = torch.ops.aten.select.int(select_6, 0, 0);  select_6 = None
        select_8: "f64[4, 3]" = torch.ops.aten.select.int(reshape_1, 0, 0);  reshape_1 = None
        select_9: "f64[4]" = torch.ops.aten.select.int(select_8, 1, 0);  select_8 = None
        matmul_5: "f64[]" = torch.ops.aten.matmul.default(select_7, select_9);  select_7 = select_9 = None
        softmax: "f64[2, 3, 4]" = torch.ops.aten.softmax.int(reshape, -1)
        log_softmax: "f64[2, 3, 4]" = torch.ops.aten.log_softmax.int(reshape, 0)
        select_10: "f64[3, 4]" = torch.ops.aten.select.int(reshape, 0, 0)
        select_11: "f64[4]" = torch.ops.aten.select.int(select_10, 0, 0);  select_10 = None
        select_12: "f64[3, 4]" = torch.ops.aten.select.int(reshape, 0, 0)
        select_13: "f64[4]" = torch.ops.aten.select.int(select_12, 0, 1);  select_12 = None
        layer_norm: "f64[2, 3, 4]" = torch.ops.aten.layer_norm.default(reshape, [4], select_11, select_13);  select_11 = select_13 = None
        select_14: "f64[3, 4]" = torch.ops.aten.select.int(reshape, 0, 0)
        select_15: "f64[4]" = torch.ops.aten.select.int(select_14, 0, 0);  select_14 = None
        rms_norm: "f64[2, 3, 4]" = torch.ops.aten.rms_norm.default(reshape, [4], select_15, 0.001);  select_15 = None
        dropout: "f64[2, 3, 4]" = torch.ops.aten.dropout.default(reshape, 0.5, False);  reshape = None
        scaled_dot_product_attention: "f64[2, 3, 4]" = torch.ops.aten.scaled_dot_product_attention.default(dropout, dropout, dropout, None, 0.0, True)
        select_16: "f64[3, 4]" = torch.ops.aten.select.int(dropout, 0, 0)
        slice_1: "f64[3, 3]" = torch.ops.aten.slice.Tensor(select_16, 1, 0, 3);  select_16 = None
        gt: "b8[3, 3]" = torch.ops.aten.gt.Scalar(slice_1, 0);  slice_1 = None
        scaled_dot_product_attention_1: "f64[2, 3, 4]" = torch.ops.aten.scaled_dot_product_attention.default(dropout, dropout, dropout, gt);  gt = None
        select_17: "f64[3, 4]" = torch.ops.aten.select.int(dropout, 0, 0)
        arange_4: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_4: "f64[3]" = torch.ops.aten.mul.Tensor(arange_4, 2.3);  arange_4 = None
        sin_4: "f64[3]" = torch.ops.aten.sin.default(mul_4);  mul_4 = None
        abs_1: "f64[3]" = torch.ops.aten.abs.default(sin_4);  sin_4 = None
        mul_5: "f64[3]" = torch.ops.aten.mul.Tensor(abs_1, 3);  abs_1 = None
        floor: "f64[3]" = torch.ops.aten.floor.default(mul_5);  mul_5 = None
        to: "i64[3]" = torch.ops.aten.to.dtype(floor, torch.int64);  floor = None
        reshape_4: "i64[3]" = torch.ops.aten.reshape.default(to, [3]);  to = None
        cross_entropy_loss: "f64[]" = torch.ops.aten.cross_entropy_loss.default(select_17, reshape_4);  select_17 = reshape_4 = None
        mul_6: "f64[2, 3, 4]" = torch.ops.aten.mul.Tensor(dropout, 2)
        broadcast_tensors = torch.ops.aten.broadcast_tensors.default([dropout, mul_6]);  dropout = mul_6 = None
        getitem: "f64[2, 3, 4]" = broadcast_tensors[0]
        getitem_1: "f64[2, 3, 4]" = broadcast_tensors[1];  broadcast_tensors = None
        mse_loss: "f64[]" = torch.ops.aten.mse_loss.default(getitem, getitem_1);  getitem_1 = None
        select_18: "f64[3, 4]" = torch.ops.aten.select.int(getitem, 0, 0)
        arange_5: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_7: "f64[3]" = torch.ops.aten.mul.Tensor(arange_5, 2.3);  arange_5 = None
        sin_5: "f64[3]" = torch.ops.aten.sin.default(mul_7);  mul_7 = None
        abs_2: "f64[3]" = torch.ops.aten.abs.default(sin_5);  sin_5 = None
        mul_8: "f64[3]" = torch.ops.aten.mul.Tensor(abs_2, 3);  abs_2 = None
        floor_1: "f64[3]" = torch.ops.aten.floor.default(mul_8);  mul_8 = None
        to_1: "i64[3]" = torch.ops.aten.to.dtype(floor_1, torch.int64);  floor_1 = None
        reshape_5: "i64[3]" = torch.ops.aten.reshape.default(to_1, [3]);  to_1 = None
        nll_loss_nd: "f64[]" = torch.ops.aten.nll_loss_nd.default(select_18, reshape_5);  select_18 = reshape_5 = None
        flatten: "f64[24]" = torch.ops.aten.flatten.using_ints(getitem)
        type_as: "f64[2, 3, 4]" = torch.ops.aten.type_as.default(getitem, getitem);  getitem = None
        return (linear, linear_1, matmul, matmul_1, matmul_2, matmul_3, matmul_4, matmul_5, softmax, log_softmax, layer_norm, rms_norm, type_as, scaled_dot_product_attention, scaled_dot_product_attention_1, cross_entropy_loss, mse_loss, nll_loss_nd, type_as, flatten, type_as)

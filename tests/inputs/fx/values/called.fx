class all_of(torch.nn.Module):
    def forward(self):
        # No stacktrace found for following nodes
        arange: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul: "f64[6]" = torch.ops.aten.mul.Tensor(arange, 1.7);  arange = None
        add: "f64[6]" = torch.ops.aten.add.Tensor(mul, 0.3);  mul = None
        sin: "f64[6]" = torch.ops.aten.sin.default(add);  add = None
        view: "f64[2, 3]" = torch.ops.aten.view.default(sin, [2, 3]);  sin = None
        arange_1: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_1: "f64[6]" = torch.ops.aten.mul.Tensor(arange_1, 1.7);  arange_1 = None
        add_1: "f64[6]" = torch.ops.aten.add.Tensor(mul_1, 1.1);  mul_1 = None
        sin_1: "f64[6]" = torch.ops.aten.sin.default(add_1);  add_1 = None
        view_1: "f64[2, 3]" = torch.ops.aten.view.default(sin_1, [2, 3]);  sin_1 = None
        arange_2: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_2: "f64[6]" = torch.ops.aten.mul.Tensor(arange_2, 1.7);  arange_2 = None
        add_2: "f64[6]" = torch.ops.aten.add.Tensor(mul_2, 0.3);  mul_2 = None
        sin_2: "f64[6]" = torch.ops.aten.sin.default(add_2);  add_2 = None
        view_2: "f64[2, 3]" = torch.ops.aten.view.default(sin_2, [2, 3]);  sin_2 = None
        abs_1: "f64[2, 3]" = torch.ops.aten.abs.default(view_2);  view_2 = None
        add_3: "f64[2, 3]" = torch.ops.aten.add.Tensor(abs_1, 0.25);  abs_1 = None
        rsub: "f64[2, 3]" = torch.ops.aten.rsub.Tensor(view, view_1)
        lerp: "f64[2, 3]" = torch.ops.aten.lerp.Tensor(view, view_1, add_3)
        neg: "f64[2, 3]" = torch.ops.aten.neg.default(add_3)
        clamp: "f64[2, 3]" = torch.ops.aten.clamp.Tensor(view, neg, add_3);  neg = None
        arange_3: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_3: "f64[3]" = torch.ops.aten.mul.Tensor(arange_3, 2.3);  arange_3 = None
        sin_3: "f64[3]" = torch.ops.aten.sin.default(mul_3);  mul_3 = None
        abs_2: "f64[3]" = torch.ops.aten.abs.default(sin_3);  sin_3 = None
        mul_4: "f64[3]" = torch.ops.aten.mul.Tensor(abs_2, 5);  abs_2 = None
        floor: "f64[3]" = torch.ops.aten.floor.default(mul_4);  mul_4 = None
        _to_copy: "i64[3]" = torch.ops.aten._to_copy.default(floor, dtype = torch.int64);  floor = None
        view_3: "i64[3]" = torch.ops.aten.view.default(_to_copy, [3]);  _to_copy = None
        eq: "b8[3]" = torch.ops.aten.eq.Scalar(view_3, 2);  view_3 = None
        ne: "b8[2, 3]" = torch.ops.aten.ne.Tensor(view, view_1)
        ge: "b8[2, 3]" = torch.ops.aten.ge.Scalar(view, 0.1)
        gt: "b8[2, 3]" = torch.ops.aten.gt.Tensor(view, view_1)
        le: "b8[2, 3]" = torch.ops.aten.le.Scalar(view, 0)
        lt: "b8[2, 3]" = torch.ops.aten.lt.Tensor(view, view_1)
        sgn: "f64[2, 3]" = torch.ops.aten.sgn.default(view)
        pow_1: "f64[2, 3]" = torch.ops.aten.pow.Tensor_Scalar(view, 2)
        gt_1: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        gt_2: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_1, 0)
        logical_or: "b8[2, 3]" = torch.ops.aten.logical_or.default(gt_1, gt_2);  gt_1 = gt_2 = None
        gt_3: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        gt_4: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_1, 0)
        logical_xor: "b8[2, 3]" = torch.ops.aten.logical_xor.default(gt_3, gt_4);  gt_3 = gt_4 = None
        gt_5: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        gt_6: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_1, 0)
        bitwise_and: "b8[2, 3]" = torch.ops.aten.bitwise_and.Tensor(gt_5, gt_6);  gt_5 = gt_6 = None
        gt_7: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        scalar_tensor: "f64[]" = torch.ops.aten.scalar_tensor.default(2.0, dtype = torch.float64, layout = torch.strided, device = device(type='cpu'))
        where: "f64[2, 3]" = torch.ops.aten.where.self(gt_7, view, scalar_tensor);  gt_7 = scalar_tensor = None
        gt_8: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        scalar_tensor_1: "f64[]" = torch.ops.aten.scalar_tensor.default(2.0, dtype = torch.float64, layout = torch.strided, device = device(type='cpu'))
        where_1: "f64[2, 3]" = torch.ops.aten.where.self(gt_8, scalar_tensor_1, view);  gt_8 = scalar_tensor_1 = None
        gt_9: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        sum_1: "f64[]" = torch.ops.aten.sum.default(add_3);  add_3 = None
        masked_fill: "f64[2, 3]" = torch.ops.aten.masked_fill.Tensor(view, gt_9, sum_1);  gt_9 = sum_1 = None
        clone: "f64[2, 3]" = torch.ops.aten.clone.default(view)
        new_ones: "f64[2]" = torch.ops.aten.new_ones.default(view, [2])
        new_full: "f64[2]" = torch.ops.aten.new_full.default(view, [2], 1.5)
        scalar_tensor_2: "f64[]" = torch.ops.aten.scalar_tensor.default(1.5, dtype = torch.float64)
        arange_4: "i64[4]" = torch.ops.aten.arange.start(2, 6)
        gt_10: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        convert_element_type: "f64[2, 3]" = torch.ops.prims.convert_element_type.default(gt_10, torch.float64);  gt_10 = None
        iota: "i64[4]" = torch.ops.prims.iota.default(4, start = 3, step = 2, dtype = torch.int64, device = device(type='cpu'), requires_grad = False)
        view_copy: "f64[3, 2]" = torch.ops.aten.view_copy.default(view, [3, 2])
        slice_1: "f64[2, 1]" = torch.ops.aten.slice.Tensor(view, 1, 0, 1)
        squeeze: "f64[2]" = torch.ops.aten.squeeze.dims(slice_1, [1]);  slice_1 = None
        select: "f64[3]" = torch.ops.aten.select.int(view, 0, 0)
        select_1: "f64[3]" = torch.ops.aten.select.int(view_1, 0, 0);  view_1 = None
        dot: "f64[]" = torch.ops.aten.dot.default(select, select_1);  select = select_1 = None
        gt_11: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0.9)
        any_1: "b8[3]" = torch.ops.aten.any.dims(gt_11, [0]);  gt_11 = None
        split = torch.ops.aten.split.Tensor(view, 2, 1)
        getitem: "f64[2, 2]" = split[0];  getitem = None
        getitem_1: "f64[2, 1]" = split[1];  split = None
        arange_5: "f64[2]" = torch.ops.aten.arange.default(2, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_5: "f64[2]" = torch.ops.aten.mul.Tensor(arange_5, 2.3);  arange_5 = None
        sin_4: "f64[2]" = torch.ops.aten.sin.default(mul_5);  mul_5 = None
        abs_3: "f64[2]" = torch.ops.aten.abs.default(sin_4);  sin_4 = None
        mul_6: "f64[2]" = torch.ops.aten.mul.Tensor(abs_3, 3);  abs_3 = None
        floor_1: "f64[2]" = torch.ops.aten.floor.default(mul_6);  mul_6 = None
        _to_copy_1: "i64[2]" = torch.ops.aten._to_copy.default(floor_1, dtype = torch.int64);  floor_1 = None
        view_4: "i64[2]" = torch.ops.aten.view.default(_to_copy_1, [2]);  _to_copy_1 = None
        _unsafe_index: "f64[2, 2]" = torch.ops.aten._unsafe_index.Tensor(view, [None, view_4]);  view_4 = None
        slice_2: "f64[2, 2]" = torch.ops.aten.slice.Tensor(view, 1, 1, 3)
        view_5: "f64[2, 3, 1]" = torch.ops.aten.view.default(view, [2, 3, 1]);  view = None
        return (rsub, lerp, clamp, eq, ne, ge, gt, le, lt, sgn, pow_1, logical_or, logical_xor, bitwise_and, where, where_1, masked_fill, clone, new_ones, new_full, scalar_tensor_2, arange_4, convert_element_type, iota, view_copy, squeeze, dot, any_1, getitem_1, _unsafe_index, slice_2, view_5)

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
        abs_2: "f64[2, 3]" = torch.ops.aten.abs.default(view)
        ceil: "f64[2, 3]" = torch.ops.aten.ceil.default(view)
        floor: "f64[2, 3]" = torch.ops.aten.floor.default(view)
        neg: "f64[2, 3]" = torch.ops.aten.neg.default(view)
        mul_3: "f64[2, 3]" = torch.ops.aten.mul.Tensor(view, 3)
        round_1: "f64[2, 3]" = torch.ops.aten.round.default(mul_3);  mul_3 = None
        sign: "f64[2, 3]" = torch.ops.aten.sign.default(view)
        pow_1: "f64[2, 3]" = torch.ops.aten.pow.Tensor_Scalar(view, 2)
        cos: "f64[2, 3]" = torch.ops.aten.cos.default(view)
        erf: "f64[2, 3]" = torch.ops.aten.erf.default(view)
        exp: "f64[2, 3]" = torch.ops.aten.exp.default(view)
        expm1: "f64[2, 3]" = torch.ops.aten.expm1.default(view)
        log: "f64[2, 3]" = torch.ops.aten.log.default(add_3)
        log1p: "f64[2, 3]" = torch.ops.aten.log1p.default(add_3)
        rsqrt: "f64[2, 3]" = torch.ops.aten.rsqrt.default(add_3)
        sigmoid: "f64[2, 3]" = torch.ops.aten.sigmoid.default(view)
        sin_3: "f64[2, 3]" = torch.ops.aten.sin.default(view)
        sqrt: "f64[2, 3]" = torch.ops.aten.sqrt.default(add_3)
        tan: "f64[2, 3]" = torch.ops.aten.tan.default(view)
        tanh: "f64[2, 3]" = torch.ops.aten.tanh.default(view)
        reciprocal: "f64[2, 3]" = torch.ops.aten.reciprocal.default(add_3)
        add_4: "f64[2, 3]" = torch.ops.aten.add.Tensor(view, view_1)
        add_5: "f64[2, 3]" = torch.ops.aten.add.Tensor(view, view_1, alpha = 2)
        add_6: "f64[2, 3]" = torch.ops.aten.add.Tensor(view, 3)
        sub: "f64[2, 3]" = torch.ops.aten.sub.Tensor(view, view_1)
        sub_1: "f64[2, 3]" = torch.ops.aten.sub.Tensor(view, view_1, alpha = 0.5)
        rsub: "f64[2, 3]" = torch.ops.aten.rsub.Scalar(view, 2)
        mul_4: "f64[2, 3]" = torch.ops.aten.mul.Tensor(view, view_1)
        mul_5: "f64[2, 3]" = torch.ops.aten.mul.Tensor(view, 0.3)
        div: "f64[2, 3]" = torch.ops.aten.div.Tensor(view, view_1)
        div_1: "f64[2, 3]" = torch.ops.aten.div.Tensor(view, 7)
        maximum: "f64[2, 3]" = torch.ops.aten.maximum.default(view, view_1)
        minimum: "f64[2, 3]" = torch.ops.aten.minimum.default(view, view_1)
        pow_2: "f64[2, 3]" = torch.ops.aten.pow.Tensor_Scalar(add_3, 2)
        pow_3: "f64[2, 3]" = torch.ops.aten.pow.Tensor_Scalar(add_3, -0.5)
        pow_4: "f64[2, 3]" = torch.ops.aten.pow.Tensor_Tensor(add_3, view_1)
        pow_5: "f64[2, 3]" = torch.ops.aten.pow.Scalar(2.0, view_1)
        addcmul: "f64[2, 3]" = torch.ops.aten.addcmul.default(view, view_1, add_3, value = 0.3)
        addcdiv: "f64[2, 3]" = torch.ops.aten.addcdiv.default(view, view_1, add_3, value = 0.3);  add_3 = None
        lerp: "f64[2, 3]" = torch.ops.aten.lerp.Scalar(view, view_1, 0.3)
        clamp: "f64[2, 3]" = torch.ops.aten.clamp.default(view, -0.5, 0.5)
        clamp_1: "f64[2, 3]" = torch.ops.aten.clamp.default(view, 0)
        clamp_min: "f64[2, 3]" = torch.ops.aten.clamp_min.default(view, 0.1)
        eq: "b8[2, 3]" = torch.ops.aten.eq.Tensor(view, view_1)
        ne: "b8[2, 3]" = torch.ops.aten.ne.Scalar(view, 0)
        ge: "b8[2, 3]" = torch.ops.aten.ge.Tensor(view, view_1)
        gt: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        le: "b8[2, 3]" = torch.ops.aten.le.Tensor(view, view_1)
        lt: "b8[2, 3]" = torch.ops.aten.lt.Scalar(view, 0.2)
        gt_1: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        where: "f64[2, 3]" = torch.ops.aten.where.self(gt_1, view, view_1);  gt_1 = None
        gt_2: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        masked_fill: "f64[2, 3]" = torch.ops.aten.masked_fill.Scalar(view, gt_2, -3.0);  gt_2 = None
        gt_3: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        gt_4: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_1, 0)
        logical_and: "b8[2, 3]" = torch.ops.aten.logical_and.default(gt_3, gt_4);  gt_3 = gt_4 = None
        gt_5: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        gt_6: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_1, 0)
        bitwise_or: "b8[2, 3]" = torch.ops.aten.bitwise_or.Tensor(gt_5, gt_6);  gt_5 = gt_6 = None
        gt_7: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        bitwise_not: "b8[2, 3]" = torch.ops.aten.bitwise_not.default(gt_7);  gt_7 = None
        gt_8: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        gt_9: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_1, 0)
        bitwise_xor: "b8[2, 3]" = torch.ops.aten.bitwise_xor.Tensor(gt_8, gt_9);  gt_8 = gt_9 = None
        logical_not: "b8[2, 3]" = torch.ops.aten.logical_not.default(view)
        select: "f64[3]" = torch.ops.aten.select.int(view, 0, 0)
        add_7: "f64[2, 3]" = torch.ops.aten.add.Tensor(select, view_1);  select = None
        slice_1: "f64[2, 1]" = torch.ops.aten.slice.Tensor(view_1, 1, 0, 1);  view_1 = None
        mul_6: "f64[2, 3]" = torch.ops.aten.mul.Tensor(view, slice_1);  slice_1 = None
        arange_3: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_7: "f64[6]" = torch.ops.aten.mul.Tensor(arange_3, 2.3);  arange_3 = None
        sin_4: "f64[6]" = torch.ops.aten.sin.default(mul_7);  mul_7 = None
        abs_3: "f64[6]" = torch.ops.aten.abs.default(sin_4);  sin_4 = None
        mul_8: "f64[6]" = torch.ops.aten.mul.Tensor(abs_3, 5);  abs_3 = None
        floor_1: "f64[6]" = torch.ops.aten.floor.default(mul_8);  mul_8 = None
        _to_copy: "i64[6]" = torch.ops.aten._to_copy.default(floor_1, dtype = torch.int64);  floor_1 = None
        view_3: "i64[2, 3]" = torch.ops.aten.view.default(_to_copy, [2, 3]);  _to_copy = None
        add_8: "i64[2, 3]" = torch.ops.aten.add.Tensor(view_3, 1);  view_3 = None
        arange_4: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_9: "f64[6]" = torch.ops.aten.mul.Tensor(arange_4, 2.3);  arange_4 = None
        sin_5: "f64[6]" = torch.ops.aten.sin.default(mul_9);  mul_9 = None
        abs_4: "f64[6]" = torch.ops.aten.abs.default(sin_5);  sin_5 = None
        mul_10: "f64[6]" = torch.ops.aten.mul.Tensor(abs_4, 5);  abs_4 = None
        floor_2: "f64[6]" = torch.ops.aten.floor.default(mul_10);  mul_10 = None
        _to_copy_1: "i64[6]" = torch.ops.aten._to_copy.default(floor_2, dtype = torch.int64);  floor_2 = None
        view_4: "i64[2, 3]" = torch.ops.aten.view.default(_to_copy_1, [2, 3]);  _to_copy_1 = None
        mul_11: "f64[2, 3]" = torch.ops.aten.mul.Tensor(view_4, view);  view_4 = None
        arange_5: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_12: "f64[6]" = torch.ops.aten.mul.Tensor(arange_5, 2.3);  arange_5 = None
        sin_6: "f64[6]" = torch.ops.aten.sin.default(mul_12);  mul_12 = None
        abs_5: "f64[6]" = torch.ops.aten.abs.default(sin_6);  sin_6 = None
        mul_13: "f64[6]" = torch.ops.aten.mul.Tensor(abs_5, 5);  abs_5 = None
        floor_3: "f64[6]" = torch.ops.aten.floor.default(mul_13);  mul_13 = None
        _to_copy_2: "i64[6]" = torch.ops.aten._to_copy.default(floor_3, dtype = torch.int64);  floor_3 = None
        view_5: "i64[2, 3]" = torch.ops.aten.view.default(_to_copy_2, [2, 3]);  _to_copy_2 = None
        div_2: "f32[2, 3]" = torch.ops.aten.div.Tensor(view_5, 2);  view_5 = None
        arange_6: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_14: "f64[6]" = torch.ops.aten.mul.Tensor(arange_6, 2.3);  arange_6 = None
        sin_7: "f64[6]" = torch.ops.aten.sin.default(mul_14);  mul_14 = None
        abs_6: "f64[6]" = torch.ops.aten.abs.default(sin_7);  sin_7 = None
        mul_15: "f64[6]" = torch.ops.aten.mul.Tensor(abs_6, 5);  abs_6 = None
        floor_4: "f64[6]" = torch.ops.aten.floor.default(mul_15);  mul_15 = None
        _to_copy_3: "i64[6]" = torch.ops.aten._to_copy.default(floor_4, dtype = torch.int64);  floor_4 = None
        view_6: "i64[2, 3]" = torch.ops.aten.view.default(_to_copy_3, [2, 3]);  _to_copy_3 = None
        gt_10: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view_6, 1);  view_6 = None
        gt_11: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0)
        mul_16: "i64[2, 3]" = torch.ops.aten.mul.Tensor(gt_11, 3);  gt_11 = None
        _to_copy_4: "i64[2, 3]" = torch.ops.aten._to_copy.default(view, dtype = torch.int64)
        arange_7: "f64[6]" = torch.ops.aten.arange.default(6, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_17: "f64[6]" = torch.ops.aten.mul.Tensor(arange_7, 2.3);  arange_7 = None
        sin_8: "f64[6]" = torch.ops.aten.sin.default(mul_17);  mul_17 = None
        abs_7: "f64[6]" = torch.ops.aten.abs.default(sin_8);  sin_8 = None
        mul_18: "f64[6]" = torch.ops.aten.mul.Tensor(abs_7, 5);  abs_7 = None
        floor_5: "f64[6]" = torch.ops.aten.floor.default(mul_18);  mul_18 = None
        _to_copy_5: "i64[6]" = torch.ops.aten._to_copy.default(floor_5, dtype = torch.int64);  floor_5 = None
        view_7: "i64[2, 3]" = torch.ops.aten.view.default(_to_copy_5, [2, 3]);  _to_copy_5 = None
        _to_copy_6: "f64[2, 3]" = torch.ops.aten._to_copy.default(view_7, dtype = torch.float64);  view_7 = None
        gt_12: "b8[2, 3]" = torch.ops.aten.gt.Scalar(view, 0);  view = None
        _to_copy_7: "f64[2, 3]" = torch.ops.aten._to_copy.default(gt_12, dtype = torch.float64);  gt_12 = None
        arange_8: "f64[3]" = torch.ops.aten.arange.default(3, dtype = torch.float64, device = device(type='cpu'), pin_memory = False)
        mul_19: "f64[3]" = torch.ops.aten.mul.Tensor(arange_8, 2.3);  arange_8 = None
        sin_9: "f64[3]" = torch.ops.aten.sin.default(mul_19);  mul_19 = None
        abs_8: "f64[3]" = torch.ops.aten.abs.default(sin_9);  sin_9 = None
        mul_20: "f64[3]" = torch.ops.aten.mul.Tensor(abs_8, 5);  abs_8 = None
        floor_6: "f64[3]" = torch.ops.aten.floor.default(mul_20);  mul_20 = None
        _to_copy_8: "i64[3]" = torch.ops.aten._to_copy.default(floor_6, dtype = torch.int64);  floor_6 = None
        view_8: "i64[3]" = torch.ops.aten.view.default(_to_copy_8, [3]);  _to_copy_8 = None
        mul_21: "i64[3]" = torch.ops.aten.mul.Tensor(view_8, 2);  view_8 = None
        sub_2: "i64[3]" = torch.ops.aten.sub.Tensor(mul_21, 3);  mul_21 = None
        abs_9: "i64[3]" = torch.ops.aten.abs.default(sub_2);  sub_2 = None
        return (abs_2, ceil, floor, neg, round_1, sign, pow_1, cos, erf, exp, expm1, log, log1p, rsqrt, sigmoid, sin_3, sqrt, tan, tanh, reciprocal, add_4, add_5, add_6, sub, sub_1, rsub, mul_4, mul_5, div, div_1, maximum, minimum, pow_2, pow_3, pow_4, pow_5, addcmul, addcdiv, lerp, clamp, clamp_1, clamp_min, eq, ne, ge, gt, le, lt, where, masked_fill, logical_and, bitwise_or, bitwise_not, bitwise_xor, logical_not, add_7, mul_6, add_8, mul_11, div_2, gt_10, mul_16, _to_copy_4, _to_copy_6, _to_copy_7, abs_9)

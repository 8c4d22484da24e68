class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[6, 8]"; primals_3: "f32[8, 8]"; primals_5: "f32[4, 16]"; primals_7: "f32[4]"; primals_9: "i64[2, 4]"; tangents_1: "f32[2, 4, 12]";

        primals_1, primals_2, primals_3, primals_4, primals_5, primals_6, primals_7, primals_8, primals_9, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        all_gather_into_tensor: "f32[12, 8]" = torch.ops._c10d_functional.all_gather_into_tensor.default(primals_1, 2, '0')
        wait_tensor: "f32[12, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor);  all_gather_into_tensor = None

        # File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view: "f32[12, 8]" = torch.ops.aten.view.default(wait_tensor, [12, 8]);  wait_tensor = None

        # File: equal_pytorch.py:76 in forward, code: x = F.embedding(words, self.whole(self.embed))
        embedding: "f32[2, 4, 8]" = torch.ops.aten.embedding.default(view, primals_9);  view = None

        # File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        all_gather_into_tensor_1: "f32[8]" = torch.ops._c10d_functional.all_gather_into_tensor.default(primals_7, 2, '0');  primals_7 = None
        wait_tensor_1: "f32[8]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor_1);  all_gather_into_tensor_1 = None

        # File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_1: "f32[8]" = torch.ops.aten.view.default(wait_tensor_1, [8]);  wait_tensor_1 = None

        # File: /site-packages/torch/nn/functional.py:3012 in rms_norm, code: return torch.rms_norm(input, normalized_shape, weight, eps)
        pow_1: "f32[2, 4, 8]" = torch.ops.aten.pow.Tensor_Scalar(embedding, 2)
        mean: "f32[2, 4, 1]" = torch.ops.aten.mean.dim(pow_1, [2], True);  pow_1 = None
        add: "f32[2, 4, 1]" = torch.ops.aten.add.Scalar(mean, 9.999999747378752e-06);  mean = None
        rsqrt: "f32[2, 4, 1]" = torch.ops.aten.rsqrt.default(add);  add = None
        detach: "f32[2, 4, 1]" = torch.ops.aten.detach.default(rsqrt)
        mul: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(embedding, rsqrt)
        mul_1: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(mul, view_1)

        # File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        all_gather_into_tensor_2: "f32[16, 8]" = torch.ops._c10d_functional.all_gather_into_tensor.default(primals_3, 2, '0');  primals_3 = None
        wait_tensor_2: "f32[16, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor_2);  all_gather_into_tensor_2 = None

        # File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_2: "f32[16, 8]" = torch.ops.aten.view.default(wait_tensor_2, [16, 8]);  wait_tensor_2 = None

        # File: equal_pytorch.py:78 in forward, code: x = x + F.silu(h @ self.whole(self.up).t()) @ self.whole(self.down).t()
        t: "f32[8, 16]" = torch.ops.aten.t.default(view_2);  view_2 = None
        view_3: "f32[8, 8]" = torch.ops.aten.view.default(mul_1, [8, 8]);  mul_1 = None
        mm: "f32[8, 16]" = torch.ops.aten.mm.default(view_3, t)
        _unsafe_view: "f32[2, 4, 16]" = torch.ops.aten._unsafe_view.default(mm, [2, 4, 16]);  mm = None
        silu: "f32[2, 4, 16]" = torch.ops.aten.silu.default(_unsafe_view)

        # File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        all_gather_into_tensor_3: "f32[8, 16]" = torch.ops._c10d_functional.all_gather_into_tensor.default(primals_5, 2, '0');  primals_5 = None
        wait_tensor_3: "f32[8, 16]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor_3);  all_gather_into_tensor_3 = None

        # File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_4: "f32[8, 16]" = torch.ops.aten.view.default(wait_tensor_3, [8, 16]);  wait_tensor_3 = None

        # File: equal_pytorch.py:78 in forward, code: x = x + F.silu(h @ self.whole(self.up).t()) @ self.whole(self.down).t()
        t_1: "f32[16, 8]" = torch.ops.aten.t.default(view_4);  view_4 = None
        view_5: "f32[8, 16]" = torch.ops.aten.view.default(silu, [8, 16]);  silu = None
        mm_1: "f32[8, 8]" = torch.ops.aten.mm.default(view_5, t_1)
        _unsafe_view_1: "f32[2, 4, 8]" = torch.ops.aten._unsafe_view.default(mm_1, [2, 4, 8]);  mm_1 = None
        add_1: "f32[2, 4, 8]" = torch.ops.aten.add.Tensor(embedding, _unsafe_view_1);  _unsafe_view_1 = None

        # File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        all_gather_into_tensor_4: "f32[12, 8]" = torch.ops._c10d_functional.all_gather_into_tensor.default(primals_1, 2, '0');  primals_1 = None
        wait_tensor_4: "f32[12, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor_4);  all_gather_into_tensor_4 = None

        # File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_6: "f32[12, 8]" = torch.ops.aten.view.default(wait_tensor_4, [12, 8]);  wait_tensor_4 = None

        # File: equal_pytorch.py:79 in forward, code: return torch.log_softmax(x @ self.whole(self.embed).t(), -1)
        t_2: "f32[8, 12]" = torch.ops.aten.t.default(view_6);  view_6 = None
        view_7: "f32[8, 8]" = torch.ops.aten.view.default(add_1, [8, 8]);  add_1 = None
        mm_2: "f32[8, 12]" = torch.ops.aten.mm.default(view_7, t_2)
        _unsafe_view_2: "f32[2, 4, 12]" = torch.ops.aten._unsafe_view.default(mm_2, [2, 4, 12]);  mm_2 = None
        _log_softmax: "f32[2, 4, 12]" = torch.ops.aten._log_softmax.default(_unsafe_view_2, -1, False);  _unsafe_view_2 = None
        detach_1: "f32[2, 4, 12]" = torch.ops.aten.detach.default(_log_softmax)

        # Backward of forward node: File: equal_pytorch.py:79 in forward, code: return torch.log_softmax(x @ self.whole(self.embed).t(), -1)
        detach_2: "f32[2, 4, 12]" = torch.ops.aten.detach.default(detach_1);  detach_1 = None
        _log_softmax_backward_data: "f32[2, 4, 12]" = torch.ops.aten._log_softmax_backward_data.default(tangents_1, detach_2, -1, torch.float32);  tangents_1 = detach_2 = None
        view_8: "f32[8, 12]" = torch.ops.aten.view.default(_log_softmax_backward_data, [8, 12]);  _log_softmax_backward_data = None
        t_3: "f32[12, 8]" = torch.ops.aten.t.default(view_8)
        mm_3: "f32[12, 8]" = torch.ops.aten.mm.default(t_3, view_7);  t_3 = view_7 = None
        t_4: "f32[8, 12]" = torch.ops.aten.t.default(mm_3);  mm_3 = None
        t_5: "f32[12, 8]" = torch.ops.aten.t.default(t_2);  t_2 = None
        mm_4: "f32[8, 8]" = torch.ops.aten.mm.default(view_8, t_5);  view_8 = t_5 = None
        view_9: "f32[2, 4, 8]" = torch.ops.aten.view.default(mm_4, [2, 4, 8]);  mm_4 = None
        t_6: "f32[12, 8]" = torch.ops.aten.t.default(t_4);  t_4 = None

        # Backward of forward node: File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_10: "f32[12, 8]" = torch.ops.aten.view.default(t_6, [12, 8]);  t_6 = None

        # Backward of forward node: File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        reduce_scatter_tensor: "f32[6, 8]" = torch.ops._c10d_functional.reduce_scatter_tensor.default(view_10, 'sum', 2, '0');  view_10 = None
        wait_tensor_5: "f32[6, 8]" = torch.ops._c10d_functional.wait_tensor.default(reduce_scatter_tensor);  reduce_scatter_tensor = None

        # Backward of forward node: File: equal_pytorch.py:78 in forward, code: x = x + F.silu(h @ self.whole(self.up).t()) @ self.whole(self.down).t()
        view_11: "f32[8, 8]" = torch.ops.aten.view.default(view_9, [8, 8])
        t_7: "f32[8, 8]" = torch.ops.aten.t.default(view_11)
        mm_5: "f32[8, 16]" = torch.ops.aten.mm.default(t_7, view_5);  t_7 = view_5 = None
        t_8: "f32[16, 8]" = torch.ops.aten.t.default(mm_5);  mm_5 = None
        t_9: "f32[8, 16]" = torch.ops.aten.t.default(t_1);  t_1 = None
        mm_6: "f32[8, 16]" = torch.ops.aten.mm.default(view_11, t_9);  view_11 = t_9 = None
        view_12: "f32[2, 4, 16]" = torch.ops.aten.view.default(mm_6, [2, 4, 16]);  mm_6 = None
        t_10: "f32[8, 16]" = torch.ops.aten.t.default(t_8);  t_8 = None

        # Backward of forward node: File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_13: "f32[8, 16]" = torch.ops.aten.view.default(t_10, [8, 16]);  t_10 = None

        # Backward of forward node: File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        reduce_scatter_tensor_1: "f32[4, 16]" = torch.ops._c10d_functional.reduce_scatter_tensor.default(view_13, 'sum', 2, '0');  view_13 = None
        wait_tensor_6: "f32[4, 16]" = torch.ops._c10d_functional.wait_tensor.default(reduce_scatter_tensor_1);  reduce_scatter_tensor_1 = None

        # Backward of forward node: File: equal_pytorch.py:78 in forward, code: x = x + F.silu(h @ self.whole(self.up).t()) @ self.whole(self.down).t()
        silu_backward: "f32[2, 4, 16]" = torch.ops.aten.silu_backward.default(view_12, _unsafe_view);  view_12 = _unsafe_view = None
        view_14: "f32[8, 16]" = torch.ops.aten.view.default(silu_backward, [8, 16]);  silu_backward = None
        t_11: "f32[16, 8]" = torch.ops.aten.t.default(view_14)
        mm_7: "f32[16, 8]" = torch.ops.aten.mm.default(t_11, view_3);  t_11 = view_3 = None
        t_12: "f32[8, 16]" = torch.ops.aten.t.default(mm_7);  mm_7 = None
        t_13: "f32[16, 8]" = torch.ops.aten.t.default(t);  t = None
        mm_8: "f32[8, 8]" = torch.ops.aten.mm.default(view_14, t_13);  view_14 = t_13 = None
        view_15: "f32[2, 4, 8]" = torch.ops.aten.view.default(mm_8, [2, 4, 8]);  mm_8 = None
        t_14: "f32[16, 8]" = torch.ops.aten.t.default(t_12);  t_12 = None

        # Backward of forward node: File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_16: "f32[16, 8]" = torch.ops.aten.view.default(t_14, [16, 8]);  t_14 = None

        # Backward of forward node: File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        reduce_scatter_tensor_2: "f32[8, 8]" = torch.ops._c10d_functional.reduce_scatter_tensor.default(view_16, 'sum', 2, '0');  view_16 = None
        wait_tensor_7: "f32[8, 8]" = torch.ops._c10d_functional.wait_tensor.default(reduce_scatter_tensor_2);  reduce_scatter_tensor_2 = None

        # Backward of forward node: File: /site-packages/torch/nn/functional.py:3012 in rms_norm, code: return torch.rms_norm(input, normalized_shape, weight, eps)
        mul_2: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(view_15, mul);  mul = None
        mul_3: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(view_15, view_1);  view_15 = view_1 = None
        sum_1: "f32[1, 1, 8]" = torch.ops.aten.sum.dim_IntList(mul_2, [0, 1], True);  mul_2 = None
        view_17: "f32[8]" = torch.ops.aten.view.default(sum_1, [8]);  sum_1 = None
        mul_4: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(mul_3, embedding)
        mul_5: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(mul_3, rsqrt);  mul_3 = rsqrt = None
        sum_2: "f32[2, 4, 1]" = torch.ops.aten.sum.dim_IntList(mul_4, [2], True);  mul_4 = None
        add_2: "f32[2, 4, 8]" = torch.ops.aten.add.Tensor(view_9, mul_5);  view_9 = mul_5 = None
        detach_3: "f32[2, 4, 1]" = torch.ops.aten.detach.default(detach);  detach = None
        pow_2: "f32[2, 4, 1]" = torch.ops.aten.pow.Tensor_Scalar(detach_3, 3);  detach_3 = None
        mul_6: "f32[2, 4, 1]" = torch.ops.aten.mul.Scalar(sum_2, -0.5);  sum_2 = None
        mul_7: "f32[2, 4, 1]" = torch.ops.aten.mul.Tensor(mul_6, pow_2);  mul_6 = pow_2 = None
        expand: "f32[2, 4, 8]" = torch.ops.aten.expand.default(mul_7, [2, 4, 8]);  mul_7 = None
        div: "f32[2, 4, 8]" = torch.ops.aten.div.Scalar(expand, 8);  expand = None
        pow_3: "f32[2, 4, 8]" = torch.ops.aten.pow.Tensor_Scalar(embedding, 1.0);  embedding = None
        mul_8: "f32[2, 4, 8]" = torch.ops.aten.mul.Scalar(pow_3, 2.0);  pow_3 = None
        mul_9: "f32[2, 4, 8]" = torch.ops.aten.mul.Tensor(div, mul_8);  div = mul_8 = None
        add_3: "f32[2, 4, 8]" = torch.ops.aten.add.Tensor(add_2, mul_9);  add_2 = mul_9 = None

        # Backward of forward node: File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_18: "f32[8]" = torch.ops.aten.view.default(view_17, [8]);  view_17 = None

        # Backward of forward node: File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        reduce_scatter_tensor_3: "f32[4]" = torch.ops._c10d_functional.reduce_scatter_tensor.default(view_18, 'sum', 2, '0');  view_18 = None
        wait_tensor_8: "f32[4]" = torch.ops._c10d_functional.wait_tensor.default(reduce_scatter_tensor_3);  reduce_scatter_tensor_3 = None

        # Backward of forward node: File: equal_pytorch.py:76 in forward, code: x = F.embedding(words, self.whole(self.embed))
        embedding_dense_backward: "f32[12, 8]" = torch.ops.aten.embedding_dense_backward.default(add_3, primals_9, 12, -1, False);  add_3 = primals_9 = None

        # Backward of forward node: File: equal_pytorch.py:73 in whole, code: return gathered.to_local(grad_placements=[Partial(self.reduction)])
        view_19: "f32[12, 8]" = torch.ops.aten.view.default(embedding_dense_backward, [12, 8]);  embedding_dense_backward = None

        # Backward of forward node: File: equal_pytorch.py:72 in whole, code: gathered = weight.redistribute(placements=[Replicate()])
        reduce_scatter_tensor_4: "f32[6, 8]" = torch.ops._c10d_functional.reduce_scatter_tensor.default(view_19, 'sum', 2, '0');  view_19 = None
        wait_tensor_9: "f32[6, 8]" = torch.ops._c10d_functional.wait_tensor.default(reduce_scatter_tensor_4);  reduce_scatter_tensor_4 = None
        add_4: "f32[6, 8]" = torch.ops.aten.add.Tensor(wait_tensor_5, wait_tensor_9);  wait_tensor_5 = wait_tensor_9 = None
        return pytree.tree_unflatten([_log_softmax, add_4, primals_2, wait_tensor_7, primals_2, wait_tensor_6, primals_2, wait_tensor_8, primals_2, None], self._out_spec)

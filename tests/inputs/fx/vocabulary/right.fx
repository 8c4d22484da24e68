class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[6, 8]"; primals_3: "f32[6, 8]"; primals_5: "i64[4, 4]"; tangents_1: "f32[4, 4, 12]";

        primals_1, primals_2, primals_3, primals_4, primals_5, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: /site-packages/torch/distributed/tensor/parallel/style.py:237 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view: "i64[4, 4]" = torch.ops.aten.view.default(primals_5, [4, 4]);  primals_5 = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        lt: "b8[4, 4]" = torch.ops.aten.lt.Scalar(view, 0)
        ge: "b8[4, 4]" = torch.ops.aten.ge.Scalar(view, 6)
        bitwise_or: "b8[4, 4]" = torch.ops.aten.bitwise_or.Tensor(lt, ge);  lt = ge = None
        clone: "i64[4, 4]" = torch.ops.aten.clone.default(view)
        sub: "i64[4, 4]" = torch.ops.aten.sub.Tensor(clone, 0);  clone = None
        masked_fill: "i64[4, 4]" = torch.ops.aten.masked_fill.Scalar(sub, bitwise_or, 0);  sub = None
        embedding: "f32[4, 4, 8]" = torch.ops.aten.embedding.default(primals_1, masked_fill);  primals_1 = masked_fill = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:298 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        unsqueeze: "b8[4, 4, 1]" = torch.ops.aten.unsqueeze.default(bitwise_or, -1);  bitwise_or = None
        masked_fill_1: "f32[4, 4, 8]" = torch.ops.aten.masked_fill.Scalar(embedding, unsqueeze, 0.0);  embedding = unsqueeze = None
        all_reduce: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(masked_fill_1, 'sum', '0');  masked_fill_1 = None
        wait_tensor: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce);  all_reduce = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_1: "f32[4, 4, 8]" = torch.ops.aten.view.default(wait_tensor, [4, 4, 8]);  wait_tensor = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        tanh: "f32[4, 4, 8]" = torch.ops.aten.tanh.default(view_1);  view_1 = None
        detach: "f32[4, 4, 8]" = torch.ops.aten.detach.default(tanh)

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_2: "f32[4, 4, 8]" = torch.ops.aten.view.default(tanh, [4, 4, 8]);  tanh = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        t: "f32[8, 6]" = torch.ops.aten.t.default(primals_3);  primals_3 = None
        view_3: "f32[16, 8]" = torch.ops.aten.view.default(view_2, [16, 8]);  view_2 = None
        mm: "f32[16, 6]" = torch.ops.aten.mm.default(view_3, t)
        _unsafe_view: "f32[4, 4, 6]" = torch.ops.aten._unsafe_view.default(mm, [4, 4, 6]);  mm = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:149 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        all_gather_into_tensor: "f32[8, 4, 6]" = torch.ops._c10d_functional.all_gather_into_tensor.default(_unsafe_view, 2, '0');  _unsafe_view = None
        wait_tensor_1: "f32[8, 4, 6]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor);  all_gather_into_tensor = None
        split = torch.ops.aten.split.Tensor(wait_tensor_1, 4);  wait_tensor_1 = None
        getitem: "f32[4, 4, 6]" = split[0]
        getitem_1: "f32[4, 4, 6]" = split[1];  split = None
        cat: "f32[4, 4, 12]" = torch.ops.aten.cat.default([getitem, getitem_1], 2);  getitem = getitem_1 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_4: "f32[4, 4, 12]" = torch.ops.aten.view.default(cat, [4, 4, 12]);  cat = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        _log_softmax: "f32[4, 4, 12]" = torch.ops.aten._log_softmax.default(view_4, -1, False);  view_4 = None
        detach_1: "f32[4, 4, 12]" = torch.ops.aten.detach.default(_log_softmax)

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        detach_2: "f32[4, 4, 12]" = torch.ops.aten.detach.default(detach_1);  detach_1 = None
        _log_softmax_backward_data: "f32[4, 4, 12]" = torch.ops.aten._log_softmax_backward_data.default(tangents_1, detach_2, -1, torch.float32);  tangents_1 = detach_2 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_5: "f32[4, 4, 12]" = torch.ops.aten.view.default(_log_softmax_backward_data, [4, 4, 12]);  _log_softmax_backward_data = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:149 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        split_1 = torch.ops.aten.split.Tensor(view_5, 6, 2);  view_5 = None
        getitem_2: "f32[4, 4, 6]" = split_1[0];  split_1 = None
        clone_1: "f32[4, 4, 6]" = torch.ops.aten.clone.default(getitem_2);  getitem_2 = None

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        view_6: "f32[16, 6]" = torch.ops.aten.view.default(clone_1, [16, 6]);  clone_1 = None
        t_1: "f32[6, 16]" = torch.ops.aten.t.default(view_6)
        mm_1: "f32[6, 8]" = torch.ops.aten.mm.default(t_1, view_3);  t_1 = view_3 = None
        t_2: "f32[8, 6]" = torch.ops.aten.t.default(mm_1);  mm_1 = None
        t_3: "f32[6, 8]" = torch.ops.aten.t.default(t);  t = None
        mm_2: "f32[16, 8]" = torch.ops.aten.mm.default(view_6, t_3);  view_6 = t_3 = None
        view_7: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_2, [4, 4, 8]);  mm_2 = None
        t_4: "f32[6, 8]" = torch.ops.aten.t.default(t_2);  t_2 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        all_reduce_1: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(view_7, 'sum', '0');  view_7 = None
        wait_tensor_2: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_1);  all_reduce_1 = None

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        detach_3: "f32[4, 4, 8]" = torch.ops.aten.detach.default(detach);  detach = None
        tanh_backward: "f32[4, 4, 8]" = torch.ops.aten.tanh_backward.default(wait_tensor_2, detach_3);  wait_tensor_2 = detach_3 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_8: "f32[4, 4, 8]" = torch.ops.aten.view.default(tanh_backward, [4, 4, 8]);  tanh_backward = None

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        embedding_dense_backward: "f32[12, 8]" = torch.ops.aten.embedding_dense_backward.default(view_8, view, 12, -1, False);  view_8 = view = None
        return pytree.tree_unflatten([_log_softmax, embedding_dense_backward, primals_2, t_4, primals_2, None], self._out_spec)
class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[6, 8]"; primals_3: "f32[6, 8]"; primals_5: "i64[4, 4]"; tangents_1: "f32[4, 4, 12]";

        primals_1, primals_2, primals_3, primals_4, primals_5, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: /site-packages/torch/distributed/tensor/parallel/style.py:237 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view: "i64[4, 4]" = torch.ops.aten.view.default(primals_5, [4, 4]);  primals_5 = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        lt: "b8[4, 4]" = torch.ops.aten.lt.Scalar(view, 6)
        ge: "b8[4, 4]" = torch.ops.aten.ge.Scalar(view, 12)
        bitwise_or: "b8[4, 4]" = torch.ops.aten.bitwise_or.Tensor(lt, ge);  lt = ge = None
        clone: "i64[4, 4]" = torch.ops.aten.clone.default(view)
        sub: "i64[4, 4]" = torch.ops.aten.sub.Tensor(clone, 6);  clone = None
        masked_fill: "i64[4, 4]" = torch.ops.aten.masked_fill.Scalar(sub, bitwise_or, 0);  sub = None
        embedding: "f32[4, 4, 8]" = torch.ops.aten.embedding.default(primals_1, masked_fill);  primals_1 = masked_fill = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:298 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        unsqueeze: "b8[4, 4, 1]" = torch.ops.aten.unsqueeze.default(bitwise_or, -1);  bitwise_or = None
        masked_fill_1: "f32[4, 4, 8]" = torch.ops.aten.masked_fill.Scalar(embedding, unsqueeze, 0.0);  embedding = unsqueeze = None
        all_reduce: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(masked_fill_1, 'sum', '0');  masked_fill_1 = None
        wait_tensor: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce);  all_reduce = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_1: "f32[4, 4, 8]" = torch.ops.aten.view.default(wait_tensor, [4, 4, 8]);  wait_tensor = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        tanh: "f32[4, 4, 8]" = torch.ops.aten.tanh.default(view_1);  view_1 = None
        detach: "f32[4, 4, 8]" = torch.ops.aten.detach.default(tanh)

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_2: "f32[4, 4, 8]" = torch.ops.aten.view.default(tanh, [4, 4, 8]);  tanh = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        t: "f32[8, 6]" = torch.ops.aten.t.default(primals_3);  primals_3 = None
        view_3: "f32[16, 8]" = torch.ops.aten.view.default(view_2, [16, 8]);  view_2 = None
        mm: "f32[16, 6]" = torch.ops.aten.mm.default(view_3, t)
        _unsafe_view: "f32[4, 4, 6]" = torch.ops.aten._unsafe_view.default(mm, [4, 4, 6]);  mm = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:149 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        all_gather_into_tensor: "f32[8, 4, 6]" = torch.ops._c10d_functional.all_gather_into_tensor.default(_unsafe_view, 2, '0');  _unsafe_view = None
        wait_tensor_1: "f32[8, 4, 6]" = torch.ops._c10d_functional.wait_tensor.default(all_gather_into_tensor);  all_gather_into_tensor = None
        split = torch.ops.aten.split.Tensor(wait_tensor_1, 4);  wait_tensor_1 = None
        getitem: "f32[4, 4, 6]" = split[0]
        getitem_1: "f32[4, 4, 6]" = split[1];  split = None
        cat: "f32[4, 4, 12]" = torch.ops.aten.cat.default([getitem, getitem_1], 2);  getitem = getitem_1 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_4: "f32[4, 4, 12]" = torch.ops.aten.view.default(cat, [4, 4, 12]);  cat = None

        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        _log_softmax: "f32[4, 4, 12]" = torch.ops.aten._log_softmax.default(view_4, -1, False);  view_4 = None
        detach_1: "f32[4, 4, 12]" = torch.ops.aten.detach.default(_log_softmax)

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        detach_2: "f32[4, 4, 12]" = torch.ops.aten.detach.default(detach_1);  detach_1 = None
        _log_softmax_backward_data: "f32[4, 4, 12]" = torch.ops.aten._log_softmax_backward_data.default(tangents_1, detach_2, -1, torch.float32);  tangents_1 = detach_2 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_5: "f32[4, 4, 12]" = torch.ops.aten.view.default(_log_softmax_backward_data, [4, 4, 12]);  _log_softmax_backward_data = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:149 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        split_1 = torch.ops.aten.split.Tensor(view_5, 6, 2);  view_5 = None
        getitem_3: "f32[4, 4, 6]" = split_1[1];  split_1 = None
        clone_1: "f32[4, 4, 6]" = torch.ops.aten.clone.default(getitem_3);  getitem_3 = None

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        view_6: "f32[16, 6]" = torch.ops.aten.view.default(clone_1, [16, 6]);  clone_1 = None
        t_1: "f32[6, 16]" = torch.ops.aten.t.default(view_6)
        mm_1: "f32[6, 8]" = torch.ops.aten.mm.default(t_1, view_3);  t_1 = view_3 = None
        t_2: "f32[8, 6]" = torch.ops.aten.t.default(mm_1);  mm_1 = None
        t_3: "f32[6, 8]" = torch.ops.aten.t.default(t);  t = None
        mm_2: "f32[16, 8]" = torch.ops.aten.mm.default(view_6, t_3);  view_6 = t_3 = None
        view_7: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_2, [4, 4, 8]);  mm_2 = None
        t_4: "f32[6, 8]" = torch.ops.aten.t.default(t_2);  t_2 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        all_reduce_1: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(view_7, 'sum', '0');  view_7 = None
        wait_tensor_2: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_1);  all_reduce_1 = None

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        detach_3: "f32[4, 4, 8]" = torch.ops.aten.detach.default(detach);  detach = None
        tanh_backward: "f32[4, 4, 8]" = torch.ops.aten.tanh_backward.default(wait_tensor_2, detach_3);  wait_tensor_2 = detach_3 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_8: "f32[4, 4, 8]" = torch.ops.aten.view.default(tanh_backward, [4, 4, 8]);  tanh_backward = None

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        embedding_dense_backward: "f32[12, 8]" = torch.ops.aten.embedding_dense_backward.default(view_8, view, 12, -1, False);  view_8 = view = None
        return pytree.tree_unflatten([_log_softmax, embedding_dense_backward, primals_2, t_4, primals_2, None], self._out_spec)

class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[8]"; primals_2: "f32[8]"; primals_3: "f32[4, 8]"; primals_5: "f32[4]"; primals_7: "f32[4, 8]"; primals_9: "f32[4]"; primals_11: "f32[4, 8]"; primals_13: "f32[4]"; primals_15: "f32[8, 4]"; primals_17: "f32[8]"; primals_19: "f32[8]"; primals_20: "f32[8]"; primals_21: "f32[16, 8]"; primals_23: "f32[16]"; primals_25: "f32[8, 16]"; primals_27: "f32[8]"; primals_29: "f32[4, 4, 8]"; tangents_1: "f32[4, 4, 8]";

        primals_1, primals_2, primals_3, primals_4, primals_5, primals_6, primals_7, primals_8, primals_9, primals_10, primals_11, primals_12, primals_13, primals_14, primals_15, primals_16, primals_17, primals_18, primals_19, primals_20, primals_21, primals_22, primals_23, primals_24, primals_25, primals_26, primals_27, primals_28, primals_29, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: equal_pytorch.py:53 in forward, code: x = x + self.attend(self.norm1(x))
        native_layer_norm = torch.ops.aten.native_layer_norm.default(primals_29, [8], primals_1, primals_2, 1e-05)
        getitem: "f32[4, 4, 8]" = native_layer_norm[0]
        getitem_1: "f32[4, 4, 1]" = native_layer_norm[1]
        getitem_2: "f32[4, 4, 1]" = native_layer_norm[2];  native_layer_norm = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view: "f32[4, 4, 8]" = torch.ops.aten.view.default(getitem, [4, 4, 8])

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_1: "f32[16, 8]" = torch.ops.aten.view.default(view, [16, 8]);  view = None
        t: "f32[8, 4]" = torch.ops.aten.t.default(primals_3);  primals_3 = None
        addmm: "f32[16, 4]" = torch.ops.aten.addmm.default(primals_5, view_1, t);  primals_5 = None
        _unsafe_view: "f32[4, 4, 4]" = torch.ops.aten._unsafe_view.default(addmm, [4, 4, 4]);  addmm = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_2: "f32[4, 4, 4]" = torch.ops.aten.view.default(_unsafe_view, [4, 4, 4]);  _unsafe_view = None

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_3: "f32[4, 4, 1, 4]" = torch.ops.aten.view.default(view_2, [4, 4, 1, 4]);  view_2 = None
        transpose: "f32[4, 1, 4, 4]" = torch.ops.aten.transpose.int(view_3, 1, 2);  view_3 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_4: "f32[4, 4, 8]" = torch.ops.aten.view.default(getitem, [4, 4, 8])

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_5: "f32[16, 8]" = torch.ops.aten.view.default(view_4, [16, 8]);  view_4 = None
        t_1: "f32[8, 4]" = torch.ops.aten.t.default(primals_7);  primals_7 = None
        addmm_1: "f32[16, 4]" = torch.ops.aten.addmm.default(primals_9, view_5, t_1);  primals_9 = None
        _unsafe_view_1: "f32[4, 4, 4]" = torch.ops.aten._unsafe_view.default(addmm_1, [4, 4, 4]);  addmm_1 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_6: "f32[4, 4, 4]" = torch.ops.aten.view.default(_unsafe_view_1, [4, 4, 4]);  _unsafe_view_1 = None

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_7: "f32[4, 4, 1, 4]" = torch.ops.aten.view.default(view_6, [4, 4, 1, 4]);  view_6 = None
        transpose_1: "f32[4, 1, 4, 4]" = torch.ops.aten.transpose.int(view_7, 1, 2);  view_7 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_8: "f32[4, 4, 8]" = torch.ops.aten.view.default(getitem, [4, 4, 8]);  getitem = None

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_9: "f32[16, 8]" = torch.ops.aten.view.default(view_8, [16, 8]);  view_8 = None
        t_2: "f32[8, 4]" = torch.ops.aten.t.default(primals_11);  primals_11 = None
        addmm_2: "f32[16, 4]" = torch.ops.aten.addmm.default(primals_13, view_9, t_2);  primals_13 = None
        _unsafe_view_2: "f32[4, 4, 4]" = torch.ops.aten._unsafe_view.default(addmm_2, [4, 4, 4]);  addmm_2 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_10: "f32[4, 4, 4]" = torch.ops.aten.view.default(_unsafe_view_2, [4, 4, 4]);  _unsafe_view_2 = None

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_11: "f32[4, 4, 1, 4]" = torch.ops.aten.view.default(view_10, [4, 4, 1, 4]);  view_10 = None
        transpose_2: "f32[4, 1, 4, 4]" = torch.ops.aten.transpose.int(view_11, 1, 2);  view_11 = None

        # File: equal_pytorch.py:49 in attend, code: y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        _scaled_dot_product_flash_attention_for_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(transpose, transpose_1, transpose_2, 0.0, True)
        getitem_3: "f32[4, 1, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu[0]
        getitem_4: "f32[4, 1, 4]" = _scaled_dot_product_flash_attention_for_cpu[1];  _scaled_dot_product_flash_attention_for_cpu = None
        detach: "f32[4, 1, 4, 4]" = torch.ops.aten.detach.default(getitem_3)

        # File: equal_pytorch.py:50 in attend, code: return self.output(y.transpose(1, 2).flatten(-2))
        transpose_3: "f32[4, 4, 1, 4]" = torch.ops.aten.transpose.int(getitem_3, 1, 2);  getitem_3 = None
        view_12: "f32[4, 4, 4]" = torch.ops.aten.view.default(transpose_3, [4, 4, 4]);  transpose_3 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:237 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_13: "f32[4, 4, 4]" = torch.ops.aten.view.default(view_12, [4, 4, 4]);  view_12 = None

        # File: equal_pytorch.py:50 in attend, code: return self.output(y.transpose(1, 2).flatten(-2))
        view_14: "f32[16, 4]" = torch.ops.aten.view.default(view_13, [16, 4]);  view_13 = None
        t_3: "f32[4, 8]" = torch.ops.aten.t.default(primals_15);  primals_15 = None
        div: "f32[8]" = torch.ops.aten.div.Tensor(primals_17, 2);  primals_17 = None
        addmm_3: "f32[16, 8]" = torch.ops.aten.addmm.default(div, view_14, t_3);  div = None
        _unsafe_view_3: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm_3, [4, 4, 8]);  addmm_3 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:298 in _prepare_output_fn, code: outputs = outputs.redistribute(placements=output_layouts, async_op=True)
        all_reduce: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(_unsafe_view_3, 'sum', '0');  _unsafe_view_3 = None
        wait_tensor: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce);  all_reduce = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_15: "f32[4, 4, 8]" = torch.ops.aten.view.default(wait_tensor, [4, 4, 8]);  wait_tensor = None

        # File: equal_pytorch.py:53 in forward, code: x = x + self.attend(self.norm1(x))
        add: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(primals_29, view_15);  view_15 = None

        # File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        native_layer_norm_1 = torch.ops.aten.native_layer_norm.default(add, [8], primals_19, primals_20, 1e-05)
        getitem_5: "f32[4, 4, 8]" = native_layer_norm_1[0]
        getitem_6: "f32[4, 4, 1]" = native_layer_norm_1[1]
        getitem_7: "f32[4, 4, 1]" = native_layer_norm_1[2];  native_layer_norm_1 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_16: "f32[4, 4, 8]" = torch.ops.aten.view.default(getitem_5, [4, 4, 8]);  getitem_5 = None

        # File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        view_17: "f32[16, 8]" = torch.ops.aten.view.default(view_16, [16, 8]);  view_16 = None
        t_4: "f32[8, 16]" = torch.ops.aten.t.default(primals_21);  primals_21 = None
        addmm_4: "f32[16, 16]" = torch.ops.aten.addmm.default(primals_23, view_17, t_4);  primals_23 = None
        _unsafe_view_4: "f32[4, 4, 16]" = torch.ops.aten._unsafe_view.default(addmm_4, [4, 4, 16]);  addmm_4 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_18: "f32[4, 4, 16]" = torch.ops.aten.view.default(_unsafe_view_4, [4, 4, 16]);  _unsafe_view_4 = None

        # File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        gelu: "f32[4, 4, 16]" = torch.ops.aten.gelu.default(view_18)

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:237 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        view_19: "f32[4, 4, 16]" = torch.ops.aten.view.default(gelu, [4, 4, 16]);  gelu = None

        # File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        view_20: "f32[16, 16]" = torch.ops.aten.view.default(view_19, [16, 16]);  view_19 = None
        t_5: "f32[16, 8]" = torch.ops.aten.t.default(primals_25);  primals_25 = None
        div_1: "f32[8]" = torch.ops.aten.div.Tensor(primals_27, 2);  primals_27 = None
        addmm_5: "f32[16, 8]" = torch.ops.aten.addmm.default(div_1, view_20, t_5);  div_1 = None
        _unsafe_view_5: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm_5, [4, 4, 8]);  addmm_5 = None

        # File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_21: "f32[4, 4, 8]" = torch.ops.aten.view.default(_unsafe_view_5, [4, 4, 8]);  _unsafe_view_5 = None

        # File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        add_1: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(add, view_21);  view_21 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_22: "f32[4, 4, 8]" = torch.ops.aten.view.default(tangents_1, [4, 4, 8])

        # Backward of forward node: File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        view_23: "f32[16, 8]" = torch.ops.aten.view.default(view_22, [16, 8]);  view_22 = None
        t_6: "f32[8, 16]" = torch.ops.aten.t.default(t_5);  t_5 = None
        mm: "f32[16, 16]" = torch.ops.aten.mm.default(view_23, t_6);  t_6 = None
        t_7: "f32[8, 16]" = torch.ops.aten.t.default(view_23)
        mm_1: "f32[8, 16]" = torch.ops.aten.mm.default(t_7, view_20);  t_7 = view_20 = None
        t_8: "f32[16, 8]" = torch.ops.aten.t.default(mm_1);  mm_1 = None
        sum_1: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_23, [0], True);  view_23 = None
        view_24: "f32[8]" = torch.ops.aten.view.default(sum_1, [8]);  sum_1 = None
        t_9: "f32[8, 16]" = torch.ops.aten.t.default(t_8);  t_8 = None
        view_25: "f32[4, 4, 16]" = torch.ops.aten.view.default(mm, [4, 4, 16]);  mm = None
        gelu_backward: "f32[4, 4, 16]" = torch.ops.aten.gelu_backward.default(view_25, view_18);  view_25 = view_18 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_26: "f32[4, 4, 16]" = torch.ops.aten.view.default(gelu_backward, [4, 4, 16]);  gelu_backward = None

        # Backward of forward node: File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        view_27: "f32[16, 16]" = torch.ops.aten.view.default(view_26, [16, 16]);  view_26 = None
        t_10: "f32[16, 8]" = torch.ops.aten.t.default(t_4);  t_4 = None
        mm_2: "f32[16, 8]" = torch.ops.aten.mm.default(view_27, t_10);  t_10 = None
        t_11: "f32[16, 16]" = torch.ops.aten.t.default(view_27)
        mm_3: "f32[16, 8]" = torch.ops.aten.mm.default(t_11, view_17);  t_11 = view_17 = None
        t_12: "f32[8, 16]" = torch.ops.aten.t.default(mm_3);  mm_3 = None
        sum_2: "f32[1, 16]" = torch.ops.aten.sum.dim_IntList(view_27, [0], True);  view_27 = None
        view_28: "f32[16]" = torch.ops.aten.view.default(sum_2, [16]);  sum_2 = None
        t_13: "f32[16, 8]" = torch.ops.aten.t.default(t_12);  t_12 = None
        view_29: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_2, [4, 4, 8]);  mm_2 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        all_reduce_1: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(view_29, 'sum', '0');  view_29 = None
        wait_tensor_1: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_1);  all_reduce_1 = None

        # Backward of forward node: File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        native_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default(wait_tensor_1, add, [8], getitem_6, getitem_7, primals_19, primals_20, [True, True, True]);  wait_tensor_1 = add = getitem_6 = getitem_7 = primals_19 = primals_20 = None
        getitem_8: "f32[4, 4, 8]" = native_layer_norm_backward[0]
        getitem_9: "f32[8]" = native_layer_norm_backward[1]
        getitem_10: "f32[8]" = native_layer_norm_backward[2];  native_layer_norm_backward = None
        add_2: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(tangents_1, getitem_8);  tangents_1 = getitem_8 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:300 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_30: "f32[4, 4, 8]" = torch.ops.aten.view.default(add_2, [4, 4, 8]);  add_2 = None

        # Backward of forward node: File: equal_pytorch.py:50 in attend, code: return self.output(y.transpose(1, 2).flatten(-2))
        view_31: "f32[16, 8]" = torch.ops.aten.view.default(view_30, [16, 8]);  view_30 = None
        t_14: "f32[8, 4]" = torch.ops.aten.t.default(t_3);  t_3 = None
        mm_4: "f32[16, 4]" = torch.ops.aten.mm.default(view_31, t_14);  t_14 = None
        t_15: "f32[8, 16]" = torch.ops.aten.t.default(view_31)
        mm_5: "f32[8, 4]" = torch.ops.aten.mm.default(t_15, view_14);  t_15 = view_14 = None
        t_16: "f32[4, 8]" = torch.ops.aten.t.default(mm_5);  mm_5 = None
        sum_3: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_31, [0], True);  view_31 = None
        view_32: "f32[8]" = torch.ops.aten.view.default(sum_3, [8]);  sum_3 = None
        t_17: "f32[8, 4]" = torch.ops.aten.t.default(t_16);  t_16 = None
        view_33: "f32[4, 4, 4]" = torch.ops.aten.view.default(mm_4, [4, 4, 4]);  mm_4 = None
        view_34: "f32[4, 4, 1, 4]" = torch.ops.aten.view.default(view_33, [4, 4, 1, 4]);  view_33 = None
        transpose_4: "f32[4, 1, 4, 4]" = torch.ops.aten.transpose.int(view_34, 1, 2);  view_34 = None

        # Backward of forward node: File: equal_pytorch.py:49 in attend, code: y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        detach_1: "f32[4, 1, 4, 4]" = torch.ops.aten.detach.default(detach);  detach = None
        _scaled_dot_product_flash_attention_for_cpu_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(transpose_4, transpose, transpose_1, transpose_2, detach_1, getitem_4, 0.0, True);  transpose_4 = transpose = transpose_1 = transpose_2 = detach_1 = getitem_4 = None
        getitem_11: "f32[4, 1, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[0]
        getitem_12: "f32[4, 1, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[1]
        getitem_13: "f32[4, 1, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[2];  _scaled_dot_product_flash_attention_for_cpu_backward = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        transpose_5: "f32[4, 4, 1, 4]" = torch.ops.aten.transpose.int(getitem_13, 1, 2);  getitem_13 = None
        view_35: "f32[4, 4, 4]" = torch.ops.aten.view.default(transpose_5, [4, 4, 4]);  transpose_5 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_36: "f32[4, 4, 4]" = torch.ops.aten.view.default(view_35, [4, 4, 4]);  view_35 = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_37: "f32[16, 4]" = torch.ops.aten.view.default(view_36, [16, 4]);  view_36 = None
        t_18: "f32[4, 8]" = torch.ops.aten.t.default(t_2);  t_2 = None
        mm_6: "f32[16, 8]" = torch.ops.aten.mm.default(view_37, t_18);  t_18 = None
        t_19: "f32[4, 16]" = torch.ops.aten.t.default(view_37)
        mm_7: "f32[4, 8]" = torch.ops.aten.mm.default(t_19, view_9);  t_19 = view_9 = None
        t_20: "f32[8, 4]" = torch.ops.aten.t.default(mm_7);  mm_7 = None
        sum_4: "f32[1, 4]" = torch.ops.aten.sum.dim_IntList(view_37, [0], True);  view_37 = None
        view_38: "f32[4]" = torch.ops.aten.view.default(sum_4, [4]);  sum_4 = None
        t_21: "f32[4, 8]" = torch.ops.aten.t.default(t_20);  t_20 = None
        view_39: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_6, [4, 4, 8]);  mm_6 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        all_reduce_2: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(view_39, 'sum', '0');  view_39 = None
        wait_tensor_2: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_2);  all_reduce_2 = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        transpose_6: "f32[4, 4, 1, 4]" = torch.ops.aten.transpose.int(getitem_12, 1, 2);  getitem_12 = None
        view_40: "f32[4, 4, 4]" = torch.ops.aten.view.default(transpose_6, [4, 4, 4]);  transpose_6 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_41: "f32[4, 4, 4]" = torch.ops.aten.view.default(view_40, [4, 4, 4]);  view_40 = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_42: "f32[16, 4]" = torch.ops.aten.view.default(view_41, [16, 4]);  view_41 = None
        t_22: "f32[4, 8]" = torch.ops.aten.t.default(t_1);  t_1 = None
        mm_8: "f32[16, 8]" = torch.ops.aten.mm.default(view_42, t_22);  t_22 = None
        t_23: "f32[4, 16]" = torch.ops.aten.t.default(view_42)
        mm_9: "f32[4, 8]" = torch.ops.aten.mm.default(t_23, view_5);  t_23 = view_5 = None
        t_24: "f32[8, 4]" = torch.ops.aten.t.default(mm_9);  mm_9 = None
        sum_5: "f32[1, 4]" = torch.ops.aten.sum.dim_IntList(view_42, [0], True);  view_42 = None
        view_43: "f32[4]" = torch.ops.aten.view.default(sum_5, [4]);  sum_5 = None
        t_25: "f32[4, 8]" = torch.ops.aten.t.default(t_24);  t_24 = None
        view_44: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_8, [4, 4, 8]);  mm_8 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        all_reduce_3: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(view_44, 'sum', '0');  view_44 = None
        wait_tensor_3: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_3);  all_reduce_3 = None
        add_3: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(wait_tensor_2, wait_tensor_3);  wait_tensor_2 = wait_tensor_3 = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        transpose_7: "f32[4, 4, 1, 4]" = torch.ops.aten.transpose.int(getitem_11, 1, 2);  getitem_11 = None
        view_45: "f32[4, 4, 4]" = torch.ops.aten.view.default(transpose_7, [4, 4, 4]);  transpose_7 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:151 in _prepare_output_fn, code: return outputs.to_local() if use_local_output else outputs
        view_46: "f32[4, 4, 4]" = torch.ops.aten.view.default(view_45, [4, 4, 4]);  view_45 = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view_47: "f32[16, 4]" = torch.ops.aten.view.default(view_46, [16, 4]);  view_46 = None
        t_26: "f32[4, 8]" = torch.ops.aten.t.default(t);  t = None
        mm_10: "f32[16, 8]" = torch.ops.aten.mm.default(view_47, t_26);  t_26 = None
        t_27: "f32[4, 16]" = torch.ops.aten.t.default(view_47)
        mm_11: "f32[4, 8]" = torch.ops.aten.mm.default(t_27, view_1);  t_27 = view_1 = None
        t_28: "f32[8, 4]" = torch.ops.aten.t.default(mm_11);  mm_11 = None
        sum_6: "f32[1, 4]" = torch.ops.aten.sum.dim_IntList(view_47, [0], True);  view_47 = None
        view_48: "f32[4]" = torch.ops.aten.view.default(sum_6, [4]);  sum_6 = None
        t_29: "f32[4, 8]" = torch.ops.aten.t.default(t_28);  t_28 = None
        view_49: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_10, [4, 4, 8]);  mm_10 = None

        # Backward of forward node: File: /site-packages/torch/distributed/tensor/parallel/style.py:107 in _prepare_input_fn, code: input_tensor = DTensor.from_local(
        all_reduce_4: "f32[4, 4, 8]" = torch.ops._c10d_functional.all_reduce.default(view_49, 'sum', '0');  view_49 = None
        wait_tensor_4: "f32[4, 4, 8]" = torch.ops._c10d_functional.wait_tensor.default(all_reduce_4);  all_reduce_4 = None
        add_4: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(add_3, wait_tensor_4);  add_3 = wait_tensor_4 = None

        # Backward of forward node: File: equal_pytorch.py:53 in forward, code: x = x + self.attend(self.norm1(x))
        native_layer_norm_backward_1 = torch.ops.aten.native_layer_norm_backward.default(add_4, primals_29, [8], getitem_1, getitem_2, primals_1, primals_2, [False, True, True]);  add_4 = primals_29 = getitem_1 = getitem_2 = primals_1 = primals_2 = None
        getitem_15: "f32[8]" = native_layer_norm_backward_1[1]
        getitem_16: "f32[8]" = native_layer_norm_backward_1[2];  native_layer_norm_backward_1 = None
        return pytree.tree_unflatten([add_1, getitem_15, getitem_16, t_29, primals_4, view_48, primals_4, t_25, primals_4, view_43, primals_4, t_21, primals_4, view_38, primals_4, t_17, primals_4, view_32, primals_4, getitem_9, getitem_10, t_13, primals_4, view_28, primals_4, t_9, primals_4, view_24, primals_4, None], self._out_spec)

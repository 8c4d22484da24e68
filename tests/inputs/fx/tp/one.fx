class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[8]"; primals_2: "f32[8]"; primals_3: "f32[8, 8]"; primals_4: "f32[8]"; primals_5: "f32[8, 8]"; primals_6: "f32[8]"; primals_7: "f32[8, 8]"; primals_8: "f32[8]"; primals_9: "f32[8, 8]"; primals_10: "f32[8]"; primals_11: "f32[8]"; primals_12: "f32[8]"; primals_13: "f32[32, 8]"; primals_14: "f32[32]"; primals_15: "f32[8, 32]"; primals_16: "f32[8]"; primals_17: "f32[4, 4, 8]"; tangents_1: "f32[4, 4, 8]";

        primals_1, primals_2, primals_3, primals_4, primals_5, primals_6, primals_7, primals_8, primals_9, primals_10, primals_11, primals_12, primals_13, primals_14, primals_15, primals_16, primals_17, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: equal_pytorch.py:53 in forward, code: x = x + self.attend(self.norm1(x))
        native_layer_norm = torch.ops.aten.native_layer_norm.default(primals_17, [8], primals_1, primals_2, 1e-05)
        getitem: "f32[4, 4, 8]" = native_layer_norm[0]
        getitem_1: "f32[4, 4, 1]" = native_layer_norm[1]
        getitem_2: "f32[4, 4, 1]" = native_layer_norm[2];  native_layer_norm = None

        # File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        view: "f32[16, 8]" = torch.ops.aten.view.default(getitem, [16, 8])
        t: "f32[8, 8]" = torch.ops.aten.t.default(primals_3);  primals_3 = None
        addmm: "f32[16, 8]" = torch.ops.aten.addmm.default(primals_4, view, t);  primals_4 = None
        _unsafe_view: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm, [4, 4, 8]);  addmm = None
        view_1: "f32[4, 4, 2, 4]" = torch.ops.aten.view.default(_unsafe_view, [4, 4, 2, 4]);  _unsafe_view = None
        transpose: "f32[4, 2, 4, 4]" = torch.ops.aten.transpose.int(view_1, 1, 2);  view_1 = None
        view_2: "f32[16, 8]" = torch.ops.aten.view.default(getitem, [16, 8])
        t_1: "f32[8, 8]" = torch.ops.aten.t.default(primals_5);  primals_5 = None
        addmm_1: "f32[16, 8]" = torch.ops.aten.addmm.default(primals_6, view_2, t_1);  primals_6 = None
        _unsafe_view_1: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm_1, [4, 4, 8]);  addmm_1 = None
        view_3: "f32[4, 4, 2, 4]" = torch.ops.aten.view.default(_unsafe_view_1, [4, 4, 2, 4]);  _unsafe_view_1 = None
        transpose_1: "f32[4, 2, 4, 4]" = torch.ops.aten.transpose.int(view_3, 1, 2);  view_3 = None
        view_4: "f32[16, 8]" = torch.ops.aten.view.default(getitem, [16, 8]);  getitem = None
        t_2: "f32[8, 8]" = torch.ops.aten.t.default(primals_7);  primals_7 = None
        addmm_2: "f32[16, 8]" = torch.ops.aten.addmm.default(primals_8, view_4, t_2);  primals_8 = None
        _unsafe_view_2: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm_2, [4, 4, 8]);  addmm_2 = None
        view_5: "f32[4, 4, 2, 4]" = torch.ops.aten.view.default(_unsafe_view_2, [4, 4, 2, 4]);  _unsafe_view_2 = None
        transpose_2: "f32[4, 2, 4, 4]" = torch.ops.aten.transpose.int(view_5, 1, 2);  view_5 = None

        # File: equal_pytorch.py:49 in attend, code: y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        _scaled_dot_product_flash_attention_for_cpu = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default(transpose, transpose_1, transpose_2, 0.0, True)
        getitem_3: "f32[4, 2, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu[0]
        getitem_4: "f32[4, 2, 4]" = _scaled_dot_product_flash_attention_for_cpu[1];  _scaled_dot_product_flash_attention_for_cpu = None
        detach: "f32[4, 2, 4, 4]" = torch.ops.aten.detach.default(getitem_3)

        # File: equal_pytorch.py:50 in attend, code: return self.output(y.transpose(1, 2).flatten(-2))
        transpose_3: "f32[4, 4, 2, 4]" = torch.ops.aten.transpose.int(getitem_3, 1, 2);  getitem_3 = None
        view_6: "f32[4, 4, 8]" = torch.ops.aten.view.default(transpose_3, [4, 4, 8]);  transpose_3 = None
        view_7: "f32[16, 8]" = torch.ops.aten.view.default(view_6, [16, 8]);  view_6 = None
        t_3: "f32[8, 8]" = torch.ops.aten.t.default(primals_9);  primals_9 = None
        addmm_3: "f32[16, 8]" = torch.ops.aten.addmm.default(primals_10, view_7, t_3);  primals_10 = None
        _unsafe_view_3: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm_3, [4, 4, 8]);  addmm_3 = None

        # File: equal_pytorch.py:53 in forward, code: x = x + self.attend(self.norm1(x))
        add: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(primals_17, _unsafe_view_3);  _unsafe_view_3 = None

        # File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        native_layer_norm_1 = torch.ops.aten.native_layer_norm.default(add, [8], primals_11, primals_12, 1e-05)
        getitem_5: "f32[4, 4, 8]" = native_layer_norm_1[0]
        getitem_6: "f32[4, 4, 1]" = native_layer_norm_1[1]
        getitem_7: "f32[4, 4, 1]" = native_layer_norm_1[2];  native_layer_norm_1 = None
        view_8: "f32[16, 8]" = torch.ops.aten.view.default(getitem_5, [16, 8]);  getitem_5 = None
        t_4: "f32[8, 32]" = torch.ops.aten.t.default(primals_13);  primals_13 = None
        addmm_4: "f32[16, 32]" = torch.ops.aten.addmm.default(primals_14, view_8, t_4);  primals_14 = None
        _unsafe_view_4: "f32[4, 4, 32]" = torch.ops.aten._unsafe_view.default(addmm_4, [4, 4, 32]);  addmm_4 = None
        gelu: "f32[4, 4, 32]" = torch.ops.aten.gelu.default(_unsafe_view_4)
        view_9: "f32[16, 32]" = torch.ops.aten.view.default(gelu, [16, 32]);  gelu = None
        t_5: "f32[32, 8]" = torch.ops.aten.t.default(primals_15);  primals_15 = None
        addmm_5: "f32[16, 8]" = torch.ops.aten.addmm.default(primals_16, view_9, t_5);  primals_16 = None
        _unsafe_view_5: "f32[4, 4, 8]" = torch.ops.aten._unsafe_view.default(addmm_5, [4, 4, 8]);  addmm_5 = None
        add_1: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(add, _unsafe_view_5);  _unsafe_view_5 = None

        # Backward of forward node: File: equal_pytorch.py:54 in forward, code: return x + self.down(F.gelu(self.up(self.norm2(x))))
        view_10: "f32[16, 8]" = torch.ops.aten.view.default(tangents_1, [16, 8])
        t_6: "f32[8, 32]" = torch.ops.aten.t.default(t_5);  t_5 = None
        mm: "f32[16, 32]" = torch.ops.aten.mm.default(view_10, t_6);  t_6 = None
        t_7: "f32[8, 16]" = torch.ops.aten.t.default(view_10)
        mm_1: "f32[8, 32]" = torch.ops.aten.mm.default(t_7, view_9);  t_7 = view_9 = None
        t_8: "f32[32, 8]" = torch.ops.aten.t.default(mm_1);  mm_1 = None
        sum_1: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_10, [0], True);  view_10 = None
        view_11: "f32[8]" = torch.ops.aten.view.default(sum_1, [8]);  sum_1 = None
        t_9: "f32[8, 32]" = torch.ops.aten.t.default(t_8);  t_8 = None
        view_12: "f32[4, 4, 32]" = torch.ops.aten.view.default(mm, [4, 4, 32]);  mm = None
        gelu_backward: "f32[4, 4, 32]" = torch.ops.aten.gelu_backward.default(view_12, _unsafe_view_4);  view_12 = _unsafe_view_4 = None
        view_13: "f32[16, 32]" = torch.ops.aten.view.default(gelu_backward, [16, 32]);  gelu_backward = None
        t_10: "f32[32, 8]" = torch.ops.aten.t.default(t_4);  t_4 = None
        mm_2: "f32[16, 8]" = torch.ops.aten.mm.default(view_13, t_10);  t_10 = None
        t_11: "f32[32, 16]" = torch.ops.aten.t.default(view_13)
        mm_3: "f32[32, 8]" = torch.ops.aten.mm.default(t_11, view_8);  t_11 = view_8 = None
        t_12: "f32[8, 32]" = torch.ops.aten.t.default(mm_3);  mm_3 = None
        sum_2: "f32[1, 32]" = torch.ops.aten.sum.dim_IntList(view_13, [0], True);  view_13 = None
        view_14: "f32[32]" = torch.ops.aten.view.default(sum_2, [32]);  sum_2 = None
        t_13: "f32[32, 8]" = torch.ops.aten.t.default(t_12);  t_12 = None
        view_15: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_2, [4, 4, 8]);  mm_2 = None
        native_layer_norm_backward = torch.ops.aten.native_layer_norm_backward.default(view_15, add, [8], getitem_6, getitem_7, primals_11, primals_12, [True, True, True]);  view_15 = add = getitem_6 = getitem_7 = primals_11 = primals_12 = None
        getitem_8: "f32[4, 4, 8]" = native_layer_norm_backward[0]
        getitem_9: "f32[8]" = native_layer_norm_backward[1]
        getitem_10: "f32[8]" = native_layer_norm_backward[2];  native_layer_norm_backward = None
        add_2: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(tangents_1, getitem_8);  tangents_1 = getitem_8 = None

        # Backward of forward node: File: equal_pytorch.py:50 in attend, code: return self.output(y.transpose(1, 2).flatten(-2))
        view_16: "f32[16, 8]" = torch.ops.aten.view.default(add_2, [16, 8]);  add_2 = None
        t_14: "f32[8, 8]" = torch.ops.aten.t.default(t_3);  t_3 = None
        mm_4: "f32[16, 8]" = torch.ops.aten.mm.default(view_16, t_14);  t_14 = None
        t_15: "f32[8, 16]" = torch.ops.aten.t.default(view_16)
        mm_5: "f32[8, 8]" = torch.ops.aten.mm.default(t_15, view_7);  t_15 = view_7 = None
        t_16: "f32[8, 8]" = torch.ops.aten.t.default(mm_5);  mm_5 = None
        sum_3: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_16, [0], True);  view_16 = None
        view_17: "f32[8]" = torch.ops.aten.view.default(sum_3, [8]);  sum_3 = None
        t_17: "f32[8, 8]" = torch.ops.aten.t.default(t_16);  t_16 = None
        view_18: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_4, [4, 4, 8]);  mm_4 = None
        view_19: "f32[4, 4, 2, 4]" = torch.ops.aten.view.default(view_18, [4, 4, 2, 4]);  view_18 = None
        transpose_4: "f32[4, 2, 4, 4]" = torch.ops.aten.transpose.int(view_19, 1, 2);  view_19 = None

        # Backward of forward node: File: equal_pytorch.py:49 in attend, code: y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        detach_1: "f32[4, 2, 4, 4]" = torch.ops.aten.detach.default(detach);  detach = None
        _scaled_dot_product_flash_attention_for_cpu_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward.default(transpose_4, transpose, transpose_1, transpose_2, detach_1, getitem_4, 0.0, True);  transpose_4 = transpose = transpose_1 = transpose_2 = detach_1 = getitem_4 = None
        getitem_11: "f32[4, 2, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[0]
        getitem_12: "f32[4, 2, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[1]
        getitem_13: "f32[4, 2, 4, 4]" = _scaled_dot_product_flash_attention_for_cpu_backward[2];  _scaled_dot_product_flash_attention_for_cpu_backward = None

        # Backward of forward node: File: equal_pytorch.py:48 in <genexpr>, code: q, k, v = (of(x).unflatten(-1, (-1, WIDTH // HEADS)).transpose(1, 2) for of in (self.query, self.key, self.value))
        transpose_5: "f32[4, 4, 2, 4]" = torch.ops.aten.transpose.int(getitem_13, 1, 2);  getitem_13 = None
        view_20: "f32[4, 4, 8]" = torch.ops.aten.view.default(transpose_5, [4, 4, 8]);  transpose_5 = None
        view_21: "f32[16, 8]" = torch.ops.aten.view.default(view_20, [16, 8]);  view_20 = None
        t_18: "f32[8, 8]" = torch.ops.aten.t.default(t_2);  t_2 = None
        mm_6: "f32[16, 8]" = torch.ops.aten.mm.default(view_21, t_18);  t_18 = None
        t_19: "f32[8, 16]" = torch.ops.aten.t.default(view_21)
        mm_7: "f32[8, 8]" = torch.ops.aten.mm.default(t_19, view_4);  t_19 = view_4 = None
        t_20: "f32[8, 8]" = torch.ops.aten.t.default(mm_7);  mm_7 = None
        sum_4: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_21, [0], True);  view_21 = None
        view_22: "f32[8]" = torch.ops.aten.view.default(sum_4, [8]);  sum_4 = None
        t_21: "f32[8, 8]" = torch.ops.aten.t.default(t_20);  t_20 = None
        view_23: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_6, [4, 4, 8]);  mm_6 = None
        transpose_6: "f32[4, 4, 2, 4]" = torch.ops.aten.transpose.int(getitem_12, 1, 2);  getitem_12 = None
        view_24: "f32[4, 4, 8]" = torch.ops.aten.view.default(transpose_6, [4, 4, 8]);  transpose_6 = None
        view_25: "f32[16, 8]" = torch.ops.aten.view.default(view_24, [16, 8]);  view_24 = None
        t_22: "f32[8, 8]" = torch.ops.aten.t.default(t_1);  t_1 = None
        mm_8: "f32[16, 8]" = torch.ops.aten.mm.default(view_25, t_22);  t_22 = None
        t_23: "f32[8, 16]" = torch.ops.aten.t.default(view_25)
        mm_9: "f32[8, 8]" = torch.ops.aten.mm.default(t_23, view_2);  t_23 = view_2 = None
        t_24: "f32[8, 8]" = torch.ops.aten.t.default(mm_9);  mm_9 = None
        sum_5: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_25, [0], True);  view_25 = None
        view_26: "f32[8]" = torch.ops.aten.view.default(sum_5, [8]);  sum_5 = None
        t_25: "f32[8, 8]" = torch.ops.aten.t.default(t_24);  t_24 = None
        view_27: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_8, [4, 4, 8]);  mm_8 = None
        add_3: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(view_23, view_27);  view_23 = view_27 = None
        transpose_7: "f32[4, 4, 2, 4]" = torch.ops.aten.transpose.int(getitem_11, 1, 2);  getitem_11 = None
        view_28: "f32[4, 4, 8]" = torch.ops.aten.view.default(transpose_7, [4, 4, 8]);  transpose_7 = None
        view_29: "f32[16, 8]" = torch.ops.aten.view.default(view_28, [16, 8]);  view_28 = None
        t_26: "f32[8, 8]" = torch.ops.aten.t.default(t);  t = None
        mm_10: "f32[16, 8]" = torch.ops.aten.mm.default(view_29, t_26);  t_26 = None
        t_27: "f32[8, 16]" = torch.ops.aten.t.default(view_29)
        mm_11: "f32[8, 8]" = torch.ops.aten.mm.default(t_27, view);  t_27 = view = None
        t_28: "f32[8, 8]" = torch.ops.aten.t.default(mm_11);  mm_11 = None
        sum_6: "f32[1, 8]" = torch.ops.aten.sum.dim_IntList(view_29, [0], True);  view_29 = None
        view_30: "f32[8]" = torch.ops.aten.view.default(sum_6, [8]);  sum_6 = None
        t_29: "f32[8, 8]" = torch.ops.aten.t.default(t_28);  t_28 = None
        view_31: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_10, [4, 4, 8]);  mm_10 = None
        add_4: "f32[4, 4, 8]" = torch.ops.aten.add.Tensor(add_3, view_31);  add_3 = view_31 = None

        # Backward of forward node: File: equal_pytorch.py:53 in forward, code: x = x + self.attend(self.norm1(x))
        native_layer_norm_backward_1 = torch.ops.aten.native_layer_norm_backward.default(add_4, primals_17, [8], getitem_1, getitem_2, primals_1, primals_2, [False, True, True]);  add_4 = primals_17 = getitem_1 = getitem_2 = primals_1 = primals_2 = None
        getitem_15: "f32[8]" = native_layer_norm_backward_1[1]
        getitem_16: "f32[8]" = native_layer_norm_backward_1[2];  native_layer_norm_backward_1 = None
        return pytree.tree_unflatten([add_1, getitem_15, getitem_16, t_29, view_30, t_25, view_26, t_21, view_22, t_17, view_17, getitem_9, getitem_10, t_13, view_14, t_9, view_11, None], self._out_spec)

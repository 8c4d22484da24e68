class inner_f(torch.nn.Module):
    def forward(self, primals, tangents):
        primals_1: "f32[12, 8]"; primals_2: "f32[12, 8]"; primals_3: "i64[4, 4]"; tangents_1: "f32[4, 4, 12]";

        primals_1, primals_2, primals_3, tangents_1, = fx_pytree.tree_flatten_spec([primals, tangents], self._in_spec)
        # File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        embedding: "f32[4, 4, 8]" = torch.ops.aten.embedding.default(primals_1, primals_3);  primals_1 = None
        tanh: "f32[4, 4, 8]" = torch.ops.aten.tanh.default(embedding);  embedding = None
        detach: "f32[4, 4, 8]" = torch.ops.aten.detach.default(tanh)
        t: "f32[8, 12]" = torch.ops.aten.t.default(primals_2);  primals_2 = None
        view: "f32[16, 8]" = torch.ops.aten.view.default(tanh, [16, 8]);  tanh = None
        mm: "f32[16, 12]" = torch.ops.aten.mm.default(view, t)
        _unsafe_view: "f32[4, 4, 12]" = torch.ops.aten._unsafe_view.default(mm, [4, 4, 12]);  mm = None
        _log_softmax: "f32[4, 4, 12]" = torch.ops.aten._log_softmax.default(_unsafe_view, -1, False);  _unsafe_view = None
        detach_1: "f32[4, 4, 12]" = torch.ops.aten.detach.default(_log_softmax)

        # Backward of forward node: File: equal_pytorch.py:91 in forward, code: return torch.log_softmax(self.head(torch.tanh(self.embed(words))), -1)
        detach_2: "f32[4, 4, 12]" = torch.ops.aten.detach.default(detach_1);  detach_1 = None
        _log_softmax_backward_data: "f32[4, 4, 12]" = torch.ops.aten._log_softmax_backward_data.default(tangents_1, detach_2, -1, torch.float32);  tangents_1 = detach_2 = None
        view_1: "f32[16, 12]" = torch.ops.aten.view.default(_log_softmax_backward_data, [16, 12]);  _log_softmax_backward_data = None
        t_1: "f32[12, 16]" = torch.ops.aten.t.default(view_1)
        mm_1: "f32[12, 8]" = torch.ops.aten.mm.default(t_1, view);  t_1 = view = None
        t_2: "f32[8, 12]" = torch.ops.aten.t.default(mm_1);  mm_1 = None
        t_3: "f32[12, 8]" = torch.ops.aten.t.default(t);  t = None
        mm_2: "f32[16, 8]" = torch.ops.aten.mm.default(view_1, t_3);  view_1 = t_3 = None
        view_2: "f32[4, 4, 8]" = torch.ops.aten.view.default(mm_2, [4, 4, 8]);  mm_2 = None
        t_4: "f32[12, 8]" = torch.ops.aten.t.default(t_2);  t_2 = None
        detach_3: "f32[4, 4, 8]" = torch.ops.aten.detach.default(detach);  detach = None
        tanh_backward: "f32[4, 4, 8]" = torch.ops.aten.tanh_backward.default(view_2, detach_3);  view_2 = detach_3 = None
        embedding_dense_backward: "f32[12, 8]" = torch.ops.aten.embedding_dense_backward.default(tanh_backward, primals_3, 12, -1, False);  tanh_backward = primals_3 = None
        return pytree.tree_unflatten([_log_softmax, embedding_dense_backward, t_4, None], self._out_spec)

// Graphs as readers leave them: shapes follow from operands and attributes, whatever a text says of them.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/equal_hlo_reading.h"

// Each line fits where the tests' computations and parameters stand before it; the second of a pair does not.
static void shapes_follow_from_operands(void **state) {
    static const struct {
        int devices;
        const char *right, *wrong;
    } cases[] = {
        {1, "c = f32[4,6] add(a, a)", "c = f32[4,6] add(a, v)"},
        {1, "c = f32[4,6] add(a, a)", "c = f32[4,6] add(a)"},
        {1, "c = f32[4,6] add(a, a)", "c = s32[4,6] add(a, a)"},
        {1, "c = bf16[4,6] negate(a)", "c = (f32[4,6]) negate(a)"},
        {1, "c = s32[4,6] convert(a)", "c = s32[6,4] convert(a)"},
        {1, "c = pred[4,6] compare(a, a), direction=LT",
         "c = f32[4,6] compare(a, a), direction=LT"},
        {1, "c = pred[4,6] compare(a, a), direction=LT",
         "c = pred[4,6] compare(a, n), direction=LT"},
        {1, "c = f32[4,6] select(p, a, a)", "c = f32[4,6] select(a, a, a)"},
        {1, "c = f32[4,6] select(q, a, a)", "c = f32[4,6] select(p, a, n)"},
        {1, "c = f32[4,6] clamp(z, a, z)", "c = f32[4,6] clamp(v, a, z)"},
        {1, "c = f32[4,6] clamp(a, a, a)", "c = f32[] clamp(z, a, z)"},
        {1, "c = pred[4,6] is-finite(a)", "c = pred[4,6] is-finite(n)"},
        {1, "c = f32[4] abs(cx)", "c = s32[4] abs(v)"},
        {1, "c = f32[4,6] abs(a)", "c = s32[4,6] abs(a)"},
        {1, "c = f32[4,6] reduce-precision(a), exponent_bits=5, mantissa_bits=2",
         "c = f32[4,6] reduce-precision(a), exponent_bits=0, mantissa_bits=2"},
        {1, "c = f32[2,6,3] broadcast(v), dimensions={1}",
         "c = f32[2,6,3] broadcast(v), dimensions={0}"},
        {1, "c = f32[2,6,3] broadcast(z), dimensions={}",
         "c = f32[2,6,3] broadcast(v), dimensions={}"},
        {1, "c = f32[4,6,4] broadcast(a), dimensions={0,1}",
         "c = f32[4,6,4] broadcast(a), dimensions={3,1}"},
        {1, "c = f32[4,6,4] broadcast(a), dimensions={2,1}",
         "c = f32[6,6,4] broadcast(a), dimensions={1,1}"},
        {1, "c = f32[9,6] concatenate(a, u), dimensions={0}",
         "c = f32[8,6] concatenate(a, u), dimensions={0}"},
        {1, "c = f32[4,12] concatenate(a, a), dimensions={1}",
         "c = f32[9,6] concatenate(a, u), dimensions={1}"},
        {1, "c = f32[4,6] concatenate(a), dimensions={0}",
         "c = f32[4,6] concatenate(), dimensions={0}"},
        {1, "c = f32[2,6] dynamic-slice(a, i, i), dynamic_slice_sizes={2,6}",
         "c = f32[2,6] dynamic-slice(a, i), dynamic_slice_sizes={2,6}"},
        {1, "c = f32[4,1] dynamic-slice(a, i, i), dynamic_slice_sizes={4,1}",
         "c = f32[5,1] dynamic-slice(a, i, i), dynamic_slice_sizes={5,1}"},
        {1, "c = f32[4,1] dynamic-slice(a, i, i), dynamic_slice_sizes={4,1}",
         "c = f32[4,1] dynamic-slice(a, i, z), dynamic_slice_sizes={4,1}"},
        {1, "c = f32[4,6] dynamic-update-slice(a, a, i, i)",
         "c = f32[4,6] dynamic-update-slice(a, u, i, i)"},
        {1, "c = f32[4,6] dynamic-update-slice(a, a, i, i)",
         "c = f32[5,6] dynamic-update-slice(u, v, i, i)"},
        {1, "c = s32[] get-tuple-element(t), index=0", "c = s32[] get-tuple-element(t), index=1"},
        {1, "c = s32[] get-tuple-element(t), index=0", "c = s32[] get-tuple-element(t), index=2"},
        {1, "c = s32[] get-tuple-element(t), index=0", "c = s32[] get-tuple-element(i), index=0"},
        {1, "c = f32[6,5] pad(a, z), padding=1_1x0_-1", "c = f32[6,5] pad(a, z), padding=1_1"},
        {1, "c = f32[13,6] pad(a, z), padding=0_0_3x0_0",
         "c = f32[14,6] pad(a, z), padding=0_0_3x0_0"},
        {1, "c = f32[0,6] pad(a, z), padding=-4_0x0_0", "c = f32[0,6] pad(a, z), padding=-5_0x0_0"},
        {1, "c = f32[4,6] pad(a, z), padding=0_0x0_0", "c = f32[4,6] pad(a, v), padding=0_0x0_0"},
        {1, "c = f32[4,6] pad(a, z), padding=0_0x0_0",
         "c = f32[4,6] pad(a, z), padding=9223372036854775807_1x0_0"},
        {1, "c = f32[24] reshape(a)", "c = f32[25] reshape(a)"},
        {1, "c = f32[4,6] reverse(a), dimensions={0,1}",
         "c = f32[4,6] reverse(a), dimensions={1,1}"},
        {1, "c = f32[2,6] slice(a), slice={[1:4:2], [0:6]}",
         "c = f32[2,6] slice(a), slice={[1:5:2], [0:6]}"},
        {1, "c = f32[0,6] slice(a), slice={[4:4], [0:6]}",
         "c = f32[0,6] slice(a), slice={[4:3], [0:6]}"},
        {1, "c = f32[2,6] slice(a), slice={[0:2], [0:6]}", "c = f32[2,6] slice(a), slice={[0:2]}"},
        {1, "c = f32[1,6] slice(a), slice={[0:4:9223372036854775807], [0:6]}",
         "c = f32[1,6] slice(a), slice={[0:4:0], [0:6]}"},
        {1, "c = f32[6,4] transpose(a), dimensions={1,0}",
         "c = f32[6,4] transpose(a), dimensions={0,1}"},
        {1, "c = f32[6,4] transpose(a), dimensions={1,0}",
         "c = f32[6,4] transpose(a), dimensions={1}"},
        {1, "c = (f32[4,6], s32[]) tuple(a, i)", "c = (s32[], f32[4,6]) tuple(a, i)"},
        {1, "c = () tuple()", "c = (f32[4,6]) tuple()"},
        {1, "c = f32[4,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "c = f32[8,4] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
        {1, "c = f32[4,8] dot(a, b), lhs_contracting_dims={1}, rhs_contracting_dims={0}",
         "c = f32[6,6] dot(a, b), lhs_contracting_dims={0}, rhs_contracting_dims={1}"},
        {1, "c = f32[4,6,6,8] dot(a, b)", "c = f32[4,6,6,8] dot(a, b), lhs_contracting_dims={0}"},
        {1, "c = f32[6,4,8] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}",
         "c = f32[6,4,8] dot(a, b), lhs_batch_dims={1}, rhs_batch_dims={0}, "
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[4] reduce(a, z), dimensions={0}, to_apply=add"},
        {1, "c = f32[] reduce(a, z), dimensions={0,1}, to_apply=add",
         "c = f32[] reduce(a, z), dimensions={0,2}, to_apply=add"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[6] reduce(a, i), dimensions={0}, to_apply=add"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[6] reduce(a, z), dimensions={0}, to_apply=less"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = f32[6] reduce(a), dimensions={0}, to_apply=add"},
        {1, "c = f32[6] reduce(a, z), dimensions={0}, to_apply=add",
         "c = (f32[6], f32[6]) reduce(a, a, z, z), dimensions={0}, to_apply=add"},
        {1, "c = (f32[6], f32[6]) reduce(a, a, z, z), dimensions={0}, to_apply=both",
         "c = (f32[6], f32[4]) reduce(a, a, z, z), dimensions={0}, to_apply=both"},
        {1, "c = f32[4,6] sort(a), dimensions={1}, to_apply=less",
         "c = f32[4,6] sort(a), dimensions={2}, to_apply=less"},
        {1, "c = f32[4,6] sort(a), dimensions={1}, to_apply=less",
         "c = f32[4,6] sort(a), dimensions={1}, to_apply=add"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,6}",
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, "
         "index_vector_dim=1, slice_sizes={1,5}"},
        {1,
         "c = f32[5,1,6] gather(a, ix), offset_dims={1,2}, collapsed_slice_dims={}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
         "c = f32[5,1,6] gather(a, ix), offset_dims={1,2}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}"},
        {1,
         "c = f32[5,1,6] gather(a, ix), offset_dims={2}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=2, slice_sizes={1,6}",
         "c = f32[5,1,6] gather(a, ix), offset_dims={2}, collapsed_slice_dims={0}, "
         "start_index_map={0,1}, index_vector_dim=2, slice_sizes={1,6}"},
        {1,
         "c = f32[6,5] gather(a, ix), offset_dims={0}, collapsed_slice_dims={0}, "
         "start_index_map={1}, "
         "index_vector_dim=1, slice_sizes={1,6}",
         "c = f32[6,5] gather(a, ix), offset_dims={0}, collapsed_slice_dims={0}, "
         "start_index_map={2}, "
         "index_vector_dim=1, slice_sizes={1,6}"},
        {1,
         "c = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
         "c = f32[4,6] scatter(a, ix, a), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"},
        {1,
         "c = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
         "c = f32[4,6] scatter(a, ix, u), update_window_dims={1}, inserted_window_dims={1}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add"},
        {1,
         "j = s32[4,1] slice(n), slice={[0:4], [0:1]}\n"
         "c = f32[4] gather(a, j), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
         "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
         "slice_sizes={1,1}",
         "c = f32[5] gather(a, ix), offset_dims={}, collapsed_slice_dims={1}, start_index_map={1}, "
         "operand_batching_dims={0}, start_indices_batching_dims={0}, index_vector_dim=1, "
         "slice_sizes={1,1}"},
        {1, "c = s32[5] iota(), iota_dimension=0", "c = s32[5] iota(), iota_dimension=1"},
        {1, "c = u32[] partition-id()", "c = u32[2] partition-id()"},
        {1, "c = (s32[], f32[4,6]) opt-barrier(t)", "c = (f32[4,6], s32[]) opt-barrier(t)"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[2,6] call(v), to_apply=half"},
        {1,
         "h = bf16[4,6] convert(a)\n c = f32[2,6] call(h), to_apply=half\n"
         "d = f64[2,6] call(h), to_apply=half",
         "h = bf16[4,6] convert(a)\n c = f32[2,6] call(h), to_apply=half\n"
         "d = s32[2,6] call(h), to_apply=half"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[4,6] call(a), to_apply=half"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[2,6] call(a, a), to_apply=half"},
        {1, "c = f32[2,6] call(a), to_apply=half", "c = f32[2,6] call(a)"},
        {1, "c = f32[4,6] map(a, a), dimensions={0,1}, to_apply=add",
         "c = f32[4,6] map(a), dimensions={0,1}, to_apply=add"},
        {1, "c = (s32[], f32[4,6]) while(t), condition=more, body=body",
         "c = (s32[], f32[4,6]) while(t), condition=body, body=more"},
        {1, "c = (s32[], f32[4,6]) while(t), condition=more, body=body",
         "c = (s32[], f32[4,6]) while(t), condition=more, body=more"},
        {1, "c = f32[2,6] conditional(i, a), branch_computations={half}",
         "c = f32[2,6] conditional(q, a), branch_computations={half}"},
        {1, "c = f32[2,6] conditional(i, a), branch_computations={half}",
         "c = f32[2,6] conditional(i, v), branch_computations={half}"},
        {1, "c = f32[2,6] conditional(i, a), branch_computations={half}",
         "c = f32[2,6] conditional(i, a, a), branch_computations={half}"},
        {2, "c = f32[4,6] all-reduce(a), " GROUPED("{{0,1}}"),
         "c = f32[4,3] all-reduce(a), " GROUPED("{{0,1}}")},
        {2, "c = (f32[4,6], f32[6]) all-reduce(a, v), " GROUPED("{{0,1}}"),
         "c = (f32[6], f32[4,6]) all-reduce(a, v), " GROUPED("{{0,1}}")},
        {2, "c = f32[8,6] all-gather(a), dimensions={0}, replica_groups={}, channel_id=1",
         "c = f32[4,6] all-gather(a), dimensions={0}, replica_groups={}, channel_id=1"},
        {2, "c = f32[4,12] all-gather(a), dimensions={1}, replica_groups={}, channel_id=1",
         "c = f32[4,12] all-gather(a), dimensions={2}, replica_groups={}, channel_id=1"},
        {2, "c = f32[2,6] reduce-scatter(a), dimensions={0}, " GROUPED("{{0,1}}"),
         "c = f32[8,6] reduce-scatter(a), dimensions={0}, " GROUPED("{{0,1}}")},
        {4, "c = f32[1,6] reduce-scatter(a), dimensions={0}, " GROUPED("{{0,1,2,3}}"),
         "c = f32[4,1] reduce-scatter(a), dimensions={1}, " GROUPED("{{0,1,2,3}}")},
        {4, "c = f32[4,6] all-to-all(a), dimensions={0}, channel_id=1, replica_groups={}",
         "c = f32[4,6] all-to-all(a), dimensions={1}, channel_id=1, replica_groups={}"},
        {2, "c = (f32[6], f32[6]) all-to-all(v, v), channel_id=1, replica_groups={}",
         "c = f32[6] all-to-all(v), channel_id=1, replica_groups={}"},
        {2, "c = f32[6] collective-permute(v), channel_id=1, source_target_pairs={{0,1}}",
         "c = f32[4] collective-permute(v), channel_id=1, source_target_pairs={{0,1}}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading r = read_line(cases[i].right, cases[i].devices);
        forget(&r);
        assert_line_refused(cases[i].wrong, cases[i].devices, E905, "");
    }
}

// What is said of a line: one for each thing that a rule asks, where others that fail would hide it.
static void what_does_not_fit_is_named(void **state) {
    static const struct {
        int devices;
        const char *line, *message;
    } cases[] = {
        {1, "c = f32[25] bitcast(a)", "25 elements of 24"},
        {1, "c = u32[2] replica-id()", "whole number"},
        {1, "c = f32[] dot(r9, r9)", "more than 16 dimensions"},
        {1, "c = (f32[6], f32[6]) reduce(a, b, z, z), dimensions={0}, to_apply=both",
         "operand 1 has other sizes"},
        {1, "c = f32[6] reduce(a, z, z), dimensions={0}, to_apply=add",
         "as many numbers to begin with"},
        {1, "c = f32[4,6] sort(a), dimensions={1}, to_apply={less, less}",
         "one computation compares"},
        {1, "c = f32[4,6] sort(a), dimensions={1}, to_apply=both", "has 4 parameters"},
        {1, "c = s32[4,6] sort(n), dimensions={1}, to_apply=less", "does not compare elements"},
        {1, "c = f32[4,6] sort(a), dimensions={0,1}, to_apply=less", "one dimension is sorted"},
        {1, "c = f32[6,4] sort(a), dimensions={1}, to_apply=less",
         "another shape than its operand"},
        {2, "c = s32[4,6] all-reduce(a), " GROUPED("{}"), "result 0 is of another kind"},
        {2, "c = f32[4,6] all-gather(a), dimensions={2}, channel_id=1, replica_groups={}",
         "no dimension 2"},
        {2, "c = f32[4,6] all-reduce(a), channel_id=1, replica_groups={}, to_apply={add, add}",
         "one computation is applied"},
        {2, "c = f32[4,6] all-reduce(a), channel_id=1, replica_groups={}, to_apply=half",
         "make one number of two"},
        {2, "c = f32[4,6] all-reduce(a), channel_id=1, replica_groups={}, to_apply=less",
         "not of numbers of operand 0"},
        {1, "c = f32[2,6] conditional(a, a), branch_computations={half}", "the choice is"},
        {1, "c = f32[6] map(a, v), dimensions={0}, to_apply=add", "operand 0 does not fit"},
        {1, "c = (s32[], f32[4,6]) while(t), condition={more, more}, body=body",
         "a condition and a body"},
        {1, "c = (s32[], f32[4,6]) while(t), condition=body, body=body", "gives no pred[]"},
        {1, "c = f32[8,6] concatenate(a, a), dimensions={0,1}", "along one dimension"},
        {1, "c = f32[8,6] concatenate(a, v), dimensions={0}", "operand 1 has 1 dimensions"},
        {1, "c = f32[2,6] dynamic-slice(a, i, i), dynamic_slice_sizes={2}",
         "one size for each dimension"},
        {1, "c = f32[4,6] dynamic-update-slice(a)", "an array and its update"},
        {1, "c = f32[4,6] dynamic-update-slice(a, v, i, i)", "another kind than the array"},
        {1,
         "c = f32[5,6] gather(a, u), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
         "indices are whole numbers"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=3, slice_sizes={1,6}",
         "no dimension 3"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}, operand_batching_dims={0}",
         "different batching"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={0,1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
         "windows have 2 dimensions"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=2, slice_sizes={1,6}",
         "have 3 dimensions, not 2"},
        {1,
         "c = f32[5,6] gather(none, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
         "a window of nothing"},
        {1,
         "c = s32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1,6}",
         "elements of another type"},
        {1,
         "c = f32[5,6] gather(a, ix), offset_dims={1}, collapsed_slice_dims={0}, "
         "start_index_map={0}, index_vector_dim=1, slice_sizes={1}",
         "one size for each dimension"},
        {1,
         "c = f32[4,6] scatter(a, ix, u, u), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
         "as many updates"},
        {1,
         "c = f32[4,6] scatter(a, ix, us), update_window_dims={1}, inserted_window_dims={0}, "
         "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add",
         "do not fit"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_line_refused(cases[i].line, cases[i].devices, E905, cases[i].message);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_follow_from_operands),
        cmocka_unit_test(what_does_not_fit_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

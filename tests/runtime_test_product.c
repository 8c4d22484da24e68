/* The product function: all transposes, tails of tiles, strides, sums; the same bits on one thread
 * and two; how teams cut; the environment put right; a library that does not know the CPU, or is
 * not there. */
#include <sys/wait.h>
#include <unistd.h>
#include "runtime_kernel_fixture.h"

struct case_of_product {
    int transpose_a, transpose_b, beta;
    int64_t m, n, k, gap; /* gap: elements between the end of a row and the next */
};

static double at(const double *x, int64_t leading, int transpose, int64_t row, int64_t column) {
    return x[transpose ? column * leading + row : row * leading + column];
}

static void check_case(struct place_context *context, int dtype, const struct case_of_product *p) {
    int64_t rows_a = p->transpose_a ? p->k : p->m, lda = (p->transpose_a ? p->m : p->k) + p->gap;
    int64_t rows_b = p->transpose_b ? p->n : p->k, ldb = (p->transpose_b ? p->k : p->n) + p->gap;
    int64_t ldc = p->n + p->gap;
    struct tensor a = tensor_random(dtype, rows_a * lda, 1),
                  b = tensor_random(dtype, rows_b * ldb, 2);
    struct tensor c = tensor_random(dtype, p->m * ldc, 3);
    for (int64_t i = 0; i < p->m; i++)
        for (int64_t j = 0; j < p->n; j++) {
            double sum = p->beta ? c.exact[i * ldc + j] : 0;
            for (int64_t k = 0; k < p->k; k++)
                sum +=
                    at(a.exact, lda, p->transpose_a, i, k) * at(b.exact, ldb, p->transpose_b, k, j);
            c.exact[i * ldc + j] = sum;
        }
    CALL_OK(place_product(context, 0, dtype, p->transpose_a, p->transpose_b, p->m, p->n, p->k,
                          a.data, lda, b.data, ldb, p->beta, c.data, ldc));
    assert_close("c", c.data, dtype, c.exact, p->m * ldc, tolerance_of(dtype) * 10);
    tensor_free(&a), tensor_free(&b), tensor_free(&c);
}

static void products_agree_with_loops(void **state) {
    const char *message;
    struct place_context *context = context_make(kernels_select(&message), 2);
    static const int64_t sizes[][3] = {{1, 1, 1},      {3, 5, 7},      {64, 64, 64},
                                       {257, 130, 33}, {70, 1040, 40}, {300, 1, 9}};
    for (int size = 0; size < 6; size++)
        for (int flags = 0; flags < 8; flags++)
            for (int type = 0; type < 2; type++)
                check_case(context, real_types[type],
                           &(struct case_of_product){flags & 1, flags >> 1 & 1, flags >> 2,
                                                     sizes[size][0], sizes[size][1], sizes[size][2],
                                                     flags % 3});
    context_free(context);
}

/* beta 0 does not read c, whatever is there. */
static void results_are_overwritten(void **state) {
    const char *message;
    struct place_context *context = context_make(kernels_select(&message), 1);
    double a[4] = {1, 2, 3, 4}, c[4] = {NAN, NAN, NAN, NAN};
    CALL_OK(place_product(context, 0, PLACE_F64, 0, 0, 2, 2, 2, a, 2, a, 2, 0, c, 2));
    const double square[4] = {7, 10, 15, 22};
    assert_close("c", c, PLACE_F64, square, 4, 0);
    context_free(context);
}

static void teams_give_equal_bits(void **state) {
    enum { M = 523, N = 700, K = 65 };
    const char *message;
    struct place_context *one = context_make(kernels_select(&message), 1),
                         *two = context_make(one->kernels, 2);
    struct tensor a = tensor_random(PLACE_F32, M * K, 1), b = tensor_random(PLACE_F32, K * N, 2);
    struct tensor c = tensor_random(PLACE_F32, M * N, 3), d = tensor_random(PLACE_F32, M * N, 4);
    CALL_OK(place_product(one, 0, PLACE_F32, 0, 0, M, N, K, a.data, K, b.data, N, 0, c.data, N));
    CALL_OK(place_product(two, 0, PLACE_F32, 0, 0, M, N, K, a.data, K, b.data, N, 0, d.data, N));
    assert_memory_equal(c.data, d.data, sizeof(float) * M * N);
    tensor_free(&a), tensor_free(&b), tensor_free(&c), tensor_free(&d);
    context_free(one), context_free(two);
}

/* Each in a process of its own, since a library is loaded once. */
static int status_of_child(int (*body)(void)) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(body());
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int load_with_misleading_core(void) {
    setenv("OPENBLAS_CORETYPE", "Prescott", 1);
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 1;
    if (strstr(product_description(), "Prescott") != NULL ||
        strstr(product_description(), "OpenBLAS") == NULL)
        return 2;
    return product_warning() != NULL && strstr(product_warning(), "Prescott") != NULL ? 0 : 3;
}

static int load_plainly(void) {
    unsetenv("OPENBLAS_CORETYPE");
    const char *message;
    return product_load(&message) == PLACE_OK && product_warning() == NULL ? 0 : 1;
}

static const char *description_on_this_cpu(void) {
    return kernels_named("v4") != NULL   ? "Old 0.1 SkylakeX"
           : kernels_named("v3") != NULL ? "Old 0.1 Haswell"
                                         : "Old 0.1 Prescott";
}

static int load_old_library(void) {
    setenv("PLACE_PRODUCT_LIBRARY", OLD_BLAS, 1);
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 1;
    return strcmp(product_description(), description_on_this_cpu()) == 0 ? 0 : 2;
}

enum { EDGE = 1024 };

/* The product of EDGE x EDGE x EDGE by a team, as the old library makes it. */
static float *old_product(const struct place_program *program, int threads) {
    const char *message;
    struct place_context *context = context_make(kernels_select(&message), threads);
    context->program = program;
    float *x = calloc(2 * EDGE * EDGE, sizeof(float));
    if (x == NULL || place_product(context, 0, PLACE_F32, 0, 0, EDGE, EDGE, EDGE, x, EDGE, x, EDGE,
                                   0, x + EDGE * EDGE, EDGE) != PLACE_OK)
        _exit(3);
    context_free(context);
    return x + EDGE * EDGE;
}

static int cut_by_teams(void) {
    setenv("PLACE_PRODUCT_LIBRARY", OLD_BLAS, 1);
    static const struct place_program fast, reproducible = {.reproducible = 2};
    const char *message;
    if (product_load(&message) != PLACE_OK)
        return 4;
    const size_t bytes = sizeof(float) * EDGE * EDGE;
    if (old_product(&fast, 1)[0] != EDGE * EDGE || old_product(&fast, 2)[0] != EDGE * EDGE / 2)
        return 1;
    return memcmp(old_product(&reproducible, 1), old_product(&reproducible, 2), bytes) == 0 ? 0 : 2;
}

static int load_missing_library(void) {
    setenv("PLACE_PRODUCT_LIBRARY", "/nowhere/libnothing.so", 1);
    const char *message = "";
    if (product_load(&message) != PLACE_ERROR_LIBRARY ||
        strstr(message, "/nowhere/libnothing.so") == NULL)
        return 1;
    return strstr(message, "libopenblas0") != NULL ? 0 : 2;
}

static int load_library_without_products(void) {
    setenv("PLACE_PRODUCT_LIBRARY", "libm.so.6", 1);
    const char *message = "";
    return product_load(&message) == PLACE_ERROR_LIBRARY && strstr(message, "cblas_sgemm") != NULL
               ? 0
               : 1;
}

static void misleading_core_is_ignored(void **state) {
    assert_int_equal(status_of_child(load_with_misleading_core), 0);
    assert_int_equal(status_of_child(load_plainly), 0);
}

/* A library cannot know CPUs that are newer. */
static void old_library_is_told_which_kernels(void **state) {
    assert_int_equal(status_of_child(load_old_library), 0);
}

/* As many tiles as threads; where training is reproducible the same ones for every team. */
static void teams_cut_products(void **state) {
    assert_int_equal(status_of_child(cut_by_teams), 0);
}

static void missing_library_is_explained(void **state) {
    assert_int_equal(status_of_child(load_missing_library), 0);
    assert_int_equal(status_of_child(load_library_without_products), 0);
}

static int load_here(void **state) {
    const char *message = "";
    if (product_load(&message) == PLACE_OK)
        return 0;
    fprintf(stderr, "%s\n", message);
    return 1;
}

int main(void) {
    const struct CMUnitTest before_loading[] = {
        cmocka_unit_test(misleading_core_is_ignored),
        cmocka_unit_test(old_library_is_told_which_kernels),
        cmocka_unit_test(missing_library_is_explained),
        cmocka_unit_test(teams_cut_products),
    };
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_agree_with_loops),
        cmocka_unit_test(results_are_overwritten),
        cmocka_unit_test(teams_give_equal_bits),
    };
    return cmocka_run_group_tests(before_loading, NULL, NULL) +
           cmocka_run_group_tests(tests, load_here, NULL);
}

/* Loads OpenBLAS, or the library that is named, with dlopen and calls it single-threaded.
 *
 * It is loaded rather than linked so that the environment can be put right first: some machines
 * carry an OPENBLAS_CORETYPE that costs half the speed, and any number of threads but one would
 * start a pool of threads beside our own. The state here belongs to the process because the
 * library's does.
 *
 * oneDNN has a call of its own, in float alone; products in double are left to OpenBLAS then. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "runtime/kernels/kernels.h"
#include "runtime/product.h"

/* The constants of cblas.h, whose numbers are the interface. */
enum { CBLAS_ROW_MAJOR = 101, CBLAS_NO_TRANSPOSE = 111, CBLAS_TRANSPOSE = 112 };

typedef void (*sgemm_function)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                               float alpha, const float *a, int lda, const float *b, int ldb,
                               float beta, float *c, int ldc);
typedef void (*dgemm_function)(int order, int transpose_a, int transpose_b, int m, int n, int k,
                               double alpha, const double *a, int lda, const double *b, int ldb,
                               double beta, double *c, int ldc);

/* Row-major; 'T' or 'N' for each operand. */
typedef int (*dnnl_sgemm_function)(char transpose_a, char transpose_b, int64_t m, int64_t n,
                                   int64_t k, float alpha, const float *a, int64_t lda,
                                   const float *b, int64_t ldb, float beta, float *c, int64_t ldc);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    sgemm_function sgemm; /* null: dnnl_sgemm is not */
    dnnl_sgemm_function dnnl_sgemm;
    dgemm_function dgemm;
    char description[128];
    char warning[256];
    char error[512];
} library = {.description = "none"};

/* The file that PLACE_PRODUCT_LIBRARY names, or null. */
static const char *named_library(void) {
    const char *named = getenv("PLACE_PRODUCT_LIBRARY");
    return named != NULL && named[0] != '\0' ? named : NULL;
}

/* Opens that file, or of those of OpenBLAS the first that can be loaded; the pthread build is tried
 * by its own name first, because the OpenMP build would bring a second pool of threads. */
static void *open_library(const char *named) {
    if (named != NULL)
        return dlopen(named, RTLD_NOW | RTLD_LOCAL);
    static const char *const files[] = {
        "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblas.so.0",
        "libopenblas.so.0",
        "libopenblas.so",
    };
    void *handle = NULL;
    for (size_t i = 0; i < sizeof files / sizeof files[0] && handle == NULL; i++)
        handle = dlopen(files[i], RTLD_NOW | RTLD_LOCAL);
    return handle;
}

static void correct_environment(void) {
    const char *core = getenv("OPENBLAS_CORETYPE");
    if (core != NULL && core[0] != '\0')
        snprintf(library.warning, sizeof library.warning,
                 "OPENBLAS_CORETYPE=%.64s is ignored: products take the kernels that fit this CPU",
                 core);
    unsetenv("OPENBLAS_CORETYPE");
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    setenv("OMP_NUM_THREADS", "1", 1);
    setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 1);
}

static const char *core_of(void *handle) {
    char *(*core)(void) = (char *(*)(void))dlsym(handle, "openblas_get_corename");
    return core != NULL ? core() : "";
}

/* The library's names for kernels that use what a level of x86-64 has; the first of them runs on
 * every CPU of that level. */
static const struct {
    const char *version; /* of our own kernels */
    const char *cores[3];
} levels[] = {
    {"v4", {"SkylakeX", "Cooperlake", "SapphireRapids"}},
    {"v3", {"Haswell", "Zen", "Excavator"}},
};

/* A core for this CPU where the one that was chosen is for older ones, else null. */
static const char *better_core(const char *chosen) {
    size_t level = 0, n_levels = sizeof levels / sizeof levels[0];
    while (level < n_levels && kernels_named(levels[level].version) == NULL)
        level++;
    if (level == n_levels)
        return NULL;
    for (size_t i = 0; i < sizeof levels[0].cores / sizeof levels[0].cores[0]; i++)
        if (strcasecmp(chosen, levels[level].cores[i]) == 0)
            return NULL;
    return levels[level].cores[0];
}

/* OpenBLAS takes the kernels of the first 64-bit CPUs, with less than a tenth of the speed, for
 * every CPU that is newer than the library. It chooses while it is loaded, so it is loaded again.
 */
static void *open_for_this_cpu(const char *named) {
    void *handle = open_library(named);
    const char *core = handle != NULL ? core_of(handle) : "";
    const char *better = core[0] != '\0' ? better_core(core) : NULL;
    if (better == NULL)
        return handle;
    dlclose(handle);
    setenv("OPENBLAS_CORETYPE", better, 1);
    handle = open_library(named);
    unsetenv("OPENBLAS_CORETYPE");
    return handle;
}

/* Each writes what its library calls itself; 0: it is another one. */

/* openblas_get_config() is "OpenBLAS 0.3.21 NO_LAPACKE ... SkylakeX MAX_THREADS=64": the first two
 * words. */
static int describe_openblas(void *handle, char *text, size_t room) {
    char *(*config)(void) = (char *(*)(void))dlsym(handle, "openblas_get_config");
    char name[32], version[32];
    if (config == NULL || sscanf(config(), "%31s %31s", name, version) != 2)
        return 0;
    snprintf(text, room, "%s %s %s", name, version, core_of(handle));
    return 1;
}

static int describe_blis(void *handle, char *text, size_t room) {
    const char *(*version)(void) = (const char *(*)(void))dlsym(handle, "bli_info_get_version_str");
    int (*chosen)(void) = (int (*)(void))dlsym(handle, "bli_arch_query_id");
    const char *(*name)(int) = (const char *(*)(int))dlsym(handle, "bli_arch_string");
    void (*initialize)(void) = (void (*)(void))dlsym(handle, "bli_init");
    if (version == NULL || chosen == NULL || name == NULL || initialize == NULL)
        return 0;
    initialize(); /* before which it knows no architecture */
    snprintf(text, room, "BLIS %s %s", version(), name(chosen()));
    return 1;
}

/* dnnl_version() points to three numbers, and more. */
static int describe_onednn(void *handle, char *text, size_t room) {
    const int *(*version)(void) = (const int *(*)(void))dlsym(handle, "dnnl_version");
    if (version == NULL)
        return 0;
    const int *numbers = version();
    snprintf(text, room, "oneDNN %d.%d.%d", numbers[0], numbers[1], numbers[2]);
    return 1;
}

/* The string is "Intel(R) oneAPI Math Kernel Library Version 2026.2-Product Build ...". */
static int describe_mkl(void *handle, char *text, size_t room) {
    void (*version)(char *, int) = (void (*)(char *, int))dlsym(handle, "MKL_Get_Version_String");
    if (version == NULL)
        return 0;
    char whole[198] = "", number[32]; /* as long as the library's manual says that it is at most */
    version(whole, sizeof whole - 1);
    const char *at = strstr(whole, "Version ");
    if (at == NULL || sscanf(at, "Version %31[0-9.]", number) != 1)
        return 0;
    snprintf(text, room, "MKL %s", number);
    return 1;
}

/* Describes the library; one that only PLACE_PRODUCT_LIBRARY can name by its file. */
static void describe(void *handle, const char *named, char *text, size_t room) {
    if (!describe_openblas(handle, text, room) && !describe_blis(handle, text, room) &&
        !describe_onednn(handle, text, room) && !describe_mkl(handle, text, room))
        snprintf(text, room, "%s", named != NULL ? named : "a library without a name");
}

static void turn_threads_off(void *handle) {
    void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
    if (set_threads != NULL)
        set_threads(1);
}

/* Null: none, and dlerror says why. */
static void *open_described(const char *named, char *text, size_t room) {
    void *handle = open_for_this_cpu(named);
    if (handle == NULL)
        return NULL;
    turn_threads_off(handle);
    describe(handle, named, text, room);
    return handle;
}

/* What to do, at the end of every error. */
#define INSTALL      "install OpenBLAS (Debian: libopenblas0-pthread)"
#define NAME_ANOTHER "name another file, or unset PLACE_PRODUCT_LIBRARY to take OpenBLAS"

__attribute__((format(printf, 1, 2))) static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(library.error, sizeof library.error, format, arguments);
    va_end(arguments);
}

/* Null: none, and why is written down. */
static void *open_wanted(const char *named) {
    void *handle = open_described(named, library.description, sizeof library.description);
    if (handle == NULL && named != NULL)
        fail("the file that PLACE_PRODUCT_LIBRARY names cannot be loaded: %.300s; " NAME_ANOTHER,
             dlerror());
    else if (handle == NULL)
        fail("no product library: %.300s; " INSTALL
             ", or name the file of another in PLACE_PRODUCT_LIBRARY",
             dlerror());
    return handle;
}

static void find_float(void *handle) {
    library.sgemm = (sgemm_function)dlsym(handle, "cblas_sgemm");
    if (library.sgemm == NULL)
        library.dnnl_sgemm = (dnnl_sgemm_function)dlsym(handle, "dnnl_sgemm");
}

/* The library for products in double beside one that has none: `handle` itself, or OpenBLAS.
 * Null: none, and why is written down. */
static void *open_for_double(void *handle) {
    if (library.dnnl_sgemm == NULL)
        return handle;
    char *text = library.description;
    size_t room = sizeof library.description, name = strlen(text);
    snprintf(text + name, room - name, ", fp64 by ");
    size_t used = strlen(text);
    handle = open_described(NULL, text + used, room - used);
    if (handle == NULL)
        fail(
            "%.*s makes products in fp32 alone, and OpenBLAS, which makes those in fp64, cannot be "
            "loaded: %.300s; " INSTALL,
            (int)name, text, dlerror());
    return handle;
}

/* Fails for the library that should have had products: the one that is named, or OpenBLAS. */
static void fail_without_products(const char *named) {
    if (named != NULL)
        fail("%.200s, which PLACE_PRODUCT_LIBRARY names, is no product library: it has not both "
             "cblas_sgemm and cblas_dgemm, and is not oneDNN; " NAME_ANOTHER,
             named);
    else
        fail("the OpenBLAS that was found is built without cblas_sgemm or cblas_dgemm; " INSTALL);
}

static void load(void) {
    correct_environment();
    const char *named = named_library();
    void *handle = open_wanted(named);
    if (handle == NULL)
        return;
    find_float(handle);
    handle = open_for_double(handle);
    if (handle == NULL)
        return;
    library.dgemm = (dgemm_function)dlsym(handle, "cblas_dgemm");
    if ((library.sgemm == NULL && library.dnnl_sgemm == NULL) || library.dgemm == NULL)
        fail_without_products(library.dnnl_sgemm == NULL ? named : NULL);
}

int32_t product_load(const char **message) {
    pthread_once(&once, load);
    if (library.error[0] == '\0')
        return PLACE_OK;
    *message = library.error;
    return PLACE_ERROR_LIBRARY;
}

const char *product_description(void) {
    return library.description;
}

const char *product_warning(void) {
    return library.warning[0] == '\0' ? NULL : library.warning;
}

static void compute_f64(const struct product *p) {
    library.dgemm(CBLAS_ROW_MAJOR, p->transpose_a ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE,
                  p->transpose_b ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE, (int)p->m, (int)p->n,
                  (int)p->k, 1, p->a, (int)p->lda, p->b, (int)p->ldb, p->beta, p->c, (int)p->ldc);
}

static void compute_f32(const struct product *p) {
    library.sgemm(CBLAS_ROW_MAJOR, p->transpose_a ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE,
                  p->transpose_b ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE, (int)p->m, (int)p->n,
                  (int)p->k, 1, p->a, (int)p->lda, p->b, (int)p->ldb, (float)p->beta, p->c,
                  (int)p->ldc);
}

/* oneDNN allocates what it copies operands to, and says so where it cannot. */
static bool compute_by_onednn(const struct product *p) {
    return library.dnnl_sgemm(p->transpose_a ? 'T' : 'N', p->transpose_b ? 'T' : 'N', p->m, p->n,
                              p->k, 1, p->a, p->lda, p->b, p->ldb, (float)p->beta, p->c,
                              p->ldc) == 0;
}

bool product_compute(const struct product *p) {
    if (p->dtype == PLACE_F32 && library.sgemm == NULL)
        return compute_by_onednn(p);
    if (p->dtype == PLACE_F64)
        compute_f64(p);
    else
        compute_f32(p);
    return true;
}

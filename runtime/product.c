/* Loads OpenBLAS with dlopen and calls it single-threaded.
 *
 * It is loaded rather than linked so that the environment can be put right first: some machines
 * carry an OPENBLAS_CORETYPE that costs half the speed, and OPENBLAS_NUM_THREADS would start a pool
 * of threads beside our own. The state here belongs to the process because the library's does. */
#include <dlfcn.h>
#include <pthread.h>
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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct {
    sgemm_function sgemm;
    dgemm_function dgemm;
    char description[128];
    char warning[256];
    char error[512];
} library = {.description = "none"};

/* The first file that can be loaded; the pthread build is tried by its own name first, because the
 * OpenMP build would bring a second pool of threads. */
static void *open_library(void) {
    const char *named = getenv("PLACE_PRODUCT_LIBRARY");
    if (named != NULL && named[0] != '\0')
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
static void *open_for_this_cpu(void) {
    void *handle = open_library();
    const char *core = handle != NULL ? core_of(handle) : "";
    const char *better = core[0] != '\0' ? better_core(core) : NULL;
    if (better == NULL)
        return handle;
    dlclose(handle);
    setenv("OPENBLAS_CORETYPE", better, 1);
    handle = open_library();
    unsetenv("OPENBLAS_CORETYPE");
    return handle;
}

/* openblas_get_config() is "OpenBLAS 0.3.21 NO_LAPACKE ... SkylakeX MAX_THREADS=64": the first two
 * words. */
static int describe_openblas(void *handle) {
    char *(*config)(void) = (char *(*)(void))dlsym(handle, "openblas_get_config");
    char name[32], version[32];
    if (config == NULL || sscanf(config(), "%31s %31s", name, version) != 2)
        return 0;
    snprintf(library.description, sizeof library.description, "%s %s %s", name, version,
             core_of(handle));
    return 1;
}

static int describe_blis(void *handle) {
    const char *(*version)(void) = (const char *(*)(void))dlsym(handle, "bli_info_get_version_str");
    int (*chosen)(void) = (int (*)(void))dlsym(handle, "bli_arch_query_id");
    const char *(*name)(int) = (const char *(*)(int))dlsym(handle, "bli_arch_string");
    void (*initialize)(void) = (void (*)(void))dlsym(handle, "bli_init");
    if (version == NULL || chosen == NULL || name == NULL || initialize == NULL)
        return 0;
    initialize(); /* before which it knows no architecture */
    snprintf(library.description, sizeof library.description, "BLIS %s %s", version(),
             name(chosen()));
    return 1;
}

/* Of what only PLACE_PRODUCT_LIBRARY can name, its file. */
static void describe(void *handle) {
    const char *named = getenv("PLACE_PRODUCT_LIBRARY");
    if (!describe_openblas(handle) && !describe_blis(handle))
        snprintf(library.description, sizeof library.description, "%s",
                 named != NULL ? named : "a library without a name");
}

static void load(void) {
    correct_environment();
    void *handle = open_for_this_cpu();
    if (handle == NULL) {
        snprintf(library.error, sizeof library.error,
                 "no product library: %s; install OpenBLAS (Debian: libopenblas0-pthread), or name "
                 "its file in PLACE_PRODUCT_LIBRARY",
                 dlerror());
        return;
    }
    library.sgemm = (sgemm_function)dlsym(handle, "cblas_sgemm");
    library.dgemm = (dgemm_function)dlsym(handle, "cblas_dgemm");
    if (library.sgemm == NULL || library.dgemm == NULL) {
        snprintf(library.error, sizeof library.error,
                 "the product library has no cblas_sgemm and cblas_dgemm");
        return;
    }
    void (*set_threads)(int) = (void (*)(int))dlsym(handle, "openblas_set_num_threads");
    if (set_threads != NULL)
        set_threads(1);
    describe(handle);
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

void product_compute(const struct product *p) {
    int transpose_a = p->transpose_a ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE;
    int transpose_b = p->transpose_b ? CBLAS_TRANSPOSE : CBLAS_NO_TRANSPOSE;
    if (p->dtype == PLACE_F64)
        library.dgemm(CBLAS_ROW_MAJOR, transpose_a, transpose_b, (int)p->m, (int)p->n, (int)p->k, 1,
                      p->a, (int)p->lda, p->b, (int)p->ldb, p->beta, p->c, (int)p->ldc);
    else
        library.sgemm(CBLAS_ROW_MAJOR, transpose_a, transpose_b, (int)p->m, (int)p->n, (int)p->k, 1,
                      p->a, (int)p->lda, p->b, (int)p->ldb, (float)p->beta, p->c, (int)p->ldc);
}

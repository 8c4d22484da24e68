/* What this machine reaches, as a measure of what a run does. */
#pragma once
#include <stdbool.h>

struct kernels;

/* Operations per second of products on so many cores, by the product library, which has been
 * loaded, or by our own kernel: a few milliseconds on one of them. 0: not known. */
double measure_peak(const struct kernels *kernels, bool by_library, int cores);

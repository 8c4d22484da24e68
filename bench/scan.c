/* Looks through a file of tokens as a run does before its first step, several times, and prints the
 * seconds of the fastest: of reading alone, in pieces of 256 KiB as `cat` does; of the scan.
 *
 *     bench_scan FILE THREADS
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>
#include "bench/arguments.h"
#include "runtime/clock.h"
#include "runtime/host/scan.h"

enum { TIMES = 5, PIECE_BYTES = 1 << 18, MOST_THREADS = 16, VOCAB = 50257 };

static double read_seconds_of(const char *path) {
    static char piece[PIECE_BYTES];
    double begin = clock_seconds();
    int descriptor = open(path, O_RDONLY);
    while (descriptor >= 0 && read(descriptor, piece, sizeof piece) > 0)
        continue;
    close(descriptor);
    return clock_seconds() - begin;
}

/* NAN, and the reason printed, where the file is none of tokens. */
static double scan_seconds_of(const char *path, int threads) {
    const struct place_program program = {.vocab = VOCAB, .sequence = 1024};
    const struct data_request request = {
        .names = {&path, 1}, .option = "--data", .targets_option = "--targets"};
    struct dataset set;
    char message[512] = "";
    double begin = clock_seconds(), seconds = NAN;
    if (dataset_open(&set, &request, &program, message, sizeof message) == 0 &&
        dataset_scan(&set, VOCAB, threads, message, sizeof message) == SCAN_DONE)
        seconds = clock_seconds() - begin;
    else
        fprintf(stderr, "bench_scan: %s\n", message);
    dataset_close(&set);
    return seconds;
}

int main(int argc, char **argv) {
    int threads;
    if (argc != 3 || !read_count(argv[2], MOST_THREADS, &threads)) {
        fprintf(stderr, "usage: bench_scan FILE THREADS\n");
        return 2;
    }
    double reading = INFINITY, scanning = INFINITY;
    for (int i = 0; i < TIMES; i++) {
        reading = fmin(reading, read_seconds_of(argv[1]));
        double seconds = scan_seconds_of(argv[1], threads);
        if (isnan(seconds))
            return 1;
        scanning = fmin(scanning, seconds);
    }
    printf("%.6f %.6f\n", reading, scanning);
    return 0;
}

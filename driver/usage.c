// What is wrong with the command line: the mistake and the remedy, in two lines on stderr; or, where a verb that has a
// report in JSON is asked for it, in that.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/options.h"
#include "driver/report_diagnostics.h"
#include "ir/diagnostic.h"

bool asks_for_json(enum verb verb, int argc, char **argv) {
    static const char name[] = "--json";
    bool asks = false;
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        size_t length = strcspn(argv[i], "=");
        // getopt takes the beginning of a name for it.
        asks |= length > strlen("--") && strncmp(argv[i], name, length) == 0;
    }
    return asks && has_report(verb);
}

static void tell_json(enum verb verb, const char *message, const char *remedy) {
    json_t *report = report_new(verb), *said = json_array();
    json_array_append_new(said, usage_json(message, remedy));
    json_object_set_new(report, "diagnostics", said);
    if (verb == VERB_CHECK)
        json_object_set_new(report, "reason", json_string("usage"));
    print_report(report, stdout);
    json_decref(report);
}

static void tell(const struct options *options, const char *message, const char *remedy) {
    if (options->wants_json)
        tell_json(options->verb, message, remedy);
    else
        fprintf(stderr, remedy ? "placec: %s\n  %s\n" : "placec: %s\n", message, remedy);
}

int usage_error(const struct options *options, const char *remedy, const char *format, ...) {
    char *message = NULL;
    size_t length = 0;
    FILE *to = memory_given(open_memstream(&message, &length));
    va_list args;
    va_start(args, format);
    vfprintf(to, format, args);
    va_end(args);
    memory_written(to);
    tell(options, message, remedy);
    free(message);
    return STATUS_USAGE;
}

int usage_unknown(const struct options *options, const char *what, const char *given,
                  const char *const *names, size_t n, const char *remedy) {
    const char *near = nearest_name(given, names, n);
    return near ? usage_error(options, remedy, "%s `%s`; did you mean `%s`?", what, given, near)
                : usage_error(options, remedy, "%s `%s`", what, given);
}

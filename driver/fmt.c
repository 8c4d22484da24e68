// placec fmt: files laid out anew, in place (docs/language.md). What changes is written whole or
// not at all; a file that does not follow the grammar is refused and left as it is.
#include <stdio.h>
#include <string.h>

#include "driver/compile.h"
#include "driver/overwrite.h"

static bool is_same(const struct source_file *file, const char *text, size_t length) {
    return file->length == length && memcmp(file->text, text, length) == 0;
}

// Standard input goes to standard output, changed or not.
static int use_formatted(const struct options *options, const struct source_file *file,
                         const char *text, size_t length) {
    bool same = is_same(file, text, length), check = option_given(options, OPTION_CHECK);
    if (check && !same)
        printf("%s: would change\n", file->name);
    if (check)
        return same ? STATUS_OK : STATUS_REFUSED;
    if (strcmp(options->operand, "-") == 0) {
        fwrite(text, 1, length, stdout);
        return STATUS_OK;
    }
    int status = same ? STATUS_OK : overwrite(options->operand, text, length);
    if (!same && status == STATUS_OK)
        printf("%s: formatted\n", file->name);
    return status;
}

static int format(struct compilation *c, const struct options *options) {
    size_t length;
    char *text = frontend_format(&c->arena, c->diagnostics, c->file.source, &length);
    if (!text)
        return compilation_finish(c, options);
    return use_formatted(options, &c->sources.items[c->file.source], text, length);
}

// Each for itself: one that is refused keeps none of the others.
int verb_fmt(const struct options *options) {
    int status = STATUS_OK;
    for (int i = 0; i < options->n_operands; i++) {
        struct options one = *options;
        one.operand = options->operands[i];
        int of_file = compile_then(&one, STAGE_PARSED, format);
        status = of_file == STATUS_OK ? status : of_file;
    }
    return status;
}

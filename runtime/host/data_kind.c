/* What a file of training data holds (see data_kind.h).
 *
 * Text has no byte 0, in whatever language and in every encoding but UTF-16 and UTF-32, and hardly
 * a control character; arrays, archives and tokens have both within some hundred bytes. This file
 * looks at the beginning; the scan, which sees every byte, looks for a 0 in the rest. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "runtime/host/data_kind.h"
#include "runtime/host/file.h"

static const struct kind {
    const char *word, *said;
    int width;
} kinds[N_DATA_KINDS] = {
#define DATA_KIND(ID, word, width, said) [DATA_##ID] = {word, said, width},
#include "runtime/host/data_kinds.def"
#undef DATA_KIND
};

static const struct format {
    size_t place, length;
    const char *bytes, *name, *remedy;
} formats[] = {
#define DATA_FORMAT(place, bytes, name, remedy) {place, sizeof bytes - 1, bytes, name, remedy},
#include "runtime/host/data_formats.def"
#undef DATA_FORMAT
};
enum {
    N_FORMATS = sizeof formats / sizeof *formats,
    SURE_BYTES = 6, /* in tokens of two bytes as likely as one in 2^48 */
    HEAD_BYTES = 1 << 16,
    CONTROLS_SHARE = 50,    /* of that many bytes one may be a control character */
    LIKELY_VOCAB = 1 << 18, /* the largest in use */
};

/* How a file begins. */
struct head {
    const char *path;
    size_t n;
    unsigned char bytes[HEAD_BYTES];
};

int data_kind_width(enum data_kind kind) {
    return kinds[kind].width;
}

const char *data_kind_said(enum data_kind kind) {
    return kinds[kind].said;
}

/* The kind that a word names, or N_DATA_KINDS. */
static enum data_kind kind_of_word(const char *word) {
    enum data_kind kind = 0;
    while (kind < N_DATA_KINDS && strcmp(kinds[kind].word, word) != 0)
        kind++;
    return kind;
}

/* The kind that the end of a name says; text has none of its own. */
static enum data_kind kind_of_name(const char *path) {
    const char *end = strrchr(path, '.');
    enum data_kind kind = end ? kind_of_word(end + 1) : N_DATA_KINDS;
    return kind == DATA_TEXT ? N_DATA_KINDS : kind;
}

static int head_read(struct head *head, const char *path, int descriptor, char *message,
                     size_t message_bytes) {
    head->path = path;
    head->n = file_read(descriptor, head->bytes, sizeof head->bytes, 0);
    if (head->n == sizeof head->bytes || !errno)
        return 0;
    snprintf(message, message_bytes, "%s: cannot be read: %s", path, strerror(errno));
    return -1;
}

/* ---- what is known -------------------------------------------------------------------------- */

static const struct format *find_format(const struct head *head, size_t least_bytes) {
    for (int i = 0; i < N_FORMATS; i++) {
        const struct format *format = &formats[i];
        if (format->length >= least_bytes && format->place + format->length <= head->n &&
            memcmp(head->bytes + format->place, format->bytes, format->length) == 0)
            return format;
    }
    return NULL;
}

/* Writes the text with the file's name for every $F. */
static void expand(const char *text, const char *path, char *to, size_t bytes) {
    size_t at = 0;
    for (; *text && at + 1 < bytes; text++) {
        if (strncmp(text, "$F", 2) != 0) {
            to[at++] = *text;
            continue;
        }
        at += (size_t)snprintf(to + at, bytes - at, "%s", path);
        at = at < bytes ? at : bytes - 1;
        text++;
    }
    to[at] = 0;
}

static int refuse_format(const struct head *head, const struct format *format, char *message,
                         size_t message_bytes) {
    char remedy[512];
    expand(format->remedy, head->path, remedy, sizeof remedy);
    snprintf(message, message_bytes, "%s: this is %s, neither text nor bare tokens; %s", head->path,
             format->name, remedy);
    return -1;
}

/* ---- what is not ---------------------------------------------------------------------------- */

static uint64_t number_at(const unsigned char *bytes, size_t width) {
    uint64_t number = 0;
    for (size_t i = 0; i < width; i++)
        number |= (uint64_t)bytes[i] << 8 * i;
    return number;
}

/* Whether all numbers of so many bytes at the beginning are below a bound, the largest apart, which
 * is -1 or the mask, and some are not 0. */
static bool are_numbers(const struct head *head, size_t width, uint64_t bound) {
    uint64_t mask = UINT64_MAX >> (64 - 8 * width), most = 0;
    for (size_t i = 0; i + width <= head->n; i += width) {
        uint64_t number = number_at(head->bytes + i, width);
        if (number >= bound && number != mask)
            return false;
        most |= number;
    }
    return most > 0;
}

/* Numbers of a vocabulary are small. Two small ones side by side, read as one of twice the bytes,
 * are larger than a vocabulary, unless every second one is almost 0. Of two bytes any number could
 * be, so those must be tokens of this model. */
static void advise(const struct head *head, int64_t vocab, char *advice, size_t bytes) {
    if (are_numbers(head, 8, LIKELY_VOCAB))
        expand("its bytes look like numbers of 8 bytes: make them tokens of 4: python3 -c \"import "
               "numpy; numpy.fromfile('$F', 'int64').astype('uint32').tofile('$F.u32')\"",
               head->path, advice, bytes);
    else if (are_numbers(head, 4, LIKELY_VOCAB))
        snprintf(advice, bytes,
                 "its bytes look like tokens of 4 bytes: if they are, say so with --data-type u32");
    else if (are_numbers(head, 2, (uint64_t)vocab))
        snprintf(advice, bytes,
                 "its bytes look like tokens of 2 bytes: if they are, say so with --data-type u16");
    else
        snprintf(advice, bytes,
                 "if it holds bare little-endian tokens, say of how many bytes with --data-type "
                 "u16 or u32; if its bytes are meant, with --data-type text");
}

/* Of the control characters those that text is laid out with, and what colours it on terminals. */
static bool is_layout(unsigned char byte) {
    return (byte >= '\b' && byte <= '\r') || byte == '\33';
}

static bool is_text(const struct head *head) {
    size_t controls = 0;
    for (size_t i = 0; i < head->n; i++) {
        if (head->bytes[i] == 0)
            return false;
        controls += head->bytes[i] < ' ' && !is_layout(head->bytes[i]);
    }
    return controls <= head->n / CONTROLS_SHARE;
}

static int check_text(const struct head *head, int64_t vocab, char *message, size_t message_bytes) {
    char advice[512];
    const struct format *format = find_format(head, 1);
    if (format)
        return refuse_format(head, format, message, message_bytes);
    if (is_text(head))
        return 0;
    advise(head, vocab, advice, sizeof advice);
    snprintf(message, message_bytes, "%s: this is not text; %s", head->path, advice);
    return -1;
}

/* ---- what is said --------------------------------------------------------------------------- */

static int find_said(const char *path, const char *stated, enum data_kind *kind, char *message,
                     size_t message_bytes) {
    enum data_kind named = kind_of_name(path);
    *kind = stated ? kind_of_word(stated) : named;
    if (stated && *kind == N_DATA_KINDS) {
        snprintf(message, message_bytes, "--data-type is text, u16 or u32, not '%s'", stated);
        return -1;
    }
    if (named < N_DATA_KINDS && named != *kind) {
        snprintf(message, message_bytes,
                 "%s: its name says %s, --data-type says %s; leave out one or name the file anew",
                 path, kinds[named].word, stated);
        return -1;
    }
    return 0;
}

static int check_vocab(const char *path, enum data_kind kind, int64_t vocab, char *message,
                       size_t message_bytes) {
    if (kind != DATA_U16 || vocab <= UINT16_MAX)
        return 0;
    snprintf(message, message_bytes,
             "%s: tokens of 2 bytes are below 65535, which is the mask, but the vocabulary has "
             "%lld; write the tokens with 4 bytes each, in a .u32 file, or set model.vocab",
             path, (long long)vocab);
    return -1;
}

int data_kind_find(const char *path, int descriptor, const char *stated, int64_t vocab,
                   enum data_kind *kind, char *message, size_t message_bytes) {
    struct head head;
    if (find_said(path, stated, kind, message, message_bytes) != 0)
        return -1;
    if (*kind == DATA_TEXT) /* stated: all bytes are meant */
        return 0;
    if (head_read(&head, path, descriptor, message, message_bytes) != 0)
        return -1;
    if (*kind == N_DATA_KINDS) {
        *kind = DATA_TEXT;
        return check_text(&head, vocab, message, message_bytes);
    }
    const struct format *format = find_format(&head, SURE_BYTES);
    return format ? refuse_format(&head, format, message, message_bytes)
                  : check_vocab(path, *kind, vocab, message, message_bytes);
}

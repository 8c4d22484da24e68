/* What a file of training data holds (see data_kind.h).
 *
 * Some files say it by a header, which is sure enough to be believed whatever the name.
 *
 * Text has no byte 0, in whatever language and in every encoding but UTF-16 and UTF-32, and hardly
 * a control character; arrays, archives and tokens have both within some hundred bytes. This file
 * looks at the beginning; the scan, which sees every byte, looks for a 0 in the rest. */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "runtime/host/data_header.h"
#include "runtime/host/data_kind.h"
#include "runtime/host/file.h"
#include "runtime/host/progress.h"

static const struct kind {
    const char *word, *ending, *said;
    int width; /* 0: a header says it */
    data_header_reader *read;
} kinds[N_DATA_KINDS] = {
#define DATA_KIND(ID, word, ending, width, read, said)                                             \
    [DATA_##ID] = {word, ending, said, width, read},
#include "runtime/host/data_kinds.def"
#undef DATA_KIND
};

static const struct format {
    size_t place, length;
    const char *bytes, *name, *remedy;
    enum data_kind kind; /* that is read; N_DATA_KINDS: it is refused, with the remedy */
} formats[] = {
#define DATA_HEADER(bytes, ID, name) {0, sizeof bytes - 1, bytes, name, NULL, DATA_##ID},
#define DATA_FORMAT(place, bytes, name, remedy)                                                    \
    {place, sizeof bytes - 1, bytes, name, remedy, N_DATA_KINDS},
#include "runtime/host/data_formats.def"
#undef DATA_HEADER
#undef DATA_FORMAT
};
enum {
    N_FORMATS = sizeof formats / sizeof *formats,
    SURE_BYTES = 6, /* in tokens of two bytes as likely as one in 2^48 */
    HEAD_BYTES = 1 << 16,
    REMEDY_BYTES = 512,
    CONTROLS_SHARE = 50,    /* of that many bytes one may be a control character */
    LIKELY_VOCAB = 1 << 18, /* the largest in use */
};

_Static_assert((int)HEAD_BYTES >= (int)DATA_HEADER_BYTES, "a header is read whole");

/* How a file begins. */
struct head {
    const char *path;
    size_t n;
    unsigned char bytes[HEAD_BYTES];
};

/* Writes the text with something else for every `mark`. */
static void expand(const char *text, const char *mark, const char *word, char *to, size_t bytes) {
    size_t at = 0;
    while (*text && at + 1 < bytes) {
        if (strncmp(text, mark, strlen(mark)) != 0) {
            to[at++] = *text++;
            continue;
        }
        at += (size_t)snprintf(to + at, bytes - at, "%s", word);
        at = at < bytes ? at : bytes - 1;
        text += strlen(mark);
    }
    to[at] = 0;
}

/* The kind that a word names, or N_DATA_KINDS. */
static enum data_kind kind_of_word(const char *word) {
    enum data_kind kind = 0;
    while (kind < N_DATA_KINDS && strcmp(kinds[kind].word, word) != 0)
        kind++;
    return kind;
}

/* The kind that the end of a name says, or N_DATA_KINDS. */
static enum data_kind kind_of_name(const char *path) {
    const char *end = strrchr(path, '.');
    enum data_kind kind = 0;
    while (kind < N_DATA_KINDS && (!end || strcmp(kinds[kind].ending, end) != 0))
        kind++;
    return kind;
}

char *data_kind_said(char *to, size_t bytes, enum data_kind kind, int width) {
    char count[16];
    snprintf(count, sizeof count, "%d byte%s", width, plural_s(width));
    expand(kinds[kind].said, "$N", count, to, bytes);
    return to;
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

static int refuse_format(const struct head *head, const struct format *format, char *message,
                         size_t message_bytes) {
    char remedy[REMEDY_BYTES];
    expand(format->remedy, "$F", head->path, remedy, sizeof remedy);
    snprintf(message, message_bytes, "%s: this is %s, neither text nor bare tokens; %s", head->path,
             format->name, remedy);
    return -1;
}

/* ---- what is not ---------------------------------------------------------------------------- */

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
               "$F", head->path, advice, bytes);
    else if (are_numbers(head, 4, LIKELY_VOCAB))
        snprintf(advice, bytes,
                 "its bytes look like tokens of 4 bytes: if they are, say so with --data-type u32");
    else if (are_numbers(head, 2, (uint64_t)vocab))
        snprintf(advice, bytes,
                 "its bytes look like tokens of 2 bytes, as nanoGPT's: if they are, say so with "
                 "--data-type u16");
    else
        snprintf(advice, bytes,
                 "if it holds bare little-endian tokens, say of how many bytes with --data-type "
                 "u16 or u32; if its bytes are meant, with --data-type text");
}

/* Whether the control character is one that text is laid out with, or that colours it on terminals.
 * */
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
    char advice[REMEDY_BYTES];
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

static int refuse_word(const char *stated, char *message, size_t message_bytes) {
    char words[128] = "";
    size_t used = 0;
    for (int i = 0; i < N_DATA_KINDS; i++)
        used += (size_t)snprintf(words + used, sizeof words - used, "%s%s",
                                 i == 0                  ? ""
                                 : i == N_DATA_KINDS - 1 ? " or "
                                                         : ", ",
                                 kinds[i].word);
    snprintf(message, message_bytes, "--data-type is %s, not '%s'", words, stated);
    return -1;
}

/* The kind that the name or the option says, or N_DATA_KINDS. */
static int find_said(const char *path, const char *stated, enum data_kind *kind, char *message,
                     size_t message_bytes) {
    enum data_kind named = kind_of_name(path);
    *kind = stated ? kind_of_word(stated) : named;
    if (stated && *kind == N_DATA_KINDS)
        return refuse_word(stated, message, message_bytes);
    if (named < N_DATA_KINDS && kinds[named].width != kinds[*kind].width) {
        snprintf(message, message_bytes,
                 "%s: its name says %s, --data-type says %s; leave out one or name the file anew",
                 path, kinds[named].word, stated);
        return -1;
    }
    return 0;
}

/* ---- what a header says --------------------------------------------------------------------- */

/* What was said is not what the file is. */
static int refuse_said(const struct head *head, const char *stated, enum data_kind kind,
                       const struct format *format, char *message, size_t message_bytes) {
    snprintf(message, message_bytes, "%s: %s says %s, but %s%s; %s", head->path,
             stated ? "--data-type" : "its name", kinds[kind].word,
             format ? "this is " : "it has no such header", format ? format->name : "",
             stated ? "leave --data-type out" : "name the file anew");
    return -1;
}

static int read_header(const struct head *head, const struct format *format, int64_t file_bytes,
                       struct data_content *content, char *message, size_t message_bytes) {
    struct data_header header;
    struct data_header_refusal refusal;
    char remedy[REMEDY_BYTES];
    if (kinds[format->kind].read(head->bytes, head->n, &header, &refusal) != 0) {
        expand(refusal.remedy, "$F", head->path, remedy, sizeof remedy);
        snprintf(message, message_bytes, "%s: this is %s, but %s; %s", head->path, format->name,
                 refusal.what, remedy);
        return -1;
    }
    int64_t bytes = file_bytes - header.begin;
    *content = (struct data_content){format->kind, header.width, header.begin, bytes};
    if (bytes % header.width == 0 && bytes / header.width == header.tokens)
        return 0;
    snprintf(message, message_bytes,
             "%s: this is %s that says it has %lld token%s of %d byte%s, but %lld bytes are there "
             "for them; it was cut short or changed: make it anew",
             head->path, format->name, (long long)header.tokens, plural_s(header.tokens),
             header.width, plural_s(header.width), (long long)bytes);
    return -1;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static int check_vocab(const char *path, int width, int64_t vocab, char *message,
                       size_t message_bytes) {
    if (width != 2 || vocab <= UINT16_MAX)
        return 0;
    snprintf(message, message_bytes,
             "%s: tokens of 2 bytes are below 65535, which is the mask, but the vocabulary has "
             "%lld; write the tokens with 4 bytes each, in a .u32 file, or set model.vocab",
             path, (long long)vocab);
    return -1;
}

/* Finds the content of the kind that was said, if any. */
static int find_content(const struct head *head, const char *stated, enum data_kind kind,
                        int64_t vocab, int64_t file_bytes, struct data_content *content,
                        char *message, size_t message_bytes) {
    const struct format *format = find_format(head, SURE_BYTES);
    bool has_header = format && format->kind < N_DATA_KINDS;
    if (has_header && (kind == N_DATA_KINDS || kind == format->kind))
        return read_header(head, format, file_bytes, content, message, message_bytes);
    if (format && !has_header)
        return refuse_format(head, format, message, message_bytes);
    if (kind < N_DATA_KINDS && (has_header || kinds[kind].read))
        return refuse_said(head, stated, kind, format, message, message_bytes);
    if (kind == N_DATA_KINDS && check_text(head, vocab, message, message_bytes) != 0)
        return -1;
    kind = kind == N_DATA_KINDS ? DATA_TEXT : kind;
    *content = (struct data_content){kind, kinds[kind].width, 0, file_bytes};
    return 0;
}

int data_kind_find(const char *path, int descriptor, int64_t file_bytes, const char *stated,
                   int64_t vocab, struct data_content *content, char *message,
                   size_t message_bytes) {
    struct head head;
    enum data_kind kind;
    if (find_said(path, stated, &kind, message, message_bytes) != 0)
        return -1;
    *content = (struct data_content){DATA_TEXT, 1, 0, file_bytes};
    if (kind == DATA_TEXT) /* stated: all bytes are meant */
        return 0;
    if (head_read(&head, path, descriptor, message, message_bytes) != 0 ||
        find_content(&head, stated, kind, vocab, file_bytes, content, message, message_bytes) != 0)
        return -1;
    return check_vocab(path, content->width, vocab, message, message_bytes);
}

/* Headers of files of tokens (see data_header.h).
 *
 * NumPy's has a dictionary in the words of Python:
 *   {'descr': '<u2', 'fortran_order': False, 'shape': (2000,), }
 * (numpy.lib.format, versions 1 to 3); llm.c's is 256 numbers of 4 bytes, of which the third is
 * that of the tokens (dev/data/data_common.py). */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "runtime/host/data_header.h"
#include "runtime/host/file.h"

#define REMAKE "make the file anew"
#define ARRAY_TO_TOKENS                                                                            \
    "write them as tokens: python3 -c \"import numpy; "                                            \
    "numpy.load('$F').astype('uint32').tofile('$F.u32')\""

static int refuse(struct data_header_refusal *refusal, const char *what, const char *remedy) {
    snprintf(refusal->what, sizeof refusal->what, "%s", what);
    refusal->remedy = remedy;
    return -1;
}

/* ---- NumPy ---------------------------------------------------------------------------------- */

/* What is left of the dictionary. */
struct literal {
    const char *at, *end;
};

struct word {
    const char *at;
    int n;
};

static bool word_is(struct word word, const char *text) {
    return (size_t)word.n == strlen(text) && memcmp(word.at, text, (size_t)word.n) == 0;
}

static char peek(struct literal *literal) {
    while (literal->at < literal->end && strchr(" \t\r\n", *literal->at) && *literal->at)
        literal->at++;
    return literal->at < literal->end ? *literal->at : 0;
}

static bool take(struct literal *literal, char character) {
    if (peek(literal) != character || !character)
        return false;
    literal->at++;
    return true;
}

/* Takes a string in either quotes. */
static bool take_string(struct literal *literal, struct word *word) {
    char quote = peek(literal);
    if (quote != '\'' && quote != '"')
        return false;
    const char *begin = literal->at + 1;
    const char *end = memchr(begin, quote, (size_t)(literal->end - begin));
    if (!end)
        return false;
    *word = (struct word){begin, (int)(end - begin)};
    literal->at = end + 1;
    return true;
}

static bool take_word(struct literal *literal, struct word *word) {
    peek(literal);
    const char *begin = literal->at;
    while (literal->at < literal->end && ((*literal->at >= 'a' && *literal->at <= 'z') ||
                                          (*literal->at >= 'A' && *literal->at <= 'Z')))
        literal->at++;
    *word = (struct word){begin, (int)(literal->at - begin)};
    return word->n > 0;
}

/* Digits; behind them an L, as Python 2 wrote. */
static bool take_number(struct literal *literal, int64_t *number) {
    char digit = peek(literal);
    if (digit < '0' || digit > '9')
        return false;
    for (*number = 0; literal->at < literal->end && *literal->at >= '0' && *literal->at <= '9';
         literal->at++) {
        int64_t next = *literal->at - '0';
        if (*number > (INT64_MAX - next) / 10)
            return false;
        *number = 10 * *number + next;
    }
    if (literal->at < literal->end && *literal->at == 'L')
        literal->at++;
    return true;
}

/* What the dictionary says. */
struct array {
    bool has_type, has_order, has_shape;
    bool is_structured, is_fortran;
    struct word type, shape; /* as they stand there */
    int dimensions;
    int64_t length; /* of the last */
};

static bool take_type(struct literal *literal, struct array *array) {
    array->has_type = true;
    array->is_structured = peek(literal) == '[';
    return array->is_structured || take_string(literal, &array->type);
}

static bool take_order(struct literal *literal, struct array *array) {
    struct word word;
    array->has_order = true;
    if (!take_word(literal, &word))
        return false;
    array->is_fortran = word_is(word, "True");
    return array->is_fortran || word_is(word, "False");
}

static bool take_shape(struct literal *literal, struct array *array) {
    array->has_shape = true;
    if (!take(literal, '('))
        return false;
    const char *begin = literal->at - 1;
    bool is_closed = take(literal, ')');
    while (!is_closed) {
        if (!take_number(literal, &array->length))
            return false;
        array->dimensions++;
        bool goes_on = take(literal, ',');
        is_closed = take(literal, ')');
        if (!goes_on && !is_closed)
            return false;
    }
    array->shape = (struct word){begin, (int)(literal->at - begin)};
    return true;
}

/* Each key once. What is structured is refused whatever follows. */
static bool take_array(struct literal *literal, struct array *array) {
    struct word key;
    if (!take(literal, '{'))
        return false;
    while (!take(literal, '}')) {
        if (!take_string(literal, &key) || !take(literal, ':'))
            return false;
        bool taken = word_is(key, "descr") && !array->has_type ? take_type(literal, array)
                     : word_is(key, "fortran_order") && !array->has_order
                         ? take_order(literal, array)
                     : word_is(key, "shape") && !array->has_shape ? take_shape(literal, array)
                                                                  : false;
        if (!taken)
            return false;
        if (array->is_structured)
            return true;
        if (!take(literal, ',') && peek(literal) != '}')
            return false;
    }
    return array->has_type && array->has_order && array->has_shape && !peek(literal) &&
           literal->at == literal->end;
}

/* Bytes of a number, 0: it is none that is read. */
static int width_of(struct word type) {
    static const struct {
        const char *type;
        int width;
    } types[] = {{"|u1", 1}, {"<u1", 1}, {"<u2", 2}, {"<u4", 4}, {"<u8", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (word_is(type, types[i].type))
            return types[i].width;
    return 0;
}

/* Numbers of which NumPy makes others: signed, of the other byte order, floating. */
static bool is_numeric(struct word type) {
    return type.n >= 3 && memchr("<>|=", type.at[0], 4) && memchr("iufb", type.at[1], 4);
}

/* What a file says, as a terminal may be told. */
struct shown {
    char text[64];
};
static struct shown shown(struct word word) {
    struct shown shown = {""};
    for (int i = 0; i < word.n && i < (int)sizeof shown.text - 1; i++)
        shown.text[i] = (char)(word.at[i] < ' ' || word.at[i] > '~' ? '?' : word.at[i]);
    return shown;
}

/* Takes an array of one dimension, in any order; others are refused. */
static int check_array(const struct array *array, struct data_header *header,
                       struct data_header_refusal *refusal) {
    if (array->is_structured)
        return refuse(refusal, "it is a structured array, whose records have fields",
                      "save the field of the tokens as an array of its own");
    header->width = width_of(array->type);
    header->tokens = array->length;
    if (header->width && array->dimensions == 1)
        return 0;
    if (header->width)
        snprintf(refusal->what, sizeof refusal->what,
                 "its shape is %s%s, and one dimension is read", shown(array->shape).text,
                 array->is_fortran ? " in Fortran's order" : "");
    else
        snprintf(refusal->what, sizeof refusal->what,
                 "its numbers are '%s', and unsigned little-endian ones ('<u2', '<u4') are read",
                 shown(array->type).text);
    refusal->remedy = header->width || is_numeric(array->type)
                          ? ARRAY_TO_TOKENS
                          : "save whole numbers, as tokens are";
    return -1;
}

int npy_header_read(const unsigned char *bytes, size_t n, struct data_header *header,
                    struct data_header_refusal *refusal) {
    enum { VERSION = 6, LENGTH = 8 };
    *header = (struct data_header){0};
    if (n < LENGTH + 4)
        return refuse(refusal, "it ends inside its header", REMAKE);
    if (bytes[VERSION] < 1 || bytes[VERSION] > 3 || bytes[VERSION + 1] != 0)
        return refuse(refusal, "its format is none of NumPy's versions 1.0 to 3.0",
                      ARRAY_TO_TOKENS);
    int width = bytes[VERSION] == 1 ? 2 : 4;
    size_t begin = LENGTH + (size_t)width, length = number_at(bytes + LENGTH, width);
    if (begin + length > DATA_HEADER_BYTES)
        return refuse(refusal, "its header has more than 10000 bytes", ARRAY_TO_TOKENS);
    if (begin + length > n)
        return refuse(refusal, "it ends inside its header", REMAKE);
    const char *text = (const char *)bytes + begin;
    struct literal literal = {text, text + length};
    struct array array = {0};
    if (!take_array(&literal, &array))
        return refuse(refusal, "its header does not say type, order and shape as NumPy's do",
                      REMAKE);
    header->begin = (int64_t)(begin + length);
    return check_array(&array, header, refusal);
}

/* ---- llm.c ---------------------------------------------------------------------------------- */

int llmc_header_read(const unsigned char *bytes, size_t n, struct data_header *header,
                     struct data_header_refusal *refusal) {
    enum { HEADER = 256 * 4, WIDE_MAGIC = 20240801, MAGIC = 0, TOKENS = 8 };
    if (n < HEADER)
        return refuse(refusal, "it ends inside its header of 1024 bytes", REMAKE);
    *header = (struct data_header){.width = number_at(bytes + MAGIC, 4) == WIDE_MAGIC ? 4 : 2,
                                   .begin = HEADER,
                                   .tokens = number_at(bytes + TOKENS, 4)};
    return 0;
}

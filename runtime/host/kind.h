/* What kind of file is there already. A file that is not of the kind that is to be written (a model
 * where a log goes, a text where a model goes) was named by mistake, and is not written over. */
#pragma once
#include <stdbool.h>

enum file_kind {
    FILE_TENSORS,
    FILE_LOG,
    FILE_TIMELINE,
    FILE_TRACE,
    FILE_FLIGHT,
    FILE_MANIFEST,
    FILE_CONFIG
};

/* Null, or what the kind is called ("a log"), which the file of this path is not. What is empty, or
 * no regular file, is of every kind, and so is what is not there. */
const char *kind_missed(enum file_kind kind, const char *path);

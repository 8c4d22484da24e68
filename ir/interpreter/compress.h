// The ops compress and decompress (ops.c has all others).
#ifndef PLACE_IR_INTERPRETER_COMPRESS_H
#define PLACE_IR_INTERPRETER_COMPRESS_H

#include "ir/interpreter/interpreter.h"

void interpret_compress(const struct op *, const struct array *operands, struct array *results);
void interpret_decompress(const struct op *, const struct array *operands, struct array *results);

#endif

// Where the values of a JSON text stand, which jansson does not say: a tree like the one that it makes.
#ifndef PLACE_EQUAL_LAYOUT_JSON_PLACES_H
#define PLACE_EQUAL_LAYOUT_JSON_PLACES_H

#include "ir/diagnostic.h"

struct json_place {
    struct span key; // the name of an object's member, without its quotes
    struct span
        value; // a number or a word; a text without its quotes; of all else the bracket that opens it
    const struct json_place *first; // of what is inside, in the order of the text
    const struct json_place *next;  // beside it
};

// The places of a source from a byte on. jansson must have read the text before, so that it is sound, and nested no
// deeper than jansson reads.
const struct json_place *json_places(uint32_t source, uint32_t begin, const struct source_files *,
                                     struct arena *);

#endif

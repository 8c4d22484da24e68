// Where instructions come from in the user's program: the module's tables of files, functions, locations and frames,
// and the frames of older texts, which say file and line beside each instruction.
#ifndef PLACE_EQUAL_HLO_FRAMES_H
#define PLACE_EQUAL_HLO_FRAMES_H

#include "equal/graph/graph.h"
#include "equal/text/scan.h"
#include "equal/text/words.h"
#include "verify/algebra/intern.h"

struct frame_location {
    int64_t file, function, line;
};
struct frames {
    struct words strings;        // numbers of names of files and functions
    uint32_t *files, *functions; // by their numbers in the tables
    uint32_t n_files, n_functions, files_cap, functions_cap;
    struct frame_location *locations;
    uint32_t n_locations, locations_cap;
    struct source_frame *frames; // [0] is none
    uint32_t n, cap;
    uint32_t n_of_table; // of these, those of the module's tables
    struct intern lines; // files and lines of the others, which follow in this order
};

struct frames frames_new(const struct scanner *);
// Reads the table of this name, if it is one. False: it is none, or cannot be read.
bool read_frame_table(struct scanner *, struct frames *, struct word name);
// The frame of the module's table; 0: there is none of this number.
uint32_t frame_of_table(const struct frames *, int64_t number);
// The frame of a line, for which the name of its file is a string.
uint32_t frame_of_line(struct scanner *, struct frames *, struct word file, int64_t line);

#endif

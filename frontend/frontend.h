// The front of the compiler: a `.place` file in, a resolved configuration (ir/config.h) and
// diagnostics out. Three steps, so that a command may stop after any:
//
//     uint32_t source;
//     struct ast_file file;
//     struct config config;
//     if (frontend_read(arena, ds, "zero3.place", &source) && frontend_parse(arena, ds, source,
//     &file))
//         frontend_resolve(arena, ds, &file, &options, &config);
//
// Everything that is made lives in the arena. What is wrong with the user's text is reported; the
// functions return whether nothing was. Names are resolved even in a file with syntax errors (the
// parts that could be read), so that one run says as much as it can.
#ifndef PLACE_FRONTEND_FRONTEND_H
#define PLACE_FRONTEND_FRONTEND_H

#include <stdbool.h>
#include <stdint.h>

#include "frontend/ast.h"
#include "ir/config.h"
#include "ir/diagnostic.h"

struct frontend_options {
    const char *strategy;        // --strategy; NULL: `main`, else the only one without parameters
    const char *const *settings; // -D, each "name=value"
    uint32_t n_settings;
    bool one_of_several;           // a setting may be meant for another strategy, or its mesh
    int64_t ranks;                 // --ranks; 0: as the mesh says
    const char *seed;              // --seed, which a run begins with instead; NULL: not given
    const char *library_directory; // where imports are sought second; NULL: nowhere
};

// Reads a file ("-": standard input) into the diagnostics' sources. Refuses what cannot be read, is
// not text, or is larger than LIMIT_SOURCE_BYTES.
bool frontend_read(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                   uint32_t *source);
// The same of a text of another kind, with another limit; `remedy` is what larger ones are told.
bool frontend_read_within(struct arena *arena, struct diagnostics *diagnostics, const char *path,
                          size_t most_bytes, const char *remedy, uint32_t *source);
// The same for a text in memory; `name` is what messages call it, and imports are sought beside it.
bool frontend_read_text(struct arena *arena, struct diagnostics *diagnostics, const char *name,
                        const char *text, size_t length, uint32_t *source);

bool frontend_parse(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                    struct ast_file *file);

// The text of a source laid out anew: indentation, blanks and blank lines are made alike; comments,
// line breaks and the texts of programs stay. The same tree and the same comments come of it. It is
// the arena's; NULL: the text does not follow the grammar, which is reported.
char *frontend_format(struct arena *arena, struct diagnostics *diagnostics, uint32_t source,
                      size_t *length);

// Looks up, converts and expands. `config` is complete if true is returned; a file that holds only
// strategies with parameters gives true and a config whose strategy has no name.
bool frontend_resolve(struct arena *arena, struct diagnostics *diagnostics,
                      const struct ast_file *file, const struct frontend_options *options,
                      struct config *config);

// The config.json with which transformers makes the same model of the parameters that training
// leaves, in the arena.
struct config_json {
    const char *text;  // NULL: no kind of its models is like it
    const char *lacks; // then: a field of the model that its own kind's files cannot say, or NULL
    // What the shapes of parameters do not show of such files (runtime/place.h); NULL: none can
    // say the model.
    const char *unseen;
};
struct config_json frontend_config_json(struct arena *arena, const struct config *);

// What -D sets that is called so, here or in another system: "train.optimizer.lr=1e-4"; NULL:
// nothing.
const char *setting_of(struct arena *arena, const char *word, const char *value);

// ---- words of other systems (coming_from.def) ---------------------------------------------------
enum other_system {
    SYSTEM_DEEPSPEED,
    SYSTEM_MEGATRON,
    SYSTEM_FSDP,
    SYSTEM_TORCHTITAN,
    SYSTEM_MAXTEXT,
    SYSTEM_ACCELERATE,
    N_OTHER_SYSTEMS
};
extern const char *const other_system_names[N_OTHER_SYSTEMS];

struct other_word {
    unsigned systems; // bits 1 << enum other_system
    const char *theirs, *ours;
    bool is_name; // `ours` is a name for a name; else a sentence
};
extern const struct other_word other_words[];
extern const int n_other_words;

// How what another system calls so is said here, where it is given this value (NULL: none); NULL:
// no such word, or one that has another name here.
const char *said_here(struct arena *arena, const char *word, const char *value);

#endif

/* Weights that a run starts from (see weights.h). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/host/folder.h"
#include "runtime/host/items.h"
#include "runtime/host/progress.h"
#include "runtime/host/resumable.h"
#include "runtime/host/safetensors.h"
#include "runtime/host/segments.h"
#include "runtime/host/weights.h"
#include "runtime/host/weights_config.h"

/* ---- names ---------------------------------------------------------------------------------- */

/* What is a parameter, or a copy of one that starts as it does. */
static bool starts_from_weights(const struct entry *entry) {
    enum place_class class = entry->components->buffer->class;
    return class == PLACE_PARAMETERS || class == PLACE_MASTER || class == PLACE_ANCHOR;
}

/* The parameter's name behind what says whose copy it is ("anchor/", "island/1/"). */
static const char *parameter_name(const struct entry *entry) {
    const char *slash = strrchr(entry->name, '/');
    return slash ? slash + 1 : entry->name;
}

/* Files of a model without its head have names without their first part. */
static const struct weight *find_source(const struct weight_files *files, const char *name) {
    const struct weight *whole = weight_find(files, name);
    const char *dot = strchr(name, '.');
    return whole || !dot ? whole : weight_find(files, dot + 1);
}

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), m = strlen(end);
    return n >= m && strcmp(name + n - m, end) == 0;
}

/* What some files have beside parameters: tables that follow from the sizes. */
static bool is_derived(const struct weight *weight) {
    static const char *const ends[] = {"rotary_emb.inv_freq", ".attn.bias", ".attn.masked_bias"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (ends_with(weight->name, ends[i]))
            return true;
    return false;
}

/* ---- what fits ------------------------------------------------------------------------------ */

static void format_shape(char *text, size_t bytes, const char *dtype, const int64_t *shape, int n) {
    size_t used = (size_t)snprintf(text, bytes, "%s [", dtype);
    for (int i = 0; i < n && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%lld", i ? ", " : "",
                                 (long long)shape[i]);
    snprintf(text + used, used < bytes ? bytes - used : 0, "]");
}

static int refuse_missing(const char *path, const char *name, char *message, size_t message_bytes) {
    const char *dot = strrchr(name, '.');
    bool is_head = strcmp(name, "lm_head.weight") == 0;
    bool is_bias = dot && strcmp(dot, ".bias") == 0;
    snprintf(message, message_bytes, "%s: it has no %s, which this model needs: %s", path, name,
             is_head   ? "its head is the table of the embedding, which the model says with "
                         "`tied = true`"
             : is_bias ? "it is of a model with fewer biases"
                       : "it is of another kind of model, or of fewer layers");
    return -1;
}

/* The type that values have before they are an entry's: parameters are made of the copy that is
 * updated, where there is one. */
static enum place_dtype first_dtype(const struct weights *weights, const struct entry *entry) {
    char name[ENTRY_NAME_BYTES + sizeof MASTER_PREFIX];
    snprintf(name, sizeof name, MASTER_PREFIX "%s", parameter_name(entry));
    int32_t master = entries_find(&weights->entries, name);
    bool narrow = entry->components->buffer->class == PLACE_PARAMETERS ||
                  component_is_rounded(entry, entry->components);
    return master >= 0 && narrow ? weights->entries.items[master].dtype : entry->dtype;
}

static const char *remedy_for(enum stored_type type) {
    if (type == STORED_F64)
        return "; say `precision = fp64`";
    return type == STORED_F32
               ? "; say `master = fp32` in `precision`, and it is rounded for each use"
               : "";
}

static int match_entry(struct weights *weights, int32_t i, const char *path, char *message,
                       size_t message_bytes) {
    const struct entry *entry = &weights->entries.items[i];
    const char *name = parameter_name(entry);
    const struct weight *source = find_source(&weights->files, name);
    char is[128], wanted[128];
    if (!source)
        return refuse_missing(path, name, message, message_bytes);
    weights->sources[i] = source;
    bool same_shape =
        source->n_shape == entry->n_shape &&
        memcmp(source->shape, entry->shape, (size_t)entry->n_shape * sizeof entry->shape[0]) == 0;
    format_shape(is, sizeof is, source->dtype, source->shape, source->n_shape);
    format_shape(wanted, sizeof wanted, safetensors_dtype(entry->dtype), entry->shape,
                 entry->n_shape);
    if (!same_shape) {
        snprintf(message, message_bytes,
                 "%s: %s is %s there, and %s in this model: the model's sizes are others; take "
                 "them from the config.json beside the weights",
                 path, source->name, is, wanted);
        return -1;
    }
    if (!can_be_widened(source->type, first_dtype(weights, entry))) {
        snprintf(message, message_bytes,
                 "%s: %s is %s there, and %s in this program, which cannot hold it%s", path,
                 source->name, is, wanted, remedy_for(source->type));
        return -1;
    }
    return 0;
}

static int sum_weight(const struct weights *weights, struct panel *panel,
                      const struct weight *weight, content_sum *sum) {
    struct place_in_file place = {weights->files.files[weight->file].descriptor, weight->offset,
                                  weight->type};
    size_t element = stored_bytes(weight->type, 1);
    return whole_sum(panel, weight->bytes / (int64_t)element, element, &place, sum);
}

/* Whether a head that has no place, as it is the embedding, is that in the file too. 0, or -1: it
 * is another, or cannot be read. */
static int check_tied(const struct weights *weights, const struct weight *head, const char *path,
                      char *message, size_t message_bytes) {
    const struct weight *table = NULL;
    for (int32_t i = 0; i < weights->entries.n && !table; i++)
        if (weights->sources[i] && (ends_with(weights->sources[i]->name, "embed_tokens.weight") ||
                                    ends_with(weights->sources[i]->name, "wte.weight")))
            table = weights->sources[i];
    bool same = table && table->type == head->type && table->bytes == head->bytes;
    struct panel *panel = same ? panel_new() : NULL;
    content_sum sums[2] = {0, 1};
    errno = ENOMEM;
    bool read = !same || (panel && sum_weight(weights, panel, head, &sums[0]) == 0 &&
                          sum_weight(weights, panel, table, &sums[1]) == 0);
    panel_free(panel);
    if (!read) {
        snprintf(message, message_bytes, "%s: %s cannot be read: %s", path, head->name,
                 file_shortfall());
        return -1;
    }
    if (sums[0] == sums[1])
        return 0;
    snprintf(message, message_bytes,
             "%s: %s is not its table of the embedding, as this model has it: say `tied = false`",
             path, head->name);
    return -1;
}

/* A tensor that nothing takes would be lost without a word. */
static int check_unused(const struct weights *weights, const char *path, char *message,
                        size_t message_bytes) {
    const struct weight_files *files = &weights->files;
    char *used = calloc((size_t)files->n + 1, 1);
    int status = used ? 0 : -1;
    for (int32_t i = 0; used && i < weights->entries.n; i++)
        if (weights->sources[i])
            used[weights->sources[i] - files->weights] = 1;
    for (int32_t i = 0; i < files->n && status == 0; i++) {
        const struct weight *weight = &files->weights[i];
        if (used[i] || is_derived(weight))
            continue;
        if (strcmp(weight->name, "lm_head.weight") == 0) {
            status = check_tied(weights, weight, path, message, message_bytes);
            continue;
        }
        snprintf(message, message_bytes,
                 "%s: it has %s, for which this model has no place: it is of another kind of "
                 "model, or of more layers",
                 path, weight->name);
        status = -1;
    }
    if (!used)
        snprintf(message, message_bytes, "%s: no memory to read it", path);
    free(used);
    return status;
}

/* What shapes do not show, a checkpoint's manifest says, and in other folders a config.json. Who
 * names a file is asked neither. */
static int check_folder(const struct place_program *program, const char *path, char *message,
                        size_t message_bytes) {
    struct resumption checkpoint = {0};
    if (strlen(path) >= sizeof checkpoint.path || !folder_is_checkpoint(path))
        return weights_config_check(program, path, message, message_bytes);
    strcpy(checkpoint.path, path);
    int status = resumption_read_manifest(&checkpoint, message, message_bytes);
    if (status == 0)
        status = resumption_match_model(&checkpoint, program, message, message_bytes);
    resumption_close(&checkpoint);
    return status;
}

/* Sums all that is read, in the order of the names. */
static int sum_content(struct weights *weights, const char *path, char *message,
                       size_t message_bytes) {
    struct panel *panel = panel_new();
    int status = panel ? 0 : -1;
    errno = panel ? 0 : ENOMEM;
    for (int32_t i = 0; i < weights->files.n && status == 0; i++) {
        content_sum sum = 0;
        status = sum_weight(weights, panel, &weights->files.weights[i], &sum);
        weights->sum = weights->sum * 31 + sum;
    }
    if (status != 0)
        snprintf(message, message_bytes, "%s: cannot be read: %s", path, file_shortfall());
    panel_free(panel);
    return status;
}

int weights_open(struct weights *weights, const struct place_program *program, const char *path,
                 bool compares, char *message, size_t message_bytes) {
    if (weight_files_open(&weights->files, path, message, message_bytes) != 0)
        return -1;
    bool listed = entries_list(program, ENTRIES_RESUMABLE, &weights->entries);
    weights->sources =
        listed ? calloc((size_t)weights->entries.n + 1, sizeof *weights->sources) : NULL;
    if (!weights->sources) {
        snprintf(message, message_bytes, "%s: no memory to read it", path);
        return -1;
    }
    for (int32_t i = 0; i < weights->entries.n; i++)
        if (starts_from_weights(&weights->entries.items[i]) &&
            match_entry(weights, i, path, message, message_bytes) != 0)
            return -1;
    if (check_unused(weights, path, message, message_bytes) != 0 ||
        check_folder(program, path, message, message_bytes) != 0)
        return -1;
    return compares ? sum_content(weights, path, message, message_bytes) : 0;
}

void weights_close(struct weights *weights) {
    weight_files_close(&weights->files);
    entries_free(&weights->entries);
    free(weights->sources);
    *weights = (struct weights){0};
}

void weights_print(const struct weights *weights, const char *path) {
    const struct weight *first = NULL;
    int32_t n = 0;
    bool alike = true;
    for (int32_t i = 0; i < weights->entries.n; i++) {
        const struct weight *source = weights->sources[i];
        if (!source)
            continue;
        first = first ? first : source;
        alike &= source->type == first->type;
        n++;
    }
    printf("weights: %s; %d tensor%s, %s\n", path, n, plural_s(n),
           !first  ? "none"
           : alike ? first->dtype
                   : "of several types");
}

/* ---- reading -------------------------------------------------------------------------------- */

static int32_t fail_not_finite(const struct weights *weights, struct place_context *context,
                               const struct entry *entry, const struct weight *source) {
    const char *path = weights->files.files[source->file].path;
    return context_fail(context, -1, PLACE_ERROR_HOST, "%s: %s has what is not a finite number%s",
                        path, source->name,
                        entry->dtype == PLACE_F16
                            ? ", or one beyond fp16's 65504; bf16 reaches as far as fp32"
                            : "");
}

/* Parameters that are made when they are needed are as finite as those that are kept: what this rank
 * holds of what they are made of is looked at in their type. */
static int32_t check_made(const struct weights *weights, struct place_context *context,
                          const struct entry *entry) {
    const struct weight *source = find_source(&weights->files, parameter_name(entry));
    for (const struct component *c = entry->components; c && source; c = c->next) {
        int64_t copies;
        bool finite = true;
        if (!component_is_rounded(entry, c) ||
            entry_copy(context->program, entry, c, context->rank, &copies) < 0)
            continue;
        if (part_is_finite(context, entry, c, &finite) != 0)
            return fail_item(context, c->buffer);
        if (!finite)
            return fail_not_finite(weights, context, entry, source);
    }
    return PLACE_OK;
}

static int32_t check_all_made(const struct weights *weights, struct place_context *context) {
    struct entries parameters;
    int32_t status = PLACE_OK;
    if (!entries_list(context->program, ENTRIES_PARAMETERS, &parameters))
        status = context_fail(context, -1, PLACE_ERROR_HOST, "no memory to list parameters");
    for (int32_t i = 0; i < parameters.n && !status; i++)
        status = check_made(weights, context, &parameters.items[i]);
    entries_free(&parameters);
    return status;
}

static int32_t read_entry(const struct weights *weights, struct place_context *context,
                          struct panel *panel, int32_t i) {
    const struct entry *entry = &weights->entries.items[i];
    const struct weight *source = weights->sources[i];
    const struct weight_file *file = &weights->files.files[source->file];
    struct place_in_file place = {file->descriptor, source->offset, source->type};
    content_sum unused = 0;
    for (const struct component *c = entry->components; c; c = c->next) {
        int64_t copies;
        bool finite = true;
        if (entry_copy(context->program, entry, c, context->rank, &copies) < 0)
            continue;
        enum part_end end = part_read(context, panel, entry, c, &place, &unused);
        if (end == PART_FILE_FAILED)
            return context_fail(context, -1, PLACE_ERROR_HOST, "%s: %s cannot be read: %s",
                                file->path, source->name, file_shortfall());
        if (end == PART_ITEM_FAILED || part_is_finite(context, entry, c, &finite) != 0)
            return fail_item(context, c->buffer);
        if (!finite)
            return fail_not_finite(weights, context, entry, source);
    }
    return PLACE_OK;
}

int32_t weights_read(const struct weights *weights, struct place_context *context) {
    struct panel *panel = panel_new();
    int32_t status = panel ? PLACE_OK
                           : context_fail(context, -1, PLACE_ERROR_HOST,
                                          "no memory to read the weights of --from");
    for (int32_t i = 0; i < weights->entries.n && !status; i++)
        if (weights->sources[i])
            status = read_entry(weights, context, panel, i);
    panel_free(panel);
    return status ? status : check_all_made(weights, context);
}

/* One start for all processes (see agreement.h). */
#include <stdlib.h>
#include <string.h>
#include "runtime/host/agreement.h"
#include "runtime/host/random.h"
#include "runtime/transport/transport.h"

/* Numbers that stand for what must be the same. */
enum {
    PROGRAM,
    DEVICES,
    SEED,
    STEPS,
    DATA,
    DATA_CONTENT,
    TARGETS,
    EVAL,
    EVAL_EVERY,
    EVAL_CONTENT,
    EVAL_TARGETS,
    SAVE,
    DUMP,
    CHECKPOINT,
    SAVE_EVERY,
    RESUME,
    FROM,
    SAMPLE,
    PROMPT,
    PROFILE,
    TRACE,
    N_TERMS
};
struct terms {
    uint64_t of[N_TERMS];
};
static const char *const names[N_TERMS] = {
    [PROGRAM] = "their program",
    [DEVICES] = "their number of devices",
    [SEED] = "--seed",
    [STEPS] = "--steps",
    [DATA] = "how long the files of --data are",
    [DATA_CONTENT] = "what the files of --data hold",
    [TARGETS] = "what the files of --targets hold",
    [EVAL] = "how long the files of --eval are",
    [EVAL_EVERY] = "--eval-every",
    [EVAL_CONTENT] = "what the files of --eval hold",
    [EVAL_TARGETS] = "what the files of --eval-targets hold",
    [SAVE] = "whether they have --save",
    [DUMP] = "whether they have --dump",
    [CHECKPOINT] = "whether they write checkpoints",
    [SAVE_EVERY] = "--save-every",
    [RESUME] = "the checkpoint of --resume",
    [FROM] = "what the weights of --from are",
    [SAMPLE] = "--sample",
    [PROMPT] = "--prompt",
    [PROFILE] = "whether they have --profile",
    [TRACE] = "whether they have --trace",
};

static struct terms terms_of(const struct session *session) {
    const struct place_run_options *options = session->options;
    return (struct terms){{
        [PROGRAM] = random_key(0, session->program->plan_hash),
        [DEVICES] = (uint64_t)session->program->devices,
        [SEED] = session->seed,
        [STEPS] = (uint64_t)options->steps,
        [DATA] = (uint64_t)session->data.tokens,
        [DATA_CONTENT] = dataset_tokens_hash(&session->data),
        [TARGETS] = dataset_targets_hash(&session->data),
        [EVAL] = (uint64_t)session->eval.tokens,
        [EVAL_EVERY] = (uint64_t)options->eval_every,
        [EVAL_CONTENT] = dataset_tokens_hash(&session->eval),
        [EVAL_TARGETS] = dataset_targets_hash(&session->eval),
        [SAVE] = options->save != NULL,
        [DUMP] = options->dump != NULL,
        [CHECKPOINT] = session->checkpoints.is_on != 0,
        [SAVE_EVERY] = (uint64_t)options->save_every,
        [RESUME] = session->resumption.manifest.own_sum,
        [FROM] = session->weights.sum,
        [SAMPLE] = (uint64_t)options->sample,
        [PROMPT] = options->prompt ? random_key(0, options->prompt) : 0,
        [PROFILE] = options->profile != 0,
        [TRACE] = options->trace != NULL,
    }};
}

/* Every rank says it: with other numbers of devices, ranks that do not agree do not all hear of
 * each other. */
static int32_t compare(struct session *session, struct place_context *context,
                       const struct terms *all) {
    for (int32_t rank = 1; rank < session->program->devices; rank++)
        for (int i = 0; i < N_TERMS; i++)
            if (all[rank].of[i] != all[0].of[i]) {
                atomic_store(&session->disagreed, 1);
                return context_fail(context, -1, PLACE_ERROR_HOST,
                                    "the processes of ranks 0 and %d differ in %s; start all of "
                                    "them with one command line and the same files",
                                    rank, names[i]);
            }
    return PLACE_OK;
}

int32_t agreement_reach(struct session *session, struct place_context *context) {
    if (session->processes == 1)
        return PLACE_OK;
    struct terms mine = terms_of(session);
    struct terms *all = malloc((size_t)session->program->devices * sizeof *all);
    int32_t status = all ? host_share(context, &mine, all, sizeof mine)
                         : context_fail(context, -1, PLACE_ERROR_HOST, "no memory for the start");
    if (!status)
        status = compare(session, context, all);
    free(all);
    return status;
}

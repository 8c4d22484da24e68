/* Running a program in this process: what must be true before a rank is born is checked here, with
 * one message each; then all ranks of the mesh run as threads, or, under a launcher, those of this
 * process. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "runtime/cores.h"
#include "runtime/host/arena.h"
#include "runtime/host/file.h"
#include "runtime/host/inputs.h"
#include "runtime/host/interrupts.h"
#include "runtime/host/last_words.h"
#include "runtime/host/layout.h"
#include "runtime/host/memory.h"
#include "runtime/host/offload.h"
#include "runtime/host/outputs.h"
#include "runtime/host/peak.h"
#include "runtime/host/fields.h"
#include "runtime/host/sentinel.h"
#include "runtime/host/session.h"
#include "runtime/kernels/kernels.h"
#include "runtime/product.h"
#include "runtime/team.h"
#include "runtime/transport/launch.h"
#include "runtime/transport/transport.h"
#include "runtime/workspace.h"

enum {
    MESSAGE_BYTES = 1024,
    MALLOC_BYTES = 64 << 20, /* glibc's HEAP_MAX_SIZE: addresses, of which it uses what it needs */
    MIB = 1 << 20,
    ALIGNMENT_BYTES = 2 << 20, /* that arena_map maps more, for huge pages */
};

/* ---- before the ranks ----------------------------------------------------------------------- */

/* Whether every buffer has room for what its layout says, inside the arena: what the compiler and
 * this runtime must agree on before anything is written. */
static bool buffers_fit(const struct place_program *program, const struct place_part *part) {
    for (int32_t i = 0; i < part->n_buffers; i++) {
        const struct place_buffer *buffer = &part->buffers[i];
        int64_t end = buffer->offset_bytes + buffer->slots * buffer->stride_bytes;
        if (!layout_has_room(program, buffer) ||
            (buffer->window_of < 0 &&
             (buffer->offset_bytes < 0 || end > part->arena_bytes[buffer->tier])))
            return false;
    }
    return true;
}

/* Options of which some were given. */
struct given {
    bool is;
    const char *option;
};

/* "--save-every and --keep". Returns how many there are. */
static int list_given(const struct given *all, int n, char *text, size_t bytes) {
    int given = 0, told = 0;
    size_t used = 0;
    for (int i = 0; i < n; i++)
        given += all[i].is;
    for (int i = 0; i < n; i++)
        if (all[i].is)
            used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                     told++ == 0     ? ""
                                     : told == given ? " and "
                                                     : ", ",
                                     all[i].option);
    return given;
}

/* Options that say how something is done which nobody asked for. */
static const char *check_company(const struct place_program *program,
                                 const struct place_run_options *options, char *message,
                                 size_t bytes) {
    const struct given of_steps[] = {{options->memory, "--memory"},
                                     {options->profile, "--profile"},
                                     {options->trace, "--trace"}},
                       of_checkpoints[] = {{options->save_every, "--save-every"},
                                           {options->keep, "--keep"}};
    char list[64] = "";
    int n = options->steps == 0 ? list_given(of_steps, 3, list, sizeof list) : 0;
    if (n > 0) {
        snprintf(message, bytes, "%s %s of steps; give --steps N and --data FILE, or leave %s out",
                 list, n == 1 ? "is" : "are", n == 1 ? "it" : "them");
        return message;
    }
    if (!options->checkpoint && !options->resume)
        n = list_given(of_checkpoints, 2, list, sizeof list);
    if (n > 0) {
        snprintf(message, bytes, "%s %s about checkpoints: say where with --checkpoint DIR", list,
                 n == 1 ? "is" : "are");
        return message;
    }
    if (options->offload && program_arena_bytes(program, PLACE_DISK) == 0)
        return "--offload says where states are that are kept on disk, and this program keeps none "
               "there; leave it out";
    if (options->eval_every && options->eval.n == 0)
        return "--eval-every needs held-out data: give --eval FILE, or leave it out";
    return NULL;
}

/* Whether the descriptor can do what the options ask for. Null, or what is wrong. */
static const char *check_program(const struct place_program *program,
                                 const struct place_run_options *options, char *message,
                                 size_t bytes) {
    if (program->abi_version != PLACE_ABI_VERSION)
        return "this program was made for another version of the runtime; build it again";
    const struct place_part *part = part_that_tells(program);
    for (int32_t i = 0; i < program->n_parts; i++)
        if (!buffers_fit(program, &program->parts[i]))
            return "this program's buffers do not fit their places (an error of the compiler); "
                   "report it";
    if (options->eval.n > 0 && (!part->evaluate || part->wellknown.loss < 0))
        return "this program cannot evaluate; build it again without --eval";
    if (options->sample > 0 && (!part->evaluate || part->wellknown.logits < 0))
        return "this program keeps no logits, so nothing can be sampled; leave out --sample";
    if (options->sample > 0 && options->data.n == 0 && !options->prompt)
        return "--sample goes on from a prompt: give --prompt TEXT, or --data FILE, whose first "
               "tokens it takes";
    if (options->steps > 0 && options->data.n == 0)
        return "--steps needs --data FILE";
    const char *alone = check_company(program, options, message, bytes);
    return alone ? alone : inputs_check(options);
}

static int64_t message_bytes(const struct session *session) {
    return session->processes > 1 ? launch_message_bytes(session->program) : 0;
}

/* The stack of a thread that is given no other, by `ulimit -s`. */
static int64_t stack_bytes(void) {
    pthread_attr_t attributes;
    size_t bytes = 0;
    if (pthread_attr_init(&attributes) == 0) {
        pthread_attr_getstacksize(&attributes, &bytes);
        pthread_attr_destroy(&attributes);
    }
    return (int64_t)bytes;
}

/* What a thread of a rank maps: its stack, what malloc reserves for a thread that calls it, and
 * what kernels work in. */
static int64_t thread_addresses(const struct session *session) {
    int64_t products = session->program->library_products ? PLACE_PRODUCT_ADDRESSES_PER_THREAD : 0;
    return stack_bytes() + MALLOC_BYTES + PLACE_WORKSPACE_BYTES_PER_THREAD + products;
}

/* What a rank maps for what it computes with. */
static int64_t memory_bytes(const struct session *session) {
    return program_arena_bytes(session->program, PLACE_DEVICE) +
           program_arena_bytes(session->program, PLACE_HOST);
}

/* A limit on addresses, under which the product library would try for ever. `ranks` live in this
 * process. */
static int check_addresses(const struct session *session, int ranks, char *message) {
    int64_t each = memory_bytes(session) + 2 * ALIGNMENT_BYTES + message_bytes(session) +
                   session->threads * thread_addresses(session);
    int64_t sentinel = stack_bytes() + MALLOC_BYTES, free_bytes = addresses_free_bytes();
    if (free_bytes > sentinel && each <= (free_bytes - sentinel) / ranks)
        return 0;
    snprintf(message, MESSAGE_BYTES,
             "%d rank%s of %d thread%s would map %lld MiB, but this process may map only %lld MiB "
             "more; raise the limit (ulimit -v, ulimit -d), or use fewer ranks or threads here",
             ranks, plural_s(ranks), session->threads, plural_s(session->threads),
             (long long)((each * ranks + sentinel) / MIB + 1), (long long)(free_bytes / MIB));
    return -1;
}

/* Refuses before anything is allocated; the numbers say why. `ranks` live in this process's
 * machine. */
static int check_memory(const struct session *session, int ranks, char *message) {
    int64_t products = session->program->library_products ? PLACE_PRODUCT_BYTES_PER_THREAD : 0;
    int64_t each = memory_bytes(session) + message_bytes(session) +
                   session->threads * (PLACE_WORKSPACE_BYTES_PER_THREAD + products);
    int64_t free_bytes = machine_free_bytes("");
    if (each <= free_bytes / ranks)
        return 0;
    char total[32], one[32], there[32];
    format_lack(total, there, each * ranks, free_bytes);
    snprintf(message, MESSAGE_BYTES,
             "%d rank%s %s of memory (%s each), but this machine has %s free; use fewer "
             "ranks here, a smaller model or microbatch, or a strategy that shards more",
             ranks, ranks == 1 ? " needs" : "s need", total, format_bytes(one, sizeof one, each),
             there);
    return -1;
}

/* What the run goes on from, and where it leaves its own. The seed is part of what goes on. */
static int open_checkpoints(struct session *session, bool has_first_rank, char *message) {
    const struct place_run_options *options = session->options;
    const struct resumption *resumption = &session->resumption;
    if ((options->resume || options->checkpoint) &&
        checkpoints_list(session, message, MESSAGE_BYTES) != 0)
        return -1;
    if (options->resume &&
        resumption_open(&session->resumption, options, session->program,
                        &session->checkpoints.files.entries, message, MESSAGE_BYTES) != 0)
        return -1;
    if (*resumption->path) {
        if (options->has_seed && session->seed != resumption->manifest.seed) {
            snprintf(message, MESSAGE_BYTES,
                     "%s: it was made with --seed %llu, which its data and draws depend on; go "
                     "on with that",
                     options->resume, (unsigned long long)resumption->manifest.seed);
            return -1;
        }
        session->seed = resumption->manifest.seed;
    }
    return checkpoints_open(session, has_first_rank, message, MESSAGE_BYTES);
}

/* What is resumed has its own. */
static int open_weights(struct session *session, bool has_first_rank, char *message) {
    const char *from = session->options->from;
    if (!from || *session->resumption.path)
        return 0;
    if (weights_open(&session->weights, session->program, from, session->processes > 1, message,
                     MESSAGE_BYTES) != 0)
        return -1;
    return has_first_rank ? run_weights_check(session, message, MESSAGE_BYTES) : 0;
}

/* Files, before time is spent. What is written belongs to the process of rank 0. */
static int open_files(struct session *session, bool has_first_rank, char *message) {
    if (inputs_open(session, message, MESSAGE_BYTES) != 0 ||
        saved_model_find(&session->saved, session->program, session->options->save, has_first_rank,
                         message, MESSAGE_BYTES) != 0 ||
        (has_first_rank && run_outputs_check(session, message, MESSAGE_BYTES) != 0))
        return -1;
    if (open_checkpoints(session, has_first_rank, message) != 0)
        return -1;
    return open_weights(session, has_first_rank, message);
}

static void close_files(struct session *session) {
    inputs_close(session);
    run_log_close(&session->log);
    resumption_close(&session->resumption);
    weights_close(&session->weights);
    checkpoints_close(session);
}

/* What was asked for that does not train as one device would. */
static void print_relaxed(const struct place_program *program) {
    for (int32_t i = 0; i < program->n_relaxed; i++) {
        const struct place_relaxed *relaxed = &program->relaxed[i];
        printf("relaxed: %s over", relaxed->condition);
        for (int32_t k = 0; k < relaxed->axes.n; k++)
            printf("%s %s", k ? " *" : "", program->axes[relaxed->axes.axes[k]].name);
        printf(" (line %d)\n", relaxed->line);
    }
}

/* Where the run goes on. */
static void print_resumption(const struct session *session) {
    const struct resumption *resumption = &session->resumption;
    if (*resumption->path)
        printf("resumed: %s, behind step %lld\n", resumption->path,
               (long long)resumption->manifest.step);
    else if (session->options->resume)
        printf("resumed: nothing; %s has no checkpoint yet, so the run begins anew\n",
               session->options->resume);
    if (session->weights.sources)
        weights_print(&session->weights, session->options->from);
}

/* How our own kernel makes products of bf16 in any order, where there are some. */
static const char *bf16_products(const struct session *session) {
    if (!session->program->bf16_products)
        return "";
    return session->kernels->has_pairs ? ", bf16 by AVX512_BF16" : ", bf16 in fp32";
}

/* What ranks have beyond their devices' memory. */
static void print_beyond(const struct session *session) {
    int64_t host = program_arena_bytes(session->program, PLACE_HOST);
    int64_t disk = program_arena_bytes(session->program, PLACE_DISK);
    char text[32];
    if (host > 0)
        printf(", of the host %s", format_bytes(text, sizeof text, host));
    if (disk > 0)
        printf(", on disk %s in %s", format_bytes(text, sizeof text, disk),
               offload_folder(session->options));
}

static void print_header(const struct session *session, const struct launch *launch, int cores) {
    const struct place_program *program = session->program;
    char arena[32], messages[32], transport[64] = "local";
    if (launch->join)
        snprintf(transport, sizeof transport, "mpi, %d processes", launch->processes);
    printf("%s: mesh", program->name);
    for (int i = 0; i < program->n_axes; i++)
        printf(" %s=%lld", program->axes[i].name, (long long)program->axes[i].size);
    printf(", %lld rank%s x %d thread%s on %d core%s (%s)%s\n", (long long)program->devices,
           plural_s(program->devices), session->threads, plural_s(session->threads), cores,
           plural_s(cores), transport, program->devices > cores ? ": more ranks than cores" : "");
    printf("products: %s%s; kernels: x86-64-%s; memory: %s per rank",
           program->library_products ? product_description() : "own", bf16_products(session),
           session->kernels->level,
           format_bytes(arena, sizeof arena, program_arena_bytes(program, PLACE_DEVICE)));
    print_beyond(session);
    if (message_bytes(session) > 0)
        printf(", and for messages %s, or as much as one collective takes",
               format_bytes(messages, sizeof messages, message_bytes(session)));
    printf("\n");
    print_relaxed(program);
    print_resumption(session);
    if (program->library_products && product_warning())
        printf("note: %s\n", product_warning());
    inputs_print(session);
    fflush(stdout);
}

/* A schedule of fewer steps than the run: what is left trains nothing, and looks as if it did. */
static void warn_rate(const struct place_program *program, int64_t steps) {
    if (program->rate_ends == 0 || steps <= program->rate_ends)
        return;
    fflush(stdout);
    fprintf(stderr,
            "warning: from step %lld on a learning rate is 0, as its schedule ends there; this run "
            "has %lld steps\n"
            "  give the schedule as many steps or a minimum, or run with --steps %lld\n",
            (long long)program->rate_ends, (long long)steps, (long long)program->rate_ends);
}

/* ---- ranks ---------------------------------------------------------------------------------- */

struct rank_thread {
    struct session *session;
    struct place_context context;
    pthread_t thread;
};

static void go_on(void *context) {
    ((struct place_context *)context)->transport->progress(context);
}

static void *rank_main(void *argument) {
    struct rank_thread *self = argument;
    struct place_context *context = &self->context;
    context->team = team_create(self->session->threads, PLACE_WORKSPACE_BYTES_PER_THREAD);
    if (context->team) {
        if (context->transport->progress)
            team_interleave(context->team, go_on, context);
        rank_run(self->session, context);
    } else {
        context_fail(context, -1, PLACE_ERROR_HOST,
                     "no memory or threads for a team of %d; use --threads 1",
                     self->session->threads);
    }
    context->transport->leave(context);
    team_destroy(context->team);
    return NULL;
}

/* The failure that caused the others: of a rank that was not merely told to stop. */
static const char *first_message(const struct rank_thread *threads, int n) {
    const char *message = NULL;
    for (int i = n - 1; i >= 0; i--)
        if (threads[i].context.status &&
            (!message || threads[i].context.status != PLACE_ERROR_ABORTED))
            message = threads[i].context.message;
    return message;
}

/* Whether it helps to see what the ranks did: not where a file, the data or the machine failed. */
static bool failed_between_ranks(const struct rank_thread *threads, int n) {
    bool between = false;
    for (int i = 0; i < n; i++) {
        enum place_status status = threads[i].context.status;
        if (status == PLACE_ERROR_HOST || status == PLACE_ERROR_LIBRARY)
            return false;
        between |= status != PLACE_OK;
    }
    return between;
}

/* The process's ranks as those see them who look after them. Null: no memory. */
static struct place_context **contexts_of(struct rank_thread *threads, int n) {
    struct place_context **contexts = calloc((size_t)n, sizeof(struct place_context *));
    for (int i = 0; contexts && i < n; i++)
        contexts[i] = &threads[i].context;
    return contexts;
}

/* What is left of ranks that have ended: the message of a failure, and the flight recorders if they
 * can explain it. */
static int end_ranks(const struct session *session, const struct flight *flight, int processes,
                     const struct rank_thread *threads, char *message) {
    const char *failure = first_message(threads, flight->n);
    if (!failure)
        return 0;
    if (failed_between_ranks(threads, flight->n))
        flight_report(flight, session->options->log, processes, stderr);
    snprintf(message, MESSAGE_BYTES, "%s", failure);
    return -1;
}

/* Starts the ranks as threads. Returns how many there are. */
static int start_threads(struct session *session, const struct launch *launch,
                         struct local_world *world, struct rank_thread *threads) {
    for (int i = 0; i < launch->ranks; i++) {
        struct rank_thread *self = &threads[i];
        self->session = session;
        self->context.program = session->program;
        self->context.kernels = session->kernels;
        context_set_rank(&self->context, launch->first + i);
        local_join(world, &self->context);
        if (launch->join)
            launch->join(&self->context);
        if (pthread_create(&self->thread, NULL, rank_main, self) != 0)
            return i;
    }
    return launch->ranks;
}

/* How many ranks of this process run at a time. Where each is a part of a pipeline they take turns,
 * as many as give each core something to do, since others wait for what a task makes. Ranks that do
 * the same meet in the midst of tasks, and too often for turns. Where there are other processes a
 * rank may wait for one of theirs. */
static int ranks_at_a_time(const struct session *session, const struct launch *launch) {
    if (session->program->n_parts < session->program->devices || launch->processes > 1)
        return launch->ranks;
    return (available_cores() + session->threads - 1) / session->threads;
}

static int run_threads(struct session *session, const struct launch *launch, char *message) {
    int n = launch->ranks, status = -1;
    struct local_world *world =
        local_world_new(session->program, launch->first, n, ranks_at_a_time(session, launch));
    struct rank_thread *threads = calloc((size_t)n, sizeof *threads);
    struct place_context **contexts = threads ? contexts_of(threads, n) : NULL;
    if (world && contexts) {
        const struct flight flight = {contexts, n};
        int started = start_threads(session, launch, world, threads);
        for (int i = started; i < n; i++) /* told to the ranks that live, who then end */
            context_fail(&threads[i].context, -1, PLACE_ERROR_HOST, "no thread for this rank");
        struct sentinel *sentinel =
            started == n ? sentinel_start(&flight, session->options->log, launch->processes,
                                          session->patience_seconds)
                         : NULL;
        for (int i = 0; i < started; i++)
            pthread_join(threads[i].thread, NULL);
        sentinel_stop(sentinel);
        status = end_ranks(session, &flight, launch->processes, threads, message);
        for (int i = 0; i < n; i++)
            arena_unmap(&threads[i].context);
    } else {
        snprintf(message, MESSAGE_BYTES, "no memory for %d ranks", n);
    }
    local_world_free(world);
    free(contexts);
    free(threads);
    return status;
}

/* ---- the whole run -------------------------------------------------------------------------- */

/* What every process finds as this one does. 0, or -1 with a message. */
static int prepare(struct session *session, const struct launch *launch, char *message) {
    const char *why = NULL;
    int cores = available_cores(), ranks = launch->ranks * launch->neighbours;
    session->threads = session->options->threads ? session->options->threads
                       : cores > ranks           ? cores / ranks
                                                 : 1;
    session->kernels = kernels_select(&why);
    if (!session->kernels ||
        (session->program->library_products && product_load(&why) != PLACE_OK)) {
        snprintf(message, MESSAGE_BYTES, "%s", why);
        return -1;
    }
    return check_memory(session, ranks, message) != 0 ||
                   check_addresses(session, launch->ranks, message) != 0 ||
                   offload_check(session, ranks, message, MESSAGE_BYTES) != 0 ||
                   open_files(session, launch->first == 0, message) != 0
               ? -1
               : 0;
}

static bool is_quiet(const struct session *session, const struct launch *launch) {
    return session->options->quiet || launch->first != 0;
}

/* Who counts the steps from the checkpoint on would wait for some that do not come. */
static void warn_of_no_step(const struct session *session) {
    const struct resumption *resumption = &session->resumption;
    int64_t steps = session->options->steps, before = resumption->manifest.step;
    if (!*resumption->path || steps == 0 || steps > before)
        return;
    fprintf(stderr,
            "warning: no step is left to train: --steps %lld is the total, and %s is behind step "
            "%lld; for N more, give --steps %lld + N\n",
            (long long)steps, resumption->path, (long long)before, (long long)before);
}

/* Other data than those of the steps before are somebody's will, or a slip. */
static void warn_of_other_data(const struct session *session) {
    const struct manifest *manifest = &session->resumption.manifest;
    int64_t sequence = session->program->sequence;
    if (!*session->resumption.path || session->options->steps <= manifest->step)
        return;
    if (manifest->sequence != sequence)
        fprintf(stderr,
                "warning: %s: sequences have %lld token%s, and had %lld in the steps before: an "
                "epoch has other windows, so what was taken may come again\n",
                dataset_name(&session->data).text, (long long)sequence, plural_s(sequence),
                (long long)manifest->sequence);
    if (manifest->data_hash != dataset_hash(&session->data))
        fprintf(stderr,
                "warning: %s: these are not the data of the steps before; they are taken from "
                "sample %lld on\n",
                dataset_name(&session->data).text, (long long)manifest->samples);
}

/* Another optimizer, rate or dropout is somebody's will, or a slip. */
static void warn_of_other_training(const struct session *session) {
    const struct manifest *manifest = &session->resumption.manifest;
    const char *here = session->program->training;
    struct field_difference found;
    size_t at = 0;
    if (!here || !*manifest->training || session->options->steps <= manifest->step)
        return;
    while (field_difference_next(manifest->training, here, &at, &found))
        fprintf(stderr, "warning: %s is %s from here on; in the steps before it was %s\n",
                found.name, found.here, found.there);
}

/* The data as a whole; then the log that is there may begin anew, or go on. */
static enum scan_end look_through(struct session *session, const struct launch *launch,
                                  char *message) {
    int cores = available_cores(), threads = cores / launch->neighbours;
    if (!is_quiet(session, launch))
        print_header(session, launch, cores);
    enum scan_end end = inputs_scan(session, threads > 0 ? threads : 1, message, MESSAGE_BYTES);
    if (end || launch->first != 0)
        return end;
    if (!is_quiet(session, launch))
        inputs_print_targets(session);
    inputs_warn(session);
    offload_warn(session);
    warn_of_no_step(session);
    warn_of_other_data(session);
    warn_of_other_training(session);
    bool goes_on = *session->resumption.path;
    if (session->options->log && run_log_open(&session->log, session->options->log, goes_on,
                                              session->program, message, MESSAGE_BYTES) != 0)
        return SCAN_REFUSED;
    return end;
}

static int run_session(struct session *session, const struct launch *launch, char *message) {
    const struct place_program *program = session->program;
    int cores = available_cores();
    bool quiet = is_quiet(session, launch);
    last_words_prepare(session, launch->first == 0);
    if (launch->first == 0)
        warn_rate(program, session->options->steps);
    progress_begin(&session->progress, program, session->options->steps,
                   session->resumption.manifest.step, quiet);
    session->progress.terminal &= !launch->join; /* a launcher carries lines, whatever it says */
    if (!quiet && program->flops_per_token > 0)
        session->progress.peak_flops =
            measure_peak(session->kernels, program->library_products, cores);
    return run_threads(session, launch, message);
}

static int report_failure(const char *message) {
    fflush(stdout);
    fprintf(stderr, "error: %s\n", message);
    return 1;
}

/* Reports what every process finds as this one does. */
static int report_common_failure(const char *message) {
    return place_speaks(1) ? report_failure(message) : 1;
}

static int report_interrupted(const struct launch *launch, const char *when, const char *saved) {
    if (launch->first == 0)
        fprintf(stderr, "interrupted %s%s%s\n", when, saved ? "; parameters are in " : "",
                saved ? saved : "");
    return 130;
}

static int run_program(const struct place_program *program,
                       const struct place_run_options *options) {
    struct session session = {
        .program = program,
        .options = options,
        .seed = options->has_seed ? options->seed : program->seed,
        .patience_seconds = patience_seconds(),
        .log.descriptor = -1,
        .checkpoints = {.last = -1, .folder = {.descriptor = -1, .lock = -1}}};
    char message[MESSAGE_BYTES] = "";
    struct launch launch;
    const char *wrong = check_program(program, options, message, sizeof message);
    if (!wrong && session.patience_seconds == 0)
        wrong = "PLACE_TIMEOUT is not a number of seconds above 0; unset it, or set it as in "
                "PLACE_TIMEOUT=60";
    if (wrong)
        return report_common_failure(wrong);
    if (launch_find(program, session.patience_seconds, &launch, message, sizeof message) != 0) {
        int failed = report_common_failure(message);
        launch_end(&launch, failed, 0);
        return failed;
    }
    session.processes = launch.processes;
    interrupts_begin(INTERRUPTED("the run ends before its first step"));
    enum scan_end looked = SCAN_DONE;
    int status = prepare(&session, &launch, message);
    if (!status)
        looked = look_through(&session, &launch, message);
    if (status || looked != SCAN_DONE)
        saved_model_forget(&session.saved);
    if (status || looked == SCAN_REFUSED)
        status = report_common_failure(message);
    else if (looked == SCAN_INTERRUPTED)
        status = report_interrupted(&launch, "before the first step", NULL);
    else if (run_session(&session, &launch, message) != 0)
        status = atomic_load(&session.disagreed) ? report_common_failure(message)
                                                 : report_failure(message);
    else if ((fflush(stdout) != 0 || ferror(stdout)) && !atomic_load(&session.interrupted))
        status = report_failure("standard output cannot be written");
    else if (atomic_load(&session.interrupted))
        status = report_interrupted(&launch, "after a whole step", options->save);
    if (launch.first == 0 && (status || !options->quiet))
        last_words_say(&session, status);
    interrupts_end();
    close_files(&session);
    /* Who is interrupted before the first step has told nobody. */
    launch_end(&launch, status, status == 0 || (status == 130 && looked == SCAN_DONE));
    return status;
}

int place_run(const struct place_program *program, const struct place_run_options *options) {
    standard_files_hold();
    files_allow_many();
    sentinel_hold_requests(); /* before anything starts threads, as MPI does */
    int status = run_program(program, options);
    sentinel_release_requests();
    return status;
}

int place_main(int argc, char **argv, const struct place_program *program) {
    struct place_run_options options;
    int status = place_options_parse(argc, argv, &options);
    if (status < 0)
        status = place_run(program, &options);
    place_options_free(&options);
    return status;
}

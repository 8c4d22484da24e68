// The passes: each one file, one function, runnable alone. passes.def is the pipeline, in order.
// What other folders may use of this one stands here; its other headers are between its own files.
//
// A pass edits the program in place and leaves a program that job_check accepts; in debug
// builds passes_run asks it after each. What the user did wrong is a diagnostic and the result
// false; what we did wrong is a CHECK.
#ifndef PLACE_PASSES_PASSES_H
#define PLACE_PASSES_PASSES_H

#include <stdbool.h>

#include "ir/config.h"
#include "ir/ir.h"
#include "ir/placement.h"
#include "ir/route.h"

// ---- the pipeline -----------------------------------------------------------------------------

struct followed;                       // passes/schedule/followed.h
void followed_free(struct followed *); // or NULL

struct pass_context {
    const struct config *config; // may be NULL for passes that only read the program
    struct diagnostics *diagnostics;
    // Room for what the first pass that asks derives (placement_for), empty at first. NULL:
    // passes_run gives its own to the passes of one run.
    struct placement *placement;
    // Where `partition` leaves the routes of the training step, in the program's arena; NULL:
    // nobody asks.
    struct routes *routes;
    // Where `stages` leaves the program of all ranks of a pipeline together, in a job of its own, before it makes
    // theirs; NULL: nobody asks.
    struct program **unparted;
    // Where `release` leaves how it followed the training step, for the account of the program; who
    // asks for it frees it. NULL: nobody does.
    struct followed **followed;
};

typedef bool (*pass_function)(struct job *, const struct pass_context *);

struct pass_row {
    const char *name;
    pass_function run;
    bool reads_config; // the configuration, besides the program
    int needs;         // enum pass: must have run before; PASS_NOTHING: runs on an empty program
    const char *help;
};

enum pass {
#define PASS(NAME, name, function, input, needs, help) PASS_##NAME,
#include "passes/passes.def"
#undef PASS
    N_PASSES,
    PASS_NOTHING = N_PASSES // what the first pass needs
};
extern const struct pass_row pass_rows[N_PASSES];
int pass_find(const char *name); // -1: no pass of that name

// Runs passes `first` to `last`, both included, and checks the program after each in debug builds.
bool passes_run(struct job *, const struct pass_context *, enum pass first, enum pass last);

// Ends the process if the job is not what a pass may leave, in every build: verify() rests on it. `when`
// begins the message.
void passes_check(const struct job *, const char *when);

#define PASS(NAME, name, function, input, needs, help)                                             \
    bool function(struct job *, const struct pass_context *);
#include "passes/passes.def"
#undef PASS

// ---- factor (factor.c) ------------------------------------------------------------------------

// Makes two axes of each over which heads are split and that has more devices than key and value
// heads are left for it. Of a resolved configuration, before the first pass.
void factor_axes(struct config *, struct arena *);

// ---- blocks (blocks.c) ------------------------------------------------------------------------

// In how many blocks a dimension of the whole size is worked on; 1: no mesh may cut it.
int64_t blocks_of(const struct policy *, enum dimension, int64_t size);

// ---- placement (place.c) ----------------------------------------------------------------------

// Places every tensor of the reference program and checks the composition rules. False, with
// diagnostics, when the strategy has no meaning or is not compiled yet. Allocates in `arena`.
bool placement_derive(const struct config *, const struct program *, struct arena *,
                      struct diagnostics *, struct placement *out);
// The same where what is said of work, and of where layers begin to differ, is known to be right, as of a
// strategy that says the same of it. Nothing is told of what is without effect.
bool placement_derive_storage(const struct config *, const struct program *, struct arena *,
                              struct diagnostics *, struct placement *out);
// The same for a pass: what the first one of the run that asks derives, of the program as that pass
// finds it. It lives as long as the program.
bool placement_for(const struct program *, const struct pass_context *, struct placement *out);

// Why a statement of the configuration, or an option of it, that is known to change nothing of the
// step does not (placement/heard.c).
struct unheard {
    enum {
        UNHEARD_HERE,
        UNHEARD_BEYOND, // it counts more layers than the model has
        UNHEARD_HOLDS,  // what it says is so, even so
    } kind;
    const char *why; // NULL: no reason that has words of its own
};
struct unheard why_unheard(const struct config *, const struct program *reference,
                           const struct placement *, struct arena *, const struct mode_statement *,
                           const char *option); // NULL: the statement

// ---- account (account.c) ----------------------------------------------------------------------
// What the final program holds and sends, to the byte: read off the memory plan and the schedule,
// not estimated. `check` prints it, the descriptor carries it, tests hold it against what was
// measured.

// Collectives of the training step, and of the one that averages behind some, that say the same of
// what they carry, all executions of one step together. A statement that carries several roles has
// its bytes in a row of each.
struct account_transfer {
    struct axis_list axes;
    enum collective_kind kind;
    enum state state; // N_STATES: scalars
    enum role role;   // outermost role of what it carries; ROLE_NONE: scalars
    enum phase phase;
    enum dtype dtype;
    int64_t group; // members
    int64_t count; // executions in one step
    int64_t bytes; // sent in one step, all executions, by the device that sends most
    // The bytes among these that go straight to where they are needed, and those of recursive
    // doubling.
    int64_t direct_bytes, doubling_bytes;
    // Executions by each route (ir.h); each counts once, in a row of one of the roles that it
    // carries.
    int64_t n_rings, n_direct, n_doubling;
    enum step_kind step; // TRAIN, or AVERAGE, which is executed behind some steps only
    uint32_t statement;  // id
    struct span span;
};

// What a device copies between tiers in a training step, from one to another; executions
// together.
struct account_copy {
    enum step_kind step; // training, or an average behind some of them
    enum tier from, to;
    enum state state; // of what is copied
    enum phase phase; // of the call that comes next, of what goes out of the last
    int64_t count, bytes;
    struct span span;
};

// What is in the arena of a tier at the moment when that is most: bytes of each state, and of the
// arena what is of none; they sum to `peak`, for a byte that buffers share counts once.
struct account_arena {
    int64_t states[N_STATES], transient, peak;
};

// Bytes that are alive at one moment of the training step, and all of them.
struct account_live {
    int64_t states[N_STATES], transient, sum;
    uint32_t statement; // id of the one that is executed then
    struct span span;
};

// A step of which even the short form (passes/schedule/shorten.h) has more than LIMIT_FOLLOWED
// statements to be executed one by one: what is alive when is not found.
struct too_long {
    int64_t statements; // 0: it is not
    struct span loop;   // of its loops the one with most iterations
};
void report_too_long(struct diagnostics *diagnostics, const struct too_long *too_long); // E491

struct account {
    struct account_arena arenas[N_TIERS];
    enum step_kind peak_step; // of the device's arena
    uint32_t peak_statement;  // id of the statement at that moment
    struct span peak_span;
    // What a plan of the device for each step alone would take; 0: there is none. A plan for all of them may take
    // more, since what several use lies in one place.
    int64_t alone[N_STEPS];
    // What is alive at once when that is most, item by item from its first write to its last use.
    // What the arena has beyond it are gaps, and items of a stack whose turn has not come or is
    // over.
    struct account_live live[N_TIERS];
    struct too_long too_long; // then `live` is of no moment
    // Bytes that each state holds from step to step (or, of gradients, as long as they accumulate),
    // wherever they are.
    int64_t held[N_STATES];
    struct account_transfer *transfers;
    uint32_t n_transfers;
    // Bytes that one device sends at a statement, by its id, in one step; where devices differ, the
    // most.
    int64_t *sent;
    int64_t total_bytes; // their sum: of a step behind which parameters are averaged, if any are
    struct account_copy *copies;
    uint32_t n_copies;
    // Their bytes in a training step, and in an average behind it, by the tier that is further away: what
    // goes to and from the host, and the disk.
    int64_t copied[N_TIERS], copied_to_average[N_TIERS];
};

// `program` is final, planned and numbered. Never fails.
struct account *account(const struct program *program, struct arena *arena);
// The same where it is known how the step was followed; NULL: it is not, as of one that a person
// wrote.
struct account *account_followed(const struct program *, const struct followed *, struct arena *);

// account/routes.c: what every hop of a route sends, and how often it is made in a training step, by
// one device; hops that send nothing have no times. Hop h of route r: [r * MAX_ROUTE_HOPS + h].
struct hop_account {
    int64_t times, bytes;
};
struct hop_account *account_routes(const struct program *program, const struct routes *routes,
                                   struct arena *arena);

// account/live.c: what is alive at every statement that the training step executes, in order, but
// for frees, on the device of this rank. And the moment when that is most in a tier of any device, the
// first of equal ones, without following all.
struct account_live *account_moments(const struct program *program, int64_t rank,
                                     struct arena *arena, uint32_t *n);
struct account_live account_most_alive(const struct program *program,
                                       const struct followed *followed, // NULL: not known
                                       enum tier, struct too_long *too_long);

// account/time.c: how long a step takes at least, from what a device does and what the file says of
// devices and links. Seconds are negative where the file does not say it.
struct step_work {             // of one device, in one training step
    double flops, again_flops; // of all ops; of those that backward does again
    double moved_bytes;        // through the device's memory: what calls read and write
};
struct step_work account_work(const struct program *);

// What of it takes longest on a link: collectives of a kind, of what they carry.
struct slowest_transfer {
    enum collective_kind kind;
    enum state state;
    enum role role;
    double seconds; // 0: nothing is sent there
};
struct axis_time {
    double bytes, hops; // sent by a device over the axis's links; latencies, one after the other
    double seconds;
    struct slowest_transfer slowest;
};
struct step_time {
    struct step_work work;
    double compute_s, memory_s;
    double host_link_bytes, host_link_s; // of copies between the device and what is beyond it
    struct axis_time axes[MAX_AXES];
    double idle_s; // of `best_s`, beside the longest of what is known: ranks wait for each other
    // The longest of what is known, and the sum of it.
    double best_s, worst_s;
};
struct step_time account_time(const struct program *, const struct account *,
                              const struct device_config *);
// account/tasks.c: the same of a pipeline, whose ranks do their tasks in the order of the schedule. What it says of a
// device is a mean of them.
struct step_time account_pipeline_time(const struct job *, const struct schedule *,
                                       const struct device_config *);
// The time of one axis alone, from the rows of an account.
struct axis_time account_axis_time(const struct mesh *, int64_t average_every,
                                   const struct account_transfer *, uint32_t n_transfers,
                                   unsigned axis);

// ---- pipelines (account/pipeline.c) -----------------------------------------------------------

// A rank has, at most: microbatches, times stages, of which it has activations, until all of backward and until
// gradients of inputs are made; messages that are sent and not read; its share of all operations.
struct rank_account {
    uint32_t in_flight, until_inputs, sends;
    double share;
};
struct pipeline_account {
    // The idle share of all ranks' time, and of the time from each one's first task to its last, where every stage
    // takes as long as any other: numerator and denominator. Then where each takes as long as its operations.
    int64_t bubble[2], span_bubble[2];
    double idle;
    struct rank_account *ranks;
    uint32_t n_ranks;
};
// The placement has a pipeline.
struct pipeline_account *account_pipeline(const struct placement *, struct arena *);

// What would make the idle share of a method's pipeline half of what it is, or less: the fewest microbatches, of as many
// as now and twice, four times, ... as many; and the first method of ir/methods.def, with as many stages on each
// rank as it wants, or two, that does it for as many microbatches as now.
struct pipeline_remedy {
    int64_t microbatches; // 0: none
    enum pipeline_method method;
    uint32_t chunks;                              // 0: no method
    bool says_chunks;                             // that is for the file to say
    int64_t with_microbatches[2], with_method[2]; // the idle shares there
};
struct pipeline_remedy halve_idle(const struct placement *, enum pipeline_method, int64_t layers);

// The methods by which less is in flight, each less than with those before it, for a pipeline of a method: with as
// many stages on each rank, or as many as they want where the file says nothing of them. Returns how many.
unsigned methods_that_hold_less(const struct placement *, const struct pipeline_config *,
                                int64_t layers, enum pipeline_method methods[N_METHODS]);

// The schedule of as many stages and microbatches as the said one has, of which labels in the job's programs say what
// each rank does in which order (pipeline/labels.c). NULL: they say no schedule that runs.
const struct schedule *schedule_of_labels(struct arena *, const struct job *,
                                          const struct schedule *said);

// Units of time that a task takes where stages are alike (pipeline/simulate.c).
extern const uint32_t task_units[N_TASK_KINDS];
// When each task begins, by rank and place in its list, where those of a kind take so many units of time, whatever
// their stage. The schedule runs.
uint32_t **schedule_begins(struct arena *, const struct schedule *,
                           const uint32_t units[N_TASK_KINDS]);

// ---- price (price/price.c) --------------------------------------------------------------------
// What a strategy holds and sends, from routes, without its program. Of many strategies for one model,
// mesh and training: what those have in common that divide work alike is found once.

struct price {
    // Bytes and transfers as an account has them, to the byte.
    int64_t held[N_STATES];
    struct account_transfer *transfers; // without statements
    uint32_t n_transfers;
    int64_t total_bytes;
    // Transient buffers of parameters that are gathered and of gradients that are not reduced yet, all
    // of them, though not all at once. `is_ahead`: at least so many, as gathers that start ahead of
    // their use may take more.
    int64_t gathered_bytes, unreduced_bytes;
    bool is_ahead;
    struct step_work work; // of units of forward and backward; the update's is not in it
};

struct pricing;
// All that is said of the model and of training; which must outlive it.
struct pricing *pricing_new(const struct config *);
void pricing_free(struct pricing *);
// Prices the strategy of a configuration whose model and training are the pricing's. False: it has
// no program, as `diagnostics` says. The rows are valid until the next is priced.
bool pricing_price(struct pricing *, const struct config *, struct diagnostics *, struct price *);
// The time over one axis, at least, as account_time says of the final program.
struct axis_time price_axis_time(const struct config *, const struct price *, unsigned axis);
// How many strategies were priced, and for how many of them nothing was there yet.
struct pricing_counts {
    uint64_t priced, outlined;
};
struct pricing_counts pricing_counts(const struct pricing *);

// ---- traffic ----------------------------------------------------------------------------------
// account/traffic.c: how the parameters of a tensor are gathered for calls, or its gradient is
// summed, over one axis, in one training step.
struct traffic {
    int64_t times;    // executions of collectives that carry it
    int64_t together; // the most bytes that one of them carries
    int64_t in_a_row; // the most layers that are gathered in a row, as those of a group are
    struct span span; // of the first of them
    // How many layers a phase computes with, at most, between the start of a gather and its wait.
    struct ahead {
        bool known;
        int64_t layers;
        struct span span; // of that start
    } ahead[N_PHASES];
};
// Tensor `t` of the placement's `tensors` over an axis of the mesh: [t * n_axes + axis]. `state`:
// parameters or gradients.
struct traffic *account_traffic(const struct program *program, const struct placement *placement,
                                enum state state, struct arena *arena);

#endif

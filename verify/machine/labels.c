// Labels of tasks. They do nothing, and prove nothing; but where a program is refused they say what was
// meant, and so where it first goes another way.
#include "verify/machine/machine.h"

void come_to_label(struct abstract_machine *m, const struct statement *label) {
    m->cursor->task = label->task.kind == N_TASK_KINDS ? NULL : label;
    m->cursor->microbatch = number_of(m, label->task.microbatch);
}

// Labels mean nothing, but what is done under one mostly has its microbatch, and is given something.
void note_odd(struct abstract_machine *m, const char *name, const struct judgement *value,
              struct span span) {
    const struct cursor *cursor = m->cursor;
    if (!m->proof->history || m->proof->odd || !cursor->task)
        return;
    bool of_time =
        !value->fault && value->form != FORM_ANY && form_get(&m->world->digits, value->form)->time;
    if (value->fault && value->fault->code == E611)
        m->proof->odd = value->fault;
    if (!of_time || number_is_symbolic(value->microbatch) ||
        number_is_symbolic(cursor->microbatch) || value->microbatch == cursor->microbatch)
        return;
    struct fault *odd = fault_make(m->proof, E512, span, NULL,
                                   "`%s` is of microbatch %d, in a task of microbatch %d", name,
                                   value->microbatch, cursor->microbatch);
    fault_also(odd, cursor->task->span, "the task");
    m->proof->odd = odd;
}

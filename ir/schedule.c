// Schedules of pipelines: how the text names what a task is.
#include "ir/schedule.h"

const char task_letters[N_TASK_KINDS] = {
    [TASK_FORWARD] = 'F',
    [TASK_BACKWARD] = 'B',
    [TASK_INPUTS] = 'I',
    [TASK_WEIGHTS] = 'W',
};

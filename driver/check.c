// placec check: the verdict, what every device holds and what it sends.
#include <stdio.h>

#include "driver/compile.h"
#include "driver/options.h"
#include "driver/report.h"
#include "driver/timeline.h"

// With --json everything is in the one object, messages too, so stderr stays empty; in words the
// report goes to stdout and what was reported to stderr.
int verb_check(const struct options *options) {
    int fixed = option_given(options, OPTION_FIX) ? fix_file(options) : STATUS_OK;
    if (fixed != STATUS_OK)
        return fixed;
    struct compilation c;
    bool accepted = compile(&c, options, STAGE_JUDGED);
    int status = STATUS_REFUSED;
    if (option_given(options, OPTION_JSON)) {
        check_fixes(&c, options);
        report_json(&c, stdout);
        status = c.diagnostics->n_errors ? STATUS_REFUSED : STATUS_OK;
    } else {
        int drawn = STATUS_OK;
        if (accepted) {
            report_text(&c, options, stdout);
            report_strategies(&c, options, stdout);
        }
        if (accepted && option_given(options, OPTION_TIMELINE))
            drawn = draw_timeline(&c, options);
        status = compilation_finish(&c, options);
        status = status == STATUS_OK ? drawn : status;
    }
    compilation_free(&c);
    return status;
}

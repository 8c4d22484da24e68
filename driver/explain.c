// placec explain CODE...: the pages of diagnostics' codes; `placec explain roles`: the table of
// roles.
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "driver/options.h"
#include "ir/diagnostic.h"
#include "ir/ir.h"

static void print_role(enum role role, int depth) {
    if (role != ROLE_NONE)
        printf("%*s%-*s %s\n", 2 * depth, "", 16 - 2 * depth, role_names[role], role_owns[role]);
    for (int i = ROLE_NONE + 1; i < N_ROLES; i++)
        if (role_parents[i] == role)
            print_role(i, depth + (role != ROLE_NONE));
}

static int explain_roles(void) {
    printf("A selector names roles, `layers[0:4].attention.norm`; a role alone matches at every "
           "depth.\n\n");
    print_role(ROLE_NONE, 0);
    return STATUS_OK;
}

static int unknown_code(const char *given) {
    const char *codes[N_DIAGNOSTIC_CODES];
    for (int i = 0; i < N_DIAGNOSTIC_CODES; i++)
        codes[i] = diagnostic_rows[i].text;
    complain_unknown("there is no code", given, codes, N_DIAGNOSTIC_CODES,
                     "codes stand in brackets behind `error` and `warning`, as in error[E402]");
    return STATUS_REFUSED;
}

// Pages are embedded in the command: it explains itself wherever it was copied to.
static int explain_code(const char *given) {
    int code = diagnostic_find(given);
    if (code < 0)
        return unknown_code(given);
    const char *page = diagnostic_page(code);
    printf("%s: %s\n\n", diagnostic_rows[code].text, diagnostic_rows[code].title);
    fputs(page ? page : "This code has no page yet.\n", stdout);
    return STATUS_OK;
}

// Several, in their order: a refused file may have several errors.
int verb_explain(const struct options *options) {
    int status = STATUS_OK;
    for (int i = 0; i < options->n_operands; i++) {
        const char *given = options->operands[i];
        if (i > 0)
            putchar('\n');
        int one = strcmp(given, "roles") == 0 ? explain_roles() : explain_code(given);
        status = one == STATUS_OK ? status : one;
    }
    return status;
}

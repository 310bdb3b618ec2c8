/* Which row of which handler an operator name means. */
#include "call.h"
#include <stdio.h>
#include <string.h>

bool adept_op_next_name(const char **at, char name[ADEPT_OP_NAME_BYTES])
{
    size_t n = strcspn(*at, " ");
    if (n == 0) return false;
    snprintf(name, ADEPT_OP_NAME_BYTES, "%.*s", (int)n, *at);
    *at += n + strspn(*at + n, " ");
    return true;
}

static bool has_name(const char *names, const char *name, size_t n)
{
    const char *at = names;
    while (at && (strncmp(at, name, n) || (at[n] && at[n] != ' ')))
        at = (at = strchr(at, ' ')) ? at + 1 : NULL;
    return at != NULL;
}

bool adept_op_has_name(const char *names, const char *op)
{
    return has_name(names, op, strlen(op));
}

bool adept_op_shares_name(const char *names, const char *others)
{
    for (size_t n; *names; names += n + strspn(names + n, " ")) {
        n = strcspn(names, " ");
        if (has_name(others, names, n)) return true;
    }
    return false;
}

static bool find_row(const adept_handler_table *table, const char *name, size_t n, const adept_handler **handler,
                     const adept_op **row)
{
    for (const adept_handler *const *h = table->handlers; *h; h++)
        for (*handler = *h, *row = (*h)->ops; (*row)->names; ++*row)
            if (has_name((*row)->names, name, n)) return true;
    return false;
}

bool adept_handler_find(const adept_handler_table *table, const char *op, const adept_handler **handler,
                        const adept_op **row, bool *inplace)
{
    size_t n = strlen(op);
    *inplace = false;
    if (find_row(table, op, n, handler, row)) return true;
    /* "aten::add_" is the in-place "aten::add"; "aten::__is__" is not the in-place form of anything */
    *inplace = n >= 2 && op[n - 1] == '_' && op[n - 2] != '_';
    return *inplace && find_row(table, op, n - 1, handler, row);
}

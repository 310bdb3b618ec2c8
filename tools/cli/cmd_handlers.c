/** @file cmd_handlers.c  `adept handlers`: the operators adept can count, by kind. */
#include "adept_handlers.h"
#include "cli.h"
#include "table.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const adept_option_row rows[] = {{"json", NULL, 1, "Print JSON", ADEPT_OPT_FLAG, .at = 0}, {0}};

static int by_kind(const void *a, const void *b)
{
    return strcmp((*(const adept_handler *const *)a)->kind, (*(const adept_handler *const *)b)->kind);
}

/* The handlers, sorted by kind; malloc'ed. */
static const adept_handler **sorted_handlers(size_t *n)
{
    const adept_handler_table *table = adept_handlers();

    *n = 0;
    while (table->handlers[*n])
        ++*n;
    const adept_handler **sorted = malloc((*n + 1) * sizeof *sorted);
    if (!sorted) return NULL;
    memcpy(sorted, table->handlers, (*n + 1) * sizeof *sorted);
    qsort(sorted, *n, sizeof *sorted, by_kind);
    return sorted;
}

static void print_text(const adept_handler *const *handlers, size_t n)
{
    enum { INDENT = 18, RIGHT_MARGIN = 100 };

    for (size_t i = 0; i < n; i++) {
        int column = INDENT;
        printf("%-*s", INDENT - 1, handlers[i]->kind);
        for (const adept_op *op = handlers[i]->ops; op->names; op++) {
            char name[ADEPT_OP_NAME_BYTES];
            for (const char *at = op->names; adept_op_next_name(&at, name);) {
                int width = (int)strlen(name) + 1;
                if (column + width > RIGHT_MARGIN && column > INDENT) {
                    printf("\n%*s", INDENT - 1, "");
                    column = INDENT;
                }
                printf(" %s", name);
                column += width;
            }
        }
        putchar('\n');
    }
}

static adept_status print_json(adept_cli *cli, const adept_handler *const *handlers, size_t n)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_begin_array(&w, "handlers");
    for (size_t i = 0; i < n; i++) {
        adept_json_begin_object(&w, NULL);
        adept_json_put_string(&w, "kind", handlers[i]->kind);
        adept_json_begin_array(&w, "operators");
        char name[ADEPT_OP_NAME_BYTES];
        for (const adept_op *op = handlers[i]->ops; op->names; op++)
            for (const char *at = op->names; adept_op_next_name(&at, name);)
                adept_json_put_string(&w, NULL, name);
        adept_json_end_array(&w);
        adept_json_end_object(&w);
    }
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    return adept_json_emit(cli, &w);
}

static adept_status list(adept_cli *cli, void *options)
{
    const bool *json = options;
    adept_status status = ADEPT_OK;
    size_t n;

    const adept_handler **handlers = sorted_handlers(&n);
    if (!handlers) return adept_cli_no_memory(cli);
    if (*json)
        status = print_json(cli, handlers, n);
    else
        print_text(handlers, n);
    free(handlers);
    return status;
}

const adept_command adept_command_handlers = {
    .name = "handlers",
    .summary = "list the operators that can be counted",
    .doc = "List the operators adept can count, by the kind they appear as in reports."
           "\vExamples:\n"
           "  adept handlers\n"
           "  adept handlers --json\n"
           "\n"
           "The in-place form of an operator (aten::relu_ for aten::relu) is supported with it.",
    .size = sizeof(bool),
    .options = {.rows = rows},
    .run = list,
};

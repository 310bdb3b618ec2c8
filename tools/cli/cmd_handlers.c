/** @file cmd_handlers.c  `adept handlers`: the operators adept can count, by kind. */
#include "adept_handlers.h"
#include "cli.h"
#include "table.h"
#include <stdio.h>
#include <string.h>

static const adept_option_row rows[] = {{"json", NULL, 1, "Print JSON", ADEPT_OPT_FLAG, .at = 0}, {0}};

/* By kind; of one kind as the table has them. */
static int order(const adept_handler *const *a, const adept_handler *const *b)
{
    int kinds = strcmp((*a)->kind, (*b)->kind);
    return kinds ? kinds : (a > b) - (a < b);
}

/* The place of the handler that follows; NULL behind the last. @param last  NULL: the first */
static const adept_handler *const *next_handler(const adept_handler *const *last)
{
    const adept_handler *const *next = NULL;

    for (const adept_handler *const *h = adept_handlers()->handlers; *h; h++)
        if ((!last || order(h, last) > 0) && (!next || order(h, next) < 0)) next = h;
    return next;
}

static void print_text(void)
{
    enum { INDENT = 18, RIGHT_MARGIN = 100 };

    for (const adept_handler *const *h = NULL; (h = next_handler(h));) {
        int column = INDENT;
        printf("%-*s", INDENT - 1, (*h)->kind);
        for (const adept_op *op = (*h)->ops; op->names; op++) {
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

static adept_status print_json(adept_cli *cli)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_integer(&w, "schema_version", 1);
    adept_json_begin_array(&w, "handlers");
    for (const adept_handler *const *h = NULL; (h = next_handler(h));) {
        adept_json_begin_object(&w, NULL);
        adept_json_put_string(&w, "kind", (*h)->kind);
        adept_json_begin_array(&w, "operators");
        char name[ADEPT_OP_NAME_BYTES];
        for (const adept_op *op = (*h)->ops; op->names; op++)
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
    if (*(const bool *)options) return print_json(cli);
    print_text();
    return ADEPT_OK;
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

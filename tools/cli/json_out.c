/** @file json_out.c  Printing goes through one buffer, so that a document that fails half-way prints nothing. */
#include "json_out.h"
#include <stdio.h>
#include <stdlib.h>

adept_status adept_json_print(adept_cli *cli, char *text)
{
    if (!text) return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory while printing JSON");
    puts(text);
    free(text);
    return ADEPT_OK;
}

adept_status adept_json_emit(adept_cli *cli, adept_json_writer *document)
{
    return adept_json_print(cli, adept_json_finish(document));
}

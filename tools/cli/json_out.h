/** @file json_out.h  Printing the JSON of a command. Calls: adept_json_writer. */
#ifndef ADEPT_JSON_OUT_H
#define ADEPT_JSON_OUT_H
#include "adept_json_writer.h"
#include "cli.h"

/** Print a document and a newline on stdout. @return ADEPT_E_NOMEM if memory was out */
adept_status adept_json_emit(adept_cli *cli, adept_json_writer *document);

/** The same of a text, which is taken; NULL: memory was out. */
adept_status adept_json_print(adept_cli *cli, char *text);

#endif

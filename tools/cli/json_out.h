/** @file json_out.h  Building the JSON the commands print. Calls: cJSON. */
#ifndef ADEPT_JSON_OUT_H
#define ADEPT_JSON_OUT_H
#include "cli.h"
#include "adept_json.h"

/** Print a document and a newline on stdout and free it. NULL, or a document that cannot be printed, is out of memory.
 */
adept_status adept_json_emit(adept_cli *cli, cJSON *document);

#endif

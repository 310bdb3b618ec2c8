/** @file report_merge.h  Printing the table of `adept measure --merge`. Calls: table, adept_merge. */
#ifndef ADEPT_REPORT_MERGE_H
#define ADEPT_REPORT_MERGE_H
#include "adept_merge.h"
#include "cli.h"

/* Each prints on stdout. @return ADEPT_E_NOMEM */
adept_status adept_merge_print(adept_cli *cli, const adept_merge *merge);
adept_status adept_merge_print_csv(adept_cli *cli, const adept_merge *merge);
adept_status adept_merge_print_json(adept_cli *cli, const adept_merge *merge);

#endif

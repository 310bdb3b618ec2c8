/** @file report_attribution.h  What `adept attribute report` prints. Calls: cli, adept_attribution. */
#ifndef ADEPT_REPORT_ATTRIBUTION_H
#define ADEPT_REPORT_ATTRIBUTION_H
#include "adept_attribution.h"
#include "cli.h"

adept_status adept_attribution_print(adept_cli *cli, const adept_attribution_report *r,
                                     const adept_attribution_model *m, const adept_attribution_view *view);
adept_status adept_attribution_print_json(adept_cli *cli, const adept_attribution_report *r,
                                          const adept_attribution_model *m, const adept_attribution_view *view);
adept_status adept_attribution_print_csv(adept_cli *cli, const adept_attribution_report *r);
adept_status adept_attribution_draw(adept_cli *cli, const char *path, const adept_attribution_report *r,
                                    const adept_attribution_model *m, const adept_attribution_view *view);

#endif

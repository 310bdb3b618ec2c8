/** @file sweep_html.h  A sweep's picture and its HTML file. Calls: pictures, whatif. */
#ifndef ADEPT_SWEEP_HTML_H
#define ADEPT_SWEEP_HTML_H
#include "cli.h"
#include "adept_hwprofile.h"
#include "sweep_picture.h"

typedef struct adept_sweep_view {
    const char *plot, *html; /* files; NULL: none */
    adept_aim objective;
    const adept_profile *profile; /* of the sweep's base */
    const adept_hwprofile *hw;    /* NULL: GPUs are varied */
    bool hypothetical;            /* numbers of the hardware are changed */
    adept_sweep_picture picture;
} adept_sweep_view;

/** Draw it, and write what --plot and --html ask for. gnuplot has been asked for before. */
adept_status adept_sweep_write_views(adept_cli *cli, const adept_sweep_view *view);

#endif

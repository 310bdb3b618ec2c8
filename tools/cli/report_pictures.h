/** @file report_pictures.h  The pictures of one prediction, and its page. Calls: pictures, model. */
#ifndef ADEPT_REPORT_PICTURES_H
#define ADEPT_REPORT_PICTURES_H
#include "explain.h"
#include <stddef.h>

typedef enum adept_picture_id {
    ADEPT_PICTURE_STEP,   /* bars: where time and energy go */
    ADEPT_PICTURE_TIME,   /* treemap */
    ADEPT_PICTURE_ENERGY, /* treemap; none where power is not known */
    ADEPT_PICTURE_ROOFLINE,
    ADEPT_PICTURE_MEMORY, /* bar */
    ADEPT_PICTURE_LIMITS, /* curve; none where power is not known */
    ADEPT_PICTURE_COUNT
} adept_picture_id;

typedef struct adept_pictures {
    char *svg[ADEPT_PICTURE_COUNT]; /* malloc'ed; NULL: there is none */
    size_t size[ADEPT_PICTURE_COUNT];
    double roofline_no_arithmetic, roofline_left_out; /* shares of the step that the roofline does not show */
    double interval_level;                            /* of the band around the curves; NAN: none */
} adept_pictures;

/** File name without folder: "roofline.svg". */
const char *adept_picture_file(adept_picture_id id);

/**
 * Draw them. gnuplot has been asked for before (adept_gnuplot_check).
 * @param out  freed with adept_pictures_free(), also after a failure
 */
adept_status adept_pictures_draw(adept_cli *cli, adept_pictures *out, const adept_explanation *explanation);
void adept_pictures_free(adept_pictures *pictures);

/** The page with the sentences of the explanation, malloc'ed; NULL when memory is out. Its rows are layers, most time
 * first. */
char *adept_report_html(const adept_explanation *explanation, const adept_pictures *pictures, size_t *size);

#endif

/** @file sweep_chart.h  What the panels of a sweep's picture share. Private to the picture. */
#ifndef ADEPT_SWEEP_CHART_H
#define ADEPT_SWEEP_CHART_H
#include "chart.h"
#include "sweep_picture.h"

#define ADEPT_SWEEP_WIDTH 1000.0
#define ADEPT_SWEEP_ROW 262.0   /* height of a row of curves or maps */
#define ADEPT_SWEEP_FRONT 400.0 /* of the front */
#define ADEPT_SWEEP_TOP 34.0
#define ADEPT_SWEEP_KEY_X 828.0 /* where keys begin */

/** A number of a point: time or energy, of a step or of a sample as the answers compare them. */
typedef struct adept_sweep_quantity {
    bool energy, per_sample, known; /* known: of every point */
    double scale;                   /* to what the axis shows */
    double low, high;               /* of all points, scaled */
    char axis[64];                  /* "Step time (ms)" */
} adept_sweep_quantity;

adept_sweep_quantity adept_sweep_quantity_of(const adept_sweep_picture *p, bool energy);
double adept_sweep_value(const adept_sweep_quantity *q, const adept_sweep_found *found);

/** Range of an axis around values: from 0 if they vary much, in the logarithm if they vary very much. */
void adept_sweep_range(double *low, double *high, bool *is_log);

/** Points worth a mark: the best, and the knee. Those that come first are larger, so that none hides another. */
typedef struct adept_sweep_mark {
    const char *name;
    int point; /* gnuplot's, and its size */
    double size;
    const char *color;
    adept_sweep_found found;
} adept_sweep_mark;
#define ADEPT_SWEEP_MARKS (ADEPT_SWEEP_OBJECTIVES + 1)
size_t adept_sweep_marks(adept_sweep_mark *out, const adept_sweep_answers *answers);

/** "batch=64, gpus=4" of the axes that have several values. */
void adept_sweep_name(char *text, size_t size, const adept_sweep *sweep, uint64_t index);

/** One row for each axis that is drawn: time and energy side by side. How many rows, and the rows. */
size_t adept_sweep_rows_of(const adept_sweep_picture *p);
void adept_sweep_put_rows(FILE *out, const adept_sweep_picture *p, double height);
/** All points, and the front. `top` in pixels. */
void adept_sweep_put_front(FILE *out, const adept_sweep_picture *p, double top, double height);

/** Keys stand right of the panel. */
void adept_sweep_key(FILE *out, const adept_chart *c);
/** End of a panel: labels and lines of it are forgotten. */
void adept_sweep_end_panel(FILE *out);

#endif

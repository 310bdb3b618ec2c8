/** @file groups.h  The rows of a report: operators summed by layer, operator name or kind. Calls: workload, model. */
#ifndef ADEPT_GROUPS_H
#define ADEPT_GROUPS_H
#include "adept_json_writer.h"
#include "adept_model.h"
#include "adept_profile.h"
#include "cli.h"

/* What --by and --depth ask for. */
typedef struct adept_grouping {
    adept_group_by by;
    bool given;
    int64_t depth; /* components of the module path to keep, 0: all */
} adept_grouping;

typedef struct adept_group {
    char *name;                  /* module path, operator or kind; "" is the model itself */
    const char *op;              /* by layer and operator: its name, the profile's; else NULL */
    const char *module_class;    /* "Conv2d"; "" if several or not by layer; borrowed from the profile */
    int64_t calls, params;       /* by layer; see adept_layer */
    int64_t count;               /* operator executions per pass */
    adept_profile_totals totals; /* of one pass on one GPU */
    double saved_bytes;
    double time_s, energy_j; /* see adept_row_times */
    double bound_time_s[ADEPT_BOUND_COMMUNICATION + 1];
    size_t place; /* for adept_groups_sort() */
} adept_group;

/* What the times of the rows are. */
typedef enum adept_row_times {
    ADEPT_ROWS_UNTIMED,
    ADEPT_ROWS_PREDICTED, /* of one step */
    ADEPT_ROWS_ROOFLINE   /* least time of one pass at the sheet's peaks; energy_j is 0 */
} adept_row_times;

typedef struct adept_groups {
    adept_group *rows; /* in order of first appearance */
    size_t n;
} adept_groups;

/**
 * @param predictions  one for each operator of the profile, or NULL
 * @param out          freed with adept_groups_free, also after a failure
 */
adept_status adept_groups_make(adept_cli *cli, adept_groups *out, const adept_profile *profile,
                               const adept_op_prediction *predictions, const adept_grouping *grouping);
void adept_groups_free(adept_groups *groups);

/** One for each operator: the least time at the sheet's peaks and the side of the roofline it lies on. malloc'ed. */
adept_status adept_groups_roofline(adept_cli *cli, adept_op_prediction **out, const adept_profile *profile,
                                   const adept_hwprofile *hw);

/** Most time first; without predictions most FLOPs, then most bytes. Equal rows keep their order. */
void adept_groups_sort(adept_groups *groups);

adept_bound adept_group_bound(const adept_group *group); /* of most of its time */
double adept_pass_flops(const adept_profile_totals *totals, adept_pass pass);
double adept_group_flops(const adept_group *group); /* of one pass on one GPU, forward and backward */
double adept_group_bytes(const adept_group *group);

/** How rows are said. */
typedef struct adept_group_view {
    adept_group_by by;
    adept_row_times times;
    double passes; /* of accumulation that a row stands for; its counts are of one */
    double flops;  /* of all rows, of one pass; of the model's work only */
    double step_s; /* of what is predicted */
} adept_group_view;

/** A table of the first rows. @return ADEPT_E_NOMEM */
adept_status adept_groups_print(adept_cli *cli, FILE *out, const adept_groups *groups, size_t most,
                                const adept_group_view *view);
/** "by" and "groups", into an open object. */
void adept_groups_put_json(adept_json_writer *w, const adept_groups *groups, const adept_group_view *view);

/** --by and --depth, in group 4 of a command's help; the record is an adept_grouping. */
extern const adept_options adept_grouping_options_of;
const char *adept_group_by_name(size_t by); /* "layer"; NULL past the end */

#endif

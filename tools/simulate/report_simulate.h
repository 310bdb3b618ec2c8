/** @file report_simulate.h  Simulated policies for people: tables, and the page. Calls: adept_sim_results, table. */
#ifndef ADEPT_REPORT_SIMULATE_H
#define ADEPT_REPORT_SIMULATE_H
#include "adept_sim_results.h"
#include "columns.h"

typedef enum adept_sim_table {
    ADEPT_SIM_TABLE_JOBS,    /* what became of jobs, and joules */
    ADEPT_SIM_TABLE_CLUSTER, /* how the cluster was used */
    ADEPT_SIM_TABLE_GPUS,    /* the same of each type of GPU */
    ADEPT_SIM_TABLE_PAIRS,   /* differences from the first policy, seed by seed */
    ADEPT_SIM_TABLE_AIMS     /* which policy is recommended for what */
} adept_sim_table;

/** Columns of a row: a policy, and the means of its metrics, of which people see those of ADEPT_SIM_TABLE_JOBS and the
 *  peak power. @param c  whole. @return ADEPT_E_NOMEM */
adept_status adept_sim_put_columns(adept_row_writer *rows, const adept_comparison *c, size_t policy, adept_error *err);
/** Fill it, a row for each policy or aim. @param c  whole. @param out  adept_table_end(), also after an error. @return
 * ADEPT_E_NOMEM */
adept_status adept_sim_table_of(adept_table *out, const adept_comparison *c, adept_sim_table which, adept_error *err);
/** What a table shows, in one line. */
adept_text adept_sim_table_caption(const adept_comparison *c, adept_sim_table which);

/** All tables, warnings, and what is recommended if that is asked for. @param c  whole. @return ADEPT_E_NOMEM */
adept_status adept_report_simulation(adept_cli *cli, FILE *out, const adept_comparison *c, bool recommends);

/** Write the page with tables and pictures of c->drawn.
 *  @param c  whole. @return ADEPT_E_NOMEM, ADEPT_E_IO */
adept_status adept_simulation_write_page(adept_cli *cli, const char *path, const char *title,
                                         const adept_comparison *c);

#endif

/** @file attribute.h  The parts of `adept attribute`, each a command line of its own, and the recordings they read.
 * Calls: cli, adept_attribution. */
#ifndef ADEPT_ATTRIBUTE_H
#define ADEPT_ATTRIBUTE_H
#include "adept_attribution.h"
#include "cli.h"

extern const adept_command adept_attribute_record, adept_attribute_fit, adept_attribute_report, adept_attribute_slurm;

/** A recording without what some processes did. */
typedef struct adept_narrowed_log {
    adept_activity_log log;
    adept_activity_interval *intervals;
    adept_activity *activities;
} adept_narrowed_log;

typedef struct adept_attribution_sources {
    adept_activity_log **logs;
    adept_narrowed_log *narrowed;
    adept_attribution_source *list;
    size_t n;
} adept_attribution_sources;

/**
 * Read them all. adept_attribution_sources_free() in any case.
 * @param only  commands: what others did is left out; none: nothing is
 */
adept_status adept_attribution_sources_read(adept_attribution_sources *sources, adept_cli *cli,
                                            const adept_words *paths, const adept_words *only);
void adept_attribution_sources_free(adept_attribution_sources *sources);

#endif

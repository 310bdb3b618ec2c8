/** @file attribution_sources.h  Recordings of processes that a command line names. Calls: cli, adept_attribution. */
#ifndef ADEPT_ATTRIBUTION_SOURCES_H
#define ADEPT_ATTRIBUTION_SOURCES_H
#include "adept_attribution.h"
#include "cli.h"

typedef struct adept_attribution_sources {
    adept_activity_log **logs;
    adept_attribution_source *list;
    size_t n;
} adept_attribution_sources;

/** Read them all. adept_attribution_sources_free() in any case. */
adept_status adept_attribution_sources_read(adept_attribution_sources *sources, adept_cli *cli, const adept_words *paths);
void adept_attribution_sources_free(adept_attribution_sources *sources);

#endif

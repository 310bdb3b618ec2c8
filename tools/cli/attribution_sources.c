/** @file attribution_sources.c */
#include "attribution_sources.h"
#include <stdlib.h>

adept_status adept_attribution_sources_read(adept_attribution_sources *s, adept_cli *cli, const adept_words *paths)
{
    adept_status status = ADEPT_OK;

    *s = (adept_attribution_sources){.logs = calloc(paths->n, sizeof *s->logs), .list = calloc(paths->n, sizeof *s->list)};
    if (!s->logs || !s->list) return adept_cli_no_memory(cli);
    for (size_t i = 0; i < paths->n && status == ADEPT_OK; i++) {
        status = adept_activity_log_read(&s->logs[i], paths->words[i], &cli->err);
        if (status == ADEPT_OK) s->list[s->n++] = (adept_attribution_source){s->logs[i], paths->words[i]};
    }
    return status;
}

void adept_attribution_sources_free(adept_attribution_sources *s)
{
    for (size_t i = 0; i < s->n; i++)
        adept_activity_log_free(s->logs[i]);
    free(s->logs);
    free(s->list);
    *s = (adept_attribution_sources){.n = 0};
}

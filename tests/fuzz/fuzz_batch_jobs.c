/** @file fuzz_batch_jobs.c  Slurm's texts of jobs. First byte: '#' jobcomp/filetxt, '@' scontrol listpids, '!' an
 * AdminComment, else sacct.
 */
#include "adept_batch_jobs.h"
#include "adept_job_note.h"
#include "fuzz_require.h"
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static void check_jobs(const adept_batch_jobs *jobs)
{
    for (size_t i = 0; i < adept_batch_jobs_count(jobs); i++) {
        const adept_batch_job *j = adept_batch_jobs_at(jobs, i);
        REQUIRE(j->id >= 0 && j->state < ADEPT_BATCH_STATES && j->gpus >= 0 && j->n_nodes >= 0);
        REQUIRE(adept_batch_jobs_find(jobs, j->id) == j);
        REQUIRE(j->name && j->user && j->account && j->partition && j->nodes && j->note && j->comment);
    }
}

static void check_message(adept_status status, const adept_error *err)
{
    REQUIRE(status == ADEPT_OK || (status == ADEPT_E_INVALID && err->message[0]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    adept_batch_jobs *jobs = adept_batch_jobs_new();
    adept_batch_pids pids = {.n = 0};
    adept_job_note note;
    adept_error err = {0};

    if (!text || !jobs) return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    switch (text[0]) {
    case '#':
        check_message(adept_batch_jobs_add_jobcomp(jobs, "jobcomp", text + 1, &err), &err);
        break;
    case '@':
        check_message(adept_batch_pids_add(&pids, "pids", text + 1, &err), &err);
        for (size_t i = 0; i < pids.n; i++)
            REQUIRE(pids.list[i].pid >= 0 && pids.list[i].job >= 0 &&
                    adept_batch_pids_job(&pids, pids.list[i].pid) >= 0);
        break;
    case '!':
        if (adept_job_note_read(&note, text + 1, text + 1))
            REQUIRE(note.profile[0] != '.' && !strchr(note.profile, '/') && !(note.steps <= 0));
        break;
    default:
        check_message(adept_batch_jobs_add_sacct(jobs, "sacct", text, size, &err), &err);
        text = NULL; /* taken */
    }
    check_jobs(jobs);
    adept_batch_pids_free(&pids);
    adept_batch_jobs_free(jobs);
    free(text);
    return 0;
}

/** @file adept_job_note.h  What adept's plugin of Slurm noted of a job: where it was placed, and what it would take
 * (tools/slurm/README.md). Thread-safe, allocates nothing. Calls: nothing. */
#ifndef ADEPT_JOB_NOTE_H
#define ADEPT_JOB_NOTE_H
#include <stdbool.h>

#define ADEPT_JOB_NOTE_TEXT 65 /* a name of at most 64 characters */

/** "" and NAN: not known. */
typedef struct adept_job_note {
    char profile[ADEPT_JOB_NOTE_TEXT], gpu[ADEPT_JOB_NOTE_TEXT];
    double gpus, batch;             /* batch: of each GPU */
    double limit_w;                 /* of each GPU; NAN: none */
    double steps, time_s, energy_j; /* of the whole job; with `steps` not known, of one step */
} adept_job_note;

/**
 * Read an AdminComment "adept: partition=... gpu=... steps=...". Words that are none of its are passed over.
 * @param comment  the user's "adept:PROFILE ...", which names the profile where the note does not; may be ""
 * @return false: it is no such note
 */
bool adept_job_note_read(adept_job_note *out, const char *note, const char *comment);

#endif

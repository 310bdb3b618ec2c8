/** @file job_note.c  A job's AdminComment and comment. Both pass through a database, and users write comments. */
#include "adept_job_note.h"
#include "adept_number.h"
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* As in adept's comments: a name of a file in one folder, never a path. */
static void keep_name(char out[ADEPT_JOB_NOTE_TEXT], const char *text, size_t length)
{
    static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._+-";

    if (length == 0 || length >= ADEPT_JOB_NOTE_TEXT || text[0] == '.' || strspn(text, allowed) < length) return;
    snprintf(out, ADEPT_JOB_NOTE_TEXT, "%.*s", (int)length, text);
}

static void keep_number(double *out, const char *text, size_t length)
{
    char copy[64];
    double value;

    if (length >= sizeof copy) return;
    snprintf(copy, sizeof copy, "%.*s", (int)length, text);
    if (adept_number_parse(&value, copy) && value > 0) *out = value;
}

#define AT(member) offsetof(adept_job_note, member)

static const struct {
    const char *name;
    size_t at;
    bool is_name;
} keys[] = {
    {"profile", AT(profile), true},  {"gpu", AT(gpu), true},
    {"gpus", AT(gpus), false},       {"batch", AT(batch), false},
    {"limit_w", AT(limit_w), false}, {"steps", AT(steps), false},
    {"time_s", AT(time_s), false},   {"energy_j", AT(energy_j), false},
};

bool adept_job_note_read(adept_job_note *out, const char *note, const char *comment)
{
    static const char begin[] = "adept: ", wish[] = "adept:";

    *out = (adept_job_note){.gpus = NAN, .batch = NAN, .limit_w = NAN, .steps = NAN, .time_s = NAN, .energy_j = NAN};
    if (strncmp(note, begin, sizeof begin - 1) != 0) return false;
    for (const char *at = note + sizeof begin - 1; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        size_t name = strcspn(at, "= "), value = name + 1;
        for (size_t k = 0; k < sizeof keys / sizeof *keys && value <= length; k++) {
            if (strlen(keys[k].name) != name || strncmp(keys[k].name, at, name) != 0) continue;
            if (keys[k].is_name)
                keep_name((char *)out + keys[k].at, at + value, length - value);
            else
                keep_number((double *)(void *)((char *)out + keys[k].at), at + value, length - value);
        }
        at += length;
    }
    if (!*out->profile && strncmp(comment, wish, sizeof wish - 1) == 0)
        keep_name(out->profile, comment + sizeof wish - 1, strcspn(comment + sizeof wish - 1, " "));
    return true;
}

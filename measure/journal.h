/** @file journal.h  A recording as lines of JSON, each written as it happens: what a killed run leaves. Private to
 *  measure/; the form is that of docs/MEASURE.md. The caller holds the recording's lock. Calls: recording. */
#ifndef ADEPT_JOURNAL_H
#define ADEPT_JOURNAL_H
#include "recorded.h"

/** Sensors and notes. */
void adept_journal_begin(const adept_recording *recording);
void adept_journal_sample(FILE *journal, size_t sensor, const adept_sample *sample);
void adept_journal_lost(FILE *journal, size_t sensor, const char *why);
void adept_journal_region(FILE *journal, const adept_region *region);
void adept_journal_end(const adept_recording *recording);

#endif

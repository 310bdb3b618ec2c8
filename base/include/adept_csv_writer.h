/** @file adept_csv_writer.h  Fields of CSV, RFC 4180, put into a text. Thread-safe on different texts. Calls:
 * adept_grow, adept_number. */
#ifndef ADEPT_CSV_WRITER_H
#define ADEPT_CSV_WRITER_H
#include "adept_error.h"
#include "adept_grow.h"

/** Quoted where it has to be; harmless, whoever wrote it: what adept_utf8_shown() does not show becomes '?', and a text
 * that a spreadsheet would run (it begins with = + - or @ and is no number) gets ' in front. */
void adept_csv_put_text(adept_buffer *row, const char *text);
/** With the fewest digits that read back as the same double; nothing where it is not finite. */
void adept_csv_put_number(adept_buffer *row, double value);

/**
 * Append whole rows to a file, or none of them, also of many processes at once.
 * @param path   made with the title line if it is new
 * @param title  with its newline; it and `rows` are emptied
 * @return ADEPT_E_INVALID: the file has other columns; ADEPT_E_IO; ADEPT_E_NOMEM
 */
adept_status adept_csv_append(const char *path, adept_buffer *title, adept_buffer *rows, adept_error *err);

#endif

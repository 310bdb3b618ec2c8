/** @file csv_write.c  Fields of CSV. */
#include "adept_csv_writer.h"
#include "adept_number.h"
#include "adept_utf8.h"
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Spreadsheets run what begins so, quoted or not. A number is none of that. */
static bool is_formula(const char *text)
{
    char *end;
    if (!*text || !strchr("=+-@", *text) || !text[1]) return false;
    (void)strtod(text, &end);
    return *end != '\0';
}

void adept_csv_put_text(adept_buffer *row, const char *text)
{
    const char *end = text + strlen(text);
    bool is_quoted = text[strcspn(text, ",\"")] != '\0';
    if (is_quoted) adept_buffer_text(row, "\"");
    if (is_formula(text)) adept_buffer_text(row, "'");
    for (size_t hidden = 0; text < end; text += hidden) {
        size_t n = adept_utf8_shown(&hidden, text, end);
        if (*text == '"') adept_buffer_text(row, "\"");
        adept_buffer_add(row, n > 0 ? text : "?", n > 0 ? n : 1);
    }
    if (is_quoted) adept_buffer_text(row, "\"");
}

void adept_csv_put_number(adept_buffer *row, double value)
{
    char *room = adept_buffer_room(row, ADEPT_NUMBER_SIZE);
    if (room) row->size += adept_number_print(room, value);
}

/** @file csv_write.c  Fields of CSV. */
#include "adept_csv_writer.h"
#include "adept_number.h"

void adept_csv_put_text(adept_buffer *row, const char *text)
{
    if (!text[strcspn(text, ",\"\r\n")]) {
        adept_buffer_text(row, text);
        return;
    }
    adept_buffer_text(row, "\"");
    for (; *text; text++) {
        if (*text == '"') adept_buffer_text(row, "\"");
        adept_buffer_add(row, text, 1);
    }
    adept_buffer_text(row, "\"");
}

void adept_csv_put_number(adept_buffer *row, double value)
{
    char *room = adept_buffer_room(row, ADEPT_NUMBER_SIZE);
    if (room) row->size += adept_number_print(room, value);
}

/** @file kernel_tile.c  Tiles as texts. */
#include "adept_kernel_law.h"
#include <stdio.h>
#include <string.h>

static const struct {
    const char *prefix;
    int winograd;
} algorithms[] = {{"winograd2:", 2}, {"winograd4:", 4}, {"", 0}};

static bool parse_sides(adept_tile *out, const char *text)
{
    char rebuilt[32];
    for (int m = 8; m <= 512; m *= 2) {
        for (int n = 8; n <= 512; n *= 2) {
            snprintf(rebuilt, sizeof rebuilt, "%dx%d", m, n);
            if (strcmp(text, rebuilt) != 0) continue;
            out->m = m;
            out->n = n;
            return true;
        }
    }
    return false;
}

bool adept_tile_parse(adept_tile *out, const char *text)
{
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        size_t length = strlen(algorithms[i].prefix);
        if (strncmp(text, algorithms[i].prefix, length) != 0) continue;
        out->winograd = algorithms[i].winograd;
        return parse_sides(out, text + length);
    }
    return false;
}

void adept_tile_print(char *text, size_t size, const adept_tile *tile)
{
    const char *prefix = "";
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++)
        if (algorithms[i].winograd == tile->winograd) prefix = algorithms[i].prefix;
    snprintf(text, size, "%s%.0fx%.0f", prefix, tile->m, tile->n);
}

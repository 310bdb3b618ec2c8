/** @file option_value.c  Values of options, with messages. */
#include "cli.h"
#include "adept_grow.h"
#include "adept_number.h"
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const adept_suffix adept_suffix_sizes[] = {{"B", 1},      {"kB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
                                           {"KiB", 1024}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {NULL, 0}};

adept_status adept_cli_usage(adept_cli *cli, const char *format, ...)
{
    char text[sizeof cli->err.message];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return adept_error_set(&cli->err, ADEPT_E_USAGE, "%s", text);
}

adept_status adept_cli_no_memory(adept_cli *cli)
{
    return adept_error_set(&cli->err, ADEPT_E_NOMEM, "out of memory");
}

/* ---------------------------------------------------------------- numbers ---------------------------------------- */

static bool is_whole(const char *text)
{
    text += *text == '+' || *text == '-';
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

/* 1.28e6: exact where the product is whole and below 2^53. */
static bool whole_with_exponent(const char *text, double *out)
{
    return strpbrk(text, "eE") && adept_number_parse(out, text) && fabs(*out) <= 9007199254740992.0 &&
           *out == floor(*out);
}

static adept_status take_whole(adept_cli *cli, const char *option, const char *text, const adept_option_row *o,
                               int64_t *out)
{
    double whole;
    bool exponent = whole_with_exponent(text, &whole);

    if (!exponent && !is_whole(text)) return adept_cli_usage(cli, "%s: '%s' is not a whole number", option, text);
    errno = 0;
    long long value = exponent ? (long long)whole : strtoll(text, NULL, 10);
    if (errno == ERANGE) return adept_cli_usage(cli, "%s: '%s' is out of range", option, text);
    if (value < (int64_t)o->low)
        return adept_cli_usage(cli, "%s: '%s' is too small, at least %.0f is needed", option, text, o->low);
    if (o->high > 0 && value > (int64_t)o->high)
        return adept_cli_usage(cli, "%s: '%s' is more than %.0f", option, text, o->high);
    *out = value;
    return ADEPT_OK;
}

static adept_status take_int(adept_cli *cli, const char *option, const char *text, const adept_option_row *o, int *out)
{
    int64_t value = 0;
    adept_status status = take_whole(cli, option, text, o, &value);

    if (status == ADEPT_OK) *out = (int)value;
    return status;
}

adept_status adept_option_number(adept_cli *cli, const char *option, const char *text, double low, double *out)
{
    size_t length = adept_number_length(text);
    double value;

    if (length == 0 || text[length]) return adept_cli_usage(cli, "%s: '%s' is not a number", option, text);
    if (!adept_number_parse(&value, text)) return adept_cli_usage(cli, "%s: '%s' is out of range", option, text);
    if (value < low) return adept_cli_usage(cli, "%s: '%s' is too small, at least %g is needed", option, text, low);
    *out = value;
    return ADEPT_OK;
}

static adept_status take_above_0(adept_cli *cli, const char *option, const char *text, double *out)
{
    adept_status status = adept_option_number(cli, option, text, 0, out);

    return status != ADEPT_OK || *out > 0 ? status : adept_cli_usage(cli, "%s: '%s' is not above 0", option, text);
}

static const adept_suffix *unit_of(const char *name, const adept_suffix *units)
{
    if (*name == '\0') return units;
    for (; units->name; units++)
        if (strcmp(units->name, name) == 0) return units;
    return NULL;
}

static adept_status take_amount(adept_cli *cli, const char *option, const char *text, const adept_suffix *units,
                                double *out)
{
    char number[64];
    size_t digits = adept_number_length(text);
    double value;

    const adept_suffix *unit = unit_of(text + digits, units);
    if (!unit || digits == 0 || digits >= sizeof number)
        return adept_cli_usage(cli, "%s: '%s' is not a number with a unit such as %s", option, text, units->name);
    snprintf(number, sizeof number, "%.*s", (int)digits, text);
    adept_status status = adept_option_number(cli, option, number, 0, &value);
    if (status != ADEPT_OK) return status;
    *out = value * unit->scale;
    if (!(*out > 0) || !isfinite(*out)) return adept_cli_usage(cli, "%s: '%s' is out of range", option, text);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- words ------------------------------------------ */

bool adept_words_append(adept_words *words, const char *word)
{
    const char **grown = adept_grow(words->words, &words->capacity, words->n + 1, sizeof *grown);

    if (!grown) return false;
    words->words = grown;
    words->words[words->n++] = word;
    return true;
}

static adept_status take_list(adept_cli *cli, const char *option, char *text, adept_words *words)
{
    size_t length = strlen(text);

    if (length == 0 || *text == ',' || text[length - 1] == ',' || strstr(text, ",,"))
        return adept_cli_usage(cli, "%s: '%s' holds an empty word", option, text);
    for (char *word; (word = strsep(&text, ","));)
        if (!adept_words_append(words, word)) return adept_cli_no_memory(cli);
    return ADEPT_OK;
}

adept_status adept_option_unknown(adept_cli *cli, const char *option, const char *word, adept_name_at names)
{
    char list[512];

    return adept_cli_usage(cli, "%s: '%s' is not one of %s", option, word, adept_names_list(list, sizeof list, names));
}

static adept_status take_choice(adept_cli *cli, const char *option, const char *text, adept_name_at names, int *out)
{
    for (size_t i = 0; names(i); i++) {
        if (strcmp(text, names(i)) != 0) continue;
        *out = (int)i;
        return ADEPT_OK;
    }
    return adept_option_unknown(cli, option, text, names);
}

/* ---------------------------------------------------------------- all of them ------------------------------------ */

static adept_status take_text(adept_cli *cli, const char *option, char *text, const adept_option_row *o, void *field)
{
    int index = 0;
    adept_status status;

    switch (o->kind) {
    case ADEPT_OPT_WORD:
        if (*text == '\0') break;
        return adept_words_append(field, text) ? ADEPT_OK : adept_cli_no_memory(cli);
    case ADEPT_OPT_LIST:
        return take_list(cli, option, text, field);
    case ADEPT_OPT_CHOICE:
        status = take_choice(cli, option, text, o->names, &index);
        *(int *)field = (int)o->low + index;
        return status;
    case ADEPT_OPT_NAME:
        *(const char **)field = text;
        return take_choice(cli, option, text, o->names, &index);
    default:
        *(const char **)field = text;
        if (*text == '\0' && o->kind == ADEPT_OPT_FILE) break;
        return ADEPT_OK;
    }
    return adept_cli_usage(cli, "%s: the file name is empty", option);
}

adept_status adept_option_take(adept_cli *cli, const adept_option_row *o, void *record, char *text)
{
    char option[64];
    void *field = (char *)record + o->at;

    snprintf(option, sizeof option, "--%s", o->name);
    if (o->given > 0) *((bool *)record + o->given) = true;
    switch (o->kind) {
    case ADEPT_OPT_FLAG:
        *(bool *)field = true;
        return ADEPT_OK;
    case ADEPT_OPT_COUNT:
        return take_whole(cli, option, text, o, field);
    case ADEPT_OPT_INT:
        return take_int(cli, option, text, o, field);
    case ADEPT_OPT_NUMBER:
        return adept_option_number(cli, option, text, o->low, field);
    case ADEPT_OPT_ABOVE_0:
        return take_above_0(cli, option, text, field);
    case ADEPT_OPT_AMOUNT:
        return take_amount(cli, option, text, o->units, field);
    case ADEPT_OPT_PARSED:
        return o->parse(cli, option, text, field);
    default:
        return take_text(cli, option, text, o, field);
    }
}

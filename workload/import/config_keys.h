/** @file config_keys.h  Keys of a config.json, and words of adept:FAMILY?key=value that go before them. Private. Calls:
 * adept_json.
 *
 *  A key has the names that families give it, the plain word of adept last: "num_hidden_layers n_layer n_layers
 * layers". The first failure stays. Whatever was asked for is known; what nobody asked for and what is not harmless,
 * the graph warns of.
 */
#ifndef ADEPT_CONFIG_KEYS_H
#define ADEPT_CONFIG_KEYS_H
#include "adept_append.h"
#include "adept_json.h"

#define ADEPT_KEYS_ASKED 128

typedef struct adept_keys {
    adept_json_reader json;
    const cJSON *file;
    const cJSON *words; /* NULL: none */
    bool usual;         /* the file is a family's usual model, which nobody gave */
    const char *asked[ADEPT_KEYS_ASKED];
    size_t n_asked;
} adept_keys;

#define ADEPT_KEY_REQUIRED INT64_MIN /* in a file, where a default would be a guess */

/** A whole number. `fallback` is taken where the key is missing or null; ADEPT_KEY_REQUIRED fails then. */
int64_t adept_keys_count(adept_keys *k, const char *names, int64_t low, int64_t high, int64_t fallback);
double adept_keys_number(adept_keys *k, const char *names, double low, double high, double fallback);
bool adept_keys_flag(adept_keys *k, const char *names, bool fallback);
const char *adept_keys_text(adept_keys *k, const char *names, const char *fallback);
/** What stands there, of any kind; NULL: nothing, or null. */
const cJSON *adept_keys_any(adept_keys *k, const char *names);
/** Is it among the words? And what the file has, whatever the words say; 0: nothing. */
bool adept_keys_in_words(adept_keys *k, const char *names);
double adept_keys_in_file(adept_keys *k, const char *names);
void adept_keys_fail(adept_keys *k, const char *format, ...) ADEPT_PRINTF(2, 3);

/** Refuse words that nobody asked for. */
void adept_keys_check_words(adept_keys *k);
/** Keys of the file that nobody asked for and that may change the computation: `"a", "b"`; "" if there is none. */
void adept_keys_unknown(const adept_keys *k, char *text, size_t size);

/** "layers=80&hidden=8192" as an object; the caller frees it, whatever the result. @return ADEPT_E_USAGE */
adept_status adept_keys_parse_words(cJSON **out, const char *spec, const char *words, adept_error *err);
#endif

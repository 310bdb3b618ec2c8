/* JSON: values are dropped, doubled, moved and retyped, keys renamed, numbers and texts changed. */
#include "mutate.h"
#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES 4096

typedef struct place {
    cJSON *item, *parent; /* parent NULL: the root */
} place;

static place places[PLACES];
static size_t n_places;
static char words[256][48]; /* keys and texts of inputs that came before */

double fuzz_number(fuzz_random *r, double value)
{
    static const double known[] = {0,          1,          2,          3,      4,      7,      8,      16,   63,
                                   64,         65,         127,        255,    256,    1000,   65536,  1e6,  1e9,
                                   2147483647, 2147483648, 4294967295, 0x1p53, 0x1p62, 0x1p63, 0x1p64, 1e30, 1e308,
                                   0.5,        1e-9,       5e-324,     0.999,  1e18,   1e15,   20,     100};
    switch (fuzz_pick(r, 6)) {
    case 0:
        return value + 1;
    case 1:
        return value - 1;
    case 2:
        return value * 2;
    case 3:
        return -value;
    case 4:
        return value / 2;
    default:
        return (fuzz_pick(r, 4) ? 1 : -1) * known[fuzz_pick(r, sizeof known / sizeof known[0])];
    }
}

static void collect(cJSON *item, cJSON *parent)
{
    if (n_places == PLACES) return;
    places[n_places++] = (place){item, parent};
    for (cJSON *child = item->child; child; child = child->next)
        collect(child, item);
}

static const char *word(fuzz_random *r, const char *seen)
{
    size_t at = fuzz_pick(r, sizeof words / sizeof words[0]);
    if (seen && fuzz_pick(r, 4) == 0) snprintf(words[at], sizeof words[at], "%s", seen);
    return words[at];
}

static cJSON *fresh(fuzz_random *r)
{
    switch (fuzz_pick(r, 8)) {
    case 0:
        return cJSON_CreateNull();
    case 1:
        return cJSON_CreateTrue();
    case 2:
        return cJSON_CreateFalse();
    case 3:
        return cJSON_CreateArray();
    case 4:
        return cJSON_CreateObject();
    case 5:
        return cJSON_CreateString(word(r, NULL));
    default:
        return cJSON_CreateNumber(fuzz_number(r, 0));
    }
}

/* Takes `item`. */
static void replace(const place *p, cJSON *item)
{
    free(item->string);
    item->string = p->item->string ? strdup(p->item->string) : NULL;
    if (!cJSON_ReplaceItemViaPointer(p->parent, p->item, item)) cJSON_Delete(item);
}

/* Takes `item`. */
static void put_beside(const place *p, cJSON *item, fuzz_random *r)
{
    size_t at = fuzz_pick(r, (size_t)cJSON_GetArraySize(p->parent) + 1);
    const char *key = fuzz_pick(r, 8) ? word(r, p->item->string) : p->item->string;
    bool taken = cJSON_IsArray(p->parent) ? cJSON_InsertItemInArray(p->parent, (int)at, item)
                                          : cJSON_AddItemToObject(p->parent, key, item);
    if (!taken) cJSON_Delete(item);
}

static void change_text(cJSON *item, fuzz_random *r)
{
    char text[256];
    size_t n = strlen(item->valuestring);
    const char *other = word(r, item->valuestring);
    if (fuzz_pick(r, 3) == 0 && n < sizeof text - 1) {
        memcpy(text, item->valuestring, n);
        text[LLVMFuzzerMutate((uint8_t *)text, n, sizeof text - 1)] = '\0';
        other = text;
    }
    free(item->valuestring);
    item->valuestring = strdup(other);
}

static void rename_key(cJSON *item, fuzz_random *r)
{
    const char *other = fuzz_pick(r, 2) ? places[fuzz_pick(r, n_places)].item->string : word(r, item->string);
    char *name = strdup(other ? other : "");
    free(item->string);
    item->string = name;
}

static void change_value(cJSON *item, fuzz_random *r)
{
    if (cJSON_IsNumber(item))
        cJSON_SetNumberHelper(item, fuzz_number(r, item->valuedouble));
    else if (cJSON_IsString(item))
        change_text(item, r);
    else if (cJSON_IsBool(item))
        item->type ^= cJSON_True | cJSON_False;
}

static void change_tree(cJSON *root, fuzz_random *r)
{
    n_places = 0;
    collect(root, NULL);
    if (n_places < 2) return;
    const place *p = &places[1 + fuzz_pick(r, n_places - 1)];
    cJSON *copy = cJSON_Duplicate(places[1 + fuzz_pick(r, n_places - 1)].item, true), *wrap;
    switch (fuzz_pick(r, 10)) {
    case 0:
        cJSON_Delete(cJSON_DetachItemViaPointer(p->parent, p->item));
        break;
    case 1:
        put_beside(p, cJSON_Duplicate(p->item, true), r);
        break;
    case 2:
        put_beside(p, cJSON_Duplicate(copy, true), r);
        break;
    case 3:
        replace(p, cJSON_Duplicate(copy, true));
        break;
    case 4:
        replace(p, fresh(r));
        break;
    case 5:
        wrap = cJSON_CreateArray();
        cJSON_AddItemToArray(wrap, cJSON_Duplicate(p->item, true));
        replace(p, wrap);
        break;
    case 6:
        if (p->item->string) rename_key(p->item, r);
        break;
    default:
        for (size_t at = (size_t)(p - places), i = 0; i < n_places && p->item->child; i++)
            p = &places[(at + i) % n_places];
        change_value(p->item, r);
    }
    cJSON_Delete(copy);
}

/* Takes `root`; the text without `skip` of its first bytes. */
static size_t write_tree(uint8_t *out, size_t max_size, cJSON *root, size_t skip, fuzz_random *r)
{
    for (size_t left = 1 + fuzz_pick(r, 4); left > 0; left--)
        change_tree(root, r);
    char *text = cJSON_PrintUnformatted(root);
    size_t n = text ? strlen(text) : 0;
    n = n > skip && n - skip <= max_size ? n - skip : 0;
    if (n > 0) memcpy(out, text + skip, n);
    free(text);
    cJSON_Delete(root);
    return n;
}

size_t fuzz_mutate_json(uint8_t *data, size_t size, size_t max_size, fuzz_random *r)
{
    size_t begin = 0;
    cJSON *root = NULL;
    for (int i = 0; i < 2 && begin < size; i++) { /* all of it, or what follows a line or a letter */
        const uint8_t *brace = memchr(data, '{', size);
        const uint8_t *line = memchr(data, '\n', size);
        if (i == 1) begin = line && brace > line ? (size_t)(line - data) + 1 : 1;
        if (begin < size && (root = cJSON_ParseWithLength((char *)data + begin, size - begin)) != NULL) {
            size_t n = write_tree(data + begin, max_size - begin, root, 0, r);
            return n ? n + begin : 0;
        }
    }
    char *text = malloc(size + 1); /* what follows a checkpoint's digest */
    if (!text) return 0;
    text[0] = '{';
    memcpy(text + 1, data, size);
    root = cJSON_ParseWithLength(text, size + 1);
    free(text);
    return root ? write_tree(data, max_size, root, 1, r) : 0;
}

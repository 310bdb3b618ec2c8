/** @file pointer.c  Following a JSON pointer. */
#include "pointer.h"
#include "adept_append.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Is the token, in which "~1" stands for '/' and "~0" for '~', this name? */
static bool is_name(const char *token, size_t length, const char *name)
{
    for (size_t i = 0; i < length; i++, name++) {
        char c = token[i];
        if (c == '~' && i + 1 < length) c = token[++i] == '1' ? '/' : '~';
        if (*name != c) return false;
    }
    return *name == '\0';
}

/* Digits only, and no zero in front of others. */
static bool is_index(const char *token, size_t length)
{
    return length > 0 && length < 10 && strspn(token, "0123456789") >= length && (token[0] != '0' || length == 1);
}

static const cJSON *child_called(const cJSON *parent, const char *token, size_t length)
{
    const cJSON *child = NULL;

    if (cJSON_IsArray(parent) && is_index(token, length)) {
        child = parent->child;
        for (long i = strtol(token, NULL, 10); child && i > 0; i--)
            child = child->next;
    } else if (cJSON_IsObject(parent)) {
        child = parent->child;
        while (child && !is_name(token, length, child->string))
            child = child->next;
    }
    return child;
}

static void add(char *text, size_t size, const char *more, const char *blank)
{
    adept_append(text, size, "%s%s", blank, more);
}

const cJSON *adept_pointer_find(const cJSON *document, const char *pointer, char *why, size_t size)
{
    const cJSON *place = document;

    for (const char *at = pointer; *at;) {
        size_t length = strcspn(at + 1, "/");
        const cJSON *next = *at == '/' ? child_called(place, at + 1, length) : NULL;
        if (!next) {
            int depth = (int)(at - pointer);
            snprintf(why, size, "'%.*s' is not in the reply: ", depth + 1 + (int)length, pointer);
            add(why, size, depth ? "" : "it", "");
            snprintf(why + strlen(why), size - strlen(why), "%.*s", depth, pointer);
            char count[32];
            if (cJSON_IsObject(place)) {
                add(why, size, place->child ? " has " : " is empty", "");
                for (const cJSON *child = place->child; child; child = child->next)
                    add(why, size, child->string, child == place->child ? "" : ", ");
            } else if (cJSON_IsArray(place)) {
                snprintf(count, sizeof count, " has elements 0 to %zu", adept_json_size(place) - 1);
                add(why, size, place->child ? count : " is empty", "");
            } else {
                add(why, size, " has nothing below it", "");
            }
            if (strlen(why) + 1 == size) memcpy(why + size - 4, "...", 4); /* it was cut */
            return NULL;
        }
        place = next;
        at += 1 + length;
    }
    return place;
}

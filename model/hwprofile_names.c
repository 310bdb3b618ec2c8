/** @file hwprofile_names.c  GPUs by name: the built-in profiles, their aliases, and what a mistyped name may mean.
 *  Calls: adept_file. */
#include "adept_hwprofile.h"
#include "adept_file.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include "hwprofile_read.h"
#include "nearest.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_SIZE 64 /* of the longest name or alias, zero included (hwprofile.c allows 63) */
#define MAX_FILE_BYTES ((size_t)1 << 20)
#define MAX_FLEET_BYTES ((size_t)64 << 20)
#define MAX_NEAREST 5

/* ---- built-in files ---- */

static const adept_embedded *builtin(size_t index)
{
    for (size_t i = 0; adept_embedded_hwprofiles[i].name; i++)
        if (i == index) return &adept_embedded_hwprofiles[i];
    return NULL;
}

const char *adept_hwprofile_builtin_name(size_t index)
{
    const adept_embedded *file = builtin(index);
    return file ? file->name : NULL;
}

const char *adept_hwprofile_builtin_json(size_t index, size_t *size)
{
    const adept_embedded *file = builtin(index);
    if (size) *size = file ? file->size : 0;
    return file ? file->text : NULL;
}

static adept_status open_builtin(adept_hwprofile **out, const adept_embedded *file, adept_error *err)
{
    adept_status status = adept_hwprofile_from_json(out, file->name, file->text, file->size, err);
    if (status == ADEPT_OK) (*out)->path = "built in";
    return status;
}

/* Without a fit of its own, a GPU has the parameters fitted to others. */
static adept_status transfer(adept_hwprofile *hw, adept_error *err)
{
    size_t size;
    const char *text = adept_hwprofile_shared_json(&size);
    if (hw->calibrated || hw->transferred || !text) return ADEPT_OK;
    return adept_hwprofile_transfer(hw, "the built-in shared parameters", text, size, err);
}

/* ---- looking a name up ---- */

/* Words that say whose the board is, or what kind of thing, but not which. */
static const char *const silent_words[] = {"nvidia", "corporation", "tesla", "geforce", "generation",
                                           "amd",    "instinct",    "oam",   "mcm",     "ac",
                                           "mba",    "intel",       "data",  "center",  "gpu",
                                           "tensor", "core"};

static bool is_silent(const char *word, size_t n)
{
    for (size_t i = 0; i < sizeof silent_words / sizeof silent_words[0]; i++)
        if (strlen(silent_words[i]) == n && memcmp(silent_words[i], word, n) == 0) return true;
    return false;
}

static bool is_between(char c)
{
    return c != '\0' && strchr(" -_(),./[", c);
}

/* GeForce boards of the tens to fifties have a number of their own among all boards: "4090", "3060-12gb", "4070-ti".
 * Others of NVIDIA share theirs (4000, 6000). */
static bool is_geforce(const char *name)
{
    return strchr("2345", name[0]) && name[0] && name[1] == '0' && name[2] >= '5' && name[2] <= '9' && name[3] == '0' &&
           !(name[4] >= '0' && name[4] <= '9');
}

/* A name as software prints it, its words in lower case with a '-' between: "rtx-3090-ti" of nvidia-smi's "NVIDIA
 * GeForce RTX 3090 Ti" and of lspci's "NVIDIA Corporation GA102 [GeForce RTX 3090 Ti] (rev a1)". @return false: longer
 * than any */
static bool normalise(char out[NAME_SIZE], const char *text)
{
    const char *bracket = strrchr(text, '['), *end = bracket ? strchr(bracket, ']') : NULL;
    if (!end) end = text + strlen(text);
    size_t n = 0;
    for (const char *at = bracket ? bracket : text; at < end;) {
        char word[NAME_SIZE];
        size_t length = 0;
        for (; at < end && !is_between(*at); at++)
            if (length < NAME_SIZE) word[length++] = adept_lower(*at);
        if (length > 0 && !is_silent(word, length)) {
            if (n + length + 1 >= NAME_SIZE) return false;
            if (n > 0) out[n++] = '-';
            memcpy(out + n, word, length);
            n += length;
        }
        while (at < end && is_between(*at))
            at++;
    }
    out[n] = '\0';
    if (!is_geforce(out)) return true;
    if (n + 4 >= NAME_SIZE) return false;
    memmove(out + 4, out, n + 1);
    memcpy(out, "rtx-", 4);
    return true;
}

/* "rtx-3090-ti" and "rtx3090ti". */
static bool same_letters(const char *a, const char *b)
{
    for (;; a++, b++) {
        a += *a == '-';
        b += *b == '-';
        if (*a != *b) return false;
        if (*a == '\0') return true;
    }
}

bool adept_hwprofile_same_name(const char *a, const char *b)
{
    char x[NAME_SIZE], y[NAME_SIZE];
    return normalise(x, a) && normalise(y, b) && *x != '\0' && same_letters(x, y);
}

/* ---- nearest names ---- */

static bool has_word(const char *name, const char *word, size_t n)
{
    for (const char *at = name; *at; at += *at == '-') {
        size_t length = strcspn(at, "-");
        if (length == n && memcmp(at, word, n) == 0) return true;
        at += length;
    }
    return false;
}

/* "a100-80gb" names a100-pcie-80gb and a100-sxm-80gb: all its words are there. */
static bool has_all_words(const char *name, const char *typed)
{
    bool any = false;
    for (const char *at = typed; *at; at += *at == '-') {
        size_t n = strcspn(at, "-");
        if (n > 0 && !has_word(name, at, n)) return false;
        any = any || n > 0;
        at += n;
    }
    return any;
}

#define NOT_NEAR 10000

/* Larger is further. Near is: the beginning of a name, one typing error in three letters, all the words of a name in
 * any order, and one name inside the other. */
static int score(const char *name, const char *typed)
{
    int n = (int)strlen(name), m = (int)strlen(typed);
    int most = m < 3 ? 1 : m / 3; /* the lengths alone may differ by more: most names do */
    int edits = abs(n - m) <= most ? (int)adept_edit_distance(name, typed) : NOT_NEAR;
    int by_errors = edits <= most ? 32 * edits : NOT_NEAR;
    int by_parts = NOT_NEAR;
    if (m >= 2 && strncmp(name, typed, (size_t)m) == 0)
        by_parts = 24 + (n - m);
    else if (has_all_words(name, typed))
        by_parts = 40;
    else if (m >= 2 && strstr(name, typed))
        by_parts = 48 + (n - m);
    else if (n >= 3 && strstr(typed, name))
        by_parts = 48 + 2 * (m - n);
    return by_errors < by_parts ? by_errors : by_parts;
}

typedef struct near_name {
    int score;
    const char *name;      /* of the profile */
    char alias[NAME_SIZE]; /* "" if the name itself is the nearer */
} near_name;

/* How near a built-in GPU is. @param found  becomes its file if `typed` is one of its aliases */
static near_name near_of(const adept_embedded **found, const adept_embedded *file, const char *typed)
{
    near_name near = {.score = score(file->name, typed), .name = file->name};
    for (const char *item = file->aliases; *item; item += strlen(item) + 1) {
        char alias[NAME_SIZE];
        if (!normalise(alias, item)) continue;
        if (same_letters(alias, typed)) *found = file;
        int s = score(alias, typed);
        if (s >= near.score) continue;
        near.score = s;
        memcpy(near.alias, alias, sizeof alias);
    }
    return near;
}

static adept_status unknown_gpu(const char *name, const near_name *list, size_t n, adept_error *err)
{
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < n; i++) {
        const char *alias = list[i].alias;
        int length = snprintf(text + used, sizeof text - used, "%s %s%s%s%s", i == 0 ? "; nearest:" : ",", list[i].name,
                              *alias ? " (" : "", alias, *alias ? ")" : "");
        if (length < 0 || (size_t)length >= sizeof text - used) {
            text[used] = '\0';
            break;
        }
        used += (size_t)length;
    }
    return adept_error_set(
        err, ADEPT_E_UNKNOWN_GPU,
        "unknown GPU '%.80s'%s; `adept gpus` lists all; for another, edit what `adept gpus NAME --json` prints and "
        "pass --gpu FILE.json",
        name, text);
}

/* ---- names that leave something out ---- */

/* What the words of a normalised name say: "a100-sxm4-80gb" is an a100 of form sxm4 with 80 GiB. */
typedef struct said_board {
    char board[NAME_SIZE];
    char form[8]; /* "" : none */
    double gib;   /* 0: none */
    bool stacks;  /* its kind of memory, hbm3 */
    bool twice;   /* two forms or two sizes: a part of a board, or nonsense */
} said_board;

/* A DGX or HGX has its maker's modules. */
static const char *form_of(const char *word, size_t n)
{
    static const char *const forms[] = {"sxm", "sxm2", "sxm3", "sxm4", "sxm5", "sxm6", "pcie", "nvl"};

    if (n == 3 && (memcmp(word, "dgx", n) == 0 || memcmp(word, "hgx", n) == 0)) return forms[0];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (strlen(forms[i]) == n && memcmp(word, forms[i], n) == 0) return forms[i];
    return NULL;
}

/* Is the word a size of memory: 80gb, 80g, 80gib, or 80 before the word gb? @param used  how much of the text it is */
static bool is_size(double *gib, size_t *used, const char *word)
{
    char *end;

    if (!strchr("123456789", *word)) return false;
    *gib = (double)strtol(word, &end, 10);
    const char *unit = *end == '-' ? end + 1 : end;
    const size_t n = strcspn(unit, "-");
    *used = (size_t)(unit - word) + n;
    return (n == 2 && memcmp(unit, "gb", n) == 0) || (n == 3 && memcmp(unit, "gib", n) == 0) ||
           (n == 1 && *unit == 'g' && unit == end);
}

static said_board read_board(const char *name)
{
    said_board said = {.gib = 0};
    size_t length = 0, n;

    for (const char *at = name; *at; at += n, at += *at == '-') {
        n = strcspn(at, "-");
        double gib;
        size_t used;
        const char *form = form_of(at, n);
        if (is_size(&gib, &used, at)) {
            said.twice = said.twice || said.gib > 0;
            said.gib = gib;
            n = used;
        } else if (form) {
            said.twice = said.twice || (*said.form && strcmp(said.form, form) != 0 && strcmp(form, "sxm") != 0);
            if (strlen(form) > strlen(said.form)) memcpy(said.form, form, strlen(form) + 1);
        } else if (n >= 4 && n <= 5 && memcmp(at, "hbm", 3) == 0) {
            said.stacks = true;
        } else { /* the whole fits, and so do its words */
            memcpy(said.board + length, at, n);
            length += n;
        }
    }
    said.board[length] = '\0';
    return said;
}

/* "sxm" is any of its kind; "sxm4" no board that is said to be another. */
static bool same_form(const char *said, const char *of)
{
    if (strncmp(said, "sxm", 3) != 0 || strncmp(of, "sxm", 3) != 0) return strcmp(said, of) == 0;
    return said[3] == '\0' || of[3] == '\0' || said[3] == of[3];
}

/* May it be this board, by what its names say? @param form  the longest that its names say */
static bool may_be(const adept_embedded *file, const said_board *typed, char form[8])
{
    said_board own = read_board(file->name);
    bool board = strcmp(own.board, typed->board) == 0;

    memcpy(form, own.form, sizeof own.form);
    for (const char *item = file->aliases; *item; item += strlen(item) + 1) {
        char alias[NAME_SIZE];
        if (!normalise(alias, item)) continue;
        own = read_board(alias);
        board = board || strcmp(own.board, typed->board) == 0;
        if (strlen(own.form) > strlen(form)) memcpy(form, own.form, sizeof own.form);
    }
    return board && (!*typed->form || same_form(typed->form, form));
}

/* The board that a name means which says its memory or its form, but not each: the only one of those, or of several
 * the module that servers have. Boards of other memory are never taken for each other.
 * @param others  how many more there are */
static adept_status find_meant(const adept_embedded **found, size_t *others, const char *typed, adept_error *err)
{
    const said_board said = read_board(typed);
    const adept_embedded *any = NULL, *module = NULL;
    size_t n = 0, n_modules = 0;
    double bytes = 0;
    bool differ = false;

    *found = NULL;
    if (!*said.board || said.twice || (!*said.form && said.gib == 0)) return ADEPT_OK;
    for (const adept_embedded *file = adept_embedded_hwprofiles; file->name; file++) {
        char form[8];
        adept_hwprofile *hw = NULL;
        if (!may_be(file, &said, form)) continue;
        adept_status status = open_builtin(&hw, file, err);
        if (status != ADEPT_OK) return status;
        const double mem = hw->specs.mem_bytes;
        adept_hwprofile_free(hw);
        /* GDDR with its check bits inside has a sixteenth less than its name says. */
        if (said.gib > 0 && !(fabs(said.gib - mem / 0x1p30) < 0.5 || fabs(said.gib - mem / 0x1p30 * 16 / 15) < 0.5))
            continue;
        differ = differ || (n > 0 && mem != bytes);
        bytes = mem;
        any = file;
        n++;
        if (strncmp(form, "sxm", 3) == 0) module = file, n_modules++;
    }
    *others = n > 0 ? n - 1 : 0;
    if (n == 1) *found = any;
    if (n > 1 && n_modules == 1 && !differ && !said.stacks) *found = module;
    return ADEPT_OK;
}

/* ---- opening ---- */

/* "fleet.json#h100": a profile of a fleet's file. */
#define OF_FLEET ".json#"

static bool is_path(const char *text)
{
    size_t n = strlen(text);
    if (n >= 5 && strcmp(text + n - 5, ".json") == 0) return true;
    if (strstr(text, OF_FLEET)) return true;
    return strchr(text, '/') && !strchr(text, '['); /* "Advanced Micro Devices, Inc. [AMD/ATI] ..." */
}

/* The fleet's profiles. @param tree  cJSON_Delete() */
static adept_status read_fleet(cJSON **tree, const cJSON **profiles, const char *path, adept_error *err)
{
    adept_status status = adept_json_parse_file(tree, path, MAX_FLEET_BYTES, err);
    if (status != ADEPT_OK) return status;
    *profiles = cJSON_GetObjectItemCaseSensitive(*tree, "profiles");
    if (cJSON_IsArray(*profiles)) return ADEPT_OK;
    cJSON_Delete(*tree);
    *tree = NULL;
    return adept_error_set(err, ADEPT_E_INVALID, "%s: not a fleet: it has no \"profiles\"", path);
}

static const char *name_of(const cJSON *profile)
{
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(profile, "name"));
    return name ? name : "";
}

static adept_status open_of_fleet(adept_hwprofile **out, const char *path, const char *wanted, adept_error *err)
{
    cJSON *tree = NULL;
    const cJSON *profiles, *profile;
    adept_status status = read_fleet(&tree, &profiles, path, err);
    if (status != ADEPT_OK) return status;
    char *text = NULL, typed[NAME_SIZE], name[NAME_SIZE];
    bool found = false, typed_ok = normalise(typed, wanted);
    cJSON_ArrayForEach(profile, profiles)
    {
        if (found || !typed_ok || !normalise(name, name_of(profile)) || !same_letters(name, typed)) continue;
        found = true;
        adept_json_writer w = {0};
        adept_json_put_tree(&w, NULL, profile);
        text = adept_json_finish(&w); /* to the last bit, which cJSON's own printing is not */
    }
    if (!found)
        status = adept_error_set(err, ADEPT_E_UNKNOWN_GPU, "%s: no profile '%.80s' in this fleet", path, wanted);
    else if (!text)
        status = adept_no_memory(err, path);
    else
        status = adept_hwprofile_from_json(out, path, text, strlen(text), err);
    free(text);
    cJSON_Delete(tree);
    return status;
}

bool adept_hwprofile_is_fleet(const char *path)
{
    cJSON *tree = NULL;
    const cJSON *profiles;
    bool is = read_fleet(&tree, &profiles, path, NULL) == ADEPT_OK;
    cJSON_Delete(tree);
    return is;
}

adept_status adept_hwprofile_each_of_fleet(const char *path,
                                           adept_status (*each)(const char *name, void *context, adept_error *err),
                                           void *context, adept_error *err)
{
    cJSON *tree = NULL;
    const cJSON *profiles, *profile;
    adept_status status = read_fleet(&tree, &profiles, path, err);
    if (status != ADEPT_OK) return status;
    cJSON_ArrayForEach(profile, profiles)
    {
        char *name = NULL;
        if (status != ADEPT_OK) break;
        status = asprintf(&name, "%s#%s", path, name_of(profile)) < 0 ? adept_no_memory(err, path)
                                                                      : each(name, context, err);
        free(name);
    }
    cJSON_Delete(tree);
    return status;
}

static adept_status open_file(adept_hwprofile **out, const char *path, adept_error *err)
{
    const char *of = strstr(path, OF_FLEET);
    if (of) {
        char *file = strndup(path, (size_t)(of - path) + strlen(".json"));
        adept_status status = file ? open_of_fleet(out, file, of + strlen(OF_FLEET), err) : adept_no_memory(err, path);
        free(file);
        return status;
    }
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, MAX_FILE_BYTES, err);
    if (status != ADEPT_OK) return status;
    status = adept_hwprofile_from_json(out, path, text, size, err);
    free(text);
    return status;
}

static adept_status open_as_it_stands(adept_hwprofile **out, const char *name_or_path, adept_error *err)
{
    if (is_path(name_or_path)) return open_file(out, name_or_path, err);
    char name[NAME_SIZE];
    if (!normalise(name, name_or_path)) name[0] = '\0'; /* too long to be near anything */
    const adept_embedded *file = NULL;
    size_t others = SIZE_MAX; /* a name or alias as it is listed */
    /* The file of a normalised name or alias; an error names those that are near. */
    near_name list[MAX_NEAREST] = {{0}};
    size_t n = 0;
    for (const adept_embedded *f = adept_embedded_hwprofiles; f->name && !file; f++)
        if (same_letters(f->name, name)) file = f;
    for (const adept_embedded *f = adept_embedded_hwprofiles; *name && f->name && !file; f++) {
        near_name item = near_of(&file, f, name);
        size_t at = n; /* the list stays sorted by score; among equals the order of the names */
        while (at > 0 && list[at - 1].score > item.score)
            at--;
        if (!(item.score < NOT_NEAR) || at == MAX_NEAREST) continue;
        if (n < MAX_NEAREST) ++n;
        memmove(&list[at + 1], &list[at], (n - 1 - at) * sizeof *list);
        list[at] = item;
    }
    adept_status status = file ? ADEPT_OK : unknown_gpu(name_or_path, list, n, err);
    if (status == ADEPT_E_UNKNOWN_GPU) {
        adept_error why = {0};
        adept_status meant = find_meant(&file, &others, name, &why);
        if (meant != ADEPT_OK || file) status = meant;
        if (meant != ADEPT_OK && err) *err = why;
    }
    if (status == ADEPT_OK) status = open_builtin(out, file, err);
    if (status != ADEPT_OK) return status;
    /* Say what was taken for a name that leaves the form, or all but the board, open. */
    adept_hwprofile *hw = *out;
    const said_board said = read_board(name), own = read_board(hw->name);

    hw->by_alias = others == SIZE_MAX;
    if (strcmp(hw->name, name) == 0 || *said.form || (hw->by_alias ? said.gib > 0 || own.gib == 0 : !*own.form))
        return ADEPT_OK;
    hw->taken = adept_arena_printf(hw->arena, "GPU '%.60s' is taken as %s, %s", name_or_path, hw->name,
                                   others == 0 ? "the only such board known" : "which servers usually have");
    return hw->taken ? ADEPT_OK : adept_no_memory(err, "a GPU");
}

adept_status adept_hwprofile_open(adept_hwprofile **out, const char *name_or_path, adept_error *err)
{
    adept_hwprofile *hw = NULL;
    adept_status status = open_as_it_stands(&hw, name_or_path, err);
    if (status == ADEPT_OK) status = transfer(hw, err);
    if (status == ADEPT_OK)
        *out = hw;
    else
        adept_hwprofile_free(hw);
    return status;
}

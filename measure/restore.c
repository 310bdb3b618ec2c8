/** @file restore.c  The file that says what to put back: written before anything is set, removed when all is as it was.
 * Root reads it perhaps: it names settings and devices, never paths; it must be root's or the caller's own, and what it
 * would set is what --vary could. */
#include "control.h"
#include "adept_file.h"
#include "adept_json.h"
#include "adept_json_writer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- where it is ------------------------------------ */

/* The XDG Base Directory Specification: a path that is not absolute is ignored. A file for each host, for homes are
 * shared. */
static adept_status default_path(char **path, adept_error *err)
{
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool given = state && state[0] == '/';
    char host[256] = "";

    if (!given && !(home && home[0] == '/'))
        return adept_error_set(
            err, ADEPT_E_IO,
            "neither XDG_STATE_HOME nor HOME says where to note what to put back: give --journal FILE");
    gethostname(host, sizeof host - 1);
    host[strcspn(host, "/")] = '\0';
    if (asprintf(path, "%s%s/adept/restore-%s.json", given ? state : home, given ? "" : "/.local/state", host) < 0)
        *path = NULL;
    return *path ? ADEPT_OK : adept_no_memory(err, "a path");
}

adept_status adept_restore_open(adept_restore *r, const char *path, adept_error *err)
{
    char *lock = NULL;

    *r = (adept_restore){.path = path ? strdup(path) : NULL, .lock = -1};
    adept_status status = path ? ADEPT_OK : default_path(&r->path, err);
    if (status != ADEPT_OK) return status;
    if (!r->path || asprintf(&lock, "%s.lock", r->path) < 0) return adept_no_memory(err, "a path");
    if (!path) {
        /* The folders above a file, where they are missing. What cannot be made is found when the file is opened. */
        for (char *slash = strchr(lock + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
            *slash = '\0';
            mkdir(lock, 0700);
            *slash = '/';
        }
    }
    r->lock = open(lock, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (r->lock < 0)
        status = adept_system_error(err, ADEPT_E_IO, lock);
    else if (flock(r->lock, LOCK_EX | LOCK_NB))
        status = errno == EWOULDBLOCK
                     ? adept_error_set(err, ADEPT_E_IO, "%s: another adept sweep --drive is running", lock)
                     : adept_system_error(err, ADEPT_E_IO, lock);
    free(lock);
    return status;
}

void adept_restore_close(adept_restore *r)
{
    if (r->lock >= 0) close(r->lock);
    free(r->path);
    *r = (adept_restore){.lock = -1};
}

/* ---------------------------------------------------------------- what it says ----------------------------------- */

adept_status adept_restore_write(const adept_restore *r, const adept_controls *list, adept_error *err)
{
    adept_json_writer w = {.pretty = true};

    adept_json_begin_object(&w, NULL);
    adept_json_put_members(&w, "schema_version %jd kind %s sysroot %s", (intmax_t)1, "restore",
                           list->sysroot ? list->sysroot : "");
    adept_json_begin_array(&w, "settings");
    for (size_t i = 0; i < list->n; i++)
        adept_json_put_object(&w, NULL, "key %s device %s id %s was %s", list->items[i].kind->key, list->items[i].name,
                              list->items[i].id, list->items[i].was);
    adept_json_end_array(&w);
    adept_json_end_object(&w);
    char *text = adept_json_finish(&w);
    if (!text) return adept_no_memory(err, r->path);
    adept_status status = adept_file_write(r->path, text, strlen(text), err);
    free(text);
    return status;
}

/* Set what is not as it was, the last one first. What fails stops nothing else. */
static adept_status put_back(const adept_controls *list, adept_error *err)
{
    adept_status first = ADEPT_OK;

    for (size_t i = list->n; i-- > 0;) {
        const adept_control *c = &list->items[i];
        if (!c->is_set) continue;
        adept_status status = adept_control_set(c, c->was, first == ADEPT_OK ? err : NULL);
        if (first == ADEPT_OK) first = status;
    }
    return first;
}

adept_status adept_restore_all(const adept_restore *r, const adept_controls *list, adept_error *err)
{
    adept_error why = {0};
    adept_status status = put_back(list, &why);

    if (status != ADEPT_OK)
        return adept_error_set(err, status, "not put back (adept sweep --restore tries again): %s", why.message);
    if (unlink(r->path) && errno != ENOENT) return adept_system_error(err, ADEPT_E_IO, r->path);
    return ADEPT_OK;
}

/* ---------------------------------------------------------------- what a killed program left --------------------- */

static adept_control *find_control(adept_controls *list, const adept_control_kind *kind, const char *id)
{
    for (size_t i = 0; i < list->n; i++)
        if (list->items[i].kind == kind && strcmp(list->items[i].id, id) == 0) return &list->items[i];
    return NULL;
}

static bool has_kind(const adept_controls *list, const adept_control_kind *kind)
{
    bool has = false;

    for (size_t i = 0; i < list->n; i++)
        has = has || list->items[i].kind == kind;
    return has;
}

/* A row of the file: which device, and whether it may be set so. @param there  what is on this machine of the kinds
 * that rows named so far. @return ADEPT_E_IO: the device is not there, or does not say what it can be set to */
static adept_status check_row(adept_json_reader *in, adept_controls *there, const cJSON *row)
{
    const char *key = adept_json_string(in, row, "key"), *id = adept_json_string(in, row, "id");
    const char *device = adept_json_string(in, row, "device"), *was = adept_json_string(in, row, "was");
    const adept_control_kind *kind = adept_control_kind_of(key);
    adept_error why = {0};

    if (in->status == ADEPT_OK && !kind) adept_json_fail(in, "'%s' is nothing that can be set", key);
    if (in->status == ADEPT_OK && !has_kind(there, kind)) in->status = adept_controls_find(there, kind, in->err);
    if (in->status != ADEPT_OK) return in->status;
    adept_control *control = find_control(there, kind, id);
    if (!control)
        return adept_error_set(in->err, ADEPT_E_IO, "%s: %s (%s) is not there; if it is gone for good, remove %s", key,
                               device, id, in->name);
    adept_status status = adept_control_admit(control, was, &why);
    if (status == ADEPT_E_USAGE) adept_json_fail(in, "%s: --vary would refuse it", why.message);
    if (status == ADEPT_E_USAGE) return in->status;
    if (status != ADEPT_OK) return adept_error_set(in->err, status, "%s", why.message);
    snprintf(control->was, sizeof control->was, "%s", was);
    control->is_set = true;
    return ADEPT_OK;
}

/* A device that is gone stops nothing else; a file that no adept wrote stops all. @return the first failure */
static adept_status put_rows(const adept_restore *r, const cJSON *document, const char *sysroot, size_t *n,
                             adept_error *err)
{
    adept_error why = {0}, other = {0};
    adept_json_reader in = {.name = r->path, .err = &why};
    adept_controls there = {.sysroot = sysroot};
    const cJSON *row, *settings = adept_json_array(&in, document, "settings");
    const char *written_for = adept_json_string(&in, document, "sysroot");
    const char *kind = adept_json_string(&in, document, "kind");
    double version = adept_json_number(&in, document, "schema_version");

    if (in.status == ADEPT_OK && (version != 1 || strcmp(kind, "restore") != 0))
        adept_json_fail(&in, "it is not a file of what to put back, or of another version of adept");
    if (in.status == ADEPT_OK && strcmp(written_for, sysroot ? sysroot : "") != 0)
        adept_json_fail(&in, "it is of a run with --sysroot '%s'", written_for);
    adept_status first = in.status;
    bool is_ours = first == ADEPT_OK;
    *n = is_ours ? adept_json_size(settings) : 0;
    if (!is_ours) settings = NULL;
    cJSON_ArrayForEach(row, settings)
    {
        in.status = ADEPT_OK;
        in.err = first == ADEPT_OK ? &why : &other;
        adept_status status = check_row(&in, &there, row);
        is_ours = is_ours && status != ADEPT_E_INVALID;
        if (first == ADEPT_OK || (status == ADEPT_E_INVALID && first != ADEPT_E_INVALID)) {
            first = status;
            if (in.err == &other) why = other;
        }
    }
    if (is_ours) {
        adept_status status = put_back(&there, first == ADEPT_OK ? &why : NULL);
        if (first == ADEPT_OK) first = status;
    }
    adept_controls_close(&there);
    return first == ADEPT_OK ? ADEPT_OK : adept_error_set(err, first, "%s", why.message);
}

/* What root reads and acts by is root's or its own, and nobody else can have written to it. */
static adept_status read_own(char **text, size_t *size, const char *path, int fd, adept_error *err)
{
    struct stat st;

    if (fstat(fd, &st)) return adept_system_error(err, ADEPT_E_INVALID, path);
    if (st.st_uid != 0 && st.st_uid != geteuid())
        return adept_error_set(err, ADEPT_E_INVALID, "%s: it belongs to user %ld, who may have written anything to it",
                               path, (long)st.st_uid);
    if (st.st_mode & (S_IWGRP | S_IWOTH))
        return adept_error_set(err, ADEPT_E_INVALID,
                               "%s: others may write to it; if it is as adept left it: chmod go-w", path);
    return adept_file_read_open(text, size, fd, path, (size_t)1 << 20, err);
}

adept_status adept_restore_leftovers(const adept_restore *r, const char *sysroot, size_t *n, adept_error *err)
{
    cJSON *document = NULL;
    char *text = NULL;
    size_t size = 0;
    int fd = adept_file_descriptor(r->path, O_NOFOLLOW);

    *n = 0;
    if (fd < 0 && errno == ENOENT) return ADEPT_OK;
    adept_status status =
        fd >= 0 ? read_own(&text, &size, r->path, fd, err) : adept_file_open(&fd, r->path, O_NOFOLLOW, err);
    if (fd >= 0) close(fd);
    if (status == ADEPT_OK) status = adept_json_parse(&document, r->path, text, size, err);
    free(text);
    if (status == ADEPT_OK) status = put_rows(r, document, sysroot, n, err);
    if (status == ADEPT_OK && unlink(r->path)) status = adept_system_error(err, ADEPT_E_IO, r->path);
    cJSON_Delete(document);
    return status;
}

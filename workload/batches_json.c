/* Batch sizes <-> JSON: a profile of the base batch, and under "batches" what changes. */
#include "batches.h"
#include "profile_json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static bool add_item(cJSON *o, const char *key, cJSON *item)
{
    if (item && cJSON_AddItemToObject(o, key, item)) return true;
    cJSON_Delete(item);
    return false;
}

static bool append(cJSON *array, double value)
{
    cJSON *item = adept_json_new_number(value);
    if (item && cJSON_AddItemToArray(array, item)) return true;
    cJSON_Delete(item);
    return false;
}

static bool add_terms(cJSON *o, const adept_batch_piece *p)
{
    cJSON *numbers = cJSON_AddArrayToObject(o, "changing"), *first = cJSON_AddArrayToObject(o, "first"), *second = NULL;
    bool ok = numbers && first, curved = false;
    for (size_t i = 0; i < p->n_terms; i++)
        curved = curved || p->terms[i].second != 0.0;
    if (ok && curved) ok = (second = cJSON_AddArrayToObject(o, "second")) != NULL;
    for (size_t i = 0; i < p->n_terms && ok; i++)
        ok = append(numbers, (double)p->terms[i].number) && append(first, p->terms[i].first) &&
             (!second || append(second, p->terms[i].second));
    return ok;
}

static cJSON *piece_json(const adept_batches *b, const adept_batch_piece *p)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && adept_json_add_number(o, "low", (double)p->low) &&
              adept_json_add_number(o, "high", (double)p->high) &&
              adept_json_add_number(o, "numbers", (double)p->numbers.n) && add_terms(o, p);
    if (ok && p->profile->batch_size != b->base) ok = add_item(o, "profile", adept_profile_json_new(p->profile));
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

static cJSON *batches_json(const adept_batches *b)
{
    cJSON *o = cJSON_CreateObject();
    bool ok = o && adept_json_add_number(o, "numbering", ADEPT_NUMBERING) &&
              adept_json_add_number(o, "low", (double)adept_batches_low(b)) &&
              adept_json_add_number(o, "high", (double)adept_batches_high(b));
    cJSON *checked = ok ? cJSON_AddArrayToObject(o, "checked") : NULL;
    cJSON *pieces = checked ? cJSON_AddArrayToObject(o, "pieces") : NULL;
    ok = pieces != NULL;
    for (size_t i = 0; i < b->n_checked && ok; i++)
        ok = append(checked, (double)b->checked[i]);
    for (size_t i = 0; i < b->n_pieces && ok; i++) {
        cJSON *piece = piece_json(b, &b->pieces[i]);
        ok = piece && cJSON_AddItemToArray(pieces, piece);
        if (!ok) cJSON_Delete(piece);
    }
    if (ok) return o;
    cJSON_Delete(o);
    return NULL;
}

char *adept_batches_to_json(const adept_batches *b)
{
    const adept_profile *base = NULL;
    for (size_t i = 0; i < b->n_pieces; i++)
        if (b->pieces[i].profile->batch_size == b->base) base = b->pieces[i].profile;
    cJSON *o = base ? adept_profile_json_new(base) : NULL;
    char *text = NULL;
    if (o && (b->n_checked == 0 || add_item(o, "batches", batches_json(b)))) text = cJSON_PrintBuffered(o, 1 << 16, 1);
    cJSON_Delete(o);
    return text;
}

/* ---- reading ---- */

typedef struct reader {
    adept_json_reader r;
    adept_batches *b;
    adept_profile *base; /* until a piece has taken it */
} reader;

static void fail_memory(reader *in)
{
    if (in->r.status == ADEPT_OK)
        in->r.status = adept_error_set(in->r.err, ADEPT_E_NOMEM, "%s: out of memory", in->r.name);
}

static void take_profile(reader *in, const cJSON *o, adept_batch_piece *p)
{
    const cJSON *own = cJSON_GetObjectItemCaseSensitive(o, "profile");
    if (in->r.status != ADEPT_OK) return;
    if (own) {
        in->r.status = adept_profile_json_read(&p->profile, in->r.name, own, in->r.err);
    } else {
        p->profile = in->base;
        in->base = NULL;
    }
    if (in->r.status == ADEPT_OK &&
        (!p->profile || p->profile->batch_size < p->low || p->profile->batch_size > p->high))
        adept_json_fail(&in->r, "a piece of \"batches\" has no profile within it");
    if (in->r.status == ADEPT_OK && !adept_numbers_collect(&p->numbers, p->profile)) fail_memory(in);
}

static double element(reader *in, const cJSON *item)
{
    if (cJSON_IsNumber(item) && isfinite(item->valuedouble)) return item->valuedouble;
    adept_json_fail(&in->r, "\"batches\" hold something that is no number");
    return 0.0;
}

static void read_terms(reader *in, const cJSON *o, adept_batch_piece *p)
{
    const cJSON *numbers = adept_json_array(&in->r, o, "changing"), *first = adept_json_array(&in->r, o, "first");
    const cJSON *second = cJSON_GetObjectItemCaseSensitive(o, "second");
    if (in->r.status != ADEPT_OK) return;
    int n = cJSON_GetArraySize(numbers);
    if (cJSON_GetArraySize(first) != n || (second && (!cJSON_IsArray(second) || cJSON_GetArraySize(second) != n))) {
        adept_json_fail(&in->r, "\"changing\", \"first\" and \"second\" of \"batches\" have different lengths");
        return;
    }
    p->terms = malloc(((size_t)n + 1) * sizeof *p->terms);
    if (!p->terms) {
        fail_memory(in);
        return;
    }
    const cJSON *f = first->child, *s = second ? second->child : NULL, *item;
    double before = -1.0;
    cJSON_ArrayForEach(item, numbers)
    {
        double number = element(in, item);
        if (!(number > before && number < (double)p->numbers.n) || number != floor(number))
            adept_json_fail(&in->r, "\"changing\" of \"batches\" does not go up through the profile's numbers");
        if (in->r.status != ADEPT_OK) return;
        p->terms[p->n_terms++] = (adept_batch_term){(size_t)number, element(in, f), s ? element(in, s) : 0.0};
        before = number;
        f = f->next;
        s = s ? s->next : NULL;
    }
    adept_batch_piece_index(p);
}

static void read_piece(reader *in, const cJSON *o)
{
    adept_batch_piece *p = &in->b->pieces[in->b->n_pieces];
    p->low = adept_json_count(&in->r, o, "low");
    p->high = adept_json_count(&in->r, o, "high");
    int64_t numbers = adept_json_count(&in->r, o, "numbers");
    if (in->r.status != ADEPT_OK) return;
    if (p->low < 1 || p->low > p->high || p->high > ADEPT_MAX_BATCH)
        adept_json_fail(&in->r, "a piece of \"batches\" is no range");
    if (in->b->n_pieces > 0 && p->low != p[-1].high + 1) adept_json_fail(&in->r, "pieces of \"batches\" do not join");
    in->b->n_pieces++; /* what it owns is freed from here on */
    take_profile(in, o, p);
    if (in->r.status == ADEPT_OK && p->numbers.n != (size_t)numbers)
        adept_json_fail(&in->r, "\"batches\" count %zu numbers in a profile of %zu", (size_t)numbers, p->numbers.n);
    if (in->r.status == ADEPT_OK) read_terms(in, o, p);
}

static void read_checked(reader *in, const cJSON *o)
{
    const cJSON *checked = adept_json_array(&in->r, o, "checked"), *item;
    if (in->r.status != ADEPT_OK) return;
    in->b->checked = malloc(((size_t)cJSON_GetArraySize(checked) + 1) * sizeof *in->b->checked);
    if (!in->b->checked) fail_memory(in);
    double before = 0.0;
    cJSON_ArrayForEach(item, checked)
    {
        double batch = in->r.status == ADEPT_OK ? element(in, item) : 0.0;
        if (!(batch > before && batch <= ADEPT_MAX_BATCH) || batch != floor(batch))
            adept_json_fail(&in->r, "\"checked\" of \"batches\" are no ascending batch sizes");
        if (in->r.status != ADEPT_OK) return;
        in->b->checked[in->b->n_checked++] = (int64_t)batch;
        before = batch;
    }
    if (in->b->n_checked == 0) adept_json_fail(&in->r, "\"checked\" of \"batches\" is empty");
}

static void read_batches(reader *in, const cJSON *o)
{
    if (!cJSON_IsObject(o)) adept_json_fail(&in->r, "\"batches\" is no object");
    int64_t numbering = adept_json_count(&in->r, o, "numbering");
    if (in->r.status == ADEPT_OK && numbering != ADEPT_NUMBERING)
        adept_json_fail(&in->r, "\"batches\" were written by another version of adept: profile the model again");
    const cJSON *pieces = adept_json_array(&in->r, o, "pieces"), *item;
    if (in->r.status != ADEPT_OK) return;
    if (cJSON_GetArraySize(pieces) < 1 || cJSON_GetArraySize(pieces) > ADEPT_BATCH_PIECES)
        adept_json_fail(&in->r, "\"batches\" have none or too many pieces");
    cJSON_ArrayForEach(item, pieces)
    {
        if (in->r.status != ADEPT_OK) return;
        read_piece(in, item);
    }
    if (in->r.status == ADEPT_OK && in->base)
        adept_json_fail(&in->r, "no piece of \"batches\" has the profile's own batch");
    read_checked(in, o);
}

/* The one batch of a profile as it is. */
static void read_single(reader *in)
{
    adept_batch_piece *p = &in->b->pieces[in->b->n_pieces++];
    p->low = p->high = in->base->batch_size;
    p->profile = in->base;
    in->base = NULL;
    if (!adept_numbers_collect(&p->numbers, p->profile)) fail_memory(in);
}

adept_status adept_batches_from_json(adept_batches **out, const char *name, const char *text, size_t size,
                                     adept_error *err)
{
    cJSON *root = NULL;
    reader in = {.r = {name, err, ADEPT_OK}};
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    in.b = calloc(1, sizeof *in.b);
    if (!in.b) fail_memory(&in);
    if (in.b) in.r.status = adept_profile_json_read(&in.base, name, root, err);
    if (in.r.status == ADEPT_OK) {
        const cJSON *batches = cJSON_GetObjectItemCaseSensitive(root, "batches");
        in.b->base = in.base->batch_size;
        if (batches)
            read_batches(&in, batches);
        else
            read_single(&in);
    }
    cJSON_Delete(root);
    adept_profile_free(in.base);
    if (in.r.status == ADEPT_OK)
        *out = in.b;
    else
        adept_batches_free(in.b);
    return in.r.status;
}

adept_status adept_batches_read(adept_batches **out, const char *path, adept_error *err)
{
    char *text = NULL;
    size_t size = 0;
    adept_status status = adept_file_read(&text, &size, path, ADEPT_PROFILE_FILE_BYTES, err);
    if (status != ADEPT_OK) return status;
    status = adept_batches_from_json(out, path, text, size, err);
    free(text);
    return status;
}

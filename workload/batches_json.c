/* Batch sizes and lengths <-> JSON: a profile of the base, and under "batches" what changes. With lengths it is called
 * "lengths" and has more keys, so that programs which know batches only do not take it for theirs. */
#include "adept_file.h"
#include "batches.h"
#include "profile_json.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

static const char *const term_names[] = {
#define X(name, i, j) name,
    ADEPT_TERM_LIST(X)
#undef X
};

static void put_coefficients(adept_json_writer *w, const adept_batch_piece *p, int which)
{
    bool any = which < ADEPT_TERM_NEEDED;
    for (size_t i = 0; i < p->n_terms; i++)
        any = any || p->terms[i].c[which] != 0.0;
    if (!any) return;
    adept_json_begin_array(w, term_names[which]);
    for (size_t i = 0; i < p->n_terms; i++)
        adept_json_put_number(w, NULL, p->terms[i].c[which]);
    adept_json_end_array(w);
}

static void put_terms(adept_json_writer *w, const adept_batch_piece *p)
{
    adept_json_begin_array(w, "changing");
    for (size_t i = 0; i < p->n_terms; i++)
        adept_json_put_number(w, NULL, (double)p->terms[i].number);
    adept_json_end_array(w);
    for (int i = 0; i < ADEPT_TERM_COEFFICIENTS; i++)
        put_coefficients(w, p, i);
}

/* Lengths only where they vary: a file of batches stays what older programs read. */
static void put_ends(adept_json_writer *w, const adept_batches *b, adept_batch_point low, adept_batch_point high)
{
    adept_json_put_number(w, "low", (double)low.batch);
    adept_json_put_number(w, "high", (double)high.batch);
    if (!adept_batches_vary_length(b)) return;
    adept_json_put_number(w, "length_low", (double)low.length);
    adept_json_put_number(w, "length_high", (double)high.length);
}

static bool is_base(const adept_batches *b, const adept_profile *p)
{
    return p->batch_size == b->base.batch && p->seq_length == b->base.length;
}

static void put_sizes(adept_json_writer *w, const char *key, const int64_t *sizes, size_t n)
{
    adept_json_begin_array(w, key);
    for (size_t i = 0; i < n; i++)
        adept_json_put_number(w, NULL, (double)sizes[i]);
    adept_json_end_array(w);
}

static void put_batches(adept_json_writer *w, const adept_batches *b)
{
    adept_json_begin_object(w, adept_batches_vary_length(b) ? "lengths" : "batches");
    adept_json_put_number(w, "numbering", ADEPT_NUMBERING);
    put_ends(w, b, b->pieces[0].low, b->pieces[b->n_pieces - 1].high);
    put_sizes(w, "checked", b->checked, b->n_checked);
    if (adept_batches_vary_length(b)) {
        put_sizes(w, "lengths_checked", b->lengths_checked, b->n_lengths_checked);
        adept_json_put_number(w, "walks", (double)b->n_walks);
    }
    adept_json_begin_array(w, "pieces");
    for (size_t i = 0; i < b->n_pieces; i++) {
        const adept_batch_piece *p = &b->pieces[i];
        adept_json_begin_object(w, NULL);
        put_ends(w, b, p->low, p->high);
        adept_json_put_number(w, "numbers", (double)p->numbers.n);
        put_terms(w, p);
        if (!is_base(b, p->profile)) adept_profile_put_json(w, "profile", p->profile);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_end_object(w);
}

char *adept_batches_to_json(const adept_batches *b)
{
    const adept_profile *base = NULL;
    adept_json_writer w;
    for (size_t i = 0; i < b->n_pieces; i++)
        if (is_base(b, b->pieces[i].profile)) base = b->pieces[i].profile;
    adept_json_continue(&w, base ? adept_profile_to_json(base) : NULL);
    if (b->n_checked > 0) put_batches(&w, b);
    adept_json_end_object(&w);
    return adept_json_finish(&w);
}

/* ---- reading ---- */

typedef struct reader {
    adept_json_reader r;
    adept_batches *b;
    adept_profile *base; /* until a piece has taken it */
    const char *key;     /* "batches" or "lengths" */
    bool lengths;
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
    if (in->r.status == ADEPT_OK && (!p->profile || !adept_batch_piece_has(p, adept_batch_point_of(p->profile))))
        adept_json_fail(&in->r, "a piece of \"%s\" has no profile within it", in->key);
    if (in->r.status == ADEPT_OK && !adept_numbers_collect(&p->numbers, p->profile)) fail_memory(in);
}

static double element(reader *in, const cJSON *item)
{
    if (cJSON_IsNumber(item) && isfinite(item->valuedouble)) return item->valuedouble;
    adept_json_fail(&in->r, "\"%s\" hold something that is no number", in->key);
    return 0.0;
}

/* The array of one coefficient, *items its first; those that a file leaves out are 0. */
static void find_coefficients(reader *in, const cJSON *o, int which, int n, const cJSON **items)
{
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(o, term_names[which]);
    *items = NULL;
    if (which < ADEPT_TERM_NEEDED) array = adept_json_array(&in->r, o, term_names[which]);
    if (!array || in->r.status != ADEPT_OK) return;
    if (!cJSON_IsArray(array) || cJSON_GetArraySize(array) != n)
        adept_json_fail(&in->r, "\"changing\" and \"%s\" of \"%s\" have different lengths", term_names[which], in->key);
    else
        *items = array->child;
}

static void read_terms(reader *in, const cJSON *o, adept_batch_piece *p)
{
    const cJSON *numbers = adept_json_array(&in->r, o, "changing"), *c[ADEPT_TERM_COEFFICIENTS] = {NULL}, *item;
    if (in->r.status != ADEPT_OK) return;
    int n = cJSON_GetArraySize(numbers);
    for (int i = 0; i < ADEPT_TERM_COEFFICIENTS; i++)
        find_coefficients(in, o, i, n, &c[i]);
    p->terms = malloc(((size_t)n + 1) * sizeof *p->terms);
    if (!p->terms) fail_memory(in);
    double before = -1.0;
    cJSON_ArrayForEach(item, numbers)
    {
        if (in->r.status != ADEPT_OK) return;
        double number = element(in, item);
        if (!(number > before && number < (double)p->numbers.n) || number != floor(number))
            adept_json_fail(&in->r, "\"changing\" of \"%s\" does not go up through the profile's numbers", in->key);
        if (in->r.status != ADEPT_OK) return;
        adept_batch_term *term = &p->terms[p->n_terms++];
        *term = (adept_batch_term){.number = (size_t)number};
        for (int i = 0; i < ADEPT_TERM_COEFFICIENTS; i++) {
            if (!c[i]) continue;
            term->c[i] = element(in, c[i]);
            c[i] = c[i]->next;
        }
        before = number;
    }
    adept_batch_piece_index(p);
}

static bool in_order(adept_batch_point low, adept_batch_point high)
{
    return low.batch >= 1 && low.batch <= high.batch && high.batch <= ADEPT_MAX_BATCH && low.length <= high.length &&
           high.length <= ADEPT_MAX_LENGTH;
}

/* In its row behind the piece before, or the first of the next row; check_rows() sees to the ends of rows. */
static bool joins(const adept_batches *b, size_t i)
{
    if (i == 0) return true;
    const adept_batch_piece *p = &b->pieces[i], *before = p - 1;
    if (p->low.length == before->low.length)
        return p->high.length == before->high.length && p->low.batch == before->high.batch + 1;
    return p->low.length == before->high.length + 1 && p->low.batch == b->pieces[0].low.batch;
}

static void read_piece(reader *in, const cJSON *o)
{
    adept_batches *b = in->b;
    adept_batch_piece *p = &b->pieces[b->n_pieces];
    p->low.batch = adept_json_count(&in->r, o, "low");
    p->high.batch = adept_json_count(&in->r, o, "high");
    p->low.length = in->lengths ? adept_json_count(&in->r, o, "length_low") : b->base.length;
    p->high.length = in->lengths ? adept_json_count(&in->r, o, "length_high") : b->base.length;
    int64_t numbers = adept_json_count(&in->r, o, "numbers");
    if (in->r.status != ADEPT_OK) return;
    if (!in_order(p->low, p->high) || (in->lengths && p->low.length < 1))
        adept_json_fail(&in->r, "a piece of \"%s\" is no range", in->key);
    if (!joins(b, b->n_pieces)) adept_json_fail(&in->r, "pieces of \"%s\" do not join", in->key);
    b->n_pieces++; /* what it owns is freed from here on */
    take_profile(in, o, p);
    if (in->r.status == ADEPT_OK && p->numbers.n != (size_t)numbers)
        adept_json_fail(&in->r, "\"%s\" count %zu numbers in a profile of %zu", in->key, (size_t)numbers, p->numbers.n);
    if (in->r.status == ADEPT_OK) read_terms(in, o, p);
}

static void read_sizes(reader *in, const cJSON *o, const char *key, int64_t **sizes, size_t *n)
{
    const cJSON *array = adept_json_array(&in->r, o, key), *item;
    if (in->r.status != ADEPT_OK) return;
    *sizes = malloc(((size_t)cJSON_GetArraySize(array) + 1) * sizeof **sizes);
    if (!*sizes) fail_memory(in);
    double before = 0.0;
    cJSON_ArrayForEach(item, array)
    {
        double size = in->r.status == ADEPT_OK ? element(in, item) : 0.0;
        if (!(size > before && size <= ADEPT_MAX_BATCH) || size != floor(size))
            adept_json_fail(&in->r, "\"%s\" of \"%s\" are no ascending sizes", key, in->key);
        if (in->r.status != ADEPT_OK) return;
        (*sizes)[(*n)++] = (int64_t)size;
        before = size;
    }
    if (*n == 0) adept_json_fail(&in->r, "\"%s\" of \"%s\" is empty", key, in->key);
}

static void read_checked(reader *in, const cJSON *o)
{
    read_sizes(in, o, "checked", &in->b->checked, &in->b->n_checked);
    in->b->n_walks = in->b->n_checked;
    if (!in->lengths || in->r.status != ADEPT_OK) return;
    read_sizes(in, o, "lengths_checked", &in->b->lengths_checked, &in->b->n_lengths_checked);
    in->b->n_walks = (size_t)adept_json_count(&in->r, o, "walks");
}

/* All rows end with the same batch, and there is more than one length. */
static void check_rows(reader *in)
{
    const adept_batches *b = in->b;
    for (size_t i = 1; i < b->n_pieces && in->r.status == ADEPT_OK; i++)
        if (b->pieces[i].low.length != b->pieces[i - 1].low.length &&
            b->pieces[i - 1].high.batch != adept_batches_high(b))
            adept_json_fail(&in->r, "pieces of \"%s\" do not join", in->key);
    if (in->r.status == ADEPT_OK && in->lengths && !adept_batches_vary_length(b))
        adept_json_fail(&in->r, "\"%s\" have only one", in->key);
}

static void read_batches(reader *in, const cJSON *o)
{
    if (!cJSON_IsObject(o)) adept_json_fail(&in->r, "\"%s\" is no object", in->key);
    int64_t numbering = adept_json_count(&in->r, o, "numbering");
    if (in->r.status == ADEPT_OK && numbering != ADEPT_NUMBERING)
        adept_json_fail(&in->r, "\"%s\" were written by another version of adept: profile the model again", in->key);
    const cJSON *pieces = adept_json_array(&in->r, o, "pieces"), *item;
    if (in->r.status != ADEPT_OK) return;
    if (cJSON_GetArraySize(pieces) < 1 || cJSON_GetArraySize(pieces) > ADEPT_BATCH_PIECES)
        adept_json_fail(&in->r, "\"%s\" have none or too many pieces", in->key);
    cJSON_ArrayForEach(item, pieces)
    {
        if (in->r.status != ADEPT_OK) return;
        read_piece(in, item);
    }
    if (in->r.status == ADEPT_OK && in->base)
        adept_json_fail(&in->r, "no piece of \"%s\" has the profile's own batch and length", in->key);
    if (in->r.status == ADEPT_OK) check_rows(in);
    read_checked(in, o);
}

/* The one batch of a profile as it is. */
static void read_single(reader *in)
{
    adept_batch_piece *p = &in->b->pieces[in->b->n_pieces++];
    p->low = p->high = in->b->base;
    p->profile = in->base;
    in->base = NULL;
    if (!adept_numbers_collect(&p->numbers, p->profile)) fail_memory(in);
}

adept_status adept_batches_from_json(adept_batches **out, const char *name, const char *text, size_t size,
                                     adept_error *err)
{
    cJSON *root = NULL;
    reader in = {.r = {.name = name, .err = err}};
    adept_status status = adept_json_parse(&root, name, text, size, err);
    if (status != ADEPT_OK) return status;
    in.b = calloc(1, sizeof *in.b);
    if (!in.b) fail_memory(&in);
    if (in.b) in.r.status = adept_profile_json_read(&in.base, name, root, err);
    if (in.r.status == ADEPT_OK) {
        const cJSON *batches = cJSON_GetObjectItemCaseSensitive(root, "lengths");
        in.lengths = batches != NULL;
        in.key = batches ? "lengths" : "batches";
        if (!batches) batches = cJSON_GetObjectItemCaseSensitive(root, "batches");
        in.b->base = adept_batch_point_of(in.base);
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

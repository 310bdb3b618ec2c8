/* Profiles of a range of batch sizes: polynomials found by walks and checked by more walks. */
#include "batches.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Doubles have all integers up to here. */
#define MAX_INTEGER 9007199254740992.0
#define MAX_TEXT_NUMBER 999999999999999.0

/* ---- evaluating ---- */

/* Sums and products of integers: exact. */
double adept_batch_term_at(const adept_batch_term *term, double value, double x)
{
    return value + term->first * x + term->second * (x * (x - 1.0) / 2.0);
}

void adept_batch_piece_index(adept_batch_piece *piece)
{
    piece->first_text_term = 0;
    while (piece->first_text_term < piece->n_terms &&
           piece->terms[piece->first_text_term].number < piece->numbers.n_plain)
        piece->first_text_term++;
}

static bool is_possible(double value, double most)
{
    return value >= 0.0 && value <= most;
}

/* Fields of their own. */
static bool set_plain(const adept_numbers_copy *copy, const adept_batch_piece *piece, double x)
{
    for (size_t i = 0; i < piece->first_text_term; i++) {
        const adept_batch_term *term = &piece->terms[i];
        const adept_numbers_place *place = &piece->numbers.places[term->number];
        double value = adept_batch_term_at(term, piece->numbers.values[term->number], x);
        if (!is_possible(value, HUGE_VAL) || isinf(value)) return false;
        memcpy(copy->regions[place->region] + place->offset, &value, sizeof value);
    }
    return true;
}

/* Terms and texts are both in ascending order of their numbers. */
static adept_status set_texts(adept_numbers_copy *copy, const adept_batch_piece *piece, double x, adept_error *err)
{
    enum { MOST = 256 };
    double values[MOST];
    size_t at = piece->first_text_term;
    for (size_t i = 0; i < piece->numbers.n_texts && at < piece->n_terms; i++) {
        const adept_numbers_text *text = &piece->numbers.texts[i];
        if (piece->terms[at].number >= text->first + text->n) continue;
        if (text->n > MOST) return adept_error_set(err, ADEPT_E_INVALID, "profile: too many numbers in one text");
        memcpy(values, piece->numbers.values + text->first, text->n * sizeof *values);
        for (; at < piece->n_terms && piece->terms[at].number < text->first + text->n; at++) {
            double *value = &values[piece->terms[at].number - text->first];
            *value = adept_batch_term_at(&piece->terms[at], *value, x);
            if (!is_possible(*value, MAX_TEXT_NUMBER))
                return adept_error_set(err, ADEPT_E_INVALID, "profile: \"batches\" give a dimension of %g", *value);
        }
        if (!adept_numbers_set_text(copy, text, values))
            return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a profile");
    }
    return ADEPT_OK;
}

static const adept_batch_piece *piece_of(const adept_batches *b, int64_t batch)
{
    for (size_t i = 0; i < b->n_pieces; i++)
        if (batch >= b->pieces[i].low && batch <= b->pieces[i].high) return &b->pieces[i];
    return NULL;
}

static adept_status make(adept_profile **out, const adept_batches *b, int64_t batch, bool own_names, adept_error *err)
{
    const adept_batch_piece *piece = piece_of(b, batch);
    if (!piece)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: a batch of %" PRId64 " lies outside those it was profiled for, %" PRId64
                               " to %" PRId64
                               "; profile the model again: adept profile MODEL --batches FROM:TO -o FILE",
                               b->pieces[0].profile->model_path, batch, adept_batches_low(b), adept_batches_high(b));
    double x = (double)(batch - piece->profile->batch_size);
    adept_numbers_copy copy = adept_numbers_copy_of(piece->profile, &piece->numbers);
    if (!copy.profile) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a profile");
    adept_status status = ADEPT_OK;
    copy.profile->batch_size = batch;
    if (!set_plain(&copy, piece, x))
        status = adept_error_set(err, ADEPT_E_INVALID,
                                 "profile: \"batches\" give a negative count at a batch of %" PRId64, batch);
    if (status == ADEPT_OK) status = set_texts(&copy, piece, x, err);
    if (status == ADEPT_OK && own_names && !adept_numbers_own_names(&copy))
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a profile");
    if (status != ADEPT_OK) {
        adept_profile_free(copy.profile);
        return status;
    }
    if (x != 0.0) adept_profile_summarise(copy.profile);
    *out = copy.profile;
    return ADEPT_OK;
}

adept_status adept_batches_at(adept_profile **out, const adept_batches *b, int64_t batch, adept_error *err)
{
    return make(out, b, batch, false, err);
}

adept_status adept_profile_read_at(adept_profile **out, const char *path, int64_t batch, adept_error *err)
{
    adept_batches *b = NULL;
    adept_status status = adept_batches_read(&b, path, err);
    if (status != ADEPT_OK) return status;
    bool single = batch == 0 || b->n_checked == 0;
    status = make(out, b, single ? b->base : batch, true, err);
    adept_batches_free(b);
    return status;
}

int64_t adept_batches_base(const adept_batches *b)
{
    return b->base;
}

int64_t adept_batches_low(const adept_batches *b)
{
    return b->pieces[0].low;
}

int64_t adept_batches_high(const adept_batches *b)
{
    return b->pieces[b->n_pieces - 1].high;
}

const int64_t *adept_batches_checked(const adept_batches *b, size_t *n)
{
    *n = b->n_checked;
    return b->checked;
}

void adept_batches_free(adept_batches *b)
{
    if (!b) return;
    for (size_t i = 0; i < b->n_pieces; i++) {
        adept_numbers_free(&b->pieces[i].numbers);
        adept_profile_free(b->pieces[i].profile);
        free(b->pieces[i].terms);
    }
    free(b->checked);
    free(b);
}

/* ---- walks ---- */

typedef struct walked {
    int64_t batch;
    adept_profile *profile;
    adept_numbers numbers;
} walked;

typedef struct walker {
    adept_batch_walk walk;
    void *context;
    adept_error *err;
    walked **done; /* by batch, ascending */
    size_t n, room;
    int64_t *samples; /* ascending */
    size_t n_samples;
    int64_t base;
} walker;

static adept_status no_memory(adept_error *err)
{
    return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for profiles of several batch sizes");
}

static void free_walked(walked *one)
{
    adept_numbers_free(&one->numbers);
    adept_profile_free(one->profile);
    free(one);
}

static adept_status walk_once(walked **out, walker *w, int64_t batch)
{
    adept_error detail = {0};
    walked *one = calloc(1, sizeof *one);
    if (!one) return no_memory(w->err);
    one->batch = batch;
    adept_status status = w->walk(&one->profile, batch, w->context, &detail);
    if (status != ADEPT_OK)
        status = adept_error_set(w->err, status, "at a batch of %" PRId64 ": %s", batch, detail.message);
    else if (one->profile->batch_size != batch)
        status = adept_error_set(w->err, ADEPT_E_INTERNAL, "a walk at a batch of %" PRId64 " counted %" PRId64, batch,
                                 one->profile->batch_size);
    else if (!adept_numbers_collect(&one->numbers, one->profile))
        status = no_memory(w->err);
    if (status == ADEPT_OK)
        *out = one;
    else
        free_walked(one);
    return status;
}

/* Every batch once. */
static adept_status walk(const walked **out, walker *w, int64_t batch)
{
    size_t at = 0;
    while (at < w->n && w->done[at]->batch < batch)
        at++;
    if (at < w->n && w->done[at]->batch == batch) {
        *out = w->done[at];
        return ADEPT_OK;
    }
    if (w->n == w->room) {
        size_t room = 2 * w->room + 64;
        walked **larger = realloc(w->done, room * sizeof(walked *));
        if (!larger) return no_memory(w->err);
        w->done = larger;
        w->room = room;
    }
    walked *one;
    adept_status status = walk_once(&one, w, batch);
    if (status != ADEPT_OK) return status;
    memmove(w->done + at + 1, w->done + at, (w->n - at) * sizeof(walked *));
    w->done[at] = one;
    w->n++;
    *out = one;
    return ADEPT_OK;
}

/* ---- which batches are walked ---- */

#define ALL_OF 64       /* a range of that many is walked in full */
#define FILL_SAMPLES 24 /* else ends, powers of two with their neighbours, and that many spread over the range */

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void add_sample(walker *w, const adept_batch_range *r, int64_t batch)
{
    if (batch >= r->low && batch <= r->high) w->samples[w->n_samples++] = batch;
}

/* The spread ones are equidistant in the logarithm and then made odd or even in turn. */
static adept_status choose_samples(walker *w, const adept_batch_range *r)
{
    w->samples = malloc((r->n_points + 3 * 40 + 2 * FILL_SAMPLES + ALL_OF + 16) * sizeof *w->samples);
    if (!w->samples) return no_memory(w->err);
    for (size_t i = 0; i < r->n_points; i++)
        add_sample(w, r, r->points[i]);
    add_sample(w, r, r->base);
    if (r->high - r->low < ALL_OF) {
        for (int64_t b = r->low; b <= r->high; b++)
            add_sample(w, r, b);
    } else {
        for (int64_t b = 0; b < 4; b++)
            add_sample(w, r, r->low + b), add_sample(w, r, r->high - b);
        for (int64_t b = 4; b <= ADEPT_MAX_BATCH; b *= 2)
            for (int64_t d = -1; d <= 1; d++)
                add_sample(w, r, b + d);
        for (int i = 1; i < FILL_SAMPLES; i++) {
            double share = (double)i / FILL_SAMPLES;
            add_sample(w, r, (int64_t)((double)r->low * pow((double)r->high / (double)r->low, share)) / 2 * 2 + i % 2);
            add_sample(w, r, (int64_t)((double)r->low + (double)(r->high - r->low) * share) / 2 * 2 + (i + 1) % 2);
        }
    }
    qsort(w->samples, w->n_samples, sizeof *w->samples, by_value);
    size_t n = 0;
    for (size_t i = 0; i < w->n_samples; i++)
        if (n == 0 || w->samples[n - 1] != w->samples[i]) w->samples[n++] = w->samples[i];
    w->n_samples = n;
    return ADEPT_OK;
}

/* ---- one piece ---- */

typedef struct draft {
    const walked *from;
    int64_t low, high; /* known to hold between them */
    size_t n;
    adept_batch_term *terms; /* one for every number */
} draft;

/* Coefficients from three batches in a row, or as many as there are. */
static void find_terms(draft *d, const walked *second, const walked *third)
{
    const double *v0 = d->from->numbers.values;
    for (size_t i = 0; i < d->n; i++) {
        double v1 = second ? second->numbers.values[i] : v0[i];
        double first = v1 - v0[i], next = third ? third->numbers.values[i] - v1 : first;
        d->terms[i] = (adept_batch_term){i, first, next - first};
    }
}

static bool holds_at(const draft *d, const walked *w)
{
    double x = (double)(w->batch - d->from->batch);
    if (!adept_numbers_alike(&d->from->numbers, &w->numbers)) return false;
    for (size_t i = 0; i < d->n; i++)
        if (adept_batch_term_at(&d->terms[i], d->from->numbers.values[i], x) != w->numbers.values[i]) return false;
    return true;
}

static adept_status check(bool *holds, const draft *d, walker *w, int64_t batch)
{
    const walked *at;
    adept_status status = walk(&at, w, batch);
    if (status == ADEPT_OK) *holds = holds_at(d, at);
    return status;
}

/* The first batches of a piece, as long as they are alike. */
static adept_status begin(draft *d, walker *w, int64_t low, int64_t high)
{
    const walked *next[2] = {NULL, NULL};
    adept_status status = walk(&d->from, w, low);
    d->low = d->high = low;
    for (int i = 0; i < 2 && status == ADEPT_OK && low + i + 1 <= high; i++) {
        status = walk(&next[i], w, low + i + 1);
        if (status != ADEPT_OK || adept_numbers_alike(&d->from->numbers, &next[i]->numbers)) continue;
        next[i] = NULL;
        break;
    }
    if (status != ADEPT_OK) return status;
    d->n = d->from->numbers.n;
    d->terms = malloc((d->n + 1) * sizeof *d->terms);
    if (!d->terms) return no_memory(w->err);
    find_terms(d, next[0], next[1]);
    d->high += (next[0] != NULL) + (next[1] != NULL);
    return ADEPT_OK;
}

/* As far as samples agree, and then up to the batch before the one that does not. */
static adept_status extend(draft *d, walker *w, int64_t high)
{
    int64_t bad = high + 1;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < w->n_samples && status == ADEPT_OK && bad > high; i++) {
        bool holds = true;
        if (w->samples[i] <= d->high) continue;
        status = check(&holds, d, w, w->samples[i]);
        if (holds)
            d->high = w->samples[i];
        else
            bad = w->samples[i];
    }
    while (status == ADEPT_OK && bad <= high && bad - d->high > 1) {
        int64_t middle = d->high + (bad - d->high) / 2;
        bool holds = true;
        status = check(&holds, d, w, middle);
        if (holds)
            d->high = middle;
        else
            bad = middle;
    }
    return status;
}

/* About the base where the piece has it, so that it needs no profile of its own; second differences stay. */
static adept_status move_to_base(draft *d, walker *w)
{
    const walked *own;
    if (w->base < d->low || w->base > d->high) return ADEPT_OK;
    adept_status status = walk(&own, w, w->base);
    if (status != ADEPT_OK) return status;
    double moved = (double)(own->batch - d->from->batch);
    for (size_t i = 0; i < d->n; i++)
        d->terms[i].first += d->terms[i].second * moved;
    d->from = own;
    for (size_t i = 0; i < w->n; i++)
        if (w->done[i]->batch >= d->low && w->done[i]->batch <= d->high && !holds_at(d, w->done[i]))
            return adept_error_set(w->err, ADEPT_E_UNSUPPORTED, "counts of this model are too large, or no integers");
    return ADEPT_OK;
}

static adept_status take_profile(adept_batch_piece *piece, draft *d, walker *w)
{
    adept_status status = move_to_base(d, w);
    if (status != ADEPT_OK) return status;
    walked *taken = NULL;
    for (size_t i = 0; i < w->n; i++)
        if (w->done[i] == d->from) taken = w->done[i];
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->terms[i].first != 0.0 || d->terms[i].second != 0.0) d->terms[n++] = d->terms[i];
    *piece = (adept_batch_piece){.low = d->low, .high = d->high, .n_terms = n, .terms = d->terms};
    d->terms = NULL;
    /* The walk is not needed any more: later pieces begin behind this one. */
    piece->profile = taken->profile;
    piece->numbers = taken->numbers;
    taken->profile = NULL;
    taken->numbers = (adept_numbers){.n = 0};
    adept_batch_piece_index(piece);
    return ADEPT_OK;
}

static adept_status add_piece(adept_batches *b, walker *w, int64_t low, int64_t high)
{
    draft d = {.terms = NULL};
    if (b->n_pieces == ADEPT_BATCH_PIECES)
        return adept_error_set(w->err, ADEPT_E_UNSUPPORTED,
                               "counts of this model follow no polynomial in the batch: %d pieces reach from %" PRId64
                               " to %" PRId64 " only; ask for fewer batch sizes",
                               ADEPT_BATCH_PIECES, b->pieces[0].low, low - 1);
    adept_status status = begin(&d, w, low, high);
    if (status == ADEPT_OK) status = extend(&d, w, high);
    if (status == ADEPT_OK) status = take_profile(&b->pieces[b->n_pieces], &d, w);
    if (status == ADEPT_OK) b->n_pieces++;
    free(d.terms);
    return status;
}

/* ---- all pieces ---- */

static adept_status check_range(const adept_batch_range *r, adept_error *err)
{
    bool fine = r->low >= 1 && r->low <= r->base && r->base <= r->high && r->high <= ADEPT_MAX_BATCH;
    for (size_t i = 0; i < r->n_points; i++)
        fine = fine && r->points[i] >= r->low && r->points[i] <= r->high;
    if (fine) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE,
                           "batch sizes %" PRId64 " to %" PRId64 " about %" PRId64
                           ": they must be at least 1, at most %d, and hold the model's own",
                           r->low, r->high, r->base, ADEPT_MAX_BATCH);
}

static adept_status note_checked(adept_batches *b, const walker *w)
{
    b->checked = malloc((w->n + 1) * sizeof *b->checked);
    if (!b->checked) return no_memory(w->err);
    for (size_t i = 0; i < w->n; i++)
        b->checked[b->n_checked++] = w->done[i]->batch;
    return ADEPT_OK;
}

adept_status adept_batches_new(adept_batches **out, adept_batch_walk walk_at, void *context,
                               const adept_batch_range *range, adept_error *err)
{
    walker w = {.walk = walk_at, .context = context, .err = err, .base = range->base};
    adept_batches *b = calloc(1, sizeof *b);
    adept_status status = b ? check_range(range, err) : no_memory(err);
    if (status == ADEPT_OK) status = choose_samples(&w, range);
    if (status == ADEPT_OK) b->base = range->base;
    for (int64_t low = range->low; status == ADEPT_OK && low <= range->high;
         low = b->pieces[b->n_pieces - 1].high + 1) {
        status = add_piece(b, &w, low, range->high);
        if (status != ADEPT_OK) break;
    }
    if (status == ADEPT_OK) status = note_checked(b, &w);
    for (size_t i = 0; i < w.n; i++)
        free_walked(w.done[i]);
    free(w.done);
    free(w.samples);
    if (status == ADEPT_OK)
        *out = b;
    else
        adept_batches_free(b);
    return status;
}

/* Profiles of a range of batch sizes and sequence lengths: evaluating the polynomials that batches_build.c found. */
#include "batches.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TEXT_NUMBER 999999999999999.0

/* ---- evaluating ---- */

adept_batch_basis adept_batch_basis_at(double x, double y)
{
    const double xs[] = {1.0, x, x * (x - 1.0) / 2.0}, ys[] = {1.0, y, y * (y - 1.0) / 2.0};
#define X(name, i, j) xs[i] * ys[j],
    return (adept_batch_basis){{ADEPT_TERM_LIST(X)}};
#undef X
}

/* Sums and products of integers: exact. */
double adept_batch_term_at(const adept_batch_term *term, double value, const adept_batch_basis *basis)
{
    for (int i = 0; i < ADEPT_TERM_COEFFICIENTS; i++)
        value += term->c[i] * basis->c[i];
    return value;
}

adept_batch_point adept_batch_point_of(const adept_profile *profile)
{
    return (adept_batch_point){profile->batch_size, profile->seq_length};
}

bool adept_batch_piece_has(const adept_batch_piece *p, adept_batch_point at)
{
    return at.batch >= p->low.batch && at.batch <= p->high.batch && at.length >= p->low.length &&
           at.length <= p->high.length;
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
static bool set_plain(const adept_numbers_copy *copy, const adept_batch_piece *piece, const adept_batch_basis *basis)
{
    for (size_t i = 0; i < piece->first_text_term; i++) {
        const adept_batch_term *term = &piece->terms[i];
        const adept_numbers_place *place = &piece->numbers.places[term->number];
        double value = adept_batch_term_at(term, piece->numbers.values[term->number], basis);
        if (!is_possible(value, HUGE_VAL) || isinf(value)) return false;
        memcpy(copy->regions[place->region] + place->offset, &value, sizeof value);
    }
    return true;
}

/* Terms and texts are both in ascending order of their numbers. */
static adept_status set_texts(adept_numbers_copy *copy, const adept_batch_piece *piece, const adept_batch_basis *basis,
                              adept_error *err)
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
            *value = adept_batch_term_at(&piece->terms[at], *value, basis);
            if (!is_possible(*value, MAX_TEXT_NUMBER))
                return adept_error_set(err, ADEPT_E_INVALID, "profile: \"batches\" give a dimension of %g", *value);
        }
        if (!adept_numbers_set_text(copy, text, values))
            return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a profile");
    }
    return ADEPT_OK;
}

static const adept_batch_piece *piece_of(const adept_batches *b, adept_batch_point at)
{
    for (size_t i = 0; i < b->n_pieces; i++)
        if (adept_batch_piece_has(&b->pieces[i], at)) return &b->pieces[i];
    return NULL;
}

static adept_status outside(const adept_batches *b, adept_batch_point at, adept_error *err)
{
    const char *path = b->pieces[0].profile->model_path;
    if (at.batch < adept_batches_low(b) || at.batch > adept_batches_high(b))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: a batch of %" PRId64 " lies outside those it was profiled for, %" PRId64
                               " to %" PRId64
                               "; profile the model again: adept profile MODEL --batches FROM:TO -o FILE",
                               path, at.batch, adept_batches_low(b), adept_batches_high(b));
    if (b->base.length == 0)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "%s: was profiled without a choice of sequence lengths; profile the model again: adept "
                               "profile MODEL --seq-lengths FROM:TO -o FILE",
                               path);
    return adept_error_set(err, ADEPT_E_USAGE,
                           "%s: a sequence length of %" PRId64 " lies outside those it was profiled for, %" PRId64
                           " to %" PRId64
                           "; profile the model again: adept profile MODEL --seq-lengths FROM:TO -o FILE",
                           path, at.length, adept_batches_length_low(b), adept_batches_length_high(b));
}

static adept_status make(adept_profile **out, const adept_batches *b, adept_batch_point at, bool own_names,
                         adept_error *err)
{
    const adept_batch_piece *piece = piece_of(b, at);
    if (!piece) return outside(b, at, err);
    adept_batch_point from = adept_batch_point_of(piece->profile);
    adept_batch_basis basis = adept_batch_basis_at((double)(at.batch - from.batch), (double)(at.length - from.length));
    adept_numbers_copy copy = adept_numbers_copy_of(piece->profile, &piece->numbers);
    if (!copy.profile) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a profile");
    adept_status status = ADEPT_OK;
    copy.profile->batch_size = at.batch;
    copy.profile->seq_length = at.length;
    if (!set_plain(&copy, piece, &basis))
        status = adept_error_set(err, ADEPT_E_INVALID,
                                 "profile: the file gives an impossible count at a batch of %" PRId64
                                 " and a sequence length of %" PRId64,
                                 at.batch, at.length);
    if (status == ADEPT_OK) status = set_texts(&copy, piece, &basis, err);
    if (status == ADEPT_OK && own_names && !adept_numbers_own_names(&copy))
        status = adept_error_set(err, ADEPT_E_NOMEM, "out of memory for a profile");
    if (status != ADEPT_OK) {
        adept_profile_free(copy.profile);
        return status;
    }
    if (at.batch != from.batch || at.length != from.length) adept_profile_summarise(copy.profile);
    *out = copy.profile;
    return ADEPT_OK;
}

adept_status adept_batches_at_length(adept_profile **out, const adept_batches *b, int64_t batch, int64_t seq_length,
                                     adept_error *err)
{
    return make(out, b, (adept_batch_point){batch, seq_length ? seq_length : b->base.length}, false, err);
}

adept_status adept_batches_at(adept_profile **out, const adept_batches *b, int64_t batch, adept_error *err)
{
    return adept_batches_at_length(out, b, batch, 0, err);
}

adept_status adept_profile_read_at_length(adept_profile **out, const char *path, int64_t batch, int64_t seq_length,
                                          adept_error *err)
{
    adept_batches *b = NULL;
    adept_status status = adept_batches_read(&b, path, err);
    if (status != ADEPT_OK) return status;
    adept_batch_point at = b->base;
    if (batch != 0 && b->n_checked > 0) at.batch = batch;
    if (seq_length != 0 && b->n_checked > 0) at.length = seq_length;
    status = make(out, b, at, true, err);
    adept_batches_free(b);
    return status;
}

adept_status adept_profile_read_at(adept_profile **out, const char *path, int64_t batch, adept_error *err)
{
    return adept_profile_read_at_length(out, path, batch, 0, err);
}

int64_t adept_batches_base(const adept_batches *b)
{
    return b->base.batch;
}

int64_t adept_batches_low(const adept_batches *b)
{
    return b->pieces[0].low.batch;
}

int64_t adept_batches_high(const adept_batches *b)
{
    return b->pieces[b->n_pieces - 1].high.batch;
}

const int64_t *adept_batches_checked(const adept_batches *b, size_t *n)
{
    *n = b->n_checked;
    return b->checked;
}

int64_t adept_batches_length(const adept_batches *b)
{
    return b->base.length;
}

int64_t adept_batches_length_low(const adept_batches *b)
{
    return b->pieces[0].low.length;
}

int64_t adept_batches_length_high(const adept_batches *b)
{
    return b->pieces[b->n_pieces - 1].high.length;
}

const int64_t *adept_batches_lengths_checked(const adept_batches *b, size_t *n)
{
    *n = b->n_lengths_checked;
    return b->lengths_checked;
}

size_t adept_batches_walks(const adept_batches *b)
{
    return b->n_walks;
}

bool adept_batches_vary_length(const adept_batches *b)
{
    return adept_batches_length_low(b) < adept_batches_length_high(b);
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
    free(b->lengths_checked);
    free(b);
}

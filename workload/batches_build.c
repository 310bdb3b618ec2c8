/* Polynomials for a range of batch sizes and sequence lengths: found by walks at neighbouring sizes, checked by more
 * walks.
 *
 * Pieces come in rows. A row begins at its smallest length, where the range of batches is divided into pieces in full.
 * The same batches at the next two lengths give the polynomials their second variable, and then the row reaches as far
 * as walks at larger lengths agree: a few of each piece at every length tried, all samples at its last. Without a
 * choice of lengths there is one row of one length. */
#include "batches_walk.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GRID 3 /* neighbours in each direction that give a polynomial of second degree */

/* A piece in the making. */
typedef struct draft {
    int64_t low, high;        /* batches */
    adept_walked *from;       /* at `low` and the row's first length; owned */
    double *grid[GRID][GRID]; /* numbers at `low` + i, length + j; NULL where there are none */
    int n_batches;            /* along i */
    adept_batch_term *terms;  /* one for every number */
} draft;

typedef struct builder {
    adept_walker walker;
    const adept_batch_range *range;
    int64_t *batches, *lengths; /* samples */
    size_t n_batches, n_lengths;
    adept_batches *out;
    /* the row in the making */
    draft row[ADEPT_BATCH_PIECES];
    size_t n_row;
    int64_t low, high; /* lengths */
    int n_grid;        /* lengths in the grids */
} builder;

/* ---- polynomials ---- */

/* Differences up to the second along one line of three, of which n are known; the others are 0. */
static void difference(double *a, double *b, double *c, int n)
{
    *c = n > 2 ? *c - *b - (*b - *a) : 0.0;
    *b = n > 1 ? *b - *a : 0.0;
}

/* Coefficients from the values of one number at neighbours. */
static adept_batch_term term_of(size_t number, double v[GRID][GRID], int n_batches, int n_lengths)
{
    for (int j = 0; j < n_lengths; j++)
        difference(&v[0][j], &v[1][j], &v[2][j], n_batches);
    for (int i = 0; i < GRID; i++)
        difference(&v[i][0], &v[i][1], &v[i][2], n_lengths);
#define X(name, i, j) v[i][j],
    return (adept_batch_term){number, {ADEPT_TERM_LIST(X)}};
#undef X
}

static void find_terms(draft *d, int n_lengths)
{
    for (size_t k = 0; k < d->from->numbers.n; k++) {
        double v[GRID][GRID] = {{0}};
        for (int i = 0; i < d->n_batches; i++)
            for (int j = 0; j < n_lengths; j++)
                v[i][j] = d->grid[i][j][k];
        d->terms[k] = term_of(k, v, d->n_batches, n_lengths);
    }
}

static adept_batch_basis basis_at(const draft *d, adept_batch_point at)
{
    return adept_batch_basis_at((double)(at.batch - d->from->at.batch), (double)(at.length - d->from->at.length));
}

static bool agrees(const draft *d, const adept_walked *w)
{
    adept_batch_basis basis = basis_at(d, w->at);
    if (!adept_numbers_alike(&d->from->numbers, &w->numbers)) return false;
    for (size_t k = 0; k < w->numbers.n; k++)
        if (adept_batch_term_at(&d->terms[k], d->from->numbers.values[k], &basis) != w->numbers.values[k]) return false;
    return true;
}

static adept_status check(bool *holds, builder *b, const draft *d, int64_t batch, int64_t length)
{
    adept_walked *at = NULL;
    adept_status status = adept_walk_at(&at, &b->walker, (adept_batch_point){batch, length});
    if (status == ADEPT_OK) *holds = agrees(d, at);
    adept_walked_free(at);
    return status;
}

/* ---- a piece along the batches, at the row's first length ---- */

/* Walk a place of the grid, if it is like the first; *there says so. */
static adept_status fill_place(bool *there, builder *b, draft *d, int i, int j)
{
    adept_walked *w = NULL;
    adept_status status = adept_walk_at(&w, &b->walker, (adept_batch_point){d->low + i, b->low + j});
    *there = status == ADEPT_OK && adept_numbers_alike(&d->from->numbers, &w->numbers);
    if (*there) {
        d->grid[i][j] = w->numbers.values;
        w->numbers.values = NULL;
    }
    adept_walked_free(w);
    return status;
}

static adept_status begin(builder *b, draft *d)
{
    bool there = true;
    adept_status status = adept_walk_at(&d->from, &b->walker, (adept_batch_point){d->low, b->low});
    if (status != ADEPT_OK) return status;
    size_t n = d->from->numbers.n;
    d->terms = malloc((n + 1) * sizeof *d->terms);
    d->grid[0][0] = malloc((n + 1) * sizeof *d->grid[0][0]);
    if (!d->terms || !d->grid[0][0]) return adept_walk_nomem(b->walker.err);
    memcpy(d->grid[0][0], d->from->numbers.values, n * sizeof *d->grid[0][0]);
    for (d->n_batches = 1; d->n_batches < GRID && d->low + d->n_batches <= b->range->high && there;) {
        status = fill_place(&there, b, d, d->n_batches, 0);
        if (status != ADEPT_OK) return status;
        d->n_batches += there;
    }
    d->high = d->low + d->n_batches - 1;
    find_terms(d, 1);
    return ADEPT_OK;
}

/* As far as samples agree, and then up to the batch before the one that does not. */
static adept_status extend(builder *b, draft *d)
{
    int64_t last = b->range->high, bad = last + 1;
    adept_status status = ADEPT_OK;
    for (size_t i = 0; i < b->n_batches && status == ADEPT_OK && bad > last; i++) {
        bool holds = true;
        if (b->batches[i] <= d->high) continue;
        status = check(&holds, b, d, b->batches[i], b->low);
        *(holds ? &d->high : &bad) = b->batches[i];
    }
    while (status == ADEPT_OK && bad <= last && bad - d->high > 1) {
        int64_t middle = d->high + (bad - d->high) / 2;
        bool holds = true;
        status = check(&holds, b, d, middle, b->low);
        *(holds ? &d->high : &bad) = middle;
    }
    return status;
}

static adept_status too_many(const builder *b)
{
    const adept_batch_range *r = b->range;
    int64_t reached = b->n_row > 0 ? b->row[b->n_row - 1].high : r->low;
    if (b->out->n_pieces > 0 && b->low > r->lengths.low)
        return adept_error_set(b->walker.err, ADEPT_E_UNSUPPORTED,
                               "counts of this model follow no polynomial in batch and length: %d pieces reach from a "
                               "sequence length of %" PRId64 " to %" PRId64 " only; ask for fewer",
                               ADEPT_BATCH_PIECES, r->lengths.low, b->low - 1);
    return adept_error_set(b->walker.err, ADEPT_E_UNSUPPORTED,
                           "counts of this model follow no polynomial in the batch: %d pieces reach from %" PRId64
                           " to %" PRId64 " only; ask for fewer batch sizes",
                           ADEPT_BATCH_PIECES, r->low, reached);
}

static adept_status begin_row(builder *b)
{
    adept_status status = ADEPT_OK;
    for (int64_t low = b->range->low; status == ADEPT_OK && low <= b->range->high;
         low = b->row[b->n_row - 1].high + 1) {
        if (b->out->n_pieces + b->n_row == ADEPT_BATCH_PIECES) return too_many(b);
        draft *d = &b->row[b->n_row++];
        *d = (draft){.low = low};
        status = begin(b, d);
        if (status == ADEPT_OK) status = extend(b, d);
    }
    return status;
}

/* ---- the row along the lengths ---- */

/* The same neighbours at the next lengths, as long as all pieces have them. */
static adept_status fill_grids(builder *b)
{
    bool there = true;
    adept_status status = ADEPT_OK;
    for (b->n_grid = 1; b->n_grid < GRID && b->low + b->n_grid <= b->range->lengths.high && there; b->n_grid += there)
        for (size_t k = 0; k < b->n_row && there; k++)
            for (int i = 0; i < b->row[k].n_batches && there; i++) {
                status = fill_place(&there, b, &b->row[k], i, b->n_grid);
                if (status != ADEPT_OK) return status;
            }
    for (size_t k = 0; k < b->n_row; k++)
        find_terms(&b->row[k], b->n_grid);
    return ADEPT_OK;
}

static const draft *draft_of(const builder *b, int64_t batch)
{
    const draft *d = b->row;
    while (batch > d->high)
        d++;
    return d;
}

/* Does the row hold at a length? At both ends of every piece, where the batch is as large as the length, and at three
 * batches that differ from length to length; `all`: at every sample. */
static adept_status check_length(bool *holds, builder *b, int64_t length, bool all)
{
    size_t n = all ? b->n_batches : 3;
    adept_status status = ADEPT_OK;
    *holds = true;
    if (length >= b->range->low && length <= b->range->high)
        status = check(holds, b, draft_of(b, length), length, length);
    for (size_t k = 0; k < b->n_row && status == ADEPT_OK && *holds; k++) {
        const draft *d = &b->row[k];
        status = check(holds, b, d, d->low, length);
        if (status == ADEPT_OK && *holds && d->high > d->low) status = check(holds, b, d, d->high, length);
    }
    for (size_t i = 0; i < n && status == ADEPT_OK && *holds; i++) {
        int64_t batch = b->batches[all ? i : (size_t)(length * 3 + (int64_t)i * 7) % b->n_batches];
        const draft *d = draft_of(b, batch);
        if (batch != d->low && batch != d->high) status = check(holds, b, d, batch, length);
    }
    return status;
}

/* The last length before `bad` at which the row holds, b->high being one. */
static adept_status halve(builder *b, int64_t bad, bool all)
{
    adept_status status = ADEPT_OK;
    while (status == ADEPT_OK && bad - b->high > 1) {
        int64_t middle = b->high + (bad - b->high) / 2;
        bool holds = true;
        status = check_length(&holds, b, middle, all);
        *(holds ? &b->high : &bad) = middle;
    }
    return status;
}

static adept_status extend_row(builder *b)
{
    adept_status status = ADEPT_OK;
    bool holds = true;
    b->high = b->low;
    for (size_t i = 0; i < b->n_lengths && status == ADEPT_OK && holds; i++) {
        if (b->lengths[i] <= b->low) continue;
        status = check_length(&holds, b, b->lengths[i], false);
        if (status == ADEPT_OK && !holds) status = halve(b, b->lengths[i], false);
        if (status == ADEPT_OK && holds) b->high = b->lengths[i];
    }
    if (status != ADEPT_OK || b->high == b->low) return status;
    status = check_length(&holds, b, b->high, true);
    if (status != ADEPT_OK || holds) return status;
    int64_t bad = b->high;
    b->high = b->low;
    return halve(b, bad, true);
}

/* ---- finished pieces ---- */

/* About the base where the piece has it, so that it needs no profile of its own. The polynomial's values about the base
 * give its coefficients there. */
static adept_status move_to_base(builder *b, draft *d, adept_batch_point base)
{
    adept_walked *own = NULL;
    adept_status status = adept_walk_at(&own, &b->walker, base);
    if (status != ADEPT_OK) return status;
    const adept_batch_point corners[] = {{d->low, b->low}, {d->low, b->high}, {d->high, b->low}, {d->high, b->high}};
    bool exact = agrees(d, own);
    for (size_t k = 0; k < own->numbers.n && exact; k++) {
        double v[GRID][GRID], value = d->from->numbers.values[k];
        for (int i = 0; i < GRID; i++)
            for (int j = 0; j < GRID; j++) {
                adept_batch_basis basis = basis_at(d, (adept_batch_point){base.batch + i, base.length + j});
                v[i][j] = adept_batch_term_at(&d->terms[k], value, &basis);
            }
        adept_batch_term moved = term_of(k, v, GRID, GRID);
        for (int i = 0; i < 4; i++) {
            adept_batch_basis before = basis_at(d, corners[i]);
            adept_batch_basis after = adept_batch_basis_at((double)(corners[i].batch - base.batch),
                                                           (double)(corners[i].length - base.length));
            exact = exact && adept_batch_term_at(&d->terms[k], value, &before) ==
                                 adept_batch_term_at(&moved, own->numbers.values[k], &after);
        }
        d->terms[k] = moved;
    }
    adept_walked_free(d->from);
    d->from = own;
    if (exact) return ADEPT_OK;
    return adept_error_set(b->walker.err, ADEPT_E_UNSUPPORTED, "counts of this model are too large, or no integers");
}

static bool changes(const adept_batch_term *term)
{
    for (int i = 0; i < ADEPT_TERM_COEFFICIENTS; i++)
        if (term->c[i] != 0.0) return true;
    return false;
}

static void free_draft(draft *d)
{
    for (int i = 0; i < GRID; i++)
        for (int j = 0; j < GRID; j++)
            free(d->grid[i][j]);
    adept_walked_free(d->from);
    free(d->terms);
}

static adept_status finish(builder *b, draft *d)
{
    adept_batch_piece *p = &b->out->pieces[b->out->n_pieces];
    const adept_batch_range *r = b->range;
    const adept_batch_point base = {r->base, r->lengths.base};
    *p = (adept_batch_piece){.low = {d->low, b->low}, .high = {d->high, b->high}};
    if (b->high == b->low) find_terms(d, 1); /* the next length is another row's */
    adept_status status = adept_batch_piece_has(p, base) ? move_to_base(b, d, base) : ADEPT_OK;
    if (status != ADEPT_OK) return status;
    for (size_t k = 0; k < d->from->numbers.n; k++)
        if (changes(&d->terms[k])) d->terms[p->n_terms++] = d->terms[k];
    p->terms = d->terms;
    p->profile = d->from->profile;
    p->numbers = d->from->numbers;
    d->terms = NULL;
    d->from->profile = NULL;
    d->from->numbers = (adept_numbers){.n = 0};
    if (r->lengths.high == 0) p->low.length = p->high.length = p->profile->seq_length; /* one that was no choice here */
    adept_batch_piece_index(p);
    b->out->n_pieces++;
    return ADEPT_OK;
}

static adept_status add_row(builder *b)
{
    b->n_row = 0;
    adept_status status = begin_row(b);
    b->high = b->low;
    if (status == ADEPT_OK && b->low < b->range->lengths.high) {
        status = fill_grids(b);
        if (status == ADEPT_OK) status = extend_row(b);
    }
    for (size_t k = 0; k < b->n_row; k++) {
        if (status == ADEPT_OK) status = finish(b, &b->row[k]);
        free_draft(&b->row[k]);
    }
    return status;
}

/* ---- all rows ---- */

static bool is_range(int64_t low, int64_t high, int64_t base, const int64_t *points, size_t n_points)
{
    bool fine = low >= 1 && low <= base && base <= high;
    for (size_t i = 0; i < n_points; i++)
        fine = fine && points[i] >= low && points[i] <= high;
    return fine;
}

static adept_status check_range(const adept_batch_range *r, adept_error *err)
{
    const adept_size_range *l = &r->lengths;
    if (!is_range(r->low, r->high, r->base, r->points, r->n_points) || r->high > ADEPT_MAX_BATCH)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "batch sizes %" PRId64 " to %" PRId64 " about %" PRId64
                               ": they must be at least 1, at most %d, and hold the model's own",
                               r->low, r->high, r->base, ADEPT_MAX_BATCH);
    if (l->low == 0 && l->high == 0 && l->base == 0 && l->n_points == 0) return ADEPT_OK;
    if (!is_range(l->low, l->high, l->base, l->points, l->n_points) || l->high > ADEPT_MAX_LENGTH)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "sequence lengths %" PRId64 " to %" PRId64 " about %" PRId64
                               ": they must be at least 1, at most %d, and hold the model's own",
                               l->low, l->high, l->base, ADEPT_MAX_LENGTH);
    return ADEPT_OK;
}

static adept_status note_checked(const builder *b)
{
    const adept_walker *w = &b->walker;
    adept_batches *out = b->out;
    out->checked = malloc((w->n + 1) * sizeof *out->checked);
    out->lengths_checked = malloc((w->n + 1) * sizeof *out->lengths_checked);
    if (!out->checked || !out->lengths_checked) return adept_walk_nomem(w->err);
    for (size_t i = 0; i < w->n; i++) {
        out->checked[i] = w->done[i].batch;
        out->lengths_checked[i] = w->done[i].length;
    }
    out->n_checked = adept_sizes_sort(out->checked, w->n);
    out->n_lengths_checked = b->range->lengths.high > 0 ? adept_sizes_sort(out->lengths_checked, w->n) : 0;
    out->n_walks = w->n;
    return ADEPT_OK;
}

/* The longest first: a model whose positions end before it says so at once. Its dimensions say what else is to be
 * walked. */
static adept_status choose_samples(builder *b)
{
    adept_walked *longest = NULL;
    const adept_batch_range *r = b->range;
    const adept_size_range batches = {r->low, r->high, r->base, r->points, r->n_points};
    adept_status status = adept_walk_at(&longest, &b->walker, (adept_batch_point){r->base, r->lengths.high});
    if (status != ADEPT_OK) return status;
    b->batches = adept_size_samples(&batches, &longest->numbers, &b->n_batches);
    if (r->lengths.high > 0) b->lengths = adept_size_samples(&r->lengths, &longest->numbers, &b->n_lengths);
    adept_walked_free(longest);
    return b->batches && (r->lengths.high == 0 || b->lengths) ? ADEPT_OK : adept_walk_nomem(b->walker.err);
}

static adept_status build(builder *b)
{
    const adept_batch_range *r = b->range;
    adept_status status = choose_samples(b);
    for (b->low = r->lengths.low; status == ADEPT_OK && b->low <= r->lengths.high; b->low = b->high + 1)
        status = add_row(b);
    b->out->base = (adept_batch_point){r->base, r->lengths.base};
    if (status == ADEPT_OK && r->lengths.high == 0) b->out->base.length = adept_batches_length_low(b->out);
    return status == ADEPT_OK ? note_checked(b) : status;
}

adept_status adept_batches_new(adept_batches **out, adept_batch_walk walk_at, void *context,
                               const adept_batch_range *range, adept_error *err)
{
    adept_status status = check_range(range, err);
    if (status != ADEPT_OK) return status;
    builder *b = calloc(1, sizeof *b); /* large for the stack */
    if (b) b->out = calloc(1, sizeof *b->out);
    if (!b || !b->out) {
        free(b);
        return adept_walk_nomem(err);
    }
    b->walker = (adept_walker){.walk = walk_at, .context = context, .err = err};
    b->range = range;
    status = build(b);
    if (status == ADEPT_OK)
        *out = b->out;
    else
        adept_batches_free(b->out);
    free(b->walker.done);
    free(b->batches);
    free(b->lengths);
    free(b);
    return status;
}

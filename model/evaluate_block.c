/** @file evaluate_block.c  Building blocks of rows; see evaluate.h. Calls: nothing. */
#include "evaluate.h"
#include <stdlib.h>

void adept_row_block_init(adept_row_block *b)
{
    b->n_passes = b->n_rows = b->n_pieces = b->piece_capacity = 0;
    b->pieces = NULL;
}

/* Entry n - 1, repeated up to the next multiple of the lanes. */
static void put_last(double *column, size_t n, double value)
{
    for (size_t i = n - 1; i < ADEPT_PADDED(n); i++)
        column[i] = value;
}

static void put_last_index(int32_t *column, size_t n, int32_t value)
{
    for (size_t i = n - 1; i < ADEPT_PADDED(n); i++)
        column[i] = value;
}

static double piece_amount(const adept_pieces *pieces, const adept_row_block_piece *wanted)
{
    for (size_t i = 0; pieces && i < pieces->n; i++)
        if (pieces->items[i].scalars == wanted->scalars && pieces->items[i].column == wanted->column)
            return pieces->items[i].amount;
    return 0.0;
}

static bool is_pass(const adept_row_block *b, size_t pass, const adept_placed_numbers *numbers, const adept_pieces *pieces)
{
    bool same = true;
    for (int i = 0; i < ADEPT_OF_PASS; i++)
        same = same && b->of_pass[i][pass] == numbers->of_pass[i];
    for (size_t i = 0; i < b->n_pieces; i++)
        same = same && b->pieces[i].amount[pass] == piece_amount(pieces, &b->pieces[i]);
    return same;
}

/* Make sure that the block has each of these, with nothing of it in the passes so far. */
static bool add_pieces(adept_row_block *b, const adept_pieces *pieces)
{
    for (size_t i = 0; pieces && i < pieces->n; i++) {
        const adept_piece *p = &pieces->items[i];
        size_t at = 0;
        while (at < b->n_pieces && (b->pieces[at].scalars != p->scalars || b->pieces[at].column != p->column))
            at++;
        if (at < b->n_pieces) continue;
        if (at == b->piece_capacity) {
            size_t capacity = at ? 2 * at : 4;
            adept_row_block_piece *larger = aligned_alloc(_Alignof(adept_row_block_piece), capacity * sizeof *larger);
            if (!larger) return false;
            if (at) memcpy(larger, b->pieces, at * sizeof *larger);
            free(b->pieces);
            b->pieces = larger;
            b->piece_capacity = capacity;
        }
        b->pieces[b->n_pieces++] = (adept_row_block_piece){.scalars = p->scalars, .column = p->column};
    }
    return true;
}

static size_t pass_index(adept_row_block *b, const adept_placed_numbers *numbers, const adept_pieces *pieces)
{
    for (size_t i = 0; i < b->n_passes; i++)
        if (is_pass(b, i, numbers, pieces)) return i;
    size_t n = ++b->n_passes;
    for (int i = 0; i < ADEPT_OF_PASS; i++)
        put_last(b->of_pass[i], n, numbers->of_pass[i]);
    for (int d = 0; d < ADEPT_DIMENSIONS; d++) {
        int32_t first = 0;
        while ((size_t)first + 1 < n && b->dim[d][first] != numbers->dim[d])
            first++;
        put_last_index(b->first[d], n, first);
    }
    for (size_t i = 0; i < b->n_pieces; i++)
        put_last(b->pieces[i].amount, n, piece_amount(pieces, &b->pieces[i]));
    return n - 1;
}

adept_status adept_row_block_add(adept_row_block *b, const adept_placed_numbers *numbers, const adept_pieces *pieces,
                            adept_error *err)
{
    if (!add_pieces(b, pieces)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for targeted scalars");
    size_t n = ++b->n_rows, pass = pass_index(b, numbers, pieces);
    put_last_index(b->row_pass, n, (int32_t)pass);
    for (int i = 0; i < ADEPT_ROW_COLUMNS; i++)
        put_last(b->row[i], n, numbers->row[i]);
    return ADEPT_OK;
}

/** @file evaluate_block.c  Building blocks of rows; see evaluate.h. Calls: nothing. */
#include "evaluate.h"
#include <stdlib.h>

void adept_rows_init(adept_rows *b)
{
    for (int i = 0; i < ADEPT_DIMENSIONS; i++)
        b->n_dim[i] = 0;
    b->n_gemm = b->n_conv = b->n_passes = b->n_rows = 0;
    b->n_pieces = b->piece_capacity = 0;
    b->pieces = NULL;
}

/* Repeat entry n - 1 up to the next multiple of the lanes. */
static void pad(double *column, size_t n)
{
    for (size_t i = n; i < ADEPT_PADDED(n); i++)
        column[i] = column[n - 1];
}

static void pad_index(int32_t *column, size_t n)
{
    for (size_t i = n; i < ADEPT_PADDED(n); i++)
        column[i] = column[n - 1];
}

static int32_t dim_index(adept_rows *b, int dim, double value)
{
    size_t n = b->n_dim[dim];
    for (size_t i = 0; i < n; i++)
        if (b->dim[dim][i] == value) return (int32_t)i;
    b->dim[dim][n] = value;
    pad(b->dim[dim], ++b->n_dim[dim]);
    return (int32_t)n;
}

/* The class of dimensions first .. first + n_dims - 1. */
static int32_t class_index(adept_rows *b, adept_lane_index *members, size_t *n_classes, int first, int n_dims,
                           const double *dim)
{
    int32_t wanted[3] = {0};
    for (int d = 0; d < n_dims; d++)
        wanted[d] = dim_index(b, first + d, dim[first + d]);
    for (size_t i = 0; i < *n_classes; i++) {
        bool same = true;
        for (int d = 0; d < n_dims; d++)
            same = same && members[d][i] == wanted[d];
        if (same) return (int32_t)i;
    }
    size_t n = (*n_classes)++;
    for (int d = 0; d < n_dims; d++) {
        members[d][n] = wanted[d];
        pad_index(members[d], n + 1);
    }
    return (int32_t)n;
}

static double piece_amount(const adept_pieces *pieces, const adept_rows_piece *wanted)
{
    for (size_t i = 0; pieces && i < pieces->n; i++)
        if (pieces->items[i].scalars == wanted->scalars && pieces->items[i].column == wanted->column)
            return pieces->items[i].amount;
    return 0.0;
}

static bool is_pass(const adept_rows *b, size_t pass, const adept_placed_numbers *numbers, const adept_pieces *pieces,
                    int32_t gemm, int32_t conv)
{
    bool same = b->pass_gemm[pass] == gemm && b->pass_conv[pass] == conv;
    for (int i = 0; i < ADEPT_WORK_COLUMNS; i++)
        same = same && b->work[i][pass] == numbers->work[i];
    for (int i = 0; i < ADEPT_PASS_COLUMNS; i++)
        same = same && b->pass[i][pass] == numbers->pass[i];
    for (size_t i = 0; i < b->n_pieces; i++)
        same = same && b->pieces[i].amount[pass] == piece_amount(pieces, &b->pieces[i]);
    return same;
}

/* Make sure that the block has each of these, with nothing of it in the passes so far. */
static bool add_pieces(adept_rows *b, const adept_pieces *pieces)
{
    for (size_t i = 0; pieces && i < pieces->n; i++) {
        const adept_piece *p = &pieces->items[i];
        size_t at = 0;
        while (at < b->n_pieces && (b->pieces[at].scalars != p->scalars || b->pieces[at].column != p->column))
            at++;
        if (at < b->n_pieces) continue;
        if (at == b->piece_capacity) {
            size_t capacity = at ? 2 * at : 4;
            adept_rows_piece *larger = aligned_alloc(_Alignof(adept_rows_piece), capacity * sizeof *larger);
            if (!larger) return false;
            if (at) memcpy(larger, b->pieces, at * sizeof *larger);
            free(b->pieces);
            b->pieces = larger;
            b->piece_capacity = capacity;
        }
        b->pieces[b->n_pieces++] = (adept_rows_piece){.scalars = p->scalars, .column = p->column};
    }
    return true;
}

static size_t pass_index(adept_rows *b, const adept_placed_numbers *numbers, const adept_pieces *pieces)
{
    int32_t gemm = class_index(b, b->gemm_dim, &b->n_gemm, ADEPT_DIM_M, 3, numbers->dim);
    int32_t conv = class_index(b, b->conv_dim, &b->n_conv, ADEPT_DIM_BLOCKS, 2, numbers->dim);
    for (size_t i = 0; i < b->n_passes; i++)
        if (is_pass(b, i, numbers, pieces, gemm, conv)) return i;
    size_t at = b->n_passes++, n = b->n_passes;
    b->pass_gemm[at] = gemm;
    b->pass_conv[at] = conv;
    pad_index(b->pass_gemm, n);
    pad_index(b->pass_conv, n);
    for (int i = 0; i < ADEPT_WORK_COLUMNS; i++) {
        b->work[i][at] = numbers->work[i];
        pad(b->work[i], n);
    }
    for (int i = 0; i < ADEPT_PASS_COLUMNS; i++) {
        b->pass[i][at] = numbers->pass[i];
        pad(b->pass[i], n);
    }
    for (size_t i = 0; i < b->n_pieces; i++) {
        b->pieces[i].amount[at] = piece_amount(pieces, &b->pieces[i]);
        pad(b->pieces[i].amount, n);
    }
    return at;
}

adept_status adept_rows_add(adept_rows *b, const adept_placed_numbers *numbers, const adept_pieces *pieces,
                            adept_error *err)
{
    if (!add_pieces(b, pieces)) return adept_error_set(err, ADEPT_E_NOMEM, "out of memory for targeted scalars");
    size_t at = b->n_rows++, n = b->n_rows;
    b->row_pass[at] = (int32_t)pass_index(b, numbers, pieces);
    pad_index(b->row_pass, n);
    for (int i = 0; i < ADEPT_ROW_COLUMNS; i++) {
        b->row[i][at] = numbers->row[i];
        pad(b->row[i], n);
    }
    return ADEPT_OK;
}

/** @file batches.h  Pieces of a range of batch sizes and sequence lengths. Private to workload/. */
#ifndef ADEPT_BATCHES_PRIVATE_H
#define ADEPT_BATCHES_PRIVATE_H
#include "adept_batches.h"
#include "profile_numbers.h"

#define ADEPT_BATCH_PIECES 64 /* most of one file */
#define ADEPT_MAX_BATCH 1000000000
#define ADEPT_MAX_LENGTH 100000000

/* X(name in files, degree in the batch, degree in the length): coefficients of a number, those without a length first. */
#define ADEPT_TERM_LIST(X)    \
    X("first", 1, 0)          \
    X("second", 2, 0)         \
    X("length", 0, 1)         \
    X("first_length", 1, 1)   \
    X("second_length", 2, 1)  \
    X("length2", 0, 2)        \
    X("first_length2", 1, 2)  \
    X("second_length2", 2, 2)
#define ADEPT_TERM_COEFFICIENTS 8
#define ADEPT_TERM_NEEDED 1 /* "first" is always in a file, the others where one is not 0 */

/* A number that changes: x batches and y tokens of length above the piece's own it is value + the sum of c * C(x, i) * C(y, j),
 * C(x, 1) = x, C(x, 2) = x (x - 1) / 2. */
typedef struct adept_batch_term {
    size_t number;
    double c[ADEPT_TERM_COEFFICIENTS];
} adept_batch_term;

/* The products of C(x, i) and C(y, j). */
typedef struct adept_batch_basis {
    double c[ADEPT_TERM_COEFFICIENTS];
} adept_batch_basis;

/* A batch size and a sequence length; 0 where the length is no choice. */
typedef struct adept_batch_point {
    int64_t batch, length;
} adept_batch_point;

/* A rectangle of them in which the model runs the same operators. */
typedef struct adept_batch_piece {
    adept_batch_point low, high;
    adept_profile *profile; /* owned; its batch and length lie in the piece */
    adept_numbers numbers;  /* of it */
    size_t n_terms;
    adept_batch_term *terms; /* by number, ascending */
    size_t first_text_term;  /* terms from here on are numbers in texts */
} adept_batch_piece;

struct adept_batches {
    adept_batch_point base;
    /* In rows: the pieces of a row have the same lengths and all batches, ascending, without gaps; so have the rows the lengths. */
    size_t n_pieces;
    adept_batch_piece pieces[ADEPT_BATCH_PIECES];
    size_t n_checked, n_lengths_checked, n_walks;
    int64_t *checked, *lengths_checked; /* ascending; those walked with some other */
};

/** Are lengths a choice here? A range of one length is none. */
bool adept_batches_vary_length(const adept_batches *batches);

adept_batch_basis adept_batch_basis_at(double x, double y);
double adept_batch_term_at(const adept_batch_term *term, double value, const adept_batch_basis *basis);
/** Sets first_text_term from the numbers and terms. */
void adept_batch_piece_index(adept_batch_piece *piece);
/** The piece's profile at its own batch and length. */
adept_batch_point adept_batch_point_of(const adept_profile *profile);
bool adept_batch_piece_has(const adept_batch_piece *piece, adept_batch_point at);

#endif

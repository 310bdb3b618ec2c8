/** @file batches.h  Pieces of a range of batch sizes. Private to workload/. */
#ifndef ADEPT_BATCHES_PRIVATE_H
#define ADEPT_BATCHES_PRIVATE_H
#include "adept_batches.h"
#include "profile_numbers.h"

#define ADEPT_BATCH_PIECES 64 /* most of one range */
#define ADEPT_MAX_BATCH 1000000000

/* A number that changes: at x batches above the piece's own it is value + first * x + second * x (x - 1) / 2. */
typedef struct adept_batch_term {
    size_t number;
    double first, second;
} adept_batch_term;

/* Batch sizes at which the model runs the same operators. */
typedef struct adept_batch_piece {
    int64_t low, high;
    adept_profile *profile; /* owned; its batch lies in the piece */
    adept_numbers numbers;  /* of it */
    size_t n_terms;
    adept_batch_term *terms; /* by number, ascending */
    size_t first_text_term;  /* terms from here on are numbers in texts */
} adept_batch_piece;

struct adept_batches {
    int64_t base;
    size_t n_pieces, n_checked;
    adept_batch_piece pieces[ADEPT_BATCH_PIECES]; /* ascending, without gaps */
    int64_t *checked;                             /* ascending */
};

double adept_batch_term_at(const adept_batch_term *term, double value, double x);
/** Sets first_text_term from the numbers and terms. */
void adept_batch_piece_index(adept_batch_piece *piece);

#endif

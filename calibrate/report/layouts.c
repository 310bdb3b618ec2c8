/** @file layouts.c  What predictions of layouts are worth; see adept_layouts.h. */
#include "adept_layouts.h"
#include "adept_json_writer.h"
#include "adept_statistics.h"
#include "fit_report.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIGHT 0.9 /* of the board's memory */

/* ---- order ---- */

adept_order adept_kendall(const double *measured, const double *predicted, const size_t *same, size_t n, double apart)
{
    adept_order o = {.n_pairs = 0};
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < i; k++) {
            const double least = fmin(measured[i], measured[k]), difference = measured[i] - measured[k];
            const double expected = predicted[i] - predicted[k];
            if (!(fabs(difference) > apart * least) || (same && same[i] == same[k])) continue;
            o.n_pairs++;
            sum += expected == 0 ? 0 : (expected > 0) == (difference > 0) ? 1 : -1;
        }
    o.tau = o.n_pairs > 0 ? sum / (double)o.n_pairs : NAN;
    return o;
}

double adept_regret(const double *measured, const double *predicted, size_t n, size_t first)
{
    double best = NAN, chosen = NAN;

    for (size_t i = 0; i < n; i++) {
        size_t better = 0; /* predicted better, or as good and before it */
        for (size_t k = 0; k < n; k++)
            better += predicted[k] < predicted[i] || (predicted[k] == predicted[i] && k < i);
        best = fmin(best, measured[i]);
        if (better < first) chosen = fmin(chosen, measured[i]);
    }
    return 100 * (chosen - best) / best;
}

/* ---- rows ---- */

typedef struct timed_row {
    const adept_scored *scored;
    const char *stack, *source;
    size_t stack_id, source_id; /* numbers of the first rows of either */
    double measured_s, predicted_s, ideal_s;
    double gpu_s_per_token; /* what a second of the step is divided by to get GPU seconds a token */
    size_t same;            /* number of the first row of the same configuration */
} timed_row;

/* Tokens of a step, or samples of what has none; and GPUs. */
static double tokens_per_gpu(const adept_scored *s)
{
    const adept_dataset_row *m = s->measured;
    const double length = m->seq_length > 0 ? (double)m->seq_length : 1;

    return s->samples * length / (double)m->run.gpus;
}

static bool is_same(const adept_dataset_row *a, const adept_dataset_row *b)
{
    return a->profile == b->profile && a->hw == b->hw && memcmp(&a->run, &b->run, sizeof a->run) == 0;
}

/* ---- factors ---- */

/* Which rows a factor may be made of. */
typedef enum kin { OF_STACK, OF_STACK_HERE, HERE, ANY } kin;

static bool is_kin(const timed_row *a, const timed_row *b, kin of)
{
    const adept_dataset_row *x = a->scored->measured, *y = b->scored->measured;
    const bool stack = a->stack_id == b->stack_id, here = x->hw == y->hw && x->precision == y->precision;

    return of == OF_STACK ? stack : of == OF_STACK_HERE ? stack && here : of == HERE ? here : true;
}

static double median(double *values, size_t n)
{
    qsort(values, n, sizeof *values, adept_by_size);
    return adept_quantile(values, n, 0.5);
}

/* Median of measured over `of` of the rows that are kin to row i, without itself or, without its source. NAN: there is
 * none */
static double factor_for(const timed_row *rows, size_t n, size_t i, kin of, bool without_source, bool ideal,
                         double *room)
{
    size_t count = 0;

    for (size_t k = 0; k < n; k++) {
        if (without_source ? rows[k].source_id == rows[i].source_id : k == i) continue;
        const double base = ideal ? rows[k].ideal_s : rows[k].predicted_s;
        if (is_kin(&rows[k], &rows[i], of) && base > 0) room[count++] = rows[k].measured_s / base;
    }
    return count > 0 ? median(room, count) : NAN;
}

/* The median over other stacks of their factors, so that each counts the same. */
static double factor_of_others(const timed_row *rows, size_t n, size_t i, double *room, double *more)
{
    size_t stacks = 0;

    for (size_t k = 0; k < n; k++) {
        size_t count = 0;
        if (rows[k].stack_id != k) continue;
        for (size_t j = k; j < n; j++)
            if (rows[j].stack_id == k && rows[j].source_id != rows[i].source_id)
                room[count++] = rows[j].measured_s / rows[j].predicted_s;
        if (count > 0) more[stacks++] = median(room, count);
    }
    return stacks > 0 ? median(more, stacks) : NAN;
}

static double first_known(double a, double b, double c)
{
    return !isnan(a) ? a : !isnan(b) ? b : c;
}

/* ---- errors ---- */

/* Five predictions of a row. */
enum { AS_IS, FACTOR, SOURCE_LEFT, FLOOR, FLOOR_SOURCE_LEFT, N_WAYS };

static adept_error_stats stats(const timed_row *rows, const double (*ways)[N_WAYS], size_t n, int way,
                               const char *stack, const char *source, double *room)
{
    adept_error_sum sum = {.absolute = room};

    for (size_t i = 0; i < n; i++) {
        const adept_scored *of = rows[i].scored;
        if (isnan(ways[i][way]) || (stack && strcmp(rows[i].stack, stack) != 0) ||
            (source && strcmp(rows[i].source, source) != 0))
            continue;
        adept_error_sum_add(&sum, rows[i].measured_s, ways[i][way], way == AS_IS ? of->time_low_s : NAN,
                            of->time_high_s);
    }
    return adept_error_sum_end(&sum);
}

static adept_layout_errors errors_of(const timed_row *rows, const double (*ways)[N_WAYS], size_t n, const char *stack,
                                     const char *source, double *room)
{
    return (adept_layout_errors){
        .as_is = stats(rows, ways, n, AS_IS, stack, source, room),
        .factor = stats(rows, ways, n, FACTOR, stack, source, room),
        .source_left = stats(rows, ways, n, SOURCE_LEFT, stack, source, room),
        .floor = stats(rows, ways, n, FLOOR, stack, source, room),
        .floor_source_left = stats(rows, ways, n, FLOOR_SOURCE_LEFT, stack, source, room),
    };
}

static void predict_all(double (*ways)[N_WAYS], const timed_row *rows, size_t n, double *room, double *more)
{
    double *others = more + n; /* one for each source, at its first row */

    for (size_t i = 0; i < n; i++) {
        const timed_row *r = &rows[i];
        double floors[2];
        if (r->source_id == i) others[i] = factor_of_others(rows, n, i, room, more);
        for (int left = 0; left < 2; left++)
            floors[left] = first_known(factor_for(rows, n, i, OF_STACK_HERE, left, true, room),
                                       factor_for(rows, n, i, HERE, left, true, room),
                                       factor_for(rows, n, i, ANY, left, true, room));
        ways[i][AS_IS] = r->predicted_s;
        ways[i][FACTOR] = r->predicted_s * factor_for(rows, n, i, OF_STACK, false, false, room);
        ways[i][SOURCE_LEFT] = r->predicted_s * first_known(factor_for(rows, n, i, OF_STACK, true, false, room),
                                                            others[r->source_id], NAN);
        ways[i][FLOOR] = r->ideal_s > 0 ? r->ideal_s * floors[0] : NAN;
        ways[i][FLOOR_SOURCE_LEFT] = r->ideal_s > 0 ? r->ideal_s * floors[1] : NAN;
    }
}

/* ---- stacks ---- */

static void add_stack(adept_layout_report *r, const timed_row *rows, const double (*ways)[N_WAYS], size_t n,
                      size_t first, double *room)
{
    adept_layout_stack *s = &r->stacks[r->n_stacks++];

    *s = (adept_layout_stack){.name = rows[first].stack};
    s->errors = errors_of(rows, ways, n, s->name, NULL, room);
    for (size_t i = 0; i < n; i++)
        if (strcmp(rows[i].stack, s->name) == 0) room[s->n++] = log(rows[i].measured_s / rows[i].predicted_s);
    s->factor = exp(median(room, s->n));
    s->spread = (adept_quantile(room, s->n, 0.9) - adept_quantile(room, s->n, 0.1)) / 2;
}

static void add_stacks(adept_layout_report *r, const timed_row *rows, const double (*ways)[N_WAYS], size_t n,
                       double *room)
{
    for (size_t i = 0; i < n; i++) {
        if (rows[i].stack_id == i) add_stack(r, rows, ways, n, i, room);
        if (rows[i].source_id < i) continue;
        r->sources[r->n_sources] = rows[i].source;
        r->by_source[r->n_sources++] = errors_of(rows, ways, n, NULL, rows[i].source, room);
    }
    for (size_t i = 0; i < r->n_stacks; i++)
        room[i] = log(r->stacks[i].factor);
    r->factor = r->n_stacks > 0 ? exp(median(room, r->n_stacks)) : NAN;
    r->spread =
        r->n_stacks > 1 ? (adept_quantile(room, r->n_stacks, 0.9) - adept_quantile(room, r->n_stacks, 0.1)) / 2 : NAN;
}

/* ---- choices ---- */

static const char *const kind_names[ADEPT_CHOICE_KINDS] = {"model", "work", "source"};

static const char *text_of(const timed_row *r, const char *column)
{
    const char *text = adept_dataset_row_text(r->scored->measured, column);
    return text ? text : "";
}

/* Are two rows among the same choice? Work is a step of as many tokens of sequences as long. */
static bool is_choice(const timed_row *a, const timed_row *b, int kind)
{
    const adept_dataset_row *x = a->scored->measured, *y = b->scored->measured;

    if (a->source_id != b->source_id || x->hw != y->hw) return false;
    if (kind == 2) return true;
    if (x->run.gpus != y->run.gpus || x->seq_length != y->seq_length || a->scored->samples != b->scored->samples)
        return false;
    return kind == 1 ||
           (strcmp(x->model_name, y->model_name) == 0 && strcmp(text_of(a, "layers"), text_of(b, "layers")) == 0);
}

static const char *label_of(adept_arena *arena, const timed_row *r, int kind)
{
    const adept_dataset_row *m = r->scored->measured;

    if (kind == 2) return adept_arena_printf(arena, "%.80s, %s", r->source, m->hw->name);
    return adept_arena_printf(arena, "%.60s, %" PRId64 " x %s, %.15g x %" PRId64, kind == 1 ? r->source : m->model_name,
                              m->run.gpus, m->hw->name, r->scored->samples, m->seq_length);
}

/* Sums of pairs, to be divided. */
static void add_order(adept_order *sum, const adept_order *o)
{
    if (o->n_pairs == 0) return;
    sum->tau = (sum->n_pairs > 0 ? sum->tau * (double)sum->n_pairs : 0) + o->tau * (double)o->n_pairs;
    sum->n_pairs += o->n_pairs;
    sum->tau /= (double)sum->n_pairs;
}

static adept_status add_choices(adept_choices *c, adept_arena *arena, const timed_row *rows, size_t n, int kind,
                                adept_error *err)
{
    double *measured = adept_arena_array(arena, n + 1, sizeof *measured),
           *predicted = adept_arena_array(arena, n + 1, sizeof *predicted);
    size_t *same = adept_arena_array(arena, n + 1, sizeof *same);
    bool *done = adept_arena_array(arena, n + 1, sizeof *done);

    *c = (adept_choices){.by = kind_names[kind],
                         .choices = adept_arena_array(arena, n + 1, sizeof *c->choices),
                         .over_5 = {0, NAN},
                         .over_10 = {0, NAN}};
    if (!measured || !predicted || !same || !done || !c->choices) return adept_no_memory(err, "the order of layouts");
    for (size_t i = 0; i < n; i++) {
        size_t count = 0;
        for (size_t k = i; k < n; k++) {
            if (done[k] || !is_choice(&rows[i], &rows[k], kind)) continue;
            const double unit = kind == 2 ? rows[k].gpu_s_per_token : 1;
            done[k] = true;
            measured[count] = rows[k].measured_s * unit;
            predicted[count] = rows[k].predicted_s * unit;
            same[count++] = rows[k].same;
        }
        if (count < 2) continue;
        adept_layout_choice *of = &c->choices[c->n++];
        *of = (adept_layout_choice){.label = label_of(arena, &rows[i], kind),
                                    .n = count,
                                    .over_5 = adept_kendall(measured, predicted, same, count, 0.05),
                                    .over_10 = adept_kendall(measured, predicted, same, count, 0.1),
                                    .regret_1 = adept_regret(measured, predicted, count, 1),
                                    .regret_3 = adept_regret(measured, predicted, count, 3)};
        add_order(&c->over_5, &of->over_5);
        add_order(&c->over_10, &of->over_10);
        c->regret_1 += of->regret_1;
        c->regret_3 += of->regret_3;
    }
    c->regret_1 = c->n > 0 ? c->regret_1 / (double)c->n : NAN;
    c->regret_3 = c->n > 0 ? c->regret_3 / (double)c->n : NAN;
    return adept_arena_failed(arena) ? adept_no_memory(err, "the order of layouts") : ADEPT_OK;
}

/* ---- memory ---- */

static adept_layout_room room_of(const adept_evaluation *e)
{
    adept_layout_room r = {.n = 0};

    for (size_t i = 0; i < e->n; i++) {
        const adept_scored *s = &e->rows[i];
        const adept_dataset_row *m = s->measured;
        const bool out = m->status == ADEPT_ROW_OOM, known = out || m->peak_memory_bytes > 0;
        if (!known || !(s->fullest_bytes > 0) || !(s->capacity_bytes > 0)) continue;
        const bool right = (s->fullest_bytes > s->capacity_bytes) == out;
        const bool tight = out || m->peak_memory_bytes > TIGHT * s->capacity_bytes;
        r.n++;
        r.n_right += right;
        r.n_tight += tight;
        r.n_tight_right += tight && right;
    }
    return r;
}

/* ---- the whole ---- */

adept_status adept_layout_report_new(adept_layout_report **out, adept_arena *arena, const adept_evaluation *e,
                                     adept_error *err)
{
    adept_layout_report *r = adept_arena_alloc(arena, sizeof *r);
    timed_row *rows = adept_arena_array(arena, e->n + 1, sizeof *rows);
    double(*ways)[N_WAYS] = adept_arena_array(arena, e->n + 1, sizeof *ways);
    double *room = adept_arena_array(arena, e->n + 1, sizeof *room),
           *more = adept_arena_array(arena, 2 * e->n + 1, sizeof *more);

    if (!r || !rows || !ways || !room || !more) return adept_no_memory(err, "errors of layouts");
    size_t n = 0;
    for (size_t i = 0; i < e->n; i++) {
        const adept_scored *s = &e->rows[i];
        if (!(s->measured->step_time_s > 0) || !(s->time_s > 0)) continue;
        rows[n] = (timed_row){.scored = s,
                              .stack = adept_dataset_row_stack(s->measured),
                              .source = s->measured->source,
                              .measured_s = s->measured->step_time_s,
                              .predicted_s = s->time_s,
                              .ideal_s = s->ideal_s,
                              .gpu_s_per_token = 1 / tokens_per_gpu(s),
                              .same = n};
        while (strcmp(rows[rows[n].stack_id].stack, rows[n].stack) != 0)
            rows[n].stack_id++;
        while (strcmp(rows[rows[n].source_id].source, rows[n].source) != 0)
            rows[n].source_id++;
        for (size_t k = 0; k < n && rows[n].same == n; k++)
            if (is_same(rows[k].scored->measured, s->measured)) rows[n].same = k;
        n++;
    }
    r->stacks = adept_arena_array(arena, n + 1, sizeof *r->stacks);
    r->sources = adept_arena_array(arena, n + 1, sizeof *r->sources);
    r->by_source = adept_arena_array(arena, n + 1, sizeof *r->by_source);
    if (!r->stacks || !r->sources || !r->by_source) return adept_no_memory(err, "errors of layouts");
    predict_all(ways, rows, n, room, more);
    r->overall = errors_of(rows, (const double(*)[N_WAYS])ways, n, NULL, NULL, room);
    add_stacks(r, rows, (const double(*)[N_WAYS])ways, n, room);
    r->room = room_of(e);
    adept_status status = ADEPT_OK;
    for (int kind = 0; kind < ADEPT_CHOICE_KINDS && status == ADEPT_OK; kind++)
        status = add_choices(&r->choices[kind], arena, rows, n, kind, err);
    *out = r;
    return status;
}

/* ---- JSON ---- */

static void put_stats(adept_json_writer *w, const char *key, const adept_error_stats *s)
{
    adept_json_put_object(w, key, "n %jd mape_time %g median_time %g p90_time %g max_time %g bias_time %g",
                          (intmax_t)s->n, s->mape, s->median, s->p90, s->max, s->bias);
}

static void put_errors(adept_json_writer *w, const adept_layout_errors *e)
{
    put_stats(w, "as_is", &e->as_is);
    put_stats(w, "stack_factor", &e->factor);
    put_stats(w, "source_left_out", &e->source_left);
    put_stats(w, "constant_flops", &e->floor);
    put_stats(w, "constant_flops_source_left_out", &e->floor_source_left);
}

static void put_order(adept_json_writer *w, const adept_order *over_5, const adept_order *over_10, double regret_1,
                      double regret_3)
{
    adept_json_put_members(
        w, "pairs_over_5 %jd tau_over_5 %g pairs_over_10 %jd tau_over_10 %g regret_first %g regret_first_three %g",
        (intmax_t)over_5->n_pairs, over_5->tau, (intmax_t)over_10->n_pairs, over_10->tau, regret_1, regret_3);
}

static void put_choices(adept_json_writer *w, const adept_choices *c)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_string(w, "by", c->by);
    put_order(w, &c->over_5, &c->over_10, c->regret_1, c->regret_3);
    adept_json_begin_array(w, "groups");
    for (size_t i = 0; i < c->n; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "label %s n %jd", c->choices[i].label, (intmax_t)c->choices[i].n);
        put_order(w, &c->choices[i].over_5, &c->choices[i].over_10, c->choices[i].regret_1, c->choices[i].regret_3);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_end_object(w);
}

void adept_layout_report_put(adept_json_writer *w, const adept_layout_report *r)
{
    adept_json_begin_object(w, "layouts");
    adept_json_begin_object(w, "overall");
    put_errors(w, &r->overall);
    adept_json_end_object(w);
    adept_json_begin_array(w, "stacks");
    for (size_t i = 0; i < r->n_stacks; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_members(w, "stack %s n %jd factor %g spread %g", r->stacks[i].name, (intmax_t)r->stacks[i].n,
                               r->stacks[i].factor, r->stacks[i].spread);
        put_errors(w, &r->stacks[i].errors);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_put_object(w, "other_stacks", "factor %g spread %g", r->factor, r->spread);
    adept_json_begin_array(w, "sources");
    for (size_t i = 0; i < r->n_sources; i++) {
        adept_json_begin_object(w, NULL);
        adept_json_put_string(w, "source", r->sources[i]);
        put_errors(w, &r->by_source[i]);
        adept_json_end_object(w);
    }
    adept_json_end_array(w);
    adept_json_begin_array(w, "choices");
    for (int i = 0; i < ADEPT_CHOICE_KINDS; i++)
        put_choices(w, &r->choices[i]);
    adept_json_end_array(w);
    adept_json_put_object(w, "memory", "rows %jd told_right %jd tight_rows %jd tight_told_right %jd",
                          (intmax_t)r->room.n, (intmax_t)r->room.n_right, (intmax_t)r->room.n_tight,
                          (intmax_t)r->room.n_tight_right);
    adept_json_end_object(w);
}

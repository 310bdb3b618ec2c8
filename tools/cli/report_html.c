/** @file report_html.c  Headline first, then pictures from the whole to the parts, then where the numbers come from. */
#include "report_pictures.h"
#include "adept_append.h"
#include "page.h"
#include "report.h"
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#define LAYER_ROWS 20
#define LEVER_ROWS 8

/* "<p>text</p>" of a format. What it says of files is escaped with the rest. */
static void put_paragraph(adept_page *page, const char *format, ...) ADEPT_PRINTF(2, 3);
static void put_paragraph(adept_page *page, const char *format, ...)
{
    char text[2048];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    adept_page_element(page, "p", text);
}

static bool trains(const adept_predicted_step *r)
{
    return adept_mode_trains(r->profile->mode);
}

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

/* ---------------------------------------------------------------- headline --------------------------------------- */

static bool begin(adept_page *page, const adept_predicted_step *r)
{
    const adept_profile *p = r->profile;
    char title[256], lead[512];

    snprintf(title, sizeof title, "%.150s on %" PRId64 " x %.64s", file_name(p->model_path), adept_run_gpus(r->run),
             r->hw->name);
    snprintf(lead, sizeof lead, "One step: %s, %s, batch %" PRId64 "%s", adept_mode_name(p->mode),
                  adept_precision_name(p->precision), p->batch_size, adept_run_gpus(r->run) > 1 ? " per GPU" : "");
    if (p->grad_accum > 1)
        adept_append(lead, sizeof lead, " x %" PRId64 " accumulation passes", p->grad_accum);
    if (p->mode == ADEPT_MODE_TRAIN) adept_append(lead, sizeof lead, ", %.60s", p->optimizer);
    if (r->run->nodes > 1) adept_append(lead, sizeof lead, ", in %" PRId64 " nodes", r->run->nodes);
    if (r->run->power_limit_w > 0)
        adept_append(lead, sizeof lead, ", limited to %s each",
                     adept_units_si(r->run->power_limit_w, "W").s);
    if (r->run->clock_hz > 0)
        adept_append(lead, sizeof lead, ", clock locked to %s", adept_units_si(r->run->clock_hz, "Hz").s);
    return adept_page_begin(page, title, lead);
}

static adept_text range_note(const double *range, double level, adept_text (*print)(double))
{
    adept_text text = {""};

    if (isfinite(range[0]) && isfinite(level))
        snprintf(text.s, sizeof text.s, "%.18s to %.18s with %.0f %%", print(range[0]).s, print(range[1]).s,
                 100 * level);
    return text;
}

static void put_headline(adept_page *page, const adept_predicted_step *r)
{
    const adept_prediction *p = &r->prediction;
    const adept_memory *m = &p->memory;
    char memory[128], clock[96] = "";

    snprintf(memory, sizeof memory, "of %s: %s", adept_units_bytes(m->capacity_bytes).s,
             m->fits ? "fits" : "DOES NOT FIT");
    if (p->clock_ratio < 1) snprintf(clock, sizeof clock, "clock at %s", adept_units_percent(p->clock_ratio).s);
    adept_page_section(page, "headline", "At a glance");
    adept_page_tiles_begin(page);
    adept_page_tile(page, "Step time", adept_units_time(p->step_time_s).s,
                    range_note(p->interval_time_s, p->interval_level, adept_units_time).s);
    adept_page_tile(page,
                    r->run->power_scope == ADEPT_SCOPE_NODE ? "Power of the nodes at the wall"
                    : adept_run_gpus(r->run) > 1            ? "Power of all GPU boards"
                                                            : "Power of the GPU board",
                    adept_units_watt(p->power_avg_w).s,
                    range_note(p->interval_power_w, p->interval_level, adept_units_watt).s);
    adept_page_tile(page, "Energy per step", adept_units_joule(p->energy_step_j).s, "");
    adept_page_tile(page, "Samples per second", adept_units_digits(p->samples_per_s).s, "");
    adept_page_tile(page, "Energy per sample", adept_units_joule(p->energy_per_sample_j).s, "");
    adept_page_tile(page, "Bound by", adept_bound_name(p->bound), clock);
    adept_page_tile(page, "Peak FLOP/s used (MFU)", adept_units_percent(p->mfu).s, "");
    adept_page_tile(page, adept_run_gpus(r->run) > 1 ? "Memory of each GPU" : "Memory",
                    adept_units_bytes(m->peak_bytes).s, memory);
    adept_page_tiles_end(page);
}

static void put_method(adept_page *page, const adept_predicted_step *r)
{
    bool by_operator = adept_granularity_of(r->hw, r->run) == ADEPT_GRANULARITY_OPERATOR;

    adept_page_section(page, "method", "How it was predicted");
    put_paragraph(page, by_operator ? "Nothing was run. The time of every kernel comes from its own dimensions "
                                      "(granularity \"operator\")."
                                    : "Nothing was run. Times come from equations on means over the whole model "
                                      "(granularity \"model\").");
    if (adept_transferred_for(r->hw, r->run)) {
        char donors[512] = "", text[ADEPT_CALIBRATION_BYTES];
        for (size_t i = 0, at = 0; i < r->hw->n_donors && at < sizeof donors; i++)
            at += (size_t)snprintf(donors + at, sizeof donors - at, "%s%s", i > 0 ? ", " : "", r->hw->donors[i]);
        put_paragraph(page,
                      "%s is %s. They were fitted to measurements of %s and transferred by the specification sheets. "
                      "Intervals are those of GPUs that were left out of the fit.",
                      r->hw->name, adept_calibration_text(text, r->hw, r->run, r->profile->precision), donors);
    } else if (adept_calibrated_in(r->hw, r->run, r->profile->precision)) {
        put_paragraph(page, "%s is calibrated: the parameters were fitted to measurements of it.", r->hw->name);
    } else if (adept_calibrated_for(r->hw, r->run)) {
        put_paragraph(page, "%s is calibrated in other precisions than %s only; the interval is wider for it.",
                      r->hw->name, adept_precision_name(r->profile->precision));
    } else {
        put_paragraph(page,
                      "%s is not calibrated: this is an estimate from the specification sheet, without an interval.",
                      r->hw->name);
    }
}

static void put_warnings(adept_page *page, const adept_predicted_step *r)
{
    if (r->profile->n_warnings + r->prediction.n_warnings == 0) return;
    adept_page_section(page, "warnings", "Warnings");
    fputs("<ul>\n", page->out);
    for (size_t i = 0; i < r->profile->n_warnings && i < 100; i++)
        adept_page_element(page, "li", r->profile->warnings[i]);
    for (size_t i = 0; i < r->prediction.n_warnings; i++)
        adept_page_element(page, "li", r->prediction.warnings[i]);
    fputs("</ul>\n", page->out);
}

/* ---------------------------------------------------------------- pictures --------------------------------------- */

static void put_step(adept_page *page, const adept_predicted_step *r, const adept_pictures *pictures)
{
    const adept_prediction *p = &r->prediction;

    adept_page_section(page, "step", "Where time and energy go");
    adept_page_figure_svg(page, pictures->svg[ADEPT_PICTURE_STEP],
                          "Each bar is one step. Parts too narrow for a label are listed below it with their shares.");
    if (p->comm_s + p->comm_hidden_s > 0)
        put_paragraph(page,
                      "The all-reduce of the gradients takes %s, %s of it behind the backward pass; only the rest "
                      "lengthens the step.",
                      adept_units_time(p->comm_s + p->comm_hidden_s).s,
                      p->comm_hidden_s > 0 ? adept_units_time(p->comm_hidden_s).s : "none");
    adept_page_figure_svg(page, pictures->svg[ADEPT_PICTURE_TIME],
                          "Area is time. Rectangles nest as modules do; point at one for its full name. Indices in "
                          "braces are equal layers, drawn as one.");
    if (pictures->svg[ADEPT_PICTURE_ENERGY])
        adept_page_figure_svg(page, pictures->svg[ADEPT_PICTURE_ENERGY],
                              "The same for energy: layers that are larger here than above draw more power than the "
                              "mean of the step.");
    else
        put_paragraph(page, "There is no picture of energy: the power of %s is not known.", r->hw->name);
}

static void put_roofline(adept_page *page, const adept_predicted_step *r, const adept_pictures *pictures)
{
    char caption[768];

    snprintf(caption, sizeof caption,
             "Each mark is an operator, its area its share of the step: how much arithmetic it does per byte, and how "
             "fast. Lines are peaks of %s's sheet; the slope is its memory. A mark under the slope waits for memory, "
             "one far below the roof uses little of what it could. Marks above the slope find data in the cache. Not "
             "shown: copies and the like without arithmetic (%s of the step) and operators that take next to no time "
             "(%s).",
             r->hw->name, adept_units_percent(pictures->roofline_no_arithmetic).s,
             adept_units_percent(pictures->roofline_left_out).s);
    adept_page_section(page, "roofline", "Roofline");
    adept_page_figure_image(page, pictures->svg[ADEPT_PICTURE_ROOFLINE], pictures->size[ADEPT_PICTURE_ROOFLINE],
                            "Roofline: arithmetic rate of the model's operators over their arithmetic intensity, with "
                            "the peaks of the GPU. The table of layers has the numbers.",
                            caption);
}

static void put_memory(adept_page *page, const adept_predicted_step *r, const adept_pictures *pictures)
{
    adept_page_section(page, "memory", adept_run_gpus(r->run) > 1 ? "Memory of each GPU" : "Memory");
    adept_page_figure_svg(page, pictures->svg[ADEPT_PICTURE_MEMORY],
                          trains(r) ? "Activations are what the forward pass keeps for the backward pass."
                                    : "Activations are the largest set alive at one time.");
}

static void put_limit_row(adept_page *page, const char *name, const adept_limit_estimate *c)
{
    adept_page_table_row(page, ADEPT_CELLS(name, adept_units_watt(c->limit_w).s, adept_units_time(c->step_time_s).s,
                                           adept_units_watt(c->power_avg_w).s, adept_units_joule(c->energy_step_j).s,
                                           adept_units_change(c->slowdown).s, adept_units_change(-c->energy_saving).s));
}

static void put_limits(adept_page *page, const adept_predicted_step *r, const adept_pictures *pictures)
{
    char caption[384];

    adept_page_section(page, "power-limit", "Power limit");
    if (!r->limits.known) {
        put_paragraph(page, "Not known: %s.", r->limits.reason);
        return;
    }
    snprintf(caption, sizeof caption, "Limits from %.0f to %.0f W. Lines mark the limits of the table.",
             r->limits.low_w, r->limits.high_w);
    if (isfinite(pictures->interval_level))
        adept_append(caption, sizeof caption,
                     " The band is where a measurement lies with %.0f %% probability.", 100 * pictures->interval_level);
    adept_page_figure_image(page, pictures->svg[ADEPT_PICTURE_LIMITS], pictures->size[ADEPT_PICTURE_LIMITS],
                            "Step time, power and energy per step over the power limit of the board. The table below "
                            "has the numbers at the marked limits.",
                            caption);
    adept_page_table_begin(page, "Limits of interest; changes are against the board's default",
                           "|>limit|>step time|>power|>energy|>time|>energy");
    put_limit_row(page, "default of the board", &r->limits.unset);
    put_limit_row(page, "least energy", &r->limits.energy_optimal);
    put_limit_row(page, "least energy x time", &r->limits.edp_optimal);
    adept_page_table_end(page);
}

/* ---------------------------------------------------------------- layers ----------------------------------------- */

static void put_layer(adept_page *page, const adept_predicted_step *r, const adept_group *g, const char *name,
                      const char *bound)
{
    double passes = (double)r->profile->grad_accum;

    adept_page_table_row(page, ADEPT_CELLS(name, adept_class_short(g->module_class), adept_cell("%" PRId64, g->calls).s,
                                           adept_units_digits(adept_group_flops(g) * passes / 1e9).s,
                                           adept_units_digits(adept_group_bytes(g) * passes / 1e9).s,
                                           adept_units_time(g->time_s).s,
                                           adept_units_percent(g->time_s / r->prediction.step_time_s).s,
                                           adept_units_joule(g->energy_j).s, bound));
}

static void put_layers(adept_page *page, const adept_predicted_step *r)
{
    size_t n = r->groups.n, shown = n < LAYER_ROWS ? n : LAYER_ROWS;
    adept_group rest = {.module_class = ""};

    adept_page_section(page, "layers", "Most expensive layers");
    adept_page_table_begin(page,
                           trains(r) ? "Forward and backward pass of one step, equal layers together"
                                     : "One step, equal layers together",
                           "path|class|>calls|>GFLOP|>GB|>time|>step|>energy|bound");
    for (const adept_group *g = r->groups.rows; g < r->groups.rows + shown; g++)
        put_layer(page, r, g, *g->name ? g->name : "(model)",
                  g->time_s > 0 ? adept_bound_name(adept_group_bound(g)) : "-");
    for (const adept_group *g = r->groups.rows + shown; g < r->groups.rows + n; g++)
        adept_group_add(&rest, g);
    if (n > shown) put_layer(page, r, &rest, adept_cell("%zu other layers", n - shown).s, "");
    adept_page_table_end(page);
}

/* ---------------------------------------------------------------- the end ---------------------------------------- */

/* What a file does not say has no row. */
static void put_fact(adept_page *page, const char *name, const char *value)
{
    if (value && *value) adept_page_table_row(page, ADEPT_CELLS(name, value));
}

static void put_sheet(adept_page *page, const adept_hwprofile *hw)
{
#define X(field, required, text) {#field, text, hw->specs.field},
    const struct {
        const char *key, *meaning;
        double value;
    } rows[] = {ADEPT_SPEC_LIST(X)};
#undef X

    fputs("<details>\n<summary>Specification sheet of the GPU</summary>\n", page->out);
    adept_page_table_begin(page, "SI units", "number|>value|meaning|source");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!isfinite(rows[i].value)) continue;
        adept_page_table_row(page, ADEPT_CELLS(rows[i].key, adept_cell("%.6g", rows[i].value).s, rows[i].meaning,
                                               adept_hwprofile_source(hw, rows[i].key)));
    }
    adept_page_table_end(page);
    fputs("</details>\n", page->out);
}

static void put_provenance(adept_page *page, const adept_predicted_step *r)
{
    const adept_profile *p = r->profile;
    char text[512];

    adept_page_section(page, "provenance", "Where this comes from");
    adept_page_table_begin(page, "What was read, and by what", "what|value");
    put_fact(page, "program", "adept " ADEPT_VERSION);
    put_fact(page, "model", p->model_path);
    put_fact(page, "SHA-256 of the model", p->model_sha256);
    put_fact(page, "written by", p->producer);
    snprintf(text, sizeof text, "%" PRId64 ", %" PRId64 " of them trained", p->params, p->trainable_params);
    put_fact(page, "parameters", text);
    for (size_t i = 0; i < p->n_inputs && i < 32; i++) {
        snprintf(text, sizeof text, "%.200s %.200s", p->inputs[i].name, p->inputs[i].shape);
        put_fact(page, "input", text);
    }
    put_fact(page, "attention", adept_attention_name(p->attention));
    put_fact(page, "GPU", r->hw->name);
    put_fact(page, "sheet and fit", r->hw->path);
    adept_page_table_end(page);
    put_sheet(page, r->hw);
    if (r->hw->fit_json) {
        fputs("<details>\n<summary>The fit</summary>\n", page->out);
        adept_page_element(page, "pre", r->hw->fit_json);
        fputs("</details>\n", page->out);
    }
}

static adept_text print_grams(double grams)
{
    return grams >= 1e6 ? adept_units_si(grams / 1e6, "t") : adept_units_si(grams, "g");
}

/* "France 2023, 56 g CO2e per kWh (Ember)": what the totals were multiplied by. */
static void put_rates(adept_page *page, const adept_totals *t)
{
    if (isfinite(t->carbon_g_per_kwh))
        put_paragraph(page, "Emissions: %s.", adept_grid_text(t).s);
    if (isfinite(t->pue))
        put_paragraph(page, "Power usage effectiveness of the site: %.4g, source: %s. Energy of the site: %s.", t->pue,
                      t->pue_source ? t->pue_source : "given", adept_units_kwh(t->site_energy_kwh).s);
    if (isfinite(t->host_power_w))
        put_paragraph(page, "Hosts draw %s each beside their GPUs: %s.", adept_units_si(t->host_power_w, "W").s,
                      adept_units_kwh(t->host_energy_kwh).s);
    if (isfinite(t->price_per_kwh)) put_paragraph(page, "Price: %s.", adept_price_text(t).s);
    if (isfinite(t->gpu_hour_price)) put_paragraph(page, "Price of a GPU hour: %.4g.", t->gpu_hour_price);
}

static void put_totals(adept_page *page, const adept_totals *t)
{
    adept_page_section(page, "totals", "The whole job");
    adept_page_tiles_begin(page);
    adept_page_tile(page, "Steps", adept_units_digits(t->steps).s,
                    adept_units_count(t->samples, "sample").s);
    adept_page_tile(page, "Time", adept_units_time(t->time_s).s,
                    range_note(t->interval_time_s, t->interval_level, adept_units_time).s);
    adept_page_tile(page, "GPU hours", adept_units_digits(t->gpu_hours).s, "");
    adept_page_tile(page, "Energy of the GPU boards", adept_units_kwh(t->energy_kwh).s,
                    range_note(t->interval_energy_kwh, t->interval_level, adept_units_kwh).s);
    if (isfinite(t->co2e_g))
        adept_page_tile(page, "Emissions (CO2e)", print_grams(t->co2e_g).s,
                        range_note(t->interval_co2e_g, t->interval_level, print_grams).s);
    if (isfinite(t->cost)) adept_page_tile(page, "Cost", adept_units_digits(t->cost).s, "");
    adept_page_tiles_end(page);
    put_rates(page, t);
}

static void put_life(adept_page *page, const adept_predicted_step *s)
{
    const adept_lifetime *l = &s->life;

    adept_page_section(page, "lifetime", "Training and inferences");
    adept_page_tiles_begin(page);
    adept_page_tile(page, "Inferences", adept_units_digits(l->inferences.samples).s, adept_lifetime_text(s).s);
    adept_page_tile(page, "Energy of inferences", adept_units_kwh(l->inferences.energy_kwh).s, "");
    adept_page_tile(page, "Energy of all", adept_units_kwh(l->energy_kwh).s,
                    range_note(l->interval_energy_kwh, l->inferences.interval_level, adept_units_kwh).s);
    if (isfinite(l->co2e_g)) adept_page_tile(page, "Emissions of all (CO2e)", print_grams(l->co2e_g).s, "");
    if (isfinite(l->cost)) adept_page_tile(page, "Cost of all", adept_units_digits(l->cost).s, "");
    adept_page_tile(page, "As much as the training take", adept_units_digits(l->break_even).s, "inferences");
    adept_page_tiles_end(page);
}

/* ---------------------------------------------------------------- what would help -------------------------------- */

/* Sentences about some topics, as a list. */
static void put_sentences(adept_page *page, const adept_explanation *x, const char *heading, const char *const *topics)
{
    adept_page_element(page, "h3", heading);
    fputs("<ul>\n", page->out);
    for (size_t i = 0; i < x->n_sentences; i++)
        for (const char *const *topic = topics; *topic; topic++)
            if (strcmp(x->sentences[i].topic, *topic) == 0) adept_page_element(page, "li", x->sentences[i].text);
    fputs("</ul>\n", page->out);
}

static void put_levers(adept_page *page, const adept_explanation *x)
{
    const adept_elasticity *rows[LEVER_ROWS];
    size_t n = adept_explain_levers(rows, LEVER_ROWS, &x->elasticities);

    if (n == 0) return;
    adept_page_table_begin(page, "What the hardware would have to have more of, each a prediction of its own",
                           "10 % more of|>time|>energy");
    for (size_t i = 0; i < n; i++) {
        const char *name = adept_explain_lever_name(rows[i]);
        adept_page_table_row(page, ADEPT_CELLS(name ? name : rows[i]->key, adept_units_change(rows[i]->more.time).s,
                                               adept_units_change(rows[i]->more.energy).s));
    }
    adept_page_table_end(page);
}

static void put_explanation(adept_page *page, const adept_explanation *x)
{
    static const char *const limits[] = {"limits", "layers", NULL}, *const help[] = {"levers", "change", NULL};

    adept_page_section(page, "explanation", "What limits it, and what would help");
    put_sentences(page, x, "What limits it", limits);
    put_sentences(page, x, "What would help", help);
    put_levers(page, x);
}

char *adept_report_html(const adept_explanation *x, const adept_pictures *pictures, size_t *size)
{
    const adept_predicted_step *step = x->step;
    adept_page page;

    if (!begin(&page, step)) return NULL;
    put_headline(&page, step);
    put_warnings(&page, step);
    if (step->totals.steps > 0) put_totals(&page, &step->totals);
    if (step->inference) put_life(&page, step);
    put_explanation(&page, x);
    put_step(&page, step, pictures);
    put_layers(&page, step);
    put_roofline(&page, step, pictures);
    put_limits(&page, step, pictures);
    put_memory(&page, step, pictures);
    put_method(&page, step);
    put_provenance(&page, step);
    char *text = adept_page_end(&page, ADEPT_PAGE_FOOT);
    *size = page.size;
    return text;
}

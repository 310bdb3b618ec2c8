/* Totals of a job, each number worked out by hand, and the table of grid intensities. */
#include "adept_totals.h"
#include "cmocka_test.h"
#include <ctype.h>

#define NEAR(value, expected)                                                                                          \
    assert_true(fabs((double)(value) - (double)(expected)) <= 1e-12 * (1.0 + fabs((double)(expected))))

/* Half a second and 360 J: ten thousand steps are 5000 s and 1 kWh. 64 samples a step. */
static const adept_prediction step = {.step_time_s = 0.5,
                                      .power_avg_w = 720,
                                      .energy_step_j = 360,
                                      .interval_level = 0.8,
                                      .interval_time_s = {0.4, 0.75},
                                      .interval_power_w = {600, 900}};
static const adept_profile prof = {.batch_size = 8, .grad_accum = 2};
static const adept_run run = {.gpus = 4, .nodes = 2};

static adept_job_spec job_of(int64_t steps)
{
    return (adept_job_spec){.steps = steps,
                            .carbon_g_per_kwh = NAN,
                            .price_per_kwh = NAN,
                            .gpu_hour_price = NAN,
                            .pue = NAN,
                            .host_power_w = NAN};
}

static adept_totals totals_of(const adept_job_spec *job)
{
    return adept_totals_of(job, &step, &prof, &run);
}

static void boards_only(void **state)
{
    (void)state;
    adept_job_spec job = job_of(10000);
    adept_totals t = totals_of(&job);

    NEAR(t.steps, 10000);
    NEAR(t.samples, 640000);
    assert_true(isnan(t.epochs));
    NEAR(t.time_s, 5000);
    NEAR(t.gpu_hours, 4 * 5000 / 3600.0);
    NEAR(t.energy_kwh, 1);
    NEAR(t.site_energy_kwh, 1);
    assert_true(isnan(t.host_energy_kwh) && isnan(t.co2e_g) && isnan(t.cost));
    NEAR(t.interval_time_s[0], 4000);
    NEAR(t.interval_time_s[1], 7500);
    NEAR(t.interval_energy_kwh[0], 4000 * 600 / 3.6e6);
    NEAR(t.interval_energy_kwh[1], 7500 * 900 / 3.6e6);
    assert_true(isnan(t.interval_co2e_g[0]) && t.interval_level == 0.8);
    assert_null(t.carbon_source);
    assert_null(t.pue_source);
}

static void the_site(void **state)
{
    (void)state;
    adept_job_spec job = job_of(10000);
    job.carbon_g_per_kwh = 56;
    job.price_per_kwh = 0.25;
    job.gpu_hour_price = 1.8;
    job.pue = 1.5;
    job.host_power_w = 180; /* two nodes, 5000 s: 0.5 kWh */
    adept_totals t = totals_of(&job);

    NEAR(t.energy_kwh, 1);
    NEAR(t.host_energy_kwh, 0.5);
    NEAR(t.site_energy_kwh, 2.25);
    NEAR(t.co2e_g, 126);
    NEAR(t.cost, 2.25 * 0.25 + 10); /* 20000 GPU seconds */
    NEAR(t.interval_co2e_g[1], (7500 * 900 + 360 * 7500) / 3.6e6 * 1.5 * 56);
    assert_string_equal(t.carbon_source, "given");
    assert_string_equal(t.pue_source, "given");
    job.price_per_kwh = NAN;
    NEAR(totals_of(&job).cost, 10);
    job.pue = ADEPT_PUE_AVERAGE;
    job.pue_is_average = true;
    assert_string_equal(totals_of(&job).pue_source, ADEPT_PUE_AVERAGE_SOURCE);
}

static void rounded_up_to_steps(void **state)
{
    (void)state;
    adept_job_spec job = job_of(0);

    job.samples = 65;
    NEAR(totals_of(&job).steps, 2);
    NEAR(totals_of(&job).samples, 65);
    job.samples = 64;
    NEAR(totals_of(&job).steps, 1);
    job.samples = 0;
    job.epochs = 3;
    job.dataset_size = 100; /* two steps an epoch: six, not five */
    adept_totals t = totals_of(&job);
    NEAR(t.steps, 6);
    NEAR(t.samples, 300);
    NEAR(t.epochs, 3);
}

static void country_and_value(void **state)
{
    (void)state;
    adept_job_spec job = job_of(10000);
    job.country = adept_grid_intensity_find("france");
    assert_non_null(job.country);
    adept_totals t = totals_of(&job);

    NEAR(t.co2e_g, job.country->g_per_kwh);
    assert_string_equal(t.place, "France");
    assert_int_equal(t.carbon_year, 2023);
    assert_ptr_equal(t.carbon_source, job.country->source);
    job.carbon_g_per_kwh = 12; /* a contract, an hour: what is given counts */
    t = totals_of(&job);
    NEAR(t.co2e_g, 12);
    assert_string_equal(t.place, "France");
    assert_string_equal(t.carbon_source, "given");
    assert_int_equal(t.carbon_year, 0);
}

/* The thesis's data centre: 29.581 MW in the United States, for an hour. */
static void an_hour_of_a_site(void **state)
{
    (void)state;
    const adept_prediction hour = {.step_time_s = 3600, .energy_step_j = 29.581e6 * 3600, .interval_level = NAN};
    adept_job_spec job = job_of(1);
    job.country = adept_grid_intensity_find("US");
    job.average_price = adept_electricity_price_at(0);
    assert_string_equal(job.average_price->code, "US");
    adept_totals t = adept_totals_of(&job, &hour, &prof, &(adept_run){.gpus = 1});

    assert_int_equal(lround(t.co2e_g / 1000), 11359);
    assert_int_equal(lround(t.cost), 4378);
    assert_string_equal(t.currency, "USD");
    assert_true(t.carbon_year == 2024 && t.price_year == 2025);
    assert_non_null(strstr(t.carbon_source, "as quoted by"));
    assert_non_null(strstr(t.price_source, "as quoted by"));
}

static void the_unknown_stays_unknown(void **state)
{
    (void)state;
    adept_prediction p = step;
    adept_job_spec job = job_of(10000);
    job.carbon_g_per_kwh = 56;
    job.gpu_hour_price = 1.8;
    p.power_avg_w = p.energy_step_j = p.interval_power_w[0] = p.interval_power_w[1] = NAN;
    adept_totals t = adept_totals_of(&job, &p, &prof, &run);

    assert_true(isnan(t.energy_kwh) && isnan(t.site_energy_kwh) && isnan(t.co2e_g) && isnan(t.interval_energy_kwh[0]));
    NEAR(t.interval_time_s[0], 4000);
    NEAR(t.cost, 10); /* rented hours do not ask for the energy */
}

/* Bounds that every grid of the world keeps, names that can be asked for. */
static void the_table(void **state)
{
    (void)state;
    const adept_grid_intensity *row;
    size_t n = 0;

    for (; (row = adept_grid_intensity_at(n)); n++) {
        assert_true(row->g_per_kwh >= 10 && row->g_per_kwh <= 1200 && row->year >= 2015 && row->year <= 2030);
        assert_true(*row->source && strlen(row->name) > 2);
        assert_true(n < 2 || (strlen(row->code) == 2 && isupper((unsigned char)row->code[0])));
        assert_ptr_equal(adept_grid_intensity_find(row->code), row); /* no code or name twice */
        assert_ptr_equal(adept_grid_intensity_find(row->name), row);
    }
    assert_true(n == 121);
    size_t n_unsourced = 0;
    for (n = 0; (row = adept_grid_intensity_at(n)); n++)
        n_unsourced += strncmp(row->source, "unsourced", strlen("unsourced")) == 0;
    assert_true(n_unsourced == 7); /* the other 114 were read */
    for (n = 0; adept_electricity_price_at(n); n++)
        assert_non_null(adept_grid_intensity_find(adept_electricity_price_at(n)->code));
    assert_true(n == 6);
    assert_null(adept_grid_intensity_find(""));
    assert_null(adept_grid_intensity_find("Atlantis"));
    assert_null(adept_grid_intensity_find("UK|Great"));
    static const char *const same[][2] = {
        {"USA", "US"}, {"uk", "GB"}, {"GBR", "GB"}, {"great britain", "GB"}, {"DEU", "DE"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        assert_ptr_equal(adept_grid_intensity_find(same[i][0]), adept_grid_intensity_find(same[i][1]));
    assert_ptr_equal(adept_grid_intensity_find("world"), adept_grid_intensity_at(0));
    assert_true(adept_grid_intensity_find("SE")->g_per_kwh < adept_grid_intensity_find("DE")->g_per_kwh);
    assert_true(adept_grid_intensity_find("DE")->g_per_kwh < adept_grid_intensity_find("PL")->g_per_kwh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(boards_only),
        cmocka_unit_test(the_site),
        cmocka_unit_test(rounded_up_to_steps),
        cmocka_unit_test(country_and_value),
        cmocka_unit_test(an_hour_of_a_site),
        cmocka_unit_test(the_unknown_stays_unknown),
        cmocka_unit_test(the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

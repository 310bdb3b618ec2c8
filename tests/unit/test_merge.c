/* Nodes of a cluster in one table: the sums of tables 3.7 to 3.11 of the EA2P chapter, ranks that share a node, what is
 * not known. */
#include "adept_merge.h"
#include "measure_job.h"
#include "table.h"
#include "cmocka_test.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---------------------------------------------------------------- files ------------------------------------------ */

static char folder[32];
static char paths[16][64];
static const char *names[16];
static size_t n_files;
static double boot_s; /* when the machine booted, in seconds after four o'clock */

static int make_folder(void **state)
{
    (void)state;
    n_files = 0;
    boot_s = 0;
    strcpy(folder, "merge-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        unlink(paths[i]); /* a test may have begun anew */
    return rmdir(folder);
}

static FILE *new_file(void)
{
    snprintf(paths[n_files], sizeof paths[0], "%s/%zu.json", folder, n_files);
    names[n_files] = paths[n_files];
    FILE *file = fopen(paths[n_files++], "w");
    assert_non_null(file);
    return file;
}

/* A run that began so many seconds after four o'clock; sensors as "name component summed energy" */
static void add_run(const char *host, double begin_s, double time_s, const char *const *sensors)
{
    FILE *file = new_file();

    fprintf(file,
            "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"%s\",\"started\":\"2026-11-23T04:%02d:%02dZ\","
            "\"begin_s\":%.17g,\"time_s\":%.17g,\"sensors\":[",
            host, (int)begin_s / 60, (int)begin_s % 60, begin_s - boot_s, time_s);
    for (size_t i = 0; sensors[i]; i++) {
        char name[32], component[32], summed[8], energy[32];
        assert_int_equal(sscanf(sensors[i], "%31s %31s %7s %31s", name, component, summed, energy), 4);
        fprintf(file, "%s{\"name\":\"%s\",\"component\":\"%s\",\"summed\":%s,\"energy_j\":%s}", i ? "," : "", name,
                component, summed, energy);
    }
    fprintf(file, "]}");
    fclose(file);
}

static adept_merge *merge(void)
{
    adept_merge *m = NULL;
    adept_error err;

    if (adept_merge_files(&m, names, n_files, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return m;
}

static adept_merge_cell cell(const adept_merge *m, const adept_merge_cell *row, const char *title)
{
    for (size_t i = 0; i < m->n_columns; i++)
        if (strcmp(m->columns[i].title, title) == 0) return row[i];
    fail_msg("no column '%s'", title);
    return (adept_merge_cell){0};
}

static void expect(const adept_merge *m, const adept_merge_cell *row, const char *title, double value)
{
    adept_merge_cell found = cell(m, row, title);

    assert_true(found.is_there);
    if (!(fabs(found.value - value) < 1e-6)) fail_msg("%s is %.9g, not %.9g", title, found.value, value);
}

/* ---------------------------------------------------------------- tables 3.7 to 3.10 ----------------------------- */

#define NODES 4
#define NUMBERS 7
static const char *const titles[NUMBERS] = {"Pkg(J)",    "GPU 0 (J)", "GPU 1 (J)", "GPU 2 (J)",
                                            "GPU 3 (J)", "RAM (J)",   "Time (s)"};

/* The rows of the nodes, and the Total as printed; the printed sums are rounded rows. */
static const struct {
    double rows[NODES][NUMBERS], total[NUMBERS];
} tables[] = {
    {{{1493.59, 648.52, 680.59, 649.10, 666.36, 201.6, 13.25},
      {1419.99, 714.36, 633.82, 625.94, 670.95, 193.2, 12.54},
      {1457.43, 664.03, 666.67, 652.40, 719.44, 201.6, 13.03},
      {1472.65, 667.21, 653.88, 659.93, 689.50, 201.0, 13.11}},
     {5843.66, 2694.11, 2634.95, 2587.35, 2746.25, 797.4,
      51.93}}, /* the thesis prints 596.4, which its rows do not give */
    {{{9109.88, 3374.76, 3530.46, 3319.83, 3425.45, 1058.4, 74.66},
      {8777.08, 3674.04, 3255.40, 3208.25, 3430.79, 999.6, 70.65},
      {9012.43, 3353.60, 3363.65, 3291.97, 3638.53, 1041.6, 73.26},
      {9090.88, 3408.30, 3347.95, 3435.98, 3442.57, 1058.4, 74.43}},
     {35990.27, 13810.70, 13497.44, 13256.03, 13937.32, 4158.0, 293.00}},
    {{{536.67, 255.75, 261.8, 258.92, 271.46, 75.6, 4.34},
      {555.88, 380.09, 344.25, 331.31, 357.12, 100.8, 5.85},
      {94.84, 113.97, 123.36, 128.24, 134.06, 33.6, 1.24},
      {94.09, 112.98, 121.65, 135.57, 147.30, 33.6, 1.24}},
     {1281.48, 862.78, 851.09, 854.02, 909.93, 243.6, 12.67}},
    {{{3604.08, 1285.74, 1374.71, 1268.67, 1314.77, 403.2, 28.09},
      {3674.26, 2200.34, 1925.82, 1892.41, 2033.96, 588.0, 39.34},
      {388.52, 279.94, 291.57, 276.03, 305.47, 84.0, 4.62},
      {359.49, 275.35, 272.37, 297.48, 301.01, 84.0, 4.61}},
     {8026.35, 4041.37, 3864.46, 3734.58, 3955.20, 1159.2, 76.66}},
};

static void add_node(const char *host, const double row[NUMBERS])
{
    char texts[NUMBERS + 1][64];
    const char *sensors[NUMBERS + 2] = {NULL};

    /* Two packages, and cores that are part of one of them. */
    snprintf(texts[0], sizeof texts[0], "cpu-0 cpu true %.17g", row[0] / 4);
    snprintf(texts[1], sizeof texts[1], "cpu-1 cpu true %.17g", row[0] * 3 / 4);
    snprintf(texts[2], sizeof texts[2], "cores-0 cores false %.17g", row[0] / 8);
    for (int i = 0; i < 4; i++)
        snprintf(texts[3 + i], sizeof texts[0], "gpu-%d gpu true %.17g", i, row[1 + i]);
    snprintf(texts[7], sizeof texts[0], "dram dram true %.17g", row[5]);
    for (int i = 0; i < 8; i++)
        sensors[i] = texts[i];
    add_run(host, 0, row[6], sensors);
}

static void sums_of_the_tables(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        n_files = 0;
        for (int n = 0; n < NODES; n++)
            add_node((const char *const[]){"0", "1", "2", "3"}[n], tables[t].rows[n]);
        adept_merge *m = merge();
        assert_int_equal(m->n_nodes, NODES);
        assert_int_equal(m->n_columns, NUMBERS);
        for (int i = 0; i < NUMBERS; i++) {
            assert_string_equal(m->columns[i].title, titles[i]);
            /* The thesis rounds each row and, of more digits, the sum. */
            assert_true(fabs(m->totals[i].value - tables[t].total[i]) < 0.051);
            for (int n = 0; n < NODES; n++)
                expect(m, m->nodes[n].cells, titles[i], tables[t].rows[n][i]);
        }
        assert_int_equal(m->n_notes, 0);
        adept_merge_free(m);
    }
}

/* Table 3.11 is of one node with eight GPUs, in Wh: the sums of its rows. */
static void sums_of_table_3_11(void **state)
{
    (void)state;
    static const struct {
        double values[10], time_s, sum;
    } rows[] = {{{2.194, 1.333, 2.179, 2.103, 2.127, 2.104, 2.103, 2.129, 2.105, 2.143}, 181.038, 20.52},
                {{28.528, 5.407, 5.633, 5.419, 5.505, 5.413, 5.399, 5.490, 5.418, 5.524}, 495.096, 77.74},
                {{1.219, 0.388, 2.519, 0.811, 0.816, 0.804, 0.810, 0.816, 0.802, 0.813}, 52.459, 9.80}};

    for (size_t r = 0; r < 3; r++) {
        char texts[10][64];
        const char *sensors[11] = {NULL};
        for (int i = 0; i < 10; i++) {
            if (i < 2)
                snprintf(texts[i], sizeof texts[i], i ? "dram dram true %.17g" : "cpu-0 cpu true %.17g",
                         3600 * rows[r].values[i]);
            if (i >= 2) snprintf(texts[i], sizeof texts[i], "gpu-%d gpu true %.17g", i - 2, 3600 * rows[r].values[i]);
            sensors[i] = texts[i];
        }
        n_files = 0;
        add_run("intel-2", 0, rows[r].time_s, sensors);
        adept_merge *m = merge();
        assert_int_equal(m->n_columns, 11);
        assert_true(fabs(m->energy_j / 3600 - rows[r].sum) < 0.005);
        expect(m, m->totals, "GPU 7 (J)", 3600 * rows[r].values[9]);
        expect(m, m->totals, "Time (s)", rows[r].time_s);
        adept_merge_free(m);
    }
}

/* ---------------------------------------------------------------- one node, several files ------------------------ */

static void ranks_of_a_node_count_once(void **state)
{
    (void)state;
    /* Rank 1 began first and was the last: its numbers are the node's. Rank 2 alone looked at the second GPU. */
    add_run("n1", 1.0, 10, (const char *const[]){"cpu-0 cpu true 100", "gpu-0 gpu true 50", NULL});
    add_run("n2", 0.5, 4, (const char *const[]){"cpu-0 cpu true 7", NULL});
    add_run("n1", 0.5, 12, (const char *const[]){"cpu-0 cpu true 120", "gpu-0 gpu true 60", NULL});
    add_run("n1", 2.0, 9, (const char *const[]){"cpu-0 cpu true 90", "gpu-1 gpu true 44", NULL});
    adept_merge *m = merge();

    assert_int_equal(m->n_nodes, 2);
    assert_string_equal(m->nodes[0].host, "n1");
    assert_int_equal(m->nodes[0].n_files, 3);
    expect(m, m->nodes[0].cells, "Pkg(J)", 120);
    expect(m, m->nodes[0].cells, "GPU 0 (J)", 60);
    expect(m, m->nodes[0].cells, "GPU 1 (J)", 44);
    expect(m, m->nodes[0].cells, "Time (s)", 12);
    assert_int_equal(m->n_notes, 1);
    assert_string_equal(m->notes[0], "n1: gpu-1 is known for 9 s of 12 s only");
    assert_false(cell(m, m->nodes[1].cells, "GPU 0 (J)").is_there);
    expect(m, m->totals, "Pkg(J)", 127);
    expect(m, m->totals, "GPU 0 (J)", 60);
    expect(m, m->totals, "Time (s)", 16);
    adept_merge_free(m);
}

static void runs_one_after_another_add_up(void **state)
{
    (void)state;
    const char *const sensors[] = {"cpu-0 cpu true 10", NULL};
    add_run("n1", 10.25, 0.5, sensors);
    add_run("n1", 10.75, 0.5, sensors); /* as the one before ends */
    add_run("n1", 3.0, 4.0, sensors);
    add_run("n1", 59.9, 0.2, sensors);
    adept_merge *m = merge();

    assert_int_equal(m->n_nodes, 1);
    expect(m, m->totals, "Pkg(J)", 40);
    expect(m, m->totals, "Time (s)", 5.2);
    adept_merge_free(m);

    n_files = 0; /* the clock begins anew with every boot */
    add_run("n1", 10, 4, sensors);
    boot_s = 60;
    add_run("n1", 70, 4, sensors);
    m = merge();
    expect(m, m->totals, "Pkg(J)", 20);
    adept_merge_free(m);

    n_files = 0; /* a chain: the first and the last do not overlap, the middle does both */
    add_run("n1", 0, 4, sensors);
    add_run("n1", 6, 4, (const char *const[]){"cpu-0 cpu true 11", NULL});
    add_run("n1", 3, 5, (const char *const[]){"cpu-0 cpu true 12", NULL});
    m = merge();
    expect(m, m->totals, "Pkg(J)", 12);
    expect(m, m->totals, "Time (s)", 5);
    adept_merge_free(m);
}

static void what_is_not_known_is_not_zero(void **state)
{
    (void)state;
    add_run("n1", 0, 5, (const char *const[]){"cpu-0 cpu true 10", "cpu-1 cpu true null", "dram dram true null", NULL});
    add_run("n1", 0, 4, (const char *const[]){"cpu-0 cpu true 8", "dram dram true 3", NULL});
    add_run("n2", 0, 5, (const char *const[]){"cpu-0 cpu true 10", "dram dram true 4", NULL});
    adept_merge *m = merge();

    assert_true(isnan(cell(m, m->nodes[0].cells, "Pkg(J)").value));
    assert_true(isnan(cell(m, m->totals, "Pkg(J)").value));
    expect(m, m->nodes[0].cells, "RAM (J)", 3); /* the shorter run knows it */
    expect(m, m->totals, "RAM (J)", 7);
    assert_true(isnan(m->energy_j));
    assert_int_equal(m->n_notes, 2);
    assert_string_equal(m->notes[0], "n1: the energy of cpu-1 is not known");
    assert_string_equal(m->notes[1], "n1: dram is known for 4 s of 5 s only");
    adept_merge_free(m);

    n_files = 0;
    add_run("n3", 0, 5, (const char *const[]){NULL});
    m = merge();
    assert_int_equal(m->n_columns, 1);
    assert_true(isnan(m->energy_j));
    expect(m, m->totals, "Time (s)", 5);
    adept_merge_free(m);
}

static void columns_have_an_order(void **state)
{
    (void)state;
    add_run("n1", 0, 5,
            (const char *const[]){"dram dram true 1", "gpu-10 gpu true 1", "gpu-2 gpu true 1", "board gpu true 1",
                                  "gpu-x gpu true 1", "cpu-0 cpu true 1", "psys psys false 1", NULL});
    adept_merge *m = merge();
    const char *const wanted[] = {"Pkg(J)", "GPU 2 (J)", "GPU 10 (J)", "board (J)", "gpu-x (J)", "RAM (J)", "Time (s)"};

    assert_int_equal(m->n_columns, 7);
    for (size_t i = 0; i < 7; i++)
        assert_string_equal(m->columns[i].title, wanted[i]);
    assert_true(m->energy_j == 6);
    adept_merge_free(m);
}

static void other_files_are_refused(void **state)
{
    (void)state;
    const char *const texts[] = {
        "",
        "[]",
        "{}",
        "{\"schema_version\":1}",
        "{\"schema_version\":2,\"kind\":\"measured\"}",
        "{\"schema_version\":1,\"kind\":\"predicted\"}",
        "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n\",\"time_s\":1,\"started\":\"2026-11-23T04:25:24Z\","
        "\"sensors\":[]}",
        "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n\",\"time_s\":null,"
        "\"started\":\"2026-11-23T04:25:24Z\",\"sensors\":[]}",
        "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n\",\"time_s\":1,\"begin_s\":1,\"started\":"
        "\"yesterday\",\"sensors\":[]}",
        "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n\",\"time_s\":1,\"begin_s\":1,\"started\":"
        "\"2026-11-23T04:25:24.5Z\",\"sensors\":{}}",
        "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n\",\"time_s\":1,\"begin_s\":1,\"started\":"
        "\"2026-11-23T04:25:24Z\",\"sensors\":[3]}",
        "{\"schema_version\":1,\"kind\":\"measured\",\"host\":\"n\",\"time_s\":1,\"begin_s\":1,\"started\":"
        "\"2026-11-23T04:25:24Z\",\"sensors\":[{}]}"};
    adept_merge *m = NULL;
    adept_error err;

    add_run("n1", 0, 5, (const char *const[]){"cpu-0 cpu true 10", NULL});
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        n_files = 1;
        FILE *file = new_file();
        fputs(texts[i], file);
        fclose(file);
        assert_int_equal(adept_merge_files(&m, names, n_files, &err), ADEPT_E_INVALID);
        assert_non_null(strstr(err.message, paths[1]));
        assert_null(m);
    }
    assert_int_equal(adept_merge_files(&m, (const char *const[]){"nowhere.json"}, 1, &err), ADEPT_E_INVALID);
}

/* ---------------------------------------------------------------- printed ---------------------------------------- */

static char *printed(adept_status (*print)(adept_cli *, const adept_merge *), const adept_merge *m)
{
    static char text[8192];
    char path[64];
    adept_cli cli = {0};

    snprintf(path, sizeof path, "%s/printed", folder);
    fflush(stdout);
    int saved = dup(STDOUT_FILENO), file = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_true(saved >= 0 && file >= 0 && dup2(file, STDOUT_FILENO) >= 0);
    adept_status status = print(&cli, m);
    fflush(stdout);
    dup2(saved, STDOUT_FILENO);
    close(saved);
    ssize_t n = pread(file, text, sizeof text - 1, 0);
    close(file);
    unlink(path);
    assert_true(status == ADEPT_OK && n > 0);
    text[n] = '\0';
    return text;
}

static void expect_line(const char *text, const char *wanted)
{
    if (!strstr(text, wanted)) fail_msg("'%s' is not in:\n%s", wanted, text);
}

static void the_table_is_printed(void **state)
{
    (void)state;
    for (int n = 0; n < NODES; n++)
        add_node((const char *const[]){"0", "1", "2", "n\\u001b,3"}[n], tables[0].rows[n]);
    add_run("x", 0, 2, (const char *const[]){"dram dram true null", NULL});
    adept_merge *m = merge();

    char *text = printed(adept_merge_print, m);
    expect_line(text, "Node    Pkg(J)  GPU 0 (J)  GPU 1 (J)  GPU 2 (J)  GPU 3 (J)  RAM (J)  Time (s)\n");
    expect_line(text, "0      1493.59     648.52     680.59     649.10     666.36   201.60     13.25\n");
    expect_line(text, "n?,3   1472.65 ");
    expect_line(text, "Total  5843.66    2694.12    2634.96    2587.37    2746.25        -     53.93\n");
    expect_line(text, "x: the energy of dram is not known\n");
    text = printed(adept_merge_print_json, m);
    expect_line(text, "\"RAM (J)\":\t193.2");
    expect_line(text, "\"RAM (J)\":\tnull");
    expect_line(text, "\"energy_j\":\tnull");
    adept_merge_free(m);
}

static void more_columns_than_fit_are_a_second_table(void **state)
{
    (void)state;
    enum { GPUS = ADEPT_MOST_COLUMNS }; /* the nodes' names need a column as well */
    char texts[GPUS][40], line[64];
    const char *sensors[GPUS + 1] = {NULL};

    for (int i = 0; i < GPUS; i++) {
        snprintf(texts[i], sizeof texts[i], "gpu-%d gpu true %d", i, i);
        sensors[i] = texts[i];
    }
    add_run("n1", 0, 5, sensors);
    adept_merge *m = merge();
    char *text = printed(adept_merge_print, m);
    snprintf(line, sizeof line, "GPU %d (J)\n", GPUS - 2);
    expect_line(text, line);
    snprintf(line, sizeof line, "\n\nNode   GPU %d (J)  Time (s)\n", GPUS - 1);
    expect_line(text, line);
    snprintf(line, sizeof line, "Energy of all: %d J\n", GPUS * (GPUS - 1) / 2);
    expect_line(text, line);
    adept_merge_free(m);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)
int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sums_of_the_tables),
        TEST(sums_of_table_3_11),
        TEST(ranks_of_a_node_count_once),
        TEST(runs_one_after_another_add_up),
        TEST(what_is_not_known_is_not_zero),
        TEST(columns_have_an_order),
        TEST(other_files_are_refused),
        TEST(the_table_is_printed),
        TEST(more_columns_than_fit_are_a_second_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Treemaps: areas, nesting, and what becomes of small cells; the layout of one level by hand. */
#include "treemap.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void close_to(double got, double expected)
{
    if (!(fabs(got - expected) <= 1e-9 * fmax(1, fabs(expected)))) fail_msg("%.17g instead of %.17g", got, expected);
}

static void is_rect(const adept_rect *r, double x, double y, double width, double height)
{
    close_to(r->x, x);
    close_to(r->y, y);
    close_to(r->width, width);
    close_to(r->height, height);
}

/* The example of Bruls, Huizing and van Wijk (2000), figure 3: 6, 6, 4, 3, 2, 2, 1 in 6 x 4. */
static void example_of_the_paper(void **state)
{
    (void)state;
    static const double values[] = {6, 6, 4, 3, 2, 2, 1};
    adept_rect r[7];
    adept_squarify(r, values, 7, (adept_rect){0, 0, 6, 4});
    is_rect(&r[0], 0, 0, 3, 2); /* the two of 6 fill a column of width 3 */
    is_rect(&r[1], 0, 2, 3, 2);
    is_rect(&r[2], 3, 0, 12.0 / 7, 7.0 / 3); /* 4 and 3 lie in a row of height 7/3 above the rest */
    is_rect(&r[3], 3 + 12.0 / 7, 0, 9.0 / 7, 7.0 / 3);
    is_rect(&r[4], 3, 7.0 / 3, 1.2, 5.0 / 3); /* then 2 stands alone, for 2 and 2 would be more oblong */
    is_rect(&r[5], 4.2, 7.0 / 3, 1.2, 5.0 / 3);
    is_rect(&r[6], 5.4, 7.0 / 3, 0.6, 5.0 / 3);
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

static double overlap(const adept_rect *a, const adept_rect *b)
{
    double width = fmin(a->x + a->width, b->x + b->width) - fmax(a->x, b->x);
    double height = fmin(a->y + a->height, b->y + b->height) - fmax(a->y, b->y);
    return width > 0 && height > 0 ? width * height : 0;
}

/* 300 values over six powers of ten: areas in proportion, all inside, none on another. */
static void areas_are_shares(void **state)
{
    (void)state;
    enum { N = 300 };
    static double values[N];
    static adept_rect r[N];
    const adept_rect area = {10, 20, 700, 333};
    double total = 0;
    unsigned seed = 1;
    for (int i = 0; i < N; i++) {
        seed = seed * 1103515245u + 12345u;
        values[i] = pow(10, (double)(seed >> 8 & 0xFFFF) / 65536 * 6);
        total += values[i];
    }
    qsort(values, N, sizeof *values, descending);
    adept_squarify(r, values, N, area);
    for (int i = 0; i < N; i++) {
        double share = r[i].width * r[i].height / (area.width * area.height);
        assert_true(fabs(share - values[i] / total) < 1e-9);
        assert_true(r[i].x >= area.x - 1e-6 && r[i].y >= area.y - 1e-6);
        assert_true(r[i].x + r[i].width <= area.x + area.width + 1e-6);
        assert_true(r[i].y + r[i].height <= area.y + area.height + 1e-6);
        for (int j = 0; j < i; j++)
            assert_true(overlap(&r[i], &r[j]) < 1e-6);
    }
}

static adept_treemap layout(const adept_treemap_item *items, size_t n)
{
    adept_treemap map;
    adept_error err;
    assert_int_equal(adept_treemap_layout(&map, items, n, (adept_rect){0, 0, 1000, 500}, &err), ADEPT_OK);
    return map;
}

/* The node with this label, the path before it, and so many children. */
static const adept_treemap_node *node(const adept_treemap *map, const char *label, double value)
{
    for (size_t i = 0; i < map->n_nodes; i++) {
        const adept_treemap_node *n = &map->nodes[i];
        if (n->label_length == strlen(label) && memcmp(n->label, label, n->label_length) == 0 &&
            fabs(n->value - value) < 1e-12)
            return n;
    }
    fail_msg("no cell '%s' of %g", label, value);
    return NULL;
}

static void modules_nest(void **state)
{
    (void)state;
    const adept_treemap_item items[] = {
        {"net.a.x", "Linear", 3, ADEPT_SHADE_COMPUTE, false}, {"net.a", "Block", 1, ADEPT_SHADE_MEMORY, false},
        {"net.a-b", "Linear", 2, ADEPT_SHADE_COMPUTE, false}, {"net.a.y", "ReLU", 2, ADEPT_SHADE_MEMORY, false},
        {"head", "Linear", 1, ADEPT_SHADE_COMPUTE, false},    {"optimizer", "", 1, ADEPT_SHADE_OPTIMIZER, true},
        {"nothing", "", 0, ADEPT_SHADE_COMPUTE, false},       {"unknown", "", NAN, ADEPT_SHADE_COMPUTE, false},
    };
    adept_treemap map = layout(items, sizeof items / sizeof *items);
    assert_int_equal(map.n_items, 6);
    const adept_treemap_node *root = &map.nodes[0], *net = node(&map, "net", 8), *a = node(&map, "a", 6);
    close_to(root->value, 10);
    assert_int_equal(root->n_children, 3);
    assert_int_equal(net->n_children, 2); /* "a" and "a-b", which no sorting of bytes tears apart */
    assert_int_equal(a->n_children, 3);
    assert_int_equal(a->shade, ADEPT_SHADE_COMPUTE); /* 3 of compute, 3 of memory: the first of them */
    assert_int_equal(node(&map, "a-b", 2)->n_children, 0);
    assert_int_equal(node(&map, "(itself)", 1)->shade, ADEPT_SHADE_MEMORY);
    assert_int_equal(node(&map, "optimizer", 1)->depth, 1);
    /* children fill their parent's inner area, in proportion */
    double area = 0;
    for (size_t i = 0; i < a->n_children; i++) {
        const adept_rect *r = &map.nodes[a->child + i].rect;
        area += r->width * r->height;
        close_to(r->width * r->height / (a->inner.width * a->inner.height), map.nodes[a->child + i].value / 6);
    }
    close_to(area, a->inner.width * a->inner.height);
    adept_treemap_free(&map);
}

/* One part without a fork is one label; a module called like a phase stays apart from it. */
static void chains_and_phases(void **state)
{
    (void)state;
    const adept_treemap_item items[] = {
        {"optimizer.layers.{0-21}.q", "", 2, ADEPT_SHADE_COMPUTE, false},
        {"optimizer.layers.{0-21}.k", "", 1, ADEPT_SHADE_COMPUTE, false},
        {"optimizer", "", 1, ADEPT_SHADE_OPTIMIZER, true},
    };
    adept_treemap map = layout(items, 3);
    assert_int_equal(map.nodes[0].n_children, 2);
    assert_int_equal(node(&map, "optimizer.layers.{0-21}", 3)->n_children, 2);
    assert_int_equal(node(&map, "optimizer", 1)->n_children, 0);
    adept_treemap_free(&map);
}

static void empty_path_is_the_model(void **state)
{
    (void)state;
    const adept_treemap_item items[] = {{"", "", 2, ADEPT_SHADE_COMPUTE, false},
                                        {"a", "", 1, ADEPT_SHADE_COMPUTE, false}};
    adept_treemap map = layout(items, 2);
    node(&map, "(model)", 2);
    node(&map, "a", 1);
    adept_treemap_free(&map);
}

/* 100,000 layers, and one with most of the time: the small ones become one cell, nothing is lost. */
static void small_cells_are_gathered(void **state)
{
    (void)state;
    enum { N = 100000 };
    adept_treemap_item *items = calloc(N, sizeof *items);
    char(*names)[16] = calloc(N, sizeof *names);
    for (int i = 0; i < N; i++) {
        snprintf(names[i], sizeof names[i], "l%d", i);
        items[i] = (adept_treemap_item){names[i], "", i == 0 ? 50000 : 1, ADEPT_SHADE_COMPUTE, false};
    }
    adept_treemap map = layout(items, N);
    assert_int_equal(map.nodes[0].n_children, 2);
    node(&map, "other", 99999);
    node(&map, "l0", 50000);
    adept_treemap_free(&map);
    free(names);
    free(items);
}

/* A path of 5,000 parts and of 10,000 characters in one part. */
static void long_paths(void **state)
{
    (void)state;
    char *deep = malloc(10001), *wide = malloc(10001);
    for (int i = 0; i < 10000; i++) {
        deep[i] = i % 2 ? '.' : 'a';
        wide[i] = 'w';
    }
    deep[10000] = wide[10000] = '\0';
    const adept_treemap_item items[] = {{deep, "", 1, ADEPT_SHADE_COMPUTE, false},
                                        {wide, "", 1, ADEPT_SHADE_COMPUTE, false},
                                        {".", "", 1, ADEPT_SHADE_COMPUTE, false},
                                        {"..a", "", 1, ADEPT_SHADE_COMPUTE, false}};
    adept_treemap map = layout(items, 4);
    assert_int_equal(map.nodes[0].n_children, 3);
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    const adept_treemap_look look = {"t", "T", adept_units_time};
    assert_int_equal(adept_treemap_draw(out, items, 4, &look, NULL), ADEPT_OK);
    fclose(out);
    assert_true(size < 20000);
    free(text);
    adept_treemap_free(&map);
    free(deep);
    free(wide);
}

static void nothing_at_all(void **state)
{
    (void)state;
    adept_treemap map = layout(NULL, 0);
    assert_int_equal(map.n_nodes, 0);
    adept_treemap_free(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_of_the_paper),
        cmocka_unit_test(areas_are_shares),
        cmocka_unit_test(modules_nest),
        cmocka_unit_test(chains_and_phases),
        cmocka_unit_test(empty_path_is_the_model),
        cmocka_unit_test(small_cells_are_gathered),
        cmocka_unit_test(long_paths),
        cmocka_unit_test(nothing_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

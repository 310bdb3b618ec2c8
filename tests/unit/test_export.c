/* The .pt2 reader: hand-written programs, tied weights, archives, refusals, and real files where they are. */
#include "adept_import.h"
#include "adept_file.h"
#include "graph_print.h"
#include "cmocka_test.h"
#include <dirent.h>
#include <unistd.h>
#include <zip.h>

#define GOLDEN ADEPT_SOURCE_DIR "/tests/golden/export/"

static char *read_text(const char *path, size_t *size)
{
    char *text = NULL;
    adept_error err = {0};
    if (adept_file_read(&text, size, path, 1 << 24, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return text;
}

static char *golden(const char *name, const char *suffix, size_t *size)
{
    char path[512];
    snprintf(path, sizeof path, "%s%s%s", GOLDEN, name, suffix);
    return read_text(path, size);
}

static adept_graph *parse_ok(const char *json, size_t size, const char *weights)
{
    adept_graph *g = NULL;
    adept_error err = {0};
    if (adept_export_parse(&g, "t.pt2", json, size, weights, weights ? strlen(weights) : 0, &err) != ADEPT_OK) {
        fail_msg("%s", err.message);
    }
    return g;
}

/* ---- hand-written programs ---- */

static void test_golden(void **state)
{
    (void)state;
    static const char *const names[] = {"basic", "sizes",  "lists", "kinds",  "regions",
                                        "flow",  "inputs", "paths", "schema1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t json_size, expected_size;
        char *json = golden(names[i], ".json", &json_size), *expected = golden(names[i], ".expected", &expected_size);
        adept_graph *g = parse_ok(json, json_size, NULL);
        char *text = graph_print(g);
        if (strcmp(text, expected) != 0) fail_msg("%s: expected\n%s\ngot\n%s", names[i], expected, text);
        assert_string_equal(g->format, "export");
        adept_graph_free(g);
        free(text);
        free(json);
        free(expected);
    }
}

/* ---- refusals: one edit of a good file each ---- */

static char *replace_once(const char *text, const char *from, const char *to)
{
    size_t head = 0, length = strlen(text), size = length + strlen(to) + 1;
    while (head < length && strncmp(text + head, from, strlen(from)) != 0)
        head++;
    if (head == length) fail_msg("'%s' is not in the file", from);
    char *out = malloc(size);
    assert_non_null(out);
    snprintf(out, size, "%.*s%s%s", (int)head, text, to, text + head + strlen(from));
    return out;
}

/* Strides say where the channels of a weight and of an input lie. */
static void test_channels_last(void **state)
{
    (void)state;
    size_t size;
    char *json = golden("basic", ".json", &size);
    char *weight = replace_once(json, "{\"as_int\": 27}, {\"as_int\": 9}, {\"as_int\": 3}, {\"as_int\": 1}",
                                "{\"as_int\": 27}, {\"as_int\": 1}, {\"as_int\": 9}, {\"as_int\": 3}");
    char *input = replace_once(json, "{\"as_int\": 3072}, {\"as_int\": 1024}, {\"as_int\": 32}, {\"as_int\": 1}",
                               "{\"as_int\": 3072}, {\"as_int\": 1}, {\"as_int\": 96}, {\"as_int\": 3}");
    const char *const texts[] = {json, weight, input};
    for (size_t i = 0; i < 3; i++) {
        adept_graph *g = parse_ok(texts[i], strlen(texts[i]), NULL);
        assert_int_equal(g->params[0].channels_last, i == 1);
        assert_int_equal(g->inputs[0].channels_last, i == 2);
        adept_graph_free(g);
    }
    free(json), free(weight), free(input);
}

typedef struct edit {
    const char *file, *from, *to, *message;
} edit;

static const edit edits[] = {
    {"basic", "\"schema_version\": {\"major\": 8", "\"schema_version\": {\"major\": 9", "newer"},
    {"basic", "\"schema_version\"", "\"other\"", "schema_version"},
    {"basic", "\"graph_module\"", "\"other\"", "graph_module"},
    {"basic", "\"nodes\": [", "\"nodes\": 3, \"x\": [", "\"nodes\" is not an array"},
    {"basic", "\"target\": \"torch.ops.aten.add.Tensor\"", "\"target\": 5", "node 1 (?): \"target\""},
    {"basic", "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"conv2d\"}}}",
     "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"later\"}}}",
     "t.pt2: node 2 (torch.ops.aten.relu.default): uses 'later'"},
    {"basic", "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"conv2d\"}}}",
     "{\"name\": \"conv2d\", \"arg\": {\"as_tensor\": {\"name\": \"conv2d\"}}}",
     "argument 'conv2d' is not known, of a later PyTorch or misspelt; known are: self"},
    {"basic", "{\"name\": \"self\", \"arg\": {\"as_tensor\": {\"name\": \"conv2d\"}}}", "",
     "argument 'self' is missing"},
    {"basic", "{\"as_ints\": [2, 2]}", "{\"as_ints\": [2, \"a\"]}", "node 0 (torch.ops.aten.conv2d.default)"},
    {"basic", "{\"as_ints\": [2, 2]}", "{\"as_ints\": [2, 2.5]}", "wrong type"},
    {"basic", "{\"as_ints\": [2, 2]}", "{\"as_widgets\": [2, 2]}", "as_widgets"},
    {"basic", "{\"as_ints\": [2, 2]}", "{}", "one key"},
    {"basic", "{\"as_ints\": [2, 2]}", "[]", "\"arg\" is not an object"},
    {"basic", "\"as_float\": 0.5", "\"as_float\": true", "wrong type"},
    {"basic", "\"p_unused\": {\"dtype\": 13", "\"p_unused\": {\"dtype\": 99", "element type"},
    {"basic", "\"p_unused\": {\"dtype\"", "\"p_other\": {\"dtype\"", "'unused.bias' ('p_unused') is missing"},
    {"basic", "\"sizes\": [{\"as_int\": 8}]", "\"sizes\": [{\"as_int\": -8}]", "impossible shape"},
    {"basic", "\"sizes\": [{\"as_int\": 8}, {\"as_int\": 3}",
     "\"sizes\": [{\"as_int\": 4611686018427387904}, {\"as_int\": 3}", "impossible shape"},
    {"basic", "\"sizes\": [{\"as_int\": 8}]", "\"sizes\": [{\"as_int\": 8}, {\"as_int\": 8}]", "sizes and"},
    {"basic", "\"sizes\": [{\"as_int\": 8}]", "\"sizes\": [{\"as_expr\": {\"expr_str\": \"u0\"}}]", "not known"},
    {"basic", "{\"as_int\": 3}, {\"as_int\": 32}", "{\"as_int\": -3}, {\"as_int\": 32}", "input 'x'"},
    {"basic", "{\"as_tensor\": {\"name\": \"relu\"}}}},\n    {\"user_output\"",
     "{\"as_tensor\": {\"name\": \"gone\"}}}},\n    {\"user_output\"", "uses 'gone'"},
    {"basic", "\"parameter_name\": \"unused.bias\"", "\"parameter_name\": \"features.conv.weight\"", "twice"},
    {"basic", "\"features.bn.running_mean\", \"persistent\"", "5, \"persistent\"", "buffer_name"},
    {"basic", "\"opset_version\": {\"aten\": 10},", "\"opset_version\": {\"aten\": 10} ", "t.pt2:5:"},
    {"kinds", "\"as_scalar_type\": 13", "\"as_scalar_type\": 99", "element type that is not known, number 99"},
    {"kinds", "\"as_layout\": 7", "\"as_layout\": 8", "'as_layout' 8"},
    {"kinds", "\"as_memory_format\": 4", "\"as_memory_format\": -1", "'as_memory_format' -1"},
    {"kinds", "\"type\": \"cuda\"", "\"kind\": \"cuda\"", "\"type\" is missing"},
    {"regions", "\"inputs\": [{\"as_tensor\": {\"name\": \"z\"}}]", "\"inputs\": []", "takes 0 values, 1 are given"},
    {"regions", "\"outputs\": [{\"as_tensor\": {\"name\": \"y\"}}],\n", "\"outputs\": [],\n", "returns 0 values"},
    {"regions", "\"as_scalar_type\": 13}}, {\"name\": \"\", \"arg\": {\"as_bool\": true",
     "\"as_scalar_type\": 99}}, {\"name\": \"\", \"arg\": {\"as_bool\": true",
     "element type that is not known, number 99"},
    {"flow", "\"outputs\": [{\"as_tensor\": {\"name\": \"t\"}}], \"nodes\"", "\"outputs\": [], \"nodes\"",
     "returns 0 values, 1 are expected"},
    {"flow",
     "[{\"name\": \"s\"}, {\"name\": \"y\"}]}}, {\"name\": \"\", \"arg\": {\"as_tensors\": [{\"name\": \"w\"}]}}",
     "[{\"name\": \"s\"}]}}", "the loop takes 1 values and returns 2"},
    {"flow", "\"as_tensors\": [{\"name\": \"z\"}]", "\"as_tensors\": []", "a map over nothing"},
    {"flow", "[{\"name\": \"x\"}, {\"name\": \"w\"}]", "[{\"name\": \"x\"}]", "the region takes 2 values, 1 are given"},
    {"sizes", "\"as_sym_ints\": [{\"as_name\": \"s0\"}, {\"as_int\": 1}, {\"as_name\": \"s1\"}]", "\"as_sym_ints\": []",
     "a sum of nothing"},
    {"lists", "\"as_int_lists\": [[1, 2]", "\"as_int_lists\": [3", "wrong type"},
    {"schema1", "\"arg1_1\": \"mask\"", "\"arg1_1\": 4", "inputs_to_buffers"},
};

static void test_refusals(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof edits / sizeof edits[0]; i++) {
        size_t size;
        char *json = golden(edits[i].file, ".json", &size);
        char *bad = replace_once(json, edits[i].from, edits[i].to);
        adept_graph *g = NULL;
        adept_error err = {0};
        adept_status status = adept_export_parse(&g, "t.pt2", bad, strlen(bad), NULL, 0, &err);
        /* a later PyTorch has types of its own: that file is sound */
        adept_status wanted = strstr(edits[i].message, "element type") ? ADEPT_E_UNSUPPORTED : ADEPT_E_INVALID;
        if (status != wanted || !strstr(err.message, edits[i].message) || strncmp(err.message, "t.pt2:", 6)) {
            fail_msg("edit %zu (%s): status %d, '%s'", i, edits[i].to, (int)status, err.message);
        }
        assert_null(g);
        assert_int_equal(adept_export_parse(&g, "t.pt2", bad, strlen(bad), NULL, 0, NULL), wanted);
        free(bad);
        free(json);
    }
}

/* A later PyTorch's argument that is None or False changes nothing; another value might. */
static void test_later_arguments(void **state)
{
    (void)state;
    static const struct {
        const char *value;
        bool runs;
    } cases[] = {{"\"as_none\": true", true},
                 {"\"as_bool\": false", true},
                 {"\"as_bool\": true", false},
                 {"\"as_int\": 0", false}};
    size_t size;
    char *json = golden("basic", ".json", &size);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char to[80];
        snprintf(to, sizeof to, "{\"name\": \"later\", \"arg\": {%s}}", cases[i].value);
        char *changed = replace_once(json, "{\"name\": \"bias\", \"arg\": {\"as_none\": true}}", to);
        adept_graph *g = NULL;
        assert_int_equal(adept_export_parse(&g, "t.pt2", changed, strlen(changed), NULL, 0, NULL) == ADEPT_OK,
                         cases[i].runs);
        adept_graph_free(g);
        free(changed);
    }
    free(json);
}

/* No prefix and no changed byte crashes or hangs; what is accepted is a whole graph. */
static void try_bytes(const char *json, size_t size)
{
    char *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    memcpy(copy, json, size);
    adept_graph *g = NULL;
    adept_error err = {0};
    adept_status status = adept_export_parse(&g, "t", copy, size, NULL, 0, &err);
    assert_true(status == ADEPT_OK || status == ADEPT_E_INVALID);
    assert_int_equal(status == ADEPT_OK, g != NULL);
    adept_graph_free(g);
    free(copy);
}

static void test_damage(void **state)
{
    (void)state;
    static const char *const names[] = {"basic", "regions", "lists", "flow"};
    uint32_t seed = 1u;
    for (size_t k = 0; k < 4; k++) {
        size_t size;
        char *json = golden(names[k], ".json", &size);
        for (size_t n = 0; n < size; n += 7)
            try_bytes(json, n);
        for (int i = 0; i < 3000; i++) {
            seed = seed * 1664525u + 1013904223u; /* Numerical Recipes' generator */
            size_t at = (seed >> 8) % size;
            char old = json[at];
            json[at] = (char)(seed >> 3);
            try_bytes(json, size);
            json[at] = old;
        }
        free(json);
    }
}

static void test_nesting(void **state)
{
    (void)state;
    size_t depth = 200000, head = 0;
    char *json = malloc(depth + 100);
    assert_non_null(json);
    head = (size_t)sprintf(json, "{\"schema_version\":{\"major\":8},\"graph_module\":");
    memset(json + head, '[', depth);
    try_bytes(json, head + depth);
    free(json);
}

/* ---- tied weights ---- */

typedef struct tie_case {
    const char *name_b;   /* of the second parameter; the first is "a" */
    const char *config_b; /* file that holds the second one's data; the first one's is "weight_0" */
    bool expanded, b_used;
    int offset_b;
    size_t n_params; /* distinct ones expected */
} tie_case;

static const tie_case ties[] = {
    {"b", "weight_0", false, true, 0, 1},  /* same memory: the same tensor */
    {"b", "weight_0", false, false, 0, 1}, /* likewise, and only one name in use */
    {"b", "weight_0", false, true, 6, 2},  /* another part of one file */
    {"b", "weight_1", false, true, 0, 2},  /* another file */
    {"b", "weight_1", false, false, 0, 2}, /* an unused parameter is still one */
    {"b", "weight_0", true, true, 0, 2},   /* expanded from a shared element, both in use: two parameters */
    {"b", "weight_0", true, false, 0, 1},  /* expanded, one name unused: how torch.export leaves a tied one */
    {"a", "weight_0", true, true, 0, 1},   /* a strict export gives both the same name */
};

static char *tied_program(const tie_case *c)
{
    static const char form[] =
        "{\"schema_version\":{\"major\":8},\"graph_module\":{\"signature\":{\"input_specs\":["
        "{\"parameter\":{\"arg\":{\"name\":\"p_a\"},\"parameter_name\":\"a\"}},"
        "{\"parameter\":{\"arg\":{\"name\":\"p_b\"},\"parameter_name\":\"%s\"}}],\"output_specs\":[]},"
        "\"graph\":{\"inputs\":[],\"outputs\":[],\"nodes\":["
        "{\"target\":\"torch.ops.aten.add.Tensor\",\"inputs\":[{\"name\":\"self\",\"arg\":{\"as_tensor\":{\"name\":"
        "\"p_a\"}}},{\"name\":\"other\",\"arg\":{\"as_tensor\":{\"name\":\"%s\"}}}],\"outputs\":[],\"metadata\":{}}],"
        "\"tensor_values\":{"
        "\"p_a\":{\"dtype\":7,\"sizes\":[{\"as_int\":2},{\"as_int\":3}],\"strides\":[{\"as_int\":%d},{\"as_int\":%d}],"
        "\"storage_offset\":{\"as_int\":0},\"requires_grad\":true},"
        "\"p_b\":{\"dtype\":7,\"sizes\":[{\"as_int\":2},{\"as_int\":3}],\"strides\":[{\"as_int\":%d},{\"as_int\":%d}],"
        "\"storage_offset\":{\"as_int\":%d},\"requires_grad\":true}}}}}";
    char *json = malloc(sizeof form + 200);
    assert_non_null(json);
    int row = c->expanded ? 0 : 3, column = c->expanded ? 0 : 1;
    sprintf(json, form, c->name_b, c->b_used ? "p_b" : "p_a", row, column, row, column, c->offset_b);
    return json;
}

static void test_ties(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof ties / sizeof ties[0]; i++) {
        char config[300];
        bool same = strcmp(ties[i].name_b, "a") == 0; /* stands in the file once */
        snprintf(config, sizeof config,
                 same ? "{\"config\":{\"%s\":{\"path_name\":\"%s\"}}}"
                      : "{\"config\":{\"%s\":{\"path_name\":\"%s\"},\"a\":{\"path_name\":\"weight_0\"}}}",
                 ties[i].name_b, ties[i].config_b);
        char *json = tied_program(&ties[i]);
        adept_graph *g = parse_ok(json, strlen(json), config);
        if (g->n_params != ties[i].n_params) fail_msg("case %zu: %zu parameters", i, g->n_params);
        assert_int_equal(g->params[0].n_names, ties[i].n_params == 1 ? 2 : 1);
        adept_graph_free(g);
        free(json);
    }
}

static void test_bad_config(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{}", "[]", "{\"config\":{\"a\":{}}}", "{\"config\":{\"a\":{\"path_name\":1}}}", "{\"config\":3}", "{"};
    char *json = tied_program(&ties[0]);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        adept_graph *g = NULL;
        adept_error err = {0};
        assert_int_equal(adept_export_parse(&g, "t", json, strlen(json), bad[i], strlen(bad[i]), &err),
                         ADEPT_E_INVALID);
        assert_null(g);
    }
    free(json);
}

/* ---- archives ---- */

static char folder[] = "/tmp/adept-export-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    char path[512];
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir && (e = readdir(dir));) {
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        unlink(path);
    }
    if (dir) closedir(dir);
    return rmdir(folder);
}

typedef struct entry {
    const char *name;
    const void *data;
    size_t size;
} entry;

static const char *write_zip(char path[128], const char *name, const entry *entries, size_t n, bool compress)
{
    snprintf(path, 128, "%s/%s", folder, name);
    int code = 0;
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
    assert_non_null(zip);
    for (size_t i = 0; i < n; i++) {
        zip_source_t *source = zip_source_buffer(zip, entries[i].data, entries[i].size, 0);
        assert_non_null(source);
        zip_int64_t index = zip_file_add(zip, entries[i].name, source, 0);
        assert_true(index >= 0);
        assert_int_equal(
            zip_set_file_compression(zip, (zip_uint64_t)index, compress ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0), 0);
    }
    assert_int_equal(zip_close(zip), 0);
    return path;
}

static adept_graph *read_ok(const char *path)
{
    adept_graph *g = NULL;
    adept_error err = {0};
    if (adept_export_import(&g, path, NULL, 0, 0, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return g;
}

static void read_fails(const char *path, const char *message)
{
    adept_graph *g = NULL;
    adept_error err = {0};
    assert_int_equal(adept_export_import(&g, path, NULL, 0, 0, &err), ADEPT_E_INVALID);
    assert_null(g);
    if (!strstr(err.message, message) || !strstr(err.message, path)) fail_msg("'%s'", err.message);
}

static void test_rooted(void **state)
{
    (void)state;
    char path[128];
    char *json = tied_program(&ties[1]);
    size_t n = strlen(json);
    const char *config = "{\"config\":{\"a\":{\"path_name\":\"weight_0\"},\"b\":{\"path_name\":\"weight_0\"}}}";
    entry entries[] = {{"net/archive_format", "pt2", 3},
                       {"net/models/model.json", json, n},
                       {"net/models/other.json", "{", 1},
                       {"net/data/weights/model_weights_config.json", config, strlen(config)}};
    adept_graph *g = read_ok(write_zip(path, "rooted.pt2", entries, 4, true));
    assert_int_equal(g->n_params, 1);
    adept_graph_free(g);
    g = read_ok(write_zip(path, "noweights.pt2", entries, 3, false));
    assert_int_equal(g->n_params, 2); /* nothing says that they are one */
    adept_graph_free(g);
    entries[1].name = "net/models/encoder.json"; /* the only model may have any name ... */
    g = read_ok(write_zip(path, "one.pt2", entries, 2, false));
    adept_graph_free(g);
    read_fails(write_zip(path, "two.pt2", entries, 3, false),
               "encoder, other"); /* ... of several, one must be "model" */
    entries[1].name = "net/models/deep/model.json";
    read_fails(write_zip(path, "none.pt2", entries, 2, false), "no program");
    entries[1].name = "net/models/model.json";
    entries[3].data = "{";
    entries[3].size = 1;
    read_fails(write_zip(path, "badconfig.pt2", entries, 4, false), "JSON");
    free(json);
}

/* A pickle as torch.save writes it: {name: tensor on (storage key, offset)}; one of them as a parameter. */
static size_t make_pickle(unsigned char *out, const char *key_b, int offset_b)
{
    static const char tensor[] = "ctorch._utils\n_rebuild_tensor_v2\n((X\x07\0\0\0storagectorch\nFloatStorage\nX";
    char *p = (char *)out;
#define PUT(text) (memcpy(p, text, sizeof text - 1), p += sizeof text - 1)
#define REST(offset)                                                                                                   \
    (PUT("X\x03\0\0\0cpuK\x06tQK"), *p++ = (char)(offset),                                                             \
     PUT("K\x02K\x03\x86K\x03K\x01\x86\x89"                                                                            \
         "ccollections\nOrderedDict\n)RtR"))
    PUT("\x80\x02}q\0(X\x01\0\0\0aq\x01"
        "ctorch._utils\n_rebuild_parameter\n");
    PUT(tensor);
    PUT("\x01\0\0\0"
        "0");
    REST(0);
    PUT("\x88"
        "ccollections\nOrderedDict\n)R\x87Rq\x02X\x01\0\0\0b");
    PUT(tensor);
    PUT("\x01\0\0\0");
    *p++ = key_b[0];
    REST(offset_b);
    PUT("u.");
#undef PUT
#undef REST
    return (size_t)(p - (char *)out);
}

static entry make_state(char path[128], const unsigned char *pickle, size_t size)
{
    entry inner[] = {{"archive/version", "3\n", 2}, {"archive/data.pkl", pickle, size}, {"archive/data/0", "1234", 4}};
    entry state = {.name = "serialized_state_dict.pt"};
    state.data = read_text(write_zip(path, "state.pt", inner, 3, false), &state.size);
    return state;
}

static void test_flat(void **state)
{
    (void)state;
    char path[128];
    unsigned char pickle[1000];
    char *json = tied_program(&ties[1]);
    entry entries[2] = {{"serialized_exported_program.json", json, strlen(json)}};
    static const struct {
        const char *key_b;
        int offset_b;
        size_t n_params;
    } cases[] = {{"0", 0, 1}, {"0", 6, 2}, {"1", 0, 2}};
    for (size_t i = 0; i < 3; i++) {
        size_t size = make_pickle(pickle, cases[i].key_b, cases[i].offset_b);
        entries[1] = make_state(path, pickle, size);
        adept_graph *g = read_ok(write_zip(path, "flat.pt2", entries, 2, false));
        if (g->n_params != cases[i].n_params) fail_msg("case %zu: %zu parameters", i, g->n_params);
        adept_graph_free(g);
        free((void *)entries[1].data);
    }
    adept_graph *g =
        read_ok(write_zip(path, "bare.pt2", entries, 1, true)); /* exported without weights, recompressed */
    assert_int_equal(g->n_params, 2);
    adept_graph_free(g);
    free(json);
}

/* Every cut and 5000 changed bytes of the pickle: read or refused. */
static void test_pickle_damage(void **state)
{
    (void)state;
    char path[128];
    unsigned char pickle[1000];
    char *json = tied_program(&ties[1]);
    size_t size = make_pickle(pickle, "0", 0);
    uint32_t seed = 99u;
    for (int i = 0; i < 5000 + (int)size; i++) {
        unsigned char copy[1000];
        memcpy(copy, pickle, size);
        size_t n = i < (int)size ? (size_t)i : size;
        for (int k = 0; n == size && k < 2; k++) {
            seed = seed * 1664525u + 1013904223u;
            copy[(seed >> 8) % size] = (unsigned char)seed;
        }
        if (i % 16 && n == size) continue; /* each try writes two files: one in sixteen is enough */
        entry entries[2] = {{"serialized_exported_program.json", json, strlen(json)}};
        entries[1] = make_state(path, copy, n);
        adept_graph *g = NULL;
        adept_error err = {0};
        adept_status status =
            adept_export_import(&g, write_zip(path, "damaged.pt2", entries, 2, false), NULL, 0, 0, &err);
        assert_true(status == ADEPT_OK || status == ADEPT_E_INVALID);
        if (n < size) assert_int_equal(status, ADEPT_E_INVALID);
        adept_graph_free(g);
        free((void *)entries[1].data);
    }
    free(json);
}

static void test_bad_archives(void **state)
{
    (void)state;
    char path[128];
    char *json = tied_program(&ties[0]);
    size_t n = strlen(json);
    entry entries[] = {{"serialized_exported_program.json", json, n}, {"serialized_state_dict.pt", "PK nonsense", 11}};
    read_fails(write_zip(path, "state.pt2", entries, 2, false), "state dictionary");
    size_t size;
    char *bytes = read_text(write_zip(path, "whole.pt2", entries, 1, false), &size);
    adept_error err = {0};
    char cut[128];
    snprintf(cut, sizeof cut, "%s/cut.pt2", folder);
    for (size_t k = 0; k < size; k += 97) {
        assert_int_equal(adept_file_write(cut, bytes, k, &err), ADEPT_OK);
        read_fails(cut, "");
    }
    bytes[300] ^= 1; /* in the middle of the JSON: the checksum tells */
    assert_int_equal(adept_file_write(cut, bytes, size, &err), ADEPT_OK);
    read_fails(cut, "damaged");
    free(bytes);
    free(json);
}

/* ---- real files ---- */

static int64_t count_params(const adept_graph *g)
{
    int64_t total = 0;
    for (size_t i = 0; i < g->n_params; i++) {
        int64_t n = 1;
        for (int d = 0; d < g->params[i].ndim; d++)
            n *= g->params[i].dims[d];
        if (!g->params[i].is_buffer) total += n;
    }
    return total;
}

static int count_op(const adept_graph *g, const char *op)
{
    int n = 0;
    for (size_t i = 0; i < g->body->n_nodes; i++)
        n += strcmp(g->body->nodes[i].op, op) == 0;
    return n;
}

static adept_graph *shared_model(const char *name)
{
    char path[512];
    snprintf(path, sizeof path, "%s/models/%s", ADEPT_SHARED_DIR, name);
    return access(path, R_OK) == 0 ? read_ok(path) : NULL;
}

/* Parameter counts as torchvision documents them; operators by the architecture: 53 convolutions, each with its batch
 * norm; 12 blocks of attention with 4 linear layers and 2 layer norms, plus head, patch convolution and last norm. */
static void test_resnet50(void **state)
{
    (void)state;
    adept_graph *g = shared_model("resnet50.pt2");
    if (!g) skip();
    assert_int_equal(count_params(g), 25557032);
    assert_int_equal(count_op(g, "aten::conv2d"), 53);
    assert_int_equal(count_op(g, "aten::batch_norm"), 53);
    assert_int_equal(count_op(g, "aten::linear"), 1);
    assert_int_equal(g->n_inputs, 1);
    assert_string_equal(g->modules[0].class_name, "torchvision.models.resnet.ResNet");
    assert_int_equal(g->body->n_returns, 1);
    adept_graph_free(g);
}

static void test_vit(void **state)
{
    (void)state;
    adept_graph *g = shared_model("vit_b_16.pt2");
    if (!g) skip();
    assert_int_equal(count_params(g), 86567656);
    assert_int_equal(count_op(g, "aten::linear"), 12 * 4 + 1);
    assert_int_equal(count_op(g, "aten::layer_norm"), 12 * 2 + 1);
    assert_int_equal(count_op(g, "aten::scaled_dot_product_attention"), 12);
    assert_int_equal(count_op(g, "aten::conv2d"), 1);
    bool found = false;
    for (size_t i = 0; i < g->n_modules; i++) {
        found |= strcmp(g->modules[i].path, "encoder.layers.encoder_layer_0.self_attention") == 0;
    }
    assert_true(found);
    adept_graph_free(g);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_channels_last), cmocka_unit_test(test_golden),       cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_later_arguments), cmocka_unit_test(test_damage),
        cmocka_unit_test(test_nesting),      cmocka_unit_test(test_ties),     cmocka_unit_test(test_bad_config),
        cmocka_unit_test(test_rooted),       cmocka_unit_test(test_flat),     cmocka_unit_test(test_pickle_damage),
        cmocka_unit_test(test_bad_archives), cmocka_unit_test(test_resnet50), cmocka_unit_test(test_vit),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}

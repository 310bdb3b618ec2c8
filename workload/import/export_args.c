/** @file export_args.c  Arguments of a .pt2 node -> values. Calls: adept_graph, cJSON.
 *  An argument is a union: an object whose one key says the kind. Plain data becomes a constant; names become
 * references to values; a list that holds a reference becomes a prim::ListConstruct. */
#include "export_private.h"
#include <string.h>

typedef bool convert_fn(adept_export_reader *r, const cJSON *v, adept_export_item *out);

static bool wrong_type(adept_export_reader *r, const cJSON *v)
{
    adept_json_fail(&r->json, "argument of kind '%s' has a value of the wrong type",
                    v->string ? v->string : "list element");
    return false;
}

static bool constant(adept_export_item *out, adept_value value)
{
    out->ref = -1;
    out->constant = value;
    return true;
}

static bool constant_int(adept_export_item *out, int64_t i)
{
    return constant(out, (adept_value){.kind = ADEPT_VALUE_INT, .u.i = i});
}

static bool constant_string(adept_export_item *out, const char *s)
{
    return constant(out, (adept_value){.kind = ADEPT_VALUE_STRING, .u.s = s});
}

int32_t adept_export_lookup(adept_export_reader *r, const char *name)
{
    const uintptr_t *value = adept_name_map_get(r->names, name);
    if (value) return (int32_t)*value;
    adept_json_fail(&r->json, "uses '%s', which nothing before it defines", name);
    return -1;
}

static bool reference(adept_export_reader *r, const char *name, adept_export_item *out)
{
    out->ref = adept_export_lookup(r, name);
    return out->ref >= 0;
}

/* ---- one value ---- */

static bool convert_none(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    (void)r, (void)v;
    return constant(out, (adept_value){.kind = ADEPT_VALUE_NONE});
}

static bool convert_named(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    const char *name = adept_json_string(&r->json, v, "name");
    return r->json.status == ADEPT_OK && reference(r, name, out);
}

static bool convert_int(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    int64_t i;
    return adept_export_int(v, &i) ? constant_int(out, i) : wrong_type(r, v);
}

static bool convert_float(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    double f;
    if (!adept_export_float(v, &f)) return wrong_type(r, v);
    return constant(out, (adept_value){.kind = ADEPT_VALUE_FLOAT, .u.f = f});
}

static bool convert_bool(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    if (!cJSON_IsBool(v)) return wrong_type(r, v);
    return constant(out, (adept_value){.kind = ADEPT_VALUE_BOOL, .u.b = cJSON_IsTrue(v)});
}

static bool convert_string(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    return cJSON_IsString(v) ? constant_string(out, v->valuestring) : wrong_type(r, v);
}

/* SymInt, SymFloat and SymBool arguments: {"as_name": ...} or the number itself. */
static bool convert_symbolic(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    const cJSON *what = adept_export_union(r, v);
    if (!what) return false;
    if (strcmp(what->string, "as_name") == 0) {
        return cJSON_IsString(what) ? reference(r, what->valuestring, out) : wrong_type(r, what);
    }
    if (strcmp(what->string, "as_int") == 0) return convert_int(r, what, out);
    if (strcmp(what->string, "as_float") == 0) return convert_float(r, what, out);
    if (strcmp(what->string, "as_bool") == 0) return convert_bool(r, what, out);
    adept_json_fail(&r->json, "symbolic argument of unknown kind '%s'", what->string);
    return false;
}

/* A handler sees TorchScript's numbers, whichever reader made the graph. */
static bool convert_dtype(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    int64_t number;
    if (!adept_export_int(v, &number)) return wrong_type(r, v);
    adept_dtype dtype = adept_export_dtype(r, v, v->string ? v->string : "list element");
    return dtype != ADEPT_DTYPE_NONE && constant_int(out, adept_dtype_to_c10(dtype));
}

/* Indexed by torch.export's number; -1: no TorchScript number. */
static bool convert_enum(adept_export_reader *r, const cJSON *v, const int *numbers, size_t n, adept_export_item *out)
{
    int64_t number;
    if (!adept_export_int(v, &number)) return wrong_type(r, v);
    if (number < 0 || (size_t)number >= n || numbers[number] < 0) {
        adept_json_fail(&r->json, "'%s' %lld is not known", v->string ? v->string : "list element", (long long)number);
        return false;
    }
    return constant_int(out, numbers[number]);
}

static bool convert_memory_format(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    /* export: unknown, contiguous, channels last, channels last 3d, preserve; c10/core/MemoryFormat.h: 0, 2, 3, 1 */
    static const int numbers[] = {-1, 0, 2, 3, 1};
    return convert_enum(r, v, numbers, sizeof numbers / sizeof numbers[0], out);
}

static bool convert_layout(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    /* export: unknown, COO, CSR, CSC, BSR, BSC, mkldnn, strided; c10/core/Layout.h: 1, 2, 4, 5, 6, 3, 0 */
    static const int numbers[] = {-1, 1, 2, 4, 5, 6, 3, 0};
    return convert_enum(r, v, numbers, sizeof numbers / sizeof numbers[0], out);
}

static bool convert_device(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    const char *type = adept_json_string(&r->json, v, "type");
    if (r->json.status != ADEPT_OK) return false;
    const cJSON *index = cJSON_GetObjectItemCaseSensitive(v, "index");
    int64_t number;
    if (!index || cJSON_IsNull(index)) return constant_string(out, type);
    if (!adept_export_int(index, &number)) return wrong_type(r, v);
    return constant_string(out, adept_arena_printf(r->scratch, "%s:%lld", type, (long long)number));
}

static bool convert_complex(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    double *parts = adept_export_room(r, 2, sizeof *parts);
    if (!parts) return false;
    bool has_parts = adept_export_float(cJSON_GetObjectItemCaseSensitive(v, "real"), &parts[0]) &&
                     adept_export_float(cJSON_GetObjectItemCaseSensitive(v, "imag"), &parts[1]);
    return has_parts ? constant(out, (adept_value){.kind = ADEPT_VALUE_COMPLEX, .u.z = parts}) : wrong_type(r, v);
}

/* Objects have no counterpart; an operator that looks at one says so. */
static bool convert_opaque(adept_export_reader *r, const cJSON *v, adept_export_item *out)
{
    (void)r, (void)v;
    return constant(out, (adept_value){.kind = ADEPT_VALUE_UNKNOWN});
}

/* ---- lists ---- */

typedef struct kind_row {
    const char *key;
    convert_fn *convert; /* of the value, or of each element */
    bool is_list;
    convert_fn *inner; /* list of lists: of each element of the inner lists */
} kind_row;

static const kind_row kinds[] = {
    {"as_tensor", convert_named, false, NULL},
    {"as_int", convert_int, false, NULL},
    {"as_ints", convert_int, true, NULL},
    {"as_float", convert_float, false, NULL},
    {"as_bool", convert_bool, false, NULL},
    {"as_none", convert_none, false, NULL},
    {"as_tensors", convert_named, true, NULL},
    {"as_floats", convert_float, true, NULL},
    {"as_bools", convert_bool, true, NULL},
    {"as_string", convert_string, false, NULL},
    {"as_strings", convert_string, true, NULL},
    {"as_sym_int", convert_symbolic, false, NULL},
    {"as_sym_ints", convert_symbolic, true, NULL},
    {"as_sym_float", convert_symbolic, false, NULL},
    {"as_sym_floats", convert_symbolic, true, NULL},
    {"as_sym_bool", convert_symbolic, false, NULL},
    {"as_sym_bools", convert_symbolic, true, NULL},
    {"as_scalar_type", convert_dtype, false, NULL},
    {"as_memory_format", convert_memory_format, false, NULL},
    {"as_layout", convert_layout, false, NULL},
    {"as_device", convert_device, false, NULL},
    {"as_optional_tensor", adept_export_convert, false, NULL},
    {"as_optional_tensors", adept_export_convert, true, NULL},
    {"as_int_lists", NULL, true, convert_int},
    {"as_nested_tensors", NULL, true, convert_named},
    {"as_operator", convert_string, false, NULL},
    {"as_custom_obj", convert_opaque, false, NULL},
    {"as_complex", convert_complex, false, NULL},
};

int32_t adept_export_constant(adept_export_reader *r, const adept_value *value)
{
    if (r->json.status != ADEPT_OK) return -1;
    int32_t number = adept_graph_builder_constant(r->b, r->module, value, r->json.err);
    if (number < 0) adept_export_check(r, r->json.err->status);
    return number;
}

static int32_t materialise(adept_export_reader *r, const adept_export_item *item)
{
    return item->ref >= 0 ? item->ref : adept_export_constant(r, &item->constant);
}

static bool convert_list(adept_export_reader *r, const cJSON *v, convert_fn *element, convert_fn *inner,
                         adept_export_item *out)
{
    if (!cJSON_IsArray(v)) return wrong_type(r, v);
    size_t n = adept_json_size(v), k = 0;
    adept_export_item *items = adept_export_room(r, n, sizeof *items);
    if (!items) return false;
    bool has_reference = false;
    for (const cJSON *e = v->child; e; e = e->next, k++) {
        bool ok = inner ? convert_list(r, e, inner, NULL, &items[k]) : element(r, e, &items[k]);
        if (!ok) return false;
        has_reference |= items[k].ref >= 0;
    }
    if (!has_reference) {
        adept_list *list = adept_export_room(r, 1, sizeof *list);
        adept_value *values = adept_export_room(r, n, sizeof *values);
        if (!list || !values) return false;
        for (size_t i = 0; i < n; i++)
            values[i] = items[i].constant;
        *list = (adept_list){.items = values, .n = n, .capacity = n};
        return constant(out, (adept_value){.kind = ADEPT_VALUE_LIST, .u.list = list});
    }
    int32_t *inputs = adept_export_room(r, n, sizeof *inputs);
    if (!inputs) return false;
    for (size_t i = 0; i < n; i++) {
        inputs[i] = materialise(r, &items[i]);
        if (inputs[i] < 0) return false;
    }
    out->ref = adept_export_op(r, "prim::ListConstruct", n, inputs, NULL);
    return r->json.status == ADEPT_OK;
}

bool adept_export_convert(adept_export_reader *r, const cJSON *argument, adept_export_item *out)
{
    const cJSON *what = adept_export_union(r, argument);
    if (!what) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        const kind_row *row = &kinds[i];
        if (strcmp(row->key, what->string) != 0) continue;
        if (row->is_list) return convert_list(r, what, row->convert, row->inner, out);
        return row->convert(r, what, out);
    }
    adept_json_fail(&r->json, "argument of unknown kind '%s'", what->string);
    return false;
}

int32_t adept_export_argument(adept_export_reader *r, const cJSON *argument)
{
    adept_export_item item = {.ref = -1};
    return adept_export_convert(r, argument, &item) ? materialise(r, &item) : -1;
}

int32_t adept_export_term(adept_export_reader *r, const cJSON *element)
{
    adept_export_item item = {.ref = -1};
    bool ok = cJSON_IsNumber(element) ? convert_int(r, element, &item) : convert_symbolic(r, element, &item);
    return ok ? materialise(r, &item) : -1;
}

/* ---- names in arguments ---- */

static const char *text_of(const cJSON *object, const char *key)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, key);
    return cJSON_IsString(item) ? item->valuestring : NULL;
}

/* Of one element: {"name": ...} of tensors and objects, {"as_name": ...} of symbols, {"as_tensor": {"name": ...}}. */
const char *adept_export_element_name(const cJSON *element)
{
    const char *name = text_of(element, "name");
    if (!name) name = text_of(element, "as_name");
    if (!name) name = text_of(cJSON_GetObjectItemCaseSensitive(element, "as_tensor"), "name");
    return name;
}

const char *adept_export_argument_name(const cJSON *argument)
{
    if (!cJSON_IsObject(argument)) return NULL;
    for (const cJSON *what = argument->child; what; what = what->next) {
        const char *name = cJSON_IsObject(what) ? adept_export_element_name(what) : NULL;
        if (name) return name;
    }
    return NULL;
}

static void each_element(const cJSON *list, int depth, void (*visit)(void *context, const char *name), void *context)
{
    for (const cJSON *e = list->child; e; e = e->next) {
        const char *name = cJSON_IsObject(e) ? adept_export_element_name(e) : NULL;
        if (name)
            visit(context, name);
        else if (cJSON_IsArray(e) && depth > 0)
            each_element(e, depth - 1, visit, context);
    }
}

void adept_export_each_name(const cJSON *argument, void (*visit)(void *context, const char *name), void *context)
{
    if (!cJSON_IsObject(argument)) return;
    for (const cJSON *what = argument->child; what; what = what->next) {
        if (cJSON_IsArray(what)) {
            each_element(what, 1, visit, context);
        } else {
            const char *name = cJSON_IsObject(what) ? adept_export_element_name(what) : NULL;
            if (name) visit(context, name);
        }
    }
}

/* Recurrent layers and cells: LSTM, GRU, plain. As cuDNN runs them: for every layer and direction one large product
 * with the inputs of all time steps, then for each step a product with the hidden state and a kernel for the gates. */
#include "gemm_cost.h"

/* Per hidden unit and step. FLOPs: sigmoid 4, tanh 5, everything else 1 each.
 * LSTM: 4 sums of input and hidden part, 3 sigmoids, 2 tanh, c = f c + i g, h = o tanh(c): 4 + 12 + 10 + 3 + 1.
 * GRU: 2 sums, 2 sigmoids, n = tanh(x + r h'), h = n + z (h - n): 2 + 8 + 7 + 3. */
typedef struct unit {
    int gates;
    bool cell_state;      /* LSTM: c beside h */
    double flops;         /* forward; twice that backward (spec 2.1) */
    double reads, writes; /* both parts of the gates and the old state; the new state */
    double reserve;       /* kept for the backward: gates after activation, c or the hidden part of n */
    double back_reads, back_writes;
} unit;

typedef struct form {
    const unit *unit;
    bool single; /* one step of one layer, its weights separate arguments */
} form;

static const unit lstm_unit = {4, true, 30, 9, 2, 5, 8, 5}, gru_unit = {3, false, 20, 7, 1, 4, 7, 4};
static const unit tanh_unit = {1, false, 6, 2, 1, 0, 3, 1}, relu_unit = {1, false, 2, 2, 1, 0, 3, 1};

static const adept_op ops[] = {
    {"aten::lstm", ADEPT_CAST_LOWER, &(const form){&lstm_unit, false}},
    {"aten::gru", ADEPT_CAST_LOWER, &(const form){&gru_unit, false}},
    {"aten::rnn_tanh", ADEPT_CAST_LOWER, &(const form){&tanh_unit, false}},
    {"aten::rnn_relu", ADEPT_CAST_LOWER, &(const form){&relu_unit, false}},
    {"aten::quantized_lstm", ADEPT_CAST_NONE, &(const form){&lstm_unit, false}},
    {"aten::quantized_gru", ADEPT_CAST_NONE, &(const form){&gru_unit, false}},
    {"quantized::quantized_lstm_cell_dynamic", ADEPT_CAST_NONE, &(const form){&lstm_unit, true}},
    {"quantized::quantized_gru_cell_dynamic", ADEPT_CAST_NONE, &(const form){&gru_unit, true}},
    {"quantized::quantized_rnn_tanh_cell_dynamic", ADEPT_CAST_NONE, &(const form){&tanh_unit, true}},
    {"quantized::quantized_rnn_relu_cell_dynamic", ADEPT_CAST_NONE, &(const form){&relu_unit, true}},
    {"aten::lstm_cell", ADEPT_CAST_LOWER, &(const form){&lstm_unit, true}},
    {"aten::gru_cell", ADEPT_CAST_LOWER, &(const form){&gru_unit, true}},
    {"aten::rnn_tanh_cell", ADEPT_CAST_LOWER, &(const form){&tanh_unit, true}},
    {"aten::rnn_relu_cell", ADEPT_CAST_LOWER, &(const form){&relu_unit, true}},
    {0},
};

/* A call read. */
typedef struct rnn {
    const unit *unit;
    const adept_tensor *input, *h, *c; /* c: LSTM only, else NULL */
    const adept_tensor *const *params; /* `per` for every layer and direction */
    const adept_tensor *own[4];        /* params of a single cell */
    int64_t layers, directions;
    int per, projection; /* projection: index of that weight among `per`, -1 if none */
    bool packed, batch_first;
    int64_t hidden, width; /* columns of c and of h; they differ under a projection */
    double rows, steps;    /* all time steps of all sequences; time steps */
} rnn;

static void read_state(adept_call *c, rnn *r)
{
    if (!r->unit->cell_state) {
        r->h = adept_arg_tensor(c, "hx");
        return;
    }
    const adept_tensor *const *states;
    size_t n = adept_arg_tensors(c, "hx", &states);
    if (!adept_call_ok(c)) return;
    if (adept_call_refuse(c, n != 2 || !states[0] || !states[1], "hx is not a hidden and a cell state")) return;
    r->h = states[0], r->c = states[1];
}

/* Two weights and two biases for each layer and direction, and a projection where there is one tensor more. */
static void read_params(adept_call *c, rnn *r)
{
    r->projection = -1;
    if (((const form *)adept_call_data(c))->single) {
        r->layers = r->directions = 1, r->per = 4;
        r->own[0] = adept_arg_tensor(c, "w_ih"), r->own[1] = adept_arg_tensor(c, "w_hh");
        bool spelled = adept_arg_given(c, "bias_ih");
        r->own[2] = adept_arg_tensor_opt(c, spelled ? "bias_ih" : "b_ih");
        r->own[3] = adept_arg_tensor_opt(c, spelled ? "bias_hh" : "b_hh");
        return; /* layer_params() takes them from `own` */
    }
    size_t n = adept_arg_tensors(c, "params", &r->params);
    r->layers = adept_arg_int(c, "num_layers", 1);
    r->directions = adept_arg_bool(c, "bidirectional", false) ? 2 : 1;
    r->per = adept_arg_bool(c, "has_biases", true) ? 4 : 2;
    if (!adept_call_ok(c)) return;
    bool fits = r->layers >= 1 && r->layers <= 100000;
    if (fits && n == (size_t)(r->layers * r->directions * (r->per + 1))) r->projection = r->per++;
    fits = fits && n == (size_t)(r->layers * r->directions * r->per);
    if (!fits)
        adept_call_fail(c, "%zu parameters for %lld layers in %lld directions", n, (long long)r->layers,
                        (long long)r->directions);
}

static const adept_tensor *const *layer_params(const rnn *r, int64_t layer, int64_t direction)
{
    return (r->params ? r->params : r->own) + (layer * r->directions + direction) * r->per;
}

static bool is_row(const adept_tensor *t, int64_t columns)
{
    return (t->ndim == 1 || (t->ndim == 2 && t->dims[0] == 1)) && t->dims[t->ndim - 1] == columns;
}

static bool is_matrix(const adept_tensor *t, int64_t rows, int64_t columns)
{
    return t && t->ndim == 2 && t->dims[0] == rows && t->dims[1] == columns;
}

static void check_params(adept_call *c, rnn *r)
{
    const adept_tensor *const *first = layer_params(r, 0, 0);
    if (adept_call_refuse(c, !first[1] || first[1]->ndim != 2 || first[1]->dims[0] % r->unit->gates != 0,
                          "the recurrent weight has no %d gates", r->unit->gates))
        return;
    r->hidden = first[1]->dims[0] / r->unit->gates;
    r->width = first[1]->dims[1];
    int64_t features = r->input->dims[r->input->ndim - 1], gates = first[1]->dims[0];
    for (int64_t layer = 0; layer < r->layers; layer++, features = r->directions * r->width)
        for (int64_t direction = 0; direction < r->directions; direction++) {
            const adept_tensor *const *p = layer_params(r, layer, direction);
            bool fits = is_matrix(p[0], gates, features) && is_matrix(p[1], gates, r->width);
            fits =
                fits && (r->projection < 0 ? r->width == r->hidden : is_matrix(p[r->projection], r->width, r->hidden));
            for (int b = 2; b < 4 && b < r->per && b != r->projection; b++)
                fits = fits && (!p[b] || is_row(p[b], gates));
            if (fits) continue;
            adept_call_fail(c, "layer %lld: the weights do not take %lld features to %lld hidden units",
                            (long long)layer, (long long)features, (long long)r->hidden);
            return;
        }
}

static void check_state(adept_call *c, const rnn *r, const adept_tensor *t, int64_t batch, int64_t width)
{
    bool single = ((const form *)adept_call_data(c))->single;
    bool fits = single ? is_matrix(t, batch, width)
                       : t->ndim == 3 && t->dims[0] == r->layers * r->directions && t->dims[2] == width;
    fits = fits && (single || r->packed || t->dims[1] == batch);
    if (!fits)
        adept_call_fail(c, "state %s does not fit %lld sequences of width %lld", adept_call_shape(c, t),
                        (long long)batch, (long long)width);
}

static rnn read_rnn(adept_call *c)
{
    const form *f = adept_call_data(c);
    rnn r = {.unit = f->unit, .packed = adept_arg(c, "batch_sizes") != NULL};
    r.input = adept_arg_tensor(c, r.packed ? "data" : "input");
    r.batch_first = !f->single && !r.packed && adept_arg_bool(c, "batch_first", false);
    const adept_tensor *sizes = r.packed ? adept_arg_tensor(c, "batch_sizes") : NULL;
    read_state(c, &r);
    read_params(c, &r);
    if (!adept_call_ok(c)) return r;
    if (r.input->ndim != (f->single || r.packed ? 2 : 3) || (sizes && sizes->ndim != 1)) {
        adept_call_fail(c, "input %s is no batch of sequences", adept_call_shape(c, r.input));
        return r;
    }
    int64_t batch = r.input->dims[r.batch_first || f->single || r.packed ? 0 : 1];
    r.rows = (double)r.input->dims[0] * (f->single || r.packed ? 1 : (double)r.input->dims[1]);
    r.steps = f->single ? 1 : (double)(sizes ? sizes->dims[0] : r.input->dims[r.batch_first ? 1 : 0]);
    if (r.steps < 1) adept_call_fail(c, "sequences of no elements");
    if (adept_call_ok(c)) check_params(c, &r);
    if (adept_call_ok(c)) check_state(c, &r, r.h, batch, r.width);
    if (adept_call_ok(c) && r.c) check_state(c, &r, r.c, batch, r.hidden);
    return r;
}

static void shape(adept_call *c)
{
    const form *f = adept_call_data(c);
    rnn r = read_rnn(c);
    int64_t dims[ADEPT_MAX_DIMS];
    if (!adept_call_ok(c)) return;
    for (int i = 0; i < r.input->ndim; i++)
        dims[i] = r.input->dims[i];
    dims[r.input->ndim - 1] = r.directions * r.width;
    if (!f->single) adept_out_tensor(c, r.input->dtype, r.input->ndim, dims);
    adept_out_tensor(c, r.input->dtype, r.h->ndim, r.h->dims);
    if (r.c) adept_out_tensor(c, r.input->dtype, r.c->ndim, r.c->dims);
}

/* ---------------------------------------------------------------- cost ---------------- */

/* One layer in one direction. */
typedef struct pass {
    const rnn *r;
    const adept_tensor *const *p;
    double size, features, gates, hidden, width, batch; /* batch: mean sequences per step */
    double x_bytes, gate_bytes, h_bytes;                /* of all steps */
    double unit_bytes;                                  /* one number per hidden unit and step */
    bool input_grad;
} pass;

static bool wants(const adept_cost *cost, const pass *s, int i)
{
    return i < s->r->per && adept_cost_wants_grad(cost, s->p[i]);
}

static double bias_bytes(const pass *s, int i)
{
    return i < s->r->per && i != s->r->projection && s->p[i] ? adept_tensor_bytes(s->p[i]) : 0;
}

/* Weights of 8 bits, as quantize_dynamic() makes them, meet what has been brought to 8 bits. */
static bool at_eight_bits(const pass *s)
{
    return s->p[0]->dtype == ADEPT_I8;
}

static adept_dtype product_type(const pass *s)
{
    return at_eight_bits(s) ? ADEPT_I8 : s->r->input->dtype;
}

/* A product (m x k)(k x n), `repeat` times; bytes of one of them. */
static void product(adept_cost *cost, adept_pass which, const pass *s, double m, double n, double k, double repeat,
                    double read, double written, double flops_alu)
{
    adept_gemm g = {.dtype = product_type(s), .m = m, .n = n, .k = k, .batch = 1};
    if (repeat > 0) adept_gemm_kernel(cost, which, &g, repeat, read, written, flops_alu);
}

static void forward(adept_cost *cost, const pass *s)
{
    const unit *u = s->r->unit;
    double rows = s->r->rows, steps = s->r->steps, n = rows * s->gates;
    double b_ih = bias_bytes(s, 2), b_hh = bias_bytes(s, 3), w_hh = adept_tensor_bytes(s->p[1]);
    double size = adept_dtype_bytes(product_type(s)); /* of what the products read */
    if (at_eight_bits(s)) {
        /* range, scale and rounding: 5 FLOPs an element, as of quantized::linear_dynamic. Of the input at once, of the
         * state in each step. */
        double x = rows * s->features, h = rows * s->width;
        adept_cost_alu(cost, ADEPT_FORWARD, s->r->input->dtype, x, 5 * x, s->x_bytes, x);
        adept_cost_stream(cost, ADEPT_FORWARD, s->r->input->dtype, h, 5 * h, s->h_bytes, h, steps);
    }
    product(cost, ADEPT_FORWARD, s, rows, s->gates, s->features, 1,
            rows * s->features * size + adept_tensor_bytes(s->p[0]) + b_ih, s->gate_bytes, b_ih > 0 ? n : 0);
    product(cost, ADEPT_FORWARD, s, s->batch, s->gates, s->width, steps, s->batch * s->width * size + w_hh + b_hh,
            s->batch * s->gates * s->size, b_hh > 0 ? n : 0);
    double reserve = adept_cost_backward(cost) ? u->reserve : 0;
    adept_cost_stream(cost, ADEPT_FORWARD, s->r->input->dtype, rows * s->hidden, u->flops * rows * s->hidden,
                      u->reads * s->unit_bytes, (u->writes + reserve) * s->unit_bytes, steps);
    if (s->r->projection >= 0)
        product(cost, ADEPT_FORWARD, s, s->batch, s->width, s->hidden, steps,
                s->batch * s->hidden * s->size + adept_tensor_bytes(s->p[s->r->projection]),
                s->batch * s->width * s->size, 0);
}

/* Weight gradients are products over all steps at once. */
static void weight_gradients(adept_cost *cost, const pass *s)
{
    double rows = s->r->rows, n = rows * s->gates;
    if (wants(cost, s, 0))
        product(cost, ADEPT_BACKWARD, s, s->features, s->gates, rows, 1, s->x_bytes + s->gate_bytes,
                adept_tensor_bytes(s->p[0]), 0);
    if (wants(cost, s, 1))
        product(cost, ADEPT_BACKWARD, s, s->width, s->gates, rows, 1, s->h_bytes + s->gate_bytes,
                adept_tensor_bytes(s->p[1]), 0);
    int projection = s->r->projection;
    if (projection >= 0 && wants(cost, s, projection))
        product(cost, ADEPT_BACKWARD, s, s->hidden, s->width, rows, 1, s->unit_bytes + s->h_bytes,
                adept_tensor_bytes(s->p[projection]), 0);
    /* both biases have the same gradient: one column sum (see adept_bias_gradient) */
    if (s->r->per >= 4 && (wants(cost, s, 2) || wants(cost, s, 3)))
        adept_cost_alu(cost, ADEPT_BACKWARD, s->r->input->dtype, n, n, wants(cost, s, 0) ? 0 : s->gate_bytes,
                       bias_bytes(s, 2) + bias_bytes(s, 3));
}

static void backward(adept_cost *cost, const pass *s)
{
    const unit *u = s->r->unit;
    double rows = s->r->rows, steps = s->r->steps;
    int projection = s->r->projection;
    if (projection >= 0)
        product(cost, ADEPT_BACKWARD, s, s->batch, s->hidden, s->width, steps,
                s->batch * s->width * s->size + adept_tensor_bytes(s->p[projection]), s->batch * s->hidden * s->size,
                0);
    adept_cost_stream(cost, ADEPT_BACKWARD, s->r->input->dtype, rows * s->hidden, 2 * u->flops * rows * s->hidden,
                      u->back_reads * s->unit_bytes, u->back_writes * s->unit_bytes, steps);
    /* from each step to the one before it, and to the initial state if that wants a gradient */
    product(cost, ADEPT_BACKWARD, s, s->batch, s->width, s->gates,
            adept_cost_wants_grad(cost, s->r->h) ? steps : steps - 1,
            s->batch * s->gates * s->size + adept_tensor_bytes(s->p[1]), s->batch * s->width * s->size, 0);
    if (s->input_grad)
        product(cost, ADEPT_BACKWARD, s, rows, s->features, s->gates, 1, s->gate_bytes + adept_tensor_bytes(s->p[0]),
                s->x_bytes, 0);
    weight_gradients(cost, s);
}

static void cost(adept_call *c, adept_cost *cost)
{
    rnn r = read_rnn(c);
    double size = adept_dtype_bytes(r.input->dtype), features = (double)r.input->dims[r.input->ndim - 1];
    bool dropout = adept_call_training(c) && adept_arg_float(c, "dropout", 0) > 0;
    bool grad = adept_cost_wants_grad(cost, r.input); /* of what the layer reads */
    bool state_grad = adept_cost_wants_grad(cost, r.h) || adept_cost_wants_grad(cost, r.c);
    for (int64_t layer = 0; layer < r.layers; layer++) {
        bool out_grad = grad || state_grad;
        for (int64_t direction = 0; direction < r.directions; direction++) {
            pass s = {.r = &r,
                      .p = layer_params(&r, layer, direction),
                      .size = size,
                      .features = features,
                      .gates = (double)(r.unit->gates * r.hidden),
                      .hidden = (double)r.hidden,
                      .width = (double)r.width,
                      .batch = r.steps > 0 ? r.rows / r.steps : 0,
                      .x_bytes = r.rows * features * size,
                      .h_bytes = r.rows * (double)r.width * size,
                      .unit_bytes = r.rows * (double)r.hidden * size,
                      .input_grad = grad};
            s.gate_bytes = r.rows * s.gates * size;
            forward(cost, &s);
            bool own_grad = false;
            for (int i = 0; i < r.per; i++)
                own_grad = own_grad || wants(cost, &s, i);
            if (grad || state_grad || own_grad) backward(cost, &s);
            out_grad = out_grad || own_grad;
        }
        if (dropout && layer + 1 < r.layers) { /* between layers, as op_dropout counts it */
            double n = r.rows * (double)(r.directions * r.width);
            adept_cost_alu(cost, ADEPT_FORWARD, r.input->dtype, n, 2 * n, n * size, n * size + n);
            adept_cost_alu(cost, ADEPT_BACKWARD, r.input->dtype, n, 4 * n, n * size + n, n * size);
            adept_cost_save_bytes(cost, n + n * size);
        }
        grad = out_grad;
        features = (double)(r.directions * r.width);
    }
    double units = r.rows * (double)r.hidden * (double)(r.layers * r.directions);
    double between = r.rows * (double)(r.directions * r.width) * (double)(r.layers - 1);
    adept_cost_save(cost, r.input);
    adept_cost_save(cost, r.h);
    adept_cost_save(cost, r.c);
    adept_cost_save(cost, adept_result_tensor(c, 0));
    for (int64_t i = 0; i < r.layers * r.directions * r.per; i++)
        adept_cost_save(cost, layer_params(&r, 0, 0)[i]);
    adept_cost_save_bytes(cost, (units * r.unit->reserve + between) * size);
}

const adept_handler adept_handler_rnn = {
    .kind = "rnn", .shard = ADEPT_SHARD_BATCH, .ops = ops, .shape = shape, .cost = cost};

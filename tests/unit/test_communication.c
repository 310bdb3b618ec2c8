/* All-reduces by hand: ring, tree, nodes, and buckets beside a backward pass. */
#include "adept_random.h"
#include "even_program.h"
#include "naive_buckets.h"
#include "operator_toy.h"

/* ---- one all-reduce ---- */

static double allreduce_s(adept_run run, double bytes, double l_hop_s, double bytes_per_s)
{
    adept_network net;
    adept_error err = {0};
    if (adept_network_of(&net, &run, &err) != ADEPT_OK) fail_msg("%s", err.message);
    return adept_network_allreduce_s(&net, bytes, l_hop_s, bytes_per_s);
}

static void ring_is_equation_4_8(void **state)
{
    (void)state;
    assert_true(allreduce_s((adept_run){.gpus = 0}, 1e9, 1e-5, 1e11) == 0);
    assert_true(allreduce_s((adept_run){.gpus = 1}, 1e9, 1e-5, 1e11) == 0);
    for (int64_t n = 2; n <= 64; n++)
        assert_true(allreduce_s((adept_run){.gpus = n}, 1e9, 1e-5, 1e11) ==
                    2.0 * ((double)n - 1) * 1e-5 + 2.0 * ((double)n - 1) / (double)n * 1e9 / 1e11);
    /* 4 GPUs: 6 hops of 10 us, 1.5 GB at 100 GB/s */
    near(allreduce_s((adept_run){.gpus = 4}, 1e9, 1e-5, 1e11), 6e-5 + 1.5e-2);
    near(allreduce_s((adept_run){.gpus = 2}, 1e8, 5e-6, 1e11), 1.01e-3); /* 2*5e-6 + 1*1e-3 */
    near(allreduce_s((adept_run){.gpus = 4}, 1e8, 5e-6, 1e11), 1.53e-3); /* 6*5e-6 + 1.5*1e-3 */
}

/* 2 ceil(log2 n) hops, and every byte twice. */
static void tree_by_hand(void **state)
{
    (void)state;
    static const struct {
        int64_t gpus;
        double hops;
    } rows[] = {{2, 2}, {3, 4}, {4, 4}, {5, 6}, {8, 6}, {9, 8}, {1024, 20}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        near(allreduce_s((adept_run){.gpus = rows[i].gpus, .allreduce = ADEPT_ALLREDUCE_TREE}, 1e9, 1e-5, 1e11),
             rows[i].hops * 1e-5 + 0.02);
    assert_true(allreduce_s((adept_run){.gpus = 1, .allreduce = ADEPT_ALLREDUCE_TREE}, 1e9, 1e-5, 1e11) == 0);
}

/* 8 GPUs: a ring has 14 hops and 1.75 of the bytes, a tree 6 and 2: alike at 8 hops = 0.25 bytes / bw, 32 MB here. */
static void small_messages_go_by_tree(void **state)
{
    (void)state;
    adept_run run = {.gpus = 8};
    for (double bytes = 1e6; bytes < 1e9; bytes *= 1.3) {
        run.allreduce = ADEPT_ALLREDUCE_RING;
        double ring_s = allreduce_s(run, bytes, 1e-5, 1e11);
        run.allreduce = ADEPT_ALLREDUCE_TREE;
        double tree_s = allreduce_s(run, bytes, 1e-5, 1e11);
        run.allreduce = ADEPT_ALLREDUCE_AUTO;
        assert_true((tree_s < ring_s) == (bytes < 32e6));
        assert_true(allreduce_s(run, bytes, 1e-5, 1e11) == fmin(ring_s, tree_s));
    }
}

/* 8 GPUs in 2 nodes, 1 GB: inside, 6 hops of 10 us and 2 * 3/4 of it at 100 GB/s; between, 2 hops of 20 us and 2 * 1/2
 * of it at 12.5 GB/s, a ring; a tree has every byte twice. */
static void nodes_by_hand(void **state)
{
    (void)state;
    adept_run run = {.gpus = 8, .nodes = 2, .internode_bytes_per_s = 12.5e9, .internode_latency_s = 2e-5};
    near(allreduce_s(run, 1e9, 1e-5, 1e11), 6e-5 + 0.015 + 4e-5 + 0.08);
    run.allreduce = ADEPT_ALLREDUCE_TREE;
    near(allreduce_s(run, 1e9, 1e-5, 1e11), 6e-5 + 0.015 + 4e-5 + 0.16);
    run.internode_latency_s = 0; /* 10 us */
    near(allreduce_s(run, 1e9, 1e-5, 1e11), 6e-5 + 0.015 + 2e-5 + 0.16);
    /* one GPU in each: only the network */
    run = (adept_run){.gpus = 4, .nodes = 4, .internode_bytes_per_s = 12.5e9};
    near(allreduce_s(run, 1e9, 1e-5, 1e11), 6e-5 + 0.12);
    /* a network as fast as the links: never faster than one node of as many, whose ring is longer by latency only */
    run = (adept_run){.gpus = 8, .nodes = 2, .internode_bytes_per_s = 1e11};
    assert_true(allreduce_s(run, 1e9, 1e-5, 1e11) > allreduce_s((adept_run){.gpus = 8}, 1e9, 1e-5, 1e11));
}

static void more_bandwidth_is_never_slower(void **state)
{
    (void)state;
    for (int i = 0; i < 200; i++) {
        adept_run run = {.gpus = 16, .nodes = 1 << (i % 4), .allreduce = (adept_allreduce)(i % 3)};
        double bytes = pow(10, i % 11), bw = pow(10, 9 + 0.01 * i);
        run.internode_bytes_per_s = bw / 3;
        double slow_s = allreduce_s(run, bytes, 1e-5, bw);
        assert_true(allreduce_s(run, bytes, 1e-5, 1.1 * bw) <= slow_s);
        run.internode_bytes_per_s *= 2;
        assert_true(allreduce_s(run, bytes, 1e-5, bw) <= slow_s);
        assert_true(allreduce_s(run, 1.5 * bytes, 1e-5, bw) >= allreduce_s(run, bytes, 1e-5, bw));
    }
}

static void refuse_run(adept_run run, const char *part)
{
    adept_network net;
    adept_error err = {0};
    assert_int_equal(adept_network_of(&net, &run, &err), ADEPT_E_USAGE);
    if (!strstr(err.message, part)) fail_msg("\"%s\" does not say \"%s\"", err.message, part);
}

static void impossible_networks_are_refused(void **state)
{
    (void)state;
    refuse_run((adept_run){.gpus = 6, .nodes = 4, .internode_bytes_per_s = 1e9},
               "6 GPUs cannot be shared equally by 4");
    refuse_run((adept_run){.gpus = 8, .nodes = 2}, "--internode-bandwidth");
    refuse_run((adept_run){.gpus = 8, .nodes = 2, .internode_bytes_per_s = NAN}, "--internode-bandwidth");
    refuse_run((adept_run){.gpus = 8, .nodes = 2, .internode_bytes_per_s = 1e9, .internode_latency_s = -1}, "latency");
    refuse_run((adept_run){.gpus = 8, .nodes = -1}, "at least 1");
}

/* ---- NCCL ---- */

static double nccl_s(adept_run run, bool in_switch, double bytes)
{
    adept_network net;
    assert_int_equal(adept_network_of(&net, &run, NULL), ADEPT_OK);
    net.in_switch = in_switch;
    adept_network_of_nccl(&net, &net, (double)run.gpus);
    return adept_network_allreduce_s(&net, bytes, 1e-6, 1e11);
}

/* 8 GPUs at 100 GB/s and 1 us a hop: 14 hops and 9 to start, 1.75 of the bytes. */
static void protocols_by_hand(void **state)
{
    (void)state;
    const adept_run ring = {.gpus = 8}, tree = {.gpus = 8, .allreduce = ADEPT_ALLREDUCE_TREE};
    near(nccl_s(ring, false, 1e5), 23e-6 + 2 * 1.75e5 / 1e11);                 /* LL */
    near(nccl_s(ring, false, 2e7), 2.3 * 23e-6 + 1.75 * 2e7 / 1e11 * 16 / 15); /* LL128 */
    near(nccl_s(ring, false, 1e9), 4 * 23e-6 + 1.75e9 / 1e11);                 /* Simple */
    /* 2 GPUs: 1 of the bytes on the links, but their own as well, so 80 % of the bus bandwidth of 8 */
    near(nccl_s((adept_run){.gpus = 2}, false, 1e9), 4 * 11e-6 + 0.7 * 1.75e9 / 1e11);
    near(nccl_s(tree, false, 1e9), 4 * 15e-6 + 0.7 * 2.75e9 / 1e11);
    /* the switch adds: each GPU sends all its bytes once, and gets the sums */
    near(nccl_s(ring, true, 1e9), 4 * 23e-6 + 1.27 * 1.125e9 / 1e11);
    near(nccl_s(ring, true, 1e5), 23e-6 + 2 * 1.75e5 / 1e11);
    near(nccl_s((adept_run){.gpus = 4}, true, 1e9), nccl_s((adept_run){.gpus = 4}, false, 1e9));
    assert_true(nccl_s((adept_run){.gpus = 1}, true, 1e9) == 0);
    /* one GPU in each of 4 nodes: NCCL's protocols are of links inside */
    adept_run nodes = {.gpus = 4, .nodes = 4, .internode_bytes_per_s = 12.5e9};
    near(nccl_s(nodes, false, 1e9), 6e-5 + 0.12);
}

/* ---- buckets ---- */

/* A network of 1 s per hop-free 100 bytes at bandwidth 100: two GPUs in a ring send each byte once. */
static adept_network two_gpus(void)
{
    adept_network net;
    assert_int_equal(adept_network_of(&net, &(adept_run){.gpus = 2}, NULL), ADEPT_OK);
    return net;
}

/* Four layers in forward order; the backward of each takes 1 s and leaves gradients of 100, 200, 300 and 50 bytes. */
static void four_layers(adept_profile *prof, adept_profile_op *ops, const adept_kernel *kernel)
{
    static const double bytes[] = {100, 200, 300, 50};
    for (int64_t i = 0; i < 4; i++)
        ops[i] = (adept_profile_op){.path = "layer",
                                    .count = 1,
                                    .n_kernels = 1,
                                    .kernels = kernel,
                                    .places = {1, i, i},
                                    .gradient_bytes = bytes[i],
                                    .gradient_places = {1, i, i}};
    *prof = (adept_profile){.n_ops = 4, .ops = ops, .trainable_bytes = 650};
}

static const adept_kernel backward_kernel = {.pass = ADEPT_BACKWARD};

static naive_communication communicate(adept_profile *prof, double first, double size, double latency_s, double bw)
{
    static const double layer_s[] = {1, 1, 1, 1}, nothing_s[4] = {0};
    adept_network net = two_gpus();
    const naive_bucket_rule rule = {first, size, latency_s, bw, &net};
    even_program_set(prof);
    naive_communication c =
        naive_communicate_buckets(prof, prof->ops->kernels->pass == ADEPT_BACKWARD ? layer_s : nothing_s, &rule);
    even_program_free(prof);
    return c;
}

/* The last layer's 50 bytes and the 300 before it make the first bucket, complete at 2 s; 200 and 100 bytes the second,
 * at 4 s. */
static void two_buckets_by_hand(void **state)
{
    (void)state;
    adept_profile prof;
    adept_profile_op ops[4];
    four_layers(&prof, ops, &backward_kernel);
    /* 350 bytes at 100 per s and 2 hops of 0.05 s: from 2 to 5.6 s; 300 bytes: from there to 8.7 s; the pass ends at 4
     */
    naive_communication c = communicate(&prof, 300, 300, 0.05, 100);
    near(c.total_s, 3.6 + 3.1);
    near(c.exposed_s, 8.7 - 4);
    assert_true(c.buckets == 2);
    /* ten times the bandwidth: the first is long done at 4 s, the second takes 0.4 */
    c = communicate(&prof, 300, 300, 0.05, 1000);
    near(c.total_s, 0.45 + 0.4);
    near(c.exposed_s, 0.4);
    /* one bucket for all: nothing is hidden */
    c = communicate(&prof, 1e9, 1e9, 0.05, 100);
    near(c.exposed_s, 6.6);
    assert_true(c.exposed_s == c.total_s && c.buckets == 1);
    /* a small first bucket: 50 bytes at 1 s, 0.6 s; 300 at 2 s, 3.1 s; 300 at 5.1 s, 3.1 s */
    c = communicate(&prof, 1, 300, 0.05, 100);
    near(c.exposed_s, 8.2 - 4);
    assert_true(c.buckets == 3);
}

static void limits_of_buckets(void **state)
{
    (void)state;
    adept_profile prof;
    adept_profile_op ops[4];
    four_layers(&prof, ops, &backward_kernel);
    naive_communication c = communicate(&prof, 1, 1, 0, INFINITY); /* nothing takes time */
    assert_true(c.exposed_s == 0 && c.total_s == 0 && c.buckets == 4);
    c = communicate(&prof, 1, 1, 0, 1e12);
    assert_true(c.exposed_s < 1e-9);
    near(communicate(&prof, 1, 1, 0, 1e4).exposed_s, 100 / 1e4); /* the very last bucket */
    /* no backward at all: nothing to hide behind */
    static const adept_kernel forward_kernel = {.pass = ADEPT_FORWARD};
    four_layers(&prof, ops, &forward_kernel);
    c = communicate(&prof, 1, 300, 0.05, 100);
    near(c.exposed_s, c.total_s);
    /* parameters that no operator uses go last */
    four_layers(&prof, ops, &backward_kernel);
    prof.trainable_bytes = 750;
    c = communicate(&prof, 300, 300, 0, 1000);
    near(c.exposed_s, 0.4);
    assert_true(c.buckets == 3);
    uint64_t seed = 3;
    for (int i = 0; i < 300; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        double size = 1 + (double)(seed >> 40) / 1e4, bw = 20 + i;
        c = communicate(&prof, fmin(size, 60), size, 1e-3 * (i % 7), bw);
        assert_true(c.exposed_s >= 0 && c.exposed_s <= c.total_s * (1 + 1e-12));
        assert_true(communicate(&prof, fmin(size, 60), size, 1e-3 * (i % 7), 1.2 * bw).exposed_s <= c.exposed_s);
    }
}

/* 3 executions of one operator at places 0, 2 and 4, 1 s each, and one of another at place 5; 90 bytes spread over the
 * three: by 1, 2, 3, 4 s there are 0, 30, 60, 90. */
static void merged_operators_are_spread(void **state)
{
    (void)state;
    adept_profile_op ops[2] = {
        {.path = "blocks.{0-2}",
         .count = 3,
         .n_kernels = 1,
         .kernels = &backward_kernel,
         .places = {3, 0, 4},
         .gradient_bytes = 90,
         .gradient_places = {3, 0, 4}},
        {.path = "head", .count = 1, .n_kernels = 1, .kernels = &backward_kernel, .places = {1, 5, 5}}};
    adept_profile prof = {.n_ops = 2, .ops = ops, .trainable_bytes = 90};
    naive_communication c = communicate(&prof, 30, 30, 0, 60); /* 0.5 s each, at 2, 3 and 4 s */
    near(c.total_s, 1.5);
    near(c.exposed_s, 0.5);
    /* a weight that all three share is complete when the first execution's backward, the last, is */
    ops[0].gradient_places = (adept_profile_places){1, 0, 0};
    c = communicate(&prof, 30, 30, 0, 60);
    near(c.exposed_s, 1.5);
}

/* The next number of a series, between 0 and `most`. */
static double drawn(uint64_t seed, uint64_t *next, double most)
{
    return adept_random(seed, ADEPT_RANDOM_TEMPLATES, (*next)++) * most;
}

/* Gradients of layers that repeat, with some before and behind them, sent one by one and folded: under laws and paces
 * of which any bucket may be the one from which on the links never rest. */
static void repeats_stand_for_those_between_them(void **state)
{
    (void)state;
    static adept_ready_gradient gradients[600];
    size_t n_folded = 0;
    for (uint64_t seed = 0, next = 0; seed < 400; seed++) {
#define DRAW(n) drawn(seed, &next, n)
        const size_t ahead = (size_t)DRAW(5), period = 1 + (size_t)DRAW(6), times = (size_t)DRAW(60),
                     behind = (size_t)DRAW(5), broken = (size_t)DRAW(600);
        adept_buckets all = {.gradients = gradients, .rest_bytes = DRAW(2)}, cut;
        for (size_t i = 0; i < ahead + period * times + behind; i++) {
            const bool again = i >= ahead + period && i < ahead + period * times && i != broken;
            adept_ready_gradient *g = &gradients[all.n++];
            if (again)
                *g = (adept_ready_gradient){g[-(ptrdiff_t)period].before, g[-(ptrdiff_t)period].bytes, 0.0};
            else
                *g = (adept_ready_gradient){{{DRAW(1e-3), DRAW(1e-3)}, floor(DRAW(9))}, 1.0 + DRAW(9), 0.0};
        }
        for (size_t i = 0; i < all.n; i++) { /* what has run before each, of what runs between them */
            const adept_backward_span own = gradients[i].before;
            all.backward.kernels.clocked_s += own.kernels.clocked_s;
            all.backward.kernels.memory_s += own.kernels.memory_s;
            all.backward.launches += own.launches;
            gradients[i].before = all.backward;
        }
        assert_int_equal(adept_buckets_cut(&cut, &all, 1.0, NULL), ADEPT_OK);
        assert_true(cut.n <= all.n);
        if (broken >= all.n && times > 2) assert_true(cut.n <= 1 + ahead + 3 * period + behind);
        n_folded += cut.n < all.n;
        const adept_allreduce_law laws[] = {{.volume = 1.0}, {.volume = 0.5, .between_s = 1e-3}};
        for (int i = 0; i < 20; i++) {
            const adept_linear_laws by = {2, {{&laws[0], DRAW(1e-4), DRAW(4e-4)}, {&laws[1], 1e-3, DRAW(2e-4)}}};
            const adept_pace at = {DRAW(2), DRAW(2), DRAW(1e-4)};
            double all_s[2], n[2];
            adept_schedule s;
            adept_schedule_begin(&s, NULL, false);
            const adept_done pass = {.at_s = 0.1},
                             one = adept_buckets_send(&s, &all_s[0], &n[0], &all, &by, 1.0, pass, &at),
                             folded = adept_buckets_send(&s, &all_s[1], &n[1], &cut, &by, 1.0, pass, &at);
            assert_true(n[0] == n[1] && n[0] == (double)(all.n + (all.rest_bytes > 0.0)));
            assert_true(fabs(all_s[1] - all_s[0]) <= 1e-12 * all_s[0] &&
                        fabs(folded.at_s - one.at_s) <= 1e-12 * one.at_s);
        }
        adept_buckets_free(&cut);
    }
    assert_true(n_folded > 300);
}

/* Three operators, of which the second is a view: backward the third, the view and the first. Gradients of 10 and 20
 * bytes are complete behind the third, of 30 behind the first; 40 bytes are of parameters that nothing uses. */
static void gradients_are_complete_in_the_programs_order(void **state)
{
    (void)state;
#define STREAM .unit = ADEPT_UNIT_ALU, .family = ADEPT_FAMILY_STREAM, .dtype = ADEPT_F32, .bytes_read = 1e6
    static const adept_kernel kernels[] = {{.pass = ADEPT_BACKWARD, .launches = 2, STREAM}, {.launches = 1, STREAM}};
    adept_profile_op ops[2] = {{.path = "a", .count = 1, .n_kernels = 2, .kernels = kernels},
                               {.path = "b", .count = 1, .n_kernels = 1, .kernels = kernels}};
    adept_program_operator operators[] = {{.op = 0}, {.op = -1}, {.op = 1}};
    adept_program_gradient gradients[] = {{0, 30}, {2, 20}, {2, 10}};
    adept_profile prof = {
        .n_ops = 2,
        .ops = ops,
        .grad_accum = 1,
        .trainable_bytes = 100,
        .program = {.n_operators = 3, .operators = operators, .n_gradients = 3, .gradients = gradients}};
    const adept_timed_kernel timed[2] = {{.time_s = 5, .clocked_s = 2}, {.time_s = 5, .clocked_s = 2}};
    adept_kernel_set set;
    adept_buckets b;
    assert_true(adept_gradients_known(&prof) && adept_gradients_left(&prof) == 40);
    assert_int_equal(adept_kernel_set_new(&set, &prof, true, NULL), ADEPT_OK);
    assert_int_equal(adept_buckets_new(&b, &prof, &set, timed, NULL), ADEPT_OK);
    assert_true(b.n == 3 && b.rest_bytes == 40);
    assert_true(b.gradients[0].bytes == 10 && b.gradients[1].bytes == 20 && b.gradients[2].bytes == 30);
    assert_true(b.gradients[1].before.launches == 2 && b.gradients[2].before.launches == 4);
    assert_true(b.gradients[1].before.kernels.clocked_s == 0.5 * b.backward.kernels.clocked_s &&
                b.backward.launches == 4);
    adept_buckets_free(&b);
    adept_kernel_set_free(&set);
    prof.program.n_gradients = 0;
    assert_false(adept_gradients_known(&prof));
}

/* ---- in a step ---- */

/* 100 products in the backward pass of 67.1 us and 1 us of launch each, gradients of 4 GB spread over them; a bucket of
 * 4e7 bytes is one product's. Two GPUs at 100 GB/s: by LL128 0.52 ms per bucket and 253 us of hops, so the link never
 * rests after the first product. */
static void step_in_buckets(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double alone_s = predict(&f).step_time_s, all_s = 4 * 11e-5 + 1.225 * 0.04; /* all at once: by Simple */
    f.run.overlap = ADEPT_OVERLAP_BUCKETED;
    near(predict(&f).step_time_s, alone_s); /* of one GPU it need not be known where parameters are */
    f.run.overlap = ADEPT_OVERLAP_AUTO;
    f.run.gpus = 2;
    adept_prediction p = predict(&f);
    assert_true(p.comm_buckets == 0); /* the profile does not know */
    near(p.comm_s, 0.5 * all_s);
    near(p.comm_hidden_s, p.comm_s);
    f.run.overlap = ADEPT_OVERLAP_BUCKETED;
    refuse(&f, ADEPT_E_USAGE, "does not say where its parameters are");
    f.ops[0].places = f.ops[0].gradient_places = (adept_profile_places){100, 0, 99};
    f.ops[0].gradient_bytes = 4e9;
    f.ops[1].places = (adept_profile_places){3, 100, 102};
    even_program_set(&f.prof);
    p = predict(&f);
    double product_s = PRODUCT_S + 1e-6, bucket_s = 2.3 * 11e-5 + 1.225 * 16.0 / 15.0 * 4e-4;
    assert_true(p.comm_buckets == 100);
    near(p.comm_s, product_s + 100 * bucket_s - 100 * product_s);
    near(p.comm_s + p.comm_hidden_s, 100 * bucket_s);
    near(p.step_time_s, alone_s + p.comm_s);
    near(p.energy_step_j, p.power_avg_w * p.step_time_s);
    f.prof.grad_accum = 2; /* only the last pass sends */
    near(predict(&f).comm_s, p.comm_s);
    f.prof.grad_accum = 1;
    f.run.overlap = ADEPT_OVERLAP_AUTO;
    near(predict(&f).comm_s, p.comm_s);
    f.run.bucket_bytes = -1;
    refuse(&f, ADEPT_E_USAGE, "the size of a bucket must not be negative");
    f.run.bucket_bytes = NAN;
    refuse(&f, ADEPT_E_USAGE, "the size of a bucket must not be negative");
    f.run.bucket_bytes = 2e8;                    /* five products */
    assert_true(predict(&f).comm_buckets == 21); /* the first of 1 MiB is one product's */
    set(&f, "t_host_s", 1e-4); /* 100 us a launch, 97 in the backward pass: so does the backward pass */
    const double launch_s = 103e-4 / (3 * 2.1 + 100);
    f.run.bucket_bytes = 0;
    near(predict(&f).comm_s, launch_s + 100 * bucket_s - 100 * launch_s);
    f.run.overlap = ADEPT_OVERLAP_FIXED;
    near(predict(&f).comm_s, 0.5 * all_s);
    f.run.overlap = ADEPT_OVERLAP_BUCKETED;
    f.prof.mode = ADEPT_MODE_INFER;
    assert_true(predict(&f).comm_s == 0);
    f.prof.mode = ADEPT_MODE_FWBW;
    f.run.gpus = 1;
    assert_true(predict(&f).comm_s == 0 && predict(&f).comm_buckets == 0);
    f.run.gpus = 2;
    f.run.granularity = ADEPT_GRANULARITY_MODEL;
    refuse(&f, ADEPT_E_USAGE, "granularity \"model\" has none");
    even_program_free(&f.prof);
}

/* A bridge of 500 GB/s instead of a link of 200: as 2.5 times the bus bandwidth, between two GPUs of each node, and
 * under both granularities. */
static void bridges_join_pairs(void **state)
{
    (void)state;
    static const struct {
        int64_t gpus, nodes;
        bool joined;
    } cases[] = {{2, 1, true}, {4, 2, true}, {1, 1, true}, {4, 1, false}, {3, 0, false}};
    for (int granularity = ADEPT_GRANULARITY_MODEL; granularity <= ADEPT_GRANULARITY_OPERATOR; granularity++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            fixture f;
            fresh(&f, 100, 3);
            f.run = (adept_run){
                .gpus = cases[i].gpus, .nodes = cases[i].nodes, .granularity = (adept_granularity)granularity};
            f.run.internode_bytes_per_s = cases[i].nodes > 1 ? 1e10 : 0;
            f.gpu.hw.granularity = (adept_granularity)granularity;
            if (granularity == ADEPT_GRANULARITY_MODEL) f.gpu.hw.n_parameters = 0;
            f.gpu.hw.specs.link_bytes_per_s = 200e9, f.gpu.hw.specs.bridge_bytes_per_s = 500e9;
            fixture g = f; /* with the board's own link, as fast as the bridge */
            g.gpu.hw.parameters = g.parameters;
            if (cases[i].joined) g.gpu.hw.specs.link_bytes_per_s = 500e9, set(&g, "bw_eff_bytes_per_s", 2.5e11);
            f.run.link = ADEPT_LINK_BRIDGE;
            adept_prediction p = predict(&f), want = predict(&g);
            near(p.step_time_s, want.step_time_s);
            near(p.power_avg_w, want.power_avg_w);
            assert_true(warns(&p, "a bridge joins two boards") == !cases[i].joined);
            f.gpu.hw.specs.bridge_bytes_per_s = NAN;
            refuse(&f, ADEPT_E_USAGE, "takes no bridge, as far as its sheet says (bridge_bytes_per_s)");
        }
    }
}

/* One all-reduce after the pass: none of it is hidden, and copies of 4 GB of gradients read and write them twice:
 * 16 GB at 1000 GB/s times beta_mem. */
static void nothing_overlaps(void **state)
{
    (void)state;
    fixture f;
    fresh(&f, 100, 3);
    double alone_s = predict(&f).step_time_s, theta[ADEPT_OPERATOR_PARAMETERS];
    f.run.overlap = ADEPT_OVERLAP_NONE;
    near(predict(&f).step_time_s, alone_s);
    f.run.gpus = 2;
    assert_int_equal(adept_operator_parameters_get(theta, &f.gpu.hw, NULL), ADEPT_OK);
    adept_prediction p = predict(&f);
    double copies_s = 16e9 / f.gpu.hw.specs.mem_bytes_per_s / theta[ADEPT_KP_beta_mem];
    near(p.comm_s, 4 * 11e-5 + 1.225 * 0.04 + copies_s);
    near(p.step_time_s, alone_s + p.comm_s);
    assert_true(p.comm_hidden_s == 0 && p.comm_buckets == 0);
    f.ops[0].places = f.ops[0].gradient_places = (adept_profile_places){100, 0, 99};
    f.ops[0].gradient_bytes = 4e9;
    f.ops[1].places = (adept_profile_places){3, 100, 102};
    even_program_set(&f.prof);
    near(predict(&f).comm_s, p.comm_s); /* places or not */
    f.prof.mode = ADEPT_MODE_INFER;
    assert_true(predict(&f).comm_s == 0);
    even_program_free(&f.prof);
}

/* A fit that saw several GPUs has its own share. */
static void fits_of_several_gpus_keep_their_share(void **state)
{
    (void)state;
    fixture f;
    adept_intervals intervals = {.level = 0.8, .time_log = {-0.1, 0.1}, .power_log = {-0.1, 0.1}, .widen = 2};
#define X(name, text) intervals.low.name = intervals.high.name = NAN;
    ADEPT_RANGE_LIST(X)
#undef X
    fresh(&f, 100, 3);
    f.ops[0].places = f.ops[0].gradient_places = (adept_profile_places){100, 0, 99};
    f.ops[0].gradient_bytes = 4e9;
    f.ops[1].places = (adept_profile_places){3, 100, 102};
    even_program_set(&f.prof);
    f.run.gpus = 2;
    f.gpu.hw.intervals = &intervals;
    assert_true(predict(&f).comm_buckets == 100);
    intervals.low.gpus = intervals.high.gpus = 1;
    assert_true(predict(&f).comm_buckets == 100);
    intervals.high.gpus = 4;
    assert_true(predict(&f).comm_buckets == 0);
    f.run.overlap = ADEPT_OVERLAP_BUCKETED;
    assert_true(predict(&f).comm_buckets == 100);
    even_program_free(&f.prof);
}

/* By granularity "model" the evaluator knows the fixed share only. */
static void evaluators_by_model_refuse_buckets(void **state)
{
    (void)state;
    fixture f;
    adept_evaluator *e = NULL;
    adept_error err = {0};
    fresh(&f, 100, 3);
    adept_placement at = {&f.prof, &f.gpu.hw, {.gpus = 2, .overlap = ADEPT_OVERLAP_BUCKETED}};
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_MODEL, NULL, NULL, 0, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "fixed share"));
    at.run.overlap = ADEPT_OVERLAP_AUTO;
    at.run.allreduce = ADEPT_ALLREDUCE_AUTO;
    assert_int_equal(adept_evaluator_new(&e, &at, 1, ADEPT_GRANULARITY_MODEL, NULL, NULL, 0, &err), ADEPT_E_USAGE);
    assert_non_null(strstr(err.message, "one algorithm"));
}

/* By the equations of the model: the same all-reduce, and the fastest of both algorithms. */
static void both_granularities(void **state)
{
    (void)state;
    fixture f;
    toy_work work;
    fresh(&f, 1, 1);
    toy_gpu_init(&f.gpu);
    toy_work_init(&work);
    f.prof = work.prof;
    f.run = (adept_run){.gpus = 8, .granularity = ADEPT_GRANULARITY_MODEL, .nodes = 2, .internode_bytes_per_s = 25e9};
    double bytes = f.prof.trainable_bytes;
    near(predict(&f).comm_s, 6e-5 + 1.5 * bytes / 1e11 + 2e-5 + bytes / 25e9);
    assert_true(predict(&f).comm_hidden_s == 0);
    f.run.allreduce = ADEPT_ALLREDUCE_AUTO;
    near(predict(&f).comm_s, 6e-5 + 1.5 * bytes / 1e11 + 2e-5 + bytes / 25e9);
    f.run.nodes = 8;
    toy_gpu_set(&f.gpu, "overlap", 0.25);
    f.run.internode_latency_s = 10; /* 14 hops against 6 */
    near(predict(&f).comm_s, 0.75 * (60 + 2 * bytes / 25e9));
    near(predict(&f).comm_hidden_s, 0.25 * (60 + 2 * bytes / 25e9));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ring_is_equation_4_8),
        cmocka_unit_test(tree_by_hand),
        cmocka_unit_test(small_messages_go_by_tree),
        cmocka_unit_test(nodes_by_hand),
        cmocka_unit_test(more_bandwidth_is_never_slower),
        cmocka_unit_test(impossible_networks_are_refused),
        cmocka_unit_test(protocols_by_hand),
        cmocka_unit_test(two_buckets_by_hand),
        cmocka_unit_test(limits_of_buckets),
        cmocka_unit_test(merged_operators_are_spread),
        cmocka_unit_test(gradients_are_complete_in_the_programs_order),
        cmocka_unit_test(repeats_stand_for_those_between_them),
        cmocka_unit_test(step_in_buckets),
        cmocka_unit_test(bridges_join_pairs),
        cmocka_unit_test(nothing_overlaps),
        cmocka_unit_test(fits_of_several_gpus_keep_their_share),
        cmocka_unit_test(evaluators_by_model_refuse_buckets),
        cmocka_unit_test(both_granularities),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

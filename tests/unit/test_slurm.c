/* What the Slurm plugin reads and decides: comments, configurations, GRES lists, profiles, placements. Without Slurm.
 */
#include "adept_slurm.h"
#include "cmocka_test.h"
#include <sys/stat.h>
#include <unistd.h>

#define DATA ADEPT_SOURCE_DIR "/tests"

/* ---- comments ---- */

static void comments_are_read(void **state)
{
    (void)state;
    adept_slurm_wish w;
    adept_error err = {0};
    assert_int_equal(adept_slurm_wish_read(&w, "adept:resnet50", &err), ADEPT_OK);
    assert_string_equal(w.profile, "resnet50");
    assert_true(w.batch == 0 && w.objective == -1 && w.samples == 0 && w.steps == 0 && w.gpus == 0);
    assert_true(w.deadline_s == 0 && w.power_budget_w == 0 && w.energy_budget_j == 0);
    assert_int_equal(adept_slurm_wish_read(&w,
                                           "adept:a.b_c+d-9.profile.json  batch=64 objective=ed2p samples=1.28e6 "
                                           "deadline=1.5d power=1.2kW energy=2kWh gpus=1,3-5 ",
                                           &err),
                     ADEPT_OK);
    assert_string_equal(w.profile, "a.b_c+d-9.profile.json");
    assert_int_equal(w.batch, 64);
    assert_int_equal(w.objective, ADEPT_LEAST_ED2P);
    assert_true(w.samples == 1280000 && w.deadline_s == 129600 && w.power_budget_w == 1200);
    assert_true(w.energy_budget_j == 7.2e6 && w.gpus == (1 | 4 | 8 | 16));
    assert_int_equal(adept_slurm_wish_read(&w, "adept:x steps=5 deadline=90min gpus=64", &err), ADEPT_OK);
    assert_true(w.steps == 5 && w.deadline_s == 5400 && w.gpus == UINT64_C(1) << 63);
}

static const struct {
    const char *comment, *message;
} bad_comments[] = {
    {"hello", "does not start with adept:"},
    {"adept:", "names no profile"},
    {"adept: x", "names no profile"},
    {"adept:.x", "is not a profile's name"},
    {"adept:../x", "is not a profile's name"},
    {"adept:x/y", "is not a profile's name"},
    {"adept:x%n", "is not a profile's name"},
    {"adept:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "too long for a profile's name"},
    {"adept:x batch", "'batch' is not KEY=VALUE"},
    {"adept:x =1", "is not KEY=VALUE"},
    {"adept:x batch=", "is not KEY=VALUE"},
    {"adept:x size=1", "'size' is none of batch, objective"},
    {"adept:x batch=0", "batch: '0' is not a whole number"},
    {"adept:x batch=1.5", "batch: '1.5' is not a whole number"},
    {"adept:x batch=2e9", "batch: '2e9' is not a whole number"},
    {"adept:x samples=nan", "samples: 'nan' is not a number above 0"},
    {"adept:x samples=0x1", "samples: '0x1' is not a number above 0"},
    {"adept:x samples=1e999", "samples: '1e999' is not a number above 0"},
    {"adept:x samples=-1", "samples: '-1' is not a number above 0"},
    {"adept:x samples=.", "samples: '.' is not a number above 0"},
    {"adept:x samples=1e", "samples: '1e' is not a number above 0"},
    {"adept:x steps=0", "steps: '0' is not a number above 0"},
    {"adept:x steps=1 deadline=5", "deadline: '5' is not a number above 0 with a unit"},
    {"adept:x steps=1 deadline=5m", "deadline: '5m' is not"},
    {"adept:x steps=1 deadline=h", "deadline: 'h' is not"},
    {"adept:x power=1e308MW", "power: '1e308MW' is not"},
    {"adept:x objective=power", "objective: 'power' is none of time, energy, edp, ed2p, thrift"},
    {"adept:x gpus=0", "gpus: '0' is not a list of numbers from 1 to 64"},
    {"adept:x gpus=65", "gpus: '65' is not"},
    {"adept:x gpus=4-2", "gpus: '4-2' is not"},
    {"adept:x gpus=1,", "gpus: '1,' is not"},
    {"adept:x gpus=1-2-3", "gpus: '1-2-3' is not"},
    {"adept:x gpus=99999999999999999999", "is not a list"},
    {"adept:x batch=1 batch=1", "batch is given twice"},
    {"adept:x samples=1 steps=1", "samples and steps exclude each other"},
    {"adept:x deadline=1h", "deadline needs the job's size"},
    {"adept:x energy=1J", "energy needs the job's size"},
    {"adept:x\nbatch=1", "character 8 of the comment is not printable ASCII"},
    {"adept:\303\244", "character 7 of the comment is not printable"},
};

static void bad_comments_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_comments / sizeof *bad_comments; i++) {
        adept_slurm_wish w = {.batch = 77};
        adept_error err = {0};
        assert_int_equal(adept_slurm_wish_read(&w, bad_comments[i].comment, &err), ADEPT_E_USAGE);
        assert_int_equal(w.batch, 77);
        if (!strstr(err.message, bad_comments[i].message)) fail_msg("%s: %s", bad_comments[i].comment, err.message);
    }
    char longest[ADEPT_SLURM_COMMENT_MAX + 2];
    memset(longest, ' ', sizeof longest);
    memcpy(longest, "adept:x", 7);
    longest[ADEPT_SLURM_COMMENT_MAX] = '\0';
    adept_slurm_wish w;
    assert_int_equal(adept_slurm_wish_read(&w, longest, NULL), ADEPT_OK);
    longest[ADEPT_SLURM_COMMENT_MAX] = ' ';
    longest[ADEPT_SLURM_COMMENT_MAX + 1] = '\0';
    assert_int_equal(adept_slurm_wish_read(&w, longest, NULL), ADEPT_E_USAGE);
    assert_false(adept_slurm_is_wish(NULL));
    assert_false(adept_slurm_is_wish("adept"));
}

/* ---- GRES ---- */

static void gres_lists_are_read_and_written(void **state)
{
    (void)state;
    static const struct {
        const char *list, *type;
        int64_t gpus;
        const char *written; /* with 4 of "a100" */
    } good[] = {
        {NULL, "", 0, "gres:gpu:a100:4"},
        {"", "", 0, "gres:gpu:a100:4"},
        {"gres:gpu", "", 0, "gres:gpu:a100:4"},
        {"gres:gpu:2", "", 2, "gres:gpu:a100:4"},
        {"gres/gpu:2", "", 2, "gres:gpu:a100:4"},
        {"gres:gpu:v100", "v100", 0, "gres:gpu:a100:4"},
        {"gres:gpu:v100:8", "v100", 8, "gres:gpu:a100:4"},
        {"gres/gpu:v100=8", "v100", 8, "gres:gpu:a100:4"},
        {"gres:nic:1,gpu:3,gres:shard:2", "", 3, "gres:gpu:a100:4,gres:nic:1,gres:shard:2"},
        {"gres:gpus:1", "", 0, "gres:gpu:a100:4,gres:gpus:1"},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        adept_slurm_fixed fixed = {0};
        char text[64];
        assert_int_equal(adept_slurm_gres_read(&fixed, good[i].list, NULL), ADEPT_OK);
        assert_string_equal(fixed.gres_type, good[i].type);
        assert_int_equal(fixed.gpus, good[i].gpus);
        assert_int_equal(adept_slurm_gres_write(text, sizeof text, good[i].list, "a100", 4, NULL), ADEPT_OK);
        assert_string_equal(text, good[i].written);
    }
    static const char *const bad[] = {"gres:gpu:0",       "gres:gpu:65",         "gres:gpu:v100:0",   "gres:gpu:v100:x",
                                      "gres:gpu:v100:1K", "gres:gpu:1,gpu:2",    "gres:gpu,gres:gpu", "gres:gpu:none",
                                      "gres:gpu::2",      "gres:gpu:99999999999"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        adept_slurm_fixed fixed = {0};
        if (adept_slurm_gres_read(&fixed, bad[i], NULL) != ADEPT_E_USAGE) fail_msg("%s is read", bad[i]);
    }
    char small[24];
    assert_int_equal(adept_slurm_gres_write(small, sizeof small, NULL, "a100-with-a-long-name", 4, NULL),
                     ADEPT_E_USAGE);
    assert_int_equal(adept_slurm_gres_write(small, sizeof small, "gres:nic:1", "a100", 4, NULL), ADEPT_E_USAGE);
}

/* ---- configurations ---- */

static adept_status read_config(adept_slurm_config **out, const char *text, adept_error *err)
{
    return adept_slurm_config_read(out, "adept.conf", text, strlen(text), err);
}

static void configurations_are_read(void **state)
{
    (void)state;
    adept_slurm_config *c = NULL;
    adept_error err = {0};
    const char *text =
        "# a site\n\nprofiledir=/srv/p OnError=Pass # both\nTell=no Objective=energy\r\nTimeMargin=1.5 TimeExtra=5min\n"
        "PartitionName=volta GresType=v100 Gpu=v100-pcie-32gb Gpus=1,2-4 PowerLimits=150W,0.2kW\n"
        "PartitionName=any Gpu=t4";
    if (read_config(&c, text, &err) != ADEPT_OK) fail_msg("%s", err.message);
    assert_string_equal(c->profile_dir, "/srv/p");
    assert_true(c->pass_bad && !c->tell && c->objective == ADEPT_LEAST_ENERGY);
    assert_true(c->time_margin == 1.5 && c->time_extra_s == 300 && c->n_places == 2);
    assert_string_equal(c->places[0].gres_type, "v100");
    assert_true(c->places[0].gpus == 15 && c->places[0].n_limits == 2 && c->places[0].limits_w[1] == 200);
    assert_string_equal(c->places[1].partition, "any");
    assert_string_equal(c->places[1].gres_type, "");
    assert_true(c->places[1].gpus == 1 && c->places[1].n_limits == 0);
    adept_slurm_config_free(c);
    adept_slurm_config_free(NULL);
}

static const struct {
    const char *text, *message;
} bad_configs[] = {
    {"", "adept.conf: no ProfileDir"},
    {"ProfileDir=/p\n", "adept.conf: no PartitionName"},
    {"ProfileDir=p\n", "adept.conf:1: ProfileDir: 'p' is not an absolute path"},
    {"ProfileDir=/p ProfileDir=/q\n", "adept.conf:1: ProfileDir is given twice"},
    {"\n\nNonsense\n", "adept.conf:3: 'Nonsense' is not KEY=VALUE"},
    {"\nNonsense=1\n", "adept.conf:2: 'Nonsense' is none of ProfileDir"},
    {"OnError=maybe", "adept.conf:1: OnError: 'maybe' is neither pass nor reject"},
    {"Tell=1", "adept.conf:1: Tell: '1' is neither yes nor no"},
    {"Objective=fast", "Objective: 'fast' is none of"},
    {"TimeMargin=0.5", "TimeMargin: 0.5 is not between 1 and 100"},
    {"TimeExtra=5", "TimeExtra: '5' is not a number above 0 with a unit"},
    {"PartitionName=p", "adept.conf:1: partition p: no Gpu"},
    {"PartitionName=p Gpu=t5", "adept.conf:1: unknown GPU 't5'"},
    {"PartitionName=p Gpu=t4 Gpu=t4", "Gpu is given twice"},
    {"PartitionName=p Gpu=t4 Objective=time", "'Objective' is none of PartitionName, GresType"},
    {"PartitionName=p Gpu=t4 what", "'what' is not KEY=VALUE"},
    {"PartitionName=p,q Gpu=t4", "PartitionName: 'p,q' is not one name"},
    {"PartitionName=p Gpu=t4 Gpus=0", "Gpus: '0' is not a list"},
    {"PartitionName=p Gpu=t4 PowerLimits=30W", "PowerLimits: 30 W is outside the 60 to 70 W of t4"},
    {"PartitionName=p Gpu=t4 PowerLimits=70", "PowerLimits: '70' is not a number above 0 with a unit"},
    {"PartitionName=p Gpu=t4 PowerLimits=61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W,61W",
     "more than 16 limits"},
};

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_configs / sizeof *bad_configs; i++) {
        adept_slurm_config *c = NULL;
        adept_error err = {0};
        assert_int_equal(read_config(&c, bad_configs[i].text, &err), ADEPT_E_INVALID);
        assert_null(c);
        if (!strstr(err.message, bad_configs[i].message)) fail_msg("%s: %s", bad_configs[i].text, err.message);
    }
    static char many[70000];
    adept_slurm_config *c = NULL;
    adept_error err = {0};
    assert_int_equal(adept_slurm_config_read(&c, "f", "Tell=no\0x", 9, &err), ADEPT_E_INVALID);
    memset(many, '#', sizeof many - 1);
    assert_int_equal(read_config(&c, many, &err), ADEPT_E_INVALID);
    strcpy(many, "ProfileDir=/p\n");
    for (int i = 0; i < 64; i++)
        strcat(many, "PartitionName=p Gpu=t4 Gpus=1-64\n");
    if (read_config(&c, many, &err) != ADEPT_OK) fail_msg("%s", err.message); /* 4096 placements */
    adept_slurm_config_free(c);
    strcat(many, "PartitionName=p Gpu=t4\n");
    assert_int_equal(read_config(&c, many, &err), ADEPT_E_INVALID);
    assert_non_null(strstr(err.message, "adept.conf:66: more than 64 lines"));
}

/* ---- profiles ---- */

typedef struct site {
    char folder[64];
    adept_slurm_config *config;
    adept_slurm_profiles *profiles;
} site;

static void copy_file(const char *from, const char *folder, const char *name)
{
    char path[160], buffer[4096];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *in = fopen(from, "rb"), *out = fopen(path, "wb");
    assert_true(in && out);
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, in)) > 0;)
        assert_int_equal(fwrite(buffer, 1, n, out), n);
    fclose(in);
    assert_int_equal(fclose(out), 0);
}

#define SITE                                                                                                           \
    "PartitionName=volta GresType=v100 Gpu=v100-pcie-32gb Gpus=1,2,4,8 PowerLimits=100W,150W,200W\n"                   \
    "PartitionName=ampere GresType=a100 Gpu=a100-sxm-40gb Gpus=1-4\n"                                                  \
    "PartitionName=turing GresType=t4 Gpu=t4 Gpus=1,2 PowerLimits=60W\n"

static int make_site(void **state)
{
    static site s;
    char text[1024];
    adept_error err = {0};
    strcpy(s.folder, "/tmp/adept-test-slurm.XXXXXX");
    assert_non_null(mkdtemp(s.folder));
    assert_int_equal(chmod(s.folder, 0755), 0);
    copy_file(DATA "/cli/data/mlp.profile.json", s.folder, "mlp.profile.json");
    copy_file(DATA "/cli/data/lengths.profile.json", s.folder, "lengths.profile.json");
    snprintf(text, sizeof text, "ProfileDir=%s TimeMargin=2 TimeExtra=1min\n%s", s.folder, SITE);
    if (read_config(&s.config, text, &err) != ADEPT_OK) fail_msg("%s", err.message);
    s.profiles = adept_slurm_profiles_new(s.config);
    *state = &s;
    return s.profiles ? 0 : -1;
}

static int remove_site(void **state)
{
    site *s = *state;
    char command[128];
    adept_slurm_profiles_free(s->profiles);
    adept_slurm_config_free(s->config);
    snprintf(command, sizeof command, "rm -r '%s'", s->folder);
    return system(command);
}

static adept_status get(const site *s, const char *name, int64_t batch, const adept_slurm_plan **plan, adept_error *err)
{
    return adept_slurm_profiles_get(plan, s->profiles, name, batch, err);
}

static void expect_refusal(const site *s, const char *name, int64_t batch, adept_status status, const char *message)
{
    const adept_slurm_plan *plan = NULL;
    adept_error err = {0};
    assert_int_equal(get(s, name, batch, &plan, &err), status);
    if (!strstr(err.message, message)) fail_msg("%s: %s", name, err.message);
}

static void profiles_are_kept(void **state)
{
    const site *s = *state;
    const adept_slurm_plan *a = NULL, *b = NULL, *c = NULL;
    adept_error err = {0};
    if (get(s, "lengths", 0, &a, &err) != ADEPT_OK) fail_msg("%s", err.message);
    const adept_oracle *oracle = a->oracles[0];
    int64_t own = a->batch;
    assert_true(own > 0 && oracle && a->oracles[2] && !a->oracles[3] && a->why.status == ADEPT_OK);
    assert_int_equal(get(s, "lengths", own, &b, &err), ADEPT_OK);
    assert_ptr_equal(a, b);
    assert_int_equal(get(s, "lengths", own + 1, &c, &err), ADEPT_OK);
    assert_true(c != a && c->batch == own + 1);
    for (int64_t batch = 2; batch < 20; batch++) /* more than are kept */
        assert_int_equal(get(s, "lengths", batch, &c, &err), ADEPT_OK);
    assert_int_equal(get(s, "lengths.profile.json", 3, &c, &err), ADEPT_OK);
    for (int i = 0; i < 40; i++) {
        char name[32];
        snprintf(name, sizeof name, "copy%d.profile.json", i);
        copy_file(DATA "/cli/data/mlp.profile.json", s->folder, name);
        assert_int_equal(get(s, name, 0, &c, &err), ADEPT_OK);
        assert_int_equal(c->batch, 256);
    }
    assert_int_equal(get(s, "lengths", 0, &a, &err), ADEPT_OK);
    assert_int_equal(a->batch, own);
    copy_file(DATA "/cli/data/mlp.profile.json", s->folder, "lengths.profile.json"); /* another file by that name */
    assert_int_equal(get(s, "lengths", 0, &a, &err), ADEPT_OK);
    assert_int_equal(a->batch, 256);
    expect_refusal(s, "lengths", INT64_MAX, ADEPT_E_USAGE, "profile 'lengths'");
}

static void bad_profiles_are_refused(void **state)
{
    const site *s = *state;
    char path[128];
    expect_refusal(s, "nothing", 0, ADEPT_E_USAGE, "there is no profile 'nothing'");
    snprintf(path, sizeof path, "%s/link.profile.json", s->folder);
    assert_int_equal(symlink(DATA "/cli/data/mlp.profile.json", path), 0);
    expect_refusal(s, "link", 0, ADEPT_E_INVALID, "profile 'link' cannot be used");
    snprintf(path, sizeof path, "%s/pipe.profile.json", s->folder);
    assert_int_equal(mkfifo(path, 0644), 0);
    expect_refusal(s, "pipe", 0, ADEPT_E_INVALID, "not a regular file");
    copy_file(DATA "/cli/data/unsupported.pt", s->folder, "model.profile.json");
    for (int i = 0; i < 2; i++) /* the second time from what is kept */
        expect_refusal(s, "model", 0, ADEPT_E_INVALID, "profile 'model': not a profile that 'adept profile -o' wrote");
    snprintf(path, sizeof path, "%s/large.profile.json", s->folder);
    copy_file(DATA "/cli/data/mlp.profile.json", s->folder, "large.profile.json");
    assert_int_equal(truncate(path, ADEPT_SLURM_PROFILE_BYTES_MAX + 1), 0);
    expect_refusal(s, "large", 0, ADEPT_E_INVALID, "larger than 8 MiB");
    assert_int_equal(truncate(path, 1000), 0);
    expect_refusal(s, "large", 0, ADEPT_E_INVALID, "profile 'large': ");
    assert_int_equal(chmod(s->folder, 0777), 0);
    expect_refusal(s, "mlp", 0, ADEPT_E_INVALID, "anyone can write in it");
    assert_int_equal(chmod(s->folder, 0755), 0);
}

/* ---- decisions ---- */

static adept_status decide(const site *s, const char *comment, const adept_slurm_fixed *fixed, adept_slurm_decision *d,
                           adept_error *err)
{
    static const adept_slurm_fixed nothing = {0};
    adept_slurm_wish w;
    const adept_slurm_plan *plan = NULL;
    assert_int_equal(adept_slurm_wish_read(&w, comment, err), ADEPT_OK);
    assert_int_equal(get(s, w.profile, w.batch, &plan, err), ADEPT_OK);
    return adept_slurm_decide(d, s->config, plan, &w, fixed ? fixed : &nothing, err);
}

/* The least of all, by a loop of its own over single predictions. */
static void expect_best(const site *s, const char *comment, const adept_slurm_fixed *fixed, int places, double samples,
                        int objective, double budget_w)
{
    adept_slurm_decision d;
    adept_error err = {0};
    const adept_slurm_plan *plan = NULL;
    if (decide(s, comment, fixed, &d, &err) != ADEPT_OK) fail_msg("%s: %s", comment, err.message);
    assert_int_equal(get(s, "mlp", 0, &plan, &err), ADEPT_OK);
    double least = INFINITY;
    for (int p = 0; p < 3; p++)
        for (int n = 1; n <= 64; n++)
            for (size_t l = 0; l <= s->config->places[p].n_limits; l++) {
                adept_request r = {.oracle = plan->oracles[p],
                                   .gpus = n,
                                   .power_limit_w = l ? s->config->places[p].limits_w[l - 1] : 0};
                adept_estimate e;
                if (!(places >> p & 1) || !(s->config->places[p].gpus >> (n - 1) & 1)) continue;
                assert_int_equal(adept_predict_one(&e, &r, &err), ADEPT_OK);
                if ((l && (e.notes & ADEPT_NOTE_ABOVE_LIMIT)) || (budget_w > 0 && e.power_avg_w > budget_w)) continue;
                double steps = samples > 0 ? ceil(samples / (256.0 * n)) : 1, t = steps * e.step_time_s;
                double energy = t * e.power_avg_w, goal = objective == 0 ? t : objective == 1 ? energy : energy * t;
                if (goal < least) least = goal;
            }
    double got = objective == 0 ? d.verdict.time_s : objective == 1 ? d.verdict.energy_j : d.verdict.edp_js;
    assert_true(fabs(got - least) <= 1e-12 * least);
    assert_true(places >> (d.place - s->config->places) & 1);
    assert_true(d.place->gpus >> (d.gpus - 1) & 1);
    assert_int_equal(d.whole_job, samples > 0);
}

static void the_best_is_chosen(void **state)
{
    const site *s = *state;
    adept_slurm_fixed turing = {.partitions = "x,turing,y"}, volta = {.gres_type = "v100"},
                      both = {.partitions = "turing,volta"};
    expect_best(s, "adept:mlp", NULL, 7, 0, 0, 0);
    expect_best(s, "adept:mlp samples=1e7", NULL, 7, 1e7, 0, 0);
    expect_best(s, "adept:mlp samples=1e7 objective=energy", NULL, 7, 1e7, 1, 0);
    expect_best(s, "adept:mlp samples=1e7 objective=edp", NULL, 7, 1e7, 2, 0);
    expect_best(s, "adept:mlp samples=1e7 power=150W", NULL, 7, 1e7, 0, 150);
    expect_best(s, "adept:mlp samples=1e7", &turing, 4, 1e7, 0, 0);
    expect_best(s, "adept:mlp samples=1e7 objective=edp", &volta, 1, 1e7, 2, 0);
    expect_best(s, "adept:mlp objective=energy", &both, 5, 0, 1, 0);
    adept_slurm_decision d;
    adept_slurm_fixed two = {.gpus = 2};
    assert_int_equal(decide(s, "adept:mlp gpus=1-4", &two, &d, NULL), ADEPT_OK);
    assert_int_equal(d.gpus, 2);
    assert_int_equal(d.n_options, 4 + 1 + 2);
    assert_int_equal(decide(s, "adept:mlp gpus=8", NULL, &d, NULL), ADEPT_OK);
    assert_string_equal(d.place->partition, "volta");
}

static void expect_infeasible(const site *s, const char *comment, const adept_slurm_fixed *fixed, const char *message)
{
    adept_slurm_decision d;
    adept_error err = {0};
    assert_int_equal(decide(s, comment, fixed, &d, &err), ADEPT_E_INFEASIBLE);
    if (!strstr(err.message, message)) fail_msg("%s: %s", comment, err.message);
}

static void what_binds_is_named(void **state)
{
    const site *s = *state;
    adept_slurm_fixed minute = {.time_limit_s = 60}, elsewhere = {.partitions = "vol,voltage"},
                      three = {.gpus = 3, .gres_type = "t4"};
    expect_infeasible(s, "adept:mlp power=2W", NULL,
                      "keeps within the power budget of 2 W: the nearest of 24, 1 x t4 in partition turing, needs ");
    expect_infeasible(s, "adept:mlp samples=1e9 deadline=1min", NULL, "keeps within the deadline of 1 min");
    expect_infeasible(s, "adept:mlp samples=1e9 deadline=2min", &minute,
                      "keeps within the job's own time limit of 1 min");
    expect_infeasible(s, "adept:mlp samples=1e9 deadline=1s", &minute, "keeps within the deadline of 1 s");
    expect_infeasible(s, "adept:mlp samples=1e9 energy=3.6J", NULL, "keeps within the energy budget of 1e-06 kWh");
    expect_infeasible(s, "adept:mlp samples=1e9 energy=1J power=1W", NULL, "none of 24 options");
    expect_infeasible(s, "adept:mlp", &elsewhere, "no placement agrees with the partition");
    expect_infeasible(s, "adept:mlp", &three, "no placement agrees with the partition");
}

static void time_limits_have_margin(void **state)
{
    const site *s = *state;
    adept_slurm_decision d;
    assert_int_equal(decide(s, "adept:mlp samples=1e9", NULL, &d, NULL), ADEPT_OK);
    double upper_s = isnan(d.estimate.interval_time_s[1]) ? d.estimate.step_time_s : d.estimate.interval_time_s[1];
    assert_int_equal(adept_slurm_time_limit_min(s->config, &d),
                     (uint32_t)ceil((d.verdict.steps * upper_s * 2 + 60) / 60));
    d.estimate.interval_time_s[1] = NAN;
    assert_int_equal(adept_slurm_time_limit_min(s->config, &d), (uint32_t)ceil((d.verdict.time_s * 2 + 60) / 60));
    d.verdict.steps = 1e300;
    assert_int_equal(adept_slurm_time_limit_min(s->config, &d), 0);
    assert_int_equal(decide(s, "adept:mlp", NULL, &d, NULL), ADEPT_OK);
    assert_int_equal(adept_slurm_time_limit_min(s->config, &d), 0);
}

static void decisions_are_told(void **state)
{
    const site *s = *state;
    char text[ADEPT_SLURM_TEXT_MAX];
    adept_slurm_decision d = {
        .place = &s->config->places[0], .gpus = 2, .batch = 64, .limit_w = 150, .whole_job = true, .n_options = 24};
    d.verdict = (adept_verdict){.steps = 10000, .time_s = 852, .energy_j = 3.6e5, .power_w = 422.5};
    adept_slurm_note(text, &d, "mlp");
    assert_string_equal(text,
                        "adept: partition=volta gpu=v100-pcie-32gb gpus=2 batch=64 limit_w=150 steps=10000 time_s=852 "
                        "power_w=422.5 energy_j=360000 objective=time parameters=calibrated profile=mlp");
    adept_slurm_tell(text, &d);
    assert_string_equal(text,
                        "adept: 2 x v100-pcie-32gb in partition volta at most 150 W each: 14.2 min, 422.5 W, 0.1 kWh; "
                        "least time of 24 placements");
    d.verdict.power_w = d.verdict.energy_j = NAN;
    d.limit_w = 0;
    d.whole_job = false;
    d.estimate.notes = ADEPT_NOTE_TRANSFERRED;
    adept_slurm_tell(text, &d);
    assert_string_equal(
        text, "adept: 2 x v100-pcie-32gb in partition volta: a step takes 14.2 min; least time of 24 placements; "
              "parameters fitted to other GPUs");
    adept_slurm_note(text, &d, "mlp");
    assert_non_null(strstr(text, "power_w=unknown energy_j=unknown objective=time parameters=transferred profile=mlp"));
    static const struct {
        double time_s;
        const char *text;
    } times[] = {{0.0005, "0.5 ms"}, {0.35, "350 ms"}, {1, "1 s"},      {59, "59 s"},
                 {60, "1 min"},      {9360, "2.6 h"},  {172800, "2 d"}, {100000, "27.8 h"}};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        adept_slurm_time_text(text, times[i].time_s);
        assert_string_equal(text, times[i].text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(comments_are_read),
        cmocka_unit_test(bad_comments_are_refused),
        cmocka_unit_test(gres_lists_are_read_and_written),
        cmocka_unit_test(configurations_are_read),
        cmocka_unit_test(bad_configurations_are_refused),
        cmocka_unit_test_setup_teardown(profiles_are_kept, make_site, remove_site),
        cmocka_unit_test_setup_teardown(bad_profiles_are_refused, make_site, remove_site),
        cmocka_unit_test_setup_teardown(the_best_is_chosen, make_site, remove_site),
        cmocka_unit_test_setup_teardown(what_binds_is_named, make_site, remove_site),
        cmocka_unit_test_setup_teardown(time_limits_have_margin, make_site, remove_site),
        cmocka_unit_test_setup_teardown(decisions_are_told, make_site, remove_site),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Meters at a URL and Redfish, against a small server on the loopback that answers as told. */
#include "adept_network_sensors.h"
#include "adept_recording.h"
#include "pointer.h"
#include "sensor_checks.h"
#include "cmocka_test.h"
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---------------------------------------------------------------- the server -------------------------------------- */

typedef struct page {
    const char *path; /* NULL: any */
    const char *body;
    int code;
    size_t promised;         /* Content-Length; 0: what it is */
    bool is_silent;          /* never answers */
    const char *credentials; /* base64 of what it asks for; NULL: nothing */
} page;

static struct server {
    int socket;
    unsigned short port;
    pthread_t thread;
    _Atomic(const page *) pages; /* the last one is for any path */
    atomic_uint requests;
} server;

static void answer(int client)
{
    char request[4096] = "", wanted[256] = "", head[256];
    ssize_t n = read(client, request, sizeof request - 1);
    const page *p = atomic_load(&server.pages);

    if (n <= 0) return;
    server.requests++;
    sscanf(request, "GET %255s", wanted);
    while (p->path && strcmp(p->path, wanted) != 0)
        p++;
    if (p->is_silent) {
        poll(&(struct pollfd){.fd = client, .events = POLLRDHUP}, 1, 60000);
        return;
    }
    int code = p->code ? p->code : 200;
    if (p->credentials && !strstr(request, p->credentials)) code = 401;
    int length = snprintf(head, sizeof head, "HTTP/1.1 %d X\r\nConnection: close\r\nContent-Length: %zu\r\n%s\r\n",
                          code, p->promised ? p->promised : strlen(p->body),
                          code == 401 ? "WWW-Authenticate: Basic realm=\"bmc\"\r\n" : "");
    (void)!send(client, head, (size_t)length, MSG_NOSIGNAL);
    (void)!send(client, p->body, strlen(p->body), MSG_NOSIGNAL);
}

static void *serve(void *unused)
{
    for (int client; (client = accept(server.socket, NULL, NULL)) >= 0; close(client))
        answer(client);
    return unused;
}

static int start(void **state)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;

    (void)state;
    setenv("no_proxy", "127.0.0.1", 1);
    setenv("HOME", "/nonexistent", 1); /* no .netrc */
    server.socket = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(server.socket, (struct sockaddr *)&address, size) != 0 || listen(server.socket, 8) != 0 ||
        getsockname(server.socket, (struct sockaddr *)&address, &size) != 0)
        return -1;
    server.port = ntohs(address.sin_port);
    return pthread_create(&server.thread, NULL, serve, NULL);
}

static int stop(void **state)
{
    (void)state;
    shutdown(server.socket, SHUT_RDWR);
    pthread_join(server.thread, NULL);
    close(server.socket);
    return 0;
}

static const char *at(const char *format)
{
    static char url[256];

    snprintf(url, sizeof url, format, server.port);
    return url;
}

/* ---------------------------------------------------------------- what the tests say of it ------------------------ */

/* Look for one meter, with these pages served. */
static adept_sensor_search search_for(const adept_meter *meter, const page *pages)
{
    adept_sensor_search search = {.settings = {.meters = meter, .n_meters = 1}};
    adept_error err;

    server.pages = pages;
    assert_int_equal(adept_sensors_find(&search, adept_sensor_kinds_network(), NULL, 0, &err), ADEPT_OK);
    return search;
}

static void expect_note(const adept_meter *meter, const page *pages, const char *why, const char *help)
{
    adept_sensor_search search = search_for(meter, pages);

    is_noted(&search, why, help);
    assert_null(strstr(search.notes[0].why, "secret"));
    adept_sensors_close(&search);
}

static adept_status read_once(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    *reading = (adept_reading){.energy_j = NAN, .power_w = NAN};
    return sensor->kind->read(sensor, reading, err);
}

static void expect_reading(const char *unit, const char *pointer, double power_w, double energy_j)
{
    const adept_meter meter = {at("http://127.0.0.1:%d/status?channel=0"), pointer, unit, "plug", ADEPT_COMPONENT_NODE};
    static const page pages[] = {{.body = "{\"emeters\":[{\"power\":12.5,\"total\":\"250\",\"a/b\":{\"m~n\":3}}]}"}};
    adept_sensor_search search = search_for(&meter, pages);
    adept_reading reading;
    adept_error err;

    assert_int_equal(search.n_sensors, 1);
    adept_sensor *sensor = search.sensors[0];
    assert_string_equal(sensor->name, "plug");
    assert_string_equal(sensor->kind->name, "meter");
    assert_int_equal(sensor->component, ADEPT_COMPONENT_NODE);
    assert_true(sensor->is_slow && !sensor->is_estimated);
    assert_int_equal(read_once(sensor, &reading, &err), ADEPT_OK);
    assert_true(isnan(power_w) ? isnan(reading.power_w) : fabs(reading.power_w - power_w) < 1e-9 * power_w);
    assert_true(isnan(energy_j) ? isnan(reading.energy_j) : fabs(reading.energy_j - energy_j) < 1e-9 * energy_j);
    adept_sensors_close(&search);
}

/* ---------------------------------------------------------------- tests ------------------------------------------- */

static void units_are_converted(void **state)
{
    (void)state;
    expect_reading("W", "/emeters/0/power", 12.5, NAN);
    expect_reading("kW", "/emeters/0/power", 12500, NAN);
    expect_reading("mW", "/emeters/0/power", 0.0125, NAN);
    expect_reading("J", "/emeters/0/total", NAN, 250);
    expect_reading("kJ", "/emeters/0/total", NAN, 250e3);
    expect_reading("Wh", "/emeters/0/total", NAN, 900e3);
    expect_reading("kWh", "/emeters/0/total", NAN, 900e6);
    expect_reading("W", "/emeters/0/a~1b/m~0n", 3, NAN);
}

static void what_is_no_number_is_a_note(void **state)
{
    (void)state;
    const char *url = at("http://user:secret@127.0.0.1:%d/s?token=secret");
    static const page pages[] = {{.body = "{\"a\":[{\"power\":null,\"volts\":230}],\"ok\":true,\"huge\":1e999}"}};
    const struct {
        const char *pointer, *why;
    } cases[] = {
        {"/a/0/watts", "'/a/0/watts' is not in the reply: /a/0 has power, volts"},
        {"/b/0", "'/b' is not in the reply: it has a, ok, huge"},
        {"power", "'power' is not in the reply: it has a, ok, huge"},
        {"/a/1", "/a has elements 0 to 0"},
        {"/a/00", "/a has elements 0 to 0"},
        {"/a/-", "/a has elements 0 to 0"},
        {"/a/99999999999999999999", "/a has elements 0 to 0"},
        {"/ok/x", "/ok has nothing below it"},
        {"/a/0/power", "the value at '/a/0/power' is not a number"},
        {"", "the value at '' is not a number"},
        {"/huge", "the value at '/huge' is not a number"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_note(&(adept_meter){url, cases[i].pointer, "W", "plug", ADEPT_COMPONENT_NODE}, pages, cases[i].why, "");
    expect_note(&(adept_meter){url, "/a/0/volts", "V", NULL, ADEPT_COMPONENT_NODE}, pages, "'V' is none of W, kW", "");
}

static void replies_that_are_none(void **state)
{
    (void)state;
    static char endless[(1 << 20) + 2];
    const adept_meter meter = {at("http://user:secret@127.0.0.1:%d/?k=secret"), "/p", "W", "plug",
                               ADEPT_COMPONENT_NODE};
    const adept_meter nobody = {"http://user:secret@127.0.0.1:1/", "/p", "W", "plug", ADEPT_COMPONENT_NODE};
    const adept_meter ftp = {"ftp://user:secret@127.0.0.1/", "/p", "W", "plug", ADEPT_COMPONENT_NODE};
    const adept_meter none = {"http://user:secret@[:x", "/p", "W", "plug", ADEPT_COMPONENT_NODE};
    memset(endless, ' ', sizeof endless - 1);

    expect_note(&meter, &(page){.body = "<html>"}, "127.0.0.1", "");
    expect_note(&meter, &(page){.body = ""}, "127.0.0.1", "");
    expect_note(&meter, &(page){.body = "{\"p\":1}", .code = 500}, "?...: the answer is HTTP 500", "");
    expect_note(&meter, &(page){.body = "{\"p\":1}", .code = 301}, "the answer is HTTP 301", "");
    expect_note(&meter, &(page){.body = "{\"p\":1}", .promised = 100}, "127.0.0.1", "");
    expect_note(&meter, &(page){.body = "{\"p\":1", .promised = 6}, "127.0.0.1", "");
    expect_note(&meter, &(page){.body = endless}, "longer than 1048576 bytes", "");
    expect_note(&meter, &(page){.body = "{\"p\":1}", .credentials = "b3RoZXI6c2VjcmV0"}, "HTTP 401", "~/.netrc");
    expect_note(&nobody, &(page){.body = ""}, "127.0.0.1:1/", "");
    expect_note(&ftp, &(page){.body = ""}, "ftp", "");
    expect_note(&none, &(page){.body = ""}, "the meter's URL", "");
}

static void a_silent_meter_is_left_after_some_seconds(void **state)
{
    (void)state;
    const adept_meter meter = {at("http://127.0.0.1:%d/"), "/p", "W", "plug", ADEPT_COMPONENT_NODE};

    expect_note(&meter, &(page){.body = "", .is_silent = true}, "timed out", "5 s to answer");
}

static void credentials_go_with_the_request(void **state)
{
    (void)state;
    const adept_meter meter = {at("http://user:secret@127.0.0.1:%d/"), "/p", "W", NULL, ADEPT_COMPONENT_GPU};
    const page asks = {.body = "{\"p\":7}", .credentials = "Authorization: Basic dXNlcjpzZWNyZXQ="};
    adept_sensor_search search = search_for(&meter, &asks);

    assert_int_equal(search.n_sensors, 1);
    assert_string_equal(search.sensors[0]->name, "meter-0");
    assert_int_equal(search.sensors[0]->component, ADEPT_COMPONENT_GPU);
    assert_null(strstr(search.sensors[0]->source, "secret"));
    assert_non_null(strstr(search.sensors[0]->source, "/ /p"));
    adept_sensors_close(&search);
}

static void credentials_come_from_netrc(void **state)
{
    (void)state;
    char home[] = "home-XXXXXX", path[64];
    const adept_meter meter = {at("http://127.0.0.1:%d/"), "/p", "W", "plug", ADEPT_COMPONENT_NODE};
    const page asks = {.body = "{\"p\":7}", .credentials = "Authorization: Basic dXNlcjpzZWNyZXQ="};
    expect_note(&meter, &asks, "HTTP 401", "~/.netrc");

    assert_non_null(mkdtemp(home));
    snprintf(path, sizeof path, "%s/.netrc", home);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "machine 127.0.0.1 login user password secret\n");
    fclose(file);
    setenv("HOME", home, 1);
    adept_sensor_search search = search_for(&meter, &asks);
    assert_int_equal(search.n_sensors, 1);
    adept_sensors_close(&search);
    setenv("HOME", "/nonexistent", 1);
    unlink(path);
    rmdir(home);
}

static void one_failure_is_a_gap_and_five_are_the_end(void **state)
{
    (void)state;
    const adept_meter meter = {at("http://127.0.0.1:%d/"), "/p", "W", "plug", ADEPT_COMPONENT_NODE};
    const page good = {.body = "{\"p\":7}"}, bad = {.body = "", .code = 503}, other = {.body = "{\"q\":7}"};
    adept_sensor_search search = search_for(&meter, &good);
    adept_reading reading;
    adept_error err;

    assert_int_equal(search.n_sensors, 1);
    adept_sensor *sensor = search.sensors[0];
    for (int round = 0; round < 3; round++) {
        server.pages = round == 1 ? &other : &bad;
        for (int i = 0; i < 4; i++) {
            assert_int_equal(read_once(sensor, &reading, &err), ADEPT_OK);
            assert_true(isnan(reading.power_w) && isnan(reading.energy_j));
        }
        server.pages = &good;
        assert_int_equal(read_once(sensor, &reading, &err), ADEPT_OK);
        assert_true(reading.power_w == 7);
    }
    server.pages = &bad;
    for (int i = 0; i < 4; i++)
        assert_int_equal(read_once(sensor, &reading, &err), ADEPT_OK);
    assert_int_equal(read_once(sensor, &reading, &err), ADEPT_E_IO);
    assert_non_null(strstr(err.message, "5 requests in a row failed, the last one: "));
    assert_non_null(strstr(err.message, "HTTP 503"));
    adept_sensors_close(&search);
}

static void a_recording_integrates_a_meter(void **state)
{
    (void)state;
    const adept_meter meter = {at("http://127.0.0.1:%d/"), "/p", "kW", "plug", ADEPT_COMPONENT_NODE};
    const page constant = {.body = "{\"p\":0.25}"};
    const adept_recording_options options = {
        .period_s = 0.02, .settings = {.meters = &meter, .n_meters = 1}, .kinds = adept_sensor_kinds_network()};
    adept_recording *recording = NULL;
    adept_error err;

    server.pages = &constant;
    if (adept_recording_start(&recording, &options, &err) != ADEPT_OK) fail_msg("%s", err.message);
    usleep(300000);
    adept_recording_stop(recording);
    assert_int_equal(adept_recording_tracks(recording), 1);
    const adept_track *track = adept_recording_track(recording, 0);
    double begin_s = track->samples[0].time_s, end_s = track->samples[track->n_samples - 1].time_s;
    adept_energy energy = adept_track_energy(track, begin_s, end_s);
    assert_true(track->n_samples >= 2 && end_s - begin_s > 0.2 && !energy.by_counter);
    assert_true(fabs(energy.energy_j - 250 * (end_s - begin_s)) < 1e-6);
    adept_recording_free(recording);
}

static void files_are_read(void **state)
{
    (void)state;
    char path[] = "meter-XXXXXX", url[4200], folder[4096];
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "[42.5]", 6) == 6);
    close(file);
    assert_non_null(getcwd(folder, sizeof folder));
    snprintf(url, sizeof url, "file://%s/%s", folder, path);
    const adept_meter meter = {url, "/0", "W", "file", ADEPT_COMPONENT_NODE};
    adept_sensor_search search = search_for(&meter, &(page){.body = ""});
    adept_reading reading;
    adept_error err;

    assert_int_equal(search.n_sensors, 1);
    assert_int_equal(read_once(search.sensors[0], &reading, &err), ADEPT_OK);
    assert_true(reading.power_w == 42.5);
    adept_sensors_close(&search);
    unlink(path);
    expect_note(&meter, &(page){.body = ""}, path, "");
}

#define CREDENTIALS "Authorization: Basic dXNlcjpzZWNyZXQ="

static void redfish_finds_the_power_of_each_chassis(void **state)
{
    (void)state;
    /* One chassis has the newer resource, one the older, one neither; one leads to another host. */
    static const page pages[] = {
        {.path = "/redfish/v1/Chassis",
         .body = "{\"Members\":[{\"@odata.id\":\"/redfish/v1/Chassis/A\"},{\"@odata.id\":\"/redfish/v1/Chassis/B\"},"
                 "{\"@odata.id\":\"/redfish/v1/Chassis/C\"},{\"@odata.id\":\"https://evil.example/\"},{},3]}",
         .credentials = CREDENTIALS},
        {.path = "/redfish/v1/Chassis/A",
         .body = "{\"Manufacturer\":\"ACME\",\"Model\":\"X1\",\"EnvironmentMetrics\":{\"@odata.id\":\"/redfish/v1/"
                 "Chassis/A/E\"},"
                 "\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/A/Power\"}}",
         .credentials = CREDENTIALS},
        {.path = "/redfish/v1/Chassis/A/E", .body = "{\"PowerWatts\":{\"Reading\":314}}", .credentials = CREDENTIALS},
        {.path = "/redfish/v1/Chassis/B",
         .body = "{\"EnvironmentMetrics\":{\"@odata.id\":\"/gone\"},\"Power\":{\"@odata.id\":\"/redfish/v1/Chassis/B/"
                 "Power\"}}"},
        {.path = "/redfish/v1/Chassis/B/Power", .body = "{\"PowerControl\":[{\"PowerConsumedWatts\":271}]}"},
        {.path = "/redfish/v1/Chassis/C", .body = "{\"Power\":{\"@odata.id\":\"https://evil.example/\"}}"},
        {.body = "{}", .code = 404},
    };
    const adept_meter meter = {at("redfish+http://user:secret@127.0.0.1:%d//"), NULL, NULL, NULL, ADEPT_COMPONENT_NODE};
    adept_sensor_search search = search_for(&meter, pages);
    const double power_w[] = {314, 271};
    adept_reading reading;
    adept_error err;

    assert_int_equal(search.n_notes, 0);
    assert_int_equal(search.n_sensors, 2);
    assert_string_equal(search.sensors[0]->name, "redfish-0");
    assert_string_equal(search.sensors[0]->device, "ACME X1");
    for (size_t i = 0; i < 2; i++) {
        assert_string_equal(search.sensors[i]->kind->name, "redfish");
        assert_null(strstr(search.sensors[i]->source, "secret"));
        assert_int_equal(read_once(search.sensors[i], &reading, &err), ADEPT_OK);
        assert_true(reading.power_w == power_w[i]);
    }
    adept_sensors_close(&search);
}

/* A machine around a baseboard that states nothing around a GPU; beside it a chassis of its own, and two in a circle.
 */
static void redfish_says_which_chassis_is_inside(void **state)
{
    (void)state;
    static const page pages[] = {
        {.path = "/redfish/v1/Chassis",
         .body = "{\"Members\":[{\"@odata.id\":\"/g\"},{\"@odata.id\":\"/b\"},{\"@odata.id\":\"/m\"},{\"@odata.id\":\"/"
                 "o\"},"
                 "{\"@odata.id\":\"/x\"},{\"@odata.id\":\"/y\"}]}"},
        {.path = "/g", .body = "{\"Power\":{\"@odata.id\":\"/p\"},\"Links\":{\"ContainedBy\":{\"@odata.id\":\"/b\"}}}"},
        {.path = "/b", .body = "{\"Links\":{\"ContainedBy\":{\"@odata.id\":\"/m\"}}}"},
        {.path = "/m",
         .body = "{\"Power\":{\"@odata.id\":\"/p\"},\"Links\":{\"ContainedBy\":{\"@odata.id\":\"/rack\"}}}"},
        {.path = "/o", .body = "{\"Power\":{\"@odata.id\":\"/p\"},\"Links\":3}"},
        {.path = "/x", .body = "{\"Power\":{\"@odata.id\":\"/p\"},\"Links\":{\"ContainedBy\":{\"@odata.id\":\"/y\"}}}"},
        {.path = "/y", .body = "{\"Links\":{\"ContainedBy\":{\"@odata.id\":\"/x\"}}}"},
        {.path = "/p", .body = "{\"PowerControl\":[{\"PowerConsumedWatts\":100}]}"},
        {.body = "{}", .code = 404},
    };
    static const char *const inside[] = {"redfish-1", "", "", ""};
    const adept_meter meter = {at("redfish+http://127.0.0.1:%d"), NULL, NULL, NULL, ADEPT_COMPONENT_NODE};
    adept_sensor_search search = search_for(&meter, pages);

    assert_int_equal(search.n_sensors, 4);
    for (size_t i = 0; i < 4; i++)
        assert_string_equal(search.sensors[i]->inside, inside[i]);
    adept_sensors_close(&search);
}

static void redfish_says_what_is_wrong(void **state)
{
    (void)state;
    const adept_meter meter = {at("redfish+http://user:secret@127.0.0.1:%d"), NULL, NULL, "bmc", ADEPT_COMPONENT_NODE};

    expect_note(&meter, &(page){.body = "{}", .credentials = "nobody"}, "HTTP 401", "~/.netrc");
    expect_note(&meter, &(page){.body = "{}"}, "no chassis of this service states its power", "");
    expect_note(&meter, &(page){.body = "[]"}, "no chassis", "");
    expect_note(&meter, &(page){.body = "{\"Members\":[{\"@odata.id\":\"/x\"}]}"}, "no chassis", "");
    const page null[] = {{.path = "/redfish/v1/Chassis", .body = "{\"Members\":[{\"@odata.id\":\"/x\"}]}"},
                         {.path = "/x", .body = "{\"Power\":{\"@odata.id\":\"/p\"}}"},
                         {.path = "/p", .body = "{\"PowerControl\":[{\"PowerConsumedWatts\":null}]}"},
                         {.body = "", .code = 404}};
    expect_note(&meter, null, "the value at '/PowerControl/0/PowerConsumedWatts' is not a number", "");
}

static void a_long_list_is_cut(void **state)
{
    (void)state;
    char why[40];
    cJSON *tree = NULL;
    adept_error err;
    const char *text = "{\"first\":1,\"second\":2,\"third\":3}";

    assert_int_equal(adept_json_parse(&tree, "t", text, strlen(text), &err), ADEPT_OK);
    assert_null(adept_pointer_find(tree, "/x", why, sizeof why));
    assert_string_equal(why, "'/x' is not in the reply: it has fir...");
    cJSON_Delete(tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_are_converted),
        cmocka_unit_test(what_is_no_number_is_a_note),
        cmocka_unit_test(replies_that_are_none),
        cmocka_unit_test(a_silent_meter_is_left_after_some_seconds),
        cmocka_unit_test(credentials_go_with_the_request),
        cmocka_unit_test(credentials_come_from_netrc),
        cmocka_unit_test(one_failure_is_a_gap_and_five_are_the_end),
        cmocka_unit_test(a_recording_integrates_a_meter),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(redfish_finds_the_power_of_each_chassis),
        cmocka_unit_test(redfish_says_which_chassis_is_inside),
        cmocka_unit_test(redfish_says_what_is_wrong),
        cmocka_unit_test(a_long_list_is_cut),
    };
    return cmocka_run_group_tests(tests, start, stop);
}

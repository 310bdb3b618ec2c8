/* Power from a service processor: messages worked by hand, and a device whose ioctl() and poll() are this test's own.
 */
#include "dcmi.h"
#include "sensor_checks.h"
#include "cmocka_test.h"
#include <errno.h>
#include <linux/ipmi.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* 300 W now, 10 to 400 W, 280 W on average; at 0x60000000 over 1000 ms; measuring. */
static const unsigned char right[19] = {0x00, 0xdc, 0x2c, 0x01, 0x0a, 0x00, 0x90, 0x01, 0x18, 0x01,
                                        0x00, 0x00, 0x00, 0x60, 0xe8, 0x03, 0x00, 0x00, 0x40};

/* ---------------------------------------------------------------- the service processor --------------------------- */

static struct {
    unsigned char reply[80];
    size_t reply_bytes;
    bool is_silent, first_an_old_one, first_an_event;
    int fails; /* errno of sending; 0: it works */
    long asked;
    unsigned char request[8];
    int netfn, command;
} processor;

int __wrap_ioctl(int file, unsigned long what, ...);
int __wrap_poll(struct pollfd *files, nfds_t n, int timeout_ms);

static int accept_request(const struct ipmi_req *request)
{
    const struct ipmi_system_interface_addr *to = (const void *)request->addr;

    if (processor.fails) {
        errno = processor.fails;
        return -1;
    }
    assert_int_equal(to->addr_type, IPMI_SYSTEM_INTERFACE_ADDR_TYPE);
    assert_int_equal(to->channel, IPMI_BMC_CHANNEL);
    processor.asked = request->msgid;
    processor.netfn = request->msg.netfn;
    processor.command = request->msg.cmd;
    assert_int_equal(request->msg.data_len, ADEPT_DCMI_REQUEST_BYTES);
    memcpy(processor.request, request->msg.data, request->msg.data_len);
    return 0;
}

static int give_reply(struct ipmi_recv *reply)
{
    size_t n = processor.reply_bytes < reply->msg.data_len ? processor.reply_bytes : reply->msg.data_len;

    reply->recv_type = processor.first_an_event ? IPMI_ASYNC_EVENT_RECV_TYPE : IPMI_RESPONSE_RECV_TYPE;
    reply->msgid = processor.first_an_old_one ? processor.asked - 1 : processor.asked;
    processor.first_an_event = processor.first_an_old_one = false;
    memcpy(reply->msg.data, processor.reply, n);
    reply->msg.data_len = (unsigned short)n;
    if (n == processor.reply_bytes) return 0;
    errno = EMSGSIZE; /* what fits is there all the same */
    return -1;
}

int __wrap_ioctl(int file, unsigned long what, ...)
{
    va_list rest;

    (void)file;
    va_start(rest, what);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return what == IPMICTL_SEND_COMMAND ? accept_request(argument) : give_reply(argument);
}

int __wrap_poll(struct pollfd *files, nfds_t n, int timeout_ms)
{
    (void)files;
    (void)n;
    assert_in_range(timeout_ms, 1, 2001);
    return processor.is_silent ? 0 : 1;
}

static void replies(const unsigned char *bytes, size_t size)
{
    memset(&processor, 0, sizeof processor);
    memcpy(processor.reply, bytes, size);
    processor.reply_bytes = size;
}

/* ---------------------------------------------------------------- a machine --------------------------------------- */

extern const adept_sensor_kind adept_sensor_kind_ipmi;

static int make_machine(void **state)
{
    make_fake_sys(state);
    fake_sys_put(*state, "/dev/ipmi0", "%s", "");
    return 0;
}

static void expect_note(const fake_sys *sys, const char *why, const char *help)
{
    adept_sensor_search search = search_fake(sys, &adept_sensor_kind_ipmi);

    is_noted(&search, why, help);
    assert_string_equal(search.notes[0].name, "ipmi");
    adept_sensors_close(&search);
}

/* ---------------------------------------------------------------- tests ------------------------------------------- */

static void a_request_is_four_bytes(void **state)
{
    (void)state;
    unsigned char data[ADEPT_DCMI_REQUEST_BYTES];
    adept_dcmi_request(data);
    assert_memory_equal(data, "\xdc\x01\x00\x00", 4);
}

static void replies_are_read_by_the_byte(void **state)
{
    (void)state;
    unsigned char data[sizeof right + 1] = {0};
    adept_dcmi_power power = {.now_w = -1};

    memcpy(data, right, sizeof right);
    assert_null(adept_dcmi_reply(&power, data, sizeof right));
    assert_true(power.now_w == 300 && power.least_w == 10 && power.most_w == 400);
    assert_null(adept_dcmi_reply(&power, data, sizeof right + 1));
    data[2] = data[3] = 0xff;
    assert_null(adept_dcmi_reply(&power, data, sizeof right));
    assert_true(power.now_w == 65535);
    power.now_w = -1;
    for (size_t n = 0; n < sizeof right; n++)
        assert_non_null(adept_dcmi_reply(&power, data, n));
    data[18] = 0x00;
    assert_non_null(strstr(adept_dcmi_reply(&power, data, sizeof right), "does not measure"));
    assert_true(power.now_w == 65535); /* what it tells all the same */
    power.now_w = -1;
    data[1] = 0xdb;
    assert_non_null(strstr(adept_dcmi_reply(&power, data, sizeof right), "not a power reading"));
    assert_non_null(strstr(adept_dcmi_reply(&power, (const unsigned char *)"\xc0", 1), "busy"));
    assert_non_null(strstr(adept_dcmi_reply(&power, (const unsigned char *)"\xc1", 1), "does not know"));
    assert_non_null(strstr(adept_dcmi_reply(&power, (const unsigned char *)"\xc3", 1), "out of time"));
    assert_non_null(strstr(adept_dcmi_reply(&power, (const unsigned char *)"\xd4", 1), "privileges"));
    assert_non_null(strstr(adept_dcmi_reply(&power, (const unsigned char *)"\xff", 1), "refuses"));
    assert_true(power.now_w == -1);
}

/* Its own range, doubled for it may be of another time, has to hold what it tells; 0 and all ones are for who
 * integrates it. */
static void a_range_is_held_against_the_reading(void **state)
{
    static const struct {
        double now_w, least_w, most_w;
        bool is_credible;
    } cases[] = {{300, 10, 400, true},      {60, 129, 386, false}, {65, 129, 386, true},
                 {800, 129, 386, false},    {770, 129, 386, true}, {300, 0, 0, true},
                 {300, 65535, 65535, true}, {0, 129, 386, true},   {65535, 129, 386, true}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (adept_dcmi_is_credible(&(adept_dcmi_power){cases[i].now_w, cases[i].least_w, cases[i].most_w}) !=
            cases[i].is_credible)
            fail_msg("case %zu", i);
}

static void a_machine_is_read(void **state)
{
    replies(right, sizeof right);
    adept_sensor_search search = search_fake(*state, &adept_sensor_kind_ipmi);
    adept_reading reading = {.power_w = NAN, .energy_j = NAN};
    adept_error err;

    assert_int_equal(search.n_sensors, 1);
    adept_sensor *sensor = search.sensors[0];
    assert_int_equal(sensor->component, ADEPT_COMPONENT_NODE);
    assert_true(sensor->is_slow && !sensor->is_estimated);
    assert_int_equal(processor.netfn, 0x2c);
    assert_int_equal(processor.command, 2);
    assert_memory_equal(processor.request, "\xdc\x01\x00\x00", 4);
    processor.first_an_old_one = true; /* the reply to a request that was given up */
    assert_int_equal(sensor->kind->read(sensor, &reading, &err), ADEPT_OK);
    assert_true(reading.power_w == 300 && isnan(reading.energy_j));
    processor.reply[2] = 3; /* 3 W, and at least 10 W as it has it */
    processor.reply[3] = 0;
    assert_int_equal(sensor->kind->read(sensor, &reading, &err), ADEPT_OK);
    assert_true(isnan(reading.power_w) && strstr(reading.why, "half of its own least"));
    memcpy(processor.reply, right, sizeof right);
    processor.first_an_event = true;
    processor.reply[2]++;
    assert_int_equal(sensor->kind->read(sensor, &reading, &err), ADEPT_OK);
    assert_true(reading.power_w == 301);
    processor.reply_bytes = 80; /* longer than there is room */
    assert_int_equal(sensor->kind->read(sensor, &reading, &err), ADEPT_OK);
    assert_true(reading.power_w == 301);
    adept_sensors_close(&search);
}

static void five_failures_are_the_end(void **state)
{
    replies(right, sizeof right);
    adept_sensor_search search = search_fake(*state, &adept_sensor_kind_ipmi);
    adept_error err;

    assert_int_equal(search.n_sensors, 1);
    for (int i = 0; i < 10; i++) {
        adept_reading reading = {.power_w = NAN};
        processor.is_silent = i != 4; /* the fifth answers, and the count begins anew */
        assert_int_equal(search.sensors[0]->kind->read(search.sensors[0], &reading, &err),
                         i < 9 ? ADEPT_OK : ADEPT_E_IO);
        assert_true(i == 4 ? reading.power_w == 300 : isnan(reading.power_w));
    }
    assert_non_null(
        strstr(err.message, "5 requests in a row failed, the last one: the service processor does not answer"));
    adept_sensors_close(&search);
}

static void what_hinders_is_said(void **state)
{
    replies((const unsigned char *)"\xc1", 1);
    expect_note(*state, "/dev/ipmi0: the service processor does not know DCMI", "");
    replies(right, sizeof right);
    processor.reply[18] = 0; /* deactivated, and 300 W */
    expect_note(*state, "does not measure power now (deactivated), and tells 300 W all the same", "redfish");
    processor.is_silent = true;
    expect_note(*state, "does not answer", "");
    processor.fails = ENODEV;
    expect_note(*state, strerror(ENODEV), "");
    fake_sys_deny(*state, "/dev/ipmi0");
    if (geteuid() != 0) expect_note(*state, strerror(EACCES), "run as root");
}

static void a_missing_driver_is_said_where_there_is_a_processor(void **state)
{
    fake_sys_remove(*state, "/dev/ipmi0");
    finds_nothing(*state, &adept_sensor_kind_ipmi);
    fake_sys_put(*state, "/sys/firmware/dmi/entries/38-0/type", "38");
    expect_note(*state, "there is no ", "modprobe");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_four_bytes),
        cmocka_unit_test(replies_are_read_by_the_byte),
        cmocka_unit_test(a_range_is_held_against_the_reading),
        cmocka_unit_test_setup_teardown(a_machine_is_read, make_machine, free_fake_sys),
        cmocka_unit_test_setup_teardown(five_failures_are_the_end, make_machine, free_fake_sys),
        cmocka_unit_test_setup_teardown(what_hinders_is_said, make_machine, free_fake_sys),
        cmocka_unit_test_setup_teardown(a_missing_driver_is_said_where_there_is_a_processor, make_machine,
                                        free_fake_sys),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

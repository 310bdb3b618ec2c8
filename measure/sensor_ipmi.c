/** @file sensor_ipmi.c  Power of the whole machine, as its service processor tells the kernel (IPMI, DCMI). The device
 * is that of Documentation/driver-api/ipmi.rst, the structures those of linux/ipmi.h. */
#include "adept_clock.h"
#include "adept_sensor.h"
#include "dcmi.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/ipmi.h>
#include <math.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define TIMEOUT_S 2.0

extern const adept_sensor_kind adept_sensor_kind_ipmi;

typedef struct ipmi {
    int file;
    long number;       /* of the last request */
    unsigned failures; /* in a row */
} ipmi;

static bool send_request(ipmi *device)
{
    unsigned char data[ADEPT_DCMI_REQUEST_BYTES];
    struct ipmi_system_interface_addr address = {.addr_type = IPMI_SYSTEM_INTERFACE_ADDR_TYPE,
                                                 .channel = IPMI_BMC_CHANNEL};
    struct ipmi_req request = {
        .addr = (unsigned char *)&address,
        .addr_len = sizeof address,
        .msgid = ++device->number,
        .msg = {.netfn = ADEPT_DCMI_NETFN, .cmd = ADEPT_DCMI_GET_POWER_READING, .data = data, .data_len = sizeof data}};

    adept_dcmi_request(data);
    return ioctl(device->file, IPMICTL_SEND_COMMAND, &request) == 0;
}

/* The reply to the last request; what is older, or no reply, is passed over. */
static const char *take_reply(const ipmi *device, adept_dcmi_power *power)
{
    unsigned char data[ADEPT_DCMI_REPLY_BYTES];
    struct ipmi_addr address;

    for (double end_s = adept_clock_s() + TIMEOUT_S, left_s; (left_s = end_s - adept_clock_s()) > 0;) {
        struct pollfd ready = {.fd = device->file, .events = POLLIN};
        struct ipmi_recv reply = {.addr = (unsigned char *)&address,
                                  .addr_len = sizeof address,
                                  .msg = {.data = data, .data_len = sizeof data}};
        int n = poll(&ready, 1, (int)(1000 * left_s) + 1);
        if (n == 0) break;
        if (n < 0 && errno != EINTR) return strerror(errno);
        if (n < 0) continue;
        if (ioctl(device->file, IPMICTL_RECEIVE_MSG_TRUNC, &reply) != 0 && errno != EMSGSIZE) return strerror(errno);
        if (reply.recv_type == IPMI_RESPONSE_RECV_TYPE && reply.msgid == device->number)
            return adept_dcmi_reply(power, data, reply.msg.data_len);
    }
    return "the service processor does not answer";
}

static const char *ask(ipmi *device, adept_dcmi_power *power)
{
    *power = (adept_dcmi_power){.now_w = NAN};
    return send_request(device) ? take_reply(device, power) : strerror(errno);
}

static adept_status read_power(adept_sensor *sensor, adept_reading *reading, adept_error *err)
{
    ipmi *device = sensor->state;
    adept_dcmi_power power;
    const char *why = ask(device, &power);

    if (!why) {
        reading->power_w = power.now_w;
        if (!adept_dcmi_is_credible(&power)) {
            reading->power_w = NAN;
            reading->why = "it tells less than half of its own least power, or more than twice its own most";
        }
    }
    if (why) return adept_sensor_failed(&device->failures, why, err);
    device->failures = 0;
    return ADEPT_OK;
}

static void close_device(adept_sensor *sensor)
{
    ipmi *device = sensor->state;

    if (device) close(device->file);
    free(device);
}

static void add(adept_sensor_search *search, int file, const char *path)
{
    ipmi *device = calloc(1, sizeof *device);
    adept_sensor *sensor = device ? adept_sensor_add(search, &adept_sensor_kind_ipmi, "ipmi-0") : NULL;

    if (!sensor) {
        search->failed = ENOMEM;
        close(file);
        free(device);
        return;
    }
    device->file = file;
    sensor->state = device;
    sensor->component = ADEPT_COMPONENT_NODE;
    sensor->width = ADEPT_WIDTH_IPMI;
    sensor->is_slow = true;
    snprintf(sensor->device, sizeof sensor->device, "service processor");
    snprintf(sensor->source, sizeof sensor->source, "%s, DCMI Get Power Reading", path);
}

static void find_at(adept_sensor_search *search, const char *path, const char *processor)
{
    ipmi device = {.file = open(path, O_RDWR | O_CLOEXEC)};
    adept_dcmi_power power;

    if (device.file < 0) adept_search_lacks(search, errno);
    if (device.file < 0 && errno == ENOENT) {
        if (access(processor, F_OK) == 0)
            adept_sensor_missing(search, "ipmi", "load the driver, as root: modprobe -a ipmi_si ipmi_devintf",
                                 "this machine has a service processor, but there is no %s", path);
        return;
    }
    if (device.file < 0) {
        adept_sensor_missing(search, "ipmi", "run as root; whoever may write to this device controls the machine",
                             "%s: %s", path, strerror(errno));
        return;
    }
    const char *why = ask(&device, &power);
    if (!why) {
        add(search, device.file, path);
        return;
    }
    if (power.now_w > 0) /* a number all the same */
        adept_sensor_missing(
            search, "ipmi",
            "if its numbers follow the load all the same (OpenBMC's do): --meter redfish+https://ITS-ADDRESS",
            "%s: %s, and tells %.0f W all the same, which may be of any time", path, why, power.now_w);
    else
        adept_sensor_missing(search, "ipmi", "", "%s: %s", path, why);
    close(device.file);
}

static void find(adept_sensor_search *search)
{
    /* SMBIOS structure 38 (DSP0134, 7.39) describes the service processor; the folder is there without permission to
     * read it. */
    char *path = adept_sensor_path(&search->settings, "/dev/ipmi0");
    char *processor = adept_sensor_path(&search->settings, "/sys/firmware/dmi/entries/38-0");

    if (path && processor)
        find_at(search, path, processor);
    else
        search->failed = ENOMEM;
    free(path);
    free(processor);
}

const adept_sensor_kind adept_sensor_kind_ipmi = {
    .name = "ipmi",
    .what = "power of the machine from its service processor: /dev/ipmi0, DCMI",
    .find = find,
    .read = read_power,
    .close = close_device,
};

/** @file dcmi.h  The message by which a service processor is asked for the machine's power, and its reply (Data Center
 *  Manageability Interface 1.5, 6.6.1 "Get Power Reading"). Calls: nothing. */
#ifndef ADEPT_DCMI_H
#define ADEPT_DCMI_H
#include <stdbool.h>
#include <stddef.h>

#define ADEPT_DCMI_NETFN 0x2c
#define ADEPT_DCMI_GET_POWER_READING 0x02
#define ADEPT_DCMI_REQUEST_BYTES 4
#define ADEPT_DCMI_REPLY_BYTES 64 /* room: 19 are its own, and later versions may append some */

/** The request's data, what follows the command. */
void adept_dcmi_request(unsigned char data[ADEPT_DCMI_REQUEST_BYTES]);

/** A reading. Of the statistics, 0 and 65535: not stated. */
typedef struct adept_dcmi_power {
    double now_w, least_w, most_w;
} adept_dcmi_power;

/**
 * Read the data of a reply, which begins with the completion code.
 * @param power  set where the reply has numbers, also if the service processor says that they are none
 * @return NULL, or why there is no reading; constant
 */
const char *adept_dcmi_reply(adept_dcmi_power *power, const unsigned char *data, size_t size);
/** Does its own range hold the power now? The range may be of some time ago, so it is doubled. Nothing is said of 0 and
 * of all ones. */
bool adept_dcmi_is_credible(const adept_dcmi_power *power);

#endif

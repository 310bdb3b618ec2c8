/** @file dcmi.h  The message by which a service processor is asked for the machine's power, and its reply (Data Center
 *  Manageability Interface 1.5, 6.6.1 "Get Power Reading"). Calls: nothing. */
#ifndef ADEPT_DCMI_H
#define ADEPT_DCMI_H
#include <stddef.h>

#define ADEPT_DCMI_NETFN 0x2c
#define ADEPT_DCMI_GET_POWER_READING 0x02
#define ADEPT_DCMI_REQUEST_BYTES 4
#define ADEPT_DCMI_REPLY_BYTES 64 /* room: 19 are its own, and later versions may append some */

/** The request's data, what follows the command. */
void adept_dcmi_request(unsigned char data[ADEPT_DCMI_REQUEST_BYTES]);

/**
 * Read the data of a reply, which begins with the completion code.
 * @param power_w  set only if it is one
 * @return NULL, or why there is no reading; constant
 */
const char *adept_dcmi_reply(double *power_w, const unsigned char *data, size_t size);

#endif

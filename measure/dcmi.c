/** @file dcmi.c  Bytes of the power reading of DCMI. */
#include "dcmi.h"

#define GROUP 0xdc /* in front of all data of DCMI, both ways */

void adept_dcmi_request(unsigned char data[ADEPT_DCMI_REQUEST_BYTES])
{
    data[0] = GROUP;
    data[1] = 0x01; /* statistics of the system's power */
    data[2] = 0x00; /* attributes, of the other mode only */
    data[3] = 0x00; /* reserved */
}

/* IPMI 2.0, table 5-2. */
static const char *completion(unsigned char code)
{
    switch (code) {
    case 0xc0:
        return "the service processor is busy";
    case 0xc1:
        return "the service processor does not know DCMI's power reading";
    case 0xc3:
        return "the service processor ran out of time";
    case 0xd4:
        return "the service processor gives its power to higher privileges only";
    default:
        return "the service processor refuses to tell its power";
    }
}

const char *adept_dcmi_reply(double *power_w, const unsigned char *data, size_t size)
{
    enum { CODE, GROUP_AT, POWER, STATE = 18, BYTES };

    if (size == 0) return "an empty reply";
    if (data[CODE] != 0) return completion(data[CODE]);
    if (size < BYTES || data[GROUP_AT] != GROUP) return "a reply that is no power reading";
    if (!(data[STATE] & 0x40)) return "the service processor does not measure power now";
    *power_w = data[POWER] | data[POWER + 1] << 8;
    return NULL;
}

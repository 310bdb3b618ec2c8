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

bool adept_dcmi_is_credible(const adept_dcmi_power *power)
{
    const double all_ones = 0xffff;
    bool has_least =
        power->least_w > 0 && power->least_w<all_ones, has_most = power->most_w> 0 && power->most_w < all_ones;

    if (power->now_w == 0 || power->now_w == all_ones) return true; /* whoever integrates it knows these */
    return (!has_least || power->now_w >= power->least_w / 2) && (!has_most || power->now_w <= 2 * power->most_w);
}

static double number_at(const unsigned char *data)
{
    return data[0] | data[1] << 8;
}

const char *adept_dcmi_reply(adept_dcmi_power *power, const unsigned char *data, size_t size)
{
    enum { CODE, GROUP_AT, POWER, LEAST = 4, MOST = 6, STATE = 18, BYTES };

    if (size == 0) return "an empty reply";
    if (data[CODE] != 0) {
        /* IPMI 2.0, table 5-2. */
        switch (data[CODE]) {
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
    if (size < BYTES || data[GROUP_AT] != GROUP) return "a reply that is not a power reading";
    *power = (adept_dcmi_power){number_at(data + POWER), number_at(data + LEAST), number_at(data + MOST)};
    if (!(data[STATE] & 0x40)) return "the service processor says that it does not measure power now (deactivated)";
    return NULL;
}

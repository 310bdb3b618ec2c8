/** @file fake_rocm.h  What a library that stands in for ROCm's librocm_smi64 exports for tests; found with dlsym(). */
#ifndef FAKE_ROCM_H
#define FAKE_ROCM_H

/* What it plays stands in the environment variable FAKE_ROCM, read by rsmi_init(): words KEY=VALUE.
 *
 *   partitions=N (1)  so many devices are partitions of one board, which say what it says; functions=1: by function,
 * not by number counter_of=I      only device I has the counter; the others of its board, power boards=N (1)      at
 * the PCI addresses 0000:f1:00.0, 0000:f2:00.0; board i draws i + 1 times the power power=W (100), rise=W_PER_S (0) the
 * power at time t, since rsmi_init(), is power + rise * t begin=N (0)       what the counter, which is the integral of
 * that, began with; all ones where it is below 0 counter=0         no energy counter: RSMI_STATUS_NOT_SUPPORTED meter=0
 * no power either old=1             rsmi_dev_power_get() is not supported, as for an older GPU second=I          board
 * I is a second die, whose counter and power stay 0 silent=N          every Nth reading of energy or power fails
 *   limit=W (300), busy=PERCENT (87)
 *   init=STATUS (0)   what rsmi_init() answers
 */

typedef struct fake_rocm_functions {
    int (*users)(void);                /* rsmi_init() without rsmi_shut_down() */
    int (*starts)(void);               /* rsmi_init() at all */
    double (*energy_j)(double time_s); /* of board 0 */
    double (*time_s)(void);
} fake_rocm_functions;

extern const fake_rocm_functions fake_rocm;

#endif

/** @file run_fields.c  The table of a run's words, and which of them say a layout; see adept_fields.h. */
#include "adept_model.h"

static const adept_field fields[ADEPT_N_RUN_FIELDS] = {
#define X(...) ADEPT_FIELD_ROW(adept_run, __VA_ARGS__)
    ADEPT_RUN_FIELDS(X)
#undef X
};

adept_mesh_words adept_run_mesh(const adept_run *run)
{
    return (adept_mesh_words){.gpus = run->gpus,
                              .dp = run->dp,
                              .tp = run->tp,
                              .pp = run->pp,
                              .virtual_stages = run->virtual_stages,
                              .cp = run->cp,
                              .ep = run->ep,
                              .global_batch = run->global_batch,
                              .fsdp = run->fsdp,
                              .zero = run->zero,
                              .schedule = run->schedule,
                              .activation_checkpoint = run->activation_checkpoint,
                              .loss = run->loss,
                              .offload = run->offload,
                              .trainer = run->trainer,
                              .sp = run->sp,
                              .stage_blocks = run->stage_blocks.n,
                              .stage_clocks = run->stage_clocks_mhz.n,
                              .stage_limits = run->stage_limits_w.n};
}

const adept_field *adept_run_field(size_t index)
{
    return index < ADEPT_N_RUN_FIELDS ? &fields[index] : NULL;
}

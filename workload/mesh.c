/** @file mesh.c  Words of a layout to numbers that add up; see adept_mesh.h. */
#include "adept_mesh.h"

bool adept_mesh_is_said(const adept_mesh_words *w)
{
    return w->dp > 0 || w->tp > 0 || w->pp > 0 || w->cp > 0 || w->ep > 0 || w->virtual_stages > 0 ||
           w->global_batch > 0 || w->fsdp != 0 || w->zero != 0 || w->schedule != 0 || w->activation_checkpoint != 0 ||
           w->loss != 0 || w->offload != 0 || w->trainer != 0 || w->sp || w->stage_blocks > 0 || w->stage_clocks > 0 ||
           w->stage_limits > 0;
}

static int64_t or_one(int64_t said)
{
    return said > 0 ? said : 1;
}

static adept_status refuse(adept_error *err, const char *what)
{
    return adept_error_set(err, ADEPT_E_USAGE, "%s", what);
}

/* GPUs = dp x tp x pp x cp, of which either side may be left out. */
static adept_status count_gpus(adept_mesh *l, const adept_mesh_words *w, adept_error *err)
{
    l->tp = or_one(w->tp), l->pp = or_one(w->pp), l->cp = or_one(w->cp), l->ep = or_one(w->ep);
    if ((double)l->tp * (double)l->pp * (double)l->cp * (double)or_one(w->dp) > 0x1p31 || (double)w->gpus > 0x1p31)
        return refuse(err, "dp x tp x pp x cp is more than 2^31 GPUs");
    const int64_t replica = l->tp * l->pp * l->cp, gpus = w->gpus > 0 ? w->gpus : replica * or_one(w->dp);
    if (gpus % replica != 0)
        return adept_error_set(err, ADEPT_E_USAGE, "%lld GPUs are not a multiple of tp %lld x pp %lld x cp %lld",
                               (long long)gpus, (long long)l->tp, (long long)l->pp, (long long)l->cp);
    l->gpus = gpus;
    l->dp = gpus / replica;
    if (w->dp > 0 && w->dp != l->dp)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "dp %lld x tp %lld x pp %lld x cp %lld is not %lld GPUs: that would be dp %lld",
                               (long long)w->dp, (long long)l->tp, (long long)l->pp, (long long)l->cp, (long long)gpus,
                               (long long)l->dp);
    l->expert_parts = l->ep;
    if (l->dp * l->cp % l->ep != 0 && w->sp && l->ep % l->tp == 0) l->expert_parts = l->ep / l->tp;
    if (l->dp * l->cp % l->expert_parts != 0)
        return adept_error_set(err, ADEPT_E_USAGE, "ep %lld lies inside dp x cp, and does not divide %lld",
                               (long long)l->ep, (long long)(l->dp * l->cp));
    if (w->sp && l->tp == 1) return refuse(err, "sp needs tp: it shares what tensor parallel GPUs do between matrices");
    return ADEPT_OK;
}

/* global_batch = micro_batch x micro_batches x dp. */
static adept_status count_batches(adept_mesh *l, const adept_mesh_words *w, const adept_profile *profile,
                                  adept_error *err)
{
    const int64_t accum = profile ? or_one(profile->grad_accum) : 1;
    l->micro_batch = profile ? or_one(profile->batch_size) : 1;
    const int64_t pass = l->micro_batch * l->dp;
    if (w->global_batch > 0 && w->global_batch % pass != 0)
        return adept_error_set(err, ADEPT_E_USAGE, "global_batch %lld is not a multiple of batch %lld x dp %lld",
                               (long long)w->global_batch, (long long)l->micro_batch, (long long)l->dp);
    l->micro_batches = w->global_batch > 0 ? w->global_batch / pass : accum;
    l->global_batch = pass * l->micro_batches;
    if (accum > 1 && accum != l->micro_batches)
        return adept_error_set(err, ADEPT_E_USAGE, "grad_accum %lld is not global_batch %lld / (batch %lld x dp %lld)",
                               (long long)accum, (long long)w->global_batch, (long long)l->micro_batch,
                               (long long)l->dp);
    return ADEPT_OK;
}

static adept_status choose_sharding(adept_mesh *l, const adept_mesh_words *w, adept_error *err)
{
    static const adept_sharding by_fsdp[] = {ADEPT_SHARDED_NOTHING, ADEPT_SHARDED_PARAMETERS, ADEPT_SHARDED_GRADIENTS,
                                             ADEPT_SHARDED_PARAMETERS};
    const adept_fsdp fsdp = (adept_fsdp)adept_sized_name(w->fsdp);
    const int64_t ranks = l->dp * l->cp, group = adept_sized_number(w->fsdp);
    const adept_sharding by_zero = w->zero > 0 ? (adept_sharding)(w->zero - 1) : ADEPT_SHARDED_NOTHING;
    if (fsdp != ADEPT_FSDP_NONE && w->zero > 0 && by_fsdp[fsdp] != by_zero && fsdp != ADEPT_FSDP_HYBRID)
        return adept_error_set(err, ADEPT_E_USAGE, "fsdp %s and zero %s differ: say one of them", adept_fsdp_name(fsdp),
                               adept_zero_name((size_t)w->zero));
    l->sharding = w->zero > 0 ? by_zero : by_fsdp[fsdp];
    l->shard = l->sharding == ADEPT_SHARDED_NOTHING ? 1 : fsdp == ADEPT_FSDP_HYBRID ? group : ranks;
    if (l->sharding != ADEPT_SHARDED_NOTHING && ranks == 1)
        return refuse(err, "fsdp and zero shard over replicas (dp, cp), and there is one");
    if (fsdp == ADEPT_FSDP_HYBRID && (group < 2 || ranks % group != 0))
        return adept_error_set(err, ADEPT_E_USAGE, "fsdp hybrid:%lld: %lld replicas are not groups of that size",
                               (long long)group, (long long)ranks);
    return ADEPT_OK;
}

static adept_status check_stages(const char *what, int64_t stages, int64_t pp, adept_error *err)
{
    if (stages == 0 || stages == pp) return ADEPT_OK;
    return adept_error_set(err, ADEPT_E_USAGE, "%s says %lld stages, and the pipeline has %lld (pp)", what,
                           (long long)stages, (long long)pp);
}

/* Megatron-LM's --microbatch-group-size-per-virtual-pipeline-stage, from core 0.10 on: as many micro-batches in a row
 * as there are stages, or else the fewest of which no fewer than these are left over. PyTorch's schedules are among
 * them: groups of one size. */
static int64_t smallest_group(int64_t micro_batches, int64_t pp)
{
    int64_t n = pp;
    while (micro_batches % n != 0 && micro_batches % n < pp)
        n++;
    return n;
}

static adept_status choose_schedule(adept_mesh *l, const adept_mesh_words *w, adept_error *err)
{
    l->schedule = (adept_pipeline)w->schedule;
    l->virtual_stages = or_one(w->virtual_stages);
    const bool zero_bubble = l->schedule >= ADEPT_PIPELINE_ZB1P;
    if (l->pp == 1 && (l->virtual_stages > 1 || l->schedule != ADEPT_PIPELINE_1F1B))
        return refuse(err, "virtual_stages and schedule need a pipeline: pp");
    if (l->schedule == ADEPT_PIPELINE_INTERLEAVED && l->virtual_stages == 1)
        return refuse(err, "schedule interleaved needs virtual_stages");
    if (zero_bubble && l->virtual_stages > 1)
        return adept_error_set(err, ADEPT_E_USAGE, "schedule %s has its own parts: no virtual_stages",
                               adept_pipeline_name(l->schedule));
    if (l->schedule == ADEPT_PIPELINE_1F1B && l->virtual_stages > 1) l->schedule = ADEPT_PIPELINE_INTERLEAVED;
    if (l->schedule != ADEPT_PIPELINE_INTERLEAVED) return ADEPT_OK;
    if (l->micro_batches < l->pp)
        return adept_error_set(err, ADEPT_E_USAGE,
                               "an interleaved pipeline needs as many passes (%lld) as stages (pp %lld): a larger "
                               "global_batch or a smaller batch, or no virtual_stages",
                               (long long)l->micro_batches, (long long)l->pp);
    l->in_a_row = smallest_group(l->micro_batches, l->pp);
    return ADEPT_OK;
}

adept_status adept_mesh_of(adept_mesh *out, const adept_mesh_words *words, const adept_profile *profile,
                             adept_error *err)
{
    adept_mesh l = {0};
    adept_status status = count_gpus(&l, words, err);
    if (status == ADEPT_OK) status = count_batches(&l, words, profile, err);
    if (status == ADEPT_OK) status = choose_sharding(&l, words, err);
    if (status == ADEPT_OK) status = choose_schedule(&l, words, err);
    if (status == ADEPT_OK) status = check_stages("stage_blocks", words->stage_blocks, l.pp, err);
    if (status == ADEPT_OK) status = check_stages("stage_clocks_mhz", words->stage_clocks, l.pp, err);
    if (status == ADEPT_OK) status = check_stages("stage_limits_w", words->stage_limits, l.pp, err);
    if (status != ADEPT_OK) return status;
    l.sp = words->sp;
    l.recompute = (adept_recomputation)adept_sized_name(words->activation_checkpoint);
    l.recompute_blocks = adept_sized_number(words->activation_checkpoint);
    l.chunked_loss = words->loss == ADEPT_LOGITS_CHUNKED;
    l.trainer = (adept_trainer)words->trainer;
    l.offload = (adept_offload)words->offload;
    if (l.offload == ADEPT_OFFLOAD_PARAMETERS && l.sharding != ADEPT_SHARDED_PARAMETERS)
        return refuse(err, "offload parameters: of the shards of fsdp full");
    if (l.offload != ADEPT_OFFLOAD_NONE && profile && profile->mode != ADEPT_MODE_TRAIN)
        return refuse(err, "offload: of states of an optimizer, and the mode is not train");
    l.plain = l.gpus == l.dp && l.ep == 1 && l.sharding == ADEPT_SHARDED_NOTHING &&
              l.recompute == ADEPT_RECOMPUTE_NONE && !l.chunked_loss && l.trainer == ADEPT_TRAINER_TORCH &&
              l.offload == ADEPT_OFFLOAD_NONE;
    const bool generates = profile && profile->mode == ADEPT_MODE_GENERATE,
               infers = generates || (profile && profile->mode == ADEPT_MODE_INFER);
    if (infers && (l.sharding != ADEPT_SHARDED_NOTHING || l.recompute != ADEPT_RECOMPUTE_NONE || l.chunked_loss ||
                   (!generates && (l.pp > 1 || words->global_batch > 0))))
        return adept_error_set(err, ADEPT_E_USAGE,
                               "fsdp, zero, activation_checkpoint and loss are of training%s, and the mode is %s",
                               generates ? "" : ", pp and global_batch of it or of mode generate",
                               adept_mode_name((size_t)profile->mode));
    const bool by_stage = words->stage_blocks > 0 || words->stage_clocks > 0 || words->stage_limits > 0;
    if (generates && (l.sp || l.cp > 1 || l.schedule != ADEPT_PIPELINE_1F1B || l.virtual_stages > 1 || by_stage ||
                      l.trainer != ADEPT_TRAINER_TORCH))
        return refuse(err, "mode generate is shared out by dp, tp, pp and ep: sp, cp, schedule, virtual_stages, "
                           "trainer and what is said by stage do not act");
    *out = l;
    return ADEPT_OK;
}

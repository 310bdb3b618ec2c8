/** @file layout_json.c  A predicted layout as JSON; see adept_layout.h. */
#include "adept_json_writer.h"
#include "adept_layout.h"
#include <math.h>

static void put_stage(adept_json_writer *w, const adept_stage_prediction *s)
{
    adept_json_begin_object(w, NULL);
    adept_json_put_members(
        w,
        "blocks %g params %g micro_batch_s %g forward_s %g backward_s %g recompute_s %g tensor_s %g context_s %g "
        "expert_s %g fsdp_s %g optimizer_s %g in_flight %g busy_s %g wait_s %g power_w %g clock_ratio %g peak_bytes %g",
        s->blocks, s->params, s->micro_s, s->forward_s, s->backward_s, s->again_s, s->tensor_s, s->context_s,
        s->expert_s, s->data_s, s->optimizer_s, s->in_flight, s->busy_s, s->wait_s, s->power_w, s->clock_ratio,
        s->memory.peak_bytes);
    if (s->prompt_s > 0.0) adept_json_put_number(w, "prompt_s", s->prompt_s);
    adept_json_end_object(w);
}

void adept_layout_put_json(struct adept_json_writer *w, const adept_layout_prediction *l)
{
    static const char *const sharded[] = {"none", "optimizer", "gradients", "parameters"};
    const adept_mesh *m = &l->mesh;
    const adept_stage_prediction *worst = &l->stages[l->worst];
    char recompute[ADEPT_FIELD_TEXT_BYTES];
    const int sized = adept_sized((int)m->recompute, (int)m->recompute_blocks);
    const adept_field f = {.kind = ADEPT_FIELD_SIZED, .names = adept_checkpoint_name};
    adept_json_begin_object(w, "layout");
    adept_json_put_members(
        w, "gpus %g dp %g tp %g pp %g cp %g ep %g virtual_stages %g micro_batch %g micro_batches %g global_batch %g",
        (double)m->gpus, (double)m->dp, (double)m->tp, (double)m->pp, (double)m->cp, (double)m->ep,
        (double)m->virtual_stages, (double)m->micro_batch, (double)m->micro_batches, (double)m->global_batch);
    adept_json_put_members(
        w, "sharded %s shard_group %g sp %d schedule %s activation_checkpoint %s loss %s offload %s trainer %s",
        sharded[m->sharding], (double)m->shard, (int)m->sp, adept_pipeline_name(m->schedule),
        adept_field_text(recompute, &f, &sized), adept_loss_name(m->chunked_loss), adept_offload_name(m->offload),
        adept_trainer_name(m->trainer));
    adept_json_put_known(w, "node", l->node);
    adept_json_put_members(w, "node_gpus %g nodes %g adapter_bytes_per_s %g", l->node_gpus > 0.0 ? l->node_gpus : NAN,
                           l->nodes > 0.0 ? l->nodes : NAN,
                           l->adapter_bytes_per_s > 0.0 ? l->adapter_bytes_per_s : NAN);
    adept_json_put_object(
        w, "time",
        "compute_s %g recompute_s %g tensor_s %g context_s %g expert_s %g data_s %g pipeline_s %g bubble_s %g "
        "optimizer_s %g offload_s %g rest_s %g data_hidden_s %g",
        l->compute_s, l->again_s, l->tensor_s, l->context_s, l->expert_s, l->data_s, l->send_s, l->bubble_s,
        l->optimizer_s, l->offload_s, l->rest_s, l->data_hidden_s);
    adept_json_put_object(
        w, "memory",
        "worst_stage %g weights_bytes %g gradients_bytes %g optimizer_bytes %g activations_bytes %g unsharded_bytes %g "
        "buffers_bytes %g other_bytes %g reused_bytes %g peak_bytes %g fragmentation_bytes %g capacity_bytes %g "
        "host_bytes %g fits %d near %d",
        (double)l->worst, worst->memory.weights_bytes, worst->memory.gradients_bytes, worst->memory.optimizer_bytes,
        worst->memory.activations_bytes, worst->unsharded_bytes, worst->buffers_bytes,
        worst->memory.other_bytes - worst->unsharded_bytes - worst->buffers_bytes, worst->memory.reused_bytes,
        worst->memory.peak_bytes,
        l->fragmentation_bytes, worst->memory.capacity_bytes, worst->host_bytes, (int)worst->memory.fits,
        (int)adept_layout_is_near(l));
    if (adept_json_begin_known(w, "slack", l->slack.clocks_mhz.n > 0)) {
        char clocks[ADEPT_FIELD_TEXT_BYTES];
        const adept_field list = {.kind = ADEPT_FIELD_STAGES};
        adept_json_put_members(w, "stage_clocks_mhz %s step_time_s %g energy_step_j %g",
                               adept_field_text(clocks, &list, &l->slack.clocks_mhz), l->slack.step_time_s,
                               l->slack.energy_step_j);
        adept_json_end_object(w);
    }
    adept_json_put_number(w, "wait_power_w", l->wait_w > 0.0 ? l->wait_w : NAN);
    adept_json_put_number(w, "slowest_stage", (double)l->slowest);
    adept_json_begin_array(w, "stages");
    for (size_t i = 0; i < l->n_stages; i++)
        put_stage(w, &l->stages[i]);
    adept_json_end_array(w);
    adept_json_end_object(w);
}

/* Sizes and offsets of the public structures, for the test of the Python binding: lines "STRUCT SIZE" and
 * "STRUCT.MEMBER OFFSET". */
#include <adept/adept.h>
#include <stdio.h>

#define SIZE(type) printf(#type " %zu\n", sizeof(type))
#define AT(type, member) printf(#type "." #member " %zu\n", offsetof(type, member))

int main(void)
{
    SIZE(adept_error), AT(adept_error, line), AT(adept_error, message);
    SIZE(adept_model_options), AT(adept_model_options, batch_size), AT(adept_model_options, seq_length),
        AT(adept_model_options, grad_accum);
    AT(adept_model_options, inputs), AT(adept_model_options, n_inputs), AT(adept_model_options, allow_unsupported),
        AT(adept_model_options, memory_format), AT(adept_model_options, optimizer_impl);
    AT(adept_model_options, optimizer_extras), AT(adept_model_options, assume), AT(adept_model_options, execution),
        AT(adept_model_options, memory_bytes), AT(adept_model_options, framework), AT(adept_model_options, words);
    SIZE(adept_workload_info), AT(adept_workload_info, batch_size), AT(adept_workload_info, trainable_params);
    AT(adept_workload_info, flops_forward), AT(adept_workload_info, macs_forward), AT(adept_workload_info, seq_length),
        AT(adept_workload_info, reserved);
    SIZE(adept_gpu_info), AT(adept_gpu_info, transferred), AT(adept_gpu_info, mem_bytes), AT(adept_gpu_info, tdp_w),
        AT(adept_gpu_info, idle_w), AT(adept_gpu_info, taken);
    SIZE(adept_request), AT(adept_request, gpus), AT(adept_request, nodes), AT(adept_request, power_limit_w);
    AT(adept_request, clock_hz), AT(adept_request, internode_bytes_per_s), AT(adept_request, internode_latency_s);
    AT(adept_request, bucket_bytes), AT(adept_request, allreduce), AT(adept_request, overlap),
        AT(adept_request, host_launch_s), AT(adept_request, link), AT(adept_request, host),
        AT(adept_request, host_step_s), AT(adept_request, host_sample_s), AT(adept_request, words),
        AT(adept_request, reserved);
    SIZE(adept_estimate), AT(adept_estimate, notes), AT(adept_estimate, bound), AT(adept_estimate, step_time_s);
    AT(adept_estimate, power_avg_w), AT(adept_estimate, energy_step_j), AT(adept_estimate, edp_js);
    AT(adept_estimate, samples), AT(adept_estimate, samples_per_s), AT(adept_estimate, energy_per_sample_j),
        AT(adept_estimate, pass_s), AT(adept_estimate, optimizer_s);
    AT(adept_estimate, comm_s), AT(adept_estimate, kernel_launch_s), AT(adept_estimate, fixed_s),
        AT(adept_estimate, comm_hidden_s);
    AT(adept_estimate, clock_ratio), AT(adept_estimate, clock_hz), AT(adept_estimate, peak_bytes),
        AT(adept_estimate, capacity_bytes);
    AT(adept_estimate, interval_level), AT(adept_estimate, interval_time_s);
    AT(adept_estimate, interval_power_w), AT(adept_estimate, boards_power_w), AT(adept_estimate, node_power_w),
        AT(adept_estimate, ttft_s), AT(adept_estimate, tpot_s);
    SIZE(adept_limit_estimate), AT(adept_limit_estimate, clock_hz), AT(adept_limit_estimate, edp_js);
    AT(adept_limit_estimate, slowdown), AT(adept_limit_estimate, edp_saving);
    SIZE(adept_best_limits), AT(adept_best_limits, unset), AT(adept_best_limits, edp_optimal);
    SIZE(adept_goal), AT(adept_goal, ignore_memory), AT(adept_goal, samples), AT(adept_goal, steps),
        AT(adept_goal, power_budget_w);
    AT(adept_goal, deadline_s), AT(adept_goal, energy_budget_j), AT(adept_goal, reserved);
    SIZE(adept_query_row), AT(adept_query_row, share);
    SIZE(adept_queries), AT(adept_queries, n_rows), AT(adept_queries, rate_per_s), AT(adept_queries, seed),
        AT(adept_queries, arrivals_s), AT(adept_queries, reserved);
    SIZE(adept_verdict), AT(adept_verdict, steps), AT(adept_verdict, time_s), AT(adept_verdict, energy_j),
        AT(adept_verdict, edp_js);
    AT(adept_verdict, power_w), AT(adept_verdict, violated);
    SIZE(adept_choice), AT(adept_choice, n_feasible), AT(adept_choice, binding), AT(adept_choice, needed),
        AT(adept_choice, nearest);
    AT(adept_choice, verdict);
    SIZE(adept_measure_options), AT(adept_measure_options, devices), AT(adept_measure_options, n_devices),
        AT(adept_measure_options, sysroot), AT(adept_measure_options, reserved);
    SIZE(adept_measured), AT(adept_measured, time_s), AT(adept_measured, low_j), AT(adept_measured, avg_power_w),
        AT(adept_measured, time_mean_s), AT(adept_measured, energy_sd_j), AT(adept_measured, reserved);
    return 0;
}

/** @file evaluate_influence.c  Which parameters can change a row at all; see evaluate.h. Calls: nothing. */
#include "evaluate.h"
#include <math.h>

#define N_MODEL_PARAMETERS (sizeof(adept_model_parameters) / sizeof(double))
#define INDEX(name) (offsetof(adept_model_parameters, name) / sizeof(double))

/* Work of a column in a pass, covered by targeted scalars or not. */
static bool has(const adept_rows *b, adept_work_column column, size_t pass)
{
    bool any = b->work[column][pass] > 0.0;
    for (size_t i = 0; i < b->n_pieces; i++)
        any = any || (b->pieces[i].column == (uint32_t)column && b->pieces[i].amount[pass] > 0.0);
    return any;
}

static void touch_compute(bool *touched, const adept_rows *b, size_t pass)
{
    bool gemm_lowp = has(b, ADEPT_WORK_GEMM_LOWP, pass), gemm = gemm_lowp || has(b, ADEPT_WORK_GEMM, pass);
    bool conv_lowp = has(b, ADEPT_WORK_CONV_LOWP, pass), conv = conv_lowp || has(b, ADEPT_WORK_CONV, pass);
    bool alu_lowp = has(b, ADEPT_WORK_ALU_LOWP, pass), alu = alu_lowp || has(b, ADEPT_WORK_ALU, pass);
    bool optimizer = b->pass[ADEPT_PASS_OPT_ALU_S][pass] > 0.0;
    touched[INDEX(beta_gemm)] = touched[INDEX(c_gemm)] = gemm;
    touched[INDEX(r_m)] = touched[INDEX(r_n)] = touched[INDEX(r_k)] = gemm;
    touched[INDEX(beta_conv)] = touched[INDEX(c_conv)] = touched[INDEX(r_c)] = touched[INDEX(r_s)] = conv;
    touched[INDEX(beta_alu)] = touched[INDEX(c_alu)] = alu || optimizer;
    touched[INDEX(c_gemm_lowp)] = gemm_lowp;
    touched[INDEX(c_conv_lowp)] = conv_lowp;
    touched[INDEX(c_alu_lowp)] = alu_lowp;
}

/* f_L2 = min(1, max(lambda, k * wset)) moves only where k * wset can be below 1 within the bounds. */
static void touch_memory(bool *touched, const adept_rows *b, size_t pass)
{
    const adept_parameter_info *k = adept_model_parameter_info(INDEX(k_wset)),
                               *lambda = adept_model_parameter_info(INDEX(lambda_miss));
    double wset = b->pass[ADEPT_PASS_WSET][pass];
    bool moves = has(b, ADEPT_WORK_MEM, pass);
    touched[INDEX(c_mem)] = moves;
    touched[INDEX(lambda_miss)] = moves && k->low * wset < 1.0;
    touched[INDEX(k_wset)] = moves && k->low * wset < 1.0 && k->high * wset > lambda->low;
}

static void touch_rest(bool *touched, const adept_rows *b, size_t row, size_t pass)
{
    const adept_parameter_info *bytes = adept_model_parameter_info(INDEX(grad_bytes_lowp));
    bool optimizer = b->pass[ADEPT_PASS_OPT_S][pass] > 0.0, sends = false;
    for (int i = ADEPT_ROW_HOPS; i <= ADEPT_ROW_BETWEEN_S_PER_BYTE; i++)
        sends = sends || b->row[i][row] > 0.0;
    bool knows_power = !isnan(b->row[ADEPT_ROW_TDP_W][row]);
    touched[INDEX(c_opt)] = optimizer;
    touched[INDEX(l_hop_s)] = b->row[ADEPT_ROW_HOPS][row] > 0.0;
    touched[INDEX(bw_eff_bytes_per_s)] = b->row[ADEPT_ROW_VOLUME][row] > 0.0;
    touched[INDEX(overlap)] = sends;
    touched[INDEX(grad_bytes_lowp)] = (optimizer || sends) && b->pass[ADEPT_PASS_AUTOCAST][pass] != 0.0 &&
                                      b->pass[ADEPT_PASS_GRAD_BYTES][pass] > bytes->low;
    touched[INDEX(t_kern_s)] = b->pass[ADEPT_PASS_LAUNCHES][pass] > 0.0;
    touched[INDEX(t_fixed_s)] = true;
    touched[INDEX(p_static_w)] = touched[INDEX(c_power)] = knows_power;
    touched[INDEX(v_slope)] = touched[INDEX(mem_power_share)] = knows_power;
    touched[INDEX(u_mem)] = knows_power && optimizer;
    touched[INDEX(u_comm)] = knows_power && sends;
}

static void touch_scalars(bool *touched, const adept_rows *b, size_t pass)
{
    for (size_t k = 0; k < b->n_pieces; k++)
        for (size_t i = 0; i < ADEPT_MAX_SCALARS; i++)
            if ((b->pieces[k].scalars >> i & 1) && b->pieces[k].amount[pass] > 0.0)
                touched[N_MODEL_PARAMETERS + i] = true;
}

void adept_rows_touched(bool *touched, const adept_rows *b, size_t row)
{
    size_t pass = (size_t)b->row_pass[row];
    touch_compute(touched, b, pass);
    touch_memory(touched, b, pass);
    touch_rest(touched, b, row, pass);
    touch_scalars(touched, b, pass);
}

/* Communication waits for no core clock, so that u_comm sets its power only. */
bool adept_never_changes_time(size_t index)
{
    return index == INDEX(u_comm);
}

bool adept_is_power_parameter(size_t index)
{
    return index == INDEX(p_static_w) || index == INDEX(c_power) || index == INDEX(v_slope) ||
           index == INDEX(mem_power_share) || index == INDEX(u_mem) || index == INDEX(u_comm);
}

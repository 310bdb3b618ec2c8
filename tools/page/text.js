//<![CDATA[
// Numbers and names as people read them. A name carries its unit: step_time_s, power_avg_w.

const DIGITS = 3;

function digits(value) {
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  return value.toFixed(Math.min(Math.max(DIGITS - 1 - size, 0), 12));
}

const PREFIXES = [[1e18, 'E'], [1e15, 'P'], [1e12, 'T'], [1e9, 'G'], [1e6, 'M'], [1e3, 'k'], [1, ''], [1e-3, 'm'], [1e-6, 'u'], [1e-9, 'n']];

export function si(value, unit) {
  if (!Number.isFinite(value)) return 'unknown';
  if (value === 0) return ('0 ' + unit).trim();
  const [scale, prefix] = PREFIXES.find(([s]) => Math.abs(value) >= s * 0.9995) || PREFIXES[PREFIXES.length - 1];
  return (digits(value / scale) + ' ' + prefix + unit).trim();
}

export function bytes(value) {
  if (!Number.isFinite(value)) return 'unknown';
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let i = 0;
  while (Math.abs(value) >= 1023.5 && i < units.length - 1) {
    value /= 1024;
    i++;
  }
  return (i === 0 ? String(Math.round(value)) : digits(value)) + ' ' + units[i];
}

export function seconds(value) {
  if (!Number.isFinite(value)) return 'unknown';
  const size = Math.abs(value);
  if (size < 119.5) return si(value, 's');
  if (size < 7170) return Math.floor(value / 60) + ' min ' + Math.round(value % 60) + ' s';
  return size < 172800 ? digits(value / 3600) + ' h' : digits(value / 86400) + ' days';
}

export const percent = share => !Number.isFinite(share) ? 'unknown' : share > 0 && share < 1e-3 ? '<0.1 %' : digits(share * 100) + ' %';
export const change = share => Number.isFinite(share) ? (share > 0 ? '+' : '') + (Math.abs(share) < 5e-4 ? '0' : digits(share * 100)) + ' %' : 'unknown';
export const plain = value => !Number.isFinite(value) ? 'unknown' : Number.isInteger(value) && Math.abs(value) < 1e6 ? String(value) : Math.abs(value) < 1e3 && Math.abs(value) > 1e-4 ? digits(value) : si(value, '');
export const watts = value => si(value, 'W');
export const joules = value => si(value, 'J');
export const wattHours = value => si(value / 3600, 'Wh');

// The longest ending counts.
const UNITS = [['flops_per_s', v => si(v, 'FLOP/s')], ['bytes_per_s', v => si(v, 'B/s')], ['per_s', plain], ['bytes', bytes],
  ['kwh', v => si(v * 1000, 'Wh')], ['hz', v => si(v, 'Hz')], ['percent', v => percent(v / 100)], ['share', percent], ['js', plain],
  ['s', seconds], ['j', joules], ['w', watts], ['g', v => si(v, 'g')]];

export function printer(key) {
  const found = UNITS.find(([end]) => key === end || key.endsWith('_' + end));
  return found ? found[1] : plain;
}

// Words that differ from what their name says.
const NAMES = {energy_step_j: 'Energy per step', power_avg_w: 'Power', edp_js: 'Energy x time', samples_per_s: 'Samples per second',
  energy_per_sample_j: 'Energy per sample', mfu: 'Peak FLOP/s used (MFU)', tokens_per_s: 'Tokens per second', batch_size: 'Batch',
  gpus: 'GPUs', tp: 'Tensor parallel', pp: 'Pipeline stages', cp: 'Context parallel', ep: 'Expert parallel', dp: 'Data parallel',
  fsdp: 'FSDP', sp: 'Sequence parallel', gpu: 'GPU', seq_length: 'Sequence length', clock_hz: 'Core clock', power_limit_w: 'Power limit',
  comm_s: 'Communication', kernel_launch_s: 'Waiting for the host', pass_s: 'Forward and backward', sha256: 'SHA-256', co2e_g: 'Emissions (CO2e)',
  gpu_hours: 'GPU hours', ttft_s: 'First token', tpot_s: 'Each further token', alu: 'Other arithmetic', gemm: 'Matrix products',
  conv: 'Convolutions', peak_bytes: 'Peak memory', mape_time: 'Error of time', mape_power: 'Error of power', mape_energy: 'Error of energy', n: 'Rows',
  censored_completion_s: 'Completion, with unfinished jobs', mean_completion_s: 'Completion', jain: 'Fairness (Jain)'};

export function nameOf(key) {
  if (NAMES[key]) return NAMES[key];
  const found = UNITS.find(([end, print]) => print !== plain && end !== 'share' && key.endsWith('_' + end));
  const text = (found ? key.slice(0, -found[0].length - 1) : key).replace(/_/g, ' ');
  return text.charAt(0).toUpperCase() + text.slice(1);
}

export function valueText(key, value) {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'number') return printer(key)(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) {
    const range = value.length === 2 && value.every(v => typeof v === 'number');
    return value.map(v => valueText(key, v)).join(range ? ' to ' : ', ');
  }
  return String(value);
}

export const range = (print, ends) => print(ends[0]) + ' to ' + print(ends[1]);
export const fileName = path => String(path || '').split('/').pop();

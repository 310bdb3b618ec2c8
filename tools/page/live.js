// The page of `adept serve`: controls, and figures that follow by the public API.
import {h, section, choice, table} from './dom.js';
import {change, nameOf, printer, seconds, si, valueText, watts} from './text.js';
import {heatMap} from './chart.js';
import {headline, leadOf, pictures, titleOf, warningsOf} from './step.js';

const NUMBERS = ['batch_size', 'seq_length', 'gpus', 'power_limit_w', 'clock_hz', 'tp', 'pp', 'cp', 'micro_batch', 'global_batch', 'prompt', 'tokens', 'nodes'];
const WORDS = {mode: ['train', 'fwbw', 'infer', 'generate'], precision: ['fp32', 'tf32', 'bf16', 'fp16', 'pure-bf16', 'pure-fp16', 'fp8'], execution: ['eager', 'graphs', 'compile'],
  attention: ['auto', 'eager', 'fused'], optimizer: ['none', 'sgd', 'momentum', 'adam', 'adamw', 'adamw8bit'], fsdp: ['none', 'full', 'grad'], activation_checkpoint: ['none', 'full', 'selective']};
const KEYS = ['workload', 'gpu', ...Object.keys(WORDS), ...NUMBERS];
const OPTION = {batch_size: 'batch', power_limit_w: 'power-limit', clock_hz: 'clock', seq_length: 'seq-length'};

let token = '';

// @return the answer; throws what the server says is wrong
async function ask(method, path, body) {
  const headers = body ? {'Content-Type': body instanceof Blob ? 'application/octet-stream' : 'application/json'} : {};
  if (token) headers.Authorization = 'Bearer ' + token;
  const reply = await fetch(path, {method, headers, body: body && (body instanceof Blob ? body : JSON.stringify(body)), cache: 'no-store'});
  const answer = await reply.json();
  if (answer.error) throw Object.assign(new Error(answer.error.message), {status: answer.error.status});
  return answer;
}

/* ---- the state, which is the link ---- */

const side = prefix => Object.fromEntries([...new URLSearchParams(location.hash.slice(1))].filter(([k]) => k.startsWith(prefix)).map(([k, v]) => [k.slice(prefix.length), v]).filter(([k]) => KEYS.includes(k)));

function link(sides) {
  const p = new URLSearchParams();
  sides.forEach((one, i) => Object.entries(one).forEach(([k, v]) => p.set((i ? 'b.' : '') + k, v)));
  history.replaceState(null, '', '#' + p);
}

// What is said beside model and GPU, as the API takes it.
function bodyOf(s) {
  const body = {};
  for (const key of KEYS) if (s[key] !== undefined && s[key] !== '') body[key] = NUMBERS.includes(key) ? Number(s[key]) : s[key];
  return body;
}

/* ---- what to copy ---- */

// The server names what it was sent by a hash, which no other program knows.
const files = new Map();
const modelOf = name => files.get(name) || (String(name).startsWith('upload-') ? 'MODEL' : name);

function commandOf(s) {
  const quote = v => /^[\w.,:+-]+$/.test(v) ? v : `'${String(v).replace(/'/g, "'\\''")}'`;
  return ['adept predict', quote(modelOf(s.workload)), '--gpu', quote(s.gpu), ...Object.entries(bodyOf(s)).filter(([k]) => k !== 'workload' && k !== 'gpu').map(([k, v]) => `--${OPTION[k] || k.replace(/_/g, '-')} ${quote(v)}`)].join(' ');
}

const OF_RUN = ['gpus', 'nodes', 'power_limit_w', 'clock_hz', 'fsdp', 'tp', 'pp', 'cp', 'micro_batch', 'global_batch', 'activation_checkpoint'];

function pythonOf(s) {
  const said = Object.entries(bodyOf(s)).filter(([k]) => k !== 'workload' && k !== 'gpu').map(([k, v]) => `${k === 'batch_size' ? 'batch' : k}=${JSON.stringify(v)}`);
  return `import adept\n\nr = adept.predict(${[JSON.stringify(modelOf(s.workload)), `gpu=${JSON.stringify(s.gpu)}`, ...said].join(', ')})\nr.step_time_s, r.power_avg_w, r.energy_j, r.interval`;
}

function cOf(s) {
  const words = run => Object.entries(bodyOf(s)).filter(([k]) => k !== 'workload' && k !== 'gpu' && OF_RUN.includes(k) === run).map(([k, v]) => JSON.stringify(`${k}=${v}`) + ', ').join('');
  return `#include <adept/adept.h>\n\nadept_workload *model;\nadept_gpu *gpu;\nadept_oracle *oracle;\nadept_estimate e;\nadept_error err;\n` +
    `const char *const how[] = {${words(false)}NULL}, *const run[] = {${words(true)}NULL};\n` +
    `if (adept_workload_open(&model, ${JSON.stringify(modelOf(s.workload))}, &(adept_model_options){.words = how}, &err) == ADEPT_OK &&\n` +
    `    adept_gpu_open(&gpu, ${JSON.stringify(s.gpu)}, &err) == ADEPT_OK && adept_oracle_new(&oracle, model, gpu, NULL, &err) == ADEPT_OK)\n` +
    `    adept_predict_one(&e, &(adept_request){.oracle = oracle, .words = run}, &err); /* e.step_time_s, e.power_avg_w */`;
}

/* ---- controls ---- */

function controls(s, index, known, changed) {
  const id = key => `${key}-${index}`, say = (key, value) => {
    if (value === '' || value === undefined) delete s[key];
    else s[key] = String(value);
    changed(key);
  };
  const field = (key, input, text) => h('div', null, h('label', {for: id(key)}, text || nameOf(key)), input);
  const select = (key, options, first) => field(key, h('select', {id: id(key), onchange: e => say(key, e.target.value)}, first === undefined ? null : h('option', {value: ''}, first),
    options.map(o => h('option', {value: o, selected: s[key] === o}, files.get(o) || o))));
  const number = (key, text, step) => field(key, h('input', {id: id(key), type: 'number', min: 0, step: step || 1, value: s[key] || '', placeholder: 'as saved', oninput: e => say(key, e.target.value)}), text);
  const w = known.workloads.find(x => x.name === s.workload) || {}, g = known.gpus.find(x => x.name === s.gpu) || {};
  const slider = (key, text, low, high, step, print, fallback) => {
    if (!(high > low)) return null;
    const out = h('output', {for: id(key)}, s[key] ? print(Number(s[key])) : 'as saved');
    return field(key, h('input', {id: id(key), type: 'range', min: low, max: high, step, value: s[key] || fallback, oninput: e => (out.textContent = print(Number(e.target.value)), say(key, e.target.value))}), [text + ': ', out]);
  };
  const log = (key, text) => {
    const out = h('output', {for: id(key)}, s[key] || w[key] || 'as saved');
    return field(key, h('input', {id: id(key), type: 'range', min: 0, max: 12, step: 1, value: Math.log2(s[key] || w[key] || 1), oninput: e => (out.textContent = String(2 ** e.target.value), say(key, 2 ** e.target.value))}), [text + ': ', out]);
  };
  const generates = s.mode === 'generate';
  return h('div', {class: 'asks'}, select('workload', known.workloads.map(x => x.name)), select('gpu', known.gpus.map(x => x.name)), select('mode', WORDS.mode, w.mode ? `as saved (${w.mode})` : 'as saved'),
    select('precision', WORDS.precision, w.precision ? `as saved (${w.precision})` : 'as saved'), log('batch_size', 'Batch'), w.seq_length > 0 || s.seq_length ? number('seq_length') : null,
    log('gpus', 'GPUs'), slider('power_limit_w', 'Power limit', g.power_limit_min_w, g.power_limit_max_w || g.tdp_w, 1, watts, g.power_limit_max_w || g.tdp_w),
    slider('clock_hz', 'Core clock', g.clock_min_hz, g.clock_boost_hz, 15e6, v => si(v, 'Hz'), g.clock_boost_hz), select('execution', WORDS.execution, 'eager'), select('attention', WORDS.attention, 'auto'),
    select('optimizer', WORDS.optimizer, 'as saved'), generates ? [number('prompt', 'Prompt, tokens'), number('tokens', 'Answer, tokens')] : null,
    h('details', null, h('summary', null, 'Layout over GPUs'), number('tp'), number('pp'), number('cp'), select('fsdp', WORDS.fsdp, 'none'), number('micro_batch', 'Micro-batch'), number('global_batch', 'Global batch'), select('activation_checkpoint', WORDS.activation_checkpoint, 'none'), number('nodes', 'Nodes')));
}

/* ---- a map over two keys ---- */

const AXES = {batch_size: () => [1, 2, 4, 8, 16, 32, 64, 128], gpus: () => [1, 2, 4, 8, 16, 32], power_limit_w: g => steps(g.power_limit_min_w, g.power_limit_max_w || g.tdp_w, 8),
  clock_hz: g => steps(g.clock_min_hz, g.clock_boost_hz, 8), precision: () => ['fp32', 'tf32', 'bf16', 'fp16'], seq_length: () => [128, 256, 512, 1024, 2048, 4096], tp: () => [1, 2, 4, 8], gpu: (g, all) => all.map(x => x.name).slice(0, 24)};
const steps = (low, high, n) => high > low ? Array.from({length: n}, (_, i) => Math.round(low + (high - low) * i / (n - 1))) : [];

function sweepPart(state, known) {
  let axes = ['power_limit_w', 'batch_size'], quantity = 'step_time_s', shown = null;
  const host = h('div', {'aria-live': 'polite'}), per = ['step_time_s', 'energy_step_j', 'power_avg_w', 'samples_per_s', 'edp_js'];
  const draw = () => shown && host.replaceChildren(heatMap({label: `${nameOf(quantity)} over ${axes.map(nameOf).join(' and ')}`, xs: shown.xs.map(v => valueText(axes[0], v)), ys: shown.ys.map(v => valueText(axes[1], v)), xLabel: nameOf(axes[0]), yLabel: nameOf(axes[1]),
    cells: shown.ys.map((y, j) => shown.xs.map((x, i) => {
      const e = shown.estimates[j * shown.xs.length + i], what = `${valueText(axes[0], x)}, ${valueText(axes[1], y)}`;
      return e.error ? {value: NaN, text: `${what}: ${e.error.message}`} : {value: e[quantity], short: printer(quantity)(e[quantity]), hollow: !e.memory.fits, text: `${what}: ${printer(quantity)(e[quantity])}${e.interval && e.interval[quantity] ? ` (${e.interval[quantity].map(printer(quantity)).join(' to ')})` : ''}${e.memory.fits ? '' : ', does not fit'}`};
    }))}));
  const run = async () => {
    const g = known.gpus.find(x => x.name === state.gpu) || {}, xs = AXES[axes[0]](g, known.gpus), ys = AXES[axes[1]](g, known.gpus), base = bodyOf(state);
    try {
      const {estimates} = await ask('POST', 'v1/predict', {...base, requests: ys.flatMap(y => xs.map(x => ({[axes[0]]: x, [axes[1]]: y})))});
      shown = {xs, ys, estimates};
      draw();
    } catch (e) {
      host.replaceChildren(h('p', {class: 'error'}, e.message));
    }
  };
  const pick = i => h('select', {'aria-label': i ? 'down' : 'across', onchange: e => (axes[i] = e.target.value)}, Object.keys(AXES).map(k => h('option', {value: k, selected: axes[i] === k}, nameOf(k))));
  return section('sweep', 'A map over two keys', h('p', {class: 'controls'}, 'Across ', pick(0), ' down ', pick(1), h('button', {type: 'button', onclick: run}, 'Draw')),
    choice('What is shown', per.map(k => [k, nameOf(k)]), quantity, k => (quantity = k, draw())), host);
}

/* ---- all of it ---- */

export async function live(main) {
  const status = h('p', {role: 'status', 'aria-live': 'polite', class: 'lead'}), tokenField = h('input', {type: 'password', id: 'token', autocomplete: 'off'});
  const known = {workloads: [], gpus: []}, sides = [side(''), side('b.')].filter((x, i) => i === 0 || Object.keys(x).length);
  const asks = h('div', {class: 'sides'}), figures = h('div', {class: 'sides'}), rest = h('div', {class: 'rest'}), code = h('div');
  const failed = e => status.replaceChildren(h('span', {class: 'error'}, e.message));
  let asked = 0, asking = null, later = 0, drawn = 0;

  const load = async () => {
    const [w, g] = await Promise.all([ask('GET', 'v1/workloads'), ask('GET', 'v1/gpus')]);
    known.workloads = w.workloads;
    known.gpus = (g.gpus || []).map(x => ({...x, ...(x.specs || {})})).sort((a, b) => a.name.localeCompare(b.name));
    const a = sides[0];
    if (String(a.workload).startsWith('upload-')) known.workloads.push({name: a.workload});
    if (!known.workloads.some(x => x.name === a.workload)) a.workload = (known.workloads.find(x => x.name === 'resnet50') || known.workloads[0] || {}).name;
    if (!known.gpus.some(x => x.name === a.gpu)) a.gpu = (known.gpus.find(x => x.name === 'a100-sxm-40gb') || known.gpus[0] || {}).name;
  };

  const show = answers => {
    const [r, other] = answers;
    document.title = `${titleOf(r)}: ${seconds(r.step_time_s)}`;
    status.textContent = leadOf(r);
    figures.replaceChildren(...answers.map((x, i) => h('div', null, answers.length > 1 ? h('h3', null, `${i ? 'B' : 'A'}: ${titleOf(x)}`) : null, headline(x))));
    const better = other ? ['step_time_s', 'power_avg_w', 'energy_step_j', 'samples_per_s', 'energy_per_sample_j'] : [];
    if (other) figures.append(table('B against A', [['', k => nameOf(k)], ['A', k => valueText(k, r[k]), 1], ['B', k => valueText(k, other[k]), 1], ['change', k => change(other[k] / r[k] - 1), 1]], better));
  };

  // What stands still for a moment: the link and the code for it, and its pictures.
  const draw = async mine => {
    link(sides);
    code.replaceChildren(...sides.map((x, i) => h('div', null, sides.length > 1 ? h('h3', null, i ? 'B' : 'A') : null, [['Command', commandOf(x)], ['Python', pythonOf(x)], ['C', cOf(x)]].map(([name, text]) =>
      h('details', {open: name === 'Command'}, h('summary', null, name), h('pre', {tabindex: 0}, text), h('button', {type: 'button', onclick: () => navigator.clipboard && navigator.clipboard.writeText(text)}, 'Copy'))))));
    const begin = performance.now(), r = await ask('POST', 'v1/predict', {...bodyOf(sides[0]), details: true});
    if (mine !== asked) return;
    rest.replaceChildren(...[warningsOf(r), ...pictures(r)].flat().filter(Boolean));
    requestAnimationFrame(() => setTimeout(() => { drawn = performance.now() - begin; }));
  };
  // One question at a time: figures follow, and all that changes meanwhile is the next question.
  const answer = async () => {
    let mine;
    do {
      mine = asked;
      await Promise.all(sides.map(x => ask('POST', 'v1/predict', bodyOf(x)))).then(show, failed);
    } while (mine !== asked);
    asking = null;
    later = setTimeout(() => draw(mine).catch(failed), 2 * drawn); // the longer pictures take, the longer they wait
  };
  const predict = () => {
    asked++;
    clearTimeout(later);
    return asking = asking || answer();
  };
  const changed = key => {
    if (key === 'workload' || key === 'gpu' || key === 'mode') drawControls();
    predict();
  };
  const drawControls = () => asks.replaceChildren(...sides.map((x, i) => h('fieldset', null, h('legend', null, sides.length > 1 ? 'Settings ' + 'AB'[i] : 'Settings'), controls(x, i, known, changed))),
    h('p', {class: 'controls'}, h('button', {type: 'button', onclick: () => {
      if (sides.length > 1) sides.pop();
      else sides.push({...sides[0]});
      drawControls();
      predict();
    }}, sides.length > 1 ? 'Only A' : 'Compare with a second setting'), h('button', {type: 'button', onclick: () => {
      for (const k of Object.keys(sides[0])) if (k !== 'workload' && k !== 'gpu') delete sides[0][k];
      drawControls();
      predict();
    }}, 'Back to the saved settings')));

  const upload = async file => {
    if (!file) return;
    status.textContent = `Reading ${file.name}`;
    try {
      const {name, workloads} = await ask('POST', 'v1/workloads', file);
      files.set(name, file.name);
      if (!known.workloads.some(x => x.name === name)) known.workloads.push(...workloads);
      sides[0] = {workload: name, gpu: sides[0].gpu};
      drawControls();
      await predict();
    } catch (e) {
      failed(e);
    }
  };
  const drop = h('label', {class: 'drop', for: 'file', ondragover: e => (e.preventDefault(), drop.classList.add('over')), ondragleave: () => drop.classList.remove('over'),
    ondrop: e => (e.preventDefault(), drop.classList.remove('over'), upload(e.dataTransfer.files[0]))}, 'Your own model: drop a config.json, a .pt2 or a saved profile here, or ',
  h('input', {type: 'file', id: 'file', onchange: e => upload(e.target.files[0])}));

  const start = async () => {
    try {
      await load();
      drawControls();
      main.replaceChildren(h('h1', null, 'adept'), status, h('section', {'aria-label': 'Settings'}, asks, drop), section('headline', 'At a glance', figures), rest, sweepPart(sides[0], known), section('copy', 'The same elsewhere', code));
      await predict();
    } catch (e) {
      if (e.status !== 401) return main.replaceChildren(h('h1', null, 'adept'), h('p', {class: 'error'}, e.message));
      main.replaceChildren(h('h1', null, 'adept'), h('form', {onsubmit: event => {
        event.preventDefault();
        token = tokenField.value;
        start();
      }}, h('label', {for: 'token'}, token ? 'That token is wrong. This server asks for its token: ' : 'This server asks for its token: '), tokenField, h('button', null, 'Go on')));
    }
    return null;
  };
  addEventListener('hashchange', () => {
    const a = side('');
    if (!Object.keys(a).length) return;
    sides.splice(0, sides.length, ...[a, side('b.')].filter((x, i) => i === 0 || Object.keys(x).length));
    drawControls();
    predict();
  });
  await start();
}

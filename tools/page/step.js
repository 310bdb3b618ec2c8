// One predicted step: the views of `adept predict`, `explain` and of the server's answers.
import {h, s, section, drawing, figure, table, tip, legend} from './dom.js';
import {bytes, change, fileName, joules, nameOf, percent, plain, range, seconds, si, watts} from './text.js';
import {bars, curves, parts, scatter} from './chart.js';
import {treemap} from './treemap.js';

const level = r => r.interval ? `with ${Math.round(100 * r.interval.level)} % probability` : '';

// A number, and where it lies in its interval.
export function tile(name, value, ends, print, note) {
  const known = ends && ends.every(Number.isFinite) && Number.isFinite(value) && ends[1] > ends[0];
  const place = v => 4 + 92 * (v - Math.min(ends[0], value)) / (Math.max(ends[1], value) - Math.min(ends[0], value));
  return h('div', {class: 'tile'}, h('dt', null, name), h('dd', null, typeof value === 'string' ? value : print(value),
    known && s('svg', {viewBox: '0 0 100 8', width: '100%', height: 8, preserveAspectRatio: 'none', 'aria-hidden': 'true'},
      s('line', {x1: place(ends[0]), x2: place(ends[1]), y1: 4, y2: 4, class: 'whisker'}), s('rect', {x: place(value) - 0.8, y: 0, width: 1.6, height: 8, class: 'f-gemm'})),
    h('span', {class: 'note'}, known ? range(print, ends) : '', note ? (known ? '; ' : '') + note : '')));
}

export const energyEnds = r => r.interval && r.interval.power_avg_w && r.interval.step_time_s
  ? [r.interval.step_time_s[0] * r.interval.power_avg_w[0], r.interval.step_time_s[1] * r.interval.power_avg_w[1]] : null;

export function titleOf(r) {
  return `${fileName(r.model.path).replace(/(\.profile)?\.(json|pt2?)$/, '')} on ${r.config.gpus > 1 ? r.config.gpus + ' x ' : ''}${r.gpu.name}`;
}

export function leadOf(r) {
  const c = r.config, said = [`one ${c.mode === 'train' ? 'training' : c.mode} step`, c.precision, `batch ${c.batch_size}${c.gpus > 1 ? ' per GPU' : ''}`];
  if (c.seq_length > 1) said.push(`length ${c.seq_length}`);
  if (c.grad_accum > 1) said.push(`${c.grad_accum} passes accumulated`);
  if (c.mode === 'train') said.push(c.optimizer);
  if (c.execution !== 'eager') said.push(c.execution);
  if (c.power_limit_w) said.push(`limited to ${watts(c.power_limit_w)}`);
  if (c.clock_hz) said.push(`clock at ${si(c.clock_hz, 'Hz')}`);
  return said.join(', ');
}

// The same words as those of what a step waits for; a treemap's and a table's colours keep the words of the JSON.
const BOUND = {compute: 'arithmetic', launch: 'host', communication: 'network'};

export function headline(r) {
  const i = r.interval || {}, m = r.memory, who = r.power_scope === 'node' ? 'of the nodes at the wall' : r.config.gpus > 1 ? 'of all boards' : 'of the board';
  return h('dl', {class: 'tiles'}, tile('Step time', r.step_time_s, i.step_time_s, seconds, level(r)),
    tile('Power', r.power_avg_w, i.power_avg_w, watts, who), tile('Energy per step', r.energy_step_j, energyEnds(r), joules, r.interval && 'if time and power err together'),
    tile('Memory' + (r.config.gpus > 1 ? ' of each GPU' : ''), m.peak_bytes, null, bytes, `of ${bytes(m.capacity_bytes)}: ${m.fits ? 'fits' : 'DOES NOT FIT'}`),
    tile('Samples per second', r.samples_per_s, null, plain), tile('Energy per sample', r.energy_per_sample_j, null, joules),
    tile('Bound by', BOUND[r.bound] || r.bound, null, null, r.pass && r.pass.clock_ratio < 1 ? `clock at ${percent(r.pass.clock_ratio)}` : ''),
    tile('Peak FLOP/s used (MFU)', r.mfu, null, percent),
    r.tokens_per_s ? tile('Tokens per second', r.tokens_per_s, null, plain) : null);
}

const sentences = (x, topics) => x.sentences.filter(t => topics.includes(t.topic)).map(t => h('li', null, t.text));

function explanation(x) {
  if (!x) return null;
  const levers = (x.elasticities || []).filter(e => e.kind === 'design' && e.effect_of_10_percent_more && e.effect_of_10_percent_more.time < -1e-3)
    .sort((a, b) => a.effect_of_10_percent_more.time - b.effect_of_10_percent_more.time).slice(0, 8);
  const waits = Object.entries(x.waits || {}).filter(([, v]) => v > 5e-4);
  const kinds = {arithmetic: 'gemm', waves: 'conv', memory: 'memory', network: 'communication', host: 'launch', gaps: 'fixed', power: 'power'};
  return section('explanation', 'What limits it, and what would help', h('h3', null, 'What limits it'), h('ul', null, sentences(x, ['limits', 'layers'])),
    waits.length ? figure(parts({label: 'What the step waits for', print: percent, parts: waits.map(([name, value]) => ({name, value, kind: kinds[name]}))}),
      'What the step waits for, as shares of its time.') : null,
    h('h3', null, 'What would help'), h('ul', null, sentences(x, ['levers', 'change'])),
    (x.changes || []).some(c => c.possible) ? table('Changes, each a prediction of its own', [['with', c => c.what], ['time', c => seconds(c.step_time_s), 1],
      ['energy', c => joules(c.energy_step_j), 1], ['samples/s', c => plain(c.samples_per_s), 1], ['fits', c => c.fits ? 'yes' : 'no'],
      ['', c => c.unmeasured ? 'nothing measured in this precision' : '']], x.changes.filter(c => c.possible)) : null,
    levers.length ? table('Ten percent more of the hardware', [['of', e => e.meaning], ['time', e => change(e.effect_of_10_percent_more.time), 1],
      ['energy', e => change(e.effect_of_10_percent_more.energy), 1]], levers) : null);
}

function timeParts(r) {
  const t = r.time, p = r.pass || {}, known = p.gemm_s + p.conv_s + p.alu_s + p.memory_s > 0 && r.granularity === 'operator';
  return [...(known ? [['Matrix products', p.gemm_s, 'gemm'], ['Convolutions', p.conv_s, 'conv'], ['Other arithmetic', p.alu_s, 'alu'], ['Waiting for memory', p.memory_s, 'memory']]
    : [['Forward and backward', t.pass_s, 'gemm']]), ['Waiting for the host', t.kernel_launch_s, 'launch'], ['Communication', t.comm_s, 'communication'],
  ['Optimizer', t.optimizer_s, 'optimizer'], ['Fixed', t.fixed_s, 'fixed']].map(([name, value, kind]) => ({name, value, kind}));
}

function whereItGoes(r) {
  const t = r.time, d = r.details, all = timeParts(r).filter(p => p.value > 0);
  const passJ = d ? d.operators.reduce((a, o) => a + (o.energy_j || 0), 0) : NaN, w = r.power || {};
  const optimizerJ = w.pass_w * t.pass_s + w.optimizer_w * t.optimizer_s - passJ, commJ = w.comm_w * t.comm_s;
  const what = [['time_s', 'time', seconds, [['optimizer', t.optimizer_s, 'optimizer'], ['communication', t.comm_s, 'communication'],
    ['waiting for the host', t.kernel_launch_s, 'launch'], ['fixed', t.fixed_s, 'fixed']]]];
  if (r.energy_step_j > 0 && passJ > 0) what.push(['energy_j', 'energy', joules, [['optimizer', optimizerJ, 'optimizer'], ['communication', commJ, 'communication'],
    ['waiting for the host, fixed', r.energy_step_j - passJ - optimizerJ - commJ, 'fixed']]]);
  return section('step', 'Where time and energy go',
    figure(parts({label: 'Parts of the step', print: seconds, parts: all}), 'The whole bar is one step.'), legend(all.map(p => [p.kind, `${p.name} ${percent(p.value / r.step_time_s)}`])),
    t.comm_s + t.comm_hidden_s > 0 ? h('p', null, `Communication takes ${seconds(t.comm_s + t.comm_hidden_s)}, of which ${seconds(t.comm_hidden_s)} lies behind the backward pass.`) : null,
    d && d.operators.length ? treemap(d.operators, what) : null);
}

function roofline(r) {
  const d = r.details, rows = d.operators.filter(o => o.flops > 0 && o.bytes > 0 && o.time_s > 0 && o.path !== null);
  if (!rows.length || !d.roofs.length) return null;
  const points = rows.map(o => ({x: o.flops / o.bytes, y: o.flops / o.time_s, r: Math.min(Math.max(Math.sqrt(o.time_s / r.step_time_s) * 40, 2.5), 22), kind: o.unit,
    shape: {conv: 'square', alu: 'triangle'}[o.unit], share: o.time_s / r.step_time_s, name: null,
    text: `${o.path || 'the model'} (${o.kind}): ${si(o.flops / o.time_s, 'FLOP/s')}, ${plain(o.flops / o.bytes)} FLOP per byte, ${percent(o.time_s / r.step_time_s)} of the step`, of: o}));
  points.sort((a, b) => b.share - a.share).slice(0, 6).forEach(p => p.name = (p.of.path || p.of.kind).split('.').slice(-2).join('.').slice(0, 24));
  const top = Math.max(...d.roofs.map(f => f.flops_per_s)), xs = points.map(p => p.x), ridge = top / d.mem_bytes_per_s;
  const low = Math.min(...xs, ridge / 10) / 1.5, high = Math.max(...xs, ridge * 2) * 1.5, ylow = Math.min(...points.filter(p => p.share > 1e-4).map(p => p.y), top) / 3;
  const lines = d.roofs.map(f => ({name: f.name, kind: f.flops_per_s < top ? 'dashed' : '', points: [[Math.max(f.flops_per_s / d.mem_bytes_per_s, low), f.flops_per_s], [high, f.flops_per_s]]}));
  lines.push({points: [[Math.max(low, ylow / d.mem_bytes_per_s), Math.max(low * d.mem_bytes_per_s, ylow)], [ridge, top]]});
  const none = d.operators.filter(o => !(o.flops > 0)).reduce((a, o) => a + o.time_s, 0) / r.step_time_s;
  return section('roofline', 'Roofline', h('figure', null, scatter({label: 'Roofline of the operators; the table of operators has the numbers', points: points.filter(p => p.y >= ylow),
    lines, height: 420, x: {low, high, log: true, label: 'FLOP per byte', print: plain}, y: {low: ylow, high: top * 2, log: true, label: 'FLOP/s', print: v => si(v, '')}}),
  legend([['gemm', 'matrix products'], ['conv', 'convolutions'], ['alu', 'other arithmetic']].filter(([k]) => rows.some(o => o.unit === k))),
  h('figcaption', null, `Each mark is an operator, its area its share of the step. Lines are peaks of the sheet, the slope is the memory's bandwidth. A mark under the slope waits for memory; marks above it find data in the cache. Operators without arithmetic take ${percent(none)} of the step.`)));
}

function timeline(r) {
  const t = r.details.timeline;
  if (!t) return null;
  let from = 0, to = t.step_s;
  const kinds = {forward: 'gemm', backward: 'backward', optimizer: 'optimizer'}, host = h('div');
  const nameAt = e => typeof e[3] === 'number' ? `${r.details.operators[e[3]].path || r.details.operators[e[3]].kind} (${r.details.operators[e[3]].kind})` : e[3];
  const draw = width => {
    const left = width > 520 ? 118 : 64, scale = (width - left - 8) / (to - from), tall = 34, height = t.lanes.length * tall + 30;
    const svg = s('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': 'Timeline of the step: ' + t.lanes.map(l => l.name).join(', ')});
    t.lanes.forEach((lane, row) => {
      const y = row * tall + 4, ds = {};
      svg.append(s('text', {x: 0, y: y + 16}, lane.name));
      for (const [start, time, part] of lane.events) {
        if (start + time < from || start > to) continue;
        const kind = kinds[part] || (lane.name.startsWith('link') ? 'communication' : lane.name === 'host' ? 'launch' : 'fixed');
        const a = Math.max(start, from), b = Math.min(start + time, to);
        ds[kind] = (ds[kind] || '') + `M${(left + (a - from) * scale).toFixed(2)} ${y}h${Math.max((b - a) * scale - 0.3, 0.2).toFixed(2)}v24h${(-Math.max((b - a) * scale - 0.3, 0.2)).toFixed(2)}z`;
      }
      for (const [kind, d] of Object.entries(ds)) svg.append(s('path', {d, class: 'f-' + kind}), s('path', {d, fill: `url(#hatch-${kind})`, 'pointer-events': 'none'}));
    });
    const ticks = width > 520 ? 4 : 2;
    for (let i = 0; i <= ticks; i++) {
      const at = from + (to - from) * i / ticks;
      svg.append(s('text', {x: left + (at - from) * scale, y: height - 6, 'text-anchor': i === ticks ? 'end' : i ? 'middle' : 'start'}, seconds(at)));
    }
    svg.addEventListener('pointermove', e => {
      const box = svg.getBoundingClientRect(), lane = t.lanes[Math.floor((e.clientY - box.top - 4) / tall)], at = from + (e.clientX - box.left - left) / scale;
      const event = lane && lane.events.find(v => v[0] <= at && v[0] + v[1] >= at);
      tip(e, event ? `${nameAt(event)}, ${event[2]}: ${seconds(event[1])} from ${seconds(event[0])} on` : '');
    });
    svg.addEventListener('pointerleave', e => tip(e));
    return svg;
  };
  const redraw = () => host.replaceChildren(drawing(draw));
  const zoom = h('input', {type: 'range', min: 0, max: 100, value: 0, id: 'zoom', oninput: set}), shift = h('input', {type: 'range', min: 0, max: 100, value: 0, id: 'shift', oninput: set});
  function set() {
    const share = Math.pow(0.002, zoom.value / 100), length = t.step_s * share;
    from = (t.step_s - length) * shift.value / 100;
    to = from + length;
    redraw();
  }
  redraw();
  return section('timeline', 'The step over time', h('figure', null, host, h('p', {class: 'controls'}, h('label', {for: 'zoom'}, 'Closer '), zoom, h('label', {for: 'shift'}, ' Later '), shift),
    legend([['gemm', 'forward'], ['backward', 'backward'], ['optimizer', 'optimizer'], ['launch', 'launches'], ['communication', 'communication']]),
    h('figcaption', null, 'When each kernel runs on one GPU, its host and its links.' + (t.left_out ? ` The ${t.left_out} shortest events are left out.` : ''))));
}

function memory(r) {
  const m = r.memory, items = [['Weights', m.weights_bytes, 'gemm'], ['Gradients', m.gradients_bytes - (m.reused_bytes || 0), 'conv'], ['Optimizer state', m.optimizer_bytes, 'optimizer'],
    ['Cache', m.kv_bytes, 'alu'], ['Activations', m.activations_bytes, 'memory'], ['Other', m.other_bytes, 'fixed']].filter(p => p[1] > 0);
  const t = r.details && r.details.timeline, over = [];
  if (t && m.activations_bytes > 0 && (r.config.mode === 'train' || r.config.mode === 'fwbw')) {
    const lane = t.lanes.find(l => l.name === 'compute');
    let kept = 0, most = 0;
    for (const [start, time, part, op] of lane ? lane.events : []) {
      if (typeof op !== 'number') continue;
      kept += (part === 'forward' ? 1 : -1) * r.details.operators[op].saved_bytes;
      most = Math.max(most, kept);
      over.push([part === 'forward' ? start : start + time, Math.max(kept, 0)]);
    }
    over.forEach(p => p[1] *= most > 0 ? m.activations_bytes / most : 0);
  }
  const base = m.peak_bytes - m.activations_bytes, thin = over.filter((_, i) => i % Math.ceil(over.length / 600) === 0);
  const points = thin.length > 4 ? [[0, 0], ...thin, [r.details.timeline.step_s, 0]].map(([x, y]) => ({x, y: base + y, text: `${seconds(x)}: ${bytes(base + y)}`})) : [];
  return section('memory', r.config.gpus > 1 ? 'Memory of each GPU' : 'Memory',
    h('figure', null, parts({label: 'What fills the memory', print: bytes, scale: Math.max(m.peak_bytes, m.capacity_bytes), mark: m.capacity_bytes,
      parts: [...items.map(([name, value, kind]) => ({name, value, kind})), {name: 'Free', value: m.capacity_bytes - m.peak_bytes, kind: 'free'}]}),
    legend(items.map(([name, value, kind]) => [kind, `${name} ${bytes(value)}`])), h('figcaption', null, `${bytes(m.peak_bytes)} of ${bytes(m.capacity_bytes)}: ${m.fits ? 'fits' : 'DOES NOT FIT'}.`)),
    points.length ? h('figure', null, curves({label: 'Memory over the step', series: [{name: 'memory', points, steps: true}], level: m.capacity_bytes, height: 200, fromZero: true,
      x: {label: 'time in the step', print: seconds}, y: {label: 'memory', print: bytes, high: Math.max(m.peak_bytes, m.capacity_bytes) * 1.05}}),
    h('figcaption', null, 'The forward pass fills memory with activations, and the backward pass frees them. The dashed line is the memory of the board.')) : null);
}

const limitText = l => `${watts(l.power_limit_w)}: ${seconds(l.step_time_s)}, ${watts(l.power_avg_w)}, ${joules(l.energy_step_j)}` +
  (l.interval ? `; ${range(seconds, l.interval.step_time_s)}, ${range(watts, l.interval.power_avg_w)} ${level(l)}` : '');

export function limitCurves(limits, marks) {
  const of = (key, label, print, ends) => curves({label: `${label} over the power limit`, height: 170, marks, series: [{name: label, points: limits.map(l => {
    const e = l.interval ? ends(l) : null;
    return {x: l.power_limit_w, y: l[key], low: e && e[0], high: e && e[1], text: limitText(l)};
  })}], x: {label: 'power limit of each board', print: watts}, y: {label, print}});
  return [of('step_time_s', 'step time', seconds, l => l.interval.step_time_s), of('power_avg_w', 'power', watts, l => l.interval.power_avg_w || [NaN, NaN]),
    of('energy_step_j', 'energy per step', joules, l => energyEnds(l) || [NaN, NaN])];
}

function powerLimits(r) {
  const d = r.details, l = r.power_limits;
  if (!d || !d.limits.length) return null;
  const known = l && l.default, rows = known ? [['default of the board', l.default], ['least energy', l.energy_optimal], ['least energy x time', l.edp_optimal]] : [];
  const marks = rows.map(([name, at], i) => ({x: at.limit_w, name, dash: i}));
  if (r.config.power_limit_w) marks.push({x: r.config.power_limit_w, name: 'this run', dash: 3});
  return section('power-limit', 'Power limit', h('figure', {class: 'stack'}, limitCurves(d.limits, marks),
    h('figcaption', null, 'A measurement lies within the bands with the probability of the intervals. The band of energy is as wide as the errors of time and power together can make it. The vertical lines mark the default limit and the best limits.')),
  rows.length ? table('Limits of interest', [['', x => x[0]], ['limit', x => watts(x[1].limit_w), 1], ['step time', x => seconds(x[1].step_time_s), 1], ['power', x => watts(x[1].power_avg_w), 1],
    ['energy', x => joules(x[1].energy_step_j), 1], ['time', x => change(x[1].slowdown), 1], ['energy', x => change(-x[1].energy_saving), 1]], rows) : null);
}

function operators(r) {
  const rows = r.details ? r.details.operators : [];
  if (!rows.length) return null;
  return section('layers', 'Most expensive operators', table('Forward and backward pass of one step, equal operators together', [['path', o => o.path === null ? 'all others' : o.path || '(model)'],
    ['kind', o => o.kind || ''], ['times', o => plain(o.count), 1], ['FLOP', o => si(o.flops, ''), 1], ['bytes', o => bytes(o.bytes), 1], ['time', o => seconds(o.time_s), 1],
    ['of the step', o => percent(o.time_s / r.step_time_s), 1], ['energy', o => joules(o.energy_j), 1], ['bound by', o => o.bound || '']], rows, 25));
}

function totals(r) {
  const t = r.total, l = r.lifetime;
  if (!t) return null;
  const i = t.interval || {};
  return section('totals', 'The whole job', h('dl', {class: 'tiles'}, tile('Steps', t.steps, null, plain), tile('Time', t.time_s, i.time_s, seconds), tile('Energy of the boards', t.energy_kwh, i.energy_kwh, v => si(v * 1000, 'Wh')),
    Number.isFinite(t.co2e_g) && tile('Emissions (CO2e)', t.co2e_g, i.co2e_g, v => si(v, 'g')), Number.isFinite(t.cost) && tile('Cost', t.cost, null, plain),
    l && tile('Energy with all inferences', l.energy_kwh, l.interval_energy_kwh, v => si(v * 1000, 'Wh')), l && tile('Inferences that take as much as the training', l.break_even_inferences, null, plain)));
}

export function generated(r) {
  const g = r.generate;
  if (!g) return null;
  return section('generate', 'What a query waits and costs', h('dl', {class: 'tiles'}, tile('First token', g.ttft_s, null, seconds, `bound by ${g.prompt_bound}`),
    tile('Each further token', g.tpot_s, null, seconds, `bound by ${g.answer_bound}`), tile('Tokens per second, all queries', g.tokens_per_s, null, plain), tile('Energy per token', g.energy_per_token_j, null, joules),
    tile('Energy per query', g.wh_per_query, null, v => si(v, 'Wh')), tile('Cache', g.kv_bytes, null, bytes)));
}

export const warningsOf = r => (r.warnings || []).length ? h('section', {id: 'warnings', class: 'warnings', 'aria-labelledby': 'warnings-title'}, h('h2', {id: 'warnings-title'}, 'Warnings'),
  h('ul', null, r.warnings.map(w => h('li', null, w)))) : null;

export const LAYOUT = {compute_s: 'gemm', recompute_s: 'conv', tensor_s: 'communication', context_s: 'alu', expert_s: 'power', data_s: 'launch', pipeline_s: 'backward', bubble_s: 'free',
  optimizer_s: 'optimizer', rest_s: 'fixed'};

// How the step is shared out: its times, and the stages of its pipeline.
function layout(r) {
  const l = r.layout, t = l && l.time;
  if (!t) return null;
  const used = Object.keys(LAYOUT).filter(k => t[k] > 0), g = l.stages || [];
  return section('layout', 'How the step is shared out', h('p', null, ['dp', 'tp', 'pp', 'cp', 'ep'].filter(k => l[k] > 1).map(k => `${nameOf(k)} ${l[k]}`).join(', ') || 'Every GPU has the whole model',
    `; ${l.micro_batches} micro-batch${l.micro_batches > 1 ? 'es' : ''} of ${l.micro_batch}, global batch ${l.global_batch}`, l.node ? `, ${l.nodes} x ${l.node}` : ''),
  figure(parts({label: 'Times of the layout', print: seconds, parts: used.map(k => ({name: nameOf(k), value: t[k], kind: LAYOUT[k]}))}), 'What the slowest stage does, and what it waits for.'),
  legend(used.map(k => [LAYOUT[k], `${nameOf(k)} ${percent(t[k] / r.step_time_s)}`])),
  g.length > 1 ? [figure(bars({label: 'Memory of a GPU by stage', print: bytes, rows: g.map((x, i) => ({name: `stage ${i + 1}`, value: x.peak_bytes, kind: 'memory'}))}), 'Memory of a GPU in each stage.'),
    table('Pipeline stages', [['stage', x => String(g.indexOf(x) + 1)], ['blocks', x => plain(x.blocks), 1], ['parameters', x => plain(x.params), 1], ['forward', x => seconds(x.forward_s), 1], ['backward', x => seconds(x.backward_s), 1],
      ['busy', x => seconds(x.busy_s), 1], ['waits', x => seconds(x.wait_s), 1], ['power of a GPU', x => watts(x.power_w), 1], ['memory', x => bytes(x.peak_bytes), 1]], g)] : null);
}

export function pictures(r) {
  return [layout(r), totals(r), generated(r), explanation(r.explain), whereItGoes(r), r.details && timeline(r), memory(r), powerLimits(r), r.details && roofline(r), operators(r)];
}

export function stepView(r) {
  const certain = r.explain ? r.explain.sentences.filter(t => ['cost', 'certainty', 'memory'].includes(t.topic)).map(t => h('p', null, t.text)) : null;
  return {title: titleOf(r), lead: leadOf(r), body: [section('headline', 'At a glance', headline(r), certain), warningsOf(r), pictures(r)]};
}

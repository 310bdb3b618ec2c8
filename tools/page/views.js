// Views of what the other commands print: sweep, plan, diff, evaluate, calibrate, measure, simulate, attribute, compare.
import {h, s, section, drawing, figure, table, tells, legend, choice} from './dom.js';
import {bytes, change, fileName, joules, nameOf, percent, plain, printer, range, seconds, valueText, watts, wattHours} from './text.js';
import {bars, curves, heatMap, parts, scatter, shapes} from './chart.js';
import {LAYOUT, stepView, tile, warningsOf, energyEnds} from './step.js';

const tiles = (...all) => h('dl', {class: 'tiles'}, all);
const interval = (r, key) => r.interval && r.interval[key] ? ` (${range(printer(key), r.interval[key])})` : '';
const columnsOf = (rows, keys) => keys.filter(k => rows.some(r => r[k] !== null && r[k] !== undefined))
  .map(k => [nameOf(k), r => valueText(k, r[k]) + interval(r, k), rows.some(r => typeof r[k] === 'number')]);

/* ---- sweep, measured ones too ---- */

const pointName = (p, axes) => axes.map(a => `${nameOf(a.key)} ${valueText(a.key, p[a.key])}`).join(', ');

function sweepJob(job, axes) {
  if (!job) return null;
  const b = job.best, c = job.binding, keys = [...axes.map(a => a.key), 'steps', 'time_s', 'energy_j', 'power_avg_w', 'cost', 'step_time_s', 'energy_step_j'];
  return section('job', 'The job', h('p', null, `Least ${nameOf(job.minimise).toLowerCase()}: of ${job.points} points ${job.feasible} meet what was asked.`),
    b ? table('The answer', columnsOf([b], keys), [b]) : h('p', null, h('strong', null, 'No point meets it.')),
    c ? [h('p', null, `Held back by ${c.constraint}: ${plain(c.allowed)} are allowed, ${plain(c.needed)} would be needed for this one.`), c.point && table('With that constraint relaxed', columnsOf([c.point], keys), [c.point])] : null);
}

function front(points, answers, axes, xKey, yKey) {
  const shown = points.filter(p => Number.isFinite(p[xKey]) && Number.isFinite(p[yKey])), best = answers.pareto ? answers.pareto.points : [];
  const marked = [['least_time', 'least time'], ['least_energy', 'least energy'], ['least_edp', 'least product'], ['knee', 'knee']].filter(([k]) => answers[k]);
  const per = p => answers.compared_per === 'sample' ? p.samples || p.step_time_s * p.samples_per_s || 1 : 1;
  const dot = (p, more) => ({x: p[xKey] / per(p), y: p[yKey] / per(p), text: `${pointName(p, axes)}: ${seconds(p.step_time_s)}, ${joules(p.energy_step_j)}`, r: 3.5, hollow: p.fits === false, ...more});
  const line = best.map(p => [p[xKey] / per(p), p[yKey] / per(p)]).sort((a, b) => a[0] - b[0]);
  const named = new Map();
  marked.forEach(([k, name]) => named.set(answers[k].index, [...(named.get(answers[k].index) || []), name]));
  return h('figure', null, scatter({label: 'Time and energy of the points', lines: line.length > 1 ? [{points: line}] : [],
    points: [...shown.map(p => dot(p)), ...marked.map(([k, name], i) => dot(answers[k], {r: 7, kind: 'mark', shape: shapes[i + 1], hollow: true, name: named.get(answers[k].index)[0] === name ? named.get(answers[k].index).join(', ') : null}))],
    x: {label: `time per ${answers.compared_per || 'step'}`, print: seconds}, y: {label: `energy per ${answers.compared_per || 'step'}`, print: joules}}),
  h('figcaption', null, 'Every point by its time and energy; no point lies below the line. Points that do not fit the memory are hollow.'));
}

function axisPictures(points, axes, quantity) {
  const print = printer(quantity), known = points.filter(p => Number.isFinite(p[quantity]));
  const of = p => ({value: p[quantity], short: print(p[quantity]), hollow: p.fits === false, text: `${pointName(p, axes)}: ${print(p[quantity])}${interval(p, quantity)}`});
  const same = (a, b) => a === b;
  const distinct = key => [...new Set(points.map(p => p[key]))];
  if (axes.length === 2) {
    const [a, b] = axes[0].values >= axes[1].values ? axes : [axes[1], axes[0]], xs = distinct(a.key), ys = distinct(b.key);
    return heatMap({label: `${nameOf(quantity)} over ${nameOf(a.key)} and ${nameOf(b.key)}`, xs: xs.map(v => valueText(a.key, v)), ys: ys.map(v => valueText(b.key, v)), xLabel: nameOf(a.key), yLabel: nameOf(b.key),
      cells: ys.map(y => xs.map(x => { const p = points.find(q => same(q[a.key], x) && same(q[b.key], y)); return p ? of(p) : null; }))});
  }
  const a = axes[0], words = known.some(p => typeof p[a.key] !== 'number');
  return curves({label: `${nameOf(quantity)} over ${nameOf(a.key)}`, fromZero: false, x: {label: nameOf(a.key), print: printer(a.key), words: words ? known.map(p => valueText(a.key, p[a.key])) : null}, y: {label: nameOf(quantity).toLowerCase(), print},
    series: [{name: a.key, points: known.map((p, i) => { const e = quantity === 'energy_step_j' ? energyEnds(p) : p.interval && p.interval[quantity];
      return {x: words ? i : p[a.key], y: p[quantity], low: e && e[0], high: e && e[1], hollow: p.fits === false, text: of(p).text}; })}]});
}

function sweepView(r) {
  const axes = r.vary, a = r.answers || {}, points = r.points.map(p => ({...p, ...(p.step || {})})), host = h('div');
  const quantities = ['step_time_s', 'energy_step_j', 'power_avg_w', 'edp_js', 'samples_per_s', 'energy_per_sample_j', 'peak_bytes'].filter(k => points.some(p => Number.isFinite(p[k])));
  const show = q => host.replaceChildren(...(r.one_at_a_time ? axes.map(x => h('div', null, h('h3', null, nameOf(x.key)), axisPictures(points.filter(p => p[x.key] !== undefined && p[x.key] !== null), [x], q))) : [axisPictures(points, axes, q)]));
  const best = [['least time', a.least_time], ['least energy', a.least_energy], ['least energy x time', a.least_edp], ['knee of the front', a.knee], ['as asked', a.best]].filter(x => x[1]);
  const keys = [...axes.map(x => x.key), 'step_time_s', 'power_avg_w', 'energy_step_j', 'samples_per_s', 'peak_bytes', 'cost'];
  if (quantities.length && (axes.length <= 2 || r.one_at_a_time)) show(quantities[0]);
  return {title: `${fileName(r.model && r.model.path) || 'A sweep'}${r.gpu ? ' on ' + r.gpu.name : ''}: ${axes.map(x => nameOf(x.key).toLowerCase()).join(', ')}`,
    lead: `${a.points || points.length} points${a.failed ? `, ${a.failed} cannot run` : ''}${a.too_large ? `, ${a.too_large} do not fit` : ''}` + (r.hypothetical ? '. The GPU is hypothetical: numbers of the sheet are changed, fitted parameters are kept.' : '.'),
    body: [sweepJob(r.job, axes), (a.warnings || []).length ? warningsOf(a) : null,
      best.length ? section('best', 'Best points', h('p', null, `Compared per ${a.compared_per || 'step'}.`), table('Best points', [['', x => x[0]], ...columnsOf(best.map(x => x[1]), keys).map(([t, f, n]) => [t, x => f(x[1]), n])], best)) : null,
      quantities.length && (axes.length <= 2 || r.one_at_a_time) ? section('picture', 'What varies', choice('What is shown', quantities.map(k => [k, nameOf(k)]), quantities[0], show), host) : null,
      points.some(p => Number.isFinite(p.energy_step_j)) ? section('front', 'Time and energy', front(points, a, axes, 'step_time_s', 'energy_step_j')) : null,
      section('points', 'Points', r.of && r.of > points.length ? h('p', null, `Of ${r.of} points ${points.length} are shown.`) : null, table('All points', columnsOf(points, [...keys, 'bound', 'fits', 'reason']), points, 200))]};
}

/* ---- plan ---- */

const layoutName = l => ['dp', 'tp', 'pp', 'cp', 'ep'].filter(k => l[k] > 1).map(k => `${k} ${l[k]}`).concat(l.sharded && l.sharded !== 'none' ? ['shards ' + l.sharded] : [], l.activation_checkpoint && l.activation_checkpoint !== 'none' ? ['checkpoint ' + l.activation_checkpoint] : [], [`micro-batch ${l.micro_batch}`]).join(', ');

function planView(r) {
  const a = r.asked, rows = r.layouts, time = rows.map(l => ({...l.layout.time}));
  const kinds = LAYOUT;
  const used = Object.keys(kinds).filter(k => time.some(t => t[k] > 0));
  return {title: `Layouts of ${fileName(a.model)} on ${a.gpus} x ${a.gpu}`, lead: `Global batch ${a.global_batch}, least ${a.minimise}: ${r.searched} layouts looked at, ${r.too_large} do not fit.`,
    body: [warningsOf(r), rows.length ? section('best', 'The best', tiles(tile('Layout', layoutName(rows[0].layout)), tile('Step time', rows[0].step_time_s, rows[0].interval && rows[0].interval.step_time_s, seconds), tile('Power', rows[0].power_avg_w, rows[0].interval && rows[0].interval.power_avg_w, watts),
      tile('Energy per step', rows[0].energy_step_j, energyEnds(rows[0]), joules), tile('Memory of each GPU', rows[0].memory.peak_bytes, null, bytes, 'of ' + bytes(rows[0].memory.capacity_bytes)))) : h('p', null, 'No layout fits.'),
    section('times', 'What their steps are made of', rows.map((l, i) => [h('h3', null, `${i + 1}. ${layoutName(l.layout)}: ${seconds(l.step_time_s)}`), parts({label: layoutName(l.layout), print: seconds, scale: Math.max(...rows.map(x => x.step_time_s)),
      parts: used.map(k => ({name: nameOf(k), value: l.layout.time[k], kind: kinds[k]}))})]), legend(used.map(k => [kinds[k], nameOf(k)]))),
    section('front', 'Time and energy', h('figure', null, scatter({label: 'Time and energy of the layouts', points: rows.map((l, i) => ({x: l.step_time_s, y: l.energy_step_j, name: String(i + 1), xlow: l.interval && l.interval.step_time_s[0], xhigh: l.interval && l.interval.step_time_s[1],
      text: `${i + 1}. ${layoutName(l.layout)}: ${seconds(l.step_time_s)}, ${joules(l.energy_step_j)}`})), x: {label: 'step time', print: seconds}, y: {label: 'energy per step', print: joules}}), h('figcaption', null, 'Lines are the intervals of time.'))),
    rows.some(l => l.layout.stages.length > 1) ? section('pipeline', 'Pipeline stages of the best', table('Stages', columnsOf(rows[0].layout.stages, ['blocks', 'params', 'forward_s', 'backward_s', 'recompute_s', 'busy_s', 'wait_s', 'power_w', 'in_flight', 'peak_bytes']), rows[0].layout.stages),
      figure(parts({label: 'Busy stages', print: seconds, parts: rows[0].layout.stages.flatMap((g, i) => [{name: `stage ${i + 1} busy`, value: g.busy_s, kind: 'gemm'}, {name: `stage ${i + 1} waits`, value: g.wait_s, kind: 'free'}])}), 'How long each stage computes and waits.')) : null,
    section('layouts', 'Layouts', table('Layouts', [['layout', l => layoutName(l.layout)], ['step time', l => seconds(l.step_time_s) + interval(l, 'step_time_s'), 1], ['power', l => watts(l.power_avg_w), 1], ['energy', l => joules(l.energy_step_j), 1],
      ['samples/s', l => plain(l.samples_per_s), 1], ['MFU', l => percent(l.mfu), 1], ['memory', l => bytes(l.memory.peak_bytes), 1], ['waits for', l => l.waits_for || '']], rows))]};
}

/* ---- diff ---- */

function diffView(r) {
  const rows = [...r.layers, ...r.parts.map(p => ({...p, path: p.name, status: 'part'}))].filter(x => x.delta.time_s).sort((a, b) => Math.abs(b.delta.time_s) - Math.abs(a.delta.time_s));
  const changed = Object.entries(r.change || {}).filter(([, c]) => c);
  return {title: `${fileName(r.old.path)} to ${fileName(r.new.path)} on ${r.new.gpu}`, lead: `${r.new.mode}, ${r.new.precision}, batch ${r.new.batch_size}` + (r.check ? `; limit ${percent(r.check.limit_percent / 100)}` : ''),
    body: [warningsOf(r), section('change', 'What changed', tiles(changed.map(([k, c]) => tile(nameOf(k), c.new, null, printer(k), `${change(c.percent / 100)}, before ${printer(k)(c.old)}`)))),
      rows.length ? section('modules', 'Where', figure(bars({label: 'Change of time by module', print: seconds, rows: rows.slice(0, 24).map(x => ({name: x.path || '(model)', value: x.delta.time_s, kind: x.delta.time_s > 0 ? 'communication' : 'optimizer', note: x.status}))}), 'Change of the time of a step, largest first; to the left is faster.'),
        table('Modules', [['module', x => x.path || '(model)'], ['', x => x.status], ['time before', x => seconds(x.old.time_s), 1], ['after', x => seconds(x.new.time_s), 1], ['energy before', x => joules(x.old.energy_j), 1], ['after', x => joules(x.new.energy_j), 1]], rows, 60)) : null]};
}

/* ---- evaluate and calibrate ---- */

const off = (m, key) => Number.isFinite(m['mape_' + key]) ? `${percent(m['mape_' + key] / 100)} off in ${key}` : null;

function measuredPicture(rows, key, print) {
  const known = rows.filter(r => r.measured && Number.isFinite(r.measured[key]) && r.predicted && Number.isFinite(r.predicted[key]));
  if (!known.length) return null;
  const all = known.flatMap(r => [r.measured[key], r.predicted[key]]), low = Math.min(...all) / 1.3, high = Math.max(...all) * 1.3;
  return h('figure', null, scatter({label: `Measured and predicted ${nameOf(key)}`, height: 380, lines: [{points: [[low, low], [high, high]]}], x: {low, high, log: true, label: `measured ${nameOf(key).toLowerCase()}`, print}, y: {low, high, log: true, label: 'predicted', print},
    points: known.map(r => ({x: r.measured[key], y: r.predicted[key], ylow: r.interval && r.interval[key] && r.interval[key][0], yhigh: r.interval && r.interval[key] && r.interval[key][1], r: 3.5,
      text: `${r.model}, batch ${r.batch_size}, ${r.precision}: ${print(r.measured[key])} measured, ${print(r.predicted[key])} predicted`}))}), h('figcaption', null, 'On the line both agree; upright lines are the intervals.'));
}

function errorTable(caption, rows) {
  return table(caption, [['', x => x[0]], ['rows', x => plain(x[1].n), 1], ...['time', 'power', 'energy', 'memory'].filter(k => rows.some(x => Number.isFinite(x[1]['mape_' + k])))
    .flatMap(k => [[`error of ${k}`, x => valueText('percent', x[1]['mape_' + k]), 1], [`most`, x => valueText('percent', x[1]['max_' + k]), 1], ['bias', x => Number.isFinite(x[1]['bias_' + k]) ? change(x[1]['bias_' + k] / 100) : '-', 1]])], rows);
}

function evaluation(id, title, e) {
  const groups = (e.groups || []).map(g => [Object.values(g.by || {}).join(', '), g]);
  return section(id, title, errorTable('Mean errors', [['all rows', e.overall], ...groups]), e.rows && e.rows.length ? [measuredPicture(e.rows, 'step_time_s', seconds), measuredPicture(e.rows, 'power_avg_w', watts)] : null);
}

function evaluateView(r) {
  return {title: `Measured and predicted${r.gpu && r.gpu.name ? ' on ' + r.gpu.name : ''}`, lead: `${r.overall.n} rows: ${['time', 'power', 'energy'].map(k => off(r.overall, k)).filter(Boolean).join(', ')}.`, body: [warningsOf(r), evaluation('errors', 'Errors', r)]};
}

function calibrateView(r) {
  const held = (r.held_out_schemes || [r.held_out]).filter(x => x && x.overall), best = held[0], inside = r.in_sample;
  const errors = r.fit && r.fit.errors, overall = best ? best.overall : inside && inside.overall;
  const ranges = r.fit && r.fit.intervals && r.fit.intervals.range, said = overall ? ['time', 'power'].map(k => off(overall, k)).filter(Boolean).join(' and ') : null;
  const lead = !said ? 'A fit.' : best ? `The fit predicts what it has not seen ${said}.` : `On its own rows the fit is ${said}; nothing says how it does on others (--leave-out).`;
  const parameters = Array.isArray(r.parameters) ? r.parameters : null;
  return {title: `Fit of ${(r.gpu && r.gpu.name) || 'a GPU'}`, lead: lead + (ranges && ranges.precisions ? ` Use it for ${ranges.precisions.join(', ')}${ranges.gpus ? ` on ${range(plain, ranges.gpus)} GPUs` : ''}.` : ''),
    body: [warningsOf(r), held.map((x, i) => evaluation('held-out-' + i, `Left out: ${x.scheme || ''}`, x)), inside ? evaluation('in-sample', 'Its own rows', inside) : null,
      (r.suggestions || []).length ? section('suggestions', 'What to measure next', table('Rows that would help most', [['row', x => x.text], ['why', x => x.reason]], r.suggestions)) : null,
      parameters ? section('parameters', 'Parameters', h('details', null, h('summary', null, `${parameters.length} parameters`), table('Parameters', columnsOf(parameters, ['name', 'value', 'std_error', 'free', 'determined', 'kept', 'at_bound']), parameters))) : null]};
}

/* ---- measure ---- */

function measureView(r) {
  const t = r.total || {}, parts = Object.entries(r.by_component || {}), samples = (r.sensors || []).filter(x => x.samples && x.samples.length > 1);
  const watch = samples.map(x => ({name: x.name, points: x.samples.filter(p => Number.isFinite(p[2])).map(p => ({x: p[0] - r.begin_s, y: p[2], text: `${x.name}, ${seconds(p[0] - r.begin_s)}: ${watts(p[2])}`}))})).filter(x => x.points.length > 1);
  return {title: `${(r.command || ['a run']).join(' ').slice(0, 80)}`, lead: `Measured on ${r.host || 'this machine'}, ${r.started || ''}` + (r.exit_status ? `; ended with ${r.exit_status}` : ''),
    body: [warningsOf(r), section('headline', 'At a glance', tiles(tile('Time', r.time_s, null, seconds), tile('Energy', t.energy_j === null ? 'not measured' : t.energy_j, t.interval_j, joules, (t.covers || []).join(', ')), tile('Mean power', t.avg_power_w === null ? 'not measured' : t.avg_power_w, null, watts))),
      parts.length ? section('components', 'By component', figure(bars({label: 'Energy by component', print: joules, rows: parts.map(([name, e]) => ({name, value: e.energy_j, low: e.interval_j && e.interval_j[0], high: e.interval_j && e.interval_j[1]}))}), 'Lines are as far as reading in steps goes.')) : null,
      watch.length ? section('power', 'Power over time', figure(curves({label: 'Power over time', series: watch, x: {label: 'time', print: seconds}, y: {label: 'power', print: watts}, fromZero: true}), watch.map(x => x.name).join(', '))) : null,
      (r.regions || []).length ? section('regions', 'Regions', table('Regions', [['region', x => x.name], ['times', x => plain(x.count), 1], ['mean time', x => seconds(x.time_s.mean) + (x.time_s.interval95 ? ` (${range(seconds, x.time_s.interval95)})` : ''), 1],
        ['mean energy', x => joules(x.energy_j.mean) + (x.energy_j.interval95 ? ` (${range(joules, x.energy_j.interval95)})` : ''), 1], ['power', x => watts(x.avg_power_w), 1]], r.regions)) : null,
      (r.sensors || []).length ? section('sensors', 'Sensors', table('Sensors', columnsOf(r.sensors, ['name', 'component', 'device', 'energy_j', 'avg_power_w', 'peak_power_w', 'source']), r.sensors)) : null,
      (r.missing || []).length ? section('missing', 'Not measured', table('What could not be read', [['', x => x.name], ['why', x => x.why], ['what would help', x => x.help]], r.missing)) : null]};
}

/* ---- simulate ---- */

const METRICS = [['energy_j', wattHours], ['throughput_per_h', plain], ['censored_completion_s', seconds], ['mean_completion_s', seconds], ['energy_per_job_j', wattHours], ['miss_rate', percent], ['jain', plain], ['peak_power_w', watts], ['idle_energy_j', wattHours], ['utilisation', percent]];

function gantt(d, colours) {
  return drawing(width => {
    const left = 8, gpus = d.nodes.reduce((a, n) => a + n.gpus, 0), tall = Math.min(12, Math.max(2, 400 / gpus)), height = gpus * tall + 26;
    const svg = s('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': 'What ran where'}), tops = [];
    d.nodes.reduce((y, n) => (tops.push(y), y + n.gpus * tall), 0);
    d.nodes.forEach((n, i) => svg.append(s('rect', {x: left, y: tops[i], width: width - left - 4, height: n.gpus * tall - 1, class: 'nest'}, s('title', null, n.name))));
    const free = d.nodes.map(n => new Array(n.gpus).fill(-1)), x = t => left + t / d.end_s * (width - left - 8);
    for (const [node, count, start, end, kind, done] of [...d.spans].sort((a, b) => a[2] - b[2])) {
      const rows = free[node] || [], text = `${d.kinds[kind]}, ${count} GPU${count > 1 ? 's' : ''} of ${d.nodes[node] && d.nodes[node].name}: ${seconds(start)} to ${seconds(end)}${done ? '' : ', stopped'}`;
      let left = count;
      for (let row = 0; row < rows.length && left; row++) {
        if (rows[row] > start) continue;
        rows[row] = end;
        left--;
        svg.append(s('rect', {x: x(start), y: tops[node] + row * tall, width: Math.max(x(end) - x(start), 0.5), height: tall - 0.6, class: `f-${colours[kind % colours.length]}${done ? '' : ' hollow'}`, ...tells(text)}));
      }
    }
    const ticks = width > 520 ? 4 : 2;
    for (let i = 0; i <= ticks; i++) svg.append(s('text', {x: x(d.end_s * i / ticks), y: height - 6, 'text-anchor': i === ticks ? 'end' : i ? 'middle' : 'start'}, seconds(d.end_s * i / ticks)));
    return svg;
  });
}

// "12 +- 3": a mean, with one deviation over runs.
const spread = (v, print) => Number.isFinite(v.mean) ? print(v.mean) + (v.sd > 1e-12 * Math.abs(v.mean) ? ` +- ${print(v.sd)}` : '') : '-';

const OF_GPUS = [['utilisation', 'used', percent], ['energy_j', 'energy', wattHours], ['jobs_energy_j', 'of jobs', wattHours], ['n_starts', 'starts', plain], ['gpus_per_job', 'GPUs a job', plain]];

function simulateView(r) {
  const ps = r.policies, colours = ['gemm', 'memory', 'optimizer', 'power', 'conv', 'communication', 'alu', 'fixed'];
  const value = (p, k) => p.outcome[k] || {mean: NaN};
  const trade = (key, print) => h('figure', null, scatter({label: `Energy over ${nameOf(key)}`, points: ps.filter(p => Number.isFinite(value(p, key).mean)).map((p, i) => { const a = value(p, key), e = value(p, 'energy_j');
    return {x: a.mean, y: e.mean, xlow: a.mean - a.sd, xhigh: a.mean + a.sd, ylow: e.mean - e.sd, yhigh: e.mean + e.sd, name: p.name, shape: shapes[i % 5], r: 5, text: `${p.name}: ${print(a.mean)}, ${wattHours(e.mean)}`}; }),
    x: {label: nameOf(key).toLowerCase(), print}, y: {label: 'energy', print: wattHours}}), h('figcaption', null, 'A point for each policy, with one deviation over runs to all sides.'));
  const drawn = r.drawn || [], byGpu = ps.flatMap(p => (p.by_gpu || []).map(g => ({policy: p.name, ...g})));
  return {title: 'Simulated policies', lead: `${ps.length} ${ps.length > 1 ? 'policies' : 'policy'}, ${(r.seeds || r.windows || []).length} runs each. Simulated, not measured.`,
    body: [warningsOf(r), (r.recommendations || []).length ? section('aims', 'Which policy for which aim', table('Aims', [['aim', x => x.aim], ['policy', x => x.policy || '-'], ['why', x => x.why]], r.recommendations)) : null,
      section('results', 'Results', table('Means, with one deviation over runs', [['policy', p => p.name], ...METRICS.filter(([k]) => ps.some(p => Number.isFinite(value(p, k).mean))).map(([k, print]) => [nameOf(k), p => spread(value(p, k), print), 1])], ps),
      (r.pairs || []).length ? table('Against the first, run by run', [['policies', x => `${x.b} against ${x.a}`], ['', x => nameOf(x.metric)], ['change', x => Number.isFinite(x.percent) ? change(x.percent / 100) : '-', 1],
        ['95 %', x => x.percent_interval95 ? range(v => change(v / 100), x.percent_interval95) : '-', 1]], r.pairs.filter(x => METRICS.slice(0, 6).some(([k]) => k === x.metric))) : null),
      byGpu.length ? section('by-gpu', 'By type of GPU', table('What each type of GPU did', [['policy', x => x.policy], ['GPU', x => x.gpu], ...OF_GPUS.map(([k, name, print]) => [name, x => spread(x[k], print), 1])], byGpu)) : null,
      section('trade-offs', 'What energy buys', trade('throughput_per_h', plain), trade('censored_completion_s', seconds)),
      drawn.length ? [section('power', 'Power over time', drawn.map(d => [h('h3', null, d.policy), curves({label: `Power of the cluster under ${d.policy}`, height: 160, fromZero: true, level: r.cap_w, series: [{name: d.policy, steps: true, points: d.power.map(([x, y]) => ({x, y, text: `${seconds(x)}: ${watts(y)}`}))}],
        x: {label: 'time', print: seconds}, y: {label: 'power', print: watts, ...(Number.isFinite(r.cap_w) ? {high: Math.max(r.cap_w, ...d.power.map(p => p[1])) * 1.05} : {})}})]), h('p', null, Number.isFinite(r.cap_w) ? `The line is the cap, ${watts(r.cap_w)}.` : '')),
      section('gantt', 'What ran where', drawn.map(d => h('figure', null, h('h3', null, d.policy), gantt(d, colours), legend(d.kinds.slice(0, 8).map((k, i) => [colours[i], k])), h('figcaption', null, 'A row is a GPU, a rectangle a run; pale ones were stopped before their end.' +
        (d.left_out ? ` The ${d.left_out} smallest runs are left out.` : '')))))] : null]};
}

/* ---- attribute ---- */

function attributeView(r) {
  const groups = r.groups || [], series = r.series, m = r.model || {}, top = series ? series.energy_j.slice(0, 6) : [];
  const said = Number.isFinite(m.test_r2) ? `On intervals that the model has not seen it explains ${percent(m.test_r2)} of the variance and is ${percent(m.test_mae_percent / 100)} off.` : '';
  return {title: `Whose joules: ${m.host || 'a node'}`, lead: `By ${r.by}; ${seconds(r.time_s)}, ${joules(r.total_j)}. ${said}`,
    body: [warningsOf(r), section('groups', 'Who took it', figure(bars({label: 'Energy by group', print: joules, rows: groups.slice(0, 20).map(g => ({name: g.name, value: g.energy_j, low: g.share_interval && g.share_interval[0] * r.total_j, high: g.share_interval && g.share_interval[1] * r.total_j, note: percent(g.share)}))}),
      `Lines are ${m.level ? percent(m.level) : ''} intervals of the shares.`), table('Groups', [['', g => g.name], ['energy', g => joules(g.energy_j), 1], ['share', g => percent(g.share) + (g.share_interval ? ` (${range(percent, g.share_interval)})` : ''), 1], ['CPU time', g => seconds(g.cpu_time_s), 1], ['processes', g => plain(g.processes), 1]], groups, 100)),
    series ? section('series', 'Power over time', h('figure', null, curves({label: 'Power of groups over time', height: 280, fromZero: true, x: {label: 'time', print: seconds}, y: {label: 'power', print: watts},
      series: top.map(g => ({name: g.name, points: g.values.map((v, i) => ({x: i * series.step_s, y: v / series.step_s, text: `${g.name}, ${seconds(i * series.step_s)}: ${watts(v / series.step_s)}`}))}))}),
    h('ul', {class: 'legend'}, top.map((g, i) => h('li', null, s('svg', {width: 22, height: 10, 'aria-hidden': 'true'}, s('path', {d: 'M0 5h22', class: 'curve c-' + i})), g.name))))) : null]};
}

/* ---- compare ---- */

function compareView(r) {
  const rows = r.rows || [], amount = (x, v) => v === null || v === undefined ? '-' : ({s: seconds, W: watts, J: joules}[x.unit] || (y => `${plain(y)} ${x.unit || ''}`.trim()))(v);
  const side = key => x => x[key] ? amount(x, x[key].value) + (x[key].interval && x[key].interval.every(Number.isFinite) ? ` (${range(v => amount(x, v), x[key].interval)})` : '') + `, ${x[key].origin}` : 'not in the file';
  return {title: 'Two results side by side', lead: ['a', 'b'].filter(k => r[k]).map(k => `${k.toUpperCase()}: ${r[k].what || fileName(r[k].path)} (${r[k].kind})`).join('; ') + '.',
    body: [warningsOf(r), r.goal ? section('goals', r.goal.passed ? 'All goals are reached' : 'Not all goals are reached', table('Goals', [['goal', x => nameOf(x.metric)], ['change', x => change(x.change_percent / 100), 1],
      ['95 %', x => x.interval95_percent ? range(v => change(v / 100), x.interval95_percent) : '-', 1], ['needed', x => `${change(x.needed_percent / 100)} or ${x.direction === 'lower' ? 'less' : 'more'}`, 1], ['origin', x => x.origin], ['verdict', x => x.passed ? 'pass' : 'fail']], r.goal.goals),
      r.goal.is_validation ? null : h('p', null, 'Not all of it was measured: this is no validation.')) : null,
      section('rows', 'Differences', table('Differences', [['number', x => nameOf(x.name)], ['A', side('a'), 1], ['B', side('b'), 1], ['B against A', x => Number.isFinite(x.percent) ? change(x.percent / 100) : '-', 1],
        ['95 %', x => x.difference_interval95 ? range(v => amount(x, v), x.difference_interval95) : '-', 1]], rows))]};
}

/* ---- which is it? ---- */

const VIEWS = [[r => r.kind === 'measured', measureView], [r => r.kind === 'simulated' || (r.policies && r.pairs), simulateView], [r => r.kind === 'attribution' || (r.groups && r.total_j !== undefined), attributeView], [r => r.kind === 'comparison', compareView],
  [r => r.points && r.vary, sweepView], [r => r.layouts && r.asked, planView], [r => r.old && r.new && r.layers, diffView], [r => r.in_sample || r.held_out_schemes, calibrateView], [r => r.overall && r.rows, evaluateView],
  [r => r.step_time_s !== undefined && r.time && r.model, stepView]];

export function viewOf(r) {
  const found = VIEWS.find(([is]) => is(r));
  return found ? found[1](r) : null;
}

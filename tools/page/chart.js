// Charts with axes: curves with their bands, points with their intervals, maps, bars.
import {h, s, drawing, tells, tip} from './dom.js';
import {plain} from './text.js';

const LEFT = 86, RIGHT = 14, TOP = 12, BOTTOM = 42;

function ticks(low, high, most, log) {
  if (log) {
    const out = [], step = Math.ceil(Math.log10(high / low) / most) || 1;
    for (let e = Math.ceil(Math.log10(low) - 1e-9); e <= Math.log10(high) + 1e-9; e += step) out.push(10 ** e);
    return out.length > 1 ? out : [low, high];
  }
  const raw = (high - low) / most || 1, size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map(f => f * size).find(f => f >= raw);
  const out = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; i++) out.push(i * step);
  return out;
}

// axis: {low, high, label, print, log, words}. @return {svg, x, y, width, height}: pixels of numbers, and where to draw
export function frame(width, height, x, y, label) {
  const left = LEFT, right = width - RIGHT, bottom = height - BOTTOM;
  const place = (axis, from, to) => axis.log
    ? v => from + (Math.log(v / axis.low) / Math.log(axis.high / axis.low)) * (to - from)
    : v => from + (axis.high > axis.low ? (v - axis.low) / (axis.high - axis.low) : 0.5) * (to - from);
  const px = place(x, left, right), py = place(y, bottom, TOP);
  const svg = s('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'img', 'aria-label': label});
  for (const v of ticks(y.low, y.high, Math.max(height / 55, 2), y.log)) {
    svg.append(s('line', {x1: left, x2: right, y1: py(v), y2: py(v), class: 'grid'}),
      s('text', {x: left - 6, y: py(v) + 4, 'text-anchor': 'end'}, y.print(v)));
  }
  const at = x.words ? x.words.map((_, i) => i) : ticks(x.low, x.high, Math.max(width / 110, 2), x.log);
  const every = x.words ? Math.ceil(at.length * 90 / (right - left)) : 1;
  at.forEach((v, i) => {
    if (i % every) return;
    const end = px(v) > right - 24 ? 'end' : px(v) < left + 8 ? 'start' : 'middle';
    svg.append(s('line', {x1: px(v), x2: px(v), y1: bottom, y2: bottom + 4, class: 'axis'}),
      s('text', {x: px(v), y: bottom + 17, 'text-anchor': end}, x.words ? x.words[v] : x.print(v)));
  });
  svg.append(s('line', {x1: left, x2: right, y1: bottom, y2: bottom, class: 'axis'}),
    s('text', {x: (left + right) / 2, y: height - 6, 'text-anchor': 'middle', class: 'label'}, x.label),
    s('text', {x: 0, y: 0, transform: `translate(13 ${(TOP + bottom) / 2}) rotate(-90)`, 'text-anchor': 'middle', class: 'label'}, y.label));
  return {svg, x: px, y: py, left, right, top: TOP, bottom};
}

export function ends(values, room, fromZero) {
  const known = values.filter(Number.isFinite);
  let low = Math.min(...known), high = Math.max(...known);
  if (!known.length) low = 0, high = 1;
  const more = (high - low || Math.abs(high) || 1) * room;
  return {low: fromZero ? Math.min(0, low) : low >= 0 ? Math.max(low - more, 0) : low - more, high: high + more};
}

const path = points => points.map(([x, y], i) => (i ? 'L' : 'M') + x.toFixed(1) + ' ' + y.toFixed(1)).join('');
export const shapes = ['circle', 'square', 'triangle', 'diamond', 'cross'];

export function mark(shape, x, y, r) {
  const d = {square: `M${x - r} ${y - r}h${2 * r}v${2 * r}h${-2 * r}z`, triangle: `M${x} ${y - r * 1.2}l${r * 1.15} ${r * 2}h${-r * 2.3}z`,
    diamond: `M${x} ${y - r * 1.3}l${r * 1.3} ${r * 1.3}l${-r * 1.3} ${r * 1.3}l${-r * 1.3} ${-r * 1.3}z`,
    cross: `M${x - r} ${y - r}l${2 * r} ${2 * r}M${x - r} ${y + r}l${2 * r} ${-2 * r}`}[shape];
  return d ? s('path', {d}) : s('circle', {cx: x, cy: y, r});
}

// series: [{name, points: [{x, y, low, high, text}]}]; marks: [{x, name}]. Arrow keys walk from point to point.
export function curves(o) {
  return drawing(width => {
    const all = o.series.flatMap(c => c.points), height = o.height || 230;
    const x = {...ends(all.map(p => p.x), 0), ...o.x}, y = {...ends(all.flatMap(p => [p.y, p.low, p.high]), 0.06, o.fromZero), ...o.y};
    if (x.words) x.low = -0.4, x.high = x.words.length - 0.6;
    const f = frame(width, height, x, y, o.label);
    o.series.forEach((c, i) => {
      const band = c.points.filter(p => Number.isFinite(p.low) && Number.isFinite(p.high));
      if (band.length > 1) f.svg.append(s('path', {class: 'band b-' + i % 6,
        d: path(band.map(p => [f.x(p.x), f.y(p.high)])) + path(band.map(p => [f.x(p.x), f.y(p.low)]).reverse()).replace('M', 'L') + 'z'}));
    });
    for (const m of o.marks || []) {
      if (!(m.x >= x.low && m.x <= x.high)) continue;
      f.svg.append(s('line', {x1: f.x(m.x), x2: f.x(m.x), y1: f.top, y2: f.bottom, class: 'mark m-' + m.dash}, s('title', null, m.name)));
    }
    if (Number.isFinite(o.level)) f.svg.append(s('line', {x1: f.left, x2: f.right, y1: f.y(o.level), y2: f.y(o.level), class: 'level'}));
    o.series.forEach((c, i) => {
      const known = c.points.filter(p => Number.isFinite(p.y));
      f.svg.append(s('path', {d: c.steps ? path(known.flatMap((p, j) => j ? [[f.x(p.x), f.y(known[j - 1].y)], [f.x(p.x), f.y(p.y)]] : [[f.x(p.x), f.y(p.y)]]))
        : path(known.map(p => [f.x(p.x), f.y(p.y)])), class: 'curve c-' + i % 6}));
      if (known.length <= 40 && !c.steps) known.forEach(p => {
        const m = mark(shapes[i % 5], f.x(p.x), f.y(p.y), 3);
        m.setAttribute('class', 'dot c-' + i % 6 + (p.hollow ? ' hollow' : ''));
        f.svg.append(m);
      });
    });
    const near = all.filter(p => Number.isFinite(p.y));
    const cursor = s('line', {y1: f.top, y2: f.bottom, class: 'cursor', visibility: 'hidden'});
    let at = 0;
    const tell = (event, p) => {
      cursor.setAttribute('visibility', 'visible');
      cursor.setAttribute('x1', f.x(p.x));
      cursor.setAttribute('x2', f.x(p.x));
      tip(event, p.text);
    };
    f.svg.append(cursor);
    f.svg.setAttribute('tabindex', 0);
    f.svg.addEventListener('pointermove', event => {
      if (!near.length) return;
      const box = f.svg.getBoundingClientRect(), mx = event.clientX - box.left, my = event.clientY - box.top;
      tell(event, near.reduce((a, b) => Math.hypot(f.x(a.x) - mx, (f.y(a.y) - my) / 4) <= Math.hypot(f.x(b.x) - mx, (f.y(b.y) - my) / 4) ? a : b));
    });
    f.svg.addEventListener('pointerleave', event => (cursor.setAttribute('visibility', 'hidden'), tip(event)));
    f.svg.addEventListener('blur', event => (cursor.setAttribute('visibility', 'hidden'), tip(event)));
    f.svg.addEventListener('keydown', event => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      event.preventDefault();
      at = (at + (event.key === 'ArrowRight' ? 1 : near.length - 1)) % near.length;
      tell(event, near[at]);
    });
    return f.svg;
  });
}

// points: [{x, y, xlow, xhigh, ylow, yhigh, r, shape, kind, name, text, hollow}], lines: [[[x, y], ...]]
export function scatter(o) {
  return drawing(width => {
    const height = o.height || 340;
    const values = key => o.points.flatMap(p => [p[key], p[key + 'low'], p[key + 'high']]);
    const x = {...ends(values('x'), 0.05), ...o.x}, y = {...ends(values('y'), 0.08), ...o.y};
    for (const axis of [x, y]) if (axis.log) axis.low = Math.max(axis.low, axis.high * 1e-9);
    const f = frame(width, height, x, y, o.label), taken = [];
    for (const line of o.lines || []) {
      f.svg.append(s('path', {d: path(line.points.map(([a, b]) => [f.x(a), f.y(b)])), class: 'line ' + (line.kind || '')}));
      if (!line.name) continue;
      const [a, b] = line.points[line.points.length - 1];
      f.svg.append(s('text', {x: Math.min(f.x(a), f.right) - 4, y: f.y(b) - 5, 'text-anchor': 'end'}, line.name));
      taken.push([f.x(a) - 150, f.y(b) - 16, 150, 14]);
    }
    for (const p of o.points) {
      if (Number.isFinite(p.xlow)) f.svg.append(s('line', {x1: f.x(p.xlow), x2: f.x(p.xhigh), y1: f.y(p.y), y2: f.y(p.y), class: 'whisker'}));
      if (Number.isFinite(p.ylow)) f.svg.append(s('line', {x1: f.x(p.x), x2: f.x(p.x), y1: f.y(p.ylow), y2: f.y(p.yhigh), class: 'whisker'}));
    }
    const many = o.points.length > 60;
    for (const p of o.points) {
      const m = mark(p.shape, f.x(p.x), f.y(p.y), p.r || 4), listens = tells(p.text);
      m.setAttribute('class', `dot f-${p.kind || 'gemm'}${p.hollow ? ' hollow' : ''}`);
      if (!many) m.setAttribute('tabindex', 0), m.setAttribute('role', 'img'), m.setAttribute('aria-label', p.text);
      for (const [name, listen] of Object.entries(listens)) m.addEventListener(name.slice(2), listen);
      f.svg.append(m);
    }
    for (const p of o.points.filter(p => p.name)) { // names where nothing else stands
      const w = 6.4 * p.name.length, r = p.r || 4, places = [[f.x(p.x) + r + 3, f.y(p.y) - 7], [f.x(p.x) - r - 3 - w, f.y(p.y) - 7],
        [f.x(p.x) - w / 2, f.y(p.y) - r - 16], [f.x(p.x) - w / 2, f.y(p.y) + r + 2]];
      const free = places.find(([a, b]) => a > f.left && a + w < f.right && b > f.top - 8 && b + 14 < f.bottom &&
        taken.every(t => a + w < t[0] || a > t[0] + t[2] || b + 14 < t[1] || b > t[1] + t[3]));
      if (!free) continue;
      taken.push([free[0], free[1], w, 14]);
      f.svg.append(s('text', {x: free[0], y: free[1] + 11}, p.name));
    }
    return f.svg;
  });
}

// rows of cells {value, text, hollow}; lighter is less
export function heatMap(o) {
  return drawing(width => {
    const known = o.cells.flat().filter(c => c && Number.isFinite(c.value)).map(c => c.value), low = Math.min(...known), high = Math.max(...known);
    const left = LEFT + 6, cell = Math.min((width - left - RIGHT) / o.xs.length, 90), tall = Math.min(Math.max(320 / o.ys.length, 16), 34);
    const height = o.ys.length * tall + 46, top = 4;
    const svg = s('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': o.label});
    o.ys.forEach((name, j) => svg.append(s('text', {x: left - 6, y: top + j * tall + tall / 2 + 4, 'text-anchor': 'end'}, name)));
    const every = Math.ceil(o.xs.length * 46 / (cell * o.xs.length));
    o.xs.forEach((name, i) => i % every === 0 && svg.append(s('text', {x: left + (i + 0.5) * cell, y: top + o.ys.length * tall + 16, 'text-anchor': 'middle'}, name)));
    svg.append(s('text', {x: left + o.xs.length * cell / 2, y: height - 6, 'text-anchor': 'middle', class: 'label'}, o.xLabel),
      s('text', {transform: `translate(12 ${top + o.ys.length * tall / 2}) rotate(-90)`, 'text-anchor': 'middle', class: 'label'}, o.yLabel));
    o.cells.forEach((row, j) => row.forEach((c, i) => {
      if (!c) return;
      const share = high > low ? (c.value - low) / (high - low) : 0.5, missing = !Number.isFinite(c.value);
      const x = left + i * cell, y = top + j * tall;
      svg.append(s('rect', {x, y, width: cell - 1, height: tall - 1, class: missing ? 'missing' : 'heat h-' + Math.min(Math.floor(share * 9), 8),
        tabindex: 0, role: 'img', 'aria-label': c.text, ...tells(c.text)}));
      if (c.hollow) svg.append(s('path', {d: `M${x + 3} ${y + 3}l${cell - 7} ${tall - 7}`, class: 'cursor'}));
      if (cell > 52 && tall > 15 && !missing) svg.append(s('text', {x: x + cell / 2, y: y + tall / 2 + 4, 'text-anchor': 'middle', class: 'on-' + (share > 0.5 ? 'dark' : 'light')}, c.short));
    }));
    return svg;
  });
}

// One bar of parts: {name, value, kind}; a mark at some value of the same scale.
export function parts(o) {
  return drawing(width => {
    const shown = o.parts.filter(p => p.value > 0), sum = o.scale || shown.reduce((a, p) => a + p.value, 0);
    const svg = s('svg', {viewBox: `0 0 ${width} 48`, width, height: 48, role: 'group', 'aria-label': o.label});
    let x = 1;
    for (const p of shown) {
      const w = p.value / sum * (width - 2), text = `${p.name}: ${o.print(p.value)}`;
      svg.append(s('rect', {x, y: 8, width: Math.max(w, 0.5), height: 30, class: 'part f-' + p.kind, tabindex: 0, role: 'img', 'aria-label': text, ...tells(text)}));
      svg.append(s('rect', {x, y: 8, width: Math.max(w, 0.5), height: 30, fill: `url(#hatch-${p.kind})`, 'pointer-events': 'none'}));
      if (w > 7 * p.name.length + 8) svg.append(s('text', {x: x + 5, y: 28, class: 't-' + p.kind}, p.name));
      x += w;
    }
    if (o.mark <= sum * 1.0001) svg.append(s('line', {x1: 1 + o.mark / sum * (width - 2), x2: 1 + o.mark / sum * (width - 2), y1: 2, y2: 46, class: 'level'}));
    return svg;
  });
}

// Rows of one number each, with its interval: {name, value, low, high, kind}.
export function bars(o) {
  return drawing(width => {
    const names = Math.min(Math.max(...o.rows.map(r => r.name.length)) * 6.6 + 10, width * 0.4), print = o.print || plain;
    const low = Math.min(0, ...o.rows.map(r => r.low ?? r.value)), high = Math.max(0, ...o.rows.map(r => r.high ?? r.value)) || 1;
    const place = v => names + (v - low) / (high - low) * (width - names - 86), tall = 22;
    const svg = s('svg', {viewBox: `0 0 ${width} ${o.rows.length * tall + 4}`, width, height: o.rows.length * tall + 4, role: 'group', 'aria-label': o.label});
    o.rows.forEach((r, i) => {
      const y = i * tall, text = `${r.name}: ${print(r.value)}` + (Number.isFinite(r.low) ? `, ${print(r.low)} to ${print(r.high)}` : '') + (r.note ? `, ${r.note}` : '');
      const cut = Math.floor(names / 6.6);
      svg.append(s('text', {x: names - 6, y: y + 15, 'text-anchor': 'end'}, r.name.length > cut ? r.name.slice(0, cut - 1) + '~' : r.name),
        s('rect', {x: Math.min(place(0), place(r.value)), y: y + 3, width: Math.max(Math.abs(place(r.value) - place(0)), 1), height: 15,
          class: 'part f-' + (r.kind || 'gemm'), tabindex: 0, role: 'img', 'aria-label': text, ...tells(text)}));
      if (Number.isFinite(r.low)) svg.append(s('line', {x1: place(r.low), x2: place(r.high), y1: y + 10.5, y2: y + 10.5, class: 'whisker'}));
      svg.append(s('text', {x: Math.max(place(r.value), Number.isFinite(r.high) ? place(r.high) : 0, place(0)) + 5, y: y + 15}, print(r.value)));
    });
    return svg;
  });
}

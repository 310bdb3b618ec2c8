// Area is time or energy. Rectangles nest as modules do; one is entered by a click or Enter, and left by the trail above.
import {h, s, drawing, tells, legend, choice} from './dom.js';
import {percent} from './text.js';

const node = (name, full) => ({name, full, value: 0, kinds: {}, children: new Map()});

function add(parent, name, full, value, kind) {
  if (!parent.children.has(name)) parent.children.set(name, node(name, full));
  const child = parent.children.get(name);
  child.value += value;
  child.kinds[kind] = (child.kinds[kind] || 0) + value;
  return child;
}

// rows: {path, kind, bound} with the number `key`; extra: what belongs to no module
export function treeOf(rows, extra, key) {
  const root = node('', 'the step');
  for (const row of rows) {
    const value = row[key];
    if (!(value > 0)) continue;
    root.value += value;
    let at = root, full = '';
    for (const name of row.path === null ? ['all other operators'] : row.path === '' ? [] : row.path.split('.')) {
      full = full ? full + '.' + name : name;
      at = add(at, name, full, value, row.bound || 'other');
    }
    if (row.path !== null) add(at, row.kind + ' ', (full || 'the model') + ', ' + row.kind, value, row.bound);
  }
  for (const [name, value, kind] of extra) if (value > 0) root.value += value, add(root, name + ' ', name, value, kind);
  return root;
}

const kindOf = n => Object.entries(n.kinds).reduce((a, b) => b[1] > a[1] ? b : a, ['other', 0])[0];

// Names of modules that hold one thing only are drawn as one: "encoder.layers".
function merged(n) {
  let name = n.name;
  while (n.children.size === 1) {
    const [only] = n.children.values();
    if (only.name.endsWith(' ')) return {...n, name, children: new Map()};
    name = name ? name + '.' + only.name : only.name;
    n = only;
  }
  return {...n, name};
}

// Squarified (Bruls, Huizing and van Wijk 2000).
function squarify(children, x, y, w, h, place) {
  const total = children.reduce((a, c) => a + c.value, 0);
  let rest = [...children].sort((a, b) => b.value - a.value), left = total;
  while (rest.length && w > 0.5 && h > 0.5) {
    const short = Math.min(w, h), scale = w * h / left;
    const worst = (sum, most, least) => Math.max(short * short * most / (sum * sum), sum * sum / (short * short * least));
    let n = 1, sum = rest[0].value * scale;
    const first = sum;
    while (n < rest.length) {
      const area = rest[n].value * scale;
      if (worst(sum + area, first, area) > worst(sum, first, rest[n - 1].value * scale)) break;
      sum += area;
      n++;
    }
    const thick = sum / short;
    let at = 0;
    for (const c of rest.slice(0, n)) {
      const length = c.value * scale / thick;
      if (w >= h) place(c, x, y + at, thick, length);
      else place(c, x + at, y, length, thick);
      at += length;
      left -= c.value;
    }
    if (w >= h) x += thick, w -= thick;
    else y += thick, h -= thick;
    rest = rest.slice(n);
  }
}

function draw(root, total, print, width, enter) {
  const height = Math.max(Math.min(width * 0.55, 520), 260);
  const svg = s('svg', {viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': 'Treemap of ' + root.full});
  const put = (raw, x, y, w, hh, depth, top) => {
    if (w < 1 || hh < 1) return;
    const n = merged(raw), kind = kindOf(n), kids = [...n.children.values()];
    const owner = top || raw, text = `${n.full}: ${print(n.value)}, ${percent(n.value / total)} of the step`;
    const listens = tells(text), open = () => owner.children.size && enter(owner);
    const nests = kids.length > 1 && w > 44 && hh > 34 && depth < 9;
    svg.append(s('rect', {x, y, width: Math.max(w - 1, 0.5), height: Math.max(hh - 1, 0.5), class: nests ? 'nest' : 'cell f-' + kind, onclick: open, ...listens,
      ...(depth === 0 ? {tabindex: 0, role: owner.children.size ? 'button' : 'img', 'aria-label': text,
        onkeydown: e => (e.key === 'Enter' || e.key === ' ') && (e.preventDefault(), open())} : {})}));
    if (!nests && w > 6 && hh > 6) svg.append(s('rect', {x, y, width: w - 1, height: hh - 1, fill: `url(#hatch-${kind})`, 'pointer-events': 'none'}));
    const room = Math.floor((w - 8) / 7.6), name = n.name.trim();
    if (hh > 15 && room >= Math.min(name.length, 3)) {
      svg.append(s('text', {x: x + 4, y: y + 12, class: nests ? '' : 't-' + kind, 'pointer-events': 'none'}, name.length > room ? name.slice(0, Math.max(room - 1, 1)) + '~' : name));
      if (!nests && hh > 32 && room >= 6) svg.append(s('text', {x: x + 4, y: y + 26, class: 't-' + kind, 'pointer-events': 'none'}, percent(n.value / total)));
    }
    if (nests) squarify(kids, x + 2, y + 16, w - 5, hh - 19, (c, a, b, cw, ch) => put(c, a, b, cw, ch, depth + 1, owner));
  };
  squarify([...root.children.values()], 0, 0, width, height, (c, x, y, w, hh) => put(c, x, y, w, hh, 0, null));
  return svg;
}

// what: [[key, label, print, extra]]: the numbers that an area can be
export function treemap(rows, what) {
  const trail = h('p', {class: 'trail'}), host = h('div');
  let [key, , print, extra] = what[0], root, stack;
  const show = () => {
    const here = stack[stack.length - 1];
    trail.replaceChildren(...stack.map((n, i) => i === stack.length - 1 ? h('strong', null, merged({...n, children: new Map()}).name || 'the step')
      : [h('button', {type: 'button', onclick: () => (stack.length = i + 1, show())}, n.name || 'the step'), ' / ']).flat(), ` ${print(here.value)}`);
    host.replaceChildren(drawing(width => draw(here, root.value, print, width, n => (stack.push(deep(n)), show()))));
  };
  const deep = n => {
    while (n.children.size === 1 && ![...n.children.values()][0].name.endsWith(' ')) [n] = n.children.values();
    return n;
  };
  const begin = () => {
    root = treeOf(rows, extra, key);
    stack = [root];
    show();
  };
  begin();
  const kinds = [['compute', 'arithmetic'], ['memory', 'memory'], ['launch', 'host'], ['communication', 'communication'], ['optimizer', 'optimizer'], ['fixed', 'fixed']];
  return h('figure', null, what.length > 1 && choice('What an area is', what.map(([k, label]) => [k, label]), key, k => {
    [key, , print, extra] = what.find(([name]) => name === k);
    begin();
  }), trail, host, legend(kinds.filter(([k]) => k in root.kinds || [...root.children.values()].some(n => n.kinds[k]))),
  h('figcaption', null, 'A rectangle is a module, inside the module that contains it; a click or Enter opens it. Braces group equal modules. The colour says what limits most of its time.'));
}

// Elements. All text goes in as text: what a file calls itself never becomes markup.

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  for (const child of children.flat(3)) if (child !== null && child !== undefined && child !== false) element.append(child);
  return element;
}

export const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
export const s = (tag, attributes, ...children) => fill(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);

export function section(id, title, ...children) {
  return h('section', {id, 'aria-labelledby': id + '-title'}, h('h2', {id: id + '-title'}, title), children);
}

// A figure is drawn for the width that it has, again when that changes, and once more for paper.
const drawn = new Set();
const sizes = typeof ResizeObserver === 'undefined' ? null : new ResizeObserver(entries => entries.forEach(e => redraw(e.target)));

function redraw(element, width) {
  const now = Math.max(Math.round(width || element.clientWidth || 900), 280);
  if (element.adeptWidth === now) return;
  element.adeptWidth = now;
  element.replaceChildren(element.adeptDraw(now));
}

addEventListener('beforeprint', () => drawn.forEach(e => e.isConnected ? redraw(e, 680) : drawn.delete(e)));
addEventListener('afterprint', () => drawn.forEach(e => redraw(e)));

export function drawing(draw) {
  const element = h('div', {class: 'drawing'});
  element.adeptDraw = draw;
  drawn.add(element);
  if (sizes) sizes.observe(element);
  else requestAnimationFrame(() => redraw(element));
  return element;
}

export const figure = (picture, caption) => h('figure', null, picture, caption && h('figcaption', null, caption));

// columns: [title, row => text or node, isNumber]
export function table(caption, columns, rows, most) {
  const shown = most ? rows.slice(0, most) : rows;
  return h('div', {class: 'wide', tabindex: 0, role: 'group', 'aria-label': caption},
    h('table', null, h('caption', null, caption + (shown.length < rows.length ? ` (the first ${shown.length} of ${rows.length})` : '')),
      h('thead', null, h('tr', null, columns.map(([title, , number]) => title ? h('th', {scope: 'col', class: number && 'n'}, title) : h('td')))),
      h('tbody', null, shown.map(row => h('tr', null, columns.map(([, cell, number], i) =>
        h(i === 0 ? 'th' : 'td', {scope: i === 0 ? 'row' : null, class: number && 'n'}, cell(row))))))));
}

// Buttons of which one is pressed.
export function choice(label, options, value, take) {
  const buttons = options.map(([key, text]) => h('button', {type: 'button', 'aria-pressed': key === value ? 'true' : 'false', onclick: () => {
    buttons.forEach((b, i) => b.setAttribute('aria-pressed', options[i][0] === key ? 'true' : 'false'));
    take(key);
  }}, text));
  return h('div', {class: 'choice', role: 'group', 'aria-label': label}, buttons);
}

export function legend(items) {
  return h('ul', {class: 'legend'}, items.map(([key, text]) =>
    h('li', null, s('svg', {width: 14, height: 14, 'aria-hidden': 'true'}, s('rect', {width: 14, height: 14, class: 'f-' + key}),
      s('rect', {width: 14, height: 14, fill: `url(#hatch-${key})`})), text)));
}

// Hatches, for those who do not tell colours apart, once for all pictures of the page.
export function hatches() {
  const paths = {memory: 'M-2 10 10 -2M-2 2 2 -2M6 10 10 6', launch: 'M3 4h2', communication: 'M0 0 8 8M0 8 8 0', optimizer: 'M4 0v8',
    conv: 'M-2 -2 10 10M6 -2 10 2M-2 6 2 10', backward: 'M0 4h8', alu: 'M2 2h1M6 6h1'};
  return s('svg', {width: 0, height: 0, 'aria-hidden': 'true', class: 'hatches'}, s('defs', null, Object.entries(paths).map(([name, d]) =>
    s('pattern', {id: 'hatch-' + name, width: 8, height: 8, patternUnits: 'userSpaceOnUse'}, s('path', {d, class: 'hatch'})))));
}

// One for the page: what is under the pointer, or has the focus.
let note;
export function tip(event, text) {
  if (!note) document.body.append(note = h('div', {class: 'tip', role: 'status', hidden: true}));
  note.hidden = !text;
  if (!text) return;
  note.textContent = text;
  const box = event.clientX === undefined || event.type.startsWith('focus') || event.type.startsWith('key')
    ? event.target.getBoundingClientRect() : {left: event.clientX, bottom: event.clientY};
  note.style.left = Math.min(box.left + 12, innerWidth - note.offsetWidth - 8) + scrollX + 'px';
  note.style.top = box.bottom + 14 + scrollY + 'px';
}
export const tells = text => ({onpointermove: e => tip(e, text), onpointerleave: e => tip(e), onfocus: e => tip(e, text), onblur: e => tip(e)});

// What is shown: the result that the file carries, or, on a server, what is asked.
import {h, hatches} from './dom.js';
import {viewOf} from './views.js';
import {live} from './live.js';

const main = document.getElementById('page'), result = document.getElementById('result');

function show(r) {
  const view = viewOf(r), tables = h('details', {class: 'all'}, h('summary', null, 'All numbers as tables'));
  if (!view) return;
  tables.append(...[...main.childNodes].filter(n => n.localName !== 'h1'));
  main.replaceChildren(h('h1', null, view.title), h('p', {class: 'lead'}, view.lead), ...view.body.flat(3).filter(Boolean), tables);
}

document.body.prepend(hatches());
if (result) show(JSON.parse(result.textContent));
else live(main);
//]]>

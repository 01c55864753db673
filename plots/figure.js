// How does a figure live on the page? Drawn when it comes into view, again when what it shows has
// changed; a table of its rows stands behind "Show data".
'use strict';

// An element; children: elements or texts, which are never read as HTML.
function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made && key !== 'list')
      made[key] = value;
    else
      made.setAttribute(key, value);
  }
  made.append(...children.filter((c) => c !== null && c !== undefined));
  return made;
}

const leftColumns = new Set(['cell', 'ranks', 'verb', 'by', 'queue', 'phase', 'run', 'rank']);
function dataTable(columns, lines) {
  const side = (i) => (i === 0 || leftColumns.has(columns[i]) ? 'left' : '');
  return element(
      'table', {},
      element(
          'thead', {},
          element(
              'tr', {},
              ...columns.map(
                  (c, i) =>
                      element('th', {scope: 'col', className: side(i)}, c.replace(/_/g, ' '))))),
      element(
          'tbody', {},
          ...lines.map(
              (line) => element(
                  'tr', {},
                  ...line.map((value, i) => element('td', {className: side(i)}, String(value)))))));
}

function showTip(handler, event, item, value) {
  const tip = document.getElementById('tip');
  tip.hidden = value === null || value === undefined || value === '';
  if (tip.hidden) return;
  tip.textContent = value;
  const {width, height} = tip.getBoundingClientRect();
  tip.style.left = `${Math.max(8, Math.min(event.clientX + 14, innerWidth - width - 8))}px`;
  tip.style.top = `${
      event.clientY + 18 + height > innerHeight ? event.clientY - height - 12 :
                                                  event.clientY + 18}px`;
}

const mostBars = 48;  // of a figure, until more are asked for

class FigureOnPage {
  constructor(figure, page) {
    this.figure = figure;
    this.page = page;
    this.stale = true;
    this.all = false;
    this.place = element(
        'div', {className: 'figure', tabIndex: 0, role: 'figure', 'aria-label': figure.title});
    this.note = element('p', {className: 'note'});
    this.heading = element('h2', {id: `${figure.name}-title`}, figure.title);
    this.controls = element('div', {});
    this.table = element(
        'div',
        {className: 'scroll', tabIndex: 0, role: 'region', 'aria-label': `${figure.title}, data`});
    this.data = element('details', {}, element('summary', {}, 'Show data'), this.table);
    this.data.addEventListener('toggle', () => this.fillTable());
    this.section = element(
        'section', {id: figure.name, 'aria-labelledby': `${figure.name}-title`}, this.heading,
        element('p', {className: 'about'}, figure.about), this.controls, this.place, this.note,
        this.data);
    new IntersectionObserver((seen) => {
      this.visible = seen.some((entry) => entry.isIntersecting);
      if (this.visible) this.draw();
    }, {rootMargin: '400px'}).observe(this.section);
    if (figure.name === 'timeline') this.addMoves();
  }

  changed() {
    this.stale = true;
    if (this.visible) this.draw();
  }

  draw() {
    if (!this.stale) return;
    this.stale = false;
    const {data, specs, palette, chosen, metric} = this.page;
    const width = Math.max(300, this.place.clientWidth - 16);
    const view = {chosen, metric, width, most: this.all ? undefined : mostBars};
    const table = this.figure.table(data, this.page.cells, view);
    const why = table.empty || (table.lines.length ? '' : 'no cell in view ended well');
    if (this.view) this.view.finalize();
    this.view = null;
    this.current = table;
    this.note.textContent = why ? '' : table.note;
    this.heading.textContent = table.title || this.figure.title;
    this.data.hidden = Boolean(why);
    this.fillTable();
    this.offerAll(table.lines.length);
    if (why) {
      this.place.style.minHeight = '0';
      this.place.replaceChildren(element('p', {className: 'empty'}, `Nothing to draw: ${why}.`));
      return;
    }
    const look = {width, title: table.title || this.figure.title};
    const ready = prepared(specs[this.figure.name], table, data, palette, look);
    this.place.setAttribute('aria-label', `${ready.description} The same as a table: Show data.`);
    this.place.replaceChildren();
    this.view = new vega
                    .View(
                        vega.parse(ready, vegaConfig(palette, data, pageFont)),
                        {renderer: 'svg', container: this.place, hover: true})
                    .tooltip(showTip)
                    .run();
  }

  offerAll(drawn) {
    if (!['step-time', 'bytes', 'volume'].includes(this.figure.name)) return;
    const text =
        this.all ? `Show the first ${mostBars} cells` : `Show all cells, not the first ${mostBars}`;
    const button = element('button', {type: 'button', className: 'plain'}, text);
    button.addEventListener('click', () => {
      this.all = !this.all;
      this.changed();
    });
    this.controls.replaceChildren(...(drawn >= mostBars ? [button] : []));
  }

  fillTable() {
    if (!this.data.open || !this.current) return;
    this.table.replaceChildren(dataTable(this.current.columns, this.current.lines));
  }

  // The timeline by keyboard and by buttons; the wheel alone scrolls the page.
  addMoves() {
    this.place.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (this.move(event.key)) event.preventDefault();
    });
    for (const [key, sign, words] of [
             ['+', '+', 'Zoom in'], ['-', '−', 'Zoom out'], ['0', 'All', 'Show the whole step']]) {
      const button =
          element('button', {type: 'button', className: 'plain', 'aria-label': words}, sign);
      button.addEventListener('click', () => this.move(key));
      this.controls.append(button, ' ');
    }
  }

  // Whether this key means anything here.
  move(key) {
    if (!this.view) return false;
    const [low, high] = this.view.signal('view'), size = high - low, middle = (low + high) / 2;
    const moved = {
      ArrowLeft: [low - size / 5, high - size / 5],
      ArrowRight: [low + size / 5, high + size / 5],
      '+': [middle - size / 3, middle + size / 3],
      '=': [middle - size / 3, middle + size / 3],
      '-': [middle - size * 0.75, middle + size * 0.75],
      0: [0, this.view.signal('end')]
    }[key];
    if (moved) this.view.signal('wanted', moved).run();
    return Boolean(moved);
  }
}

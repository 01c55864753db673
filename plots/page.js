// What happens when the page opens, when the filter changes, when a cell is chosen, when it turns
// dark?
'use strict';

class Page {
  constructor() {
    const read = (id) => JSON.parse(document.getElementById(id).textContent);
    this.data = read('data');
    this.specs = read('specs');
    this.palettes = read('palettes');
    this.data.cells.forEach((cell, i) => {
      cell.key = `c${i}`;
    });
    this.metric = 'step';
    this.cells = this.data.cells;
    this.chosen = null;
    this.dark = matchMedia('(prefers-color-scheme: dark)');
    this.dark.addEventListener('change', () => this.colour());
    this.mode = 'auto';
    this.printing = false;
  }

  get palette() { return this.palettes[this.isDark ? 'dark' : 'light']; }
  // Paper is white.
  get isDark() {
    return !this.printing && (this.mode === 'dark' || (this.mode === 'auto' && this.dark.matches));
  }
  strategyColour(name) {
    return colours(this.palette, this.data).strategy[this.data.strategies.indexOf(name)];
  }

  open() {
    showRuns(this.data);
    this.figures =
        figureList.filter((f) => this.worthShowing(f.name)).map((f) => new FigureOnPage(f, this));
    document.getElementById('figures').append(...this.figures.map((f) => f.section));
    document.getElementById('contents')
        .append(
            ...this.figures.map((f) => element('a', {href: `#${f.figure.name}`}, f.figure.title)),
            this.data.score ? element('a', {href: '#score'}, 'Predicted against measured') : '',
            this.data.differences.length ?
                element('a', {href: '#differences'}, 'Differences between runs') :
                '');
    this.addMetrics();
    this.addSwitch();
    showScore(this.data);
    showDifferences(this.data);
    document.getElementById('foot').append(
        'Written ', this.data.written_utc.replace('T', ' ').replace('Z', ' UTC'), ' by ',
        element('code', {}, this.data.command), '. kB, MB and GB are 1e3, 1e6 and 1e9 bytes.');
    this.matrix = new Matrix(this);
    document.getElementById('matrix').hidden = this.data.cells.length === 0;
    this.colour();
    const first = measured(this.cells)[0] || this.cells[0];
    if (first) this.choose(first);
    let width = innerWidth;
    addEventListener('resize', () => {
      if (width === innerWidth) return;
      width = innerWidth;
      this.redraw();
    });
    addEventListener('beforeprint', () => {
      this.printing = true;
      this.colour();
      this.figures.forEach((f) => f.draw());
    });
    addEventListener('afterprint', () => {
      this.printing = false;
      this.colour();
    });
  }

  // Figures that these runs can never fill are left out, and not shown empty.
  worthShowing(name) {
    const training = this.data.cells.length > 0;
    if (name === 'bandwidth') return this.data.collectives.length > 0;
    if (name === 'history') return new Set(this.data.cells.map((c) => c.run)).size > 1;
    if (name === 'scaling') return !scaling(this.data, this.data.cells).empty;
    if (name === 'volume')
      return measured(this.data.cells).some((c) => c.volume_bytes.measured > 0);
    return training;
  }

  addMetrics() {
    const figure = this.figures.find((f) => f.figure.name === 'history');
    if (!figure) return;
    const select = element(
        'select', {name: 'metric'},
        ...Object.entries(metrics).map(([name, m]) => element('option', {value: name}, m.words)));
    select.addEventListener('input', () => {
      this.metric = select.value;
      figure.changed();
    });
    figure.controls.append(element('label', {className: 'small'}, 'Metric ', select));
  }

  addSwitch() {
    for (const button of document.querySelectorAll('.switch button'))
      button.addEventListener('click', () => {
        this.mode = button.dataset.mode;
        this.colour();
      });
  }

  colour() {
    document.documentElement.dataset.theme = this.isDark ? 'dark' : 'light';
    for (const button of document.querySelectorAll('.switch button'))
      button.setAttribute('aria-pressed', String(button.dataset.mode === this.mode));
    document.getElementById('patterns').innerHTML = hatchDefs(this.palette);
    this.filter();
  }

  filter() {
    this.cells = this.matrix.inView();
    this.matrix.show();
    this.redraw();
  }

  choose(cell) {
    this.chosen = cell;
    this.matrix.mark(cell);
    showCell(this.data, cell);
    this.figures.filter((f) => f.figure.name === 'timeline').forEach((f) => f.changed());
  }

  redraw() { this.figures.forEach((f) => f.changed()); }
}

new Page().open();

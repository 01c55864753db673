// Which cells are there, in which order, and which of them are in view? The table, its filters and
// its keys: arrows move, Enter chooses.
'use strict';

function matrixColumns(data) {
  const cells = data.cells, ok = measured(cells);
  const keys = varying(cells).filter((k) => !['model', 'ranks'].includes(k));
  const time = timeUnit(Math.max(0, ...ok.map((c) => c.step_ns)));
  const bytes = byteUnit(Math.max(0, ...ok.map((c) => c.peak_bytes)));
  const sent = byteUnit(Math.max(0, ...ok.map((c) => c.volume_bytes.measured)));
  const number = (title, of, show, help) => ({title, help, of, show: (c) => show(of(c), c)});
  // As many decimals in all of a column: a number's place then says its size.
  const even = (title, unit, of, help) => {
    const show = evenly(ok.map((c) => of(c) / unit.scale));
    return number(`${title}\n${unit.name}`, of, (v) => show(v / unit.scale), help);
  };
  const ns = (title, of, help) => even(title, time, of, help);
  const steps = evenly(ok.map((c) => c.step_ns / time.scale));
  const part = (name) => (c) => c.parts_ns[name];
  return [
    data.runs.length > 1 &&
        {title: 'run', left: true, of: (c) => c.run, show: (c) => runLetter(c.run), always: true},
    {title: 'strategy', left: true, always: true, of: (c) => data.strategies.indexOf(c.strategy)},
    !('model' in data.common) && {
      title: 'model',
      left: true,
      always: true,
      of: (c) => setting(data, c, 'model'),
      show: (c) => setting(data, c, 'model')
    },
    {
      title: 'N',
      always: true,
      of: (c) => setting(data, c, 'ranks'),
      show: (c) => String(setting(data, c, 'ranks')),
      help: 'ranks'
    },
    keys.length > 0 && {
      title: 'settings',
      left: true,
      words: true,
      always: true,
      of: (c) => settingsText(c, keys),
      show: (c) => settingsText(c, keys)
    },
    ns('step', (c) => c.step_ns, 'of the median round; of an even number, the faster of the two'),
    {
      title: `low – high\n${time.name}`,
      of: (c) => c.low_ns,
      help: 'over rounds',
      show: (c) => `${steps(c.low_ns / time.scale)} – ${steps(c.high_ns / time.scale)}`
    },
    ok.some((c) => 'time_over_ddp' in c) && {
      title: '/ ddp',
      of: (c) => c.time_over_ddp,
      help: 'step over ddp’s; ≈: the intervals overlap',
      show: (c) =>
          (c.time_over_ddp ? (c.as_fast_as_ddp ? '≈ ' : '') + c.time_over_ddp.toFixed(2) : '–')
    },
    ns('exposed', part('exposed'), 'communication while the rank computed nothing'),
    ns('hidden', part('hidden'), 'communication while the rank computed'),
    number('tokens/s', (c) => c.tokens_per_second, (v) => wholeText(v)),
    even('states', bytes, (c) => c.state_bytes.measured, 'parameters, gradients, optimizer'),
    even('peak', bytes, (c) => c.peak_bytes, 'all memory of a rank'),
    even('volume', sent, (c) => c.volume_bytes.measured, 'sent by a rank in a step'),
    number(
        'loss', (c) => (c.loss[c.loss.length - 1] || [])[1], (v) => digits(v, 4),
        'of the last step'),
    {
      title: 'checks',
      left: true,
      of: (c) => c.failed_checks.length,
      show: (c) => (c.failed_checks.length ? c.failed_checks.join(', ').replace(/_/g, ' ') : 'ok')
    },
  ].filter(Boolean);
}

class Matrix {
  constructor(page) {
    this.page = page;
    this.columns = matrixColumns(page.data);
    this.sort = {column: null, down: false};
    this.place = document.getElementById('cells');
    this.filters = document.getElementById('filters');
    this.addFilters();
    this.place.addEventListener('keydown', (event) => this.key(event));
  }

  addFilters() {
    const {data} = this.page;
    const choices = [
      ['strategy', 'Strategy', (c) => c.strategy],
      ['model', 'Model', (c) => setting(data, c, 'model')],
      ['ranks', 'Ranks', (c) => setting(data, c, 'ranks')],
      ['precision', 'Precision', (c) => setting(data, c, 'precision')],
      ['overlap', 'Overlap', (c) => (setting(data, c, 'overlap') ? 'on' : 'off')],
      ['run', 'Run', (c) => runLetter(c.run)]
    ];
    this.tests = [];
    for (const [name, words, of] of choices) {
      const values = [...new Set(data.cells.map(of))];
      if (values.length < 2) continue;
      if (name === 'ranks') values.sort((a, b) => a - b);
      const select = element(
          'select', {name}, element('option', {value: ''}, 'all'),
          ...values.map((v) => element('option', {value: String(v)}, String(v))));
      this.filters.append(element('label', {}, words, select));
      this.tests.push((cell) => !select.value || String(of(cell)) === select.value);
    }
    const text = element(
        'input',
        {type: 'search', name: 'text', placeholder: 'part of a cell’s id', autocomplete: 'off'});
    this.filters.append(element('label', {}, 'Text', text));
    this.tests.push((cell) => cell.id.toLowerCase().includes(text.value.trim().toLowerCase()));
    this.filters.addEventListener('input', () => this.page.filter());
    this.filters.addEventListener('submit', (event) => event.preventDefault());
  }

  inView() {
    const cells = this.page.data.cells.filter((cell) => this.tests.every((test) => test(cell)));
    const {column, down} = this.sort;
    if (!column) return cells;
    const value = (cell) => {
      const v = column.always || cell.status === 'ok' ? column.of(cell) : null;
      return v === undefined ? null : v;
    };
    // What has no value stands last, whichever way.
    return cells.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return (x < y ? -1 : x > y ? 1 : 0) * (down ? -1 : 1);
    });
  }

  show() {
    const {cells, data} = this.page;
    const head = element('tr', {}, ...this.columns.map((column) => {
      const sorted = this.sort.column === column;
      const button = element('button', {type: 'button', title: column.help || ''}, column.title);
      button.addEventListener('click', () => this.sortBy(column));
      return element(
          'th', {
            scope: 'col',
            className: column.left ? 'left' : '',
            'aria-sort': sorted ? (this.sort.down ? 'descending' : 'ascending') : 'none'
          },
          button);
    }));
    const again = this.place.querySelector('th button:focus');
    const at = again ? [...this.place.querySelectorAll('th button')].indexOf(again) : -1;
    this.place.replaceChildren(element(
        'table', {'aria-label': 'Cells', role: 'grid'}, element('thead', {}, head),
        element('tbody', {}, ...cells.map((cell, i) => this.row(cell, i)))));
    if (at >= 0) this.place.querySelectorAll('th button')[at].focus();
    const failed = cells.filter((c) => c.status !== 'ok').length;
    document.getElementById('cells-note').textContent = [
      `${cells.length === data.cells.length ? '' : `${cells.length} of `}${
          countText(data.cells.length, 'cell', 'cells')}` +
          `${failed ? `, ${failed} without a result` : ''}.`,
      circumstanceNote(cells)
    ].join(' ');
  }

  row(cell, index) {
    const {page} = this, chosen = page.chosen === cell;
    const row = element('tr', {
      tabIndex: chosen || (index === 0 && !page.cells.includes(page.chosen)) ? 0 : -1,
      'aria-selected': String(chosen),
      'data-key': cell.key
    });
    const name = () => element(
        'td', {className: 'left'},
        element(
            'span', {className: 'dot', style: `background:${page.strategyColour(cell.strategy)}`}),
        cell.strategy + marksOf(cell));
    for (const column of this.columns) {
      if (!column.always && cell.status !== 'ok') {
        row.append(element(
            'td',
            {className: 'left reason bad', colSpan: this.columns.filter((c) => !c.always).length},
            `${cell.status}: ${cell.reason}`));
        break;
      }
      row.append(
          column.show ?
              element(
                  'td', {
                    className: `${column.left ? 'left' : ''} ${column.words ? 'words small' : ''} ${
                        column.title === 'checks' && cell.failed_checks.length ? 'bad' : ''}`
                  },
                  column.show(cell)) :
              name());
    }
    row.addEventListener('click', () => page.choose(cell));
    return row;
  }

  sortBy(column) {
    this.sort = {column, down: this.sort.column === column && !this.sort.down};
    this.page.filter();
  }

  key(event) {
    const row = event.target.closest('tbody tr');
    if (!row || event.target !== row) return;
    const rows = [...row.parentNode.children], at = rows.indexOf(row);
    if (event.key === 'Enter' || event.key === ' ')
      row.click();
    else if (event.key === 'ArrowDown')
      this.focusRow(rows[Math.min(at + 1, rows.length - 1)]);
    else if (event.key === 'ArrowUp')
      this.focusRow(rows[Math.max(at - 1, 0)]);
    else if (event.key === 'Home')
      this.focusRow(rows[0]);
    else if (event.key === 'End')
      this.focusRow(rows[rows.length - 1]);
    else
      return;
    event.preventDefault();
  }

  focusRow(row) {
    for (const other of row.parentNode.children) other.tabIndex = -1;
    row.tabIndex = 0;
    row.focus();
  }

  // Without building the table again: focus stays where it is.
  mark(cell) {
    for (const row of this.place.querySelectorAll('tbody tr')) {
      const chosen = row.dataset.key === cell.key;
      row.setAttribute('aria-selected', String(chosen));
      row.tabIndex = chosen ? 0 : -1;
    }
  }
}

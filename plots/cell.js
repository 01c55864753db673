// What is there to know about runs, about the chosen cell, and about what differs between runs?
'use strict';

const facts = (pairs) => element(
    'dl', {className: 'facts'},
    ...pairs.filter(([, value]) => value)
        .flatMap(([name, value]) => [element('dt', {}, name), element('dd', {}, value)]));

function machineText(machine) {
  const {libraries = {}, build = {}} = machine;
  return [
    machine.cpu || 'unknown processor',
    machine.cores_usable && countText(machine.cores_usable, 'core', 'cores'),
    machine.instruction_set, libraries.matrix, build.compiler, build.type
  ].filter(Boolean)
      .join(', ');
}

function showRuns(data) {
  const place = document.getElementById('runs');
  const describe = (run) => [
      ['Suite', `${run.suite}, ${countText(run.rounds, 'round', 'rounds')}`],
      ['Model', data.common.model], ['Machine', machineText(run.machine)],
      ['Commit', commitText(run)],
      ['Begun', run.started_utc.replace('T', ' ').replace('Z', ' UTC')], ['Records', run.path]];
  if (data.runs.length === 1) {
    place.append(facts(describe(data.runs[0])));
  } else {
    const columns = ['run', 'suite', 'rounds', 'commit', 'begun', 'machine', 'records'];
    place.append(element(
        'div', {className: 'scroll'},
        element(
            'table', {'aria-label': 'Runs'},
            element(
                'thead', {},
                element(
                    'tr', {},
                    ...columns.map((c) => element('th', {scope: 'col', className: 'left'}, c)))),
            element(
                'tbody', {},
                ...data.runs.map(
                    (run) => element(
                        'tr', {},
                        ...[runLetter(run.index), run.suite, String(run.rounds), commitText(run),
                            run.started_utc.replace('T', ' ').replace('Z', ''),
                            machineText(run.machine), run.path]
                            .map((text) => element('td', {className: 'left'}, text))))))));
  }
}

function bytesTable(cell) {
  const lines = [
    ...cell.held_bytes.map((h) => [h.tag.replace(/_/g, ' '), h.textbook, h.exact, h.measured]),
    ['model states', cell.state_bytes.textbook, cell.state_bytes.exact, cell.state_bytes.measured],
    ['peak, all together', null, null, cell.peak_bytes]
  ];
  return dataTable(
      ['held by a rank', 'textbook', 'exact', 'measured'],
      lines.map(([name, ...values]) => [name, ...values.map(bytesText)]));
}
const trafficTable = (cell) => dataTable(
    ['sent by a rank in a step', 'calls', 'textbook', 'exact', 'measured'],
    cell.traffic_bytes.map(
        (t) =>
            [`${t.verb.replace(/_/g, '-')} ${t.dtype}`, t.calls,
             ...[t.textbook, t.exact, t.measured].map(bytesText)]));

function showCell(data, cell) {
  const place = document.getElementById('cell');
  const words = Object.entries({...data.common, ...cell.settings})
                    .filter(([key]) => key !== 'strategy')
                    .map(([key, value]) => settingText(key, value))
                    .join(' · ');
  const parts = [
    element('h2', {id: 'cell-title'}, cell.strategy + marksOf(cell)),
    element('p', {className: 'about'}, element('code', {}, cell.id))
  ];
  if (cell.status === 'ok') {
    parts.push(facts([
      [
        'Step',
        `${timeText(cell.step_ns)}, ${timeText(cell.low_ns)} to ${timeText(cell.high_ns)} over ${
            countText(cell.rounds, 'round', 'rounds')}`
      ],
      ['Parameters', wholeText(cell.parameters)],
      [
        'Shares',
        `communication ${percentText(cell.communication_share)} of the step, exposed ${
            percentText(cell.exposed_share)}; ${
            percentText(cell.matrix_share)} of the rate of bare matrix products`
      ],
      [
        'Exposed',
        `${timeText(cell.parts_ns.exposed)}; ${exposedText(cell.parts_ns).replace(/\n/g, '; ')}`
      ],
      [
        'Checks',
        cell.failed_checks.length ? `did not hold: ${cell.failed_checks.join(', ')}` : 'all hold'
      ],
    ]));
    parts.push(element(
        'div', {className: 'beside'}, element('div', {className: 'scroll'}, bytesTable(cell)),
        element('div', {className: 'scroll'}, trafficTable(cell))));
  }
  if (cell.reason)
    parts.push(element(
        'p', {className: 'bad'},
        `${countText(cell.rounds_failed, 'round', 'rounds')} without a result: ${cell.reason}`));
  parts.push(element(
      'details', {}, element('summary', {}, 'All settings'),
      element('p', {className: 'small'}, words)));
  place.replaceChildren(...parts);
  place.hidden = false;
}

const verdictClass = {
  SLOWER: 'bad',
  FASTER: 'good'
};
const signed = (bytes) =>
    (bytes === 0 ? 'equal' : (bytes > 0 ? '+' : '−') + bytesText(Math.abs(bytes)));
// Rows of texts under their columns, the first one to the left.
function textTable(columns, rows, classOf = () => '') {
  const left = (i) => (i === 0 ? 'left ' : '');
  const head = (text, i) => element('th', {scope: 'col', className: left(i)}, text);
  const entry = (text, i) => element('td', {className: left(i) + classOf(text)}, text);
  return element(
      'div', {className: 'scroll', tabIndex: 0},
      element(
          'table', {}, element('thead', {}, element('tr', {}, ...columns.map(head))),
          element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map(entry))))));
}

function differenceTable(data, entry) {
  const columns = [
    'cell', runLetter(entry.base), runLetter(entry.head), 'ratio', 'interval', 'time', 'states',
    'peak', 'volume', 'losses'
  ];
  const row = (c) =>
      [c.id, timeText(c.base_ns), timeText(c.head_ns), c.ratio ? c.ratio.toFixed(3) : '–',
       c.low ? `${c.low.toFixed(3)} – ${c.high.toFixed(3)}` : '–', c.verdict || '–',
       signed(c.state_bytes), signed(c.peak_bytes), signed(c.volume_bytes),
       c.same_losses ? 'equal' : 'differ'];
  return textTable(columns, entry.cells.map(row), (text) => verdictClass[text] || '');
}

function showDifferences(data) {
  if (!data.differences.length) return;
  const place = document.getElementById('differences');
  place.hidden = false;
  place.append(
      element('h2', {id: 'differences-title'}, 'Differences between runs'),
      element(
          'p', {className: 'about'},
          'Cells of one name. Times are of the median round, as above; the ratio is the median ' +
              'over all pairs of a round here and a round there, so it need not be the quotient ' +
              'of the two times beside it. Bytes by difference. ' +
              'Runs made one after the other differ by what the machine did in between as well.'));
  for (const entry of data.differences) {
    place.append(element('h3', {}, `${runLetter(entry.head)} against ${runLetter(entry.base)}`));
    if (entry.other_machine)
      place.append(element(
          'p', {className: 'bad'},
          `Another machine (${entry.other_machine}): times are not comparable.`));
    if (entry.cells.length)
      place.append(differenceTable(data, entry));
    else
      place.append(element('p', {className: 'empty'}, 'No cell of one name in both.'));
    if (entry.missing.length)
      place.append(
          element('p', {className: 'note'}, 'Without a result in one of them:'),
          element(
              'ul', {className: 'note'},
              ...entry.missing.map((m) => element('li', {}, `${m.id}: ${m.why}`))));
  }
}

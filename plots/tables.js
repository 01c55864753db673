// Which rows does each figure draw? From the report's data and the cells in view; the same for the
// page and for a figure that is a file. Here: what they share, and the figures of bars.
'use strict';

const partNames = ['forward', 'recompute', 'backward', 'clip', 'update', 'exposed', 'other'];
const tagNames = [
  'parameter', 'gradient', 'master', 'first_moment', 'second_moment', 'bucket', 'gathered',
  'staging', 'activation', 'workspace'
];
const verbNames = ['reduce_scatter', 'all_gather', 'all_reduce', 'broadcast', 'barrier'];
const rowHeight = 26;

const setting = (data, cell, key) => (key in cell.settings ? cell.settings[key] : data.common[key]);
const measured = (cells) => cells.filter((c) => c.status === 'ok');

// What tells these cells apart, besides strategy and run. Only what differs is worth a word.
function varying(cells) {
  const keys = new Set(cells.flatMap((c) => Object.keys(c.settings)));
  keys.delete('strategy');
  const known = ['model', 'ranks', 'overlap', 'precision'];
  const order =
      [...known.filter((k) => keys.has(k)), ...[...keys].filter((k) => !known.includes(k))];
  return order.filter((key) => new Set(cells.map((c) => JSON.stringify(c.settings[key]))).size > 1);
}
// The types of gradients follow the precision unless something else was asked for.
function settingsText(cell, keys) {
  const follows =
      keys.includes('precision') && cell.settings.reduce_dtype === cell.settings.precision;
  return keys.filter((k) => k in cell.settings && !(k === 'reduce_dtype' && follows))
      .map((k) => settingText(k, cell.settings[k]))
      .filter(Boolean)
      .join(' · ');
}
// A group needs a name, also where all of its settings are the usual ones.
const groupName = (cell, keys) =>
    settingsText(cell, keys) || keys.map((key) => usualText(key)).join(' · ');
function cellName(cell, keys, manyRuns) {
  return [
    (manyRuns ? `${runLetter(cell.run)}  ` : '') + cell.strategy + marksOf(cell),
    settingsText(cell, keys)
  ].filter(Boolean)
      .join(' · ');
}
const manyRuns = (cells) => new Set(cells.map((c) => c.run)).size > 1;

// Rows of a figure of bars: cells under headings of what they have in common; where that would be
// a heading for every cell, the cell's name says it. view.most: so many cells and no more.
function barRows(data, all, view = {}) {
  const cells = all.slice(0, view.most);
  const keys = varying(cells), runs = manyRuns(cells);
  const groups = new Map();
  for (const cell of cells) {
    const group = JSON.stringify(keys.map((k) => cell.settings[k]));
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(cell);
  }
  const ladder = (c) => data.strategies.indexOf(c.strategy);
  const headed = groups.size > 1 && groups.size * 1.6 <= cells.length;
  const rows = [];
  for (const [group, members] of groups) {
    if (headed) rows.push({key: group, label: '', header: groupName(members[0], keys)});
    members.sort((a, b) => ladder(a) - ladder(b) || a.run - b.run);
    for (const cell of members)
      rows.push({key: cell.key, cell, header: '', label: cellName(cell, headed ? [] : keys, runs)});
  }
  return rows;
}
const rowTable = (rows) => rows.map(({key, header}) => ({key, header}));
const rowNames = (rows) => Object.fromEntries(rows.map(({key, label}) => [key, label]));
const rowCells = (rows) => rows.filter((r) => r.cell);
// What nobody knows is not 0.
const inUnit = (value, unit) => (value === null || value === undefined ? null : value / unit.scale);

function stacked(rows, parts, valueOf, unit, tip) {
  const out = [];
  for (const {key, label, cell} of rowCells(rows)) {
    let at = 0;
    for (const part of parts) {
      const value = valueOf(cell, part);
      if (!value) continue;
      out.push({
        key,
        part,
        x0: at / unit.scale,
        x1: (at + value) / unit.scale,
        tip: `${label}\n${part.replace(/_/g, ' ')}: ${tip(value, cell, part)}`
      });
      at += value;
    }
  }
  return out;
}
const present = (parts, table) => parts.filter((p) => table.some((row) => row.part === p));
// Several hatches share a bar's height: over each other they would blur into a third one.
const hatches = (rows, lengthOf, unit) =>
    rowCells(rows).flatMap(({key, cell}) => holding(cell).map((c, i, all) => ({
                                                                key,
                                                                x1: lengthOf(cell) / unit.scale,
                                                                fill: `url(#hatch-${c.hatch})`,
                                                                from: i / all.length,
                                                                share: 1 / all.length
                                                              })));

// Communication is waiting for the last rank (skew) or moving data; so is what of it is exposed.
// null where the ranks have no clock in common.
function exposedParts({communication, exposed, skew, hidden_transfer: hidden}) {
  if (skew === null || hidden === null) return {moving: null, waiting: null};
  const moving = communication - skew - hidden;
  return {moving, waiting: exposed - moving};
}
function exposedText(parts) {
  const {moving, waiting} = exposedParts(parts);
  return moving === null ?
      'how much of it is waiting is not known: the ranks have no clock in common' :
      `of it moving data: ${timeText(moving)}\nof it waiting for the last rank: ${
          timeText(waiting)}`;
}

function stepTime(data, cells, view) {
  const rows = barRows(data, measured(cells), view), shown = rowCells(rows);
  const unit = timeUnit(Math.max(0, ...shown.map((r) => r.cell.step_ns)));
  const parts = stacked(
      rows, partNames, (c, p) => c.parts_ns[p], unit,
      (ns, cell, part) =>
          timeText(ns) + (part === 'exposed' ? `\n${exposedText(cell.parts_ns)}` : ''));
  const most = farthest(shown.map((r) => r.cell.step_ns));
  return {
    data: {
      rows: rowTable(rows),
      parts,
      hatches: hatches(rows, (c) => c.step_ns, unit),
      hidden:
          shown.filter((r) => r.cell.parts_ns.hidden > 0)
              .map((r) => ({
                     key: r.key,
                     x1: r.cell.parts_ns.hidden / unit.scale,
                     tip: `${r.label}\nhidden communication: ${timeText(r.cell.parts_ns.hidden)}`
                   })),
      steps: shown.map((r) => ({
                         key: r.key,
                         step: r.cell.step_ns / unit.scale,
                         low: r.cell.low_ns / unit.scale,
                         high: Math.min(r.cell.high_ns, most) / unit.scale,
                         cut: r.cell.high_ns > most,
                         text: digits(r.cell.step_ns / unit.scale),
                         tip: `${r.label}\nstep: ${timeText(r.cell.step_ns)}\n` +
                             `${timeText(r.cell.low_ns)} to ${timeText(r.cell.high_ns)} over ` +
                             countText(r.cell.rounds, 'round', 'rounds')
                       })),
    },
    signals: {unit: unit.name, names: rowNames(rows), shown: present(partNames, parts)},
    height: rows.length * rowHeight,
    note: `Outlined below a bar: hidden communication. Thin line: over all rounds.${
        cutNote(shown.map((r) => r.cell))} ${circumstanceNote(shown.map((r) => r.cell))}`,
    columns: [
      'cell', `step, ${unit.name}`, 'low', 'high', ...partNames, 'of exposed: moving data',
      'of exposed: waiting', 'hidden'
    ],
    lines: shown.map(({cell}) => {
      const {moving, waiting} = exposedParts(cell.parts_ns);
      return [
        cell.id,
        ...[cell.step_ns, cell.low_ns, cell.high_ns, ...partNames.map((p) => cell.parts_ns[p]),
            moving, waiting, cell.parts_ns.hidden]
            .map((ns) => digits(inUnit(ns, unit)))
      ];
    }),
  };
}

const tagText = (tag) => tag.replace(/_/g, ' ');
function bytesHeld(data, cells, view) {
  const rows = barRows(data, measured(cells), view), shown = rowCells(rows);
  const entry = (cell, tag) => cell.held_bytes.find((h) => h.tag === tag);
  const held = (cell, tag, key) => (entry(cell, tag) || {})[key] || 0;
  const unclaimed = (cell) =>
      tagNames.filter((tag) => entry(cell, tag) && entry(cell, tag).exact === null);
  const total = (cell, key) => tagNames.reduce((sum, tag) => sum + held(cell, tag, key), 0);
  const unit = byteUnit(
      Math.max(0, ...shown.map((r) => Math.max(r.cell.peak_bytes, total(r.cell, 'measured')))));
  const parts = stacked(rows, tagNames, (c, t) => held(c, t, 'measured'), unit, bytesText);
  return {
    data: {
      rows: rowTable(rows),
      parts,
      claims: stacked(
          rows, tagNames, (c, t) => held(c, t, 'exact'), unit, (v) => `${bytesText(v)} claimed`),
      unclaimed: shown.filter((r) => unclaimed(r.cell).length).map(({key, cell, label}) => {
        const from = total(cell, 'exact'), tags = unclaimed(cell);
        const held = tags.reduce((sum, t) => sum + entry(cell, t).measured, 0);
        return {
          key,
          x0: from / unit.scale,
          x1: (from + held) / unit.scale,
          tip: `${label}\nno exact claim of ${tags.map(tagText).join(', ')}`
        };
      }),
      peaks:
          shown.map((r) => ({
                      key: r.key,
                      x: r.cell.peak_bytes / unit.scale,
                      end: Math.max(r.cell.peak_bytes, total(r.cell, 'measured')) / unit.scale,
                      text: digits(r.cell.peak_bytes / unit.scale),
                      tip: `${r.label}\npeak of all tags together: ${bytesText(r.cell.peak_bytes)}`
                    })),
    },
    signals: {unit: unit.name, names: rowNames(rows), shown: present(tagNames, parts)},
    height: rows.length * rowHeight,
    note: 'Thick: measured, each tag at its own worst moment. Thin: the exact claim. Line across ' +
        'and number: the peak of all tags together. ' +
        (shown.some((r) => unclaimed(r.cell).length) ?
             'Outlined and empty: held, but nothing exact is claimed of it. ' :
             '') +
        circumstanceNote(shown.map((r) => r.cell)),
    columns: [
      'cell', `peak, ${unit.name}`, 'states', 'exact', 'textbook', ...tagNames, 'no exact claim of'
    ],
    lines: shown.map(
        ({cell}) =>
            [cell.id,
             ...[cell.peak_bytes, cell.state_bytes.measured, cell.state_bytes.exact,
                 cell.state_bytes.textbook, ...tagNames.map((t) => held(cell, t, 'measured'))]
                 .map((b) => digits(inUnit(b, unit))),
             unclaimed(cell).map(tagText).join(', ')]),
  };
}

function volume(data, cells, view) {
  const sending = measured(cells).filter((c) => c.volume_bytes.measured > 0);
  const rows = barRows(data, sending, view);
  const shown = rowCells(rows);
  const of = (cell, verb) =>
      cell.traffic_bytes.filter((t) => t.verb === verb).reduce((sum, t) => sum + t.measured, 0);
  const most = (c) => Math.max(c.volume_bytes.measured, c.volume_bytes.textbook || 0);
  const unit = byteUnit(Math.max(0, ...shown.map((r) => most(r.cell))));
  const parts = stacked(rows, verbNames, of, unit, bytesText);
  return {
    data: {
      rows: rowTable(rows),
      parts,
      textbook: shown.filter((r) => r.cell.volume_bytes.textbook !== null)
                    .map((r) => ({
                           key: r.key,
                           x: r.cell.volume_bytes.textbook / unit.scale,
                           tip: `${r.label}\ntextbook: ${bytesText(r.cell.volume_bytes.textbook)}`
                         })),
      totals: shown.map((r) => ({
                          key: r.key,
                          end: most(r.cell) / unit.scale,
                          text: digits(r.cell.volume_bytes.measured / unit.scale)
                        })),
    },
    signals: {unit: unit.name, names: rowNames(rows), shown: present(verbNames, parts)},
    height: rows.length * rowHeight,
    note: 'Bar and number: measured. Line across: the textbook, from parameters and ranks ' +
        'alone. ' + circumstanceNote(shown.map((r) => r.cell)),
    columns: ['cell', `measured, ${unit.name}`, 'exact', 'textbook', ...verbNames],
    lines: shown.map(
        ({cell}) =>
            [cell.id,
             ...[cell.volume_bytes.measured, cell.volume_bytes.exact, cell.volume_bytes.textbook]
                 .map((b) => digits(inUnit(b, unit), 4)),
             ...verbNames.map((v) => digits(of(cell, v) / unit.scale, 4))]),
  };
}

// Which rows do the figures over steps and over commits draw? See tables.js.
'use strict';

const dashes = 8;  // in loss.vg.json

// What tells a group of curves that should coincide from the others: data.curves has only that.
function curveName(data, index) {
  const settings = data.curves[index], first = ['model', 'global_batch', 'sequence', 'precision'];
  const keys = [...first, ...Object.keys(settings).filter((k) => !first.includes(k))].filter(
      (k) => k in settings);
  return groupName({settings}, keys) || 'all cells';
}

// By how much the losses of one step differ at most, as a part of their mean.
function widestSpread(cells) {
  const steps = new Map();
  for (const cell of cells)
    for (const [step, loss] of cell.loss)
      if (loss !== null) steps.set(step, [...(steps.get(step) || []), loss]);
  return Math.max(0, ...[...steps.values()].map((all) => {
    const mean = all.reduce((sum, v) => sum + v, 0) / all.length;
    return (Math.max(...all) - Math.min(...all)) / (Math.abs(mean) || 1);
  }));
}
// A loss that is no number is null in a record: where others have one, they do not coincide.
function divergedAt(cells) {
  const steps = new Map();
  for (const cell of cells)
    for (const [step, loss] of cell.loss)
      steps.set(step, [...(steps.get(step) || []), loss === null]);
  const parted = [...steps].filter(([, none]) => none.includes(true) && none.includes(false));
  return parted.length ? Math.min(...parted.map(([step]) => step)) : null;
}
const spreadText = (spread) =>
    (spread === 0 ? 'equal to 6 digits' : `apart by at most ${digits(100 * spread, 2)} %`);

// Each group with its spread where they are few, else the one of the widest.
function groupsNote(groups) {
  const compared = groups.map((g) => {
    const parted = divergedAt(g.cells);
    return {...g, parted, spread: parted === null ? widestSpread(g.cells) : Infinity};
  });
  const text = ({name, cells, spread, parted}) => (groups.length > 1 ? `${name}: ` : '') +
      countText(cells.length, 'cell', 'cells') +
      (parted !== null  ? `, some without a finite loss from step ${parted} on` :
       cells.length > 1 ? `, ${spreadText(spread)}` :
                          '');
  if (groups.length === 1) return `All cells should coincide: ${text(compared[0])}.`;
  const [widest] = [...compared].sort((a, b) => b.spread - a.spread);
  return `${groups.length} groups of cells that should coincide, each with a dash of its own${
             groups.length > dashes ? ' (they repeat: a filter leaves fewer groups)' : ''}. ` +
      (groups.length <= 3 ? `${compared.map(text).join('; ')}.` :
           widest.spread === 0 ? 'Within each group losses are equal to 6 digits.' :
                                 `Furthest apart within a group: ${text(widest)}.`);
}

function losses(data, cells, {width = 880} = {}) {
  const shown = measured(cells), keys = varying(shown), runs = manyRuns(shown);
  const groups =
      [...new Set(shown.map((c) => c.curve))]
          .sort((a, b) => a - b)
          .map(
              (curve) =>
                  ({name: curveName(data, curve), cells: shown.filter((c) => c.curve === curve)}));
  const points = groups.flatMap(
      ({name, cells: members}) => members.flatMap(
          (cell) =>
              cell.loss.filter(([, loss]) => loss !== null)
                  .map(([step, loss]) => ({
                         key: cell.key,
                         x: step,
                         y: loss,
                         strategy: cell.strategy,
                         group: name,
                         tip: `${cellName(cell, keys, runs)}\nstep ${step}: ${digits(loss, 4)}`
                       }))));
  const longest = Math.max(0, ...groups.map((g) => textWidth(g.name)));
  return {
    data: {points},
    signals: {
      shown: data.strategies.filter((s) => shown.some((c) => c.strategy === s)),
      groups: groups.map((g) => g.name),
      shownGroups: groups.length > 1 ? groups.map((g) => g.name) : [],
      groupColumns: Math.max(1, Math.floor(width / (longest + 70)))
    },
    height: 300,
    note: groupsNote(groups),
    columns: ['group', 'cell', 'first loss', 'last loss', 'steps'],
    lines: groups.flatMap(
        (g) => g.cells.map(
            (c) =>
                [g.name, c.id, digits((c.loss[0] || [])[1], 5),
                 digits((c.loss[c.loss.length - 1] || [])[1], 5), c.loss.length])),
    empty: points.length ? '' : 'no losses',
  };
}

const perSecond = () => ({scale: 1, name: 'tokens/s'});
// By the names that --metric has.
const metrics = {
  step: {words: 'step time', of: (c) => c.step_ns, unit: timeUnit, text: timeText},
  exposed: {
    words: 'exposed communication',
    of: (c) => c.parts_ns.exposed,
    unit: timeUnit,
    text: timeText
  },
  tokens: {
    words: 'speed',
    of: (c) => c.tokens_per_second,
    unit: perSecond,
    text: (v) => `${wholeText(v)} tokens/s`
  },
  peak: {words: 'peak of memory', of: (c) => c.peak_bytes, unit: byteUnit, text: bytesText},
  states:
      {words: 'model states', of: (c) => c.state_bytes.measured, unit: byteUnit, text: bytesText},
  volume:
      {words: 'volume a step', of: (c) => c.volume_bytes.measured, unit: byteUnit, text: bytesText},
};

// Where, among the runs that are shown, the machine is another one than in the run before.
function machineChanges(data, runsShown, labels) {
  return runsShown.slice(1)
      .map((run, i) => ({
             run: labels[run.index],
             before: labels[runsShown[i].index],
             tip: data.runs.slice(runsShown[i].index + 1, run.index + 1)
                      .map((r) => r.other_machine)
                      .filter(Boolean)
                      .join('; ')
           }))
      .filter((change) => change.tip);
}

function history(data, cells, {metric: metricName = 'step'} = {}) {
  const metric = metrics[metricName];
  const shown = measured(cells).filter((c) => metric.of(c) !== null), keys = varying(shown);
  const unit = metric.unit(Math.max(0, ...shown.map(metric.of)));
  const most = farthest(shown.map((c) => c.step_ns)), timed = metricName === 'step';
  const labels = data.runs.map(
      (run) => `${runLetter(run.index)} ${(run.commit || 'unknown').slice(0, 7)}${
          run.dirty ? '+' : ''}`);
  const runsShown = data.runs.filter((run) => shown.some((c) => c.run === run.index));
  const changes = machineChanges(data, runsShown, labels);
  const era = (run) =>
      changes.filter((c) => labels.indexOf(c.run) <= run).length;  // no line joins two machines
  const points =
      shown.map((cell) => ({
                  run: labels[cell.run],
                  key: cell.id,
                  series: `${era(cell.run)} ${cell.id}`,
                  strategy: cell.strategy,
                  order: cell.run,
                  y: metric.of(cell) / unit.scale,
                  ...pointLook(cell),
                  low: (timed ? cell.low_ns : metric.of(cell)) / unit.scale,
                  high: (timed ? Math.min(cell.high_ns, most) : metric.of(cell)) / unit.scale,
                  cut: timed && cell.high_ns > most,
                  tip: `${labels[cell.run]}\n${cellName(cell, keys, false)}\n${metric.words}: ${
                      metric.text(metric.of(cell))}`
                }));
  return {
    data: {
      points: points.sort((a, b) => a.order - b.order),
      runs: runsShown.map((run) => ({run: labels[run.index]})),
      changes
    },
    signals: {
      metric: `${metric.words}, ${unit.name}`,
      shown: data.strategies.filter((s) => shown.some((c) => c.strategy === s))
    },
    height: 300,
    title: `Over commits: ${metric.words}`,
    note: `A line a cell${timed ? '; bars from the least to the most over rounds' : ''}. ${
              changes.map((c) => `From ${c.run} on another machine (${c.tip}). `).join('')}${
              runsShown.some((run) => run.dirty) ?
                  '+: built from a tree with changes that are in no commit. ' :
                  ''}` +
        `${timed ? cutNote(shown) : ''} ${circumstanceNote(shown)}`,
    columns: ['run', 'cell', `${metric.words}, ${unit.name}`],
    lines: points.map((p) => [p.run, p.key, digits(p.y)]),
    empty: runsShown.length > 1 ? '' :
                                  'one run is no history; give several runs, or a file with many',
  };
}

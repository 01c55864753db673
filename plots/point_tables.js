// Which rows do the figures of memory against time and of scaling draw? See tables.js.
'use strict';

// Hollow, diamond, triangle: as bars are striped, dotted, ruled.
const pointLook = (cell) => ({
  hollow: cell.oversubscribed,
  shape: cell.shared_device ? 'triangle-up' :
      cell.emulated_link    ? 'diamond' :
                              'circle'
});

// From the least to the most with some room around, which labels need as well.
function roomy(values) {
  const least = Math.min(...values), most = Math.max(...values);
  const room = 0.07 * (most - least) || 0.1 * most || 1;
  return [least - room, most + room];
}

// Of each training the edge as far as medians draw it: less time for more memory, step by step.
function edgeLines(points) {
  const lines = [], least = new Map();
  for (const p of points.filter((q) => q.edge).sort((a, b) => a.x - b.x || a.y - b.y)) {
    if (p.y >= (least.get(p.work) ?? Infinity)) continue;
    least.set(p.work, p.y);
    lines.push({x: p.x, y: p.y, work: p.work});
  }
  return lines;
}

const tradeoffHeight = 400;
function tradeoff(data, cells, {width = 880} = {}) {
  const shown = measured(cells), keys = varying(shown), runs = manyRuns(shown);
  const time = timeUnit(Math.max(0, ...shown.map((c) => c.step_ns)));
  const bytes = byteUnit(Math.max(0, ...shown.map((c) => c.peak_bytes)));
  const most = farthest(shown.map((c) => c.step_ns));
  const points = shown.map((cell) => ({
                             x: cell.peak_bytes / bytes.scale,
                             y: cell.step_ns / time.scale,
                             low: cell.low_ns / time.scale,
                             high: Math.min(cell.high_ns, most) / time.scale,
                             cut: cell.high_ns > most,
                             strategy: cell.strategy,
                             label: `${runs ? `${runLetter(cell.run)} ` : ''}${cell.strategy} N=${
                                 setting(data, cell, 'ranks')}`,
                             work: cell.work,
                             edge: cell.edge,
                             ...pointLook(cell),
                             tip: `${cellName(cell, keys, runs)}\n${bytesText(cell.peak_bytes)}, ${
                                      timeText(cell.step_ns)}` +
                                 (cell.edge ? '\non the edge: nothing is surely better' : '')
                           }));
  points.sort((a, b) => b.edge - a.edge);  // the first ones get a label
  const edge = edgeLines(points);
  const xs = roomy(points.map((p) => p.x));
  const ys = [0, 1.05 * Math.max(0, ...points.map((p) => p.high))];
  const plot = width - 60;  // without the axis
  const px = (x) => ((x - xs[0]) / (xs[1] - xs[0])) * plot;
  const py = (y) => (1 - y / ys[1]) * tradeoffHeight;
  const lines = edge.flatMap((p, i) => {
    const next = edge.slice(i + 1).find((q) => q.work === p.work);
    return next ? [{left: px(p.x), right: px(next.x), top: py(p.y) - 1, bottom: py(p.y) + 1}] : [];
  });
  const labels = placedLabels(
      points.map((p) => ({px: px(p.x), py: py(p.y), label: p.label})), plot, tradeoffHeight, lines);
  const left = labels.filter((l) => l === null).length;
  const ranks = [...new Set(shown.map((c) => setting(data, c, 'ranks')))].sort((a, b) => a - b);
  return {
    data: {
      points,
      edge,
      labels: points.flatMap(
          (p, i) => (labels[i] ? [{x: p.x, y: p.y, label: p.label, ...labels[i]}] : []))
    },
    signals: {
      time: time.name,
      bytes: bytes.name,
      xs,
      ys,
      shown: data.strategies.filter((s) => shown.some((c) => c.strategy === s))
    },
    height: tradeoffHeight,
    note: (ranks.length > 1 ? `Cells of N = ${ranks.join(', ')} ranks together. ` : '') +
        'Ringed: on the Pareto edge; no cell that does the same work on as many ranks takes no ' +
        'more memory and is faster in all of its rounds. Line: the edge by medians. ' +
        (shown.some((c) => c.rounds < 2) ? 'Cells of one round have no interval. ' : '') +
        (left ? `Without a label, for want of room: ${countText(left, 'cell', 'cells')}. ` : '') +
        `${cutNote(shown)} ${circumstanceNote(shown)}`,
    columns: [
      'cell', 'ranks', `peak, ${bytes.name}`, `step, ${time.name}`, 'low', 'high', 'on the edge'
    ],
    lines: shown.map(
        (c) =>
            [c.id, setting(data, c, 'ranks'), digits(c.peak_bytes / bytes.scale),
             ...[c.step_ns, c.low_ns, c.high_ns].map((ns) => digits(ns / time.scale)),
             c.edge ? 'yes' : 'no']),
  };
}

// Series of cells that differ in ranks alone (weak: a rank's batch stays), or in ranks and batch
// with their product kept (strong).
function scalingSeries(data, cells) {
  const ranks = (c) => setting(data, c, 'ranks'), batch = (c) => setting(data, c, 'batch');
  const grouped = (extra, drop) => {
    const groups = new Map();
    for (const cell of cells) {
      const rest = {...cell.settings};
      for (const key of drop) delete rest[key];
      const text = JSON.stringify([cell.run, cell.strategy, rest, extra(cell)]);
      groups.set(text, [...(groups.get(text) || []), cell]);
    }
    return [...groups.values()]
        .filter((g) => new Set(g.map(ranks)).size > 1)
        .map((g) => g.sort((a, b) => ranks(a) - ranks(b)));
  };
  const weak = grouped(batch, ['ranks']);
  const strong = grouped((c) => ranks(c) * batch(c), [
                   'ranks', 'batch'
                 ]).filter((g) => new Set(g.map(batch)).size > 1);
  const left = weak.length && strong.length ? strong : [];
  return weak.length ? {series: weak, kind: 'weak', left} : {series: strong, kind: 'strong', left};
}

function scaling(data, cells) {
  const shown = measured(cells).filter((c) => c.tokens_per_second);
  const {series, kind, left} = scalingSeries(data, shown);
  const keys = varying(shown).filter((k) => k !== 'ranks'), runs = manyRuns(shown);
  const rows = series.flatMap((cellsOf, index) => cellsOf.map((cell) => {
    const n = setting(data, cell, 'ranks'), first = cellsOf[0];
    const speed = cell.tokens_per_second / first.tokens_per_second;
    const ideal = n / setting(data, first, 'ranks');
    const low = speed * (cell.step_ns / cell.high_ns), high = speed * (cell.step_ns / cell.low_ns);
    return {
      series: index,
      x: n,
      y: speed,
      low,
      high,
      strategy: cell.strategy,
      cell,
      ...pointLook(cell),
      dash: setting(data, cell, 'overlap') === false,
      ideal,
      tip: `${cellName(cell, keys, runs)}\n${countText(n, 'rank', 'ranks')}: ${
               digits(cell.tokens_per_second)} tokens/s\n` +
          `${digits(speed)} of an ideal ${digits(ideal)}; ${digits(low)} to ${digits(high)} over ${
               countText(cell.rounds, 'round', 'rounds')}`
    };
  }));
  const ideals =
      new Map(rows.map((r) => [`${r.x} ${r.ideal}`, {x: r.x, y: r.ideal, from: r.x / r.ideal}]));
  return {
    data: {
      points: rows.map(({cell, ...row}) => row),
      ideal: [...ideals.values()].sort((a, b) => a.x - b.x)
    },
    signals: {shown: data.strategies.filter((s) => rows.some((r) => r.strategy === s))},
    height: 320,
    title: `Scaling over ranks, ${
        kind === 'weak' ? 'weak: the batch is per rank' :
                          'strong: the batch of all ranks is fixed'}`,
    note:
        'Over the median of the same strategy at its fewest ranks; thin lines: over all rounds. ' +
        `Both axes are logarithmic. Dashed grey: ideal${
            rows.some((r) => r.dash) ? '; dashed: without overlap' : ''}. ` +
        (left.length ? `Not drawn: ${countText(left.length, 'series', 'series')} in which the ` +
                 'batch of all ranks is fixed (strong); a filter that leaves these alone ' +
                 'draws them. ' :
                       '') +
        circumstanceNote(rows.map((r) => r.cell)),
    columns: ['cell', 'ranks', 'tokens/s', 'speed-up', 'low', 'high', 'ideal'],
    lines: rows.map(
        (r) =>
            [r.cell.id, r.x, wholeText(r.cell.tokens_per_second),
             ...[r.y, r.low, r.high, r.ideal].map((v) => digits(v))]),
    empty: rows.length ? '' : 'no cells here that differ in their number of ranks alone',
  };
}

// Which rows do the figures of points and lines draw? See tables.js.
'use strict';

// Hollow, diamond, triangle: as bars are striped, dotted, ruled.
const pointLook = (cell) => ({
  hollow: cell.oversubscribed,
  shape: cell.shared_device ? 'triangle-up' :
      cell.emulated_link    ? 'diamond' :
                              'circle'
});

function tradeoff(data, cells) {
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
                             group: cell.same_training,
                             edge: cell.edge,
                             ...pointLook(cell),
                             tip: `${cellName(cell, keys, runs)}\n${bytesText(cell.peak_bytes)}, ${
                                      timeText(cell.step_ns)}` +
                                 (cell.edge ? '\non the edge: nothing is better in both' : '')
                           }));
  return {
    data: {points, edge: points.filter((p) => p.edge).sort((a, b) => a.x - b.x || b.y - a.y)},
    signals: {
      time: time.name,
      bytes: bytes.name,
      shown: data.strategies.filter((s) => shown.some((c) => c.strategy === s))
    },
    height: 340,
    note: `Line: the Pareto edge; no cell of the same training is better in both.${
        cutNote(shown)} ${circumstanceNote(shown)}`,
    columns: ['cell', `peak, ${bytes.name}`, `step, ${time.name}`, 'on the edge'],
    lines: shown.map(
        (c) =>
            [c.id, digits(c.peak_bytes / bytes.scale), digits(c.step_ns / time.scale),
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
    const name = cellName(cell, keys, runs);
    return {
      series: index,
      x: n,
      y: speed,
      strategy: cell.strategy,
      cell,
      ...pointLook(cell),
      dash: setting(data, cell, 'overlap') === false,
      ideal: n / setting(data, first, 'ranks'),
      tip: `${name}\n${countText(n, 'rank', 'ranks')}: ${
               digits(cell.tokens_per_second)} tokens/s\n` +
          `${digits(speed)} of an ideal ${digits(n / setting(data, first, 'ranks'))}`
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
    note: 'Over the same strategy at its fewest ranks. ' +
        `Dashed grey: ideal${rows.some((r) => r.dash) ? '; dashed: without overlap' : ''}. ` +
        (left.length ? `Not drawn: ${countText(left.length, 'series', 'series')} in which the ` +
                 'batch of all ranks is fixed (strong); a filter that leaves these alone ' +
                 'draws them. ' :
                       '') +
        circumstanceNote(rows.map((r) => r.cell)),
    columns: ['cell', 'ranks', 'tokens/s', 'speed-up', 'ideal'],
    lines: rows.map(
        (r) => [r.cell.id, r.x, wholeText(r.cell.tokens_per_second), digits(r.y), digits(r.ideal)]),
    empty: rows.length ? '' : 'no cells here that differ in their number of ranks alone',
  };
}

// What was wrong, and what did not end: a bandwidth of wrong results is none.
function troubles(collectives) {
  const wrong = collectives.filter((c) => (c.rows || []).some((r) => r.wrong > 0));
  const failed = collectives.filter((c) => c.status !== 'ok');
  return wrong.map((c) => `WRONG RESULTS in ${c.id}. `).join('') +
      failed.map((c) => `Failed: ${c.id} (${c.reason}). `).join('');
}

function bandwidth(data) {
  const points = [], fits = [], lines = [];
  const runs = new Set(data.collectives.map((c) => c.run)).size > 1;
  for (const cell of data.collectives) {
    const panel = `${runs ? `${runLetter(cell.run)}  ` : ''}${cell.comm} ranks, ${cell.ranks}` +
        (cell.link === 'none' ? '' : `, link ${cell.link}`) + marksOf(cell);
    for (const row of cell.rows || []) {
      if (!row.factor) continue;
      points.push({
        panel,
        hollow: cell.oversubscribed,
        verb: row.verb,
        by: row.by,
        x: row.bytes,
        y: row.busbw / 1e9,
        wrong: row.wrong > 0,
        tip: `${row.verb} by ${row.by}, ${bytesText(row.bytes)}\n${timeText(row.median_ns)}, ` +
            `${digits(row.busbw / 1e9)} GB/s of bus bandwidth` +
            (row.wrong > 0 ? `\nWRONG: ${countText(row.wrong, 'element', 'elements')}` : '')
      });
      lines.push([
        panel, row.verb, row.by, bytesText(row.bytes), timeText(row.median_ns),
        digits(row.busbw / 1e9) + (row.wrong > 0 ? ', wrong' : '')
      ]);
    }
    for (const line of cell.lines || []) {
      const own =
          (cell.rows || []).filter((r) => r.verb === line.verb && r.by === line.by && r.factor);
      if (line.alpha_ns === null || !own.length) continue;
      const from = Math.log(Math.min(...own.map((r) => r.bytes)));
      const to = Math.log(Math.max(...own.map((r) => r.bytes)));
      for (let i = 0; i <= 40; ++i) {
        const x = Math.exp(from + ((to - from) * i) / 40);
        fits.push({
          panel,
          verb: line.verb,
          by: line.by,
          x,
          poor: line.poor,
          series: `${cell.round} ${line.verb} ${line.by}`,
          y: (own[0].factor * x) / (line.alpha_ns + line.beta_ns_per_byte * x)
        });
      }
    }
  }
  const shown = verbNames.filter((v) => points.some((p) => p.verb === v));
  return {
    data: {points, fits},
    signals: {shown, by: [...new Set(points.map((p) => p.by))]},
    height: 240,
    note: troubles(data.collectives) +
        'Lines: α + β × bytes, fitted on every other size; dashed where that fits poorly. ' +
        circumstanceNote(data.collectives),
    columns: ['ranks', 'verb', 'by', 'size', 'median time', 'busbw, GB/s'],
    lines,
    empty: points.length ? '' :
                           'no measurements of collectives alone among these runs; ' +
            'shardmark collectives makes them',
  };
}

function losses(data, cells) {
  const shown = measured(cells), keys = varying(shown), runs = manyRuns(shown);
  const points = shown.flatMap(
      (cell) => cell.loss.filter(([, loss]) => loss !== null)
                    .map(([step, loss]) => ({
                           key: cell.key,
                           x: step,
                           y: loss,
                           strategy: cell.strategy,
                           tip: `${cellName(cell, keys, runs)}\nstep ${step}: ${digits(loss, 4)}`
                         })));
  const curves = new Set(shown.map((c) => JSON.stringify(c.loss))).size;
  return {
    data: {points},
    signals: {shown: data.strategies.filter((s) => shown.some((c) => c.strategy === s))},
    height: 300,
    note: `${countText(shown.length, 'cell', 'cells')}, ${
              countText(curves, 'curve', 'different curves')}` +
        ' (to 6 digits); equal ones lie on each other.',
    columns: ['cell', 'first loss', 'last loss', 'steps'],
    lines: shown.map(
        (c) =>
            [c.id, digits((c.loss[0] || [])[1], 5), digits((c.loss[c.loss.length - 1] || [])[1], 5),
             c.loss.length]),
    empty: points.length ? '' : 'no losses',
  };
}

const metrics = {
  step: {words: 'step time', of: (c) => c.step_ns, unit: timeUnit, text: timeText},
  peak: {words: 'peak of memory', of: (c) => c.peak_bytes, unit: byteUnit, text: bytesText},
  volume:
      {words: 'volume a step', of: (c) => c.volume_bytes.measured, unit: byteUnit, text: bytesText},
};
function history(data, cells, {metric: metricName = 'step'} = {}) {
  const shown = measured(cells), metric = metrics[metricName], keys = varying(shown);
  const unit = metric.unit(Math.max(0, ...shown.map(metric.of)));
  const most = farthest(shown.map((c) => c.step_ns));
  const labels =
      data.runs.map((run) => `${runLetter(run.index)} ${(run.commit || 'unknown').slice(0, 7)}`);
  const points =
      shown.map((cell) => ({
                  run: labels[cell.run],
                  key: cell.id,
                  strategy: cell.strategy,
                  order: cell.run,
                  y: metric.of(cell) / unit.scale,
                  ...pointLook(cell),
                  low: (metricName === 'step' ? cell.low_ns : metric.of(cell)) / unit.scale,
                  high: (metricName === 'step' ? Math.min(cell.high_ns, most) : metric.of(cell)) /
                      unit.scale,
                  cut: metricName === 'step' && cell.high_ns > most,
                  tip: `${labels[cell.run]}\n${cellName(cell, keys, false)}\n${metric.words}: ${
                      metric.text(metric.of(cell))}`
                }));
  const runsShown = data.runs.filter((run) => shown.some((c) => c.run === run.index));
  return {
    data: {
      points: points.sort((a, b) => a.order - b.order),
      runs: runsShown.map((run) => ({run: labels[run.index]}))
    },
    signals: {
      metric: `${metric.words}, ${unit.name}`,
      shown: data.strategies.filter((s) => shown.some((c) => c.strategy === s))
    },
    height: 300,
    note: `A line a cell; bars from the least to the most over rounds.${
        metricName === 'step' ? cutNote(shown) : ''} ${circumstanceNote(shown)}`,
    columns: ['run', 'cell', `${metric.words}, ${unit.name}`],
    lines: points.map((p) => [p.run, p.key, digits(p.y)]),
    empty: runsShown.length > 1 ? '' :
                                  'one run is no history; give several runs, or a file with many',
  };
}

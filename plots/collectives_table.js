// Which rows does the figure of collectives alone draw? See tables.js.
'use strict';

// What was wrong, and what did not end: a bandwidth of wrong results is none.
function troubles(collectives) {
  const wrong = collectives.filter((c) => (c.rows || []).some((r) => r.wrong > 0));
  const failed = collectives.filter((c) => c.status !== 'ok');
  return wrong.map((c) => `WRONG RESULTS in ${c.id}. `).join('') +
      failed.map((c) => `Failed: ${c.id} (${c.reason}). `).join('');
}

const verbText = (line) => `${line.verb.replace(/_/g, '-')} by ${line.by}`;
const perByteText = (ns) => `${digits(ns)} ns/B`;

// A panel's fits in words: α is what the smallest array costs, 1/β what the largest ones reach.
const fitTexts = (cell) =>
    (cell.lines || [])
        .map(
            (line) => line.alpha_ns === null ?
                `${verbText(line)}: no fit` :
                `${verbText(line)}: α ${timeText(line.alpha_ns)}, β ${
                    perByteText(line.beta_ns_per_byte)}${line.poor ? ', fits poorly' : ''}`);

// Sizes that were measured, few enough to be read: all, every second, every third, …
function sizeTicks(points, width) {
  const sizes = [...new Set(points.map((p) => p.x))].sort((a, b) => a - b);
  const every = Math.ceil(sizes.length / Math.max(2, Math.floor(width / 62)));
  return sizes.filter((_, i) => i % every === 0);
}

function bandwidth(data, cells, {width = 880} = {}) {
  const points = [], fits = [], lines = [], panels = new Map();
  const runs = new Set(data.collectives.map((c) => c.run)).size > 1;
  for (const cell of data.collectives) {
    const panel = `${runs ? `${runLetter(cell.run)}  ` : ''}${cell.ranks} ${cell.comm} ranks` +
        (cell.link === 'none' ? '' : `, link ${cell.link}`) + marksOf(cell);
    panels.set(panel, [...(panels.get(panel) || []), ...fitTexts(cell)]);
    const fitOf = (row) => (cell.lines || []).find((l) => l.verb === row.verb && l.by === row.by);
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
      const {alpha_ns: alpha = null, beta_ns_per_byte: beta = null} = fitOf(row) || {};
      lines.push([
        panel, row.verb, row.by, bytesText(row.bytes), timeText(row.median_ns),
        digits(row.busbw / 1e9) + (row.wrong > 0 ? ', wrong' : ''), timeText(alpha),
        beta === null ? '–' : perByteText(beta)
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
  const heads = [...panels]
                    .filter(([panel]) => points.some((p) => p.panel === panel))
                    .map(([panel, texts]) => ({panel, texts: [...new Set(texts)]}));
  const ticks = sizeTicks(points, width > 640 ? width / 2 - 80 : width - 80);
  return {
    data: {points, fits, heads},
    signals: {
      shown,
      by: [...new Set(points.map((p) => p.by))],
      ticks,
      sizes: Object.fromEntries(ticks.map((bytes) => [bytes, bytesText(bytes)])),
      head: 30 + 15 * Math.max(0, ...heads.map((h) => h.texts.length))
    },
    height: 240,
    note: troubles(data.collectives) +
        'Lines: a call takes α + β × bytes, fitted on every other size; dashed where that fits ' +
        'poorly. ' + circumstanceNote(data.collectives),
    columns: ['ranks', 'verb', 'by', 'size', 'median time', 'busbw, GB/s', 'α', 'β'],
    lines,
    empty: points.length ? '' :
                           'no measurements of collectives alone among these runs; ' +
            'shardmark collectives makes them',
  };
}

// Which spans does the timeline of one step draw? See tables.js; a compact timeline is as
// bench/report_timeline.cpp writes it.
'use strict';

function timeline(data, cells, {chosen} = {}) {
  const cell = chosen && chosen.timeline ? chosen : cells.find((c) => c.timeline);
  if (!cell || (chosen && !chosen.timeline))
    return {
      data: {},
      signals: {},
      height: 0,
      note: '',
      columns: [],
      lines: [],
      empty: (chosen && chosen.timeline_reason) || (cells[0] && cells[0].timeline_reason) ||
          'no timeline of a step among these cells'
    };
  const spans = [], waits = [], lanes = [], lines = [];
  const unit = timeUnit(cell.timeline.step_ns), scale = data.timeline_unit_ns / unit.scale;
  for (const {rank, lanes: queues} of cell.timeline.ranks) {
    for (const lane of queues) {
      const name = `rank ${rank}  ${lane.queue}`;
      let begin = 0;
      if ((lane.begin || []).length === 0) continue;
      lanes.push({lane: name});
      lane.begin.forEach((later, i) => {
        begin += later;
        const phase = data.phases[lane.phase[i]] || 'other';
        const x0 = begin * scale, x1 = (begin + lane.length[i]) * scale;
        const ns = lane.length[i] * data.timeline_unit_ns;
        const wait = lane.skew && lane.skew[i] ? lane.skew[i] : 0;
        const verb =
            lane.verb && lane.verb[i] !== null && lane.verb[i] >= 0 ? data.verbs[lane.verb[i]] : '';
        const moved = lane.bytes && lane.bytes[i] ? bytesText(lane.bytes[i]) : '';
        const of = ['forward', 'recompute', 'backward'].includes(phase) ? 'unit' : 'segment';
        spans.push({
          lane: name,
          x0,
          x1,
          phase,
          tip: [
            `${name}`, `${phase}, ${of} ${lane.label[i]}`, [verb, moved].filter(Boolean).join(', '),
            timeText(ns),
            wait ? `of it waiting for the last rank: ${timeText(wait * data.timeline_unit_ns)}` : ''
          ].filter(Boolean)
                   .join('\n')
        });
        if (wait) waits.push({lane: name, x0, x1: Math.min(x1, (begin + wait) * scale)});
        lines.push(
            [rank, lane.queue, phase, lane.label[i], digits(x0, 4), digits(x1, 4), verb, moved]);
      });
    }
  }
  return {
    data: {lanes, spans, waits},
    signals: {
      unit: unit.name,
      end: cell.timeline.step_ns / unit.scale,
      shown: [...data.phases, 'other'].filter((p) => spans.some((s) => s.phase === p))
    },
    height: Math.max(90, lanes.length * 24),
    note: `${cell.id}, step ${cell.timeline.step}. Striped: waiting for the last rank. ${
        cell.timeline.clocks_comparable ?
            '' :
            'Ranks have no clock in common: each begins at its own 0. '}${
        circumstanceNote([cell])}`,
    columns: [
      'rank', 'queue', 'phase', 'unit or segment', `begin, ${unit.name}`, 'end', 'verb', 'payload'
    ],
    lines,
  };
}

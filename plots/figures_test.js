// Do figures draw what records say? Run by node: rows of figures, worked out by hand, from cells
// made here; nothing is drawn. And do figures' specs hold what their rows count on?
'use strict';
const fs = require('fs');
const path = require('path');

const read = (name) => fs.readFileSync(path.join(__dirname, name), 'utf8');
const scripts = [
  'words.js', 'labels.js', 'tables.js', 'point_tables.js', 'collectives_table.js',
  'curve_tables.js', 'timeline_table.js', 'theme.js', 'score.js'
];
const names =
    'textWidth, fitted, nameLines, placedLabels, stepTime, bytesHeld, tradeoff, scaling,' +
    'bandwidth, losses, history, prepared, barRows, partError, scoreText';
const figures = new Function(`${scripts.map(read).join('\n')}\nreturn {${names}};`)();
const spec = (name) => JSON.parse(read(`figures/${name}.vg.json`));

let failed = 0;
function expect(holds, sentence) {
  if (holds) return;
  console.log(`wrong: ${sentence}`);
  failed = 1;
}
const equal = (is, should, sentence) => expect(
    JSON.stringify(is) === JSON.stringify(should),
    `${sentence}: ${JSON.stringify(is)}, not ${JSON.stringify(should)}`);
const near = (is, should, part, sentence) =>
    expect(Math.abs(is - should) <= part * Math.abs(should), `${sentence}: ${is}, not ${should}`);

// A cell of 100 ms: 60 compute, 40 exposed of 50 communication.
const ms = 1e6;
function cell(more = {}) {
  const {settings, parts, ...rest} = more;
  return {
    key: JSON.stringify(more),
    id: `gpt-nano/${rest.strategy || 'ddp'}`,
    run: 0,
    status: 'ok',
    strategy: 'ddp',
    rounds: 3,
    step_ns: 100 * ms,
    low_ns: 90 * ms,
    high_ns: 120 * ms,
    peak_bytes: 1e6,
    tokens_per_second: 1000,
    state_bytes: {textbook: 8e5, exact: 8e5, measured: 8e5},
    volume_bytes: {textbook: 4e5, exact: 4e5, measured: 4e5},
    held_bytes: [{tag: 'parameter', exact: 4e5, measured: 4e5}],
    traffic_bytes: [],
    loss: [[0, 4], [1, 2]],
    work: 0,
    curve: 0,
    parts_ns: {
      forward: 60 * ms,
      exposed: 40 * ms,
      hidden: 10 * ms,
      communication: 50 * ms,
      skew: 12 * ms,
      hidden_transfer: 8 * ms,
      ...parts
    },
    ...rest,
    settings: {ranks: 2, ...settings}
  };
}
const data = (cells, more = {}) => ({
  cells,
  common: {},
  strategies: ['ddp', 'zero1', 'zero2', 'zero3'],
  runs: [{index: 0, commit: 'a'.repeat(40)}],
  curves: [{}],
  collectives: [],
  ...more
});
const draw = (figure, cells, view, more) => figures[figure](data(cells, more), cells, view);
const row = (table, line, column) =>
    table.lines[line][table.columns.findIndex((c) => c === column || c.startsWith(`${column},`))];

// By the widths of Adobe's Helvetica: 500 556 556 333 556 833 556 333 500, of 1000.
near(figures.textWidth('shardmark', 10), 47.23, 0.02, 'the width of shardmark');
const long =
    'zero1_naive · gpt:layers=12,width=768,heads=12 · 8 ranks · bf16 · recompute · overlap';
const lines = figures.nameLines(long, 320);
equal(lines.length, 2, 'lines of a long name');
expect(lines.every((l) => figures.textWidth(l, 11) <= 320), `too wide: ${lines}`);
equal(lines.join(' · '), long, 'a name that two lines have room for is whole');
const cut =
    figures.nameLines(long.replace('=12 ', '=12,sequence=1024,vocab=50257 '), 320).join(' · ');
expect(
    cut.includes('…') && cut.endsWith(' · overlap'), `the model is cut, not what follows: ${cut}`);
expect(figures.fitted(long, 100).endsWith('…'), 'a name that is cut says so');

{
  const one = {px: 300, py: 200, label: 'zero1 N=2'};
  const placed = figures.placedLabels([one, one, one, one, one], 600, 400);
  equal(placed.filter((l) => l).length, 4, 'labels of five points in one place: one a side');
  equal(new Set(placed.filter((l) => l).map(JSON.stringify)).size, 4, 'all of them elsewhere');
  const edge = figures.placedLabels([{px: 599, py: 200, label: 'zero1 N=2'}], 600, 400)[0];
  equal(edge.align, 'right', 'a label at the right edge stands on the left');
}

{
  const table = draw('tradeoff', [
    cell({strategy: 'zero3', peak_bytes: 1e6, step_ns: 50 * ms, edge: true}),
    cell({strategy: 'zero1', peak_bytes: 3e6, step_ns: 20 * ms, edge: true}),
    cell({strategy: 'ddp', peak_bytes: 4e6, step_ns: 21 * ms, edge: true}),
    cell({
      strategy: 'ddp',
      peak_bytes: 9e6,
      step_ns: 9 * ms,
      edge: true,
      work: 1,
      settings: {ranks: 4}
    }),
    cell({strategy: 'zero2', peak_bytes: 9e6, step_ns: 70 * ms, edge: false}),
  ]);
  equal(
      table.data.labels.map((l) => l.label).sort(),
      ['ddp N=2', 'ddp N=4', 'zero1 N=2', 'zero2 N=2', 'zero3 N=2'], 'a label a point');
  expect(table.note.startsWith('Cells of N = 2, 4'), `several N are said: ${table.note}`);
  equal(
      table.data.edge.map((p) => [p.work, p.x, p.y]), [[0, 1, 50], [0, 3, 20], [1, 9, 9]],
      'the edge takes less time with more memory, each work its own');
  equal(table.data.points.filter((p) => p.edge).length, 4, 'points with a ring');
  expect(
      spec('tradeoff').marks.some((m) => (m.encode?.update.size?.signal || '').includes('edge')),
      'a point alone on its edge has a ring');
}

{
  const table = draw('scaling', [
    cell({settings: {ranks: 1}}),
    cell({tokens_per_second: 1500, settings: {ranks: 4, batch: 4}}),
  ].map((c) => ({...c, settings: {...c.settings, batch: 4}})));
  const [, four] = table.data.points;
  near(four.y, 1.5, 1e-9, 'speed-up');
  near(four.low, 1.5 * 100 / 120, 1e-9, 'in the slowest round');
  near(four.high, 1.5 * 100 / 90, 1e-9, 'in the fastest round');
  equal(table.data.ideal.map(({x, y}) => [x, y]), [[1, 1], [4, 4]], 'ideal');
  // y = x is a straight line where both axes are of one kind, and in no other case.
  equal(
      spec('scaling').scales.filter((s) => s.name !== 'strategy').map((s) => [s.type, s.base]),
      [['log', 2], ['log', 2]], 'axes');
}

{
  const table = draw(
      'losses',
      [
        cell({loss: [[0, 4], [1, 2]]}), cell({strategy: 'zero1', loss: [[0, 4], [1, 2.002]]}),
        cell({strategy: 'zero2', curve: 1, loss: [[0, 9], [1, 8]]})
      ],
      {}, {curves: [{precision: 'fp32', global_batch: 8}, {precision: 'bf16', global_batch: 16}]});
  equal(
      table.signals.groups, ['8 sequences a step · fp32', '16 sequences a step · bf16'],
      'groups have names');
  equal(
      table.data.points.map((p) => table.signals.groups.indexOf(p.group)), [0, 0, 0, 0, 1, 1],
      'of');
  // 0.002 of a mean of 2.001.
  expect(table.note.includes('fp32: 2 cells, apart by at most 0.100 %'), table.note);
  equal(spec('loss').scales.find((s) => s.domain?.signal === 'groups').range.length, 8, 'dashes');
}

{
  const curve = (strategy, last) =>
      cell({strategy, curve: 0, loss: [[0, 5], [1, 4], [2, last]]});
  const note = (cells) => figures.losses({...data(cells), curves: [{}]}, cells).note;
  expect(/equal to 6 digits/.test(note([curve('ddp', 3), curve('zero1', 3)])), 'equal losses');
  const parted = note([curve('ddp', 3), curve('zero1', null)]);
  expect(/some without a finite loss from step 2 on/.test(parted), `a lost loss: ${parted}`);
}

{
  equal(figures.partError({error: -0.2}), '−20.0', 'a part that is a fifth too short');
  equal(figures.partError({error: null}), '·', 'a part too small to say anything');
  const score = {
    cluster: 'here', scored: 1, median: 0.1, worst: 0.1, pairs: 1, right: 1, run: 1, cells: []
  };
  const text = figures.scoreText(score);
  expect(/^Run B: 1 cell against here: the step is off by 10.0 %/.test(text), text);
  expect(/Of 1 pair of strategies/.test(text), text);
}

{
  const sizes = [4096, 16384, 65536, 262144, 1048576];
  const rows = sizes.map((bytes) => ({
                           verb: 'all_reduce',
                           by: 'ring',
                           bytes,
                           factor: 1,
                           median_ns: 2000 + bytes / 10,
                           busbw: 1e9,
                           wrong: 0
                         }));
  const fit = {verb: 'all_reduce', by: 'ring', alpha_ns: 2000, beta_ns_per_byte: 0.1, poor: false};
  const of = {comm: 'thread', ranks: 2, link: 'none', status: 'ok', run: 0, round: 1};
  const collectives = [{...of, id: 'a', rows, lines: [fit]}];
  const table = figures.bandwidth(data([], {collectives}), [], {width: 880});
  expect(table.signals.ticks.length > 2, `ticks: ${table.signals.ticks}`);
  expect(table.signals.ticks.every((t) => sizes.includes(t)), 'every tick is a measured size');
  equal(table.signals.sizes[65536], '65.5 kB', 'the name of 65,536 bytes');
  equal(row(table, 0, 'α'), '2.00 µs', 'α');
  equal(row(table, 0, 'β'), '0.100 ns/B', 'β');
  equal(
      table.data.heads,
      [{panel: '2 thread ranks', texts: ['all-reduce by ring: α 2.00 µs, β 0.100 ns/B']}],
      'what stands over a panel');
}

{
  const held = [
    {tag: 'parameter', exact: 4e5, measured: 4e5}, {tag: 'gradient', exact: null, measured: 2e5}
  ];
  const table = draw(
      'bytesHeld',
      [cell({held_bytes: held, state_bytes: {textbook: null, exact: null, measured: 6e5}})]);
  equal(table.data.claims.map((c) => c.part), ['parameter'], 'claims that are drawn');
  equal(
      table.data.unclaimed.map(({x0, x1, tip}) => [x0, Math.round(10 * x1) / 10, tip]),
      [[0.4, 0.6, 'ddp\nno exact claim of gradient']],
      'what is not claimed is drawn apart, and said');
  expect(table.note.includes('nothing exact is claimed'), table.note);
  equal([row(table, 0, 'exact'), row(table, 0, 'textbook')], ['–', '–'], 'in the table');
}

{
  const both = cell({oversubscribed: true, emulated_link: true});
  const [first, second] = draw('stepTime', [both]).data.hatches;
  equal([first.from, first.share, second.from, second.share], [0, 0.5, 0.5, 0.5], 'hatches apart');
  const table = draw('stepTime', [cell(), cell({strategy: 'zero1', parts: {skew: null}})]);
  // Communication 50 = waiting 12 + moving 38, of which 8 are hidden: 30 of the exposed 40.
  const tip = table.data.parts.find((p) => p.part === 'exposed').tip;
  expect(tip.includes('moving data: 30.0 ms') && tip.includes('last rank: 10.0 ms'), tip);
  equal(
      [row(table, 0, 'of exposed: moving data'), row(table, 0, 'of exposed: waiting')],
      ['30.0', '10.0'], 'of exposed');
  equal(row(table, 1, 'of exposed: waiting'), '–', 'what no clock can tell');
}

{
  const linked = ['none', '1gbit,50us'].flatMap(
      (link) => ['ddp', 'zero1'].map((strategy) => cell({strategy, settings: {link}})));
  equal(
      figures.barRows(data(linked), linked).filter((r) => r.header).map((r) => r.header),
      ['no emulated link', 'link 1gbit,50us'], 'headings');
}

{
  const runs = [0, 1, 2].map((index) => ({
                               index,
                               commit: 'abc'[index].repeat(40),
                               dirty: index === 1,
                               other_machine: index === 2 ? 'cores_usable: 2, then 4' : ''
                             }));
  const cells = runs.map(({index}) => cell({run: index, peak_bytes: (index + 1) * 1e6}));
  const table = draw('history', cells, {metric: 'peak'}, {runs});
  equal(table.lines.map((l) => l[2]), ['1.00', '2.00', '3.00'], 'peaks in MB');
  equal(table.data.runs.map((r) => r.run), ['A aaaaaaa', 'B bbbbbbb+', 'C ccccccc'], 'runs');
  equal(new Set(table.data.points.map((p) => p.series)).size, 2, 'lines, one a machine');
  equal(
      table.data.changes,
      [{run: 'C ccccccc', before: 'B bbbbbbb+', tip: 'cores_usable: 2, then 4'}], 'changes');
  equal(row(draw('history', cells, {}, {runs}), 0, 'step time'), '100', 'the usual metric, in ms');
}

if (!failed) console.log('figures draw what records say');
process.exit(failed);

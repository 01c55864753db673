// How do figures look? Vega's config from the palette, patterns for circumstances, and a figure's
// spec made ready: rows, signals, words.
'use strict';

const figureList = [
  {
    name: 'step-time',
    title: 'Where the time of a step goes',
    table: stepTime,
    about: 'The median round’s median step on its slowest rank: the parts add up. (Of an even ' +
        'number the median is the faster of the two in the middle.) Communication that was ' +
        'hidden beside compute is no part of the sum.'
  },
  {
    name: 'bytes',
    title: 'Where the bytes are',
    table: bytesHeld,
    about: 'What a rank holds, by what it is for, beside what the strategy claims to hold.'
  },
  {
    name: 'tradeoff',
    title: 'Memory against time',
    table: tradeoff,
    about: 'What a strategy saves in memory, and what that costs in time. Down and left is better.'
  },
  {
    name: 'scaling',
    title: 'Scaling over ranks',
    table: scaling,
    about: 'Tokens per second over those of the fewest ranks.'
  },
  {
    name: 'volume',
    title: 'What is sent',
    table: volume,
    about:
        'Bytes that a rank sends in a step, by verb, as the ring counts them, against the textbook.'
  },
  {
    name: 'bandwidth',
    title: 'Collectives alone',
    table: bandwidth,
    about: 'Bus bandwidth over the size of the array, with the line of latency and time per byte.'
  },
  {
    name: 'loss',
    title: 'Losses',
    table: losses,
    about:
        'Sharding changes where bytes are and never what is computed: curves of the same data, ' +
        'batch and types should coincide.'
  },
  {
    name: 'timeline',
    title: 'One step, every rank',
    table: timeline,
    about: 'The median step of the selected cell; each rank’s queues are lanes. ' +
        'Ctrl with the wheel, or + and −, zooms; a drag, or ← and →, pans; 0 shows all.'
  },
  {
    name: 'history',
    title: 'Over commits',
    table: history,
    about: 'One metric of each cell over the runs, in the order in which they were given.'
  },
];

const pageFont =
    'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';
const fileFont = 'Helvetica Neue, Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif';

// The same name has the same colour in every figure.
function colours(palette, data) {
  const more = [...palette.more];
  return {
    phase: [...partNames, 'reduce', 'gather'].map((p) => palette.phase[p]),
    tag: tagNames.map((t) => palette.tag[t]),
    verb: verbNames.map((v) => palette.verb[v]),
    strategy: data.strategies.map((s) => palette.strategy[s] || more.shift() || palette.muted),
  };
}

function vegaConfig(palette, data, font) {
  const axis = {
    domain: false,
    ticks: false,
    gridColor: palette.faint,
    labelColor: palette.muted,
    titleColor: palette.muted,
    labelFont: font,
    titleFont: font,
    labelFontSize: 11.5,
    labelLimit: 0,  // names are made to fit: see labels.js
    titleFontSize: 12,
    titleFontWeight: 'normal',
    labelPadding: 8,
    titlePadding: 10,
    aria: false
  };
  return {
    background: null,
    font,
    range: colours(palette, data),
    axis,
    axisBand: {grid: false},
    legend: {
      labelColor: palette.ink,
      titleColor: palette.muted,
      labelFont: font,
      labelFontSize: 12,
      labelLimit: 0,
      titleFont: font,
      symbolSize: 110,
      symbolStrokeWidth: 0,
      columnPadding: 18,
      rowPadding: 5,
      offset: 14,
      aria: false,
      orient: 'top',
      direction: 'horizontal',
      layout: {top: {direction: 'vertical', margin: 8, anchor: 'start'}}
    },
    title: {
      color: palette.ink,
      subtitleColor: palette.muted,
      font,
      subtitleFont: font,
      fontSize: 16,
      fontWeight: 600,
      subtitleFontSize: 12,
      anchor: 'start',
      offset: 18,
      subtitlePadding: 7,
      frame: 'bounds',
      aria: false
    },
    text: {font, fill: palette.ink, fontSize: 12},
    rule: {stroke: palette.muted},
  };
}

// Over a bar of any colour: stripes, dots or lines of the paper's colour.
function hatchDefs(palette) {
  const pattern = (name, size, turn, shape) =>
      `<pattern id="hatch-${name}" width="${size}" height="${size}" ` +
      `patternUnits="userSpaceOnUse" patternTransform="rotate(${turn})">${shape}</pattern>`;
  const paper = palette.paper;
  return `<defs>${
      pattern(
          'oversubscribed', 6, 45,
          `<rect width="1.6" height="6" fill="${paper}" fill-opacity="0.75"/>`)}${
      pattern(
          'emulated', 6, 0,
          `<circle cx="3" cy="3" r="1.3" fill="${paper}" fill-opacity="0.85"/>`)}${
      pattern(
          'shared', 6, 0, `<rect width="6" height="1.6" fill="${paper}" fill-opacity="0.75"/>`)}${
      pattern(
          'wait', 5, 45,
          `<rect width="2.4" height="5" fill="${paper}" fill-opacity="0.7"/>`)}</defs>`;
}

// Names of rows on as much room as they may take, headings and legends on what they leave.
function withNames(table, width) {
  const names = Object.fromEntries(
      Object.entries(table.signals.names || {})
          .map(([key, name]) => [key, nameLines(name, width < 560 ? 130 : 320)]));
  const longest = Math.max(0, ...Object.values(names).flat().map((line) => textWidth(line)));
  const left = width - longest - 50;
  const rows = (table.data.rows || []).map((row) => ({...row, header: fitted(row.header, left)}));
  const entries = (table.signals.shown || []).map((entry) => textWidth(entry));
  const legendColumns = Math.max(1, Math.floor(left / (Math.max(0, ...entries) + 45)));
  return {...table, data: {...table.data, rows}, signals: {...table.signals, names, legendColumns}};
}

// A copy of the spec with its rows, and with the signals that every figure may use.
function prepared(spec, unfitted, data, palette, look) {
  const table = withNames(unfitted, look.width);
  const ready = JSON.parse(JSON.stringify(spec));
  const signals = {
    ink: palette.ink,
    muted: palette.muted,
    faint: palette.faint,
    paper: palette.paper,
    strategies: data.strategies,
    parts: partNames,
    tags: tagNames,
    verbs: verbNames,
    phases: [...partNames, 'reduce', 'gather'],
    total: look.width,
    ...table.signals
  };
  ready.signals = [
    ...Object.entries(signals).map(([name, value]) => ({name, value})), ...(ready.signals || [])
  ];
  for (const set of ready.data)
    if (table.data[set.name]) set.values = table.data[set.name];
  // A legend without an entry has no size to draw it at.
  const entries = ({values}) =>
      (values ? ready.signals.find((s) => s.name === values.signal) : null);
  ready.legends = ready.legends.filter((legend) => entries(legend)?.value.length !== 0);
  // A layout of panels has the size that they come to.
  if (!ready.layout) Object.assign(ready, {width: look.width, height: table.height});
  ready.description = `${look.title}. ${table.note}`;
  if (look.titled)
    ready.title = {
      text: look.title,
      subtitle: brokenLines(table.note, Math.floor(look.width / 7.2))
    };
  return ready;
}

function brokenLines(text, most) {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines[lines.length - 1];
    if (last && last.length + word.length >= most)
      lines.push(word);
    else
      lines[lines.length - 1] = last ? `${last} ${word}` : word;
  }
  return lines;
}

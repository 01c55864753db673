// How are values said? Times, bytes, settings and circumstances in words; decimal units only.
'use strict';

function pickUnit(largest, units) {
  return units.find((u) => largest >= u.size) || units[units.length - 1];
}
// One unit for all of a figure, so that its numbers compare at a glance.
const timeUnit = (ns) => pickUnit(ns, [
  {size: 1e10, scale: 1e9, name: 's'}, {size: 1e6, scale: 1e6, name: 'ms'},
  {size: 0, scale: 1e3, name: 'µs'}
]);
const byteUnit = (bytes) => pickUnit(bytes, [
  {size: 1e9, scale: 1e9, name: 'GB'}, {size: 1e6, scale: 1e6, name: 'MB'},
  {size: 1e3, scale: 1e3, name: 'kB'}, {size: 0, scale: 1, name: 'B'}
]);

// Three digits, but whole numbers stay whole: 1234.5 → "1,235", 12.345 → "12.3".
function digits(value, count = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  if (value === 0) return '0';
  const size = Math.floor(Math.log10(Math.abs(value)));
  if (size >= 6 && count <= 3) return value.toExponential(2);
  const decimals = Math.max(0, Math.min(6, count - 1 - size));
  return value.toLocaleString(
      'en-US', {minimumFractionDigits: decimals, maximumFractionDigits: decimals});
}
// Says numbers of one column: the largest with three digits, the others with as many decimals.
function evenly(values) {
  const most = Math.max(0, ...values);
  const decimals = most >= 1000 ? 0 : most >= 100 ? 1 : most >= 1 ? 2 : 3;
  return (v) =>
             (v === null || v === undefined ?
                  '–' :
                  v.toLocaleString(
                      'en-US', {minimumFractionDigits: decimals, maximumFractionDigits: decimals}));
}
const timeText = (ns) => {
  if (ns === null || ns === undefined) return '–';
  const unit = timeUnit(ns);
  return `${digits(ns / unit.scale)} ${unit.name}`;
};
const bytesText = (bytes) => {
  if (bytes === null || bytes === undefined) return '–';
  const unit = byteUnit(Math.abs(bytes));
  return `${unit.scale === 1 ? bytes : digits(bytes / unit.scale)} ${unit.name}`;
};
const percentText = (share) =>
    (share === null || share === undefined ? '–' : `${(share * 100).toFixed(1)} %`);
const wholeText = (n) =>
    (n === null || n === undefined ? '–' : Math.round(n).toLocaleString('en-US'));
const countText = (n, one, many) => `${wholeText(n)} ${n === 1 ? one : many}`;

// One round that was far slower than all others would leave no room for what is compared: lines
// over rounds end where half more than the longest median would, and say so.
const farthest = (medians) => 1.5 * Math.max(0, ...medians);
const cutNote = (cells) => cells.some((c) => c.high_ns > farthest(cells.map((d) => d.step_ns))) ?
    ' A line that ends in an arrow goes on: its end stands in the data.' :
    '';

// Empty: as it mostly is, and not worth a word.
const settingTexts = {
  ranks: (v) => countText(v, 'rank', 'ranks'),
  precision: (v) => v,
  reduce_dtype: (v) => `reduced in ${v}`,
  overlap: (v) => (v ? 'overlap' : 'no overlap'),
  recompute: (v) => (v === 'none' ? '' : 'recompute'),
  link: (v) => (v === 'none' ? '' : `link ${v}`),
  comm: (v) => `${v} ranks`,
  collectives: (v) => ({memory: '', ring: 'our ring', library: 'MPI library'}[v] ?? v),
  accumulate: (v) => countText(v, 'micro-step', 'micro-steps'),
  threads_per_rank: (v) => countText(v, 'thread a rank', 'threads a rank'),
  bucket_bytes: (v) => (v === 0 ? 'a bucket a unit' : `buckets of ${bytesText(v)}`),
  global_batch: (v) => countText(v, 'sequence a step', 'sequences a step'),
  loss_scale: (v) => (v === 0 ? '' : `loss scale ${v}`),
  loss_scale_window: () => '',
  vocab: (v) => (v === 'own' ? '' : `vocabulary ${v}`),
  keep_last: (v) => (v ? 'kept at the turn' : 'gathered again at the turn'),
  model: (v) => v,
};
function settingText(key, value) {
  if (settingTexts[key]) return settingTexts[key](value);
  const words = key.replace(/_/g, ' ');
  if (Array.isArray(value)) return value.length ? `${words} ${value.join(' ')}` : '';
  return value === '' ? '' : `${words} ${value}`;
}
// What is said where nothing but the usual is there to be said.
const usualTexts = {
  link: 'no emulated link',
  collectives: 'collectives through memory',
  data: 'the built-in corpus',
  vocab: 'own vocabulary'
};
const usualText = (key) => usualTexts[key] ?? `no ${key.replace(/_/g, ' ')}`;

// A, B, …, Z, A2, B2: runs side by side.
const runLetter = (index) =>
    String.fromCharCode(65 + (index % 26)) + (index < 26 ? '' : Math.floor(index / 26) + 1);
const commitText = (run) =>
    (run.commit ? run.commit.slice(0, 10) + (run.dirty ? ' with changes' : '') : 'commit unknown');

// What makes a cell's times another kind of number. Marks stand behind names; hatches over bars.
const circumstances = [
  {
    key: 'oversubscribed',
    mark: '*',
    hatch: 'oversubscribed',
    look: 'striped or hollow',
    words: 'more compute and communication threads than cores; with own cores ranks are faster'
  },
  {
    key: 'emulated_link',
    mark: '~',
    hatch: 'emulated',
    look: 'dotted or a diamond',
    words: 'the wire is emulated; times are those of the link'
  },
  {
    key: 'shared_device',
    mark: '°',
    hatch: 'shared',
    look: 'ruled or a triangle',
    words: 'several ranks share one device'
  },
];
const holding = (cell) => circumstances.filter((c) => cell[c.key]);
const marksOf = (cell) => holding(cell).map((c) => c.mark).join('');
const circumstanceNote = (cells) => circumstances.filter((c) => cells.some((cell) => cell[c.key]))
                                        .map((c) => `${c.mark} ${c.look}: ${c.words}.`)
                                        .join(' ');

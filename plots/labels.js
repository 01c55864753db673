// How wide is a text, and where does a name fit? Known without a browser, so that the page and a
// file are drawn alike.
'use strict';

// Of Helvetica and of what is made as wide, in parts of the font's size.
const letterWidths = new Map([
  ['ijl', 0.222], ['ft I.,:;/·', 0.278], ['r-()', 0.333], ['*°', 0.4], ['ckszvxyJ', 0.5],
  ['w', 0.722], ['mM', 0.833], ['%', 0.889], ['W…→', 1], ['ABCDEFGHKNOPQRSTUVXYZ', 0.69]
].flatMap(([letters, width]) => [...letters].map((letter) => [letter, width])));

function textWidth(text, size = 12) {
  let width = 0;
  for (const letter of String(text)) width += letterWidths.get(letter) ?? 0.556;
  return width * size;
}

// The text, or as much of its beginning as fits.
function fitted(text, most, size = 12) {
  if (textWidth(text, size) <= most) return text;
  let short = text;
  while (short && textWidth(`${short}…`, size) > most) short = short.slice(0, -1).trimEnd();
  return `${short}…`;
}

// A cell's name on one line, or on two: broken between its settings.
function nameLines(name, most, size = 11) {
  if (textWidth(name, 12) <= most) return [name];
  const [first, ...pieces] = name.split(' · ');
  const lines = [first];
  for (const piece of pieces) {
    const last = lines.length - 1, longer = `${lines[last]} · ${piece}`;
    if (last === 1 || textWidth(longer, size) <= most)
      lines[last] = longer;
    else
      lines.push(piece);
  }
  return lines.map((line) => shortened(line, most, size));
}
// What is too wide loses the end of its longest setting, which is the model's mostly.
function shortened(line, most, size) {
  const over = textWidth(line, size) - most;
  if (over <= 0) return line;
  const pieces = line.split(' · '), widths = pieces.map((piece) => textWidth(piece, size));
  const longest = widths.indexOf(Math.max(...widths));
  pieces[longest] = fitted(pieces[longest], widths[longest] - over, size);
  return fitted(pieces.join(' · '), most, size);
}

// Puts a label beside each point where it covers no point, no other label and none of the boxes;
// one for which there is no such place is left out. points: {px, py, label}, in pixels of an area
// of this size, those first that matter most. Returns, for each point, where the label stands
// relative to it, or null.
function placedLabels(points, width, height, boxes = [], size = 11) {
  const taken = [
    ...boxes,
    ...points.map(({px, py}) => ({left: px - 7, right: px + 7, top: py - 7, bottom: py + 7}))
  ];
  const isFree = (box) => box.left >= 0 && box.right <= width && box.top >= 0 &&
      box.bottom <= height &&
      !taken.some(
          (other) => box.left < other.right && other.left < box.right && box.top < other.bottom &&
              other.top < box.bottom);
  return points.map(({px, py, label}) => {
    const long = 1.12 * textWidth(label, size);  // a reader's font may be wider
    const places = [
      {align: 'left', dx: 10, dy: 0, from: px + 10},
      {align: 'right', dx: -10, dy: 0, from: px - 10 - long},
      {align: 'center', dx: 0, dy: -15, from: px - long / 2},
      {align: 'center', dx: 0, dy: 15, from: px - long / 2}
    ];
    for (const {align, dx, dy, from} of places) {
      const box = {left: from, right: from + long, top: py + dy - 6, bottom: py + dy + 6};
      if (!isFree(box)) continue;
      taken.push(box);
      return {align, dx, dy};
    }
    return null;
  });
}

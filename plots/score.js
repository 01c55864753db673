// How far off was what `predict` says of these cells, step by step and phase by phase? A table; one
// of the promises that a report checks by itself.
'use strict';

const scoredParts = ['forward', 'backward', 'update', 'exposed'];
const signedPercent = (share) =>
    `${share > 0 ? '+' : share < 0 ? '−' : ''}${(Math.abs(share) * 100).toFixed(1)}`;

// None is told where the part is too small for its error to say anything.
const partError = ({error}) => error === null ? '·' : signedPercent(error);

function scoreTable(score) {
  const scored = score.cells.filter((c) => !c.why_not);
  const unit = timeUnit(Math.max(...scored.map((c) => c.measured_ns)));
  const columns = [
    'cell', `measured, ${unit.name}`, `predicted, ${unit.name}`, 'error, %',
    ...scoredParts.map((p) => `${p}, %`)
  ];
  return textTable(columns, scored.map((c) => [
    c.id, digits(c.measured_ns / unit.scale), digits(c.predicted_ns / unit.scale),
    signedPercent(c.error), ...scoredParts.map((p) => partError(c.parts[p]))
  ]));
}

function scoreText(score) {
  const percent = (share) => `${(share * 100).toFixed(1)} %`;
  const pairs = score.pairs ?
      ` Of ${countText(score.pairs, 'pair', 'pairs')} of strategies whose steps surely differ, ` +
          `the faster one is predicted in ${score.right}.` :
      '';
  const run = score.run === null ? '' : `Run ${runLetter(score.run)}: `;
  const cells = countText(score.scored, 'cell', 'cells');
  return `${run}${cells} against ${score.cluster}: the step is off ` +
      `by ${percent(score.median)} in the median and ${percent(score.worst)} at worst.${pairs} ` +
      'A dot: less than a twentieth of the step. Exposed without waiting for a slower rank.';
}

function showScore(data) {
  if (!data.score) return;
  const place = document.getElementById('score');
  place.hidden = false;
  place.append(element('h2', {id: 'score-title'}, 'Predicted against measured'));
  if (data.score.scored > 0)
    place.append(element('p', {className: 'about'}, scoreText(data.score)), scoreTable(data.score));
  const reasons = new Map();
  for (const {why_not: why} of data.score.cells)
    if (why) reasons.set(why, (reasons.get(why) || 0) + 1);
  for (const [why, count] of reasons)
    place.append(element(
        'p', {className: 'note'}, `${countText(count, 'cell', 'cells')} not scored: ${why}.`));
}

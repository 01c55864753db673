// How is one figure drawn without a browser? Run by node behind the texts it uses: writes SVG to
// standard output. Ends with 3 and a sentence where there is nothing to draw.
'use strict';

function render(data, spec, palettes, {name, dark, metric}) {
  const figure = figureList.find((f) => f.name === name);
  const palette = palettes[dark ? 'dark' : 'light'];
  data.cells.forEach((cell, i) => {
    cell.key = `c${i}`;
  });
  const width = 880;
  const table = figure.table(data, data.cells, {metric, width});
  const why = table.empty || (table.lines.length ? '' : 'no cell ended well');
  if (why) {
    process.stderr.write(`--figure ${name} has nothing to draw: ${why}.\n`);
    process.exit(3);
  }
  // Without a browser nothing measures text.
  vega.textMetrics.width = (item, text) => {
    const long = textWidth(text ?? '', item.fontSize || 11);
    return item.limit > 0 ? Math.min(item.limit, long) : long;
  };
  const look = {width, title: table.title || figure.title, titled: true};
  const ready = prepared(spec, table, data, palette, look);
  ready.padding = 20;
  const config = {...vegaConfig(palette, data, fileFont), background: palette.paper};
  new vega.View(vega.parse(ready, config), {renderer: 'none'})
      .toSVG()
      .then(
          (svg) => process.stdout.write(svg.replace(/(<svg[^>]*>)/, `$1${hatchDefs(palette)}`)),
          (error) => {
            process.stderr.write(String(error));
            process.exit(1);
          });
}

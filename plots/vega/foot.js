// Each module is loaded when it is first asked for.
const loaded = {};
const load = (name) => {
  if (name === 'vega-selections') name = 'vega-selection';
  if (!loaded[name]) {
    const module = { exports: {} };
    loaded[name] = module.exports;
    parts[name](module.exports, module, load);
  }
  return loaded[name];
};
const transforms = ['vega-transforms', 'vega-view-transforms', 'vega-encode'];
const all = {};
for (const name of Object.keys(parts))
  if (!transforms.includes(name)) Object.assign(all, load(name));
for (const name of transforms) Object.assign(all.transforms, load(name));
return all;
})();

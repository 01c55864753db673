// Who opens a page in a browser for a test? A headless Chromium, told what to do by its own
// protocol. Whatever happens leaves no browser and no profile behind.
'use strict';
const {spawn} = require('child_process');
const fs = require('fs');
const os = require('os');
const path = require('path');

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// The browser's children outlive it for a moment and go on writing into its profile: all of its
// process group goes first, and what is written meanwhile is no fault of the page.
async function cleanUp(browser, profile) {
  for (let tries = 0; tries < 50; ++tries) {
    try {
      process.kill(-browser.pid, 'SIGKILL');
    } catch {
    }
    try {
      fs.rmSync(profile, {recursive: true, force: true});
      return;
    } catch {
      await pause(100);
    }
  }
  console.log(`${profile} could not be removed`);
}

// Messages over two pipes: JSON, each followed by a zero byte. of.session: the page's, once there.
function protocol(browser, of) {
  const waiting = new Map(), errors = [];
  let last = 0, kept = '';
  browser.stdio[3].on('error', () => {});  // it went away, and its exit says so
  function heard({method, params}) {
    if (method === 'Runtime.exceptionThrown') {
      const {text, exception} = params.exceptionDetails;
      errors.push(`${text} ${exception ? exception.description : ''}`);
    } else if (method === 'Runtime.consoleAPICalled' && [
                 'error', 'warning', 'assert'
               ].includes(params.type)) {
      errors.push(params.args.map((a) => a.value || a.description).join(' '));
    } else if (method === 'Log.entryAdded' && params.entry.level === 'error') {
      errors.push(params.entry.text);
    }
  }
  browser.stdio[4].on('data', (piece) => {
    const messages = (kept + piece).split('\0');
    kept = messages.pop();
    for (const message of messages.map((m) => JSON.parse(m))) {
      const asked = waiting.get(message.id);
      waiting.delete(message.id);
      if (!asked)
        heard(message);
      else if (message.error)
        asked.reject(new Error(`${asked.method}: ${message.error.message}`));
      else
        asked.resolve(message.result);
    }
  });
  function ask(method, params = {}) {
    const id = ++last, sessionId = of.session;
    browser.stdio[3].write(
        `${JSON.stringify({id, method, params, ...(sessionId && {sessionId})})}\0`);
    return new Promise((resolve, reject) => waiting.set(id, {resolve, reject, method}));
  }
  return {ask, errors};
}

// limit_s: then it is over, as a failure. end(code, text) says the text and ends this process.
function start(chromium, limit_s) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'shardmark-browser-'));
  const browser = spawn(
      chromium,
      [
        '--headless=new', '--no-sandbox', '--disable-gpu', '--no-first-run',
        '--disable-dev-shm-usage', '--hide-scrollbars', `--user-data-dir=${profile}`,
        '--remote-debugging-pipe'
      ],
      {detached: true, stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe']});

  let ended = false;
  const leave = (code) => cleanUp(browser, profile).then(() => process.exit(code));
  function end(code, text) {
    if (ended) return;
    ended = true;
    console.log(text);
    browser.once('exit', () => leave(code));
    browser.kill();
    setTimeout(() => browser.kill('SIGKILL'), 3000);
  }
  browser.on('exit', () => {
    if (ended) return;
    console.log('the browser went away');
    leave(1);
  });
  setTimeout(() => end(1, `the browser did not end its work in ${limit_s} s`), limit_s * 1000);

  const of = {};
  const {ask, errors} = protocol(browser, of);
  // Of an expression, in the page.
  async function value(expression) {
    const {result, exceptionDetails} =
        await ask('Runtime.evaluate', {expression, returnByValue: true, awaitPromise: true});
    if (exceptionDetails)
      throw new Error(`${expression}: ${exceptionDetails.exception.description}`);
    return result.value;
  }
  async function attach() {
    const {targetId} = await ask('Target.createTarget', {url: 'about:blank'});
    ({sessionId: of.session} = await ask('Target.attachToTarget', {targetId, flatten: true}));
    for (const domain of ['Runtime', 'Log', 'Page', 'Network']) await ask(`${domain}.enable`);
  }
  return {ask, value, attach, errors, end};
}

module.exports = {start, pause};

// SPDX-License-Identifier: Apache-2.0
// A headless Chromium, by the DevTools protocol over a pipe: requests and answers are JSON, a zero byte after each.
import { spawn } from "node:child_process";
import fs from "node:fs";
import os from "node:os";
import path from "node:path";

/** What is not answered in so long never is: a picture, say, of a tab that gets no frames. */
const answerMilliseconds = 30_000;
export class NoAnswer extends Error {}

export async function startBrowser(program) {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), "splitwave-chromium-"));
  const child = spawn(
    program,
    ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-extensions",
      // A tab that the browser believes unseen is given no frames, and a page that waits for one waits for ever.
      "--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows", "--disable-renderer-backgrounding",
      `--user-data-dir=${profile}`, "--remote-debugging-pipe", "about:blank"],
    { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] },
  );
  const waiting = new Map();
  const listeners = [];
  let last = 0;
  let rest = "";
  child.stdio[4].setEncoding("utf8");
  child.stdio[4].on("data", (text) => {
    const messages = (rest + text).split("\0");
    rest = messages.pop();
    for (const message of messages.map((one) => JSON.parse(one))) {
      const { resolve, reject } = waiting.get(message.id) ?? {};
      waiting.delete(message.id);
      if (message.error) reject?.(new Error(message.error.message));
      else if (message.id) resolve?.(message.result);
      else for (const listen of listeners) listen(message);
    }
  });
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.once("error", (error) => {
    for (const { reject } of waiting.values()) reject(error);
  });
  const answered = (what, promise) => {
    let timer;
    const late = new Promise((_, reject) => {
      timer = setTimeout(() => reject(new NoAnswer(`${what}: no answer in ${answerMilliseconds / 1000} s`)), answerMilliseconds);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
  };
  const send = (method, params = {}, sessionId = undefined) =>
    answered(method, new Promise((resolve, reject) => {
      last += 1;
      waiting.set(last, { resolve, reject });
      child.stdio[3].write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
    }));

  /** A tab: {send, evaluate, open, close, problems}; `problems` gathers errors of the console and requests for anything. */
  async function tab() {
    const { targetId } = await send("Target.createTarget", { url: "about:blank" });
    const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
    const own = (method, params) => send(method, params, sessionId);
    const problems = [];
    let opened = "";
    let loaded = () => {};
    listeners.push(({ method, params, sessionId: of }) => {
      if (of !== sessionId) return;
      if (method === "Runtime.exceptionThrown") problems.push(params.exceptionDetails.exception?.description ?? params.exceptionDetails.text);
      if (method === "Runtime.consoleAPICalled" && ["error", "warning"].includes(params.type)) {
        problems.push(params.args.map((one) => one.value ?? one.description).join(" "));
      }
      if (method === "Log.entryAdded" && ["error", "warning"].includes(params.entry.level)) problems.push(params.entry.text);
      if (method === "Network.requestWillBeSent" && params.request.url !== opened && !params.request.url.startsWith("data:")) {
        problems.push(`a request for ${params.request.url}`);
      }
      if (method === "Page.loadEventFired") loaded();
    });
    for (const domain of ["Page", "Runtime", "Log", "Network"]) await own(`${domain}.enable`);
    return {
      send: own,
      problems,
      async open(url) {
        opened = url;
        const done = new Promise((resolve) => { loaded = resolve; });
        await own("Page.navigate", { url });
        await answered(`loading ${url}`, done);
      },
      close: () => send("Target.closeTarget", { targetId }),
      /** The value of an expression in the page, which may be a promise. */
      async evaluate(expression) {
        const { result, exceptionDetails } = await own("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
        if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.exception?.description ?? exceptionDetails.text}`);
        return result.value;
      },
    };
  }

  return {
    tab,
    async close() {
      await send("Browser.close").catch(() => child.kill("SIGKILL"));
      await ended;
      fs.rmSync(profile, { recursive: true, force: true });
    },
  };
}

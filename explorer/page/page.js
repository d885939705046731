// SPDX-License-Identifier: Apache-2.0
// The form and the answer: what changes is asked once per frame.
"use strict";

const byId = (id) => document.getElementById(id);

class Page {
  constructor(simulator) {
    this.simulator = simulator;
    this.state = stateOfFragment(location.hash);
    this.traceRequests = [];
    this.gantt = new Gantt(byId("gantt"), (words) => {
      byId("gantt-text").textContent = words;
      this.stale = true;  // the frame around the bar
      this.wake();
    });
    this.curve = new Curve(byId("curve"), simulator, (words) => this.tell("curve-text", words));
    this.fill();
    this.show();
    this.listen();
    this.changed();
  }

  tell(id, words) {
    if (byId(id).textContent !== words) byId(id).textContent = words;
  }

  gpu() {
    const { gpus } = this.simulator.catalogue;
    return gpus.find((one) => one.name === this.state.gpu) ?? gpus[0];
  }

  /** Fills the lists of the form from the program's catalogue. */
  fill() {
    const { catalogue } = this.simulator;
    byId("version").textContent = `Version ${catalogue.version}, commit ${catalogue.commit}.`;
    byId("model").append(new Option("a geometry of your own", ""));
    for (const model of catalogue.models) byId("model").append(new Option(model.name, model.name));
    for (const gpu of catalogue.gpus) byId("gpu").append(new Option(`${gpu.name}: ${gpu.title}`, gpu.name));
    const names = new Set([...catalogue.compared, "flashinfer-holistic", "flashmla", "xqa", "auto"]);
    for (const name of names) {
      const box = Object.assign(document.createElement("input"), { type: "checkbox", value: name });
      const label = element("label");
      label.title = catalogue.schedules.find((one) => one.name === name.split(":")[0])?.summary ?? "the fastest of all";
      label.append(box, ` ${name}`);
      byId("schedules").append(label);
    }
  }

  boxes() {
    return [...byId("schedules").querySelectorAll("input")];
  }

  /** The form as the state says. */
  show() {
    const { state } = this;
    this.shownMode = undefined;  // that of the state
    for (const id of ["model", "geometry", "tp", "batch", "query", "gpu", "axis"]) byId(id).value = state[id];
    if (byId("gpu").value === "") byId("gpu").value = state.gpu = "h200";
    if (byId("model").value !== state.model) byId("model").value = state.model = defaults.model;
    byId("one-axis").checked = state.panels !== "own";
    byId("context").value = stepOfContext(state.context);
    if (state.lengths !== "") byId("lengths").value = state.lengths;
    document.querySelector(`input[name=mode][value=${state.mode}]`).checked = true;
    for (const box of this.boxes()) box.checked = state.schedules.includes(box.value);
    const known = this.boxes().map((box) => box.value);
    byId("more").value = state.schedules.filter((name) => !known.includes(name)).join(",");
    this.showGpu();
  }

  showGpu() {
    const gpu = this.gpu();
    byId("sms").max = Math.max(2 * gpu.sms, this.state.sms);
    byId("sms").value = this.state.sms || gpu.sms;
    byId("bandwidth").value = this.state.bandwidth || gpu.bandwidth;
  }

  /** The state as the form says. */
  read(event) {
    const { state } = this;
    const id = event?.target?.id ?? "";
    state.model = byId("model").value;
    state.geometry = byId("geometry").value;
    state.tp = Math.max(1, Number(byId("tp").value) || 1);
    const mode = document.querySelector("input[name=mode]:checked").value;
    if (id === "context") state.context = contextOfStep(Number(byId("context").value));
    state.batch = Number(byId("batch").value) || state.batch;
    state.query = Number(byId("query").value);
    if (mode === "trace") this.readTrace();
    state.mode = mode === "trace" ? "lengths" : mode;
    if (mode === "lengths") state.lengths = byId("lengths").value;
    this.shownMode = mode;
    if (id === "gpu") {
      state.gpu = byId("gpu").value;
      state.sms = state.bandwidth = 0;
      this.showGpu();
    }
    if (id === "sms") state.sms = this.unlessOwn(Number(byId("sms").value), this.gpu().sms);
    if (id === "bandwidth") state.bandwidth = this.unlessOwn(Number(byId("bandwidth").value), this.gpu().bandwidth);
    const more = byId("more").value.split(/[,\s]+/).filter((name) => name !== "");
    state.schedules = [...new Set([...this.boxes().filter((box) => box.checked).map((box) => box.value), ...more])];
    state.axis = byId("axis").value;
    state.panels = byId("one-axis").checked ? "together" : "own";
  }

  unlessOwn(value, own) {
    return value === own ? 0 : value;
  }

  readTrace() {
    const first = Number(byId("trace-first").value) || 0;
    const batch = this.traceRequests.slice(first, first + (Number(byId("trace-count").value) || 1));
    if (batch.length === 0) return;
    // In the middle of its answer a request has half of its output in the cache.
    this.state.lengths = batch.map(([prompt, output]) => prompt + Math.ceil(output / 2)).join(" ");
  }

  async loadTrace() {
    const [file] = byId("trace-file").files;
    if (file === undefined) return;
    const answer = this.simulator.trace(await file.text());
    this.traceRequests = answer.requests ?? [];
    byId("trace-text").textContent = answer.error ??
      `${this.traceRequests.length} requests. Each counts with its prompt and half of its output.`;
    this.read();
    this.changed();
  }

  listen() {
    byId("form").addEventListener("submit", (event) => event.preventDefault());
    const edited = (event) => {
      this.read(event);
      this.changed();
    };
    byId("form").addEventListener("input", edited);
    byId("axis").addEventListener("input", edited);
    byId("one-axis").addEventListener("input", edited);
    byId("trace-file").addEventListener("change", () => this.loadTrace());
    byId("own").addEventListener("click", () => {
      this.state.sms = this.state.bandwidth = 0;
      this.showGpu();
      this.changed();
    });
    byId("explained").addEventListener("input", () => this.explain());
    byId("copy-command").addEventListener("click", () => this.copy(byId("command").textContent));
    byId("copy-link").addEventListener("click", () => this.copy(location.href));
    addEventListener("hashchange", () => {
      if (location.hash.replace(/^#/, "") === fragmentOf(this.state)) return;
      this.state = stateOfFragment(location.hash);
      this.show();
      this.changed();
    });
    addEventListener("resize", () => this.redraw());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.redraw());
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      byId("copied").textContent = "Copied.";
    } catch {
      byId("copied").textContent = "This browser does not let a page copy; select the text instead.";
    }
  }

  redraw() {
    this.stale = true;
    this.wake();
  }

  changed() {
    this.asked = false;
    this.redraw();
  }

  wake() {
    this.frame ??= requestAnimationFrame(() => this.step());
  }

  /** One frame: the question if something changed, else a part of the curve. */
  step() {
    this.frame = undefined;
    const begin = performance.now();
    const theme = themeColours();
    let more = false;
    if (!this.asked) {
      this.ask();
      more = true;
    } else {
      this.curve.ask(structuredClone(this.state), this.state.sms || this.gpu().sms, this.gpu().sms);
      more = this.curve.work(begin + 8);
      this.curve.draw(theme);
    }
    if (this.stale && this.answer?.panels !== undefined) {
      this.gantt.draw(this.answer, theme, this.state.panels !== "own");
      this.stale = false;
    }
    if (more) this.wake();
  }

  ask() {
    this.asked = true;
    this.answer = this.simulator.predict(questionOf(this.state, { spans: true }));
    const { answer, state } = this;
    byId("problem").hidden = answer.error === undefined;
    byId("problem").textContent = answer.error ?? "";
    this.showTexts();
    if (answer.error !== undefined) return;
    showTable(answer, this.gpu());
    showRules(answer);
    byId("command").textContent = ["simulate", "plan", "explain"].map((verb) =>
      commandOf(state, verb, verb === "explain" ? " --gantt timelines.svg" : "")).join("\n");
    this.showExplained();
    clearTimeout(this.linked);
    this.linked = setTimeout(() => history.replaceState(null, "", `#${fragmentOf(state)}`), 200);
    clearTimeout(this.explaining);
    this.explaining = setTimeout(() => this.explain(), 700);
  }

  showTexts() {
    const { state } = this;
    for (const part of document.querySelectorAll("[data-mode]")) part.hidden = part.dataset.mode !== (this.shownMode ?? state.mode);
    byId("geometry").disabled = state.model !== "";
    byId("tp").disabled = state.model === "";
    byId("batch-text").textContent = state.batch;
    byId("context-text").textContent = tokenWords(state.context);
    byId("query-text").textContent = state.query;
    byId("sms-text").textContent = state.sms || this.gpu().sms;
    byId("bandwidth-text").textContent = `${state.bandwidth || Math.round(this.gpu().bandwidth)} GB/s`;
  }

  showExplained() {
    const names = this.state.schedules;
    const list = byId("explained");
    if ([...list.options].map((option) => option.value).join() === names.join()) return;
    const chosen = names.includes(list.value) ? list.value : names[0];
    list.replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
  }

  /** The long text, which tries many other schedules: once things are quiet. */
  explain() {
    const chosen = byId("explained").value;
    if (chosen === "") return void (byId("explanation").textContent = "");
    const answer = this.simulator.predict({ ...questionOf(this.state), schedules: [chosen], explain: true });
    byId("explanation").textContent = answer.error ?? answer.panels[0].explanation ?? answer.panels[0].record.failure;
  }
}

function showTable(answer, gpu) {
  const { workload } = answer;
  byId("title").textContent = `${workload.requests} request${workload.requests === 1 ? "" : "s"} of ${workload.query_heads}/` +
    `${workload.kv_heads} heads on ${answer.machine}: ${byteWords(workload.kv_bytes)} of K and V`;
  const times = answer.panels.map((panel) => panel.record.seconds).filter((time) => time > 0);
  const [best, most] = [Math.min(...times), Math.max(...times)];
  const head = element("tr");
  for (const title of ["schedule", "time", "over best", "splits", "CTAs", "waves", "bandwidth", "where the time goes"]) {
    head.append(element("th", title));
  }
  const rows = answer.panels.map(({ schedule, record }) => {
    const row = element("tr");
    row.append(element("td", record.chosen === undefined ? schedule : `auto: ${record.chosen}`));
    if (record.failure !== undefined) {
      const cell = element("td", record.failure, "failure");
      cell.colSpan = 7;
      row.append(cell);
      return row;
    }
    row.append(element("td", timeWords(record.seconds), record.seconds === best ? "best" : ""),
      element("td", `${(record.seconds / best).toFixed(2)}x`), element("td", record.num_splits), element("td", record.ctas),
      element("td", record.waves.toFixed(2)),
      element("td", `${Math.round(record.bytes_per_second / 1e9)} GB/s`), bar(record, most));
    return row;
  });
  byId("table").replaceChildren(head, ...rows);
  byId("legend").replaceChildren(...Object.entries(partColours).map(([name, colour]) => {
    const one = element("span");
    const patch = element("i");
    patch.style.background = colour;
    one.append(patch, name);
    return one;
  }));
}

/** The parts of a time, as long as the longest time is wide. */
function bar(record, most) {
  const cell = element("td", "", "parts");
  const parts = element("div", "", "bar");
  for (const [name, colour] of Object.entries(partColours)) {
    const seconds = record.breakdown[name];
    if (!(seconds > 0)) continue;
    const part = element("span");
    part.style.width = `${(100 * seconds) / most}%`;
    part.style.background = colour;
    part.title = `${name} ${timeWords(seconds)}`;
    parts.append(part);
  }
  parts.setAttribute("role", "img");
  parts.setAttribute("aria-label", Object.entries(record.breakdown).filter(([, seconds]) => seconds > 0)
    .map(([name, seconds]) => `${name} ${timeWords(seconds)}`).join(", "));
  cell.append(parts);
  return cell;
}

function showRules(answer) {
  byId("rules").replaceChildren(...answer.panels.flatMap((panel) => {
    const text = element("dd", panel.reason ?? panel.record.failure);
    if (panel.reason !== undefined) {
      text.append(element("small", `Tiles of ${panel.tile_q} rows and ${panel.tile_kv} tokens, kernel ${panel.kernel}` +
        `${panel.source === undefined ? "" : `. Source of the rule: ${panel.source}`}`));
    }
    return [element("dt", panel.schedule), text];
  }));
}

createSplitwave().then((program) => {
  globalThis.page = new Page(new Simulator(program));
}).catch((error) => {
  byId("problem").hidden = false;
  byId("problem").textContent = `The simulator does not start in this browser: ${error}`;
});

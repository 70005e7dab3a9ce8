// One run: its first lines, and the part of the page that was asked for.

import { Charts } from "./charts.js";
import { Compare } from "./compare.js";
import { bytes, count, digits, duration, el, known, moment, replace, seconds, setText, unspanned } from "./dom.js";
import { Findings } from "./findings.js";
import { Heat } from "./heat.js";
import { Logs } from "./logs.js";
import { FINAL, RunModel } from "./model.js";
import { Plan } from "./plan.js";
import { RankPanel } from "./rank.js";
import { Stacks } from "./stacks.js";
import { stopButton } from "./stop.js";
import { Timeline } from "./timeline.js";

function setReady(at) {
  if (!document.documentElement.hasAttribute("data-ready")) document.documentElement.setAttribute("data-ready", at);
}

export const PARTS = [["", "Overview"], ["logs", "Logs"], ["stacks", "Stacks"], ["plan", "Plan"], ["compare", "Compare"]];

/** While the run is watched, what most ranks do says more than that. */
function phaseOf(run, ranks) {
  if (run.phase !== "watch" || !ranks) return run.phase;
  const counts = new Map();
  for (const phase of ranks.phase) if (phase && phase !== "ended") counts.set(phase, (counts.get(phase) || 0) + 1);
  return [...counts].reduce((best, one) => (one[1] > best[1] ? one : best), [run.phase, 0])[0];
}

export class RunPage {
  constructor(id, about) {
    this.id = id;
    this.model = new RunModel(id).open();
    this.name = el("p", { class: "run" });
    this.title = el("h1", {}, id);
    this.state = el("span", { class: "state unknown" }, "reading");
    this.bar = el("progress", { max: "1", value: 0, "aria-label": "steps done" });
    this.figures = el("dl", { class: "figures" });
    this.note = el("p", { class: "said warn", hidden: true });
    this.stop = about.may_stop ? stopButton(this.model) : [];
    this.part = el("div", {});
    this.findings = new Findings(this.model);
    this.node = el("div", {},
      el("div", { class: "head" },
        el("div", { class: "first" }, this.state, this.name, this.stop.length ? el("div", { class: "stop" }, this.stop) : null),
        this.title, this.bar, this.figures, this.note, this.findings.cause),
      this.part);
    this.values = new Map();
    this.closers = [];
    this.model.listen((changed) => this.update(changed));
    this.clock = setInterval(() => this.head(), 1000);
  }

  // Which part is shown, and with which words of the address.
  show(part, more) {
    this.closers.forEach((close) => close());
    this.closers = [];
    this.views = [];
    const put = (...views) => {
      replace(this.part, views.map((view) => view.node));
      this.views = views;
      this.closers = views.filter((view) => view.close).map((view) => () => view.close());
    };
    if (part === "logs") {
      const logs = new Logs(this.model);
      put(logs);
      logs.start(unspanned(more || "", 16));
    } else if (part === "stacks") put(new Stacks(this.model));
    else if (part === "plan") {
      const plan = new Plan(this.model);
      put(plan);
      plan.start();
    } else if (part === "compare") {
      const compare = new Compare(this.id, more);
      put(compare);
      compare.start();
    } else {
      const rank = new RankPanel(this.model);
      put(new Heat(this.model, (number) => rank.show(number)), rank, new Charts(this.model), new Timeline(this.model), this.findings);
    }
    this.update(new Set(["run", "ranks", "curves", "marks", "findings", "stacks"]));
  }

  update(changed) {
    if (changed.has("run") || changed.has("connection")) this.head();
    if (changed.has("findings") || changed.has("run")) this.findings.update();
    for (const view of this.views || []) {
      if (view instanceof Heat && changed.has("ranks")) view.update();
      if (view instanceof Charts && changed.has("curves")) view.draw(true);
      if (view instanceof Timeline && (changed.has("marks") || changed.has("run"))) view.update();
      if (view instanceof Stacks && changed.has("stacks")) view.update();
    }
    if (this.model.run && !document.documentElement.hasAttribute("data-ready")) {
      // When all of it stood on the screen for the first time, in milliseconds: `make bench-ui` reads it.
      requestAnimationFrame(() => requestAnimationFrame(() => setReady(Math.round(performance.now()))));
    }
  }

  head() {
    const { run, ranks, curves } = this.model;
    if (!run) return;
    setText(this.title, run.name || run.id);
    setText(this.name, run.id);
    const state = `state ${run.state}`;
    if (this.state.className !== state) this.state.className = state;
    setText(this.state, run.state);
    document.title = `${known(run.step) && run.total_steps ? `${Math.floor((100 * run.step) / run.total_steps)} % ` : ""}${run.name || run.id}: ${run.state}`;
    const whole = known(run.total_steps) && run.total_steps > 0 && known(run.step);
    this.bar.hidden = !whole;
    if (whole) this.bar.value = Math.min(1, run.step / run.total_steps);
    const last = (name) => (curves && curves[name] ? curves[name].findLast(known) : undefined);
    const pace = last("seconds");
    const still = known(last("at")) && run.now - last("at") > Math.max(30, 10 * pace);
    const left = whole && known(pace) && !still && !FINAL.includes(run.state) ? (run.total_steps - run.step) * pace : null;
    const alive = ranks ? ranks.phase.filter((phase) => phase !== null && phase !== "ended").length : 0;
    this.figure("step", known(run.step) ? count(run.step) : "–", known(run.total_steps) ? `of ${count(run.total_steps)}` : "");
    this.figure("loss", digits(last("loss")), "");
    this.figure("step time", seconds(pace), "");
    this.figure("tokens/s", digits(last("tokens")), "");
    this.figure("elapsed", duration(this.model.elapsed), left === null ? (still && whole && !FINAL.includes(run.state) ? "no recent step" : "") : `${duration(left)} left`);
    this.figure("ranks", ranks ? count(ranks.rank.length) : "–", FINAL.includes(run.state) ? "" : `${count(alive)} running`);
    const over = FINAL.includes(run.state);
    this.figure(over ? "ended" : "phase", over ? moment(run.last_at) : phaseOf(run, ranks) || "–", "");
    const notes = [];
    if (!this.model.connected) notes.push("The connection to the page's server is lost, and the page tries again. The values are old.");
    else if (!run.reached && !run.ended) notes.push(`The run's head does not answer: ${run.why || "no answer yet"}. The page tries again.`);
    else if (run.ended && run.state === "lost" && run.why) notes.push(`The run is lost: ${run.why}.`);
    if (run.size_bytes > 0 && run.read_bytes < run.size_bytes * 0.98 && run.size_bytes - run.read_bytes > 65536) {
      notes.push(`Reading the journal: ${bytes(run.read_bytes)} of ${bytes(run.size_bytes)}.`);
    }
    this.note.hidden = !notes.length;
    setText(this.note, notes.join(" "));
    if (this.stop.length) this.stop[0].hidden = FINAL.includes(run.state);
  }

  figure(name, value, more) {
    let parts = this.values.get(name);
    if (!parts && name === "ended") {
      parts = this.values.get("phase");
      if (parts) {
        setText(parts[3], name);
        this.values.set(name, parts);
      }
    }
    if (!parts) {
      parts = [el("dd", {}), el("small", {})];
      this.values.set(name, parts);
      const shown = el("span", {});
      parts[0].append(shown, parts[1]);
      parts.push(shown, el("dt", {}, name));
      this.figures.append(el("div", {}, parts[3], parts[0]));
    }
    setText(parts[2], value);
    setText(parts[1], more);
  }

  close() {
    clearInterval(this.clock);
    this.closers.forEach((close) => close());
    this.model.close();
  }
}

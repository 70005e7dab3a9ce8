// All runs, newest first.

import { ask, count, duration, el, many, moment, replace } from "./dom.js";

const EVERY = 15000;

export class Runs {
  constructor() {
    this.said = el("p", { class: "quiet", role: "status" }, "Asking the heads of all runs …");
    this.body = el("div", {});
    this.node = el("section", { "aria-labelledby": "runs-title" }, el("h1", { id: "runs-title" }, "Runs"), this.said, this.body);
    this.timer = setInterval(() => { if (!document.hidden) this.start(); }, EVERY);
  }

  async start() {
    try {
      const { runs, now } = await ask("api/runs");
      replace(this.said, runs.length ? many(runs.length, "run") : "No runs yet. Start one: allranks run FILE");
      replace(this.body, runs.length ? table(runs, now) : null);
    } catch (error) {
      replace(this.said, error.message);
    }
  }

  close() {
    clearInterval(this.timer);
  }
}

function table(runs, now) {
  const columns = ["run", "state", "step", "nodes", "started", "took", "what to know"];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table of runs" }, el("table", { class: "runs" },
    el("thead", {}, el("tr", {}, columns.map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, runs.map((run) => el("tr", {},
      el("th", { scope: "row" }, el("a", { href: `#/run/${encodeURIComponent(run.id)}` }, run.id)),
      el("td", {}, el("span", { class: `state ${run.state || "unknown"}` }, run.state || "unknown")),
      el("td", { class: "number" }, run.step === null ? "–" : `${count(run.step)}${run.total_steps ? ` of ${count(run.total_steps)}` : ""}`),
      el("td", { class: "number" }, count(run.nodes.length)),
      el("td", {}, moment(run.started_at)),
      el("td", {}, run.started_at ? duration((run.ended_at || now) - run.started_at) : "–"),
      el("td", {}, known(run)))))));
}

function known(run) {
  const parts = [];
  if (run.cause) parts.push(run.cause);
  else if (run.why) parts.push(run.why);
  if (run.errors) parts.push(many(run.errors, "error"));
  if (run.warnings) parts.push(many(run.warnings, "warning"));
  return parts.join(", ");
}

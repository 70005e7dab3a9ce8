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

// The roles keep it a table for screen readers on a phone, where style.css stacks the cells of a row.
function table(runs, now) {
  const columns = ["run", "state", "step", "nodes", "started", "took", "findings"];
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table of runs" }, el("table", { class: "runs", role: "table" },
    el("thead", { role: "rowgroup" }, el("tr", { role: "row" }, columns.map((name) => el("th", { scope: "col", role: "columnheader" }, name)))),
    el("tbody", { role: "rowgroup" }, runs.map((run) => row(run, now, columns)))));
}

function row(run, now, columns) {
  const steps = run.step === null ? "–" : `${count(run.step)}${run.total_steps ? ` of ${count(run.total_steps)}` : ""}`;
  const cells = [
    el("span", { class: `state ${run.state || "unknown"}` }, run.state || "unknown"),
    steps,
    count(run.nodes.length),
    moment(run.started_at),
    run.started_at ? duration((run.ended_at || now) - run.started_at) : "–",
    known(run),
  ];
  return el("tr", { role: "row" },
    el("th", { scope: "row", role: "rowheader" }, el("a", { href: `#/run/${encodeURIComponent(run.id)}` }, run.id)),
    cells.map((cell, n) => el("td", { role: "cell", class: n === 1 || n === 2 ? "number" : "", "data-name": columns[n + 1] }, cell)));
}

function known(run) {
  const parts = [];
  if (run.cause) parts.push(run.cause);
  else if (run.why) parts.push(run.why);
  if (run.errors) parts.push(many(run.errors, "error"));
  if (run.warnings) parts.push(many(run.warnings, "warning"));
  return parts.join(", ");
}

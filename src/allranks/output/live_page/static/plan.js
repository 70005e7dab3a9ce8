// What the plan said against what was measured.

import { ask, bytes, count, digits, el, known, replace, seconds } from "./dom.js";

const UNITS = { count, size: bytes, seconds };

export class Plan {
  constructor(model) {
    this.model = model;
    this.body = el("div", {});
    this.node = el("section", { "aria-labelledby": "plan-title" }, el("h2", { id: "plan-title" }, "Plan against measured"), this.body);
  }

  async start() {
    try {
      const told = await ask(`api/run/${encodeURIComponent(this.model.id)}/plan`);
      replace(this.body, told.rows.length ? table(told.rows) : el("p", { class: "quiet" }, "There is no plan of this run."),
        told.file ? el("details", {}, el("summary", {}, "Run file"), el("pre", { tabindex: "0" }, told.file)) : null);
    } catch (error) {
      replace(this.body, el("p", { class: "said bad" }, error.message));
    }
  }
}

function table(rows) {
  return el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "table of the plan" }, el("table", {},
    el("thead", {}, el("tr", {}, ["quantity", "planned", "measured", "difference"].map((name) => el("th", { scope: "col" }, name)))),
    el("tbody", {}, rows.map((row) => {
      const as = UNITS[row.unit] || digits;
      const off = known(row.difference) ? `${row.difference > 0 ? "+" : ""}${(100 * row.difference).toFixed(1)} %` : row.why || "–";
      return el("tr", {}, el("th", { scope: "row" }, row.what), el("td", {}, as(row.planned)), el("td", {}, as(row.measured)),
        el("td", { class: row.wrong ? "bad-text" : "" }, row.wrong ? `${off}, wrong` : off));
    }))));
}

// Two runs side by side: the settings that differ, loss, speed, and what follows from them.

import { ask, bytes, digits, el, known, replace, share } from "./dom.js";
import { Plot } from "./plot.js";

export class Compare {
  constructor(id, other) {
    this.id = id;
    this.pick = el("select", { id: "other", onchange: () => { location.hash = `#/run/${encodeURIComponent(id)}/compare/${encodeURIComponent(this.pick.value)}`; } });
    this.other = other;
    this.body = el("div", {});
    this.plot = new Plot({ id: "compared", title: "Loss of both", format: digits, zoomed: (range) => this.zoom(range),
      lines: [{ name: id, colour: "--c0" }, { name: other || "other", colour: "--c1", dashed: true }] });
    this.view = { time: false, log: false, weight: 0, zoom: null };
    this.node = el("section", { "aria-labelledby": "compare-title" }, el("h2", { id: "compare-title" }, "Compare"),
      el("div", { class: "controls" }, el("label", { for: "other" }, `${id} with`), this.pick), this.body);
  }

  async start() {
    try {
      const { runs } = await ask("api/runs");
      const others = runs.filter((run) => run.id !== this.id);
      replace(this.pick, el("option", { value: "" }, "choose a run"), others.map((run) => el("option", { value: run.id }, run.id)));
      this.pick.value = this.other || "";
      if (!this.other) {
        replace(this.body, el("p", { class: "quiet" }, others.length ? "Choose the run to compare with." : "There is no other run here."));
        return;
      }
      replace(this.body, el("p", { class: "quiet" }, "Reading both journals …"));
      this.show(await ask(`api/compare?a=${encodeURIComponent(this.id)}&b=${encodeURIComponent(this.other)}`));
    } catch (error) {
      replace(this.body, el("p", { class: "said bad" }, error.message));
    }
  }

  show(told) {
    const rows = (title, all) => all.length ? [el("h3", {}, title), el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `table: ${title}` }, el("table", {},
      el("thead", {}, el("tr", {}, [title, told.a, told.b].map((name) => el("th", { scope: "col" }, name)))),
      el("tbody", {}, all.map((row) => el("tr", {}, el("th", { scope: "row" }, row.name), el("td", {}, value(row.a, row.name)), el("td", {}, value(row.b, row.name)))))))] : [];
    replace(this.body, el("ul", { class: "plain verdicts" }, told.verdict.map((line) => el("li", { class: "said note" }, line))),
      this.plot.figure, rows("loss", told.loss), rows("speed", told.speed), rows("settings that differ", told.settings));
    const [a, b] = told.curves;
    const at = [new Map(a.step.map((step, place) => [step, a.loss[place]])), new Map(b.step.map((step, place) => [step, b.loss[place]]))];
    this.x = [...new Set([...a.step, ...b.step])].sort((one, two) => one - two);
    this.lines = at.map((curve) => this.x.map((step) => curve.get(step) ?? null));
    this.plot.draw(this.x, this.lines, this.view);
  }

  zoom(range) {
    if (!this.x) return;
    const [first, last] = [this.x[0], this.x[this.x.length - 1]];
    this.view.zoom = range ? { min: Math.max(first, range.min), max: Math.min(last, range.max) } : null;
    this.plot.draw(this.x, this.lines, this.view);
  }

  close() {
    this.plot.close();
  }
}

function value(one, name) {
  if (one === null || one === undefined) return "–";
  if (known(one) && name.startsWith("peak ")) return bytes(one);
  if (known(one) && name.startsWith("share ")) return share(one);
  if (known(one)) return digits(one);
  return typeof one === "string" ? one : JSON.stringify(one);
}

// One rank against all: its step times and its waiting for data, and the way to its log.

import { ask, el, known, replace, seconds, setText } from "./dom.js";
import { Plot } from "./plot.js";

const EVERY = 5000;

export class RankPanel {
  constructor(model) {
    this.model = model;
    this.rank = null;
    this.title = el("h3", {});
    this.log = el("a", {}, "Its log");
    this.said = el("p", { class: "quiet" });
    this.plot = new Plot({ id: "rank", title: "Step time of this rank", format: seconds, zoomed: (range) => this.zoom(range),
      lines: [{ name: "this rank", colour: "--c1" }, { name: "all ranks", colour: "--c0" }, { name: "it waits for data", colour: "--c2" }] });
    this.view = { time: false, log: false, weight: 0, zoom: null };
    this.node = el("section", { class: "rank", hidden: true, "aria-label": "the chosen rank" },
      el("header", {}, this.title, this.log, el("button", { type: "button", onclick: () => this.hide() }, "Close")),
      this.said, this.plot.figure);
  }

  async show(rank) {
    this.rank = rank;
    clearInterval(this.timer);
    this.timer = setInterval(() => { if (!document.hidden && this.model.run && !this.model.run.ended) this.load(); }, EVERY);
    this.view.zoom = null;
    const { ranks } = this.model;
    const place = ranks.rank.indexOf(rank);
    setText(this.title, `Rank ${rank} on ${ranks.nodes[ranks.node[place]]}`);
    this.log.setAttribute("href", `#/run/${encodeURIComponent(this.model.id)}/logs/${rank}`);
    this.node.hidden = false;
    await this.load();
  }

  async load() {
    const wanted = this.rank;
    try {
      const told = await ask(`api/run/${encodeURIComponent(this.model.id)}/rank/${wanted}`);
      if (wanted !== this.rank) return;
      setText(this.said, told.steps.length ? "" : "It has not reported a step yet.");
      this.plot.frame.hidden = !told.steps.length;
      if (told.steps.length) this.draw(told.steps);
    } catch (error) {
      replace(this.said, error.message);
    }
  }

  draw(steps) {
    const { curves } = this.model;
    this.x = steps.map(([first, last]) => (first + last) / 2);
    const all = steps.map(([first, last]) => {
      const from = Math.floor(first / curves.width);
      const values = curves.seconds.slice(from, Math.floor(last / curves.width) + 1).filter(known);
      return values.length ? values.reduce((sum, one) => sum + one, 0) / values.length : null;
    });
    this.lines = [steps.map((one) => one[2]), all, steps.map((one) => one[3])];
    this.plot.draw(this.x, this.lines, this.view);
  }

  zoom(range) {
    if (!this.x || !this.x.length) return;
    const [first, last] = [this.x[0], this.x[this.x.length - 1]];
    const found = range && { min: Math.max(first, range.min), max: Math.min(last, range.max) };
    this.view.zoom = found && found.max - found.min >= 1 ? found : null;
    this.plot.draw(this.x, this.lines, this.view);
  }

  hide() {
    clearInterval(this.timer);
    this.node.hidden = true;
    const cell = document.querySelector(".heat [tabindex='0']");
    if (cell) cell.focus();
  }

  close() {
    clearInterval(this.timer);
    this.plot.close();
  }
}

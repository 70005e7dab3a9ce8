// The training's curves: one chart a quantity, with one zoom for all of them.

import { digits, el, known, replace, seconds } from "./dom.js";
import { Plot } from "./plot.js";

// Points of a line that are drawn at most, about; a chart is no wider on most screens.
const MOST_POINTS = 1500;

const PANELS = [
  { id: "loss", title: "Loss", lines: [{ name: "loss", column: "loss", colour: "--c0" }], format: digits },
  { id: "step", title: "Step time", format: seconds, lines: [
    { name: "mean", column: "seconds", colour: "--c0" },
    { name: "slowest rank", column: "slowest", colour: "--c1", dashed: true },
    { name: "waiting for data", column: "waiting", colour: "--c2" },
  ] },
  { id: "grad_norm", title: "Gradient norm", format: digits,
    lines: [{ name: "gradient norm", column: "grad_norm", colour: "--c3" }], absent: "This training does not report its gradient norm." },
  { id: "tokens", title: "Tokens per second, all ranks", format: digits,
    lines: [{ name: "tokens/s", column: "tokens", colour: "--c2" }], absent: "This training does not count its tokens." },
  { id: "learning_rate", title: "Learning rate", format: digits,
    lines: [{ name: "learning rate", column: "learning_rate", colour: "--c4" }] },
];

export class Charts {
  constructor(model) {
    this.model = model;
    this.view = { time: false, log: false, weight: 0, zoom: null };
    this.plots = PANELS.map((panel) => new Plot({ ...panel, group: "steps", zoomed: (range) => this.zoom(range),
      shown: () => this.next() }));
    this.grid = el("div", { class: "charts" }, this.plots.map((plot) => plot.figure));
    this.bad = el("p", { class: "said bad", hidden: true });
    this.node = el("section", { "aria-labelledby": "charts-title" },
      el("h2", { id: "charts-title" }, "Training"), this.controls(), this.bad, this.grid);
    this.dark = matchMedia("(prefers-color-scheme: dark)");
    this.recolour = () => this.draw();
    this.dark.addEventListener("change", this.recolour);
  }

  controls() {
    const button = (label, call) => el("button", { type: "button", onclick: call }, label);
    const change = (more) => {
      Object.assign(this.view, more);
      this.draw();
    };
    const axis = (value, label) => el("label", {},
      el("input", { type: "radio", name: "axis", value, checked: value === "step",
        onchange: () => change({ time: value === "time", zoom: null }) }), label);
    const weight = el("output", { class: "number", for: "smooth" }, "0");
    return el("div", { class: "controls" },
      el("fieldset", {}, el("legend", {}, "Axis"), axis("step", "Steps"), axis("time", "Time")),
      el("label", {}, el("input", { type: "checkbox", id: "log", onchange: (event) => change({ log: event.target.checked }) }),
        "Logarithmic"),
      el("label", {}, "Smoothing",
        el("input", { type: "range", id: "smooth", min: "0", max: "99", value: "0", oninput: (event) => {
          weight.textContent = event.target.value;
          change({ weight: Number(event.target.value) / 100 });
        } }), weight),
      el("span", { class: "group" },
        button("Zoom in", () => this.closer(0.5)), button("Zoom out", () => this.closer(2)),
        button("Whole run", () => this.zoom(null))));
  }

  extent() {
    const x = this.x();
    return x.length ? [x[0], x[x.length - 1]] : [0, 1];
  }

  // A range of the axis for all charts; null is the whole run.
  zoom(range) {
    const [first, last] = this.extent();
    if (range) {
      const least = this.view.time ? 1 : 4;
      const size = Math.max(least, range.max - range.min);
      const min = Math.max(first, Math.min(range.min, last - least));
      const max = Math.min(last, min + size);
      this.view.zoom = min <= first && max >= last ? null : { min, max };
    } else this.view.zoom = null;
    this.draw();
  }

  closer(factor) {
    const [first, last] = this.extent();
    const { min, max } = this.view.zoom || { min: first, max: last };
    const half = ((max - min) / 2) * factor;
    const middle = (min + max) / 2;
    this.zoom({ min: middle - half, max: middle + half });
  }

  x() {
    const curves = this.model.curves;
    if (!curves) return [];
    const { version } = curves;
    if (this.kept && this.kept.curves === curves && this.kept.version === version && this.kept.time === this.view.time) return this.kept.x;
    const { width } = curves;
    const x = [];
    const places = [];
    let latest = -Infinity;
    for (let place = 0; place < curves.at.length; place += 1) {
      if (curves.at[place] === null && !known(curves.loss[place])) continue;
      if (this.view.time) {
        if (curves.at[place] === null) continue;
        latest = Math.max(latest, curves.at[place]);
        x.push(latest);
      } else x.push(place * width + (width - 1) / 2);
      places.push(place);
    }
    this.kept = { curves, version, time: this.view.time, x, places };
    return x;
  }

  // `soon`: one chart a frame, so that no update holds up the page.
  draw(soon) {
    if (!this.model.curves || !this.node.isConnected) return;
    this.plots.forEach((plot, number) => {
      const work = () => this.one(plot, PANELS[number]);
      if (!soon || !plot.u) {
        plot.waiting = null;
        work();
      } else plot.waiting = work;
    });
    if (soon) this.next();
    const { bad, width } = this.model.curves;
    this.bad.hidden = !bad.length;
    if (bad.length) replace(this.bad, `The loss is not a number in ${bad.length === 1 ? "one step" : `${bad.length} steps`}, the first of them ${bad[0] * width}.`);
  }

  next() {
    if (this.drawing) return;
    const plot = this.plots.find((one) => one.waiting && one.seen);
    if (!plot) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      const work = plot.waiting;
      plot.waiting = null;
      if (work && this.node.isConnected) work();
      this.next();
    });
  }

  one(plot, panel) {
    const { curves } = this.model;
    const x = this.x();
    const columns = panel.lines.map((line) => curves[line.column] || []);
    const there = columns.some((column) => column.some(known));
    plot.frame.hidden = plot.readout.hidden = !there;
    plot.note.hidden = there || !x.length;
    if (!there) {
      replace(plot.note, panel.absent || "No values yet.");
      return;
    }
    const { places } = this.kept;
    const lines = columns.map((column) => places.map((place) => column[place] ?? null));
    const [few, shown] = this.view.weight ? [x, lines] : thinned(x, lines, this.view.zoom);
    plot.draw(few, shown, this.view);
  }

  close() {
    cancelAnimationFrame(this.drawing);
    this.dark.removeEventListener("change", this.recolour);
    this.plots.forEach((plot) => plot.close());
  }
}

// Of more points than pixels, those that are seen: of each few neighbours the lowest and the highest of each line.
export function thinned(x, lines, zoom) {
  let first = 0;
  let last = x.length;
  if (zoom) {
    while (first < x.length && x[first] < zoom.min) first += 1;
    while (last > first && x[last - 1] > zoom.max) last -= 1;
    first = Math.max(0, first - 1);
    last = Math.min(x.length, last + 1);
  }
  const each = Math.ceil((last - first) / MOST_POINTS);
  if (each <= 1) return [x, lines];
  const kept = [];
  if (first > 0) kept.push(0);
  for (let from = first; from < last; from += 2 * each) {
    const until = Math.min(last, from + 2 * each);
    const chosen = new Set([from, until - 1]);
    for (const line of lines) {
      let [low, high] = [-1, -1];
      for (let place = from; place < until; place += 1) {
        if (line[place] === null) continue;
        if (low < 0 || line[place] < line[low]) low = place;
        if (high < 0 || line[place] > line[high]) high = place;
      }
      if (low >= 0) chosen.add(low).add(high);
    }
    kept.push(...[...chosen].sort((a, b) => a - b));
  }
  if (last < x.length) kept.push(x.length - 1);
  return [kept.map((place) => x[place]), lines.map((line) => kept.map((place) => line[place]))];
}

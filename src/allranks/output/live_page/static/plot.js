// One chart: uPlot, with a title, the values under the pointer in words, and keys.

import uPlot from "./vendor/uplot/uPlot.esm.js";
import { clock, count, el, known, setText } from "./dom.js";

const HEIGHT = 190;
const STEPS = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((power) => [1, 2, 5].map((one) => one * 10 ** power));

export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Exponential smoothing without a bias at the start; what is not known stays so.
export function smoothed(values, weight) {
  if (!weight) return values;
  let sum = 0;
  let norm = 0;
  return values.map((value) => {
    if (!known(value)) return null;
    sum = sum * weight + value * (1 - weight);
    norm = norm * weight + (1 - weight);
    return sum / norm;
  });
}

export class Plot {
  // `spec`: {id, title, lines: [{name, colour, dashed?}], format, zoomed(min, max), group}
  constructor(spec) {
    this.spec = spec;
    this.where = el("span", {});
    this.keys = spec.lines.map((line) => el("span", { class: `key ${line.colour.slice(2)}${line.dashed ? " dashed" : ""}` },
      el("i", { "aria-hidden": "true" }), el("span", {})));
    this.readout = el("output", { class: "readout" }, this.where, this.keys);
    this.frame = el("div", {
      class: "plot",
      id: `plot-${spec.id}`,
      tabindex: "0",
      role: "img",
      "aria-label": spec.title,
      onkeydown: (event) => this.key(event),
      onblur: () => this.point(null),
    });
    this.note = el("p", { class: "quiet", hidden: true });
    this.figure = el("figure", { class: "chart" },
      el("figcaption", {}, el("h3", {}, spec.title), this.readout), this.frame, this.note);
    this.u = null;
    this.at = null;
    this.sizes = new ResizeObserver(() => this.resize());
    this.sizes.observe(this.frame);
    this.seen = true;
    this.views = new IntersectionObserver((told) => {
      this.seen = told[told.length - 1].isIntersecting;
      if (this.seen && spec.shown) spec.shown();
    });
    this.views.observe(this.figure);
  }

  // `view`: {time, log, weight, zoom}. `x` and one list a line; drawn anew if the way of drawing has changed.
  draw(x, lines, view) {
    const shown = view.log ? lines.map((one) => one.map((value) => (value > 0 ? value : null))) : lines;
    const data = [x];
    for (const one of shown) {
      data.push(one);
      if (view.weight) data.push(smoothed(one, view.weight));
    }
    const look = `${view.time}|${view.log}|${view.weight > 0}|${colour("--ink")}|${lines.length}`;
    this.data = data;
    this.view = view;
    this.lines = lines;
    if (this.u === null || this.look !== look) this.build(look);
    else {
      this.u.setData(data, view.zoom === null);
      if (view.zoom) this.u.setScale("x", view.zoom);
    }
    this.say();
  }

  build(look) {
    this.look = look;
    if (this.u) this.u.destroy();
    const { view, spec } = this;
    const quiet = colour("--quiet");
    const grid = { stroke: colour("--rule"), width: 1 };
    const axis = { stroke: quiet, grid, ticks: { ...grid, size: 4 }, font: "11.5px sans-serif" };
    const series = [{}];
    for (const line of spec.lines) {
      const base = { label: line.name, points: { show: false }, spanGaps: true, dash: line.dashed ? [5, 4] : undefined };
      series.push({ ...base, stroke: colour(line.colour), width: view.weight ? 1 : 1.6, alpha: view.weight ? 0.3 : 1 });
      if (view.weight) series.push({ ...base, label: `${line.name}, smoothed`, stroke: colour(line.colour), width: 1.8 });
    }
    this.u = new uPlot({
      width: Math.max(200, this.frame.clientWidth),
      height: HEIGHT,
      legend: { show: false },
      cursor: {
        sync: spec.group ? { key: spec.group } : undefined,
        drag: { x: true, y: false, setScale: false },
        points: { size: 6 },
        bind: { dblclick: () => () => { spec.zoomed(null); return null; } },
      },
      scales: { x: { time: view.time }, y: { distr: view.log ? 3 : 1 } },
      axes: [
        { ...axis, size: 34, incrs: view.time ? undefined : STEPS, values: view.time ? undefined : (_, ticks) => ticks.map((one) => count(one)) },
        { ...axis, size: 62, values: (_, ticks) => ticks.map((one) => (one === null ? "" : spec.format(one))) },
      ],
      series,
      hooks: {
        setCursor: [() => this.say()],
        setSelect: [(u) => this.select(u)],
      },
    }, this.data, this.frame);
    if (view.zoom) this.u.setScale("x", view.zoom);
  }

  select(u) {
    if (u.select.width < 4) return;
    const min = u.posToVal(u.select.left, "x");
    const max = u.posToVal(u.select.left + u.select.width, "x");
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    this.spec.zoomed({ min, max });
  }

  resize() {
    const width = this.frame.clientWidth;
    if (this.u && width > 0 && Math.abs(width - this.u.width) > 1) this.u.setSize({ width, height: HEIGHT });
  }

  // The values at the pointer, else the newest ones.
  say() {
    if (!this.u || !this.lines) return;
    const x = this.data[0];
    let at = this.u.cursor.idx;
    const pointed = at !== null && at !== undefined;
    if (!pointed) at = x.length - 1;
    const parts = [];
    if (at >= 0 && x.length) parts.push(this.view.time ? clock(x[at]) : `step ${count(Math.round(x[at]))}`);
    this.spec.lines.forEach((line, place) => {
      let value = this.lines[place][at];
      for (let back = at; !pointed && !known(value) && back > 0; back -= 1) value = this.lines[place][back];
      const said = known(value) ? `${line.name} ${this.spec.format(value)}` : "";
      setText(this.keys[place].lastChild, said);
      this.keys[place].hidden = !said;
      if (said) parts.push(said);
    });
    setText(this.where, parts.length && x.length ? parts[0] : "");
    if (!pointed) this.frame.setAttribute("aria-label", `${this.spec.title}. Newest: ${parts.join(", ")}. ` +
      "Arrow keys point at a step, plus and minus zoom, 0 shows the whole run.");
  }

  point(at) {
    this.at = at;
    if (!this.u) return;
    if (at === null) this.u.setCursor({ left: -10, top: -10 });
    else this.u.setCursor({ left: this.u.valToPos(this.data[0][at], "x"), top: HEIGHT / 3 });
  }

  key(event) {
    if (!this.u || !this.data[0].length || event.ctrlKey || event.metaKey || event.altKey) return;
    const x = this.data[0];
    const { min, max } = this.u.scales.x;
    const inside = (place) => x[place] >= min && x[place] <= max;
    const first = x.findIndex((_, place) => inside(place));
    const last = x.findLastIndex((_, place) => inside(place));
    const step = Math.max(1, Math.round((last - first) / (event.shiftKey ? 10 : 100)));
    const from = this.at === null || !inside(this.at) ? (event.key === "ArrowRight" ? first - step : last + step) : this.at;
    const middle = this.at === null ? (min + max) / 2 : x[this.at];
    const half = (max - min) / 2;
    if (event.key === "ArrowRight") this.point(Math.max(first, Math.min(last, from + step)));
    else if (event.key === "ArrowLeft") this.point(Math.min(last, Math.max(first, from - step)));
    else if (event.key === "Home") this.point(first);
    else if (event.key === "End") this.point(last);
    else if (event.key === "+" || event.key === "=") this.spec.zoomed({ min: middle - half / 2, max: middle + half / 2 });
    else if (event.key === "-") this.spec.zoomed({ min: middle - half * 2, max: middle + half * 2 });
    else if (event.key === "0" || event.key === "Escape") {
      this.point(null);
      this.spec.zoomed(null);
    } else return;
    event.preventDefault();
  }

  close() {
    this.sizes.disconnect();
    this.views.disconnect();
    if (this.u) this.u.destroy();
    this.u = null;
  }
}

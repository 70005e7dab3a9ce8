// Nodes × ranks, one cell a rank: how it does against the others. One stop of the Tab key; arrow keys move inside.

import { bytes, count, el, known, percent, replace, seconds, setText, share } from "./dom.js";

const LEVELS = 9;
const LABELLED = 256;
const METRICS = [
  { id: "seconds", label: "Step time", format: seconds, low: "least" },
  { id: "own", label: "Own work", format: seconds, low: "least" },
  { id: "waiting", label: "Waiting for data", format: share, low: 0 },
  { id: "lag", label: "Steps behind", format: count, low: 0 },
  { id: "utilization", label: "GPU use", format: percent, low: 0, high: 100 },
  { id: "gpu_bytes", label: "GPU memory", format: bytes, low: 0 },
  { id: "temperature", label: "GPU temperature", format: (value) => (known(value) ? `${Math.round(value)} °C` : "–"), low: 30, high: 95 },
  { id: "power", label: "GPU power", format: (value) => (known(value) ? `${Math.round(value)} W` : "–"), low: 0 },
  { id: "rss_bytes", label: "Host memory", format: bytes, low: 0 },
  { id: "silent", label: "Silent", format: seconds, low: 0, high: 30 },
];

export class Heat {
  constructor(model, chosen) {
    this.model = model;
    this.chosen = chosen;
    this.metric = METRICS[0];
    this.cells = [];
    this.at = 0;
    this.pick = el("select", { id: "metric", onchange: () => {
      this.metric = METRICS.find((one) => one.id === this.pick.value);
      this.update();
    } });
    this.grid = el("div", { class: "heat", role: "grid", "aria-label": "ranks by node", onkeydown: (event) => this.key(event),
      onclick: (event) => this.click(event), onpointerover: (event) => this.over(event), onpointerleave: () => this.tell(this.at) });
    this.legend = el("p", { class: "legend" });
    this.said = el("p", { class: "pointed", "aria-live": "polite" });
    this.slow = el("p", { class: "said warn", hidden: true });
    this.node = el("section", { "aria-labelledby": "heat-title" },
      el("h2", { id: "heat-title" }, "Ranks"),
      el("div", { class: "controls" }, el("label", { for: "metric" }, "Show"), this.pick, this.legend),
      this.slow, this.grid, this.said);
  }

  // The cells anew, if there are other ranks than before.
  build() {
    const { ranks } = this.model;
    const key = `${ranks.rank.length}|${ranks.nodes.length}|${ranks.node.length && ranks.node[ranks.node.length - 1]}`;
    if (key === this.key_) return;
    this.key_ = key;
    const rows = ranks.nodes.map((name, row) => ({ row, name, cells: [] }));
    this.cells = ranks.rank.map((rank, place) => {
      const cell = el("div", { role: "gridcell", class: "cell", tabindex: place === this.at ? "0" : "-1", "data-place": place });
      rows[ranks.node[place]].cells.push(cell);
      return cell;
    });
    this.names = rows.map((row) => el("span", { class: "name", role: "rowheader", title: row.name }, row.name));
    this.grid.classList.toggle("many", ranks.rank.length > 128);
    this.grid.classList.toggle("few", ranks.rank.length <= 32);
    replace(this.grid, rows.map((row, place) => el("div", { role: "row", class: "node" }, this.names[place],
      el("span", { class: "cells", role: "presentation" }, row.cells))));
  }

  update() {
    const { ranks } = this.model;
    if (!ranks || !ranks.rank.length) {
      setText(this.said, "No rank has reported yet.");
      return;
    }
    this.build();
    this.options(ranks);
    const values = ranks[this.metric.id];
    const [low, high] = this.range(values);
    const slowest = ranks.slowest ? ranks.slowest.rank : null;
    for (let place = 0; place < this.cells.length; place += 1) {
      const value = values[place];
      const ended = known(ranks.code[place]) && ranks.code[place] !== 0;
      const part = known(value) ? Math.max(0, Math.min(1, (value - low) / (high - low || 1))) : null;
      const level = part === null ? "none" : `h${Math.min(LEVELS - 1, Math.floor(part * LEVELS))}`;
      const slow = ranks.rank[place] === slowest;
      const look = `cell ${level}${slow ? " slow" : ""}${ended ? " dead" : ""}${ranks.phase[place] === "ended" && !ended ? " over" : ""}`;
      const cell = this.cells[place];
      if (cell.className !== look) {
        cell.className = look;
        setText(cell, ended ? "×" : slow ? "▲" : "");
      }
      if (this.cells.length > LABELLED && place !== this.at) continue;
      const label = `rank ${ranks.rank[place]}: ${this.metric.format(value)}${slow ? ", the slowest" : ""}${ended ? `, exit code ${ranks.code[place]}` : ""}`;
      if (cell.getAttribute("aria-label") !== label) cell.setAttribute("aria-label", label);
    }
    this.names.forEach((name, row) => {
      const text = ranks.lost[row] ? `${ranks.nodes[row]} (lost)` : ranks.nodes[row];
      setText(name, text);
      name.classList.toggle("gone", ranks.lost[row]);
    });
    this.scale(low, high);
    this.point(ranks);
    this.tell(this.at);
  }

  options(ranks) {
    const there = METRICS.filter((one) => one.id === "seconds" || (ranks[one.id] || []).some(known));
    const key = there.map((one) => one.id).join();
    if (key === this.there) return;
    this.there = key;
    replace(this.pick, there.map((one) => el("option", { value: one.id }, one.label)));
    this.pick.value = this.metric.id;
  }

  range(values) {
    const found = values.filter(known);
    if (!found.length) return [0, 1];
    const most = found.reduce((a, b) => Math.max(a, b), -Infinity);
    const least = found.reduce((a, b) => Math.min(a, b), Infinity);
    const low = this.metric.low === "least" ? least : this.metric.low;
    // A spread of a few percent is noise and not drawn as if it were a difference.
    const high = this.metric.high ?? Math.max(most, this.metric.low === "least" ? least * 1.25 : low + 1e-9);
    return [low, high];
  }

  scale(low, high) {
    const words = `${this.metric.format(low)}|${this.metric.format(high)}`;
    if (words === this.scaled) return;
    this.scaled = words;
    replace(this.legend, el("span", {}, this.metric.format(low)),
      el("span", { class: "ramp", "aria-hidden": "true" }, [...Array(LEVELS).keys()].map((level) => el("i", { class: `cell h${level}` }))),
      el("span", {}, this.metric.format(high)));
  }

  point(ranks) {
    const one = ranks.slowest;
    this.slow.hidden = !one;
    if (!one) return;
    const node = ranks.nodes[ranks.node[ranks.rank.indexOf(one.rank)]];
    const text = `▲ Rank ${one.rank} on ${node} holds the others up: ${one.by} ${seconds(one.value)} per step, the median rank ${seconds(one.median)}.`;
    setText(this.slow, text);
  }

  tell(place) {
    const { ranks } = this.model;
    if (!ranks || place >= ranks.rank.length) return;
    const parts = [`Rank ${ranks.rank[place]} on ${ranks.nodes[ranks.node[place]]}`];
    if (known(ranks.step[place])) parts.push(`step ${count(ranks.step[place])}`);
    if (ranks.phase[place]) parts.push(ranks.phase[place]);
    for (const metric of METRICS) {
      const value = (ranks[metric.id] || [])[place];
      if (known(value)) parts.push(`${metric.label.toLowerCase().replace("gpu", "GPU")} ${metric.format(value)}`);
    }
    if (known(ranks.code[place])) parts.push(`exit code ${ranks.code[place]}`);
    setText(this.said, parts.join(" · "));
  }

  move(place) {
    if (place < 0 || place >= this.cells.length) return;
    this.cells[this.at].tabIndex = -1;
    this.at = place;
    this.cells[place].tabIndex = 0;
    this.cells[place].setAttribute("aria-label", `rank ${this.model.ranks.rank[place]}`);
    this.cells[place].focus();
    this.tell(place);
  }

  key(event) {
    const { ranks } = this.model;
    const row = ranks ? ranks.node[this.at] : 0;
    const below = (by) => {
      const column = this.at - ranks.node.indexOf(row);
      const first = ranks.node.indexOf(row + by);
      if (first < 0) return this.at;
      return Math.min(first + column, ranks.node.lastIndexOf(row + by));
    };
    const moves = { ArrowRight: this.at + 1, ArrowLeft: this.at - 1, Home: 0, End: this.cells.length - 1 };
    if (event.key in moves) this.move(moves[event.key]);
    else if (event.key === "ArrowDown") this.move(below(1));
    else if (event.key === "ArrowUp") this.move(below(-1));
    else if (event.key === "Enter" || event.key === " ") this.chosen(ranks.rank[this.at]);
    else return;
    event.preventDefault();
  }

  placed(event) {
    const cell = event.target.closest(".cell[data-place]");
    return cell ? Number(cell.getAttribute("data-place")) : null;
  }

  over(event) {
    const place = this.placed(event);
    if (place !== null) this.tell(place);
  }

  click(event) {
    const place = this.placed(event);
    if (place === null) return;
    this.move(place);
    this.chosen(this.model.ranks.rank[place]);
  }
}

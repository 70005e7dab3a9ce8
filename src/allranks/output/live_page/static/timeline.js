// Phases and events of a run on one axis of time, and the same events as a list.

import { clock, duration, el, place, replace, svg } from "./dom.js";

const ROW = 22;
const LEFT = 78;
const LANES = [
  { tone: "good", label: "saved", shape: "M-4,0 0,-5 4,0 0,5Z" },
  { tone: "note", label: "notes", shape: "M0,-3.5A3.5,3.5 0 1 0 0.01,-3.5Z" },
  { tone: "warn", label: "warnings", shape: "M0,-5 5,4 -5,4Z" },
  { tone: "bad", label: "errors", shape: "M-4,-4 4,-4 4,4 -4,4Z" },
];
const LISTED = 200;
const COLOURS = 8;

export class Timeline {
  constructor(model) {
    this.model = model;
    this.frame = el("div", { class: "timeline" });
    this.list = el("ol", {});
    this.more = el("p", { class: "quiet" });
    this.shown = new Set(LANES.map((lane) => lane.tone));
    this.node = el("section", { "aria-labelledby": "timeline-title" },
      el("h2", { id: "timeline-title" }, "Phases and events"), this.frame,
      el("div", { class: "controls" }, LANES.map((lane) => el("label", {},
        el("input", { type: "checkbox", checked: true, onchange: (event) => {
          if (event.target.checked) this.shown.add(lane.tone);
          else this.shown.delete(lane.tone);
          this.events();
        } }), lane.label))),
      el("div", { class: "events", tabindex: "0", role: "region", "aria-label": "list of events" }, this.list), this.more);
    this.seen = new ResizeObserver(() => this.update());
    this.seen.observe(this.frame);
  }

  update() {
    const { run } = this.model;
    const width = this.frame.clientWidth;
    if (!run || width < 50 || run.started_at === null) return;
    const from = run.started_at;
    const until = Math.max(from + 1, from + this.model.elapsed);
    const x = (at) => LEFT + ((Math.min(until, Math.max(from, at)) - from) / (until - from)) * (width - LEFT - 12);
    const rankRows = Object.entries(run.rank_phases || {});
    const parts = [];
    let y = 4;
    const label = (text) => parts.push(svg("text", { x: LEFT - 8, y: y + 14, class: "lane" }, text));
    label("run");
    run.phases.forEach((phase, number) => {
      const end = number + 1 < run.phases.length ? run.phases[number + 1].at : until;
      parts.push(...this.bar(x(phase.at), x(end), y, number % COLOURS, phase.phase, `${phase.phase} ${duration(end - phase.at)}`));
    });
    y += ROW;
    if (rankRows.length) {
      label("ranks");
      rankRows.forEach(([phase, [first, last]], number) => {
        parts.push(...this.bar(x(first), x(last), y, (number + 2) % COLOURS, phase, `ranks ${phase}: ${clock(first)} to ${clock(last)}`));
      });
      y += ROW;
    }
    for (const lane of LANES) {
      const marks = this.model.marks.filter((mark) => mark.tone === lane.tone);
      if (!marks.length) continue;
      label(lane.label);
      parts.push(svg("line", { x1: LEFT, x2: width - 12, y1: y + 10, y2: y + 10, class: "rail" }));
      const taken = new Set();
      for (const mark of marks) {
        const at = Math.round(x(mark.at) / 3) * 3;
        if (taken.has(at)) continue;
        taken.add(at);
        parts.push(svg("path", { d: lane.shape, class: `mark ${lane.tone}`, transform: `translate(${at},${y + 10})` },
          svg("title", {}, `${clock(mark.at)} ${place(mark)} ${mark.text}`)));
      }
      y += ROW;
    }
    const ticks = Math.max(1, Math.floor((width - LEFT) / 130));
    for (let tick = 0; tick <= ticks; tick += 1) {
      const at = from + ((until - from) * tick) / ticks;
      parts.push(svg("text", { x: x(at), y: y + 14, class: `tick${tick === ticks ? " last" : tick ? "" : " first"}` }, clock(at)));
    }
    const words = run.phases.length ? `Phases: ${run.phases.map((one) => one.phase).join(", ")}. The events follow as a list.` : "Events";
    replace(this.frame, svg("svg", { width, height: y + 20, role: "img", "aria-label": words }, parts));
    this.events();
  }

  bar(first, last, y, number, name, title) {
    const width = Math.max(1.5, last - first);
    const found = [svg("rect", { x: first, y: y + 2, width, height: ROW - 6, rx: 2, class: `phase p${number}` }, svg("title", {}, title))];
    if (width > name.length * 6.6 + 8) found.push(svg("text", { x: first + 5, y: y + 14, class: "in" }, name));
    return found;
  }

  // The newest first; the same words about several places are one line.
  events() {
    const folded = new Map();
    for (const mark of this.model.marks) {
      if (!this.shown.has(mark.tone)) continue;
      const key = `${mark.tone}|${mark.kind}|${mark.text}`;
      const known_ = folded.get(key);
      if (known_) {
        known_.count += 1;
        known_.at = mark.at;
        known_.places.add(place(mark));
      } else folded.set(key, { ...mark, count: 1, places: new Set([place(mark)]) });
    }
    const found = [...folded.values()].sort((a, b) => b.at - a.at);
    const key = `${found.length}|${found.length ? found[0].at + found[0].text + found[0].count : ""}|${[...this.shown].join()}`;
    if (key === this.listed) return;
    this.listed = key;
    replace(this.list, found.slice(0, LISTED).map((mark) => el("li", { class: mark.tone },
      el("time", {}, clock(mark.at)), el("span", { class: "tone" }, word(mark.tone)),
      el("span", { class: "what" }, el("b", {}, ...named(mark.places)), " ", mark.text,
        mark.count > mark.places.size ? el("span", { class: "quiet" }, ` (${mark.count} times)`) : null))));
    const left = found.length - LISTED;
    replace(this.more, found.length ? (left > 0 ? `${left} older events are not shown.` : "") : "No events yet.");
  }

  close() {
    this.seen.disconnect();
  }
}

const named = (places) => {
  const [first, ...more] = [...places];
  return more.length > 2 ? [`${first} and ${more.length} others`] : [[first, ...more].join(", ")];
};
const word = (tone) => ({ good: "ok", note: "note", warn: "warning", bad: "error" })[tone];

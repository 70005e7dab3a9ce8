// What allranks found, worst first; the cause of a failure before all else.

import { clock, el, known, place, replace } from "./dom.js";

const ORDER = { block: 0, unknown: 1, warn: 2, note: 3, ok: 4 };
const WORDS = { block: "error", unknown: "unknown", warn: "warning", note: "note", ok: "fine" };
const TONES = { block: "bad", unknown: "warn", warn: "warn", note: "note", ok: "good" };
const SHOWN = 100;

function where(one) {
  const at = one.where || {};
  const file = at.file ? `${at.file}${known(at.line) ? `:${at.line}` : ""}` : "";
  return [place(at), known(at.gpu) ? `GPU ${at.gpu}` : "", file].filter(Boolean).join(" ");
}

function parts(one) {
  const found = [];
  if (one.why) found.push(el("dt", {}, "why"), el("dd", {}, one.why));
  if (one.fix) found.push(el("dt", {}, "fix"), el("dd", {}, one.fix));
  if (one.evidence && one.evidence.length) {
    found.push(el("dt", {}, "seen"), el("dd", {}, one.evidence.slice(0, 12).map((line) => el("p", { class: "mono" }, line))));
  }
  return found.length ? el("dl", {}, found) : null;
}

export class Findings {
  constructor(model) {
    this.model = model;
    this.cause = el("div", { class: "cause" });
    this.list = el("ul", { class: "plain" });
    this.node = el("section", { "aria-labelledby": "findings-title" },
      el("h2", { id: "findings-title" }, "Findings"), this.list);
  }

  update() {
    const { run, findings } = this.model;
    const diagnosis = run && run.diagnosis;
    const key = `${findings.length}|${diagnosis ? diagnosis.cause + diagnosis.confidence : ""}`;
    if (key === this.key) return;
    this.key = key;
    replace(this.cause, diagnosis && diagnosis.cause ? el("div", { class: "said bad" },
      el("p", { class: "head" }, el("span", { class: "verdict" }, `cause (${diagnosis.confidence || "unknown"})`), " ",
        el("b", {}, diagnosis.cause), " ", where(diagnosis)), parts(diagnosis)) : null);
    const folded = new Map();
    for (const one of findings) {
      if (one.verdict === "ok" || (diagnosis && one.id === diagnosis.cause)) continue;
      const id = `${one.verdict}|${one.id}|${one.saw}`;
      if (folded.has(id)) folded.get(id).places.push(where(one));
      else folded.set(id, { one, places: [where(one)] });
    }
    const sorted = [...folded.values()].sort((a, b) => ORDER[a.one.verdict] - ORDER[b.one.verdict]);
    replace(this.list, sorted.length ? sorted.slice(0, SHOWN).map(({ one, places }) => {
      const names = [...new Set(places.filter(Boolean))];
      return el("li", { class: `said ${TONES[one.verdict] || "note"}` },
        el("p", { class: "head" }, el("span", { class: "verdict" }, WORDS[one.verdict] || one.verdict), " ",
          names.length ? el("b", {}, names.slice(0, 4).join(", "), names.length > 4 ? ` and ${names.length - 4} more` : "") : null, " ",
          one.saw, " ", el("span", { class: "quiet id" }, one.id, known(one.at) ? ` · ${clock(one.at)}` : "")),
        parts(one));
    }) : el("li", { class: "quiet" }, "No findings."));
  }
}

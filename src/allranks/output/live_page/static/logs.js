// Logs: ranks side by side as they grow, or folded into one, with a search.

import { ask, bytes, el, known, many, replace, setText, spans, unspanned } from "./dom.js";

const SIDE_BY_SIDE = 4;
const FOLDED = 16;
const MOST_LINES = 5000;
const DRAWN = 1500;

const named = (log) => (known(log.rank) ? `rank ${log.rank} on ${log.node}` : `${log.name} on ${log.node}`);

class Column {
  constructor(page, log) {
    this.page = page;
    this.log = log;
    this.lines = [];
    this.first = 0;
    this.earlier = el("button", { type: "button", onclick: () => this.load(true).then(() => page.draw(), (error) => page.say(error.message)) }, "Earlier lines");
    this.size = el("span", { class: "quiet" });
    this.text = el("div", { class: "log", tabindex: "0", role: "region", "aria-label": `log of ${named(log)}` });
    this.node = el("article", { class: "column" },
      el("header", {}, el("h3", {}, named(log)), this.size, this.earlier), this.text);
  }

  async load(earlier) {
    const most = 262144;
    const from = earlier ? Math.max(0, this.first - most) : -most;
    const size = earlier ? this.first - from : most;
    const told = await ask(`${this.page.path}/log?path=${encodeURIComponent(this.log.path)}&offset=${from}&bytes=${size}`);
    if (earlier) this.lines = told.lines.concat(this.lines).slice(0, MOST_LINES);
    else {
      this.lines = told.lines.slice(-MOST_LINES);
      this.next = told.next;
    }
    this.first = told.first;
    this.bytes = told.bytes;
    this.earlier.hidden = this.first <= 0 || this.lines.length >= MOST_LINES;
  }

  add(lines) {
    this.lines = this.lines.concat(lines).slice(-MOST_LINES);
  }
}

export class Logs {
  constructor(model) {
    this.model = model;
    this.path = `api/run/${encodeURIComponent(model.id)}`;
    this.columns = [];
    this.all = [];
    this.words = "";
    this.fold = false;
    this.ranks = el("input", { type: "text", id: "log-ranks", placeholder: "0-3", size: "12", autocomplete: "off",
      onchange: () => this.choose(unspanned(this.ranks.value, FOLDED)) });
    this.filter = el("input", { type: "search", id: "log-filter", size: "18", autocomplete: "off", oninput: () => {
      this.words = this.filter.value;
      this.draw();
    }, onkeydown: (event) => { if (event.key === "Enter") this.search(); } });
    this.status = el("p", { class: "quiet", role: "status" });
    this.view = el("div", { class: "columns logs" });
    this.results = el("div", {});
    this.node = el("section", { "aria-labelledby": "logs-title" },
      el("h2", { id: "logs-title" }, "Logs"),
      el("div", { class: "controls" },
        el("label", { for: "log-ranks" }, "Ranks"), this.ranks,
        el("button", { type: "button", onclick: () => this.torchrun() }, "torchrun"),
        el("label", {}, el("input", { type: "checkbox", id: "log-fold", onchange: (event) => {
          this.fold = event.target.checked;
          this.draw();
        } }), "Fold equal lines"),
        el("label", { for: "log-filter" }, "Search"), this.filter,
        el("button", { type: "button", onclick: () => this.search() }, "Search all logs")),
      this.status, this.results, this.view);
  }

  async start(wanted) {
    try {
      this.all = (await ask(`${this.path}/logs`)).logs;
    } catch (error) {
      setText(this.status, error.message);
      return;
    }
    const ranks = this.all.filter((log) => known(log.rank)).map((log) => log.rank);
    if (!this.all.length) setText(this.status, "There are no logs yet.");
    else await this.choose(wanted.length ? wanted : ranks.slice(0, Math.min(2, ranks.length)));
  }

  say(text) {
    setText(this.status, text);
  }

  torchrun() {
    this.show(this.all.filter((log) => !known(log.rank)).slice(0, SIDE_BY_SIDE));
  }

  async choose(numbers) {
    const logs = numbers.map((rank) => this.all.find((log) => log.rank === rank)).filter(Boolean);
    const missing = numbers.filter((rank) => !logs.some((log) => log.rank === rank));
    this.ranks.value = spans(numbers);
    setText(this.status, missing.length ? `There is no log of rank ${spans(missing)}.` : "");
    await this.show(logs);
  }

  async show(logs) {
    if (this.source) this.source.close();
    this.columns = logs.slice(0, FOLDED).map((log) => new Column(this, log));
    this.shape = null;
    try {
      await Promise.all(this.columns.map((column) => column.load(false)));
    } catch (error) {
      setText(this.status, error.message);
    }
    this.draw();
    this.follow();
  }

  // Lines as they come, until the run has ended.
  follow() {
    const from = this.columns.map((one) => `from=${encodeURIComponent(`${one.next ?? 0}:${one.log.path}`)}`).join("&");
    if (!from) return;
    const columns = this.columns;
    this.source = new EventSource(`${this.path}/log-lines?${from}`);
    this.source.addEventListener("end", () => this.source.close());
    this.source.onerror = () => {
      this.source.close();
      this.say("The connection is lost, so no new lines arrive. Choose the ranks again.");
    };
    this.source.onmessage = (message) => {
      const told = JSON.parse(message.data);
      if (told.error) setText(this.status, told.error);
      const column = columns.find((one) => one.log.path === told.path);
      if (column) column.add(told.lines);
      if (!this.due) {
        this.due = true;
        requestAnimationFrame(() => {
          this.due = false;
          this.draw();
        });
      }
    };
  }

  draw() {
    const folded = this.fold && this.columns.length > 0;
    const shape = folded ? "folded" : `${this.columns.map((one) => one.log.path).join()}`;
    if (shape !== this.shape) {
      this.shape = shape;
      this.merged = el("div", { class: "log", tabindex: "0", role: "region", "aria-label": "folded lines of all chosen logs" });
      replace(this.view, folded ? el("article", { class: "column" }, this.merged)
        : this.columns.slice(0, SIDE_BY_SIDE).map((one) => one.node));
      if (!folded && this.columns.length > SIDE_BY_SIDE) {
        setText(this.status, `${SIDE_BY_SIDE} logs fit side by side; fold equal lines to see all ${this.columns.length}.`);
      }
    }
    const needle = this.words.toLowerCase();
    const fits = (line) => !needle || line.toLowerCase().includes(needle);
    if (folded) {
      put(this.merged, foldedLines(this.columns).filter(({ line }) => fits(line)), needle);
      return;
    }
    for (const column of this.columns.slice(0, SIDE_BY_SIDE)) {
      put(column.text, column.lines.filter(fits).map((line) => ({ line })), needle);
      setText(column.size, `${many(column.lines.length, "line")} of ${bytes(column.bytes)}`);
    }
  }

  async search() {
    const words = this.filter.value.trim();
    if (!words) {
      setText(this.status, "Type what to search for.");
      return;
    }
    setText(this.status, "Searching …");
    const paths = this.all.map((log) => `path=${encodeURIComponent(log.path)}`).slice(0, 200).join("&");
    try {
      const told = await ask(`${this.path}/search?words=${encodeURIComponent(words)}&${paths}`);
      const lines = told.found.reduce((sum, one) => sum + one.count, 0);
      const left = told.left_out ? ` ${told.left_out} logs were left out.` : "";
      const failed = told.failed.length ? ` ${told.failed.length} could not be read: ${told.failed[0]}` : "";
      setText(this.status, `${many(lines, "line")} in the last ${bytes(told.bytes_each)} of ${many(told.searched, "log")}.${left}${failed}`);
      replace(this.results, told.found.map((one) => {
        const log = this.all.find((other) => other.path === one.path);
        const box = el("div", { class: "log short", tabindex: "0", role: "region", "aria-label": `found in the log of ${named(log)}` });
        put(box, one.lines.map((line) => ({ line })), words.toLowerCase());
        return el("details", { open: told.found.length < 4 }, el("summary", {}, `${named(log)}: ${many(one.count, "line")}`), box);
      }));
    } catch (error) {
      setText(this.status, error.message);
    }
  }

  close() {
    if (this.source) this.source.close();
  }
}

// Each line once, in the order of its first time, with who says it.
export function foldedLines(columns) {
  const said = new Map();
  const longest = Math.max(0, ...columns.map((one) => one.lines.length));
  for (let place = 0; place < longest; place += 1) {
    for (const column of columns) {
      const line = column.lines[place];
      if (line === undefined) continue;
      if (!said.has(line)) said.set(line, new Set());
      said.get(line).add(column.log);
    }
  }
  return [...said].map(([line, logs]) => {
    const ranks = [...logs].map((log) => log.rank).filter(known);
    const who = [ranks.length ? `${ranks.length === 1 ? "rank" : "ranks"} ${spans(ranks)}` : "", ...[...logs].filter((log) => !known(log.rank)).map(named)];
    return { line, who: who.filter(Boolean).join(", ") };
  });
}

// The last lines; it stays at the end unless somebody has scrolled up.
function put(box, lines, needle) {
  const atEnd = box.scrollTop + box.clientHeight >= box.scrollHeight - 8;
  const shown = lines.slice(-DRAWN);
  replace(box, lines.length > shown.length ? el("p", { class: "quiet" }, `${(lines.length - shown.length).toLocaleString("en-US")} lines above are not drawn; search shows them.`) : null,
    shown.length ? shown.map(({ line, who }) => el("div", { class: "line" }, who ? el("span", { class: "who" }, who) : null, marked(line, needle)))
      : el("p", { class: "quiet" }, needle ? "No line has these words." : "Empty."));
  if (atEnd) box.scrollTop = box.scrollHeight;
}

function marked(line, needle) {
  if (!needle) return line;
  const parts = [];
  const low = line.toLowerCase();
  let from = 0;
  for (let at = low.indexOf(needle); at >= 0 && parts.length < 40; at = low.indexOf(needle, from)) {
    parts.push(line.slice(from, at), el("mark", {}, line.slice(at, at + needle.length)));
    from = at + needle.length;
  }
  return [parts, line.slice(from)];
}

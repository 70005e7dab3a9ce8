// One run as the server tells it: everything at first, then what has changed.

const LISTS = ["at", "loss", "learning_rate", "seconds", "slowest", "slowest_rank", "waiting", "tokens", "grad_norm",
  "loss_low", "loss_high"];
const MOST_FINDINGS = 2000;
const HIDDEN_MS = 10000;
const AGAIN_MS = 5000;

export class RunModel {
  constructor(id) {
    this.id = id;
    this.run = null;
    this.ranks = null;
    this.curves = null;
    this.marks = [];
    this.findings = [];
    this.stacks = null;
    this.connected = false;
    this.received = 0;
    this.listeners = new Set();
    this.due = false;
    this.changed = new Set();
  }

  // A browser opens six connections to one server: a page that nobody looks at gives its own back.
  open() {
    this.look = () => {
      clearTimeout(this.leaving);
      if (document.hidden) this.leaving = setTimeout(() => this.source.close(), HIDDEN_MS);
      else if (this.source.readyState === EventSource.CLOSED) this.connect();
    };
    document.addEventListener("visibilitychange", this.look);
    return this.connect();
  }

  connect() {
    this.source = new EventSource(`api/run/${encodeURIComponent(this.id)}/events`);
    this.source.onmessage = (message) => {
      if (!this.run) document.documentElement.setAttribute("data-first-bytes", message.data.length);
      this.take(JSON.parse(message.data));
    };
    this.source.onerror = () => {
      this.connected = false;
      this.tell("connection");
      // After an answer that is an error a browser does not ask again by itself.
      if (this.source.readyState === EventSource.CLOSED) this.again = setTimeout(() => this.connect(), AGAIN_MS);
    };
    return this;
  }

  close() {
    document.removeEventListener("visibilitychange", this.look);
    clearTimeout(this.leaving);
    clearTimeout(this.again);
    this.source.close();
    this.listeners.clear();
  }

  take(said) {
    this.connected = true;
    this.received = performance.now();
    if (said.kind === "snapshot") {
      this.marks = [];
      this.findings = [];
      this.curves = null;
    }
    this.run = said.run;
    this.tell("run", "connection");
    if (said.ranks) this.ranks = said.ranks;
    if (this.ranks) {
      this.ranks.silent = this.ranks.beat_at.map((at, place) =>
        at === null || this.ranks.phase[place] === "ended" ? null : Math.max(0, said.run.now - at));
      this.tell("ranks");
    }
    if (said.curves) {
      this.curves = joined(this.curves, said.curves);
      this.tell("curves");
    }
    if (said.marks) {
      this.marks = this.marks.concat(said.marks);
      this.tell("marks");
    }
    if (said.findings) {
      this.findings = this.findings.concat(said.findings).slice(-MOST_FINDINGS);
      this.tell("findings");
    }
    if (said.stacks) {
      this.stacks = said.stacks;
      this.tell("stacks");
    }
  }

  // The run's seconds now; of one that has ended, up to its last word.
  get elapsed() {
    const run = this.run;
    if (!run || run.started_at === null) return null;
    const now = run.ended || FINAL.includes(run.state) ? run.last_at : run.now + (performance.now() - this.received) / 1000;
    return Math.max(0, now - run.started_at);
  }

  listen(call) {
    this.listeners.add(call);
    return () => this.listeners.delete(call);
  }

  tell(...what) {
    what.forEach((one) => this.changed.add(one));
    if (this.due) return;
    this.due = true;
    const later = document.hidden ? (call) => setTimeout(call, 250) : requestAnimationFrame;
    later(() => {
      this.due = false;
      const changed = this.changed;
      this.changed = new Set();
      for (const call of [...this.listeners]) call(changed);
    });
  }
}

export const FINAL = ["succeeded", "failed", "stopped", "unproven", "lost"];

// Puts what was told of the first bin that changed, and of the later ones, in place of what was known of them.
export function joined(known, told) {
  const first = told.from;
  if (!known || first === 0 || known.width !== told.width) return { ...told, from: 0, version: 0 };
  known.bad = known.bad.filter((one) => one < first).concat(told.bad);
  for (const name of LISTS) {
    if (!told[name]) continue;
    const column = (known[name] ||= []);
    while (column.length < first) column.push(null);
    column.length = first;
    for (const value of told[name]) column.push(value);
  }
  known.version += 1;
  return known;
}

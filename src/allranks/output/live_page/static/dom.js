// Elements and numbers. Text from a log or a node becomes a text node and nothing else: there is no other way here.

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled") node[name] = value;
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}

export const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((one) => one !== null && one !== undefined && one !== false));
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

// ---- numbers ----

const GROUPED = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
export const count = (value) => (known(value) ? GROUPED.format(value) : "–");
export const known = (value) => typeof value === "number" && Number.isFinite(value);

export const many = (value, name) => `${count(value)} ${name}${value === 1 ? "" : "s"}`;

export function digits(value, most = 4) {
  if (!known(value)) return "–";
  const size = Math.abs(value);
  if (size >= 1e4) return GROUPED.format(value);
  if (size > 0 && size < 1e-3) return value.toExponential(2);
  return String(Number(value.toPrecision(most)));
}

export function seconds(value) {
  if (!known(value)) return "–";
  if (value < 0.9995) return `${Math.round(value * 1000)} ms`;
  if (value < 59.95) return `${value.toFixed(value < 9.95 ? 2 : 1)} s`;
  return duration(value);
}

export function duration(value) {
  if (!known(value)) return "–";
  const whole = Math.max(0, Math.round(value));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  if (h >= 48) return `${Math.floor(h / 24)} d ${h % 24} h`;
  if (h) return `${h} h ${m} min`;
  return m ? `${m} min ${s} s` : `${s} s`;
}

export function bytes(value) {
  if (!known(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let place = 0;
  while (Math.abs(value) >= 1024 && place < 4) {
    value /= 1024;
    place += 1;
  }
  return `${place ? Number(value.toPrecision(3)) : value} ${units[place]}`;
}

export const percent = (value) => (known(value) ? `${Math.round(value)} %` : "–");
export const share = (value) => (known(value) ? `${(100 * value).toFixed(value < 0.0995 ? 1 : 0)} %` : "–");

export function clock(at) {
  if (!known(at)) return "–";
  return new Date(at * 1000).toLocaleTimeString("en-GB");
}

export function moment(at) {
  if (!known(at)) return "–";
  const date = new Date(at * 1000);
  return `${date.toLocaleDateString("en-CA")} ${date.toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" })}`;
}

// 0,1,2,5 → "0-2, 5"
export function spans(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const found = [];
  for (const one of sorted) {
    const last = found[found.length - 1];
    if (last && one === last[1] + 1) last[1] = one;
    else found.push([one, one]);
  }
  return found.map(([a, b]) => (a === b ? a : `${a}-${b}`)).join(", ");
}

// "0-2, 5" → [0, 1, 2, 5]
export function unspanned(text, most) {
  const found = [];
  for (const part of text.split(/[\s,]+/)) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (!match) continue;
    for (let one = Number(match[1]); one <= Number(match[2] ?? match[1]) && found.length < most; one += 1) {
      if (!found.includes(one)) found.push(one);
    }
  }
  return found;
}

export const place = (one) =>
  [one.node, known(one.rank) ? `rank ${one.rank}` : null].filter((part) => part !== null && part !== undefined).join(" ");

export async function ask(path, options) {
  const answered = await fetch(path, options);
  const data = await answered.json().catch(() => ({}));
  if (!answered.ok) throw new Error(data.error || `The server answered ${answered.status}.`);
  return data;
}

// Which page the address names: #/ all runs, #/run/ID[/PART[/MORE]] one run.

import { ask, el, replace, setText } from "./dom.js";
import { PARTS, RunPage } from "./run_page.js";
import { Runs } from "./runs.js";

const main = document.getElementById("main");
const nav = document.getElementById("nav");
const connection = document.getElementById("connection");
let page = null;
let about = { first: null, may_stop: false };

function route() {
  const words = location.hash.replace(/^#\/?/, "").split("/").map(decoded);
  const [kind, id, part, more] = words;
  if (kind === "run" && id) {
    if (!(page instanceof RunPage) || page.id !== id) {
      if (page) page.close();
      page = new RunPage(id, about);
      replace(main, page.node);
      page.model.listen((changed) => {
        if (changed.has("connection")) setText(connection, page.model && page.model.connected ? "live" : "not connected");
      });
    }
    const there = PARTS.some(([name]) => name === part) ? part : "";
    replace(nav, PARTS.map(([name, label]) => el("a", {
      href: `#/run/${encodeURIComponent(id)}${name ? `/${name}` : ""}`,
      "aria-current": name === there ? "page" : null,
    }, label)));
    page.show(there, more);
    return;
  }
  if (page) page.close();
  page = new Runs();
  replace(nav);
  setText(connection, "");
  document.title = "Runs: allranks";
  replace(main, page.node);
  page.start();
}

function decoded(word) {
  try {
    return decodeURIComponent(word);
  } catch {
    return word;
  }
}

async function start() {
  try {
    about = await ask("api/about");
  } catch (error) {
    replace(main, el("p", { class: "said bad" }, error.message));
    return;
  }
  if (about.first && !location.hash) history.replaceState(null, "", `#/run/${encodeURIComponent(about.first)}`);
  addEventListener("hashchange", route);
  route();
}

start();

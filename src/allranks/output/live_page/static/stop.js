// Stopping a run: only for who types its name.

import { ask, el, setText } from "./dom.js";

export function stopButton(model) {
  const name = el("input", { type: "text", id: "stop-name", autocomplete: "off", spellcheck: "false" });
  const save = el("input", { type: "checkbox", id: "stop-save", checked: true });
  const said = el("p", { role: "status" });
  const sure = el("button", { type: "submit", class: "danger", disabled: true }, "Stop the run");
  const words = el("b", {});
  const dialog = el("dialog", { "aria-labelledby": "stop-title" },
    el("form", { method: "dialog", onsubmit: (event) => { event.preventDefault(); stop(); } },
      el("h2", { id: "stop-title" }, "Stop this run?"),
      el("p", {}, "This ends all processes of the run, on all nodes. To confirm, type ", words, "."),
      el("label", { for: "stop-name" }, "Name of the run"), name,
      el("label", { class: "line" }, save, "Let the ranks save first, if they can"), said,
      el("p", { class: "buttons" }, el("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), sure)));
  const names = () => [model.id, model.run && model.run.name].filter(Boolean);
  name.addEventListener("input", () => { sure.disabled = !names().includes(name.value); });

  async function stop() {
    if (!names().includes(name.value)) return;
    sure.disabled = true;
    setText(said, save.checked ? "The ranks save, then the run stops …" : "Stopping the run …");
    try {
      const told = await ask(`api/run/${encodeURIComponent(model.id)}/stop`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ name: name.value, save: save.checked }),
      });
      setText(said, `${told.state || "unknown"}: ${told.left} of its processes are left.`);
    } catch (error) {
      setText(said, error.message);
    }
  }

  const button = el("button", { type: "button", class: "danger", onclick: () => {
    name.value = "";
    sure.disabled = true;
    setText(said, "");
    setText(words, model.run && model.run.name ? model.run.name : model.id);
    dialog.showModal();
  } }, "Stop …");
  return [button, dialog];
}

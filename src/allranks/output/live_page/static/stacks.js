// Where the ranks stood when the keeper asked them at a stall: ranks at one place together, side by side.

import { clock, el, known, replace, spans } from "./dom.js";

export class Stacks {
  constructor(model) {
    this.model = model;
    this.said = el("p", {});
    this.columns = el("div", { class: "columns" });
    this.node = el("section", { "aria-labelledby": "stacks-title" },
      el("h2", { id: "stacks-title" }, "Stacks"), this.said, this.columns);
  }

  update() {
    const { stacks } = this.model;
    const groups = stacks ? stacks.groups : [];
    const key = stacks ? `${stacks.at}|${groups.map((one) => one.ranks.length).join()}` : "";
    if (key === this.key) return;
    this.key = key;
    if (!groups.length) {
      replace(this.said, "No stall so far: the ranks are asked for their stacks when the run stands still.");
      replace(this.columns);
      return;
    }
    const left = stacks.left_out ? ` ${stacks.left_out} further places are not shown.` : "";
    replace(this.said, `The ranks were asked at ${clock(stacks.at)}. They are at ${groups.length} `,
      `${groups.length === 1 ? "place" : "different places"}; those with the fewest ranks come first. Lines of your own code are marked.${left}`);
    replace(this.columns, groups.map((one) => el("article", { class: one.waits ? "stack" : "stack apart" },
      el("h3", {}, `${one.ranks.length === 1 ? "rank" : "ranks"} ${spans(one.ranks)}`),
      el("p", {}, one.doing),
      el("ol", { class: "frames" }, [...one.frames].reverse().map(([file, line, name, own]) =>
        el("li", { class: own ? "own" : "" }, own ? el("span", { class: "verdict" }, "yours ") : null,
          el("b", {}, name), " ", el("span", { class: "mono" }, `${file}${known(line) ? `:${line}` : ""}`)))))));
  }
}

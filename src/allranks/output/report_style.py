"""The report's stylesheet and its script. The page works without the script, and loads nothing.

The page's policy allows these two texts by their SHA-256 and nothing else.
"""

from __future__ import annotations

import base64
import hashlib

STYLE = """
:root{color-scheme:light dark;--paper:#fcfbf8;--ink:#1d1f23;--quiet:#676b73;--rule:#e2dfd6;--soft:#f3f1ea;
--good:#2c7a4b;--warn:#96650a;--bad:#b3261e;--note:#4b5563;--accent:#1f5fa8;--bar:#8aa9cc;--wait:#c9822b;
--h0:#eef0ea;--h1:#dfe6ea;--h2:#b9cfe3;--h3:#f0c987;--h4:#dc8f35;--h5:#9c4a12;
--c0:#1f5fa8;--c1:#c05a11;--c2:#217a54;--c3:#a3468b;--c4:#8a6d00;--c5:#2a93c4;--c6:#6a51b5;--c7:#6f6f6f}
@media(prefers-color-scheme:dark){:root{--paper:#15171b;--ink:#e4e2dc;--quiet:#989ca5;--rule:#2d3138;--soft:#1d2026;
--good:#63b98a;--warn:#dba646;--bad:#f2827a;--note:#a7adb8;--accent:#7fb0e8;--bar:#4d6f99;--wait:#d99a4e;
--h0:#1c2127;--h1:#262d36;--h2:#35506d;--h3:#7d5a20;--h4:#c07f2c;--h5:#f0b368;
--c0:#7fb0e8;--c1:#ee9a5b;--c2:#63c093;--c3:#dc8bc6;--c4:#d3b749;--c5:#6fc6ec;--c6:#ab97ec;--c7:#a5a5a5}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%;scroll-behavior:smooth}
body{margin:0;background:var(--paper);color:var(--ink);
font:14px/1.5 -apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,"Liberation Sans",sans-serif;
font-variant-numeric:tabular-nums}
main{max-width:1120px;margin:0 auto;padding:36px 28px 72px}
code,pre,.mono{font-family:ui-monospace,"SF Mono",Menlo,Consolas,"Liberation Mono",monospace;font-size:12.5px}
h1,h2,h3,p,dl,dd,figure,ul,pre{margin:0;padding:0}
ul{list-style:none}
a{color:var(--accent);text-decoration:none}a:hover{text-decoration:underline}
.quiet,.note,.none,caption{color:var(--quiet)}
.good{color:var(--good)}.warn{color:var(--warn)}.bad-text{color:var(--bad)}
header .run{color:var(--quiet);overflow-wrap:anywhere;display:flex;flex-wrap:wrap;gap:2px 14px;align-items:baseline}
header .run b{font-weight:500;color:var(--ink)}
header h1{font-size:25px;line-height:1.28;font-weight:600;letter-spacing:-.012em;margin:6px 0 0;max-width:46em;
overflow-wrap:anywhere}
header .state{display:inline-block;font-size:12px;font-weight:600;letter-spacing:.05em;text-transform:uppercase;
color:var(--tone)}
header .state::before{content:"";display:inline-block;width:9px;height:9px;border-radius:50%;background:var(--tone);
margin-right:7px}
.succeeded{--tone:var(--good)}.failed{--tone:var(--bad)}.lost,.stopped,.unproven{--tone:var(--warn)}
.checking,.starting,.running,.unknown{--tone:var(--accent)}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:14px 24px;margin:24px 0 0;
padding:16px 0;border-top:1px solid var(--rule);border-bottom:1px solid var(--rule)}
.figures dt{font-size:12px;color:var(--quiet)}
.figures dd{font-size:19px;line-height:1.3;font-weight:500;letter-spacing:-.01em}
.figures small{display:block;font-size:12px;font-weight:400;letter-spacing:0;color:var(--quiet)}
nav{margin:12px 0 0;font-size:13px;display:flex;flex-wrap:wrap;gap:2px 16px}
section{margin:38px 0 0}
.lead{margin-top:22px}
h2{font-size:16px;font-weight:600;letter-spacing:-.005em;margin:0 0 12px;padding:0 0 6px;
border-bottom:1px solid var(--rule)}
h2 small{font-weight:400;font-size:13px;color:var(--quiet);margin-left:8px}
h3{font-size:14px;font-weight:600}
.said{margin:0 0 14px;padding:0 0 0 14px;border-left:3px solid var(--tone)}
.said.block{--tone:var(--bad)}.said.unknown{--tone:var(--c3)}.said.warn{--tone:var(--warn);color:inherit}
.said.note{--tone:var(--rule);color:inherit}.said.ok{--tone:var(--good)}
.said .saw{font-weight:500;overflow-wrap:anywhere}
.said .where{font-weight:600;margin-right:.6em}
.said dl{display:grid;grid-template-columns:3.2em 1fr;gap:1px 0}
.said dt{color:var(--quiet)}.said dd{overflow-wrap:anywhere}
.said .id{float:right;margin-left:16px;color:var(--quiet);font-weight:400;font-size:12px}
.verdict{color:var(--tone);font-size:12px;font-weight:600}
.said.note .verdict{color:var(--quiet)}
.said+.facts{margin-top:18px}.facts+p{margin:10px 0 3px}.facts+pre{margin-top:14px}
.facts{display:grid;grid-template-columns:max-content 1fr;gap:3px 22px}
.facts dt{color:var(--quiet)}.facts dd{overflow-wrap:anywhere}
.charts{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:30px 40px}
.wide{grid-column:1/-1}
figcaption{display:flex;flex-wrap:wrap;gap:0 10px;align-items:baseline;margin:0 0 8px}
p.note{font-size:13px}
.frame{display:grid;grid-template-columns:62px minmax(0,1fr)}
svg{display:block;overflow:visible}
svg text{fill:var(--quiet);font-size:11.5px;font-family:inherit}
.ys{width:62px}.ys:not([height]){height:184px}.heat svg{width:100%}
.heat path{stroke:none;shape-rendering:crispEdges}.h0{fill:var(--h0)}.h1{fill:var(--h1)}.h2{fill:var(--h2)}
.h3{fill:var(--h3)}.h4{fill:var(--h4)}.h5{fill:var(--h5)}
.bars .p0{fill:var(--c0)}.p0{fill:var(--c0)}.p1{fill:var(--c1)}.p2{fill:var(--c2)}.p3{fill:var(--c3)}.p4{fill:var(--c4)}
.p5{fill:var(--c5)}.p6{fill:var(--c6)}.p7{fill:var(--c7)}.p8{fill:var(--bar)}.p9{fill:var(--wait)}
.ys text{text-anchor:end}
.plot{position:relative;height:184px;outline-offset:3px}
.plot>svg{width:100%;height:184px}
.plot .over{position:absolute;inset:0;width:100%;height:100%;pointer-events:none}
.xs{grid-column:2;width:100%;height:20px}
path{fill:none;vector-effect:non-scaling-stroke}
.grid{stroke:var(--rule);stroke-width:1}
.line{stroke:var(--c0);stroke-width:1.6;stroke-linejoin:round;stroke-linecap:round}
.spread{stroke:none;fill:var(--c0);opacity:.17}
.band{fill:var(--c0);opacity:.2;stroke:none}
.level{stroke:var(--quiet);stroke-width:1.2;stroke-dasharray:5 4}
text.level,text.end{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-dasharray:none;stroke-linejoin:round}
.mark.saved{stroke:var(--quiet);stroke-width:1.4}.mark.end{stroke:var(--bad);stroke-width:1.4}
text.end{fill:var(--bad);font-weight:600}
path.bad{stroke:var(--bad);stroke-width:5}
path.above{stroke:var(--wait);stroke-width:6;stroke-linecap:round}
.line.s1{stroke:var(--c1);stroke-dasharray:7 3}.spread.s1{fill:var(--c1)}
.line.s2{stroke:var(--c2);stroke-dasharray:2.5 3}.spread.s2{fill:var(--c2)}
.line.s3{stroke:var(--c3);stroke-dasharray:9 3 2 3}.spread.s3{fill:var(--c3)}
.line.s4{stroke:var(--c4)}.spread.s4{fill:var(--c4)}
.line.s5{stroke:var(--c5);stroke-dasharray:7 3}.spread.s5{fill:var(--c5)}
.line.s6{stroke:var(--c6);stroke-dasharray:2.5 3}.spread.s6{fill:var(--c6)}
.line.s7{stroke:var(--c7);stroke-dasharray:9 3 2 3}.spread.s7{fill:var(--c7)}
.line.wait{stroke:var(--wait);stroke-dasharray:3 3}
.key{display:flex;flex-wrap:wrap;gap:2px 16px;margin:6px 0 0 62px;font-size:12.5px;color:var(--quiet)}
.key li{display:flex;align-items:center;gap:6px}
.key svg{flex:none}
details{margin:6px 0 0}
summary{cursor:pointer;color:var(--quiet);font-size:13px}
summary:hover{color:var(--ink)}
details.data{margin-left:62px}table+.key{margin-left:0}
.scroll{overflow:auto;max-height:420px;margin-top:6px}
table{border-collapse:collapse;font-size:13px}
th,td{text-align:right;padding:2px 0 2px 20px;font-weight:400;vertical-align:top}
th:first-child,td:first-child{text-align:left;padding-left:0}
thead th{color:var(--quiet);border-bottom:1px solid var(--rule);vertical-align:bottom;font-size:12.5px;
position:sticky;top:0;background:var(--paper)}
tbody th{font-weight:400}
.full{width:100%}
.left td,.left th{text-align:left}
.data td,.data th,.map td,.map th{white-space:nowrap}
.map td:last-child{white-space:normal;min-width:15em}
caption{text-align:left;padding:0 0 6px}
.bare thead{position:absolute;clip-path:inset(50%);width:1px;height:1px;overflow:hidden}
.bars{width:100%}.bars caption{color:var(--ink);font-weight:600;font-size:14px}
.bars td,.bars th{padding-top:1px;padding-bottom:1px;vertical-align:middle;white-space:nowrap}
.bars td.bar{width:100%;padding:3px 0 3px 14px;position:relative}
.bars thead th:nth-child(2){text-align:left;padding-left:14px}
.bar svg{width:100%;height:11px}
.bar rect:not([class^=p]){fill:var(--bar)}.bar rect.planned{fill:var(--ink)}.bar rect.inner{fill:var(--wait)}
tr.far th,tr.far td{color:var(--warn);font-weight:600}tr.far .bar rect:not(.inner){fill:var(--warn)}
tr.wrong th,tr.wrong td{color:var(--bad);font-weight:600}
tr.calm .bar rect:not([class^=p]){fill:var(--rule)}tr.train .bar rect:not([class^=p]){fill:var(--accent)}
.off td,.off th{color:var(--quiet)}
.gone td,.gone th{color:var(--bad)}.odd td,.odd th{color:var(--warn)}
.events td{overflow-wrap:anywhere}.events td:nth-child(-n+2){width:1%;white-space:nowrap}
pre{background:var(--soft);padding:10px 12px;border-radius:4px;overflow:auto;max-height:460px;white-space:pre-wrap;
overflow-wrap:anywhere;tab-size:4}
mark{background:none;color:inherit;font-weight:600}section>.log mark,.guilty mark{color:var(--bad)}
pre.log{max-height:none}
.stacks{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(300px,100%),1fr));gap:12px 20px}
h4{font-size:13px;font-weight:600;margin:0 0 4px}.guilty h4{color:var(--bad)}
#cause h3{margin:18px 0 5px}#cause .note{margin:12px 0 0}#cause dd pre{margin:2px 0 4px}
.copy{position:relative}.copy pre{padding-right:76px}
.copy button{position:absolute;top:6px;right:8px;font:inherit;font-size:12px;color:var(--quiet);
background:var(--paper);border:1px solid var(--rule);border-radius:4px;padding:1px 8px;cursor:pointer}
.copy button:hover{color:var(--ink)}
.tip{position:absolute;top:0;z-index:2;pointer-events:none;background:var(--paper);border:1px solid var(--rule);
border-radius:4px;padding:4px 8px;font-size:12px;white-space:pre;box-shadow:0 1px 4px rgb(0 0 0/.14)}
.rule{position:absolute;top:0;bottom:0;width:1px;background:var(--quiet);pointer-events:none}
[hidden]{display:none!important}
footer{margin:44px 0 0;padding:12px 0 0;border-top:1px solid var(--rule);color:var(--quiet);font-size:12.5px}
@media(max-width:760px){main{padding:22px 16px 48px}.charts{grid-template-columns:minmax(0,1fr)}
header h1{font-size:21px}.figures{grid-template-columns:repeat(auto-fit,minmax(104px,1fr));gap:12px 18px}
.said .id{float:none;display:block;margin:0}.facts{grid-template-columns:minmax(0,1fr);gap:0}
.facts dd{margin:0 0 6px}.key,details.data{margin-left:0}th,td{padding-left:12px}.wrap{overflow-x:auto}
.bars td:nth-child(4){white-space:normal}}
@media print{:root{--paper:#fff;--ink:#000;--quiet:#555;--rule:#ccc;--soft:#f6f6f6}
body{font-size:10.5pt}main{max-width:none;padding:0}nav,.copy button,.chart details{display:none}
section{margin-top:20pt}figure,.said,tr{break-inside:avoid}h2{break-after:avoid}
pre,.scroll{max-height:none;overflow:visible}thead th{position:static}
.keep::details-content{content-visibility:visible;height:auto}}
@media(prefers-reduced-motion:reduce){html{scroll-behavior:auto}}
"""

SCRIPT = """
"use strict";
document.querySelectorAll(".chart").forEach(function (chart) {
  var plot = chart.querySelector(".plot"), table = chart.querySelector("details.data table");
  if (!plot) return;
  plot.querySelectorAll(":scope > svg:not(.over)").forEach(function (svg) {
    var box = svg.getBoundingClientRect(), ink = svg.getBBox();
    svg.dataset.drawn = Math.round(box.width) + "x" + Math.round(box.height);
    svg.dataset.ink = Math.round(ink.width) + "x" + Math.round(ink.height);
  });
  var names = Array.from(table.tHead.rows[0].cells, function (c) { return c.textContent; });
  var rows = Array.from(table.tBodies[0].rows), places = rows.map(function (r) { return +r.dataset.p; });
  var tip = document.createElement("output"), rule = document.createElement("div"), at = -1;
  tip.className = "tip"; rule.className = "rule"; tip.hidden = rule.hidden = true;
  plot.append(rule, tip); plot.tabIndex = 0;
  function show(i) {
    at = Math.max(0, Math.min(rows.length - 1, i));
    var cells = Array.from(rows[at].cells, function (c) { return c.textContent; });
    tip.textContent = cells.map(function (text, n) { return text && names[n] + "  " + text; })
      .filter(Boolean).join("\\n");
    tip.hidden = rule.hidden = false;
    var x = plot.clientWidth * places[at] / 1000, over = x > plot.clientWidth / 2;
    rule.style.left = x + "px";
    tip.style.left = over ? "" : x + 8 + "px";
    tip.style.right = over ? plot.clientWidth - x + 8 + "px" : "";
  }
  function hide() { tip.hidden = rule.hidden = true; }
  plot.addEventListener("pointermove", function (event) {
    var box = plot.getBoundingClientRect(), part = 1000 * (event.clientX - box.left) / box.width, best = 0;
    places.forEach(function (p, i) { if (Math.abs(p - part) < Math.abs(places[best] - part)) best = i; });
    show(best);
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("keydown", function (event) {
    var step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (step) { event.preventDefault(); show(at < 0 ? (step > 0 ? 0 : rows.length - 1) : at + step); }
    if (event.key === "Escape") hide();
  });
});
document.querySelectorAll("pre.copyable").forEach(function (pre) {
  var box = document.createElement("div"), button = document.createElement("button");
  box.className = "copy"; button.type = "button"; button.textContent = "copy";
  pre.replaceWith(box); box.append(pre, button);
  button.addEventListener("click", function () {
    var range = document.createRange();
    range.selectNodeContents(pre);
    getSelection().removeAllRanges(); getSelection().addRange(range);
    Promise.resolve(navigator.clipboard ? navigator.clipboard.writeText(pre.textContent) : document.execCommand("copy"))
      .then(function () { button.textContent = "copied"; }, function () { button.textContent = "selected"; });
  });
});
addEventListener("beforeprint", function () {
  document.querySelectorAll("details.keep").forEach(function (d) { d.open = true; });
});
document.documentElement.dataset.ready = "1";
"""


def digest(text: str) -> str:
    """The source expression of a policy that allows exactly this text."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def policy() -> str:
    """The page's policy: nothing may be loaded, sent or framed; only these two texts apply. `data:` is for the empty
    icon."""
    return (
        f"default-src 'none'; style-src {digest(STYLE)}; script-src {digest(SCRIPT)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )

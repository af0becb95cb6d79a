"use strict";
const charts = JSON.parse(document.getElementById("charts").textContent);
const root = document.documentElement;
const preferred = matchMedia("(prefers-color-scheme: dark)");
let chosen = null; // by the button; otherwise the system's preference holds

function theme() {
  return chosen || (preferred.matches ? "dark" : "light");
}

// Colours are named by custom properties, such as --law.
function coloured(value, style) {
  if (typeof value === "string") return value.startsWith("--") ? style.getPropertyValue(value).trim() : value;
  if (Array.isArray(value)) return value.length && typeof value[0] === "object" ? value.map((v) => coloured(v, style)) : value;
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, coloured(part, style)]));
}

function layout(own, narrow) {
  const axis = { gridcolor: "--grid", zerolinecolor: "--grid", linecolor: "--grid", automargin: true, nticks: narrow ? 5 : 8 };
  const title = own.title ? { text: own.title.text, font: { size: 13 }, x: 0.02, xanchor: "left", y: 0.985, yanchor: "top" } : undefined;
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font: { color: "--text", size: 12, family: getComputedStyle(document.body).fontFamily },
    margin: { l: 54, r: 12, t: 30, b: 44 }, hovermode: "closest", dragmode: narrow ? false : "zoom",
    legend: { orientation: "h", x: 0, y: 0, yref: "container", yanchor: "bottom", font: { size: 11 } },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: "--soft", activecolor: "--text" },
    xaxis: { ...axis, ...own.xaxis }, yaxis: { ...axis, ...own.yaxis }, ...(title ? { title } : {}),
  };
}

function draw(figure) {
  const chart = charts[figure.dataset.chart];
  const select = figure.querySelector("select"), slider = figure.querySelector("input[type=range]");
  const choice = chart.choices[select ? select.selectedIndex : 0];
  const place = slider ? Number(slider.value) : 0;
  if (slider) figure.querySelector("output").textContent = chart.slider[place];
  const panels = figure.querySelector(".panels"), style = getComputedStyle(root), narrow = innerWidth < 700;
  while (panels.children.length < choice.panels.length) panels.append(document.createElement("div"));
  choice.panels.forEach((panel, k) => {
    const plot = panels.children[k];
    const data = panel.data.concat(panel.frames.length ? panel.frames[place] : []);
    const entries = data.filter((trace) => trace.showlegend).length;
    plot.style.height = `${(narrow ? 270 + 18 * entries : 340 + 6 * entries)}px`;
    Plotly.react(plot, coloured(data, style), coloured(layout(panel.layout, narrow), style), {
      responsive: true, displaylogo: false, showSendToCloud: false, displayModeBar: narrow ? false : "hover",
      modeBarButtons: [["toImage", "zoom2d", "pan2d", "resetScale2d"]],
    });
  });
}

const figures = [...document.querySelectorAll("figure[data-chart]")];

function drawAll() {
  root.dataset.theme = theme();
  figures.forEach(draw);
}

figures.forEach((figure) => {
  const select = figure.querySelector("select"), slider = figure.querySelector("input[type=range]");
  if (select) {
    charts[figure.dataset.chart].choices.forEach((choice) => select.add(new Option(choice.label)));
    select.addEventListener("change", () => draw(figure));
  }
  if (slider) slider.addEventListener("input", () => draw(figure));
});
document.getElementById("theme").addEventListener("click", () => {
  chosen = theme() === "dark" ? "light" : "dark";
  drawAll();
});
preferred.addEventListener("change", drawAll);

// Paper is white, and has no folds to open.
let folded = [];
addEventListener("beforeprint", () => {
  root.dataset.theme = "light";
  figures.forEach(draw);
  document.querySelectorAll(".panels > div").forEach((plot) => {
    const size = { width: plot.parentElement.children.length > 1 ? 345 : 690, height: 270 };
    Object.assign(plot.style, { width: `${size.width}px`, height: `${size.height}px` });
    Plotly.relayout(plot, size);
  });
  folded = [...document.querySelectorAll("details:not([open])")].filter((each) => !each.querySelector("pre"));
  folded.forEach((each) => { each.open = true; });
});
addEventListener("afterprint", () => {
  folded.forEach((each) => { each.open = false; });
  document.querySelectorAll(".panels > div").forEach((plot) => { plot.style.width = ""; });
  drawAll();
});

drawAll();
document.body.dataset.drawn = "yes";

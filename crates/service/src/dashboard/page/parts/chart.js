// Charts of a series. The picture is stretched to its container, so that nothing has to be measured. Text
// would be distorted by that, so it is outside the picture.

import { h, svg } from "../dom.js";
import { point, tick } from "../format.js";

/** Bars without axes; `label` describes them. */
export function sparkline(values, label) {
  const top = Math.max(...values, 1);
  const bars = values.map((value, index) =>
    bar(index + 0.12, 0.76, (value / top) * 24, 24, "calls"),
  );
  return picture(
    { class: "sparkline", role: "img", "aria-label": label, viewBox: `0 0 ${values.length} 24` },
    [
      svg("title", {}, label),
      bars,
      svg("line", { class: "floor", x1: 0, x2: values.length, y1: 24, y2: 24 }),
    ],
  );
}

/** Draws a bar; a value above zero is always visible. */
function bar(x, width, height, floor, className) {
  const tall = Math.max(height, 1);
  return height > 0 && svg("rect", { class: className, x, width, y: floor - tall, height: tall });
}

function picture(attributes, children) {
  return svg("svg", { preserveAspectRatio: "none", ...attributes }, children);
}

const HEIGHT = 100;

/**
 * A chart with an axis. `lines` are `{label, kind, values, style}` with one value a point: `style` is
 * "bar" or "step", `kind` the class that gives the colour; a null value means that nothing was counted.
 * Values that cannot be added up, such as percentiles, have the value of the `whole` range, or say which one is the
 * latest if that is not known. `scale` formats the numbers of the axis.
 * With `chosen`, a click on a point calls it with the number of the point.
 */
export function chart({ title, lines, at, step, format, scale = format, chosen }) {
  const values = lines.flatMap((line) => line.values).filter((value) => value !== null);
  const top = ceiling(Math.max(...values, 0));
  const isEmpty = !values.some((value) => value > 0);
  const shapes = lines.map((line) =>
    line.style === "step" ? steps(line, top) : bars(line, lines, top),
  );
  const grid = [0, 0.5, 1].map((part) =>
    svg("line", { class: "grid", x1: 0, x2: at.length, y1: HEIGHT * part, y2: HEIGHT * part }),
  );
  const cursor = svg("rect", { class: "cursor", y: 0, height: HEIGHT, width: 0 });
  const plot = h(
    "div",
    { class: "plot" },
    picture({ viewBox: `0 0 ${at.length} ${HEIGHT}`, "aria-hidden": "true" }, [
      cursor,
      grid,
      shapes,
    ]),
  );
  const { legend, show } = readout(lines, at, step, format);

  const pointAt = (event) => {
    const { left, width } = event.currentTarget.getBoundingClientRect();
    const index = Math.floor(((event.clientX - left) / width) * at.length);
    return Math.min(Math.max(index, 0), at.length - 1);
  };
  if (chosen) {
    plot.classList.add("chosen");
    plot.onclick = (event) => chosen(pointAt(event));
  }
  plot.onpointermove = (event) => {
    const within = pointAt(event);
    mark(event.currentTarget, within);
    show(event.currentTarget, within);
  };
  plot.onpointerleave = (event) => {
    event.currentTarget.querySelector(".cursor").setAttribute("width", 0);
    show(event.currentTarget, null);
  };
  return h(
    "figure",
    { class: "chart", "data-key": `chart ${title}` },
    h("figcaption", {}, h("b", {}, title), legend),
    h(
      "div",
      { class: "scale", "aria-hidden": "true" },
      // A chart of nothing has no scale.
      [1, 0.5, 0].map((part) => h("span", {}, isEmpty && part > 0 ? "" : scale(top * part))),
    ),
    plot,
    ticks(at, step),
  );
}

function mark(plot, index) {
  const cursor = plot.querySelector(".cursor");
  cursor.setAttribute("x", index);
  cursor.setAttribute("width", 1);
}

/** The values at the pointer; without a pointer, those of the whole range. */
function readout(lines, at, step, format) {
  const text = (line, index) => {
    if (index !== null) return format(line.values[index]);
    if (line.whole !== undefined) return format(line.whole);
    if (line.latest) return format(line.values.findLast((value) => value !== null) ?? null);
    return format(line.values.reduce((sum, value) => sum + value, 0));
  };
  const label = (line, index) =>
    line.latest && index === null ? `latest ${line.label}` : line.label;
  const items = (index) =>
    [
      ...lines.map((line) =>
        h("span", { class: `key ${line.kind}` }, label(line, index), " ", h("b", {}, text(line, index))),
      ),
      index !== null && h("span", { class: "when" }, point(at[index], step)),
    ].filter(Boolean);
  const legend = h("span", { class: "legend" }, items(null));
  const show = (plot, index) =>
    plot.parentElement.querySelector(".legend").replaceChildren(...items(index));
  return { legend, show };
}

/** The bars of one line, next to those of the other lines. */
function bars({ values, kind }, lines, top) {
  const width = 0.76 / lines.length;
  const offset = 0.12 + width * lines.findIndex((line) => line.kind === kind);
  return values.map((value, index) =>
    bar(index + offset, width, (value / top) * HEIGHT, HEIGHT, kind),
  );
}

/** A horizontal line for each point, joined if the next point has a value too. */
function steps({ values, kind }, top) {
  let joined = false;
  const path = values.map((value, index) => {
    if (value === null) {
      joined = false;
      return "";
    }
    const y = HEIGHT - (value / top) * HEIGHT;
    const start = joined ? `V${y}` : `M${index} ${y}`;
    joined = true;
    return `${start}H${index + 1}`;
  });
  return svg("path", { class: `line ${kind}`, d: path.join("") });
}

/** The next larger number that is easy to halve. */
function ceiling(value) {
  if (value <= 2) return 2;
  const size = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 4, 6, 8, 10].map((factor) => factor * size).find((it) => it >= value);
}

/** The most labels below a chart, by its step: those with a year are longer. */
const MAX_TICKS = { hour: 6, day: 6, month: 3 };
/** Hours of more than a day are told apart by their days. */
const HOURS_WITHOUT_DAY = 25;

/** The labels below a chart, each as wide as the points it covers. */
function ticks(at, step) {
  const times = at.map((time) => tick(time, step));
  const hasDays = step !== "hour" || at.length > HOURS_WITHOUT_DAY;
  const begins = (index) =>
    !hasDays || step !== "hour" || (index > 0 && times[index].day !== times[index - 1].day);
  const possible = [...times.keys()].filter(begins);
  const every = Math.max(Math.ceil(possible.length / MAX_TICKS[step]), 1);
  const chosen = possible.filter((_, number) => number % every === 0);
  const width = (from, end) => `${((end - from) / at.length) * 100}%`;
  const before = h("span", {});
  before.style.width = width(0, chosen[0] ?? at.length);
  const labels = chosen.map((index, number) => {
    const end = chosen[number + 1] ?? at.length;
    // A label of few points at the end would not fit.
    if (number > 0 && end - index < (index - chosen[number - 1]) / 2) return null;
    const label = h("span", {}, hasDays ? times[index].day : times[index].hour);
    label.style.width = width(index, end);
    return label;
  });
  const long = hasDays ? "ticks long" : "ticks";
  return h("div", { class: long, "aria-hidden": "true" }, before, labels);
}

// The frame of a view: heading, problem, breadcrumbs, and whether the view is up to date.

import { Problem } from "./api.js";
import { h, morph } from "./dom.js";
import { problemPanel } from "./parts/problem.js";

const FAULT = {
  title: "Error in this page",
  detail: "The browser's console shows the error.",
};

const byId = (id) => document.getElementById(id);

/** The frame of one view, until another view replaces it. */
export class Screen {
  #title;
  #key;
  #problem = null;
  #render = null;
  #retry = () => {};
  #link = { state: null, error: null };

  constructor({ key, title, crumbs }) {
    this.#key = key;
    this.#title = title;
    this.crumbs(crumbs);
    this.#draw();
  }

  /** Moves the focus to the heading, where a screen reader starts. */
  focus() {
    byId("main").querySelector("h1")?.focus();
  }

  /** Sets the function that the button of the problem panel calls. */
  onRetry(retry) {
    this.#retry = retry;
  }

  /** Shows the breadcrumbs, outermost first: pairs of a text and a URL. */
  crumbs(crumbs) {
    // The separator stays before the text, also before one that is written from right to left.
    const links = crumbs.map(([text, href]) => h("a", { href, title: text }, h("bdi", {}, text)));
    byId("crumbs").replaceChildren(...links);
  }

  /** Shows the result of `render`, which uses the newest data. */
  show(render) {
    this.#render = render;
    this.#problem = null;
    this.#draw();
  }

  /** Renders the view again, because its data has changed or time has passed. */
  renew() {
    if (this.#render) this.#draw();
  }

  /** Shows why there is no newer data, above the existing data. */
  fail(error) {
    this.#problem = known(error);
    this.#draw();
  }

  /** Shows the state of the live connection, and why it failed; null while it works. */
  link(state, error = null) {
    if (state === this.#link.state && error === this.#link.error) return;
    this.#link = { state, error, problem: error && known(error) };
    this.#draw();
  }

  #draw() {
    document.title = this.#title === "Apps" ? "Reprise" : `${this.#title} · Reprise`;
    const problem = this.#problem ?? this.#link.problem;
    live(this.#link.state ?? (problem ? "Not updated" : this.#render && "Live"));
    const waiting = problem ? null : h("p", { class: "waiting" }, "Loading…");
    const body = this.#render ? this.#render() : waiting;
    const panel = problem && problemPanel(problem, this.#retry);
    const heading = h("h1", { tabindex: "-1", dir: "auto", title: this.#title }, this.#title);
    const next = h("div", { class: "view", "data-key": this.#key }, heading, panel, body);
    const main = byId("main");
    const old = main.firstElementChild;
    if (old) morph(old, next);
    else main.replaceChildren(next);
  }
}

/** Returns a problem to show. An error that is not a `Problem` is a bug of this page. */
function known(error) {
  if (error instanceof Problem) return error;
  reportError(error);
  return FAULT;
}

function live(text) {
  const element = byId("live");
  element.hidden = text === null;
  element.textContent = text ?? "";
  element.classList.toggle("stale", text !== "Live");
}

/** Makes a screen reader announce a change, after what it is reading now. */
export function announce(text) {
  const element = byId("announcer");
  if (element.textContent !== text) element.textContent = text;
}

// What stands around a view: its heading, its problem, the crumbs, whether it is up to date.

import { Problem } from "./api.js";
import { h, morph } from "./dom.js";
import { problemPanel } from "./parts/problem.js";

const FAULT = {
  title: "Not shown",
  detail: "This page has a fault; the browser's console says which.",
};

const byId = (id) => document.getElementById(id);

/** The place of one view, until another takes it. */
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

  /** Moves the focus to the heading, where a reader of the screen begins. */
  focus() {
    byId("main").querySelector("h1")?.focus();
  }

  /** What the problem panel calls when there is a new token. */
  onRetry(retry) {
    this.#retry = retry;
  }

  /** Links to what the view is part of, from the outside in: pairs of a text and an address. */
  crumbs(crumbs) {
    const links = crumbs.map(([text, href]) => h("a", { href, title: text, dir: "auto" }, text));
    byId("crumbs").replaceChildren(...links);
  }

  /** Shows what the function makes of the newest data. */
  show(render) {
    this.#render = render;
    this.#problem = null;
    this.#draw();
  }

  /** Shows the same anew: what it is made of has changed, or time has passed. */
  renew() {
    if (this.#render) this.#draw();
  }

  /** Shows why there is no newer data, above what there is. */
  fail(error) {
    this.#problem = known(error);
    this.#draw();
  }

  /** Says that the connection which brings news is not as it should be, and why; null where it is. */
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

/** What is no problem of the service or the way to it is a fault of this page. */
function known(error) {
  if (error instanceof Problem) return error;
  reportError(error);
  return FAULT;
}

function live(text) {
  const place = byId("live");
  place.hidden = text === null;
  place.textContent = text ?? "";
  place.classList.toggle("stale", text !== "Live");
}

/** Has a change read out, once whatever is being read has ended. */
export function announce(text) {
  const place = byId("announcer");
  if (place.textContent !== text) place.textContent = text;
}

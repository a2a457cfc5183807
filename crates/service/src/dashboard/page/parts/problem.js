import { session, token } from "../api.js";
import { h } from "../dom.js";

/** Shows a problem and, if a token may help, asks for one. */
export function problemPanel(problem, retry) {
  return h(
    "section",
    { class: "problem", role: "alert", "data-key": "problem" },
    h("h2", {}, problem.title),
    problem.detail && h("p", {}, problem.detail),
    problem.errors?.length > 0 && h("ul", {}, problem.errors.map(errorItem)),
    problem.requestId && h("p", { class: "dim" }, "Request ", h("code", {}, problem.requestId)),
    problem.wantsToken && session.canBegin() && signInLink(),
    problem.wantsToken && tokenForm(),
    !problem.wantsToken && h("button", { type: "button", onclick: retry }, "Try again"),
  );
}

function errorItem({ parameter, pointer, detail }) {
  return h("li", {}, h("code", { dir: "auto" }, parameter ?? pointer ?? "/"), " ", detail);
}

/** The text of a problem, for the place where the user has asked for something that was not done. */
export function problemText({ status, title, detail, errors = [] }) {
  if (status === 0) return "Not done: the service did not answer. Try again.";
  const each = errors.map((it) => `${it.parameter ?? it.pointer ?? "/"} ${it.detail}`);
  const reason = each.length > 0 ? each.join("; ") : detail;
  return reason ? `${title}: ${reason}` : title;
}

function signInLink() {
  return h("p", {}, h("a", { href: session.address(), id: "sign-in" }, "Sign in"));
}

function tokenForm() {
  return h(
    "form",
    { class: "row", onsubmit: takeToken },
    h("label", { for: "token" }, "Bearer token"),
    h("input", {
      id: "token",
      name: "token",
      type: "password",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
      "aria-describedby": "token-note",
    }),
    h("button", { type: "submit" }, "Use token"),
    h(
      "p",
      { id: "token-note", class: "dim" },
      "The token is kept in this tab until you close it, and sent only to this service.",
    ),
  );
}

function takeToken(event) {
  event.preventDefault();
  const given = new FormData(event.target).get("token").trim();
  token.set(given.replace(/^bearer\s+/i, ""));
  dispatchEvent(new Event("token-given"));
}

// Shows the view that the address names, and another when the address changes.

import { token } from "./api.js";
import { h } from "./dom.js";
import { read } from "./routes.js";
import { Screen } from "./screen.js";
import { app } from "./views/app.js";
import { apps } from "./views/apps.js";
import { chat } from "./views/chat.js";
import { workflow } from "./views/workflow.js";

const VIEWS = { apps, app, workflow, chat };

let shown = { path: null, stop: new AbortController() };

function navigate() {
  shown.stop.abort();
  const before = shown.path;
  const route = read(location.hash);
  const stop = new AbortController();
  shown = { path: route?.path ?? "", stop };

  const view = route ? VIEWS[route.view] : nowhere;
  const screen = new Screen({ key: shown.path, ...view.frame(route) });
  // Not at the start, where the reader has not gone anywhere, nor for another range of one view.
  if (before !== null && before !== shown.path) {
    scrollTo(0, 0);
    screen.focus();
  }
  view.open(screen, route, stop.signal);
  showToken();
}

const nowhere = {
  frame: () => ({ title: "Nothing here", crumbs: [] }),
  open: (screen) =>
    screen.show(() => [
      h("p", {}, "This address names no view. ", h("a", { href: "#/" }, "All apps")),
    ]),
};

function showToken() {
  document.getElementById("forget-token").hidden = !token.get();
}

document.getElementById("forget-token").onclick = () => {
  token.forget();
  navigate();
};
document.getElementById("skip").onclick = (event) => {
  // An address of a view is not changed for it.
  event.preventDefault();
  document.querySelector("main h1").focus();
};
addEventListener("hashchange", navigate);
addEventListener("token-given", () => {
  navigate();
  // The field that had the focus is gone.
  document.querySelector("main h1").focus();
});
navigate();

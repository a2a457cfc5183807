// Shows the view that the URL names, and changes it when the URL changes.

import { session, token } from "./api.js";
import { h } from "./dom.js";
import { listenForSlash } from "./parts/search_box.js";
import { read, toChats } from "./routes.js";
import { Screen } from "./screen.js";
import { app } from "./views/app.js";
import { apps } from "./views/apps.js";
import { chat } from "./views/chat.js";
import { chats } from "./views/chats.js";
import { inbox } from "./views/inbox.js";
import { numbers } from "./views/numbers.js";
import { workflow } from "./views/workflow.js";
import { zone } from "./zone.js";

const VIEWS = { apps, app, chats, inbox, numbers, workflow, chat };

let shown = { path: null, stop: new AbortController() };

function navigate() {
  shown.stop.abort();
  const before = shown.path;
  const route = read(location.hash);
  const stop = new AbortController();
  shown = { path: route?.path ?? "", stop };

  const view = route ? VIEWS[route.view] : nowhere;
  const screen = new Screen({ key: shown.path, ...view.frame(route) });
  // Neither for the first view, nor for another range of the same view.
  if (before !== null && before !== shown.path) {
    scrollTo(0, 0);
    screen.focus();
  }
  shown.moved = view.open(screen, route, stop.signal);
  showToken();
  showZone();
}

function showZone() {
  const button = document.getElementById("zone");
  button.textContent = zone.isUtc() ? "UTC" : "Local time";
  button.title = `Times are shown in ${zone.name()}`;
}

const nowhere = {
  frame: () => ({ title: "Not found", crumbs: [] }),
  open: (screen) =>
    screen.show(() => [h("p", {}, "This URL names no view. ", h("a", { href: "#/" }, "All apps"))]),
};

function showToken() {
  const person = token.get() ? null : session.get();
  document.getElementById("forget-token").hidden = !token.get();
  document.getElementById("sign-out").hidden = !person;
  document.getElementById("person").textContent = person ? person.user_id : "";
}

document.getElementById("zone").onclick = () => {
  zone.change();
  // Parts that keep their elements would keep the old times.
  document.getElementById("main").replaceChildren();
  navigate();
};
document.getElementById("forget-token").onclick = () => {
  token.forget();
  navigate();
};
document.getElementById("sign-out").onclick = async () => {
  try {
    await session.end();
  } finally {
    navigate();
  }
};
document.getElementById("skip").onclick = (event) => {
  // The link must not change the URL, which names the view.
  event.preventDefault();
  document.querySelector("main h1").focus();
};
listenForSlash(() => {
  const { appId } = read(location.hash) ?? {};
  if (!appId) return;
  // The event `hashchange` comes later: the search must be there for the key.
  history.pushState(null, "", toChats(appId));
  navigate();
});
addEventListener("hashchange", () => {
  const route = read(location.hash);
  // A view may have parts of its own; going from one to another keeps its data and its live connection.
  if (shown.moved && route?.path === shown.path) shown.moved(route);
  else navigate();
});
addEventListener("token-given", () => {
  navigate();
  // The input that had the focus no longer exists.
  document.querySelector("main h1").focus();
});
await session.load();
navigate();

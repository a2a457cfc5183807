// Shows the view that the URL names, and changes it when the URL changes.

import { Problem, getText, session, token } from "./api.js";
import { h } from "./dom.js";
import { listenForSlash } from "./parts/search_box.js";
import { poll } from "./poll.js";
import { read, toChats } from "./routes.js";
import { Screen } from "./screen.js";
import { zone } from "./zone.js";

/** The first pause before a view that could not be loaded is asked for again, in milliseconds. */
const RELOAD_PAUSE = 2_000;

/** By name: each view is loaded when it is first shown, so that none waits for the modules of the others. */
const VIEWS = {
  apps: async () => (await import("./views/apps.js")).apps,
  app: async () => (await import("./views/app.js")).app,
  chats: async () => (await import("./views/chats.js")).chats,
  inbox: async () => (await import("./views/inbox.js")).inbox,
  numbers: async () => (await import("./views/numbers.js")).numbers,
  workflow: async () => (await import("./views/workflow.js")).workflow,
  chat: async () => (await import("./views/chat.js")).chat,
};

let shown = { path: null, stop: new AbortController() };

async function navigate() {
  shown.stop.abort();
  const before = shown.path;
  const route = read(location.hash);
  const stop = new AbortController();
  shown = { path: route?.path ?? "", stop };

  const view = route ? await VIEWS[route.view]().catch(() => unreachable) : nowhere;
  if (stop.signal.aborted) return;
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
  const name = h("span", { class: "zone-name" }, ` · ${zone.name()}`);
  button.replaceChildren(zone.isUtc() ? "UTC" : "Local time", zone.isUtc() ? "" : name);
  button.title = `Times are shown in ${zone.name()}`;
}

const nowhere = {
  frame: () => ({ title: "Not found", crumbs: [] }),
  open: (screen) =>
    screen.show(() => [h("p", {}, "This URL names no view. ", h("a", { href: "#/" }, "All apps"))]),
};

/** Stands in for a view whose modules could not be loaded. */
const unreachable = {
  frame: () => ({ title: "Not loaded", crumbs: [] }),
  open(screen, { view }, signal) {
    const detail = "The service did not answer. The page keeps trying.";
    // Some browsers remember that a module could not be loaded, until the page is loaded again.
    const again = () => location.reload();
    screen.onRetry(again);
    screen.fail(new Problem({ title: "Service unreachable", detail }));
    const load = () => getText(`dashboard/views/${view}.js`, signal).then(again);
    // Not at once: it might fail again at once.
    setTimeout(() => poll(load, { every: RELOAD_PAUSE, signal, failed: () => {} }), RELOAD_PAUSE);
  },
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
listenForSlash(async () => {
  const { appId } = read(location.hash) ?? {};
  if (!appId) return;
  // The event `hashchange` comes later: the search must be there for the key.
  history.pushState(null, "", toChats(appId));
  await navigate();
});
addEventListener("hashchange", () => {
  const route = read(location.hash);
  // A view may have parts of its own; going from one to another keeps its data and its live connection.
  if (shown.moved && route?.path === shown.path) shown.moved(route);
  else navigate();
});
addEventListener("token-given", async () => {
  await navigate();
  // The input that had the focus no longer exists.
  document.querySelector("main h1").focus();
});
// The first view and the session are loaded side by side; the view reports if it could not be.
await Promise.allSettled([VIEWS[read(location.hash)?.view]?.(), session.load()]);
await navigate();

import { namedApps, pages } from "../api.js";
import { h } from "../dom.js";
import { count } from "../format.js";
import { poll } from "../poll.js";
import { firstChat } from "../parts/command.js";
import { find, foundSections } from "../parts/found.js";
import { searchBox } from "../parts/search_box.js";
import { summaryColumns } from "../parts/summary.js";
import { more, nameLink, section, table } from "../parts/table.js";
import { toApp, toApps } from "../routes.js";
import { announce } from "../screen.js";

/** The most apps that one search looks at. */
const MAX_SEARCHED = 20;

/** All apps, for users who may list them, and a search across them; others enter the id of an app. */
export const apps = {
  frame: ({ given }) =>
    given.q ? { title: "Search", crumbs: [["Apps", toApps()]] } : { title: "Apps", crumbs: [] },

  open(screen, { given }, signal) {
    if (given.q) openSearch(screen, given.q, signal);
    else openList(screen, signal);
  },
};

function openList(screen, signal) {
  let wanted = 1;
  const refresh = poll(load, { every: 5_000, signal, failed: fail });
  screen.onRetry(refresh);

  async function load() {
    const { items, hasMore } = await pages("api/stats", "apps", wanted, signal);
    const further =
      hasMore &&
      more("apps", () => {
        wanted += 1;
        refresh();
      });
    const shown = () => (items.length ? [search(), list(items)] : empty());
    screen.show(() => [shown(), further, chooser()]);
  }

  function fail(problem) {
    // This is expected: most tokens are for one app.
    if (problem.code === "forbidden-role") screen.show(() => [restricted(), chooser()]);
    else screen.fail(problem);
  }
}

function search(q) {
  const label = "Search all apps: titles, ids, users and messages";
  return searchBox({ label, value: q }, (text) => {
    location.hash = toApps({ q: text });
  });
}

function openSearch(screen, text, signal) {
  const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });
  screen.onRetry(refresh);
  screen.show(() => [search(text), h("p", { class: "waiting" }, "Searching…")]);

  async function load() {
    const { ids, isAll } = await searchedApps(signal);
    const results = await Promise.all(ids.map((id) => find(id, text, signal)));
    const sections = () => ids.flatMap((id, index) => sectionsOf(id, text, results[index]));
    const found = sections().length;
    const where = `${isAll ? "" : "the first "}${count(ids.length)} ${ids.length === 1 ? "app" : "apps"}`;
    screen.show(() => [
      search(text),
      found === 0 && h("p", {}, "Nothing was found for ", h("b", {}, text), "."),
      sections(),
      h("p", { class: "dim" }, `Searched: ${where}. `, h("a", { href: toApps() }, "All apps")),
    ]);
    announce(found ? `Found in ${where}` : "Nothing was found");
  }
}

/** Returns the apps to search: those that the token or the session names, or else those of the statistics. */
async function searchedApps(signal) {
  const own = namedApps();
  if (own) return { ids: own.slice(0, MAX_SEARCHED), isAll: own.length <= MAX_SEARCHED };
  const { items, hasMore } = await pages("api/stats", "apps", 1, signal);
  const ids = items.map((it) => it.app_id).slice(0, MAX_SEARCHED);
  return { ids, isAll: !hasMore && items.length <= MAX_SEARCHED };
}

function sectionsOf(appId, text, result) {
  return foundSections(appId, text, result).map(([title, ...content]) =>
    section(`${appId} · ${title}`, content),
  );
}

function list(items) {
  const name = {
    title: "App",
    kind: "text",
    cell: (row) => nameLink(row.app_id, toApp(row.app_id)),
  };
  const columns = [name, ...summaryColumns];
  return h(
    "section",
    { class: "panel", "data-key": "list" },
    table({ caption: "Apps", columns, rows: items, key: (row) => row.app_id }),
  );
}

function empty() {
  return section(
    "No chats are stored yet",
    h("p", {}, "Start a chat and append a message; the app appears here."),
    firstChat(),
  );
}

/** For users without statistics: the apps that they may use, if their token names them, and a search across them. */
function restricted() {
  const own = namedApps();
  if (!own) {
    return h(
      "p",
      { "data-key": "restricted" },
      "This token may not list the apps. Open an app by its id to see its chats.",
    );
  }
  const rows = own.map((appId) => ({ appId }));
  const columns = [
    { title: "App", kind: "text", cell: (row) => nameLink(row.appId, toApp(row.appId)) },
  ];
  return [
    search(),
    section("Your apps", table({ caption: "Your apps", columns, rows, key: (row) => row.appId })),
  ];
}

function chooser() {
  const go = (event) => {
    event.preventDefault();
    location.hash = toApp(new FormData(event.target).get("app").trim());
  };
  return h(
    "form",
    { class: "row", onsubmit: go, "data-key": "chooser" },
    h("label", { for: "app" }, "App id"),
    h("input", {
      id: "app",
      name: "app",
      required: true,
      maxlength: "64",
      spellcheck: "false",
      autocomplete: "off",
      autocapitalize: "off",
      placeholder: "acme_corp",
    }),
    h("button", { type: "submit" }, "Open"),
  );
}

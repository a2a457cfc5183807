import { pages } from "../api.js";
import { h } from "../dom.js";
import { poll } from "../poll.js";
import { firstChat } from "../parts/command.js";
import { summaryColumns } from "../parts/summary.js";
import { more, nameLink, section, table } from "../parts/table.js";
import { toApp } from "../routes.js";

/** All apps, for users who may list them; others enter the id of an app. */
export const apps = {
  frame: () => ({ title: "Apps", crumbs: [] }),

  open(screen, _route, signal) {
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
      screen.show(() => [items.length ? list(items) : empty(), further, chooser()]);
    }

    function fail(problem) {
      // This is expected: most tokens are for one app.
      if (problem.code === "forbidden-role") screen.show(() => [restricted(), chooser()]);
      else screen.fail(problem);
    }
  },
};

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

function restricted() {
  return h(
    "p",
    { "data-key": "restricted" },
    "This token may not list the apps. Open an app by its id to see its chats.",
  );
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

import { get, pages, path } from "../api.js";
import { h } from "../dom.js";
import { many } from "../format.js";
import { filtersOf, ordersOf, parametersOf } from "../lists.js";
import { chatList } from "../parts/chat_list.js";
import { filterBar } from "../parts/filter_bar.js";
import { find, foundSections } from "../parts/found.js";
import { appNav } from "../parts/nav.js";
import { searchBox } from "../parts/search_box.js";
import { more, section } from "../parts/table.js";
import { poll } from "../poll.js";
import { toApp, toApps, toChats } from "../routes.js";
import { announce } from "../screen.js";

const PAGE = 50;
/** How old the number of the chats of a list may be, in milliseconds. */
const COUNT_EVERY = 30_000;

/** The chats of an app: a search, or a list with filters. Both are in the URL. */
export const chats = {
  frame: ({ appId }) => ({
    title: "Chats",
    crumbs: [
      ["Apps", toApps()],
      [appId, toApp(appId)],
    ],
  }),

  open(screen, { appId, given }, signal) {
    const frame = (...content) => [appNav(appId, "chats"), search(appId, given), content];
    if (given.q) openSearch(screen, { appId, given, frame }, signal);
    else openList(screen, { appId, given, frame }, signal);
  },
};

function search(appId, given) {
  const label = "Search titles, ids, users and messages";
  return searchBox({ label, value: given.q }, (q) => {
    location.hash = toChats(appId, q ? { q } : {});
  });
}

function openSearch(screen, { appId, given, frame: bare }, signal) {
  const { q: text, user_id: user = null } = given;
  const frame = (...content) => bare(narrowing(appId, given), content);
  const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });
  screen.onRetry(refresh);
  screen.show(() => frame(h("p", { class: "waiting" }, "Searching…")));

  async function load() {
    const found = await find(appId, text, signal, user);
    const sections = foundSections(appId, text, found);
    const none = h("p", {}, "Nothing was found for ", h("b", {}, text), ".");
    const back = h("p", {}, h("a", { href: toChats(appId) }, "All chats"));
    screen.show(() =>
      frame(
        sections.length === 0 && none,
        sections.map(([title, ...content]) => section(title, content)),
        back,
      ),
    );
    announce(
      sections.length
        ? `Found: ${sections.map(([title]) => title).join(", ")}`
        : "Nothing was found",
    );
  }
}

/** Says which filters of the URL the search has, and which it has not; null without any. */
function narrowing(appId, { q, user_id: user, ...others }) {
  const names = Object.keys(others).map((it) => (it === "since" ? "time" : it.replaceAll("_", " ")));
  if (!user && names.length === 0) return null;
  return h(
    "p",
    {},
    user && ["Only the chats of user ", h("b", { dir: "auto" }, user), " are searched. "],
    names.length > 0 && `A search has no filter by ${names.join(", ")}. `,
    h("a", { href: toChats(appId, { q }) }, "Search all chats"),
  );
}

function openList(screen, { appId, given, frame }, signal) {
  const filters = filtersOf(given);
  const orders = ordersOf(filters);
  const order = orders.includes(given.order_by) ? given.order_by : orders[0];
  let workflows = null;
  let wanted = 1;
  let total = null;
  let countedAt = 0;
  const bar = () =>
    filterBar(given, { orders, order, workflows: workflows ?? [] }, (next) => {
      location.hash = toChats(appId, next);
    });
  if (orders.length === 0) {
    const reset = h("a", { href: toChats(appId) }, "Clear the filters");
    screen.show(() =>
      frame(
        bar(),
        h("p", { role: "status" }, "The service has no list with all of these filters. ", reset),
      ),
    );
    return;
  }
  screen.show(() => frame(bar(), h("p", { class: "waiting" }, "Loading…")));
  const refresh = poll(load, { every: 5_000, signal, failed: (problem) => screen.fail(problem) });
  screen.onRetry(refresh);

  async function load() {
    workflows ??= await workflowNames(appId, signal);
    const parameters = { ...parametersOf(filtersOf(given), order), limit: PAGE };
    // Counting costs the service more than a page.
    const counts = Date.now() - countedAt > COUNT_EVERY;
    const list = await pages(path`api/chats/${appId}`, "data", wanted, signal, {
      ...parameters,
      total: counts || null,
    });
    if (counts) [total, countedAt] = [numberOf(list.first), Date.now()];
    const further =
      list.hasMore &&
      more("chats", () => {
        wanted += 1;
        refresh();
      });
    const empty = Object.keys(given).some((it) => it !== "order_by")
      ? "No chat matches."
      : "The app has no active chats.";
    screen.show(() => frame(bar(), shown(appId, list.items, { total, further, empty })));
    announce(total);
  }
}

const numberOf = ({ total, total_is_at_least: least }) =>
  total === undefined ? `More than ${many(least, "chat")}` : many(total, "chat");

function shown(appId, items, { total, further, empty }) {
  const list = items.length
    ? chatList(appId, items)
    : h("p", { class: "dim" }, further ? "No chat of this page matches." : empty);
  return section(total, list, further);
}

/** The names of workflows to choose from; none for those who may not read statistics. */
async function workflowNames(appId, signal) {
  try {
    const stats = await get(path`api/stats/${appId}`, signal);
    return stats.workflows.map((it) => it.workflow_name);
  } catch (problem) {
    if (signal.aborted) throw problem;
    return [];
  }
}

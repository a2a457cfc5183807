import { h } from "../dom.js";
import { toApp, toChats, toInbox, toNumbers } from "../routes.js";

const VIEWS = [
  ["app", "Overview", toApp],
  ["chats", "Chats", toChats],
  ["inbox", "Inbox", toInbox],
  ["numbers", "Numbers", toNumbers],
];

/** The links to the views of an app. */
export function appNav(appId, current) {
  const link = ([view, text, to]) =>
    h("a", { href: to(appId), "aria-current": view === current && "page" }, text);
  return h(
    "nav",
    { class: "tabs", "aria-label": "App", "data-key": "tabs" },
    VIEWS.map(link),
  );
}

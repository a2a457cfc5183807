// A view is named by the fragment of the URL, so that views can be linked and Back works.

/** The parameters of each view; others in a URL are ignored. The view of a chat reads its own. */
const PARAMETERS = {
  apps: ["q"],
  workflow: ["step"],
  chats: [
    "q",
    "status",
    "user_id",
    "workflow_name",
    "since",
    "from",
    "before",
    "needs_input",
    "last_turn_outcome",
    "lifecycle",
    "order_by",
  ],
  inbox: ["order"],
  numbers: ["since", "from", "before"],
};

export const toApps = (given = {}) => address("#/", given);
export const toApp = (appId) => `#/apps/${encodeURIComponent(appId)}`;
export const toChats = (appId, given = {}) => address(`${toApp(appId)}/chats`, given);
export const toInbox = (appId, given = {}) => address(`${toApp(appId)}/inbox`, given);
export const toNumbers = (appId, given = {}) => address(`${toApp(appId)}/numbers`, given);
export const toWorkflow = (appId, workflow, step) =>
  `${toApp(appId)}/workflows/${encodeURIComponent(workflow)}${step === "day" ? "?step=day" : ""}`;
/** `parameters` say what of the chat is shown; see views/chat.js. */
export const toChat = (appId, chatId, parameters = {}) =>
  address(`${toApp(appId)}/chats/${encodeURIComponent(chatId)}`, parameters);

function address(base, given) {
  const stated = Object.entries(given).filter(([, value]) => value || value === 0);
  return stated.length ? `${base}?${new URLSearchParams(stated)}` : base;
}

/** Parses a fragment into the name and the parameters of a view; null if there is no such view. */
export function read(hash) {
  const [path, ...rest] = hash.replace(/^#/, "").split("?");
  const search = new URLSearchParams(rest.join("?"));
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
  const found = view(parts);
  if (!found) return null;
  if (found.view === "chat") return { ...found, path, parameters: Object.fromEntries(search) };
  const names = PARAMETERS[found.view] ?? [];
  const given = names.filter((name) => search.get(name)).map((name) => [name, search.get(name)]);
  return { ...found, path, given: Object.fromEntries(given) };
}

function view([apps, appId, kind, name, ...more]) {
  if (apps === undefined) return { view: "apps" };
  if (apps !== "apps" || appId === undefined || more.length > 0) return null;
  if (kind === undefined) return { view: "app", appId };
  if (name === undefined) {
    return ["chats", "inbox", "numbers"].includes(kind) ? { view: kind, appId } : null;
  }
  if (kind === "workflows") return { view: "workflow", appId, workflow: name };
  if (kind === "chats") return { view: "chat", appId, chatId: name };
  return null;
}

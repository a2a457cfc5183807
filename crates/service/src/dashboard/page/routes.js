// A view is named by the fragment of the URL, so that views can be linked and Back works.

export const toApps = () => "#/";
export const toApp = (appId) => `#/apps/${encodeURIComponent(appId)}`;
export const toWorkflow = (appId, workflow, step) =>
  `${toApp(appId)}/workflows/${encodeURIComponent(workflow)}${step === "day" ? "?step=day" : ""}`;
export const toChat = (appId, chatId) => `${toApp(appId)}/chats/${encodeURIComponent(chatId)}`;

/** Parses a fragment into the name and the parameters of a view; null if there is no such view. */
export function read(hash) {
  const [path, search = ""] = hash.replace(/^#/, "").split("?");
  let parts;
  try {
    parts = path.split("/").filter(Boolean).map(decodeURIComponent);
  } catch {
    return null;
  }
  const step = new URLSearchParams(search).get("step") === "day" ? "day" : "hour";
  const [apps, appId, kind, name] = parts;
  if (parts.length === 0) return { view: "apps", path };
  if (apps !== "apps") return null;
  if (parts.length === 2) return { view: "app", path, appId };
  if (parts.length !== 4) return null;
  if (kind === "workflows") return { view: "workflow", path, appId, workflow: name, step };
  if (kind === "chats") return { view: "chat", path, appId, chatId: name };
  return null;
}

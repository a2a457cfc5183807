import { h } from "../dom.js";

/** Shows a command that creates the first chat, to copy. */
export function firstChat(appId, workflow) {
  const chats = new URL(`api/chats/${plain(appId, "acme_corp")}`, document.baseURI);
  const lines = [
    `curl -s ${chats} \\`,
    "  -H 'content-type: application/json' \\",
    `  -d '{"chat_id": "picnic-1", "workflow_name": "${plain(workflow, "Picnic")}"}'`,
    "",
    `curl -s ${chats}/picnic-1/messages \\`,
    "  -H 'content-type: application/json' \\",
    '  -d \'{"role": "user", "name": "alice", "content": "Plan a picnic"}\'',
  ];
  return command(lines.join("\n"));
}

// Any page can set the URL: text with a meaning to a shell must not get into a command.
function plain(text, otherwise) {
  return /^[A-Za-z0-9_-]{1,64}$/.test(text ?? "") ? text : otherwise;
}

function command(text) {
  const copy = async (event) => {
    await navigator.clipboard.writeText(text);
    event.target.textContent = "Copied";
  };
  return h(
    "div",
    { class: "command" },
    h("pre", { tabindex: "0", role: "region", "aria-label": "Command" }, text),
    // Browsers offer no clipboard to pages from other machines over plain HTTP.
    navigator.clipboard && h("button", { type: "button", onclick: copy }, "Copy"),
  );
}

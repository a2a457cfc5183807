// What a person may do with a chat. It is offered to those who have the permission, as the chat session says.

import { change, getText, parseExact, path, query } from "../api.js";
import { h } from "../dom.js";
import { many } from "../format.js";
import { announce } from "../screen.js";
import { ACTIONS } from "./actions/table.js";
import { download } from "./download.js";
import { formatJson } from "./json.js";
import { problemText } from "./problem.js";

/** Every format in which a history can be had, as docs/api/messages.md lists them. */
const DIALECTS = [
  "openai",
  "openai-compatible",
  "openai-responses",
  "anthropic",
  "claude-agent-sdk",
  "bedrock-converse",
  "gemini",
  "gemini-vertex",
  "langchain",
  "pydantic-ai",
  "google-adk",
  "ui-message",
  "ag-ui",
  "acp",
  "yao",
  "otel-genai",
  "ag2",
  "ag2-classic",
  "ag2-classic-manager",
  "ag2-v1",
];

/**
 * The actions of a chat. `changed` is called when the result of `element` has changed, and `done` when the chat has.
 */
export function actions({ appId, chatId }, { signal, changed, done }) {
  const base = path`api/chats/${appId}/${chatId}`;
  let open = null;
  let isBusy = false;
  let problem = null;
  let note = null;

  function show(name) {
    const opener = open;
    [open, problem, note] = [name, null, null];
    changed();
    const target = name ? `.action-form :is(input, select, button)` : `[data-action="${opener}"]`;
    document.querySelector(target)?.focus();
  }

  async function run(name, chat, given) {
    if (isBusy) return;
    [isBusy, problem, note] = [true, null, null];
    changed();
    const { request, text } = ACTIONS[name];
    const [method, verb, body] = request(given, chat);
    const stated =
      body && Object.fromEntries(Object.entries(body).map(([key, value]) => [key, value || null]));
    try {
      await change(method, verb ? `${base}/${verb}` : base, stated, signal);
      [open, note] = [null, `${text}: done.`];
      announce(note);
      done();
    } catch (error) {
      if (signal.aborted) return;
      problem = error;
      // The permission was withdrawn a moment ago.
      if (error.code === "forbidden-permission") done();
    }
    isBusy = false;
    changed();
    if (!open && document.activeElement === document.body) {
      document.querySelector(".actions button")?.focus();
    }
  }

  async function render(dialect, use) {
    if (isBusy) return;
    [isBusy, problem, note] = [true, null, null];
    changed();
    try {
      const answer = parseExact(await getText(query(`${base}/history`, { dialect }), signal));
      const { messages, system, dropped } = answer;
      await use(`${formatJson(system === undefined ? messages : { system, messages })}\n`, dialect);
      const left = dropped?.length
        ? ` ${many(dropped.length, "message")} without a place in this format.`
        : "";
      note = `${many(messages.length, "message")} as ${dialect}.${left}`;
      announce(note);
    } catch (error) {
      if (signal.aborted) return;
      problem = error;
    }
    isBusy = false;
    changed();
  }

  const save = (text, dialect) => download(text, `${chatId}.${dialect}.json`, "application/json");

  /** The buttons for a chat session. */
  function element(chat) {
    const offered = Object.entries(ACTIONS).filter(
      ([, { isOffered, needs }]) => isOffered(chat) && chat.permissions.includes(needs),
    );
    if (open && open !== "copy" && !offered.some(([name]) => name === open)) {
      // Another client was faster. The form is removed with what was entered.
      note = `${ACTIONS[open].text}: no longer possible, the chat is ${chat.status}.`;
      open = null;
      announce(note);
    }
    const button = (name, text, onclick) =>
      h(
        "button",
        {
          type: "button",
          "data-action": name,
          "data-key": name,
          "aria-expanded": open === name && "true",
          onclick,
        },
        text,
      );
    const buttons = offered.map(([name, { text, form }]) =>
      button(name, text, () => (form ? show(open === name ? null : name) : run(name, chat, {}))),
    );
    buttons.push(button("copy", "Copy or download", () => show(open === "copy" ? null : "copy")));
    const form = open === "copy" ? copyForm() : open && actionForm(open, ACTIONS[open], chat);
    return h(
      "div",
      { class: "actions", "data-key": "actions" },
      h("div", { class: "row", role: "group", "aria-label": "Actions" }, buttons),
      form,
      isBusy && h("p", { class: "dim" }, "Sending…"),
      note && h("p", { class: "dim" }, note),
      problem && h("p", { class: "refusal", role: "alert" }, problemText(problem)),
    );
  }

  const frame = (name, onsubmit, ...content) =>
    h(
      "form",
      {
        class: "row action-form",
        "data-key": `form ${name}`,
        onsubmit: (event) => {
          event.preventDefault();
          onsubmit(Object.fromEntries(new FormData(event.target)), event);
        },
        // A handler that returns false would prevent what the key does.
        onkeydown: (event) => {
          if (event.key === "Escape") show(null);
        },
      },
      content,
      h("button", { type: "button", onclick: () => show(null) }, "Cancel"),
    );

  function actionForm(name, { text, form: { warning, field, label, value, submit = text } }, chat) {
    return frame(
      name,
      (given) => run(name, chat, given),
      warning && h("p", {}, warning),
      field && h("label", { for: "action-field" }, label),
      field &&
        h("input", {
          id: "action-field",
          name: field,
          value: value?.(chat) ?? "",
          maxlength: "512",
          autocomplete: "off",
          dir: "auto",
        }),
      h("button", { type: "submit", class: "strong" }, submit),
    );
  }

  function copyForm() {
    return frame(
      "copy",
      ({ dialect }, { submitter }) =>
        render(
          dialect,
          submitter?.value === "copy" ? (text) => navigator.clipboard.writeText(text) : save,
        ),
      h("label", { for: "action-field" }, "Messages as"),
      h(
        "select",
        { id: "action-field", name: "dialect" },
        DIALECTS.map((it) => h("option", {}, it)),
      ),
      // Browsers offer no clipboard to pages from other machines over plain HTTP.
      navigator.clipboard && h("button", { type: "submit", value: "copy" }, "Copy"),
      h("button", { type: "submit", value: "download" }, "Download"),
    );
  }

  return { element };
}

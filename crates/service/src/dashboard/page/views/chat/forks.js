// The fork tree of a chat, a new fork, and two chats of the tree side by side.

import { path, post } from "../../api.js";
import { h, once } from "../../dom.js";
import { count, many } from "../../format.js";
import { poll } from "../../poll.js";
import { message } from "../../parts/message.js";
import { problemText } from "../../parts/problem.js";
import { toolLinks } from "../../parts/tool_calls.js";
import { status, time } from "../../parts/summary.js";
import { name, nameLink } from "../../parts/table.js";
import { range } from "../../messages.js";
import { toChat } from "../../routes.js";
import { MAX_CHATS, commonBeginning, forkTree } from "./fork_data.js";

/** The messages of each side that are shown at once. */
const SHOWN = 50;

/** The panel of forks; `changed` is called when `element` has changed. */
export function forks({ appId, chatId }, screen, { signal, changed }) {
  let given = null;
  let tree = null;
  let comparison = null;
  let refusal = null;
  let created = null;
  let isSending = false;
  let wanted = SHOWN;
  const refresh = poll(load, { every: null, signal, failed: (problem) => screen.fail(problem) });

  async function load() {
    if (given === null) return;
    tree = await forkTree({ appId, chatId }, signal);
    // Another panel may have been opened meanwhile.
    if (given === null) return;
    const other = given.compare;
    if (other && (comparison?.other !== other || comparison.wanted !== wanted)) {
      comparison = await compared(other);
    }
    if (!other) comparison = null;
    changed();
  }

  async function compared(other) {
    try {
      const { here, there, same } = await commonBeginning({ appId, chatId }, other, signal);
      const read = (id) => range({ appId, chatId: id }, same, same + wanted, signal);
      const [left, right] = await Promise.all([read(chatId), read(other)]);
      const element = h(
        "div",
        { class: "sides", "data-key": `sides ${other} ${wanted} ${same}`, "data-kept": true },
        side(here, same, left),
        side(there, same, right),
      );
      return { other, wanted, same, here, there, element };
    } catch (problem) {
      if (signal.aborted || problem.status !== 404) throw problem;
      return { other, wanted, problem };
    }
  }

  function side(chat, same, messages) {
    const title = chat.title ?? chat.chat_id;
    const links = toolLinks();
    messages.forEach(links.add);
    const rest = chat.last_sequence - same - messages.length;
    return h(
      "section",
      { class: "side", "aria-label": `Messages of ${title}` },
      h("h3", {}, nameLink(title, toChat(appId, chat.chat_id)), status(chat.status)),
      messages.map((it) => message(it, { result: links.result, caller: links.caller })),
      messages.length === 0 && h("p", { class: "dim" }, "No messages after this point."),
      rest > 0 && h("p", { class: "dim" }, many(rest, "more message")),
    );
  }

  async function fork(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    const body = { sequence: Number(form.get("sequence")) };
    for (const field of ["title", "chat_id"]) {
      const text = form.get(field).trim();
      if (text) body[field] = text;
    }
    isSending = true;
    refusal = null;
    changed();
    try {
      created = await post(path`api/chats/${appId}/${chatId}/fork`, body, signal);
      refresh();
    } catch (problem) {
      if (signal.aborted) return;
      refusal = problem;
    }
    isSending = false;
    changed();
  }

  function element(session) {
    if (!tree) return h("p", { class: "waiting", "data-key": "forks" }, "Loading…");
    const form = session.permissions.includes("create") && forkForm(session);
    return h(
      "div",
      { class: "forks", "data-key": "forks" },
      // What the address asks for comes first.
      given.at !== undefined && form,
      h(
        "section",
        { class: "panel", "data-key": "tree" },
        h("h2", {}, "Fork tree"),
        tree.lost &&
          h(
            "p",
            { class: "dim" },
            "Forked from ",
            h("bdi", {}, tree.lost.chat_id),
            ", which you cannot read.",
          ),
        h("ul", { class: "fork-tree" }, branch(tree.root)),
        tree.chats.size === 1 &&
          !tree.lost &&
          h("p", { class: "dim" }, "This chat is no fork, and no fork of it was found."),
        tree.isPartial &&
          h(
            "p",
            { class: "dim" },
            `There are more forks than these: at most ${count(MAX_CHATS)} chats are looked for.`,
          ),
        compareForm(),
      ),
      given.compare && comparisonPanel(),
      given.at === undefined && form,
    );
  }

  function branch(chat) {
    const children = [...tree.chats.values()].filter(
      ({ forked_from: from }) => from?.chat_id === chat.chat_id,
    );
    const isHere = chat.chat_id === chatId;
    return h(
      "li",
      { "data-key": chat.chat_id },
      h(
        "div",
        { class: "fork" },
        isHere
          ? h("b", { class: "name", dir: "auto" }, chat.title ?? chat.chat_id)
          : nameLink(chat.title ?? chat.chat_id, toChat(appId, chat.chat_id)),
        isHere && h("span", { class: "role" }, "this chat"),
        status(chat.status),
        h(
          "span",
          { class: "dim" },
          chat.forked_from && `before #${chat.forked_from.sequence}, `,
          time(chat.created_at),
        ),
        !isHere &&
          h(
            "a",
            {
              href: toChat(appId, chatId, { view: "forks", compare: chat.chat_id }),
              "aria-current": given.compare === chat.chat_id && "true",
              "aria-label": `Compare with ${chat.title ?? chat.chat_id}`,
            },
            "Compare",
          ),
      ),
      children.length > 0 && h("ul", {}, children.map(branch)),
    );
  }

  function compareForm() {
    const go = (event) => {
      event.preventDefault();
      const other = new FormData(event.target).get("other").trim();
      if (other) location.hash = toChat(appId, chatId, { view: "forks", compare: other }).slice(1);
    };
    return h(
      "form",
      { class: "row", onsubmit: go },
      h("label", { for: "other" }, "Compare with the chat"),
      h("input", {
        id: "other",
        name: "other",
        autocomplete: "off",
        spellcheck: "false",
        required: true,
      }),
      h("button", { type: "submit" }, "Compare"),
    );
  }

  function forkForm(session) {
    const from = given.at === undefined ? session.last_sequence : Number(given.at) + 1;
    const field = (label, attributes) => [
      h("label", { for: attributes.id }, label),
      h("input", { autocomplete: "off", name: attributes.id.replace("fork-", ""), ...attributes }),
    ];
    return h(
      "section",
      { class: "panel", "data-key": `fork ${given.at ?? ""}` },
      h(
        "h2",
        { id: "new-fork", tabindex: "-1" },
        given.at === undefined ? "New fork" : `New fork from message #${given.at}`,
      ),
      h(
        "p",
        { class: "dim" },
        "A fork is a new chat that continues from an earlier point. This chat stays as it is.",
      ),
      h(
        "form",
        { class: "fields", onsubmit: fork },
        field("Messages to take over", {
          id: "fork-sequence",
          type: "number",
          min: 0,
          max: session.last_sequence,
          value: from,
          required: true,
        }),
        field("Title", { id: "fork-title", maxlength: 200 }),
        field("Chat id (made up if empty)", {
          id: "fork-chat_id",
          maxlength: 128,
          spellcheck: "false",
        }),
        h(
          "button",
          { type: "submit", class: "primary", disabled: isSending },
          isSending ? "Forking…" : "Fork",
        ),
      ),
      refusal && h("p", { class: "refusal", role: "alert" }, problemText(refusal)),
      created &&
        h(
          "p",
          { role: "status" },
          "Created ",
          h(
            "a",
            { href: toChat(appId, created.chat_id), dir: "auto" },
            created.title ?? created.chat_id,
          ),
          " · ",
          h(
            "a",
            { href: toChat(appId, chatId, { view: "forks", compare: created.chat_id }) },
            "Compare",
          ),
        ),
    );
  }

  function comparisonPanel() {
    if (!comparison || comparison.other !== given.compare)
      return h("p", { class: "waiting" }, "Loading…");
    const { other, problem, same, here, there } = comparison;
    if (problem) {
      return h(
        "section",
        { class: "panel", "data-key": "compare" },
        h("h2", {}, "Comparison"),
        h("p", { class: "refusal" }, problemText(problem)),
      );
    }
    const isEqual = same === here.last_sequence && same === there.last_sequence;
    const share = many(same, "message");
    const differ =
      same === 0
        ? "The chats share no messages."
        : `Both begin with the same ${share} and differ from #${same} on.`;
    const hasMore = Math.max(here.last_sequence, there.last_sequence) > same + wanted;
    return h(
      "section",
      { class: "panel", "data-key": `compare ${other}` },
      h("h2", {}, "Comparison"),
      h("p", { class: "dim" }, isEqual ? `Both have the same ${share}.` : differ),
      once(comparison.element),
      hasMore &&
        h(
          "button",
          { type: "button", class: "more", onclick: () => ((wanted += SHOWN), refresh()) },
          "More messages",
        ),
    );
  }

  return {
    element,
    /** Shows the panel with what the address names; null hides it. */
    open(parameters) {
      if (parameters && parameters.compare !== given?.compare) wanted = SHOWN;
      given = parameters;
      if (given !== null) refresh();
    },
    refresh,
  };
}

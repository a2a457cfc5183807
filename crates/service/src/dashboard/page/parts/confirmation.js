import { h } from "../dom.js";

/** Asks before something is changed; resolves with whether the user agrees. Escape is a no. */
export function confirmed({ title, text, action }) {
  return new Promise((resolve) => {
    const close = (answer) => () => dialog.close(answer);
    const dialog = h(
      "dialog",
      { class: "confirmation", "aria-labelledby": "confirmation" },
      h("h2", { id: "confirmation" }, title),
      h("p", {}, text),
      h(
        "div",
        { class: "row" },
        h("button", { type: "button", class: "primary", onclick: close("yes") }, action),
        h("button", { type: "button", autofocus: true, onclick: close("no") }, "Cancel"),
      ),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

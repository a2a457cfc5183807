import { h } from "../dom.js";

/** A search: `search` is called with what the user looks for. The key / leads to it. */
export function searchBox({ label, value = "" }, search, ...more) {
  const onsubmit = (event) => {
    event.preventDefault();
    search(new FormData(event.target).get("q").trim());
  };
  return h(
    "form",
    { class: "row search", role: "search", onsubmit, "data-key": "search" },
    h("label", { for: "search", class: "only-heard" }, label),
    h("input", {
      id: "search",
      name: "q",
      type: "search",
      value,
      maxlength: "128",
      placeholder: label,
      autocomplete: "off",
      autocapitalize: "off",
      spellcheck: "false",
      "aria-keyshortcuts": "/",
    }),
    h("button", { type: "submit" }, "Search"),
    more,
  );
}

/** Makes / lead to the search of the view that is shown, or else to where `elsewhere` leads. */
export function listenForSlash(elsewhere) {
  addEventListener("keydown", async (event) => {
    const isTyping = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key !== "/" || isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (!document.getElementById("search")) await elsewhere();
    const search = document.getElementById("search");
    search?.focus();
    search?.select();
  });
}

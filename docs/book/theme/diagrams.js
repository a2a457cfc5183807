// Draws the diagrams of a page. A page without one loads nothing, and a reader without scripts sees the text of the diagram.

// Variables of the book, so that a diagram has the colours of the theme that a reader chooses.
const COLOURS = `
  .node .label-container, .node .label-container * { fill: var(--quote-bg); stroke: var(--links); stroke-width: 1.5px; filter: none; }
  .nodeLabel, .edgeLabel, .edgeLabel p { color: var(--fg); }
  .edgeLabel, .edgeLabel p, .labelBkg { background: var(--bg); }
  .flowchart-link { stroke: var(--fg); }
  .marker { fill: var(--fg); stroke: var(--fg); }
`;
// Narrow boxes, so that the widest diagram has the width of a page.
const FLOWCHART = { useMaxWidth: false, wrappingWidth: 130, nodeSpacing: 25, rankSpacing: 40, padding: 10 };

if (document.querySelector(".mermaid")) {
  const script = document.createElement("script");
  script.src = `${path_to_root}diagrams/mermaid.tiny.js`;
  script.onload = async () => {
    mermaid.initialize({
      startOnLoad: false,
      look: "classic",
      theme: "base",
      themeCSS: COLOURS,
      fontFamily: "inherit",
      flowchart: FLOWCHART,
    });
    // Boxes are made for the width of their text.
    await document.fonts.ready;
    await mermaid.run();
  };
  document.head.append(script);
}

export { default as DOMPurify } from "dompurify";
export { default as MarkdownIt } from "markdown-it";

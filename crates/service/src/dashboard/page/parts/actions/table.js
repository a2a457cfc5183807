// The actions that change a chat: when each is offered, what it asks before, and its request.

import { query } from "../../api.js";

const ENDING =
  "Its pending questions are closed for good, answers that are being written are cancelled, and a worker that holds its lease loses it. The chat can be reopened.";

/** By name: the text of the button, the permission, when it is offered, the request, and what to ask before. */
export const ACTIONS = {
  pause: {
    text: "Pause",
    needs: "run",
    isOffered: (chat) => chat.status === "running",
    request: ({ reason }) => ["POST", "pause", { reason }],
    form: { field: "reason", label: "Reason (optional)" },
  },
  resume: {
    text: "Resume",
    needs: "run",
    isOffered: (chat) => chat.status === "paused",
    request: () => ["POST", "reopen", {}],
  },
  reopen: {
    text: "Reopen",
    needs: "run",
    isOffered: (chat) => hasEnded(chat),
    request: () => ["POST", "reopen", {}],
  },
  revoke: {
    text: "Release the lease",
    needs: "manage",
    isOffered: (chat) => chat.lease !== null,
    // The lease that is shown, and not that of a worker who has come since.
    request: (_, { lease }) => ["DELETE", query("lease", { acquired_at: lease.acquired_at })],
    form: {
      warning:
        "Take the lease from its worker? Whatever it still writes to this chat is refused, and the next worker can begin.",
      submit: "Release the lease",
    },
  },
  complete: {
    text: "Complete",
    needs: "manage",
    isOffered: (chat) => !hasEnded(chat),
    request: () => ["POST", "complete", {}],
    form: { warning: `Complete this chat? ${ENDING}`, submit: "Complete the chat" },
  },
  fail: {
    text: "Fail",
    needs: "manage",
    isOffered: (chat) => !hasEnded(chat),
    request: ({ reason }) => ["POST", "fail", { reason }],
    form: {
      warning: `Mark this chat as failed? ${ENDING}`,
      field: "reason",
      label: "Reason (optional)",
      submit: "Fail the chat",
    },
  },
  rename: {
    text: "Rename",
    needs: "manage",
    isOffered: () => true,
    request: ({ title }) => ["PATCH", "", { title }],
    form: { field: "title", label: "Title", value: (chat) => chat.title },
  },
  archive: {
    text: "Archive",
    needs: "manage",
    isOffered: (chat) => chat.lifecycle === "active",
    request: () => ["POST", "archive", {}],
  },
  activate: {
    text: "Unarchive",
    needs: "manage",
    isOffered: (chat) => chat.lifecycle === "archived",
    request: () => ["POST", "activate", {}],
  },
};

const hasEnded = ({ status }) => status === "completed" || status === "failed";

/// A static file of the dashboard.
#[derive(Debug, Clone, Copy)]
pub(super) struct File {
    pub(super) content_type: &'static str,
    pub(super) text: &'static str,
}

pub(super) const PAGE: File =
    File { content_type: "text/html; charset=utf-8", text: include_str!("page/index.html") };

const fn script(text: &'static str) -> File {
    File { content_type: "text/javascript; charset=utf-8", text }
}

const fn style(text: &'static str) -> File {
    File { content_type: "text/css; charset=utf-8", text }
}

const fn picture(text: &'static str) -> File {
    File { content_type: "image/svg+xml", text }
}

/// Returns the file with a path below `/dashboard/`.
#[rustfmt::skip]
pub(super) fn find(name: &str) -> Option<File> {
    Some(match name {
        "icon.svg" => picture(include_str!("page/icon.svg")),

        "base.css" => style(include_str!("page/base.css")),
        "parts.css" => style(include_str!("page/parts.css")),
        "find.css" => style(include_str!("page/find.css")),
        "chat.css" => style(include_str!("page/chat.css")),
        "transcript.css" => style(include_str!("page/transcript.css")),
        "turns.css" => style(include_str!("page/turns.css")),
        "print.css" => style(include_str!("page/print.css")),

        "main.js" => script(include_str!("page/main.js")),
        "routes.js" => script(include_str!("page/routes.js")),
        "screen.js" => script(include_str!("page/screen.js")),
        "api.js" => script(include_str!("page/api.js")),
        "events.js" => script(include_str!("page/events.js")),
        "poll.js" => script(include_str!("page/poll.js")),
        "messages.js" => script(include_str!("page/messages.js")),
        "lists.js" => script(include_str!("page/lists.js")),
        "usage.js" => script(include_str!("page/usage.js")),
        "dom.js" => script(include_str!("page/dom.js")),
        "format.js" => script(include_str!("page/format.js")),
        "zone.js" => script(include_str!("page/zone.js")),

        "parts/actions.js" => script(include_str!("page/parts/actions.js")),
        "parts/actions/table.js" => script(include_str!("page/parts/actions/table.js")),
        "parts/activity.js" => script(include_str!("page/parts/activity.js")),
        "parts/answers.js" => script(include_str!("page/parts/answers.js")),
        "parts/broken_answer.js" => script(include_str!("page/parts/broken_answer.js")),
        "parts/calls.js" => script(include_str!("page/parts/calls.js")),
        "parts/chart.js" => script(include_str!("page/parts/chart.js")),
        "parts/chat_list.js" => script(include_str!("page/parts/chat_list.js")),
        "parts/command.js" => script(include_str!("page/parts/command.js")),
        "parts/compare.js" => script(include_str!("page/parts/compare.js")),
        "parts/confirmation.js" => script(include_str!("page/parts/confirmation.js")),
        "parts/content.js" => script(include_str!("page/parts/content.js")),
        "parts/download.js" => script(include_str!("page/parts/download.js")),
        "parts/feed.js" => script(include_str!("page/parts/feed.js")),
        "parts/feed/chunks.js" => script(include_str!("page/parts/feed/chunks.js")),
        "parts/feed/keys.js" => script(include_str!("page/parts/feed/keys.js")),
        "parts/feed/place.js" => script(include_str!("page/parts/feed/place.js")),
        "parts/filter_bar.js" => script(include_str!("page/parts/filter_bar.js")),
        "parts/found.js" => script(include_str!("page/parts/found.js")),
        "parts/json.js" => script(include_str!("page/parts/json.js")),
        "parts/markdown.js" => script(include_str!("page/parts/markdown.js")),
        "parts/message.js" => script(include_str!("page/parts/message.js")),
        "parts/nav.js" => script(include_str!("page/parts/nav.js")),
        "parts/present.js" => script(include_str!("page/parts/present.js")),
        "parts/problem.js" => script(include_str!("page/parts/problem.js")),
        "parts/question.js" => script(include_str!("page/parts/question.js")),
        "parts/questions.js" => script(include_str!("page/parts/questions.js")),
        "parts/search_box.js" => script(include_str!("page/parts/search_box.js")),
        "parts/stream.js" => script(include_str!("page/parts/stream.js")),
        "parts/stream_parts.js" => script(include_str!("page/parts/stream_parts.js")),
        "parts/summary.js" => script(include_str!("page/parts/summary.js")),
        "parts/table.js" => script(include_str!("page/parts/table.js")),
        "parts/tool_calls.js" => script(include_str!("page/parts/tool_calls.js")),
        "parts/transcript.js" => script(include_str!("page/parts/transcript.js")),
        "parts/transcript/held.js" => script(include_str!("page/parts/transcript/held.js")),

        "views/app.js" => script(include_str!("page/views/app.js")),
        "views/apps.js" => script(include_str!("page/views/apps.js")),
        "views/chat.js" => script(include_str!("page/views/chat.js")),
        "views/chat/beside.js" => script(include_str!("page/views/chat/beside.js")),
        "views/chat/context.js" => script(include_str!("page/views/chat/context.js")),
        "views/chat/failure.js" => script(include_str!("page/views/chat/failure.js")),
        "views/chat/fork_data.js" => script(include_str!("page/views/chat/fork_data.js")),
        "views/chat/forks.js" => script(include_str!("page/views/chat/forks.js")),
        "views/chat/head.js" => script(include_str!("page/views/chat/head.js")),
        "views/chat/plan.js" => script(include_str!("page/views/chat/plan.js")),
        "views/chat/step.js" => script(include_str!("page/views/chat/step.js")),
        "views/chat/timeline.js" => script(include_str!("page/views/chat/timeline.js")),
        "views/chat/turn_model.js" => script(include_str!("page/views/chat/turn_model.js")),
        "views/chat/turns.js" => script(include_str!("page/views/chat/turns.js")),
        "views/chats.js" => script(include_str!("page/views/chats.js")),
        "views/inbox.js" => script(include_str!("page/views/inbox.js")),
        "views/numbers.js" => script(include_str!("page/views/numbers.js")),
        "views/numbers/charts.js" => script(include_str!("page/views/numbers/charts.js")),
        "views/numbers/figures.js" => script(include_str!("page/views/numbers/figures.js")),
        "views/numbers/range.js" => script(include_str!("page/views/numbers/range.js")),
        "views/numbers/tables.js" => script(include_str!("page/views/numbers/tables.js")),
        "views/workflow.js" => script(include_str!("page/views/workflow.js")),

        "vendor/diff.js" => script(include_str!("page/vendor/diff.js")),
        "vendor/markdown.js" => script(include_str!("page/vendor/markdown.js")),
        _ => return None,
    })
}

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
        "chat.css" => style(include_str!("page/chat.css")),

        "main.js" => script(include_str!("page/main.js")),
        "routes.js" => script(include_str!("page/routes.js")),
        "screen.js" => script(include_str!("page/screen.js")),
        "api.js" => script(include_str!("page/api.js")),
        "events.js" => script(include_str!("page/events.js")),
        "poll.js" => script(include_str!("page/poll.js")),
        "messages.js" => script(include_str!("page/messages.js")),
        "dom.js" => script(include_str!("page/dom.js")),
        "format.js" => script(include_str!("page/format.js")),

        "parts/activity.js" => script(include_str!("page/parts/activity.js")),
        "parts/chart.js" => script(include_str!("page/parts/chart.js")),
        "parts/command.js" => script(include_str!("page/parts/command.js")),
        "parts/json.js" => script(include_str!("page/parts/json.js")),
        "parts/message.js" => script(include_str!("page/parts/message.js")),
        "parts/present.js" => script(include_str!("page/parts/present.js")),
        "parts/problem.js" => script(include_str!("page/parts/problem.js")),
        "parts/question.js" => script(include_str!("page/parts/question.js")),
        "parts/questions.js" => script(include_str!("page/parts/questions.js")),
        "parts/summary.js" => script(include_str!("page/parts/summary.js")),
        "parts/table.js" => script(include_str!("page/parts/table.js")),
        "parts/transcript.js" => script(include_str!("page/parts/transcript.js")),

        "views/apps.js" => script(include_str!("page/views/apps.js")),
        "views/app.js" => script(include_str!("page/views/app.js")),
        "views/workflow.js" => script(include_str!("page/views/workflow.js")),
        "views/chat.js" => script(include_str!("page/views/chat.js")),
        _ => return None,
    })
}

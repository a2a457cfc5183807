//! The pages to which the `type` of a problem resolves: the sections of `docs/PROBLEMS.md`.

use std::fmt::Write as _;
use std::sync::LazyLock;

use axum::Router;
use axum::extract::Path;
use axum::http::header::CONTENT_SECURITY_POLICY;
use axum::response::{Html, IntoResponse};
use axum::routing::get;

use super::{Problem, ProblemKind};

const TEXT: &str = include_str!("../../PROBLEMS.md");

/// The page may load its style from this service, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static SECTIONS: LazyLock<Vec<Section>> = LazyLock::new(|| sections(TEXT));

/// A kind of problem, as the page describes it.
#[derive(Debug, PartialEq)]
struct Section {
    code: &'static str,
    /// What all problems with its status have in common, and what is particular to this one.
    paragraphs: Vec<&'static str>,
}

/// Returns the routes of the page with all problems, and of those with one of them.
pub(crate) fn problem_pages<S>() -> Router<S>
where
    S: Clone + Send + Sync + 'static,
{
    Router::new().route("/problems", get(all)).route("/problems/{code}", get(one))
}

async fn all() -> impl IntoResponse {
    let kinds = SECTIONS.iter().filter_map(|section| kind(section.code));
    page("dashboard", "Problems", &kinds.collect::<Vec<_>>())
}

async fn one(Path(code): Path<String>) -> Result<impl IntoResponse, Problem> {
    let kind = kind(&code).ok_or_else(|| {
        Problem::new(ProblemKind::NO_SUCH_ROUTE, "no problem has this code; see /problems")
    })?;
    Ok(page("../dashboard", kind.title, &[kind]))
}

fn kind(code: &str) -> Option<ProblemKind> {
    ProblemKind::ALL.iter().copied().find(|kind| kind.code == code)
}

/// Shows kinds of problem, in the style of the dashboard, whose files are below `styles`.
fn page(styles: &str, title: &str, kinds: &[ProblemKind]) -> impl IntoResponse + use<> {
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n<title>{title}</title>\n\
         <link rel=\"stylesheet\" href=\"{styles}/base.css\">\n\
         <link rel=\"stylesheet\" href=\"{styles}/parts.css\">\n<main>\n"
    );
    for kind in kinds {
        let ProblemKind { code, title, status } = *kind;
        // Writing to a string cannot fail.
        let _ = writeln!(
            html,
            "<section class=\"panel\">\n<h2 id=\"{code}\">{title}</h2>\n<p><code>{code}</code>, {status}</p>"
        );
        let section = SECTIONS.iter().find(|section| section.code == code);
        for paragraph in section.map_or(&[][..], |section| &section.paragraphs) {
            let _ = writeln!(html, "<p>{}</p>", marked_up(paragraph));
        }
        html.push_str("</section>\n");
    }
    html.push_str("</main>\n</html>\n");
    ([(CONTENT_SECURITY_POLICY, POLICY)], Html(html))
}

/// Reads the sections of the third level. The paragraphs below a heading of the second level belong to all sections
/// under it.
fn sections(text: &'static str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut common = Vec::new();
    let mut is_within_section = false;
    for block in text.split("\n\n").map(str::trim) {
        if let Some(code) = block.strip_prefix("### ") {
            sections.push(Section { code, paragraphs: common.clone() });
            is_within_section = true;
        } else if block.starts_with('#') {
            common.clear();
            is_within_section = false;
        } else if is_within_section {
            sections.last_mut().into_iter().for_each(|section| section.paragraphs.push(block));
        } else {
            common.push(block);
        }
    }
    sections
}

/// Writes a paragraph as HTML: what stands between backticks is code.
fn marked_up(paragraph: &str) -> String {
    let escaped = paragraph.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    let mut parts = escaped.split('`');
    let mut html = parts.next().unwrap_or_default().to_owned();
    for (index, part) in parts.enumerate() {
        html.push_str(if index % 2 == 0 { "<code>" } else { "</code>" });
        html.push_str(part);
    }
    html
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_problem_has_a_section_under_its_status() {
        for kind in ProblemKind::ALL {
            let section = SECTIONS.iter().find(|section| section.code == kind.code);
            assert!(section.is_some_and(|section| !section.paragraphs.is_empty()), "{}", kind.code);
            let before = TEXT.split(&format!("### {}\n", kind.code)).next().unwrap();
            let status = before.rsplit("\n## ").next().unwrap().lines().next().unwrap();
            assert_eq!(status, kind.status.as_str(), "{}", kind.code);
        }
        assert_eq!(SECTIONS.len(), ProblemKind::ALL.len());
    }

    #[test]
    fn a_paragraph_is_marked_up() {
        assert_eq!(marked_up("a `b<c>` & d"), "a <code>b&lt;c&gt;</code> &amp; d");
    }
}

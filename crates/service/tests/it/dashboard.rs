//! The dashboard: it is complete, and its policy is strict.

use crate::harness::{Answer, Client};
use crate::tokens::{client, hs256};

const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
                      img-src 'self' data:; connect-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

fn assert_is_guarded(answer: &Answer, path: &str) {
    assert_eq!(answer.status, 200, "{path}");
    assert_eq!(answer.header("content-security-policy"), POLICY, "{path}");
    assert_eq!(answer.header("x-content-type-options"), "nosniff", "{path}");
    assert_eq!(answer.header("referrer-policy"), "no-referrer", "{path}");
}

/// Returns the quoted texts that follow one of the words.
fn named<'a>(text: &'a str, words: &[&str]) -> Vec<&'a str> {
    let after = words.iter().flat_map(|word| text.split(word).skip(1));
    after.filter_map(|rest| rest.split('"').next()).collect()
}

/// Resolves a module's name as a browser does.
fn resolve(base: &str, name: &str) -> String {
    let mut parts: Vec<_> = base.split('/').collect();
    parts.pop();
    for part in name.split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}

#[tokio::test]
async fn the_page_and_all_that_it_loads_is_served() {
    let client = Client::open();
    let page = client.get("/dashboard").await;
    assert_is_guarded(&page, "/dashboard");
    assert_eq!(page.header("content-type"), "text/html; charset=utf-8");

    let loaded = named(&page.text, &["href=\"", "src=\""]);
    let loaded = loaded.into_iter().filter(|name| !name.starts_with('#'));
    let mut left: Vec<_> = loaded.map(|name| resolve("/dashboard", name)).collect();
    let mut seen = Vec::new();
    while let Some(path) = left.pop() {
        if seen.contains(&path) {
            continue;
        }
        let answer = client.get(&path).await;
        assert_is_guarded(&answer, &path);
        let expected = match path.rsplit('.').next() {
            Some("js") => "text/javascript; charset=utf-8",
            Some("css") => "text/css; charset=utf-8",
            _ => "image/svg+xml",
        };
        assert_eq!(answer.header("content-type"), expected, "{path}");
        // A library may have the word in a text.
        let modules = named(&answer.text, &["from \"", "import(\""]).into_iter();
        let modules = modules.filter(|name| name.starts_with('.'));
        left.extend(modules.map(|name| resolve(&path, name)));
        seen.push(path);
    }
    assert!(seen.iter().any(|path| path == "/dashboard/views/chat.js"), "{seen:?}");
}

#[tokio::test]
async fn unknown_files_of_the_page_are_not_found() {
    let client = Client::open();
    for path in ["/dashboard/mod.rs", "/dashboard/views/", "/dashboard/..%2Fmod.rs"] {
        assert_eq!(client.get(path).await.problem(), (404, "no-such-route".to_owned()), "{path}");
    }
    let answer = client.get("/dashboard/").await;
    assert_eq!((answer.status, answer.header("location")), (308, "../dashboard"));
    let answer = client.get("/").await;
    assert_eq!((answer.status, answer.header("location")), (307, "dashboard"));
    let answer = client.json("POST", "/dashboard", "{}").await;
    assert_eq!(answer.problem(), (405, "method-not-allowed".to_owned()));
}

#[tokio::test]
async fn the_page_needs_no_token_but_its_data_does() {
    let client = client(hs256());
    assert_eq!(client.get("/dashboard").await.status, 200);
    assert_eq!(client.get("/api/chats/acme_corp").await.status, 401);
}

#[tokio::test]
async fn the_short_address_of_a_chat_leads_to_its_view() {
    let client = Client::open();
    let answer = client.get("/chat/acme_corp/chat:1.a").await;
    let view = "../../dashboard#/apps/acme_corp/chats/chat:1.a";
    assert_eq!((answer.status, answer.header("location")), (307, view));
    for path in ["/chat/acme%20corp/c1", "/chat/acme_corp/c%2F1", "/chat/acme_corp/%0Ac"] {
        assert_eq!(client.get(path).await.status, 404, "{path}");
    }
}

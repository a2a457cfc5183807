use axum::body::Body;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};

const DOCUMENTS: &str = "/api/documents/acme_corp";

fn at(path: &str) -> String {
    format!("{DOCUMENTS}/{path}")
}

/// Sends a request with headers and a content.
async fn send(
    client: &Client,
    method: &str,
    path: &str,
    headers: &[(&'static str, &str)],
    content: impl Into<Body>,
) -> Answer {
    let mut request = client.request(method, path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request.body(content.into()).unwrap()).await
}

const TEXT: (&str, &str) = ("content-type", "text/plain; charset=utf-8");

#[tokio::test]
async fn a_document_is_put_read_and_deleted() {
    let client = Client::open();
    let path = at("notes/a%20b.md");
    assert_eq!(client.get(&path).await.problem(), (404, "document-not-found".to_owned()));
    let put = send(&client, "PUT", &path, &[TEXT], "Hello").await;
    assert_eq!(put.status, 201, "{}", put.text);
    let mut head = put.body();
    for changing in ["created_at", "last_updated_at", "entity_tag"] {
        head.as_object_mut().unwrap().shift_remove(changing).unwrap();
    }
    insta::assert_json_snapshot!("document_head", head);
    let read = client.get(&path).await;
    assert_eq!((read.status, read.text.as_str()), (200, "Hello"));
    assert_eq!(read.header("content-type"), TEXT.1);
    assert_eq!(read.header("etag"), put.header("etag"));
    assert_eq!(read.header("etag"), format!("{:?}", put.body()["entity_tag"].as_str().unwrap()));
    assert_eq!(read.header("x-content-type-options"), "nosniff");
    assert_eq!(read.header("content-security-policy"), "sandbox; default-src 'none'");
    let same = send(&client, "GET", &path, &[("if-none-match", put.header("etag"))], "").await;
    assert_eq!((same.status, same.text.as_str()), (304, ""));
    let head = send(&client, "HEAD", &path, &[], "").await;
    assert_eq!((head.status, head.header("content-length"), head.text.as_str()), (200, "5", ""));
    let again = send(&client, "PUT", &path, &[TEXT], "Hello").await;
    assert_eq!((again.status, &again.body()["version"]), (200, &json!(1)));
    let replaced = send(&client, "PUT", &path, &[TEXT], "").await;
    assert_eq!((replaced.status, &replaced.body()["version"]), (200, &json!(2)));
    assert_eq!(client.get(&path).await.text, "");
    for _ in 0..2 {
        assert_eq!(client.delete(&path).await.status, 204);
    }
    assert_eq!(client.get(&path).await.status, 404);
}

#[tokio::test]
async fn json_is_checked_and_returned_as_it_was_written() {
    let client = Client::open();
    let path = at("a");
    let json = ("content-type", "application/json");
    for bad in ["", "{", "{} {}", "NaN"] {
        let refused = send(&client, "PUT", &path, &[json], bad).await;
        assert_eq!(refused.problem(), (400, "malformed-json".to_owned()), "{bad}");
    }
    for good in [" {\"b\": 1, \"a\": [1.0, 12345678901234567890123]}\n", "null"] {
        let put = send(&client, "PUT", &path, &[json], good).await;
        assert!(put.status < 300, "{}", put.text);
        assert_eq!(client.get(&path).await.text, good);
    }
    // Another type may hold anything.
    let put = send(&client, "PUT", &at("b"), &[("content-type", "text/json")], "{").await;
    assert_eq!(put.status, 201);
    let put = send(&client, "PUT", &at("c"), &[], vec![0, 255]).await;
    assert_eq!(
        (put.status, &put.body()["content_type"]),
        (201, &json!("application/octet-stream"))
    );
}

#[tokio::test]
async fn a_write_that_depends_on_another_version_is_refused() {
    let client = Client::open();
    let path = at("a");
    let refused = (412, "precondition-failed".to_owned());
    let missing = send(&client, "PUT", &path, &[("if-match", "*")], "x").await;
    assert_eq!(missing.problem(), refused);
    let only_new = [("if-none-match", "*")];
    let first = send(&client, "PUT", &path, &only_new, "1").await;
    assert_eq!(first.status, 201);
    // Its first attempt has stored it.
    assert_eq!(send(&client, "PUT", &path, &only_new, "1").await.status, 200);
    assert_eq!(send(&client, "PUT", &path, &only_new, "2").await.problem(), refused);
    let seen = [("if-match", first.header("etag"))];
    let second = send(&client, "PUT", &path, &seen, "2").await;
    assert_eq!((second.status, &second.body()["version"]), (200, &json!(2)));
    assert_eq!(send(&client, "PUT", &path, &seen, "2").await.status, 200);
    for (method, content) in [("PUT", "3"), ("POST", "3"), ("DELETE", "")] {
        let stale = send(&client, method, &path, &seen, content).await;
        assert_eq!(stale.problem(), refused, "{method}");
    }
    let both = [("if-match", "*"), ("if-none-match", "*")];
    let refused = send(&client, "PUT", &path, &both, "3").await;
    assert_eq!(refused.problem(), (422, "invalid-request".to_owned()));
    let refused = send(&client, "PUT", &path, &[("if-none-match", "\"x\"")], "3").await;
    assert_eq!(refused.problem(), (422, "invalid-request".to_owned()));
    assert_eq!(client.get(&path).await.text, "2");
}

#[tokio::test]
async fn a_put_is_recognised_by_its_key() {
    let client = Client::open();
    let path = at("lock");
    let refused = (412, "precondition-failed".to_owned());
    let put = async |key: &'static str, condition: Option<(&'static str, &str)>, content| {
        let headers: Vec<_> = condition.into_iter().chain([("idempotency-key", key)]).collect();
        send(&client, "PUT", &path, &headers, content).await
    };
    let only_new = Some(("if-none-match", "*"));
    let first = put("worker-1", only_new, "locked").await;
    assert_eq!(first.status, 201);
    assert_eq!(put("worker-2", only_new, "locked").await.problem(), refused);
    let seen = Some(("if-match", first.header("etag")));
    assert_eq!(put("worker-1b", seen, "mine").await.status, 200);
    assert_eq!(put("worker-2b", seen, "mine").await.problem(), refused);
    // Another write of the same content is remembered as well.
    for key in ["k1", "k2"] {
        assert_eq!(put(key, None, "AAA").await.status, 200);
    }
    let last = put("k3", None, "BBB").await.body()["version"].clone();
    for (key, condition, content) in [
        ("k1", None, "AAA"),
        ("k2", None, "AAA"),
        ("worker-1", only_new, "locked"),
        ("k3", seen, "BBB"),
    ] {
        let again = put(key, condition, content).await;
        assert_eq!((again.status, &again.body()["version"]), (200, &last), "{key}");
    }
    let other = (409, "append-conflict".to_owned());
    for (key, content) in [("k3", "AAA"), ("k1", "AAAA")] {
        assert_eq!(put(key, None, content).await.problem(), other, "{key}");
    }
    assert_eq!(client.get(&path).await.text, "BBB");
    for key in ["", "\"\"", &*"k".repeat(257)] {
        for method in ["PUT", "POST"] {
            let bad = send(&client, method, &path, &[("idempotency-key", key)], "CCC").await;
            assert_eq!(bad.problem(), (422, "invalid-request".to_owned()), "{key}");
        }
    }
    assert_eq!(client.get(&path).await.text, "BBB");
}

#[tokio::test]
async fn appends_return_their_offsets() {
    let client = Client::open();
    let path = at("log");
    let first = send(&client, "POST", &path, &[TEXT], "one\n").await;
    assert_eq!(first.status, 201, "{}", first.text);
    let mut shown = first.body();
    shown.as_object_mut().unwrap().shift_remove("entity_tag").unwrap();
    assert_eq!(shown, json!({"offset": 0, "size": 4, "duplicate": false}));
    let keyed = [("idempotency-key", "k1")];
    for duplicate in [false, true] {
        let second = send(&client, "POST", &path, &keyed, "two\n").await;
        let body = second.body();
        assert_eq!((&body["offset"], &body["duplicate"]), (&json!(4), &json!(duplicate)));
        assert_eq!(second.status, if duplicate { 200 } else { 201 });
    }
    let at_end = format!("{path}?offset=8");
    for duplicate in [false, true] {
        let third = send(&client, "POST", &at_end, &[], "three").await;
        assert_eq!(third.body()["duplicate"], json!(duplicate), "{}", third.text);
    }
    let other = send(&client, "POST", &at_end, &[], "other").await;
    assert_eq!(other.problem(), (412, "precondition-failed".to_owned()));
    assert!(other.text.contains("13 bytes"), "{}", other.text);
    let read = client.get(&path).await;
    assert_eq!((read.text.as_str(), read.header("content-type")), ("one\ntwo\nthree", TEXT.1));
    let stem = |answer: &Answer| answer.header("etag").rsplit_once('-').unwrap().0.to_owned();
    assert_eq!(stem(&read), stem(&first));
}

#[tokio::test]
async fn a_range_is_a_part_of_the_content() {
    let client = Client::open();
    let path = at("log");
    let content: Vec<u8> =
        (0..600_000_u32).map(|at| b'a' + u8::try_from(at % 23).unwrap()).collect();
    send(&client, "PUT", &path, &[TEXT], content.clone()).await;
    let text = String::from_utf8(content).unwrap();
    for (range, part, shown) in [
        ("bytes=0-4", &text[..5], "bytes 0-4/600000"),
        ("bytes=599990-", &text[599_990..], "bytes 599990-599999/600000"),
        ("bytes=10-599999999", &text[10..], "bytes 10-599999/600000"),
        ("bytes=-3", &text[599_997..], "bytes 599997-599999/600000"),
        ("bytes=-700000", &text, "bytes 0-599999/600000"),
    ] {
        let read = send(&client, "GET", &path, &[("range", range)], "").await;
        assert_eq!((read.status, read.header("content-range")), (206, shown));
        assert!(read.text == part, "{range}");
    }
    // A part of a content that the caller has, and of another one.
    let tag = send(&client, "HEAD", &path, &[], "").await.header("etag").to_owned();
    let of = async |condition: &'static str, tag: &str| {
        let headers = [("range", "bytes=5-9"), (condition, tag)];
        let read = send(&client, "GET", &path, &headers, "").await;
        (read.status, read.text.len())
    };
    assert_eq!(of("if-range", &tag).await, (206, 5));
    let weak = format!("W/{tag}");
    for other in ["\"another\"", &weak, "Sun, 29 Nov 2020 08:16:46 GMT"] {
        assert_eq!(of("if-range", other).await, (200, 600_000), "{other}");
    }
    assert_eq!(of("if-none-match", &tag).await, (304, 0));
    for method in ["POST", "DELETE"] {
        let write = send(&client, method, &path, &[("if-none-match", "*")], "x").await;
        assert_eq!(write.problem(), (422, "invalid-request".to_owned()), "{method}");
    }
    for range in ["bytes=600000-", "bytes=700000-700001", "bytes=-0"] {
        let read = send(&client, "GET", &path, &[("range", range)], "").await;
        assert_eq!(read.problem(), (416, "range-not-satisfiable".to_owned()), "{range}");
        assert_eq!(read.header("content-range"), "bytes */600000");
        assert_eq!(read.header("etag"), tag);
        let headers = [("range", range), ("if-none-match", &*tag)];
        assert_eq!(send(&client, "GET", &path, &headers, "").await.status, 304);
    }
    for range in ["bytes=5-2", "lines=1-2", "bytes=0-1,5-6"] {
        let read = send(&client, "GET", &path, &[("range", range)], "").await;
        assert_eq!((read.status, read.text.len()), (200, 600_000), "{range}");
    }
}

#[tokio::test]
async fn a_document_beyond_one_answer_is_read_in_parts() {
    let client = Client::open();
    let path = at("log");
    let piece = vec![b'x'; 8 << 20];
    for _ in 0..2 {
        let appended = send(&client, "POST", &path, &[], piece.clone()).await;
        assert_eq!(appended.status, 201, "{}", appended.text);
    }
    let too_large = send(&client, "POST", &path, &[], [&piece[..], b"x"].concat()).await;
    assert_eq!(too_large.problem(), (413, "body-too-large".to_owned()));
    let whole = client.get(&path).await;
    assert_eq!(whole.problem(), (422, "invalid-request".to_owned()));
    assert!(whole.text.contains("Range"), "{}", whole.text);
    let known = [("if-none-match", whole.header("etag"))];
    assert_eq!(send(&client, "GET", &path, &known, "").await.status, 304);
    let head = send(&client, "HEAD", &path, &[], "").await;
    assert_eq!((head.status, head.header("content-length")), (200, "16777216"));
    let head = send(&client, "GET", &path, &[("range", "bytes=-1")], "").await;
    assert_eq!(head.header("content-range"), "bytes 16777215-16777215/16777216");
    let part = send(&client, "GET", &path, &[("range", "bytes=5-")], "").await;
    assert_eq!(part.header("content-range"), "bytes 5-8388612/16777216");
    assert_eq!(part.text.len(), 8 << 20);
}

#[tokio::test]
async fn documents_are_listed_and_deleted_by_namespace() {
    let client = Client::open();
    let json = ("content-type", "application/json");
    for (path, header, content) in [
        ("a/1", json, "{\"x\": 1.5}"),
        ("a/2", TEXT, "hello"),
        ("a/b/3", json, "1e400"),
        ("c/4", json, "[]"),
    ] {
        assert_eq!(send(&client, "PUT", &at(path), &[header], content).await.status, 201);
    }
    let listed = client.get(&format!("{DOCUMENTS}?namespace=a&content=true")).await;
    let shown: Vec<Value> = listed.body()["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| json!([it["path"], it.get("content"), it.get("content_base64")]))
        .collect();
    // A number that no value can hold is returned as bytes.
    assert_eq!(
        json!(shown),
        json!([["a/1", {"x": 1.5}, null], ["a/2", null, "aGVsbG8="], ["a/b/3", null, "MWU0MDA="]])
    );
    let first = client.get(&format!("{DOCUMENTS}?limit=3")).await.body();
    assert_eq!(first["data"][0].get("content"), None);
    let next = first["next_cursor"].as_str().unwrap();
    let rest = client.get(&format!("{DOCUMENTS}?limit=3&cursor={next}")).await.body();
    assert_eq!((&rest["data"][0]["path"], &rest["next_cursor"]), (&json!("c/4"), &json!(null)));
    let namespaces = client.get("/api/document-namespaces/acme_corp?depth=2").await.body();
    let names: Vec<_> = namespaces["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| it["namespace"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["a", "a/b", "c"]);
    let everything = client.delete(DOCUMENTS).await;
    assert_eq!(everything.problem(), (422, "invalid-request".to_owned()));
    let deleted = client.delete(&format!("{DOCUMENTS}?namespace=a")).await;
    assert_eq!(deleted.body(), json!({"deleted": 3, "has_more": false}));
    let left = client.get(DOCUMENTS).await.body();
    assert_eq!(left["data"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn a_document_of_a_chat_is_deleted_with_it() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let bound = format!("{}?chat_id=c1", at("a"));
    assert_eq!(send(&client, "PUT", &bound, &[TEXT], "x").await.status, 201);
    let contradicts = format!("{}?user_id=ann", at("a"));
    let refused = send(&client, "PUT", &contradicts, &[TEXT], "y").await;
    assert_eq!(refused.problem(), (422, "invalid-request".to_owned()));
    assert!(refused.text.contains("user_id"), "{}", refused.text);
    let listed = client.get(&format!("{DOCUMENTS}?chat_id=c1")).await.body();
    assert_eq!(listed["data"][0]["chat_id"], json!("c1"));
    let unknown = format!("{}?chat_id=c9", at("b"));
    let refused = send(&client, "POST", &unknown, &[TEXT], "x").await;
    assert_eq!(refused.problem(), (404, "chat-not-found".to_owned()));
    assert_eq!(client.delete(&chat).await.status, 204);
    assert_eq!(client.get(&at("a")).await.problem(), (404, "document-not-found".to_owned()));
}

#[tokio::test]
async fn paths_and_parameters_beyond_the_rules_are_refused() {
    let client = Client::open();
    for path in [
        at("a//b"),
        at("a/"),
        at("%2e%2e/a"),
        at("a%00"),
        at(&"x".repeat(257)),
        at(&vec!["a"; 33].join("/")),
    ] {
        let refused = send(&client, "PUT", &path, &[TEXT], "x").await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{path}");
    }
    for query in [
        "ttl_seconds=0",
        "visibility=secret",
        "visibility=team",
        "other=1",
        "chat_id=c1&visibility=app",
    ] {
        let refused = send(&client, "PUT", &format!("{}?{query}", at("a")), &[TEXT], "x").await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{query}");
    }
    assert_eq!(client.get(&format!("{DOCUMENTS}?namespace=a/")).await.status, 422);
    for method in ["PUT", "POST"] {
        let part = [TEXT, ("content-range", "bytes 0-0/5")];
        let refused = send(&client, method, &at("a"), &part, "x").await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{}", refused.text);
        assert!(refused.text.contains("Content-Range"), "{}", refused.text);
    }
    assert_eq!(client.get(&at("a")).await.status, 404);
    let lasting = send(&client, "PUT", &format!("{}?ttl_seconds=60", at("a")), &[TEXT], "x").await;
    assert!(lasting.body()["expires_at"].is_string(), "{}", lasting.text);
}

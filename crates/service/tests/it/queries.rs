//! Invalid query strings.

use insta::assert_json_snapshot;

use crate::harness::Client;

#[tokio::test]
async fn limits_outside_their_range_are_refused_with_the_range() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let bad = ["0", "-1", "101", "1000000000", "x", "", "1.5", "1e3", "99999999999999999999"];
    for limit in bad {
        let answer = client.get(&format!("/api/chats/acme_corp?limit={limit}")).await;
        assert_eq!(answer.problem(), (422, "invalid-request".to_owned()), "{limit}");
        assert_eq!(answer.culprit(), "limit");
    }
    for name in ["limit", "newest"] {
        for limit in ["0", "-1", "1001", "x"] {
            let answer = client.get(&format!("{path}/messages?{name}={limit}")).await;
            assert_eq!((answer.status, answer.culprit().as_str()), (422, name), "{limit}");
        }
    }
    let answer = client.get("/api/chats/acme_corp?limit=101").await;
    assert_json_snapshot!("limit", answer.snapshot());
}

#[tokio::test]
async fn positions_must_be_integers() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for (name, value) in [
        ("after", "-2"),
        ("after", "9223372036854775808"),
        ("after", "{\"_data\":1}"),
        ("before", "-1"),
        ("before", "1.0"),
    ] {
        let value = value.replace(['{', '}', '"'], "%22");
        let answer = client.get(&format!("{path}/messages?{name}={value}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, name), "{value}");
    }
    for query in ["newest=1&after=0", "newest=1&limit=1"] {
        let answer = client.get(&format!("{path}/messages?{query}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, "newest"), "{query}");
    }
}

#[tokio::test]
async fn unknown_parameters_are_refused_by_name_on_every_route() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    for (route, parameter) in [
        ("/api/chats/acme_corp".to_owned(), "user_id[$gt]"),
        ("/api/chats/acme_corp".to_owned(), "sort_by"),
        (path.clone(), "app_id[$ne]"),
        (format!("{path}/messages"), "$where"),
        (format!("{path}/meta"), "x"),
        (format!("{path}/history"), "limit"),
        (format!("{path}/context"), "x"),
        (format!("{path}/artifact"), "x"),
    ] {
        let answer = client.get(&format!("{route}?{parameter}=1")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, parameter), "{route}");
    }
    let answer = client.get("/api/chats/acme_corp?sort_by=$where").await;
    assert_json_snapshot!("unknown_parameter", answer.snapshot());
}

#[tokio::test]
async fn a_parameter_given_twice_is_refused() {
    let client = Client::open();
    let answer = client.get("/api/chats/acme_corp?limit=1&limit=2").await;
    assert_eq!((answer.status, answer.culprit().as_str()), (422, "limit"));
}

#[tokio::test]
async fn invalid_values_are_refused() {
    let client = Client::open();
    for (name, value) in [
        ("status", "1"),
        ("status", "Running"),
        ("workflow_name", ""),
        ("workflow_name", "a%0ab"),
        ("user_id", "%ff"),
        ("created_from", "yesterday"),
        ("created_from", "2025-10-02T10:00:00+02:00"),
        ("created_before", "2025-13-02T10:00:00Z"),
        ("created_from", "2025-10-03T00:00:00Z&created_before=2025-10-02T00:00:00Z"),
        ("active_from", "2025-10-03T00:00:00Z&active_before=2025-10-02T00:00:00Z"),
        ("order_by", "$where"),
        ("order_by", "updated_at"),
        ("cursor", "x"),
        ("cursor", ""),
        ("cursor", "eyIkbmUiOm51bGx9"),
    ] {
        let answer = client.get(&format!("/api/chats/acme_corp?{name}={value}")).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, name), "{value}");
    }
}

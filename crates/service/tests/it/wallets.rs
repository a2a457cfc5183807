use insta::assert_json_snapshot;
use serde_json::json;
use service::Config;

use crate::harness::{Client, memory};
use crate::tokens::{client, hs256, token};

const WALLET: &str = "/api/wallets/acme_corp/alice";

/// A client, and a wallet of alice that holds 100 tokens.
async fn with_wallet() -> Client {
    let client = Client::over(memory(), Config::default());
    let ensured = client.post(&format!("{WALLET}/ensure"), json!({"initial_balance": 100})).await;
    assert_eq!(ensured.status, 201, "{}", ensured.text);
    client
}

#[tokio::test]
async fn a_wallet_is_ensured_changed_and_read() {
    let client = with_wallet().await;
    assert_json_snapshot!("wallet", client.get(WALLET).await.snapshot());
    let again = client.post(&format!("{WALLET}/ensure"), json!({"initial_balance": 7})).await;
    assert_eq!(again.body()["balance"], 100);
    assert_eq!(client.poke(&format!("{WALLET}/ensure")).await.body()["balance"], 100);
    let credit = json!({"entry_id": "top_up", "amount": 50, "reason": "bonus"});
    let credited = client.post(&format!("{WALLET}/credit"), credit).await;
    assert_json_snapshot!("credit", credited.snapshot());
    let debit = json!({"entry_id": "call_1", "amount": 120});
    let debited = client.post(&format!("{WALLET}/debit"), debit).await;
    assert_json_snapshot!("debit", debited.snapshot());
    assert_eq!(client.get(WALLET).await.body()["balance"], 30);
}

#[tokio::test]
async fn entries_are_listed_newest_first_with_a_cursor() {
    let client = with_wallet().await;
    for n in 1..=4 {
        let debit = json!({"entry_id": format!("call_{n}"), "amount": n});
        client.post(&format!("{WALLET}/debit"), debit).await;
    }
    let first = client.get(&format!("{WALLET}/entries?limit=3")).await;
    assert_json_snapshot!("entries", first.snapshot());
    let cursor = first.body()["next_cursor"].as_str().unwrap().to_owned();
    let second = client.get(&format!("{WALLET}/entries?limit=3&cursor={cursor}")).await.body();
    assert_eq!(second["data"].as_array().unwrap().len(), 2);
    assert_eq!(second["data"][1]["kind"], "initial");
    assert!(second["next_cursor"].is_null());
    for query in ["limit=0", "limit=101", "cursor=x", "cursor=-1", "before=1"] {
        let answer = client.get(&format!("{WALLET}/entries?{query}")).await;
        assert_eq!(answer.problem(), (422, "invalid-request".to_owned()), "{query}");
    }
}

#[tokio::test]
async fn a_repeat_is_answered_word_for_word_and_a_conflict_refused() {
    let client = with_wallet().await;
    let debit = json!({"entry_id": "call_1", "amount": 60});
    let first = client.post(&format!("{WALLET}/debit"), debit.clone()).await;
    let again = client.post(&format!("{WALLET}/debit"), debit).await;
    assert_eq!((first.status, again.status), (201, 200));
    assert_eq!(first.record(), again.record());
    let other = json!({"entry_id": "call_1", "amount": 61});
    let conflict = client.post(&format!("{WALLET}/debit"), other).await;
    assert_json_snapshot!("entry_conflict", conflict.snapshot());
    let other = json!({"entry_id": "call_1", "amount": 60});
    let conflict = client.post(&format!("{WALLET}/credit"), other).await;
    assert_eq!(conflict.problem(), (409, "entry-conflict".to_owned()));
    assert_eq!(client.get(WALLET).await.body()["balance"], 40);
}

#[tokio::test]
async fn too_few_tokens_are_a_problem_or_a_null() {
    let client = with_wallet().await;
    let debit = json!({"entry_id": "call_1", "amount": 101});
    let strict = client.post(&format!("{WALLET}/debit"), debit).await;
    assert_json_snapshot!("insufficient_tokens", strict.snapshot());
    let debit = json!({"entry_id": "call_1", "amount": 101, "strict": false});
    let lenient = client.post(&format!("{WALLET}/debit"), debit.clone()).await;
    assert_json_snapshot!("lenient", lenient.snapshot());
    let missing = client.post("/api/wallets/acme_corp/bob/debit", debit).await;
    assert_eq!((missing.status, &missing.body()["entry"]), (200, &json!(null)));
    assert_eq!(client.get(WALLET).await.body()["entry_count"], 1);
}

#[tokio::test]
async fn a_missing_wallet_is_not_found() {
    let client = with_wallet().await;
    let bob = "/api/wallets/acme_corp/bob";
    assert_json_snapshot!("wallet_not_found", client.get(bob).await.snapshot());
    let credit = json!({"entry_id": "e", "amount": 1});
    for answer in [
        client.post(&format!("{bob}/credit"), credit).await,
        client.get(&format!("{bob}/entries")).await,
        client.get("/api/wallets/other_app/alice").await,
    ] {
        assert_eq!(answer.problem(), (404, "wallet-not-found".to_owned()));
    }
}

#[tokio::test]
async fn an_invalid_amount_is_refused_with_a_pointer() {
    let client = with_wallet().await;
    for (body, culprit) in [
        (json!({"entry_id": "e", "amount": 0}), "/amount"),
        (json!({"entry_id": "e", "amount": -1}), "/amount"),
        (json!({"entry_id": "e", "amount": 1_000_000_000_001_i64}), "/amount"),
        (json!({"entry_id": "e", "amount": 1.5}), "/amount"),
        (json!({"entry_id": "e", "amount": "1"}), "/amount"),
        (json!({"entry_id": "", "amount": 1}), "/entry_id"),
        (json!({"entry_id": {"$ne": null}, "amount": 1}), "/entry_id"),
        (json!({"entry_id": "e", "amount": 1, "reason": "x".repeat(257)}), "/reason"),
        (json!({"entry_id": "e", "amount": 1, "balance": 9}), "/balance"),
    ] {
        for verb in ["credit", "debit"] {
            let answer = client.post(&format!("{WALLET}/{verb}"), body.clone()).await;
            assert_eq!((answer.status, answer.culprit().as_str()), (422, culprit), "{body}");
        }
    }
    let ensure = json!({"initial_balance": -1});
    let answer = client.post(&format!("{WALLET}/ensure"), ensure).await;
    assert_json_snapshot!("initial_balance", answer.snapshot());
    let beyond = client.post(&format!("{WALLET}/debit"), json!({"amount": 1})).await;
    assert_eq!(beyond.problem(), (422, "invalid-request".to_owned()), "an id is needed");
}

#[tokio::test]
async fn a_user_reads_their_own_wallet_and_changes_none() {
    let unauthenticated = client(hs256());
    let service =
        unauthenticated.with_token(token(&json!({"sub": "orchestrator", "role": "service"})));
    let alice = unauthenticated.with_token(token(&json!({})));
    let bob = unauthenticated.with_token(token(&json!({"sub": "bob"})));
    service.post(&format!("{WALLET}/ensure"), json!({"initial_balance": 100})).await;
    assert_eq!(alice.get(WALLET).await.body()["balance"], 100);
    let change = json!({"entry_id": "e", "amount": 1});
    let debit = alice.post(&format!("{WALLET}/debit"), change.clone()).await;
    assert_eq!(debit.problem(), (403, "forbidden-role".to_owned()));
    let credit = alice.post(&format!("{WALLET}/credit"), change.clone()).await;
    assert_json_snapshot!("forbidden_role", credit.snapshot());
    let ensure = alice.poke(&format!("{WALLET}/ensure")).await;
    assert_eq!(ensure.problem(), (403, "forbidden-role".to_owned()));
    for answer in [
        bob.get(WALLET).await,
        bob.get("/api/wallets/acme_corp/missing").await,
        bob.get(&format!("{WALLET}/entries")).await,
        bob.post(&format!("{WALLET}/debit"), change.clone()).await,
        bob.post(&format!("{WALLET}/credit"), change.clone()).await,
        bob.get("/api/tokens/alice/balance?app_id=acme_corp").await,
    ] {
        assert_eq!(answer.problem(), (403, "forbidden-owner".to_owned()));
    }
    let other_app = alice.get("/api/wallets/other_app/alice").await;
    assert_eq!(other_app.problem(), (403, "forbidden-app".to_owned()));
    assert_eq!(service.get(WALLET).await.body()["balance"], 100);
}

#[tokio::test]
async fn the_routes_of_the_original_use_the_same_wallets() {
    let client = with_wallet().await;
    let balance = client.get("/api/tokens/alice/balance?app_id=acme_corp").await;
    assert_json_snapshot!("token_balance", balance.snapshot());
    let missing = client.get("/api/tokens/bob/balance?app_id=acme_corp").await.body();
    assert_eq!((&missing["balance"], &missing["remaining"]), (&json!(0), &json!(0)));
    let consume = json!({"app_id": "acme_corp", "amount": 30, "entry_id": "call_1"});
    for _ in 0..2 {
        let consumed = client.post("/api/tokens/alice/consume", consume.clone()).await;
        assert_json_snapshot!("consumed", consumed.snapshot());
    }
    let as_ever = json!({"app_id": "acme_corp", "amount": 20});
    for remaining in [50, 30] {
        let consumed = client.post("/api/tokens/alice/consume", as_ever.clone()).await.body();
        assert_eq!(
            (&consumed["success"], &consumed["remaining"]),
            (&json!(true), &json!(remaining))
        );
    }
    let too_much = json!({"app_id": "acme_corp", "amount": 31});
    let refused = client.post("/api/tokens/alice/consume", too_much).await;
    assert_json_snapshot!("consume_too_much", refused.snapshot());
    for amount in [0, -5] {
        let nothing = json!({"app_id": "acme_corp", "amount": amount});
        let answer = client.post("/api/tokens/alice/consume", nothing).await.body();
        assert_eq!(answer, json!({"success": true, "remaining": 30, "entry_id": null}));
    }
    let entries = client.get(&format!("{WALLET}/entries")).await.body();
    assert_eq!(entries["data"].as_array().unwrap().len(), 4);
    assert_eq!(entries["data"][0]["reason"], "manual_consume");
}

#[tokio::test]
async fn the_routes_of_the_original_need_an_app_id() {
    let client = with_wallet().await;
    for answer in [
        client.get("/api/tokens/alice/balance").await,
        client.get("/api/tokens/alice/balance?app_id=a.b").await,
        client.post("/api/tokens/alice/consume", json!({"amount": 1})).await,
        client.post("/api/tokens/alice/consume", json!({"amount": 1, "app_id": ""})).await,
    ] {
        assert_eq!(answer.problem(), (400, "invalid-app-id".to_owned()));
    }
}

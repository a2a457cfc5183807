//! `reprise apps` and `reprise wallets`, while a service runs.

use anyhow::Result;
use mongodb::bson::{RawDocumentBuf, doc};
use reqwest::Method;
use serde_json::json;
use tests::binary::{run, told};
use tests::client::{Client, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

#[tokio::test]
async fn verify_finds_what_does_not_add_up_and_nothing_else() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    for user in ["alice", "bob", "carol"] {
        fill(&client, "acme_corp", user).await?;
    }
    fill(&client, "other_app", "alice").await?;
    let sound = run(&["wallets", "verify"], &settings).await?;
    assert_eq!(told(&sound)?, "4 wallets verified, 0 differences\n");
    assert!(sound.status.success());

    let alice = doc! { "_id": { "app_id": "acme_corp", "user_id": "alice" } };
    let richer = doc! { "$inc": { "balance": 5_i64 } };
    database.raw().collection::<RawDocumentBuf>("wallets").update_one(alice, richer).await?;
    let bob = doc! { "user_id": "bob", "sequence": 0_i64 };
    let poorer = doc! { "$inc": { "amount": -1_i64 } };
    let lines = database.raw().collection::<RawDocumentBuf>("wallet_entries");
    until("the first entry of bob to have a line", async || {
        Ok((lines.count_documents(bob.clone()).await? == 1).then_some(()))
    })
    .await?;
    lines.update_one(bob, poorer).await?;

    let planted = run(&["wallets", "verify"], &settings).await?;
    let report = told(&planted)?;
    assert_eq!(planted.status.code(), Some(1), "{report}");
    let alice = "acme_corp alice: the balance is 985, the entries add up to 980\n";
    let bob = "acme_corp bob: the balance is 980, the entries add up to 979\n";
    assert!(report.contains(alice) && report.contains(bob), "{report}");
    assert!(!report.contains("carol") && !report.contains("other_app"), "{report}");
    assert!(report.contains("4 wallets verified"), "{report}");

    let elsewhere = run(&["wallets", "verify", "--app", "other_app"], &settings).await?;
    assert_eq!(told(&elsewhere)?, "1 wallets verified, 0 differences\n");
    assert!(elsewhere.status.success());

    // Entries whose wallet is gone, in an app that has another wallet and in one that has none.
    service.stop().await?;
    let wallets = database.raw().collection::<RawDocumentBuf>("wallets");
    for (app, user) in [("acme_corp", "carol"), ("other_app", "alice")] {
        let gone = doc! { "_id": { "app_id": app, "user_id": user } };
        assert_eq!(wallets.delete_one(gone).await?.deleted_count, 1);
        let owned = doc! { "app_id": app, "user_id": user };
        let entries = lines.count_documents(owned).await?;
        assert!(entries > 0);
        let orphans = format!("{app} {user}: {entries} archived entries have no wallet\n");
        for arguments in [&["wallets", "verify"][..], &["wallets", "verify", "--app", app]] {
            let found = run(arguments, &settings).await?;
            let report = told(&found)?;
            assert_eq!(found.status.code(), Some(1), "{report}");
            assert!(report.contains(&orphans), "{report}");
        }
    }
    Ok(())
}

/// Credits a wallet with 1,000 tokens and debits 20 of them, one at a time: some entries are archived.
async fn fill(client: &Client, app: &str, user: &str) -> Result<()> {
    let wallet = format!("/api/wallets/{app}/{user}");
    let ensure = json!({ "initial_balance": 1_000 });
    client.call(Method::POST, &format!("{wallet}/ensure"), Some(&ensure)).await?;
    for n in 0..20 {
        let debit = json!({ "entry_id": format!("call_{n}"), "amount": 1 });
        client.call(Method::POST, &format!("{wallet}/debit"), Some(&debit)).await?;
    }
    Ok(())
}

#[tokio::test]
async fn settings_of_an_app_are_changed_beside_a_service() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("apps.cache_ms", 200);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    let set = async |options: &[&str]| {
        run(&[&["apps", "set", "acme_corp"], options].concat(), &settings).await
    };
    let unknown = set(&["--users-may-run", "true"]).await?;
    assert_eq!(unknown.status.code(), Some(1));
    run(&["apps", "register", "acme_corp"], &settings).await?;
    let changed = set(&["--default-visibility", "link", "--support-access", "false"]).await?;
    let expected = "enabled   acme_corp  default_visibility=link  support_access=false\n";
    assert_eq!(told(&changed)?, expected);
    let new = json!({"workflow_name": "Generator"});
    until("the service to notice", async || {
        let chat = client.call(Method::POST, "/api/chats/acme_corp", Some(&new)).await?;
        Ok((chat["visibility"] == "link").then_some(()))
    })
    .await?;
    let changed = set(&["--users-may-run", "true", "--default-visibility", "default"]).await?;
    let expected = "enabled   acme_corp  support_access=false  users_may_run=true\n";
    assert_eq!(told(&changed)?, expected);
    assert_eq!(told(&run(&["apps", "list"], &settings).await?)?, expected);
    for wrong in [&[][..], &["--users-may-run", "yes"], &["--default-visibility", "public"]] {
        assert_eq!(set(wrong).await?.status.code(), Some(2), "{wrong:?}");
    }
    service.stop().await
}

#[tokio::test]
async fn an_app_that_is_disabled_beside_a_service_is_closed_within_seconds() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("apps.cache_ms", 200);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    client.create_chat("Generator").await?;
    let unknown = run(&["apps", "disable", "acme_corp"], &settings).await?;
    assert_eq!(unknown.status.code(), Some(1));
    let registered = run(&["apps", "register", "acme_corp"], &settings).await?;
    assert_eq!(told(&registered)?, "enabled   acme_corp\n");
    run(&["apps", "disable", "acme_corp"], &settings).await?;
    until("the service to notice", async || {
        let creation = client.create_chat("Generator").await;
        Ok(creation.is_err().then_some(()))
    })
    .await?;
    let refused = refusal(client.create_chat("Generator").await)?;
    assert_eq!((refused.status, &*refused.kind), (403, "app-disabled"));
    let list = run(&["apps", "list"], &settings).await?;
    assert_eq!(told(&list)?, "disabled  acme_corp\n");
    run(&["apps", "enable", "acme_corp"], &settings).await?;
    until("the service to notice", async || {
        Ok(client.create_chat("Generator").await.ok().map(drop))
    })
    .await?;
    service.stop().await
}

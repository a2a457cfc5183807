//! `reprise keys`, while a service runs.

use anyhow::Result;
use serde_json::Value;
use tests::binary::{run, told};
use tests::client::{Client, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

#[tokio::test]
async fn a_key_is_created_listed_used_and_revoked() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database)
        .with("auth.mode", "jwt")
        .with("auth.algorithm", "HS256")
        .with("auth.secret", "a secret of at least thirty-two bytes")
        .with("limits.recheck_ms", 200);
    let service = Service::start(&settings).await?;

    let create = ["keys", "create", "--role", "service", "--app", "acme_corp", "--label", "import"];
    let created = run(&create, &settings).await?;
    assert!(String::from_utf8(created.stderr)?.contains("cannot be shown again"));
    let key = String::from_utf8(created.stdout)?;
    let key = key.trim_end();
    let id = key.split('_').nth(1).unwrap_or_default();
    let client = Client::with_token(service.url(), key)?;
    client.create_chat("Generator").await?;

    let listed = told(&run(&["keys", "list"], &settings).await?)?;
    assert!(listed.starts_with(&format!("{id}  valid    service ")), "{listed}");
    assert!(listed.ends_with("  import\n"), "{listed}");
    assert!(!listed.contains(key), "the secret is not stored");
    let object = until("the use to be noted", async || {
        let listed = told(&run(&["keys", "list", "--json"], &settings).await?)?;
        let object: Value = serde_json::from_str(&listed)?;
        Ok((!object["last_used_at"].is_null()).then_some(object))
    })
    .await?;
    assert_eq!((&object["id"], &object["apps"][0]), (&id.into(), &"acme_corp".into()));

    let revoked = told(&run(&["keys", "revoke", id], &settings).await?)?;
    assert!(revoked.starts_with(&format!("{id}  revoked")), "{revoked}");
    until("the service to refuse the key", async || {
        Ok(client.create_chat("Generator").await.is_err().then_some(()))
    })
    .await?;
    let refused = refusal(client.create_chat("Generator").await)?;
    assert_eq!((refused.status, &*refused.kind), (401, "unauthenticated"));

    let unknown = run(&["keys", "revoke", "0000000000000000"], &settings).await?;
    assert_eq!(unknown.status.code(), Some(1));
    service.stop().await
}

#[tokio::test]
async fn a_key_that_makes_no_sense_is_refused() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    for (arguments, reason) in [
        (&["--role", "user", "--app", "acme_corp"][..], "--user"),
        (&["--role", "service"], "--app"),
        (&["--role", "service", "--all-apps", "--user", "alice"], "a service is no person"),
        (&["--role", "support", "--all-apps", "--user", "a", "--team", "red"], "for a team"),
        (&["--role", "service", "--all-apps", "--days", "0"], "--days"),
    ] {
        let command = [&["keys", "create"], arguments].concat();
        let output = run(&command, &settings).await?;
        assert!(!output.status.success(), "{command:?}");
        let said = String::from_utf8(output.stderr)?;
        assert!(said.contains(reason), "{command:?}: {said}");
    }
    assert_eq!(told(&run(&["keys", "list"], &settings).await?)?, "");
    Ok(())
}

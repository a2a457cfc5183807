//! What is signed of messages: proofs that are verified without the service, and changes that are made without it.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, ensure};
use base64::Engine as _;
use base64::prelude::BASE64_URL_SAFE_NO_PAD as BASE64;
use mongodb::bson::{Document, doc};
use rcgen::{KeyPair, PKCS_ED25519};
use reqwest::Method;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tests::binary::run;
use tests::client::{APP, Chat};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

/// A key in a file, and its public half.
pub(crate) struct Key {
    public: Vec<u8>,
    pub(crate) file: PathBuf,
}

impl Key {
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        let pair = KeyPair::generate_for(&PKCS_ED25519)?;
        let file = folder.join("integrity.pem");
        fs::write(&file, pair.serialize_pem())?;
        Ok(Self { public: pair.public_key_raw().to_vec(), file })
    }
}

async fn proof(chat: &Chat, sequence: u64) -> Result<Value> {
    Ok(chat.get(&format!("messages/{sequence}/proof")).await?)
}

async fn signed(chat: &Chat, sequence: u64) -> Result<Value> {
    until("a signed message", async || {
        let proof = proof(chat, sequence).await?;
        Ok((proof["verdict"] == "signed").then_some(proof))
    })
    .await
}

fn hash(parts: &[&[u8]]) -> [u8; 32] {
    parts.iter().fold(Sha256::new(), Sha256::chain_update).finalize().into()
}

fn digits(value: &Value) -> Result<Vec<u8>> {
    let text = value.as_str().context("hexadecimal digits")?;
    let byte = |at| u8::from_str_radix(text.get(at..at + 2).unwrap_or_default(), 16);
    Ok((0..text.len()).step_by(2).map(byte).collect::<Result<_, _>>()?)
}

/// Verifies a proof as docs/operations/data.md describes it, and returns the message that it proves.
fn verify(proof: &Value, key: &Key) -> Result<Value> {
    let signed = proof["checkpoint"]["signed"].as_str().context("a checkpoint")?;
    let (message, signature) = signed.rsplit_once('.').context("a signature")?;
    let public = UnparsedPublicKey::new(&ED25519, &key.public);
    ensure!(public.verify(message.as_bytes(), &BASE64.decode(signature)?).is_ok(), "not signed");
    let payload = message.split_once('.').context("a payload")?.1;
    let payload: Value = serde_json::from_slice(&BASE64.decode(payload)?)?;

    let inclusion = &proof["inclusion"];
    let statement = inclusion["statement"].as_str().context("a statement")?;
    let said: Value = serde_json::from_str(statement)?;
    let commitment = hash(&[&digits(&inclusion["salt"])?, statement.as_bytes()]);
    let sequence = said["sequence"].as_u64().context("a sequence")?.to_be_bytes();
    let changes = u32::try_from(inclusion["changes"].as_u64().context("changes")?)?.to_be_bytes();
    let mut root = hash(&[&[0], &sequence, &changes, &commitment]);
    let mut node = inclusion["index"].as_u64().context("an index")?;
    let mut last = inclusion["block_size"].as_u64().context("a size")? - 1;
    for beside in inclusion["path"].as_array().context("a path")? {
        ensure!(last > 0, "the path is too long");
        let beside = digits(beside)?;
        if node % 2 == 1 || node == last {
            root = hash(&[&[1], &beside, &root]);
            while node % 2 == 0 && node != 0 {
                (node, last) = (node / 2, last / 2);
            }
        } else {
            root = hash(&[&[1], &root, &beside]);
        }
        (node, last) = (node / 2, last / 2);
    }
    ensure!(last == 0, "the path is too short");
    let mut chain = hash(&[&[2], &digits(&inclusion["before"])?, &root]);
    for block in inclusion["after"].as_array().context("blocks")? {
        chain = hash(&[&[2], &chain, &digits(block)?]);
    }
    ensure!(digits(&payload["root"])? == chain, "another root");
    Ok(said)
}

#[tokio::test]
async fn a_proof_is_verified_without_the_service_and_a_forgery_is_found() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let key = Key::create(folder.path())?;
    let database = Database::create().await?;
    let settings = Settings::of(&database)
        .with("integrity.key_file", key.file.display())
        .with("integrity.interval_ms", 100);
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    let message = |text: String| json!({ "role": "user", "content": text });
    let messages: Vec<Value> = (0..600).map(|n| message(format!("text {n}"))).collect();
    chat.append(&messages).await?;
    let proven = verify(&signed(&chat, 300).await?, &key)?;
    assert_eq!((&proven["content"], &proven["sequence"]), (&json!("text 300"), &json!(300)));
    // An edit is proven, too.
    let edit = json!({ "content": "edited" });
    chat.send(Method::PATCH, "messages/300", Some(&edit)).await?;
    assert_eq!(verify(&signed(&chat, 300).await?, &key)?["content"], "edited");
    let mut other = signed(&chat, 599).await?;
    verify(&other, &key)?;
    let forged = other["inclusion"]["statement"].as_str().map(|it| it.replace("599", "598"));
    other["inclusion"]["statement"] = forged.into();
    assert!(verify(&other, &key).is_err());

    let export = run(&["export", "checkpoints", "--app", APP], &settings).await?;
    let exported = String::from_utf8(export.stdout)?;
    assert_eq!(exported.lines().count(), 1, "{exported}");
    let file = folder.path().join("checkpoints");
    fs::write(&file, &exported)?;
    let file = file.display().to_string();
    let check = async || {
        let output = run(&["check", "--deep", "--checkpoints", &file], &settings).await?;
        let report = String::from_utf8(output.stdout)?;
        let lines = report.lines().filter(|line| line.contains("integrity"));
        anyhow::Ok(lines.map(str::to_owned).collect::<Vec<_>>())
    };
    let lines = check().await?;
    assert!(lines.len() == 1 && lines[0].starts_with("ok "), "{lines:?}");
    assert!(
        lines[0].ends_with("600 messages are what was signed, 0 are not signed yet"),
        "{lines:?}"
    );

    // A program with access to the database, and without the key.
    let segments = database.raw().collection::<Document>("chat_segments");
    let change = doc! { "$set": { "messages.5.content": "forged" } };
    assert_eq!(segments.update_one(doc! {}, change).await?.modified_count, 1);
    let lines = check().await?;
    assert!(lines.len() == 2 && lines[0].starts_with("FAULT"), "{lines:?}");
    assert!(lines[0].contains("message 5"), "{lines:?}");
    let broken = proof(&chat, 5).await?;
    assert_eq!((&broken["verdict"], &broken["inclusion"]), (&json!("broken"), &Value::Null));
    chat.append(&[message("later".to_owned())]).await?;
    signed(&chat, 600).await?;
    assert_eq!(proof(&chat, 5).await?["verdict"], "broken");
    service.stop().await
}

#[tokio::test]
async fn without_a_key_nothing_is_signed_and_nothing_is_exported() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.append(&[json!({ "role": "user", "content": "hello" })]).await?;
    let unsigned = json!({ "verdict": "unsigned", "checkpoint": null, "inclusion": null });
    assert_eq!(proof(&chat, 0).await?, unsigned);
    let export = run(&["export", "checkpoints", "--app", APP], &settings).await?;
    let told = String::from_utf8(export.stderr)?;
    assert!(!export.status.success() && told.contains("integrity.key_file"), "{told}");
    service.stop().await
}

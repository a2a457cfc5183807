//! A database that knows its services by their certificates.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result, ensure};
use local_mongod::{LocalMongod, Options};
use mongodb::Client;
use mongodb::bson::doc;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use tests::binary::run;
use tests::client::APP;
use tests::settings::Settings;

type Issuer = CertifiedIssuer<'static, KeyPair>;

fn params(names: &[&str], subject: [&str; 2]) -> Result<CertificateParams> {
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names)?;
    let [organization, name] = subject;
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::OrganizationName, organization);
    params.distinguished_name.push(DnType::CommonName, name);
    Ok(params)
}

/// Writes a file with a certificate and its key, as MongoDB wants them.
fn write(path: &Path, params: &CertificateParams, issuer: &Issuer) -> Result<()> {
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, issuer)?;
    Ok(fs::write(path, certificate.pem() + &key.serialize_pem())?)
}

#[tokio::test]
async fn a_service_signs_in_with_its_certificate() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    let shown = |name: &str| path(name).display().to_string();
    let mut of_issuer = params(&[], ["Issuer", "root"])?;
    of_issuer.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let issuer = CertifiedIssuer::self_signed(of_issuer, KeyPair::generate()?)?;
    fs::write(path("ca.pem"), issuer.pem())?;
    write(&path("server.pem"), &params(&["127.0.0.1", "localhost"], ["Servers", "db"])?, &issuer)?;
    write(&path("known.pem"), &params(&[], ["Services", "reprise"])?, &issuer)?;
    write(&path("unknown.pem"), &params(&[], ["Services", "stranger"])?, &issuer)?;

    let (server, roots) = (shown("server.pem"), shown("ca.pem"));
    // What starts the server initiates its replica set without TLS.
    let arguments = [
        "--tlsMode",
        "preferTLS",
        "--tlsCertificateKeyFile",
        &server,
        "--tlsCAFile",
        &roots,
        "--tlsAllowConnectionsWithoutCertificates",
        "--setParameter",
        "authenticationMechanisms=MONGODB-X509,SCRAM-SHA-256",
    ];
    let extra_arguments = arguments.map(str::to_owned).to_vec();
    let mongod = LocalMongod::start(Options { extra_arguments, ..Options::for_tests() }).await?;
    let external = Client::with_uri_str(mongod.uri()).await?.database("$external");
    let user = doc! {
        "createUser": "CN=reprise,O=Services", "roles": [{ "role": "readWrite", "db": "reprise" }],
    };
    external.run_command(user).await?;

    let at = |certificate: &str| {
        let options = format!(
            "tls=true&tlsCAFile={roots}&tlsCertificateKeyFile={}&authMechanism=MONGODB-X509",
            shown(certificate)
        );
        Settings::at(&format!("{}&{options}", mongod.uri()), "reprise")
    };
    let register = ["apps", "register", APP];
    let done = run(&register, &at("known.pem")).await?;
    ensure!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let check = run(&["check", "--create-indexes"], &at("known.pem")).await?;
    ensure!(check.status.success(), "{}", String::from_utf8_lossy(&check.stdout));

    let refused = run(&["check"], &at("unknown.pem")).await?;
    let said = String::from_utf8(refused.stdout)?;
    let fault = said.lines().find(|line| line.starts_with("FAULT")).context("no fault")?;
    ensure!(fault.contains("the user or the password"), "{fault}");
    mongod.stop().await;
    Ok(())
}

//! People sign in in a browser, by OIDC: the code flow with PKCE.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Request, Uri};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use oauth2::basic::{
    BasicErrorResponse, BasicRevocationErrorResponse, BasicTokenIntrospectionResponse,
    BasicTokenType,
};
use oauth2::url::form_urlencoded;
use oauth2::{
    AuthUrl, AuthorizationCode, ClientId, ClientSecret, CsrfToken, EndpointNotSet, EndpointSet,
    ExtraTokenFields, PkceCodeChallenge, PkceCodeVerifier, RedirectUrl, Scope,
    StandardRevocableToken, StandardTokenResponse, TokenUrl,
};
use persistence::Store;
use records::{AccessKey, AccessKeyKind, AccessKeySecret, Clock as _, NewAccessKey, SystemClock};
use secrecy::ExposeSecret as _;
use serde::{Deserialize, Serialize};
use tokio::sync::OnceCell;

use super::cookies::{self, SameSite};
use super::jwt::Verifier;
use super::key_ring::fetch_keys;
use super::{Apps, Role};
use crate::config::{Algorithm, AuthConfig, AuthMode, ConfigError, SignInConfig};
use crate::metrics::KeyMetrics;
use crate::outgoing::{OutgoingClient, OutgoingUrl};
use crate::problem::{Problem, ProblemKind};

/// How long a person may take at the issuer.
const MAX_PENDING: Duration = Duration::from_mins(10);
/// When to try again, if the issuer cannot be reached.
const RETRY_AFTER: Duration = Duration::from_secs(2);
const MAX_SESSION_MINUTES: u64 = 43_200;
/// Where people go who have signed in, unless they came from another page of this service.
const HOME: &str = "/dashboard";

/// The sign-in of people.
#[derive(Debug)]
pub(crate) struct SignIn {
    config: SignInConfig,
    issuer: OutgoingUrl,
    redirect: RedirectUrl,
    client: OutgoingClient,
    store: Arc<dyn Store>,
    metrics: KeyMetrics,
    provider: OnceCell<Provider>,
}

/// What the issuer says about itself.
#[derive(Debug)]
struct Provider {
    authorization: AuthUrl,
    token: TokenUrl,
    verifier: Verifier,
    /// Whether it names itself in every address to which it sends a browser back (RFC 9207).
    names_itself: bool,
}

/// The description of an issuer (OIDC Discovery 1.0).
#[derive(Deserialize)]
struct Discovery {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    jwks_uri: String,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
}

impl Discovery {
    /// Fetches the description of an issuer, and refuses one that cannot be used.
    async fn fetch(
        client: &OutgoingClient,
        url: &OutgoingUrl,
        issuer: Option<&str>,
    ) -> Result<Self, String> {
        let wrong = |what: &str| format!("the description of the issuer: {what}");
        let body = client.get(url).await.map_err(|error| error.to_string())?;
        let found: Self =
            serde_json::from_slice(&body).map_err(|error| wrong(&error.to_string()))?;
        if Some(&*found.issuer) != issuer {
            return Err(wrong("it names another issuer"));
        }
        for url in [&found.authorization_endpoint, &found.token_endpoint, &found.jwks_uri] {
            OutgoingUrl::parse(url).map_err(wrong)?;
        }
        Ok(found)
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct IdToken {
    id_token: String,
}

impl ExtraTokenFields for IdToken {}

type Client = oauth2::Client<
    BasicErrorResponse,
    StandardTokenResponse<IdToken, BasicTokenType>,
    BasicTokenIntrospectionResponse,
    StandardRevocableToken,
    BasicRevocationErrorResponse,
    EndpointSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointNotSet,
    EndpointSet,
>;

/// A redirect of the browser, with a cookie for it.
#[derive(Debug)]
pub(crate) struct Redirect {
    pub(crate) location: String,
    pub(crate) cookies: Vec<HeaderValue>,
}

/// What the issuer says in the address to which it sends the browser back.
#[derive(Debug, Default)]
pub(crate) struct Returned {
    pub(crate) code: Option<String>,
    pub(crate) state: Option<String>,
    pub(crate) issuer: Option<String>,
    pub(crate) error: Option<String>,
}

impl Returned {
    /// Reads the query of the address. A parameter that comes twice counts once: its last value.
    pub(crate) fn from_query(query: &str) -> Self {
        let mut returned = Self::default();
        for (name, value) in form_urlencoded::parse(query.as_bytes()) {
            let field = match &*name {
                "code" => &mut returned.code,
                "state" => &mut returned.state,
                "iss" => &mut returned.issuer,
                "error" => &mut returned.error,
                _ => continue,
            };
            *field = Some(value.into_owned());
        }
        returned
    }
}

/// What the browser keeps while the person is at the issuer.
struct PendingSignIn {
    state: String,
    nonce: String,
    verifier: String,
    return_to: String,
}

impl SignIn {
    /// Returns the sign-in that the settings describe; `None` if they name no issuer.
    pub(super) fn new(
        config: &AuthConfig,
        store: Arc<dyn Store>,
        metrics: &KeyMetrics,
    ) -> Result<Option<Self>, ConfigError> {
        let Some((issuer, redirect)) = Self::checked(config)? else { return Ok(None) };
        Ok(Some(Self {
            config: config.sign_in.clone(),
            issuer,
            redirect,
            client: OutgoingClient::new(),
            store,
            metrics: metrics.clone(),
            provider: OnceCell::new(),
        }))
    }

    /// Checks the settings. Nothing is fetched.
    pub(super) fn checked(
        config: &AuthConfig,
    ) -> Result<Option<(OutgoingUrl, RedirectUrl)>, ConfigError> {
        let refused = |name, detail| Err(ConfigError::SignIn { name, detail });
        let sign_in = &config.sign_in;
        let Some(issuer) = &sign_in.issuer else { return Ok(None) };
        if config.mode == AuthMode::None {
            return refused("issuer", "it needs auth.mode = \"jwt\"");
        }
        if sign_in.client_id.is_empty() {
            return refused("client_id", "it is missing");
        }
        if sign_in.algorithm == Algorithm::HS256 {
            return refused("algorithm", "it must be RS256 or ES256");
        }
        if !(1..=MAX_SESSION_MINUTES).contains(&sign_in.session_minutes) {
            return refused("session_minutes", "it must be from 1 to 43200");
        }
        let discovery =
            format!("{}/.well-known/openid-configuration", issuer.trim_end_matches('/'));
        let issuer = OutgoingUrl::parse(&discovery)
            .map_err(|detail| ConfigError::SignIn { name: "issuer", detail })?;
        OutgoingUrl::parse(&sign_in.public_url)
            .map_err(|detail| ConfigError::SignIn { name: "public_url", detail })?;
        let public_url = sign_in.public_url.trim_end_matches('/');
        let has_path = public_url.parse::<Uri>().is_ok_and(|url| url.path().len() > 1);
        match RedirectUrl::new(format!("{public_url}/api/sign-in/callback")) {
            Ok(redirect) if !has_path => Ok(Some((issuer, redirect))),
            Ok(_) => refused("public_url", "it must have no path"),
            Err(_) => refused("public_url", "it is not a URL"),
        }
    }

    /// Fetches the description and the keys of the issuer, if the settings name one.
    pub(super) async fn check_issuer(config: &AuthConfig) -> Result<(), ConfigError> {
        let Some((url, _)) = Self::checked(config)? else { return Ok(()) };
        let failed = |detail| ConfigError::Unreachable { name: "sign_in.issuer", detail };
        let issuer = config.sign_in.issuer.as_deref();
        let found = Discovery::fetch(&OutgoingClient::new(), &url, issuer).await.map_err(failed)?;
        fetch_keys(&found.jwks_uri, config.sign_in.algorithm).await.map_err(failed)
    }

    /// Returns why a request with the cookie of a session does not come from a page of this service.
    pub(super) fn objection(&self, headers: &HeaderMap, is_safe: bool) -> Option<&'static str> {
        const FOREIGN: &str = "a session is accepted from pages of this service only";
        let own = self.config.public_url.trim_end_matches('/');
        let mut origins = headers.get_all("origin").iter();
        let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
        let is_own_site = matches!(site, None | Some(b"same-origin" | b"none"));
        let origin = origins.next();
        let is_own = origin.is_none_or(|it| it.as_bytes().eq_ignore_ascii_case(own.as_bytes()));
        if !is_own || !is_own_site || origins.next().is_some() {
            return Some(FOREIGN);
        }
        // Browsers send the origin of a page with every request that changes something.
        (!is_safe && origin.is_none()).then_some(FOREIGN)
    }

    /// Sends a browser to the issuer.
    pub(crate) async fn begin(&self, return_to: Option<&str>) -> Result<Redirect, Problem> {
        let (challenge, verifier) = PkceCodeChallenge::new_random_sha256();
        let nonce = CsrfToken::new_random();
        let client = self.client(self.provider().await?);
        let scopes = self.config.scopes.iter().cloned().map(Scope::new);
        let request = client
            .authorize_url(CsrfToken::new_random)
            .add_scope(Scope::new("openid".to_owned()))
            .add_scopes(scopes)
            .add_extra_param("nonce", nonce.secret())
            .set_pkce_challenge(challenge);
        let (location, state) = request.url();
        let pending = PendingSignIn {
            state: state.into_secret(),
            nonce: nonce.into_secret(),
            verifier: verifier.into_secret(),
            return_to: return_to.filter(|path| is_own_path(path)).unwrap_or(HOME).to_owned(),
        };
        // The issuer sends the browser back with a link of another site.
        let cookie = cookies::set(cookies::SIGN_IN, &pending.to_text(), SameSite::Lax, MAX_PENDING);
        Ok(Redirect { location: location.into(), cookies: vec![cookie] })
    }

    /// Signs in the person whom the issuer has sent back.
    pub(crate) async fn finish(
        &self,
        headers: &HeaderMap,
        returned: Returned,
    ) -> Result<Redirect, Problem> {
        let pending = cookies::cookie(headers, cookies::SIGN_IN).and_then(PendingSignIn::from_text);
        let pending = pending.filter(|pending| returned.state.as_ref() == Some(&pending.state));
        let pending = pending.ok_or_else(|| {
            failed("this browser has not begun this sign-in, or began it over 10 minutes ago")
        })?;
        let provider = self.provider().await?;
        // An answer of another issuer must not be taken for one of ours (RFC 9207).
        let is_ours = match &returned.issuer {
            None => !provider.names_itself,
            issuer => *issuer == self.config.issuer,
        };
        let code = returned.code.filter(|_| returned.error.is_none() && is_ours);
        let code = code.ok_or_else(|| failed("the issuer has not signed the person in"))?;
        let token = self.id_token(provider, code, pending.verifier).await?;
        let program = &self.config.client_id;
        let verified = provider.verifier.verify_id_token(&token, &pending.nonce, program).await;
        let identity = verified.map_err(|problem| match problem.kind() {
            ProblemKind::UNAUTHENTICATED => failed(problem.detail()),
            _ => problem,
        })?;
        let bearer = match identity.role {
            Role::Service | Role::Local => {
                return Err(failed("the issuer says that this is a program, not a person"));
            }
            Role::Operator { user_id } => records::Bearer::Operator { user_id },
            Role::Support { user_id } => records::Bearer::Support { user_id },
            Role::User { user_id, team_id } => records::Bearer::User { user_id, team_id },
        };
        let lives = Duration::from_secs(60 * self.config.session_minutes);
        let key = NewAccessKey {
            secret: random_key()?,
            kind: AccessKeyKind::SignIn,
            label: None,
            bearer,
            apps: match identity.apps {
                Apps::All => None,
                Apps::These(apps) if apps.len() > AccessKey::MAX_APPS => {
                    return Err(failed("the issuer names more apps than a sign-in may be for"));
                }
                Apps::These(apps) => Some(apps.into_iter().collect()),
            },
            expires_at: Some(SystemClock.now() + lives),
        };
        let secret = key.secret.clone();
        self.store.create_access_key(None, key).await?;
        let session = cookies::set(cookies::SESSION, secret.expose(), SameSite::Strict, lives);
        let done = cookies::set(cookies::SIGN_IN, "", SameSite::Lax, Duration::ZERO);
        Ok(Redirect { location: pending.return_to, cookies: vec![session, done] })
    }

    /// Ends a session. Returns the cookie that removes it from the browser.
    pub(crate) async fn end(&self, secret: &AccessKeySecret) -> Result<HeaderValue, Problem> {
        self.store.revoke_access_key(None, &secret.id()).await?;
        Ok(cookies::set(cookies::SESSION, "", SameSite::Strict, Duration::ZERO))
    }

    async fn id_token(
        &self,
        provider: &Provider,
        code: String,
        verifier: String,
    ) -> Result<String, Problem> {
        let issuer = self.client.clone();
        let send = move |request: Request<Vec<u8>>| {
            let issuer = issuer.clone();
            async move { issuer.send(request).await }
        };
        let client = self.client(provider);
        let exchange = client
            .exchange_code(AuthorizationCode::new(code))
            .set_pkce_verifier(PkceCodeVerifier::new(verifier))
            .request_async(&send)
            .await;
        match exchange {
            Ok(response) => Ok(response.extra_fields().id_token.clone()),
            Err(oauth2::RequestTokenError::Request(error)) => Err(unreachable(error)),
            Err(_) => Err(failed("the issuer did not accept the code")),
        }
    }

    fn client(&self, provider: &Provider) -> Client {
        let client = oauth2::Client::new(ClientId::new(self.config.client_id.clone()))
            .set_auth_uri(provider.authorization.clone())
            .set_token_uri(provider.token.clone())
            .set_redirect_uri(self.redirect.clone());
        match &self.config.client_secret {
            Some(secret) => {
                client.set_client_secret(ClientSecret::new(secret.expose_secret().to_owned()))
            }
            None => client,
        }
    }

    /// Returns what the issuer says about itself. It is asked once, until it answers.
    async fn provider(&self) -> Result<&Provider, Problem> {
        self.provider.get_or_try_init(|| self.discover()).await
    }

    async fn discover(&self) -> Result<Provider, Problem> {
        let wrong = |what: &str| unreachable(format!("the description of the issuer: {what}"));
        let expected = self.config.issuer.as_deref();
        let found = Discovery::fetch(&self.client, &self.issuer, expected).await;
        let found = found.map_err(unreachable)?;
        let verifier = Verifier::new(&AuthConfig {
            mode: AuthMode::Jwt,
            algorithm: Some(self.config.algorithm),
            jwks_url: Some(found.jwks_uri),
            issuer: Some(found.issuer),
            audience: Some(self.config.client_id.clone()),
            ..AuthConfig::default()
        });
        let verifier = verifier.map_err(|error| wrong(&error.to_string()))?;
        verifier.follow_keys(self.metrics.clone());
        Ok(Provider {
            authorization: AuthUrl::new(found.authorization_endpoint)
                .map_err(|error| wrong(&error.to_string()))?,
            token: TokenUrl::new(found.token_endpoint)
                .map_err(|error| wrong(&error.to_string()))?,
            verifier,
            names_itself: found.authorization_response_iss_parameter_supported,
        })
    }
}

impl PendingSignIn {
    fn to_text(&self) -> String {
        let Self { state, nonce, verifier, return_to } = self;
        format!("{state}.{nonce}.{verifier}.{}", URL_SAFE_NO_PAD.encode(return_to))
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(str::to_owned);
        let (state, nonce, verifier) = (parts.next()?, parts.next()?, parts.next()?);
        let return_to = URL_SAFE_NO_PAD.decode(parts.next()?).ok()?;
        let return_to = String::from_utf8(return_to).ok().filter(|path| is_own_path(path))?;
        (parts.next().is_none() && !state.is_empty()).then_some(Self {
            state,
            nonce,
            verifier,
            return_to,
        })
    }
}

/// Returns whether a text is a path of this service; the browser must not be sent elsewhere.
fn is_own_path(text: &str) -> bool {
    let is_plain = text.len() <= 1_024 && text.bytes().all(|b| b.is_ascii_graphic() && b != b'\\');
    is_plain && text.starts_with('/') && !text.starts_with("//")
}

fn random_key() -> Result<AccessKeySecret, Problem> {
    let mut random = [0; AccessKeySecret::RANDOM_BYTES];
    getrandom::fill(&mut random).map_err(|error| {
        Problem::new(ProblemKind::INTERNAL, "failed to generate a random key").caused_by(error)
    })?;
    Ok(AccessKeySecret::from_random(&random))
}

fn failed(detail: &str) -> Problem {
    Problem::new(ProblemKind::SIGN_IN_FAILED, detail)
}

fn unreachable(cause: impl Into<persistence::BoxError>) -> Problem {
    let detail = "the issuer cannot be reached; try again";
    Problem::new(ProblemKind::KEYS_UNAVAILABLE, detail)
        .with_retry_after(RETRY_AFTER)
        .caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_is_sent_back_to_a_page_of_this_service_only() {
        for own in ["/", "/dashboard", "/dashboard#/acme/chats?x=1"] {
            assert!(is_own_path(own), "{own}");
        }
        for foreign in [
            "",
            "dashboard",
            "//evil.example",
            "/\\evil.example",
            "https://evil.example",
            "/a b",
            "/\u{e9}",
        ] {
            assert!(!is_own_path(foreign), "{foreign}");
        }
    }
}

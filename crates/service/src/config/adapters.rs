use std::net::SocketAddr;

use records::{AppId, ChatId, WorkflowName};
use serde::{Deserialize, Serialize};

use super::{ConfigError, listen_address};

/// The other systems whose clients the service answers in their own shapes; each is off by default.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AdaptersConfig {
    /// The chats of the JSONL session store.
    pub chatsg: ChatsgConfig,
    /// The sessions of Discobot.
    pub discobot: DiscobotConfig,
    /// The chat sessions of Hecate.
    pub hecate: HecateConfig,
    /// The routes of the front end of `MozaiksAI`.
    pub mozaiks: MozaiksConfig,
    /// The chat sessions of Yao.
    pub yao: YaoConfig,
}

/// Where an adapter is served.
#[derive(Debug)]
pub(crate) struct Mount<'a> {
    /// The name of the adapter.
    pub(crate) name: &'static str,
    /// Whether it is served at all.
    pub(crate) enabled: bool,
    /// The app of the paths that name none.
    pub(crate) app_id: Option<&'a AppId>,
    /// The address of its own listener.
    pub(crate) listen: Option<SocketAddr>,
}

impl AdaptersConfig {
    /// Returns where each adapter is served.
    pub(crate) fn mounts(&self) -> [Mount<'_>; 5] {
        let Self { chatsg, discobot, hecate, mozaiks, yao } = self;
        let mount = |name, enabled, app_id, listen| Mount { name, enabled, app_id, listen };
        [
            mount("chatsg", chatsg.enabled, chatsg.app_id.as_ref(), chatsg.listen),
            mount("discobot", discobot.enabled, discobot.app_id.as_ref(), discobot.listen),
            mount("hecate", hecate.enabled, hecate.app_id.as_ref(), hecate.listen),
            mount("mozaiks", mozaiks.enabled, mozaiks.app_id.as_ref(), mozaiks.listen),
            mount("yao", yao.enabled, yao.app_id.as_ref(), yao.listen),
        ]
    }

    /// Returns the app whose listener has the session with an id: ids are unique in the database, and the clients of such a listener
    /// cannot choose another one.
    pub(crate) fn app_of_session(&self, chat_id: &ChatId) -> Option<&AppId> {
        let DiscobotConfig { enabled, app_id, .. } = &self.discobot;
        app_id.as_ref().filter(|_| *enabled && chat_id.as_str() == self.discobot.session_id())
    }

    /// Checks the settings.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let lacks_app = |mount: &Mount<'_>| mount.listen.is_some() && mount.app_id.is_none();
        if let Some(Mount { name, .. }) = self.mounts().into_iter().find(lacks_app) {
            return Err(ConfigError::ListenerWithoutApp { adapter: name });
        }
        self.chatsg.check()?;
        self.hecate.check()
    }
}

/// The settings of the adapter for the JSONL session store.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ChatsgConfig {
    /// Whether the routes are served, below `/chatsg/{app_id}`.
    pub enabled: bool,
    /// The app of its own listener.
    pub app_id: Option<AppId>,
    /// The address of a listener that serves its paths below `/api`.
    #[serde(deserialize_with = "listen_address::optional")]
    pub listen: Option<SocketAddr>,
    /// The workflow of the chats that are created; `chat` by default.
    pub workflow_name: Option<WorkflowName>,
    /// The most messages of a context that states no limit, from 1 to 1,000.
    pub max_context_messages: usize,
    /// The most system messages that a sliding window keeps if the request does not say it, up to 1,000.
    pub system_prompt_reserve: usize,
    /// The minutes without a message after which a session is inactive.
    pub inactive_after_minutes: u32,
}

impl Default for ChatsgConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            app_id: None,
            listen: None,
            workflow_name: None,
            max_context_messages: 100,
            system_prompt_reserve: 10,
            inactive_after_minutes: 30,
        }
    }
}

impl ChatsgConfig {
    /// The most messages of a context.
    pub(crate) const MAX_CONTEXT: usize = 1_000;

    fn check(&self) -> Result<(), ConfigError> {
        let rule = |least: usize| format!("it must be from {least} to {}", Self::MAX_CONTEXT);
        if !(1..=Self::MAX_CONTEXT).contains(&self.max_context_messages) {
            let name = "adapters.chatsg.max_context_messages";
            return Err(ConfigError::Unusable { name, rule: rule(1) });
        }
        if self.system_prompt_reserve > Self::MAX_CONTEXT {
            let name = "adapters.chatsg.system_prompt_reserve";
            return Err(ConfigError::Unusable { name, rule: rule(0) });
        }
        Ok(())
    }
}

/// The settings of the adapter for Discobot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DiscobotConfig {
    /// Whether the routes are served, below `/discobot/{app_id}`.
    pub enabled: bool,
    /// The app of its own listener.
    pub app_id: Option<AppId>,
    /// The address of a listener that serves `/chat` and `/sessions`.
    #[serde(deserialize_with = "listen_address::optional")]
    pub listen: Option<SocketAddr>,
    /// The session of the paths below `/chat`, which name none; `default` by default.
    pub session_id: Option<ChatId>,
    /// The workflow of the chats that are created; `chat` by default.
    pub workflow_name: Option<WorkflowName>,
}

impl DiscobotConfig {
    /// Returns the id of the session of the paths that name none.
    pub(crate) fn session_id(&self) -> &str {
        self.session_id.as_ref().map_or("default", ChatId::as_str)
    }
}

/// The settings of the adapter for Yao.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct YaoConfig {
    /// Whether the routes are served, below `/yao/{app_id}`.
    pub enabled: bool,
    /// The app of the paths below `/v1/chat`, which name none.
    pub app_id: Option<AppId>,
    /// The address of a listener that serves these paths only.
    #[serde(deserialize_with = "listen_address::optional")]
    pub listen: Option<SocketAddr>,
}

/// The settings of the adapter for the front end of `MozaiksAI`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MozaiksConfig {
    /// Whether the routes are served, below `/mozaiks`.
    pub enabled: bool,
    /// The app of the requests that name none.
    pub app_id: Option<AppId>,
    /// The address of a listener that serves its paths at the root.
    #[serde(deserialize_with = "listen_address::optional")]
    pub listen: Option<SocketAddr>,
    /// The seconds in which another start of a workflow by the same user returns the same chat.
    pub start_reuse_sec: u32,
    /// The workflow of the chats that are general chats; `general` by default.
    pub general_workflow_name: Option<WorkflowName>,
}

impl Default for MozaiksConfig {
    fn default() -> Self {
        Self {
            enabled: false,
            app_id: None,
            listen: None,
            start_reuse_sec: 15,
            general_workflow_name: None,
        }
    }
}

/// The settings of the adapter for Hecate.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct HecateConfig {
    /// Whether the routes are served, below `/hecate/{app_id}`.
    pub enabled: bool,
    /// The app of the paths below `/hecate/v1`, which name none.
    pub app_id: Option<AppId>,
    /// The address of a listener that serves these paths only.
    #[serde(deserialize_with = "listen_address::optional")]
    pub listen: Option<SocketAddr>,
    /// The workflow of the chats that are created; `chat` by default.
    pub workflow_name: Option<WorkflowName>,
    /// The number of sessions in a list that states no limit, from 1 to 200.
    pub list_default: usize,
}

impl Default for HecateConfig {
    fn default() -> Self {
        Self { enabled: false, app_id: None, listen: None, workflow_name: None, list_default: 50 }
    }
}

impl HecateConfig {
    /// The most sessions in a list.
    pub(crate) const LIST_MAX: usize = 200;

    /// Checks the settings.
    fn check(&self) -> Result<(), ConfigError> {
        if (1..=Self::LIST_MAX).contains(&self.list_default) {
            return Ok(());
        }
        let rule = format!("it must be from 1 to {}", Self::LIST_MAX);
        Err(ConfigError::Unusable { name: "adapters.hecate.list_default", rule })
    }
}

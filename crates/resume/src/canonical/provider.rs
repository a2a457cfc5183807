/// A provider that keeps uploaded files, and gives them ids that no other provider knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Provider {
    OpenAi,
    Anthropic,
    Gemini,
}

impl Provider {
    const ALL: [Self; 3] = [Self::OpenAi, Self::Anthropic, Self::Gemini];

    /// Returns the name in the field `provider` of a stored part.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }

    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name() == name)
    }

    /// Returns whose id this is, if its part does not say it.
    ///
    /// Ids of Anthropic begin with `file_01`, those of `OpenAI` with `file-`. Any other id is taken for
    /// one of `OpenAI`, because the stored part has the form of its parts.
    pub(crate) fn of_id(id: &str) -> Self {
        if id.starts_with("file_01") { Self::Anthropic } else { Self::OpenAi }
    }

    /// Returns the provider that alone can read the URL: Gemini's Files API gives URLs as ids.
    pub(crate) fn of_url(url: &str) -> Option<Self> {
        let path = url.strip_prefix("https://generativelanguage.googleapis.com/")?;
        path.contains("files/").then_some(Self::Gemini)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_urls_tell_their_provider() {
        assert_eq!(Provider::of_id("file_011CNha8iCJcU1wXNR6q4V8w"), Provider::Anthropic);
        assert_eq!(Provider::of_id("file-6F2ksmvXxt4VdoqmHRw6kL"), Provider::OpenAi);
        assert_eq!(Provider::of_id("assistant-1"), Provider::OpenAi);
        let own = "https://generativelanguage.googleapis.com/v1beta/files/abc";
        assert_eq!(Provider::of_url(own), Some(Provider::Gemini));
        assert_eq!(Provider::of_url("https://example.org/files/abc"), None);
        for provider in Provider::ALL {
            assert_eq!(Provider::from_name(provider.name()), Some(provider));
        }
    }
}

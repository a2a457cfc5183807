use crate::canonical::{
    Media, MediaKind, MediaSource, Provider, Role, is_text_type, plain_type, type_of_ending,
};

/// The images, sounds and files that a dialect accepts, and where.
#[derive(Debug)]
pub(in crate::dialect) struct MediaRules {
    /// The roles whose messages may hold media; results have rules of their own.
    pub(in crate::dialect) roles: &'static [Role],
    pub(in crate::dialect) images: MediaRule,
    pub(in crate::dialect) sounds: MediaRule,
    pub(in crate::dialect) files: MediaRule,
    /// What happens to a text file whose type is not in the list of files.
    pub(in crate::dialect) text_files: TextFiles,
    /// The media types of what is at a URL.
    pub(in crate::dialect) url_types: UrlTypes,
    /// The names of inline media.
    pub(in crate::dialect) names: MediaNames,
    /// The ids of uploaded files.
    pub(in crate::dialect) ids: FileIds,
    /// Media that a library or another provider wrote in a form of its own.
    pub(in crate::dialect) library_parts: LibraryParts,
    /// The types of such parts that stay as they are nonetheless.
    pub(in crate::dialect) own_parts: &'static [&'static str],
    /// The media in the result of a call.
    pub(in crate::dialect) results: ResultMedia,
    /// The media in the result of a failed call.
    pub(in crate::dialect) error_results: ResultMedia,
}

/// The media of one kind that a dialect accepts.
#[derive(Debug)]
pub(in crate::dialect) struct MediaRule {
    /// The types of inline data: `image/png`, `text/*` or `*`.
    pub(in crate::dialect) types: &'static [&'static str],
    /// The URLs.
    pub(in crate::dialect) urls: Urls,
}

/// The URLs that a dialect accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum Urls {
    /// Any URL.
    Any,
    /// Any URL but a relative one.
    Absolute,
    /// URLs of these schemes, which the provider fetches; not those of SVG drawings.
    Fetched(&'static [&'static str]),
    /// None.
    Refused,
}

/// The media types of what is at a URL.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum UrlTypes {
    /// They have no place.
    Removed,
    /// They may be unknown.
    Optional,
    /// They must be known, by the stored part or by the ending of the URL, and accepted.
    Required,
}

/// What happens to media that a library or another provider wrote in a form of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum LibraryParts {
    /// They are media like any other.
    Read,
    /// They stay as they are: the dialect is that of such a library.
    Kept,
}

/// What happens to a text file whose type is not in the list of files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum TextFiles {
    /// It stays a file: the dialect has files of plain text.
    Kept,
    /// Its text becomes a text part.
    GivenAsText,
    /// It becomes JSON text, like any other file.
    Refused,
}

/// The names of inline media.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum MediaNames {
    /// They may be there or not.
    Kept,
    /// A file must have one.
    Required,
    /// They are refused.
    Refused,
}

/// The ids of uploaded files that a dialect accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum FileIds {
    /// Any id: the provider is not known here.
    Any,
    /// The ids that this provider gave.
    Of(Provider),
    /// None.
    Refused,
}

/// The media that a result may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::dialect) enum ResultMedia {
    /// Anything: the result is data, not content of a message.
    Raw,
    /// What messages may hold.
    Accepted,
    /// What messages may hold. The result refers to them by their names, so that these stay.
    Named,
    /// None.
    Refused,
}

/// What happens to a part of a message.
#[derive(Debug, PartialEq)]
pub(in crate::dialect::pipeline) enum Verdict {
    /// The dialect accepts it.
    Accepted,
    /// It becomes this text.
    GivenAsText(String),
    /// It becomes its JSON text.
    Refused,
}

impl MediaRule {
    /// Any media.
    pub(in crate::dialect) const ANY: Self = Self { types: &["*"], urls: Urls::Any };

    /// None.
    pub(in crate::dialect) const NONE: Self = Self { types: &[], urls: Urls::Refused };

    /// Returns whether a provider may fetch media of a type. It sees the type itself, so a common name for it will do.
    fn fetches_type(&self, media_type: &str) -> bool {
        let is_jpeg = media_type.eq_ignore_ascii_case("image/jpg");
        self.accepts_type(if is_jpeg { "image/jpeg" } else { media_type })
    }

    fn accepts_type(&self, media_type: &str) -> bool {
        let plain = plain_type(media_type);
        self.types.iter().any(|known| match known.strip_suffix('*') {
            Some(prefix) => plain.starts_with(prefix),
            None => plain == *known,
        })
    }

    /// Returns whether media of a type, if it is known, may be at a URL.
    fn accepts_url(&self, url: &str, url_type: Option<&str>) -> bool {
        match self.urls {
            Urls::Any => true,
            Urls::Absolute => is_absolute(url),
            Urls::Fetched(schemes) => {
                let scheme = url.split_once("://").map(|(scheme, _)| scheme.to_ascii_lowercase());
                let is_known = scheme.is_some_and(|scheme| schemes.contains(&scheme.as_str()));
                let url_type = url_type.filter(|it| !is_any_type(it));
                let mut types = [url_type, type_of_ending(url)].into_iter().flatten().peekable();
                let may_be_accepted =
                    types.peek().is_none() || types.any(|it| self.fetches_type(it));
                is_known && is_absolute(url) && !is_svg(url) && may_be_accepted
            }
            Urls::Refused => false,
        }
    }
}

/// Returns whether a URL has a scheme, and something after it.
fn is_absolute(url: &str) -> bool {
    url.split_once(':').is_some_and(|(scheme, rest)| {
        let mut chars = scheme.chars();
        chars.next().is_some_and(|first| first.is_ascii_alphabetic())
            && chars.all(|char| char.is_ascii_alphanumeric() || "+-.".contains(char))
            && !rest.trim_start_matches('/').trim().is_empty()
    })
}

/// Returns whether a media type leaves open what the media are: it has a wildcard, or is that of any bytes.
fn is_any_type(media_type: &str) -> bool {
    media_type.ends_with("/*") || media_type == "application/octet-stream"
}

fn is_svg(url: &str) -> bool {
    let path = url.split(['?', '#']).next().unwrap_or_default();
    let ending = path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    ending.is_some_and(|ending| ending == "svg" || ending == "svgz")
}

impl MediaRules {
    /// Accepts everything, everywhere.
    pub(in crate::dialect) const ANY: Self = Self {
        roles: &Role::ALL,
        images: MediaRule::ANY,
        sounds: MediaRule::ANY,
        files: MediaRule::ANY,
        text_files: TextFiles::Kept,
        url_types: UrlTypes::Optional,
        names: MediaNames::Kept,
        ids: FileIds::Any,
        library_parts: LibraryParts::Read,
        own_parts: &[],
        results: ResultMedia::Raw,
        error_results: ResultMedia::Raw,
    };

    /// Returns whether every kind of media is accepted, by any URL.
    pub(in crate::dialect::pipeline) fn is_any(&self) -> bool {
        [&self.images, &self.sounds, &self.files].iter().all(|rule| rule.urls == Urls::Any)
    }

    /// Returns the rule for results, or for results of failed calls.
    pub(in crate::dialect::pipeline) fn of_result(&self, is_error: bool) -> ResultMedia {
        if is_error { self.error_results } else { self.results }
    }

    /// Returns whether media of a type are accepted in one of the kinds.
    pub(in crate::dialect::pipeline) fn accepts_type(&self, media_type: &str) -> bool {
        [&self.images, &self.sounds, &self.files].iter().any(|rule| rule.accepts_type(media_type))
    }

    /// Returns what happens to media in a message that may hold some.
    pub(in crate::dialect::pipeline) fn judge(&self, media: &Media) -> Verdict {
        let rule = match media.kind {
            MediaKind::Image => &self.images,
            MediaKind::Audio => &self.sounds,
            MediaKind::File => &self.files,
        };
        let accepted = match &media.source {
            MediaSource::Data { media_type, .. } if rule.accepts_type(media_type) => true,
            MediaSource::Data { media_type, .. } if is_text_type(media_type) => {
                return self.judge_text_file(media);
            }
            MediaSource::Data { .. } => false,
            MediaSource::Url(url) => {
                let is_own = Provider::of_url(url).is_none_or(|owner| self.accepts_id_of(owner));
                rule.accepts_url(url, media.url_type.as_deref()) && is_own
            }
            MediaSource::Id { owner, .. } => self.accepts_id_of(*owner),
        };
        if accepted { Verdict::Accepted } else { Verdict::Refused }
    }

    fn judge_text_file(&self, media: &Media) -> Verdict {
        let text = media.source.text().filter(|text| !text.trim().is_empty());
        match (self.text_files, text) {
            (TextFiles::Kept, Some(_)) => Verdict::Accepted,
            (TextFiles::GivenAsText, Some(text)) => Verdict::GivenAsText(text),
            _ => Verdict::Refused,
        }
    }

    fn accepts_id_of(&self, owner: Provider) -> bool {
        match self.ids {
            FileIds::Any => true,
            FileIds::Of(provider) => owner == provider,
            FileIds::Refused => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WEB: MediaRule =
        MediaRule { types: &["image/png", "text/*"], urls: Urls::Fetched(&["https"]) };

    #[test]
    fn types_are_compared_without_parameters() {
        for (media_type, accepted) in [
            ("image/png", true),
            ("IMAGE/PNG; q=1", true),
            ("text/csv", true),
            ("image/svg+xml", false),
            ("image", false),
        ] {
            assert_eq!(WEB.accepts_type(media_type), accepted, "{media_type}");
        }
    }

    #[test]
    fn only_fetched_urls_are_accepted() {
        for (url, accepted) in [
            ("https://example.org/a.png", true),
            ("HTTPS://example.org/a.svg.png", true),
            ("http://example.org/a.png", false),
            ("https://example.org/a.SVG?x=1", false),
            ("https://", false),
            ("blob:https://example.org/1", false),
            ("file:///a.png", false),
            ("/uploads/a.png", false),
            ("a.png", false),
        ] {
            assert_eq!(WEB.accepts_url(url, None), accepted, "{url}");
        }
        assert!(
            MediaRule::ANY.accepts_url("/a.svg", None)
                && !MediaRule::NONE.accepts_url("https://a", None)
        );
        for (url, url_type, accepted) in [
            ("https://example.org/a", "image/png", true),
            ("https://example.org/a", "image/*", true),
            ("https://example.org/a", "video/mp4", false),
            ("https://example.org/a.mp4", "image/*", false),
            ("https://example.org/a.png", "image/x-png", true),
        ] {
            assert_eq!(WEB.accepts_url(url, Some(url_type)), accepted, "{url} {url_type}");
        }
        let absolute = MediaRule { urls: Urls::Absolute, ..MediaRule::ANY };
        for (url, accepted) in
            [("blob:https://a/1", true), ("file:///a", true), ("/a:b", false), ("https://", false)]
        {
            assert_eq!(absolute.accepts_url(url, None), accepted, "{url}");
        }
    }
}

use serde_json::{Value, json};

use crate::Repair;
use crate::canonical::{
    CanonicalMessage, Media, MediaKind, MediaSource, Role, URL_TYPE, are_parts, plain_type,
    serialise_part,
};
use crate::dialect::pipeline::rules::{
    LibraryParts, MediaNames, MediaRules, ResultMedia, UrlTypes, Verdict,
};
use crate::dropped::shorten;

/// Replaces the images, sounds and files that the target does not accept.
pub(super) fn lower(rules: &MediaRules, message: &mut CanonicalMessage) {
    let place = match message.role {
        Role::Tool => rules.of_result(message.is_error),
        // The result of a legacy call, which keeps its role only where it is a text.
        Role::Function => ResultMedia::Raw,
        role if rules.roles.contains(&role) => ResultMedia::Accepted,
        _ => ResultMedia::Refused,
    };
    let Value::Array(parts) = &mut message.content else {
        return;
    };
    if place != ResultMedia::Raw && are_parts(parts) {
        if rules.library_parts == LibraryParts::Read {
            let own = |part: &Value| rules.own_parts.iter().any(|kind| part["type"] == **kind);
            let others = parts.iter_mut().filter(|part| !own(part));
            message.repairs.extend(others.filter_map(read_of_library));
        }
        let media = parts.iter_mut().filter(|part| is_media(part));
        media.for_each(|part| lower_part(rules, place, part, &mut message.repairs));
    }
}

/// Gives media that a library wrote the stored form, and returns what to report.
fn read_of_library(part: &mut Value) -> Option<Repair> {
    let (media, is_whole) = Media::read_of_library(part)?;
    *part = media.into();
    (!is_whole).then_some(Repair::PartFieldsRemoved)
}

/// Returns whether a part has the type of media.
fn is_media(part: &Value) -> bool {
    matches!(part["type"].as_str(), Some("image_url" | "input_audio" | "file"))
}

/// Changes a part so that the target accepts it, and reports that.
fn lower_part(rules: &MediaRules, place: ResultMedia, part: &mut Value, repairs: &mut Vec<Repair>) {
    let media = Media::read(part);
    let verdict = match &media {
        // A part that cannot be read as media is not checked where any media are accepted.
        None if rules.is_any() => return,
        Some(media) if lacks_type(rules, media) => Verdict::Refused,
        Some(media) if place != ResultMedia::Refused => rules.judge(media),
        _ => Verdict::Refused,
    };
    match (verdict, media) {
        (Verdict::Accepted, Some(media)) => {
            if !rules.is_any() {
                lower_data_url(&media, part);
            }
            let fields = part.as_object_mut().filter(|_| rules.url_types == UrlTypes::Removed);
            if fields.is_some_and(|fields| fields.shift_remove(URL_TYPE).is_some()) {
                repairs.push(Repair::PartFieldsRemoved);
            } else if place != ResultMedia::Named {
                repairs.extend(lower_name(rules.names, &media, part));
            }
        }
        (Verdict::GivenAsText(text), media) => {
            *part = json!({"type": "text", "text": text});
            let name = media.and_then(|media| media.name);
            repairs.push(Repair::FileGivenAsText { name: name.as_deref().map(shorten) });
        }
        _ => *part = json!({"type": "text", "text": serialise_part(part.take(), repairs)}),
    }
}

/// Returns whether media at a URL have no media type that the target accepts, although it requires one.
fn lacks_type(rules: &MediaRules, media: &Media) -> bool {
    let is_accepted = || media.media_type().is_some_and(|it| rules.accepts_type(it));
    rules.url_types == UrlTypes::Required
        && matches!(media.source, MediaSource::Url(_))
        && !is_accepted()
}

/// Leaves out the parameters of the media type of an inline image or file: they mean nothing for base64, and providers that look at
/// the type expect it alone.
fn lower_data_url(media: &Media, part: &mut Value) {
    let MediaSource::Data { media_type, data } = &media.source else { return };
    if media.kind == MediaKind::Audio {
        return;
    }
    let plain = plain_type(media_type);
    for place in ["/image_url/url", "/image_url", "/file/file_data"] {
        if let Some(Value::String(url)) = part.pointer_mut(place)
            && url.starts_with("data:")
        {
            *url = format!("data:{plain};base64,{data}");
        }
    }
}

/// Returns the name for a file of a type that has none.
fn imputed_name(media_type: &str) -> &'static str {
    match plain_type(media_type).as_str() {
        "application/pdf" => "file.pdf",
        "application/json" => "file.json",
        "text/plain" => "file.txt",
        "text/markdown" => "file.md",
        "text/csv" => "file.csv",
        "text/html" => "file.html",
        "application/msword" => "file.doc",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document" => "file.docx",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" => "file.xlsx",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation" => "file.pptx",
        _ => "file",
    }
}

/// Adds or removes the name of accepted media.
fn lower_name(rule: MediaNames, media: &Media, part: &mut Value) -> Option<Repair> {
    let MediaSource::Data { media_type, .. } = &media.source else { return None };
    match (rule, &media.name) {
        (MediaNames::Required, None) if media.kind == MediaKind::File => {
            let name = imputed_name(media_type);
            part["file"]["filename"] = name.into();
            Some(Repair::FileNameAdded { name })
        }
        (MediaNames::Refused, Some(_)) => {
            for holder in ["/file", ""] {
                let fields = part.pointer_mut(holder).and_then(Value::as_object_mut);
                fields.and_then(|fields| fields.remove("filename"));
            }
            Some(Repair::PartFieldsRemoved)
        }
        _ => None,
    }
}

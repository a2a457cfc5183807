use std::collections::HashMap;

use records::JsonObject;
use serde_json::{Map, Value, json};

use super::own_calls::OwnCallFields;
use super::part_fields::{OF_CALL, OF_RESPONSE, SIGNATURE};
use super::{GeminiApi, own_parts, rules};
use crate::canonical::{
    CanonicalMessage, ContentPart, Media, MediaSource, NO_SIGNATURE, Role, are_parts,
};
use crate::dialect::call_places;
use crate::dialect::parsed::add_missing;
use crate::dialect::pieces::{Piece, remove_blank, take_pieces_at};
use crate::dialect::pipeline::MessageWriter;
use crate::dialect::speaker::prefix_text_with_name;
use crate::dialect::turns::{Neighbours, Turn, TurnMerger};
use crate::rendered::Rendered;
use crate::{DropReason, Options, Repair};

/// Writes contents turn by turn.
#[derive(Debug)]
pub(super) struct ContentsWriter {
    api: GeminiApi,
    turns: TurnMerger,
    default_user_name: String,
    /// The name of the function of each call that still gets a result.
    functions: HashMap<String, String>,
}

impl ContentsWriter {
    pub(super) fn new(api: GeminiApi, options: &Options) -> Self {
        Self {
            api,
            turns: TurnMerger::new("parts", text_part, neighbours, rules::GEMINI.turns),
            default_user_name: options.default_user_name.clone(),
            functions: HashMap::new(),
        }
    }

    fn write_result(&mut self, message: &mut CanonicalMessage) -> Value {
        let name = self.functions.get(&message.call_id).cloned().unwrap_or_default();
        let field = if message.is_error { "error" } else { "output" };
        let (own, removes_any) = OwnCallFields::take(&mut message.result_fields, OF_RESPONSE);
        if removes_any {
            message.repairs.push(Repair::CallFieldsRemoved);
        }
        let media = take_media(message);
        let output = match &message.content {
            Value::Array(parts) if are_parts(parts) => message.take_text().into(),
            _ => message.content.take(),
        };
        let output = match output {
            Value::String(text) if own.is_json => {
                records::json::parse(text.as_bytes()).unwrap_or_else(|_| text.into())
            }
            output => output,
        };
        let output = match output {
            Value::Object(output) if is_response(&output) && !message.is_error => output.into(),
            output => json!({field: output}),
        };
        let id = &message.call_id;
        let mut response = json!({"id": id, "name": name, "response": output});
        if !media.is_empty() {
            response["parts"] = media.into();
        }
        let mut part = json!({"functionResponse": response});
        own.add_to(&mut part, "functionResponse");
        part
    }

    fn write_speech(&mut self, message: &mut CanonicalMessage) -> Vec<Value> {
        let mut places = call_places::take(message);
        let besides = own_parts::take_besides(message);
        let kept = own_parts::kept_parts(message);
        let pieces = take_pieces_at(message, |at, _| kept.contains(&at));
        // A stream of a model may end with a signature alone.
        let is_signed = |besides: &JsonObject| besides.contains_key(SIGNATURE);
        let count = pieces.len();
        let (mut pieces, besides) = remove_blank(message, pieces, besides, is_signed);
        if pieces.len() < count {
            // The places count the stored parts.
            places.clear();
        }
        let first_text = pieces.iter_mut().find_map(|piece| match piece {
            Piece::Content(ContentPart::Text(text)) if !text.trim().is_empty() => Some(text),
            _ => None,
        });
        prefix_text_with_name(message, first_text, &self.default_user_name);
        let api = self.api;
        let write = |(piece, besides)| {
            let mut part = match piece {
                Piece::Kept(part) => own_parts::write_kept(part),
                Piece::Content(part) => write_part(api, message, part),
            };
            add_missing(&mut part, own_parts::flattened(besides));
            part
        };
        let parts = pieces.into_iter().zip(besides).map(write).collect();
        let calls = self.write_calls(message);
        call_places::place(parts, calls, &places)
    }

    fn write_calls(&mut self, message: &mut CanonicalMessage) -> Vec<Value> {
        // All results of earlier calls are written: the calls of this message replace theirs.
        self.functions.clear();
        let mut calls = Vec::new();
        for call in &mut message.calls {
            let arguments = call.take_arguments();
            let (id, name) = (&call.id, &call.target.name);
            self.functions.insert(id.clone(), name.clone());
            let mut part = json!({"functionCall": {"id": id, "name": name, "args": arguments}});
            if calls.is_empty() {
                let signature = call.signature.take().unwrap_or_else(|| {
                    call.repairs.push(Repair::SignatureAdded);
                    NO_SIGNATURE.to_owned()
                });
                part[SIGNATURE] = signature.into();
            }
            let (own, removes_any) = OwnCallFields::take(&mut call.extra_content, OF_CALL);
            own.add_to(&mut part, "functionCall");
            if removes_any {
                call.repairs.push(Repair::CallFieldsRemoved);
            }
            calls.push(part);
        }
        calls
    }
}

impl MessageWriter for ContentsWriter {
    fn write(&mut self, mut message: CanonicalMessage, rendered: &mut Rendered) {
        let origin = message.origin;
        if message.role == Role::Tool {
            let blocks = vec![self.write_result(&mut message)];
            message.report_repairs(rendered);
            self.turns.add(Turn::of_results(origin, blocks), rendered);
            return;
        }
        let blocks = self.write_speech(&mut message);
        if blocks.is_empty() {
            rendered.drop(origin, DropReason::BlankContent);
            return;
        }
        let is_instruction = matches!(message.role, Role::System | Role::Developer);
        if is_instruction && self.turns.observe_instruction(origin) {
            message.repairs.push(Repair::InstructionHoisted);
        }
        message.report_repairs(rendered);
        if is_instruction {
            rendered.system.extend(blocks);
            return;
        }
        let role = if message.role == Role::Assistant { "model" } else { "user" };
        self.turns.add(Turn::of_speech(&message, role, blocks), rendered);
    }

    fn finish(&mut self, rendered: &mut Rendered) {
        self.turns.finish(rendered);
    }
}

fn write_part(api: GeminiApi, message: &mut CanonicalMessage, part: ContentPart) -> Value {
    let mut media = match part {
        ContentPart::Text(text) => return text_part(&text),
        ContentPart::Media(media) => media,
    };
    let is_file = matches!(media.source, MediaSource::Url(_));
    if is_file && api == GeminiApi::Developer && media.name.take().is_some() {
        message.repairs.push(Repair::PartFieldsRemoved);
    }
    write_media(&media).unwrap_or_else(|| text_part(&message.part_text(ContentPart::Media(media))))
}

/// Creates the part of an image, a sound or a file; `None` if only another provider has the bytes.
fn write_media(media: &Media) -> Option<Value> {
    let (field, mut payload) = match &media.source {
        MediaSource::Data { media_type, data } => {
            ("inlineData", json!({"mimeType": media_type, "data": data}))
        }
        MediaSource::Url(url) => {
            let mut file = json!({"fileUri": url});
            if let Some(media_type) = media.media_type() {
                file["mimeType"] = media_type.into();
            }
            ("fileData", file)
        }
        MediaSource::Id { .. } => return None,
    };
    if let Some(name) = &media.name {
        payload["displayName"] = name.as_str().into();
    }
    Some(Value::from_iter([(field, payload)]))
}

/// Takes the media out of the content of a result, and leaves its texts as one text.
fn take_media(message: &mut CanonicalMessage) -> Vec<Value> {
    let has_media = message.content.as_array().is_some_and(|parts| {
        are_parts(parts) && parts.iter().any(|part| Media::read(part).is_some())
    });
    if !has_media {
        return Vec::new();
    }
    let besides = own_parts::take_besides_media(message);
    let (mut media, mut texts) = (Vec::new(), Vec::new());
    for (at, part) in message.take_parts().into_iter().enumerate() {
        match part {
            ContentPart::Text(text) => texts.push(text),
            ContentPart::Media(one) => {
                let written = write_media(&one).map(|mut part| {
                    add_missing(&mut part, besides.get(at).cloned().unwrap_or_default());
                    part
                });
                media.extend(written);
            }
        }
    }
    if texts.len() > 1 {
        message.repairs.push(Repair::PartsJoined);
    }
    let is_empty = texts.is_empty() && !message.is_error;
    message.content = if is_empty { json!({}) } else { texts.join("\n").into() };
    media
}

/// The responses to calls are a turn of their own.
fn neighbours(open: &Turn, next: &Turn) -> Neighbours {
    if open.kind == next.kind { Neighbours::Joined } else { Neighbours::Apart }
}

fn text_part(text: &str) -> Value {
    json!({"text": text})
}

/// Returns whether an object can be a response, in which one field `output` or `error` has a meaning.
fn is_response(output: &Map<String, Value>) -> bool {
    output.len() != 1 || !(output.contains_key("output") || output.contains_key("error"))
}

//! Line of a file of spans: a JSON object with the field names of OTLP or short names.

use crate::diagnostic::{Diagnostic, Result};
use crate::keys::FLOW_SIZE;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::ops::Range;

pub(super) const TRACE: &[&str] = &["traceId", "trace_id"];
pub(super) const SPAN: &[&str] = &["spanId", "span_id"];
pub(super) const PARENT: &[&str] = &["parentSpanId", "parent_id"];
pub(super) const START: &[&str] = &["startTimeUnixNano", "start_ns"];
const END: &[&str] = &["endTimeUnixNano", "end_ns"];
const DURATION: &[&str] = &["duration_ns"];
const REQUEST: &[&str] = &["request_bytes", "http.request.body.size"];
pub(super) const RESPONSE: &[&str] = &["response_bytes", "http.response.body.size"];
const HOST: &[&str] = &["host", "host.name"];
const SERVICE: &[&str] = &["service", "service.name"];
const ATTRIBUTES: &[&str] = &["attributes"];
/// Kind of a client's span in OTLP, as number and as name.
const CLIENT: (u64, &str) = (3, "SPAN_KIND_CLIENT");

/// Example of a span, for messages.
const EXAMPLE: &str = "one span per line, such as {\"trace_id\": \"a\", \"span_id\": \"2\", \"parent_id\": \"1\", \"start_ns\": 0, \"duration_ns\": 250000, \"response_bytes\": 10000}";
/// Maximum length of an identifier or a name, in bytes.
const MAX_NAME_BYTES: usize = 256;
/// Maximum duration of a span, and latest start of a root: a day.
pub(super) const DAY_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// Maximum size of a request, as of a query in a workload of trees.
const MAX_REQUEST: u64 = 1_000_000_000;

/// Span.
#[derive(Debug)]
pub(super) struct Line {
    pub trace: String,
    pub id: String,
    pub parent: Option<String>,
    pub start_ns: u64,
    pub end_ns: u64,
    pub request: Option<u64>,
    pub response: Option<u64>,
    pub host: Option<String>,
    /// True for the span of a client, from its request to the arrival of the answer.
    pub is_client: bool,
}

/// Fields of a line, each with one of its names. Other fields are ignored.
#[derive(Deserialize)]
struct Written {
    #[serde(rename = "traceId", alias = "trace_id")]
    trace: Option<Value>,
    #[serde(rename = "spanId", alias = "span_id")]
    id: Option<Value>,
    #[serde(rename = "parentSpanId", alias = "parent_id")]
    parent: Option<Value>,
    #[serde(rename = "startTimeUnixNano", alias = "start_ns")]
    start: Option<Value>,
    #[serde(rename = "endTimeUnixNano", alias = "end_ns")]
    end: Option<Value>,
    #[serde(rename = "duration_ns")]
    duration: Option<Value>,
    request_bytes: Option<Value>,
    response_bytes: Option<Value>,
    host: Option<Value>,
    service: Option<Value>,
    kind: Option<Value>,
    attributes: Option<Vec<Attribute>>,
    #[serde(rename = "resourceSpans")]
    resource_spans: Option<IgnoredAny>,
}

/// Attribute in OTLP.
#[derive(Deserialize)]
struct Attribute {
    key: String,
    value: Option<AttributeValue>,
}

#[derive(Deserialize)]
struct AttributeValue {
    #[serde(rename = "stringValue")]
    text: Option<Value>,
    #[serde(rename = "intValue")]
    number: Option<Value>,
}

/// Reads the span at `place` of `text`, the content of `file`.
pub(super) fn read(file: &str, text: &str, place: &Range<usize>) -> Result<Line> {
    let line = &text[place.clone()];
    let wrong = |message: String| Diagnostic::at(file, text, place.clone(), message);
    if !line.trim_start().starts_with('{') {
        return Err(wrong("not a JSON object".to_owned()).allowed(EXAMPLE));
    }
    let written: Written =
        serde_json::from_str(line).map_err(|error| syntax(file, text, place, &error))?;
    if written.resource_spans.is_some() {
        let field = spelled(text, place, &["resourceSpans"]).1;
        let error = Diagnostic::at(file, text, field, "a line with many spans").allowed(EXAMPLE);
        return Err(
            error.help("`jq -c '.resourceSpans[].scopeSpans[].spans[]'` writes one span per line")
        );
    }
    let fields = Fields { file, text, place };
    let id = |value: Option<Value>, names: &'static [&'static str]| match value {
        Some(value) => fields.name(&value, names),
        None => Err(fields.missing(names)),
    };
    let (trace, span) = (id(written.trace, TRACE)?, id(written.id, SPAN)?);
    let parent = match written.parent {
        Some(value) if value == "" => None,
        Some(value) => Some(fields.name(&value, PARENT)?),
        None => None,
    };
    let start_ns = match &written.start {
        Some(value) => fields.whole(value, START, (0, u64::MAX), "ns")?,
        None => return Err(fields.missing(START)),
    };
    let end_ns = fields.end(start_ns, written.end.as_ref(), written.duration.as_ref())?;
    let attribute = |name: &str| {
        let mut all = written.attributes.iter().flatten();
        let found = all
            .find(|attribute| attribute.key == name)?
            .value
            .as_ref()?;
        found.text.clone().or_else(|| found.number.clone())
    };
    let size = |value: Option<Value>, names: &'static [&'static str], most| {
        let value = value.or_else(|| attribute(names[1]));
        let read = |value| fields.whole(&value, names, (1, most), "bytes");
        value.map(read).transpose()
    };
    let (request, response) = (
        size(written.request_bytes, REQUEST, MAX_REQUEST)?,
        size(written.response_bytes, RESPONSE, FLOW_SIZE.1)?,
    );
    let name = |value: Option<Value>, names: &'static [&'static str]| {
        let value = value.or_else(|| attribute(names[1]));
        value.map(|value| fields.name(&value, names)).transpose()
    };
    let host = match name(written.host, HOST)? {
        Some(host) => Some(host),
        None => name(written.service, SERVICE)?,
    };
    Ok(Line {
        trace,
        id: span,
        parent,
        start_ns,
        end_ns,
        request,
        response,
        host,
        is_client: written
            .kind
            .is_some_and(|kind| kind == CLIENT.0 || kind == CLIENT.1),
    })
}

/// Creates the error for a line that is not an object with the fields above.
fn syntax(file: &str, text: &str, place: &Range<usize>, error: &serde_json::Error) -> Diagnostic {
    let text_of_error = error.to_string();
    let message = (text_of_error.split(" at line ").next()).unwrap_or(&text_of_error);
    // The column counts bytes from 1; it is 0 after the end of a line.
    let at = place.start + error.column().saturating_sub(1).min(place.len());
    if error.is_data() {
        let field = spelled(text, place, ATTRIBUTES).1;
        let twice = message.starts_with("duplicate field");
        let place = if twice { at..at + 1 } else { field };
        let allowed = if twice {
            "each field once, with one of its names"
        } else {
            "attributes as in OTLP: [{\"key\": \"…\", \"value\": {\"intValue\": \"…\"}}]"
        };
        return Diagnostic::at(file, text, place, message).allowed(allowed);
    }
    let message = format!("not a JSON object: {message}");
    Diagnostic::at(file, text, at..at + 1, message).allowed(EXAMPLE)
}

/// Returns the name of a field in the span at `place` and its position. If the field is absent, returns its first name
/// and the whole span.
pub(super) fn spelled<'n>(
    text: &str,
    place: &Range<usize>,
    names: &[&'n str],
) -> (&'n str, Range<usize>) {
    let line = &text[place.clone()];
    let found = names.iter().find_map(|name| {
        let at = place.start + line.find(&format!("\"{name}\""))?;
        Some((*name, at..at + name.len() + 2))
    });
    found.unwrap_or_else(|| (names.first().copied().unwrap_or_default(), place.clone()))
}

/// Reader of the fields of one line.
struct Fields<'t> {
    file: &'t str,
    text: &'t str,
    place: &'t Range<usize>,
}

impl Fields<'_> {
    /// Creates an error in the value of a field.
    fn wrong(&self, names: &[&str], value: &str, message: &str) -> Diagnostic {
        let (name, place) = spelled(self.text, self.place, names);
        Diagnostic::at(self.file, self.text, place, message)
            .key(name)
            .value(value)
    }

    fn missing(&self, names: &[&str]) -> Diagnostic {
        let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
        let message = format!("a span without one of {}", names.join(", "));
        Diagnostic::at(self.file, self.text, self.place.clone(), message).allowed(EXAMPLE)
    }

    fn name(&self, value: &Value, names: &[&str]) -> Result<String> {
        let allowed = format!("a text of 1 to {MAX_NAME_BYTES} bytes");
        match value.as_str() {
            Some(name) if (1..=MAX_NAME_BYTES).contains(&name.len()) => Ok(name.to_owned()),
            Some(_) => Err(self
                .wrong(names, &shown(value), "empty or too long")
                .allowed(allowed)),
            None => Err(self
                .wrong(names, &shown(value), "not a text")
                .allowed(allowed)),
        }
    }

    /// Reads an integer in a range, as a number or in quotes as in OTLP.
    fn whole(
        &self,
        value: &Value,
        names: &[&str],
        (least, most): (u64, u64),
        unit: &str,
    ) -> Result<u64> {
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let number = match value {
            Value::String(text) if digits(text) => text.parse().ok(),
            value => value.as_u64(),
        };
        let allowed =
            format!("a whole number of {unit}, {least} to {most}, with or without quotes");
        match number {
            Some(number) if (least..=most).contains(&number) => Ok(number),
            Some(_) => Err(self
                .wrong(names, &shown(value), "out of range")
                .allowed(allowed)),
            None => {
                let message = "not a whole number in range";
                Err(self.wrong(names, &shown(value), message).allowed(allowed))
            }
        }
    }

    fn end(&self, start: u64, end: Option<&Value>, duration: Option<&Value>) -> Result<u64> {
        let (end, names, value) = match (end, duration) {
            (None, None) => {
                let names = [END, DURATION].concat();
                return Err(self.missing(&names));
            }
            (Some(_), Some(value)) => {
                let error = self.wrong(DURATION, &shown(value), "set together with the span's end");
                return Err(error.allowed("one of the end and the duration"));
            }
            (Some(value), None) => (self.whole(value, END, (0, u64::MAX), "ns")?, END, value),
            (None, Some(value)) => {
                let duration = self.whole(value, DURATION, (0, DAY_NS), "ns")?;
                let end = start.checked_add(duration).ok_or_else(|| {
                    let error = self.wrong(DURATION, &shown(value), "the span ends too late");
                    error.allowed(format!("an end of at most {} ns", u64::MAX))
                })?;
                (end, DURATION, value)
            }
        };
        if end < start {
            let message = format!("before the span's start, {start}: its duration is negative");
            let error = self.wrong(names, &shown(value), &message);
            return Err(error.allowed("the start or later"));
        }
        if end - start > DAY_NS {
            let error = self.wrong(names, &shown(value), "the span is too long");
            return Err(error.allowed("spans of at most 24 hours"));
        }
        Ok(end)
    }
}

/// Formats a value, cut if it is long.
fn shown(value: &Value) -> String {
    let written = value.to_string();
    match written.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &written[..at]),
        None => written,
    }
}

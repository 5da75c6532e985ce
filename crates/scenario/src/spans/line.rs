//! One line of a file of spans: a JSON object with the fields of OTLP or short ones.

use super::Result;
use crate::diagnostic::Diagnostic;
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
/// The kind of a client's span, as OTLP writes it: by number or by name.
const CLIENT: (u64, &str) = (3, "SPAN_KIND_CLIENT");

/// What a span looks like, for messages.
const EXAMPLE: &str = "one span a line, such as {\"trace_id\": \"a\", \"span_id\": \"2\", \"parent_id\": \"1\", \"start_ns\": 0, \"duration_ns\": 250000, \"response_bytes\": 10000}";
/// Characters of an identifier or a name.
const LONGEST_NAME: usize = 256;
/// The longest span, and the latest root: a day.
pub(super) const DAY_NS: u64 = 24 * 3_600 * 1_000_000_000;
/// Bytes of a request, as of a query in a workload of trees.
const MOST_REQUEST: u64 = 1_000_000_000;

/// One span.
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
    /// True for the span of a client: from its request until it has the answer.
    pub is_client: bool,
}

/// The fields of a line, each in one of its spellings; others are ignored.
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

/// An attribute of OTLP.
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
        let error =
            Diagnostic::at(file, text, field, "a line that holds many spans").allowed(EXAMPLE);
        return Err(
            error.help("`jq -c '.resourceSpans[].scopeSpans[].spans[]'` writes one span a line")
        );
    }
    let of = Fields { file, text, place };
    let id = |value: Option<Value>, names: &'static [&'static str]| match value {
        Some(value) => of.name(&value, names),
        None => Err(of.missing(names)),
    };
    let (trace, span) = (id(written.trace, TRACE)?, id(written.id, SPAN)?);
    let parent = match written.parent {
        Some(value) if value == "" => None,
        Some(value) => Some(of.name(&value, PARENT)?),
        None => None,
    };
    let start_ns = match &written.start {
        Some(value) => of.whole(value, START, (0, u64::MAX), "ns")?,
        None => return Err(of.missing(START)),
    };
    let end_ns = of.end(start_ns, written.end.as_ref(), written.duration.as_ref())?;
    let attribute = |name: &str| {
        let mut all = written.attributes.iter().flatten();
        let found = all.find(|of| of.key == name)?.value.as_ref()?;
        found.text.clone().or_else(|| found.number.clone())
    };
    let size = |value: Option<Value>, names: &'static [&'static str], most| {
        let value = value.or_else(|| attribute(names[1]));
        let read = |value| of.whole(&value, names, (1, most), "bytes");
        value.map(read).transpose()
    };
    let (request, response) = (
        size(written.request_bytes, REQUEST, MOST_REQUEST)?,
        size(written.response_bytes, RESPONSE, FLOW_SIZE.1)?,
    );
    let name = |value: Option<Value>, names: &'static [&'static str]| {
        let value = value.or_else(|| attribute(names[1]));
        value.map(|value| of.name(&value, names)).transpose()
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

/// What a line says that is no object of the fields above.
fn syntax(file: &str, text: &str, place: &Range<usize>, error: &serde_json::Error) -> Diagnostic {
    let said = error.to_string();
    let what = said.split(" at line ").next().unwrap_or(&said);
    // Its column counts bytes from 1; 0 where it stands behind a line.
    let at = place.start + error.column().saturating_sub(1).min(place.len());
    if error.is_data() {
        let field = spelled(text, place, ATTRIBUTES).1;
        let twice = what.starts_with("duplicate field");
        let place = if twice { at..at + 1 } else { field };
        let allowed = if twice {
            "each field once, in one of its spellings"
        } else {
            "attributes as in OTLP: [{\"key\": \"…\", \"value\": {\"intValue\": \"…\"}}]"
        };
        return Diagnostic::at(file, text, place, what).allowed(allowed);
    }
    let message = format!("not a JSON object: {what}");
    Diagnostic::at(file, text, at..at + 1, message).allowed(EXAMPLE)
}

/// The spelling of a field in the span at `place`, and where; the first spelling and the whole span where it is not there.
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

/// How the fields of one line are read.
struct Fields<'t> {
    file: &'t str,
    text: &'t str,
    place: &'t Range<usize>,
}

impl Fields<'_> {
    /// A mistake in the value of a field.
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
        let allowed = format!("a text of 1 to {LONGEST_NAME} bytes");
        match value.as_str() {
            Some(name) if (1..=LONGEST_NAME).contains(&name.len()) => Ok(name.to_owned()),
            Some(_) => Err(self
                .wrong(names, &shown(value), "empty or too long")
                .allowed(allowed)),
            None => Err(self
                .wrong(names, &shown(value), "not a text")
                .allowed(allowed)),
        }
    }

    /// A whole number in a range, as a number or, as OTLP writes it, in quotes.
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
                let error = self.wrong(DURATION, &shown(value), "beside the span's end");
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

/// A value as it is written, cut where it is long.
fn shown(value: &Value) -> String {
    let written = value.to_string();
    match written.char_indices().nth(60) {
        Some((at, _)) => format!("{}…", &written[..at]),
        None => written,
    }
}

//! The simulator for a web page. [`Page::call`] takes and returns JSON; the wasm32 module exports only this call.
//!
//! | `ask` | arguments | result |
//! |---|---|---|
//! | `ready` | – | ready scenarios and stories of the papers |
//! | `check` | `text` | contents and controls of the scenario, or the invalid line |
//! | `add_transport` | `text`, `transport` | text with the built-in transport added to the compared ones |
//! | `turn` | `text`, `control`, `value` | text with a control set to the value |
//! | `begin` | `text`, `transports` | new study: its runs, and the result of `check` |
//! | `run` | `transport`, `run` | run of the study: packet-hops and digest |
//! | `best` | `run` | bound of a run: true if it is known |
//! | `results` | – | current results: a sentence, a row per transport and a figure |
//! | `story` | `story`, `panel`, `scheme` | run of a paper's experiment at its bottleneck |
//! | `window` | `from_ns`, `to_ns` | packets of the story between two instants |
//!
//! Responses are `{"ok": …}` or `{"error": {"message": …}}`, with the line, key, value and allowed values if known.
//! Times are in nanoseconds, or in seconds if the name ends in `_s`; sizes are in bytes, shares in [0, 1].

#![cfg_attr(not(target_arch = "wasm32"), forbid(unsafe_code))]

#[cfg(target_arch = "wasm32")]
mod abi;
mod answer;
mod controls;
mod error;
mod figure;
mod limits;
mod port;
mod ready;
mod scenario;
mod stories;
mod study;
mod transports;

use error::Error;
use port::Port;
use serde::Deserialize;
use serde_json::{Value, json};
use study::Study;

pub use limits::{MAX_FLOWS, MAX_HOSTS, MAX_PACKET_HOPS, MAX_SEEDS, MAX_TEXT_BYTES};

/// State of a page between calls: its study and its story.
#[derive(Default)]
pub struct Page {
    study: Option<Study>,
    port: Option<Port>,
}

#[derive(Deserialize)]
#[serde(tag = "ask", rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    Ready {},
    Check {
        text: String,
    },
    AddTransport {
        text: String,
        transport: String,
    },
    Turn {
        text: String,
        control: String,
        value: String,
    },
    Begin {
        text: String,
        transports: Vec<String>,
    },
    Run {
        transport: usize,
        run: u64,
    },
    Best {
        run: u64,
    },
    Results {},
    Story {
        story: String,
        panel: Option<String>,
        scheme: String,
    },
    Window {
        from_ns: u64,
        to_ns: u64,
    },
}

impl Page {
    /// Handles a request in JSON and returns the response in JSON, as listed above. Malformed requests return an error.
    pub fn call(&mut self, request: &str) -> String {
        let answer = match self.answer(request) {
            Ok(answer) => json!({ "ok": answer }),
            Err(error) => json!({ "error": error }),
        };
        answer.to_string()
    }

    fn answer(&mut self, request: &str) -> Result<Value, Error> {
        let request: Request =
            serde_json::from_str(request).map_err(|why| Error::plain(format!("request: {why}")))?;
        match request {
            Request::Ready {} => {
                Ok(json!({ "scenarios": ready::all(), "stories": stories::all() }))
            }
            Request::Check { text } => scenario::check(&text).map(|(_, facts)| facts),
            Request::AddTransport { text, transport } => {
                transports::add(&text, &transport).map(|text| json!({ "text": text }))
            }
            Request::Turn {
                text,
                control,
                value,
            } => controls::turn(&text, &control, &value).map(|text| json!({ "text": text })),
            Request::Begin { text, transports } => {
                // A study that fails to start also ends the previous one.
                self.study = None;
                let (study, facts) = Study::begin(&text, &transports)?;
                self.study = Some(study);
                Ok(facts)
            }
            Request::Run { transport, run } => self.study()?.run(transport, run),
            Request::Best { run } => self.study()?.best(run),
            Request::Results {} => Ok(self.study()?.results()),
            Request::Story {
                story,
                panel,
                scheme,
            } => {
                self.port = None;
                let (port, description) = stories::play(&story, panel.as_deref(), &scheme)?;
                self.port = Some(port);
                Ok(description)
            }
            Request::Window { from_ns, to_ns } => {
                let port = self.port.as_ref();
                let port = port.ok_or_else(|| Error::plain("no story is selected"))?;
                Ok(port.window(from_ns, to_ns))
            }
        }
    }

    fn study(&mut self) -> Result<&mut Study, Error> {
        let study = self.study.as_mut();
        study.ok_or_else(|| Error::plain("no study has started"))
    }
}

//! The simulator for a page: [`Page::call`] takes JSON and gives JSON, and is all that the module for wasm32 exports.
//!
//! | `ask` | with | gives |
//! |---|---|---|
//! | `ready` | – | the ready scenarios and the stories of the papers |
//! | `check` | `text` | what the scenario contains, and its controls; or the line that is wrong |
//! | `turn` | `text`, `control`, `value` | the text with one control turned |
//! | `begin` | `text`, `transports` | a study: its runs, and what `check` gives |
//! | `run` | `transport`, `run` | one run of it: its packet-hops and its digest |
//! | `best` | `run` | whether the best possible in that run is known |
//! | `results` | – | the answer so far in one sentence, a row for each transport, a figure |
//! | `story` | `story`, `panel`, `scheme` | one run of a paper's experiment at its bottleneck |
//! | `window` | `from_ns`, `to_ns` | its packets between two instants |
//!
//! An answer is `{"ok": …}`, or `{"error": {"message": …}}` with the line, key, value and what is allowed where they are
//! known. Times are in nanoseconds or, where a name ends in `_s`, in seconds; sizes in bytes; shares in [0, 1].

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

pub use limits::{MOST_FLOWS, MOST_HOPS, MOST_HOSTS, MOST_SEEDS, MOST_TEXT};

/// What a page holds between calls: the study that it shows, and the run that it plays.
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
    /// Answers one request, both as JSON; see the table above. A request that cannot be read is an error as any other.
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
            Request::Turn {
                text,
                control,
                value,
            } => controls::turn(&text, &control, &value).map(|text| json!({ "text": text })),
            Request::Begin { text, transports } => {
                // A study that cannot begin ends the one before.
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
                let (port, told) = stories::play(&story, panel.as_deref(), &scheme)?;
                self.port = Some(port);
                Ok(told)
            }
            Request::Window { from_ns, to_ns } => {
                let port = self.port.as_ref();
                let port = port.ok_or_else(|| Error::plain("no story is being played"))?;
                Ok(port.window(from_ns, to_ns))
            }
        }
    }

    fn study(&mut self) -> Result<&mut Study, Error> {
        let study = self.study.as_mut();
        study.ok_or_else(|| Error::plain("no study has begun"))
    }
}

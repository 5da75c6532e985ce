//! Ready scenarios, from `scenarios/` and from `duetime new`.

use duetime_scenario::service::{Service, ServiceKind};
use serde_json::{Value, json};

/// Returns the ready scenarios with their ids, names, descriptions and texts.
pub fn all() -> Vec<Value> {
    let files = [
        (
            "feature-store",
            "Feature store",
            "64 hosts; a request queries 20 shards and needs all answers within 4 ms. The example of the README.",
            include_str!("../../../scenarios/feature-store.toml"),
        ),
        (
            "incast",
            "Incast",
            "30 hosts send to one host at once, a hundred times.",
            include_str!("../../../scenarios/incast.toml"),
        ),
    ];
    let file = |(id, name, about, text): (&str, &str, &str, &str)| json!({ "id": id, "name": name, "about": about, "text": text });
    let service = |kind: ServiceKind| {
        let id = kind.name();
        let name = format!("{}{} service", id[..1].to_uppercase(), &id[1..]);
        let about = format!("The defaults of `duetime new {id}`: {}.", kind.about());
        let text = Service::usual(kind).to_toml(id, &format!("{id}.toml"));
        json!({ "id": id, "name": name, "about": about, "text": text })
    };
    let services = ServiceKind::ALL.into_iter().map(service);
    files.into_iter().map(file).chain(services).collect()
}

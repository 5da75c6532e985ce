//! Conversions between a study and its run folder.

use duetime_results::{FlowRecord, RunRecords, digest};
use duetime_scenario::resolved_json;
use duetime_sim::RunOutput;
use duetime_store::{
    Captures, Manifest, Point, RunInfo, RunKey, RunNotes, RunState, State, StoreError, pcapng,
};

use crate::error::StudyError;
use crate::plan::{Plan, Request};
use crate::pool::End;

/// Returns the manifest of a plan.
pub fn manifest(plan: &Plan) -> Manifest {
    let request = &plan.request;
    let base = &plan.base;
    let mut manifest = Manifest::new(&base.name, resolved_json(base), &request.text);
    // Later commands may run in another working directory.
    let file = std::path::absolute(&request.file).unwrap_or_else(|_| request.file.clone());
    manifest.scenario_file = file.display().to_string();
    manifest.overrides.clone_from(&request.settings);
    manifest.seed = base.seed;
    manifest.seeds = u64::from(base.seeds);
    let transports = base.transport_names().into_iter();
    manifest.transports = transports.map(str::to_owned).collect();
    manifest.points = plan
        .points
        .iter()
        .filter(|point| !point.settings.is_empty())
        .map(|point| Point {
            id: duetime_store::point_id(&point.settings),
            values: point.settings.clone(),
        })
        .collect();
    manifest
}

/// Resolves the plan that a manifest describes.
pub fn plan(manifest: &Manifest) -> Result<Plan, StudyError> {
    Plan::new(request(manifest))
}

/// Returns the request that a manifest records.
pub fn request(manifest: &Manifest) -> Request {
    let mut settings = manifest.points.iter().flat_map(|point| &point.values);
    let varied = settings.any(|(key, _)| key == "transport");
    Request {
        text: manifest.scenario_text.clone(),
        file: manifest.scenario_file.clone().into(),
        settings: manifest.overrides.clone(),
        // The sweep sets the transport of each point.
        transports: if varied {
            Vec::new()
        } else {
            manifest.transports.clone()
        },
        points: manifest
            .points
            .iter()
            .map(|point| point.values.clone())
            .collect(),
    }
}

/// Records in the manifest how each run ended and that the study ends now.
pub fn finish(manifest: &mut Manifest, keys: &[RunKey], ends: &[End<String>]) {
    let ends = keys.iter().zip(ends);
    manifest.runs = ends
        .map(|(key, end)| match end {
            End::Kept(digest) => state(key, State::Done, Some(digest.clone()), None),
            End::Failed(_, why) => state(key, State::Failed, None, Some(why.clone())),
            End::Missing => state(key, State::Missing, None, None),
        })
        .collect();
    manifest.finish();
}

fn state(key: &RunKey, state: State, digest: Option<String>, reason: Option<String>) -> RunState {
    RunState {
        point: key.point.clone(),
        transport: key.transport.clone(),
        run: key.run,
        state,
        digest,
        reason,
    }
}

/// Prepares a finished run and passes it to `write`.
pub fn save(
    output: &RunOutput,
    wall_seconds: f64,
    threads: usize,
    write: impl FnOnce(&RunRecords, &RunNotes, Option<Captures<'_>>) -> Result<RunInfo, StoreError>,
) -> Result<RunInfo, StudyError> {
    let ended = |flow: &FlowRecord| flow.finish.is_some() || flow.quenched;
    let measured = |flow: &&FlowRecord| flow.measured && flow.is_finite();
    let notes = RunNotes {
        digest: digest(&output.records).to_string(),
        complete: output.records.flows.iter().filter(measured).all(ended),
        wall_seconds,
        threads,
    };
    let links: Vec<String> = output
        .capture_links
        .iter()
        .map(|(_, name)| name.clone())
        .collect();
    // Packets hold link indices of the network, but the capture file indexes only the captured links.
    let place = |link: u32| {
        let mut captured = output.capture_links.iter();
        captured.position(|&(index, _)| index == link)
    };
    let packets: Vec<pcapng::Packet<'_>> = output
        .captures
        .iter()
        .filter_map(|packet| {
            Some(pcapng::Packet {
                link: u32::try_from(place(packet.link)?).ok()?,
                at: packet.at,
                original_bytes: packet.original_bytes,
                bytes: &packet.bytes,
            })
        })
        .collect();
    let captures = (!links.is_empty()).then_some(Captures {
        links: &links,
        packets: &packets,
    });
    Ok(write(&output.records, &notes, captures)?)
}

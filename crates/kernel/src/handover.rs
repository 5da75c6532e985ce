//! Maps that an attachment takes over from earlier ones.
//!
//! A connection keeps its controller after that is detached, with its programs and their maps, until it closes. The next
//! attachment uses the same maps, so that deadlines of such connections still reach their controller, the new policy
//! applies to them, and their bytes and messages are counted.

use libbpf_rs::query::{MapInfo, MapInfoIter};
use libbpf_rs::{MapHandle, OpenObject};
use std::os::fd::AsFd;

/// Maps that connections use. After a change of what the values mean, a map needs a new name; a map whose sizes changed is
/// not taken over.
const MAPS: [&str; 5] = [
    "duetime_flows",
    "duetime_origins",
    "duetime_policy",
    "duetime_select",
    "duetime_totals",
];

/// Makes the object use the maps of remaining connections, if there are any with the same types and sizes.
pub(crate) fn take_over(object: &mut OpenObject) -> libbpf_rs::Result<()> {
    let Some(handles) = remaining(object) else {
        return Ok(());
    };
    for mut map in object.maps_mut() {
        let place = MAPS.iter().position(|name| map.name() == *name);
        if let Some(place) = place {
            map.reuse_fd(handles[place].as_fd())?;
        }
    }
    Ok(())
}

/// Returns the maps of remaining connections in the order of [`MAPS`], or `None` if one is missing or different.
fn remaining(object: &OpenObject) -> Option<Vec<MapHandle>> {
    let handle = |name: &&str| {
        let new = object.maps().find(|map| map.name() == *name)?;
        let is_equal = |old: &MapInfo| {
            let sizes = (old.key_size, old.value_size, old.max_entries);
            let new_sizes = (new.key_size(), new.value_size(), new.max_entries());
            old.name == *name && old.ty == new.map_type() && sizes == new_sizes
        };
        let map = MapInfoIter::default().find(is_equal)?;
        MapHandle::from_map_id(map.id).ok()
    };
    MAPS.iter().map(handle).collect()
}

//! Extended attributes and ACLs as entries of AAIP.
//!
//! In: full names and values, as Linux has them. Out: AL entries. AAIP 2.0.

use sinterfs_model::posix_acl::{self, ACCESS, AclEntry, DEFAULT, PERMISSIONS, has_id, tag};

use super::continuations::entry;
use crate::layout::signature;

/// The most bytes of components in an entry.
const COMPONENTS_MAX: usize = 250;

/// The most bytes of a component in a record.
const COMPONENT_MAX: usize = 248;

/// The first bytes of names in namespaces.
const NAMESPACES: [(&[u8], u8); 4] = [
    (b"system.", 2),
    (b"user.", 3),
    (b"trusted.", 5),
    (b"security.", 6),
];

/// The most bytes of the entries of a file, which Linux can skip.
const TOTAL_MAX: usize = 48 << 10;

/// Makes the entries of a file; `None` if they are too large to be kept.
pub(super) fn entries<'a>(
    pairs: &(impl Iterator<Item = (&'a [u8], &'a [u8])> + Clone),
) -> Option<Vec<Vec<u8>>> {
    let mut components: Vec<(Vec<u8>, Vec<u8>)> = Vec::new();
    let acl = |wanted: &[u8]| {
        let found = pairs.clone().find(|(name, _)| *name == wanted);
        found.and_then(|(_, value)| encoded_acl(value))
    };
    let (access, default) = (acl(ACCESS), acl(DEFAULT));
    for (name, value) in pairs.clone() {
        let is_encoded =
            (name == ACCESS && access.is_some()) || (name == DEFAULT && default.is_some());
        if !is_encoded {
            components.push((short_name(name), value.to_vec()));
        }
    }
    if access.is_some() || default.is_some() {
        let mut value = access.unwrap_or_default();
        if let Some(default) = default {
            // from here on the default ACL
            value.push(0x81);
            value.extend(default);
        }
        components.push((Vec::new(), value));
    }
    let total: usize = components
        .iter()
        .map(|(name, value)| name.len() + value.len())
        .sum();
    if components.is_empty() || total > TOTAL_MAX {
        return components.is_empty().then(Vec::new);
    }
    let parts = components.iter().flat_map(|(name, value)| [name, value]);
    Some(packed(parts.map(Vec::as_slice)))
}

fn short_name(name: &[u8]) -> Vec<u8> {
    for (namespace, byte) in NAMESPACES {
        if let Some(rest) = name.strip_prefix(namespace) {
            return [&[byte], rest].concat();
        }
    }
    match name.first() {
        Some(0..0x20) => [&[1], name].concat(),
        _ => name.to_vec(),
    }
}

/// Distributes components to entries.
fn packed<'a>(components: impl Iterator<Item = &'a [u8]>) -> Vec<Vec<u8>> {
    let mut areas: Vec<Vec<u8>> = vec![Vec::new()];
    for component in components {
        let mut rest = component;
        loop {
            let used = areas.last().map_or(0, Vec::len);
            let room = COMPONENTS_MAX.saturating_sub(used + 2).min(COMPONENT_MAX);
            if room == 0 || (room < 16 && rest.len() > room) {
                areas.push(Vec::new());
                continue;
            }
            let (part, later) = rest.split_at(room.min(rest.len()));
            let is_last = later.is_empty();
            if let Some(area) = areas.last_mut() {
                area.extend([u8::from(!is_last), u8::try_from(part.len()).unwrap_or(0)]);
                area.extend(part);
            }
            rest = later;
            if is_last {
                break;
            }
        }
    }
    let count = areas.len();
    let entries = (1..).zip(areas).map(|(number, area)| {
        let flags = u8::from(number < count);
        entry(signature::AL, 1, &[&[flags], &area[..]].concat())
    });
    entries.collect()
}

/// Converts the value that Linux has for an ACL; `None` for one that is not of its version 2.
fn encoded_acl(value: &[u8]) -> Option<Vec<u8>> {
    let mut encoded = Vec::new();
    for entry in posix_acl::parse(value)? {
        let AclEntry {
            tag,
            id,
            permissions,
        } = entry;
        let kind: u8 = match tag {
            tag::OWNER => 1,
            tag::USER => 10,
            tag::OWNING_GROUP => 3,
            tag::GROUP => 12,
            tag::MASK => 5,
            tag::OTHERS => 6,
            _ => return None,
        };
        let permissions = u8::try_from(permissions)
            .ok()
            .filter(|bits| u16::from(*bits) <= PERMISSIONS)?;
        encoded.push(kind << 4 | permissions);
        if has_id(tag) {
            let digits = id.to_be_bytes();
            let skipped = digits
                .iter()
                .take_while(|digit| **digit == 0)
                .count()
                .min(3);
            let digits = digits.get(skipped..)?;
            if let Some(flags) = encoded.last_mut() {
                *flags |= 8;
            }
            encoded.push(u8::try_from(digits.len()).ok()?);
            encoded.extend(digits);
        }
    }
    Some(encoded)
}

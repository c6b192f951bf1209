//! The options of `sinter mount -o`: ours, and the options of mount(8), fstab(5), dwarfs(1) and
//! squashfuse(1).
//!
//! In: options separated by commas. Out: settings of a mount. **Invariant:** an option is applied,
//! has no effect on a read-only mount of ours by its meaning (each with a reason), or is refused
//! with a hint; none is ignored silently.

mod asked;
mod objects;
mod split;

use std::path::Path;

use sinterfs::mount::{Mounter, Upper};
use sinterfs::verify::{Anchor, Root, Trust};
use sinterfs::{Error, Result};

use crate::args::fetch::FetchWishes;

use asked::Asked;
pub use objects::{names_objects, verifies};
pub use split::{split, split_bytes};

/// What options set.
#[derive(Debug, Default)]
pub struct Settings {
    pub mounter: Mounter,
    pub fetch: FetchWishes,
    /// Whether the mount is required to be read-only (`Some(true)`) or writable.
    pub read_only: Option<bool>,
    /// Whether it was said how the image is proved: for a line of a list, in the line.
    pub is_proved: bool,
}

/// Returns the writable layer with this name: `tmpfs` for memory, or a directory.
pub fn upper(name: &Path) -> Upper {
    if name == Path::new("tmpfs") {
        Upper::Memory
    } else {
        Upper::Directory(name.to_owned())
    }
}

/// The effect of an option.
#[derive(Clone, Copy)]
enum Effect {
    /// Sets something that has no value.
    Flag(fn(&mut Settings)),
    /// Sets something; the value may be empty.
    Set(fn(&mut Settings, &Asked<'_>) -> Result<()>),
    /// Nothing, for the reason of the comment at its row.
    Nothing,
    /// It is refused, with this hint.
    Refused(&'static str),
}

use Effect::{Flag, Nothing, Refused, Set};

/// All options; those that set something are described in docs/fstab.md.
const OPTIONS: &[(&[&str], Effect)] = &[
    // what a mount of ours is anyway
    (&["defaults"], Nothing),
    (&["nodev"], Flag(|to| to.mounter.options.dev = false)),
    (&["nosuid"], Flag(|to| to.mounter.options.suid = false)),
    (&["exec"], Flag(|to| to.mounter.options.exec = true)),
    // what they require is compared with the writable layer when all options are known
    (&["ro"], Set(|to, _| read_only(to, true))),
    (&["rw"], Set(|to, _| read_only(to, false))),
    (
        &["overlay"],
        Set(|to, asked| {
            to.mounter.upper = Some(upper(&asked.path()?));
            Ok(())
        }),
    ),
    // for mount(8), fstab(5) and systemd, which have acted on them before they start this program
    (
        &[
            "auto", "noauto", "nofail", "_netdev", "user", "users", "owner", "group", "nouser",
            "nousers", "noowner", "nogroup", "comment", "loop", "silent", "loud", "verbose",
        ],
        Nothing,
    ),
    // nothing writes to an image, and access times come from the image
    (
        &[
            "atime",
            "noatime",
            "diratime",
            "nodiratime",
            "relatime",
            "norelatime",
            "strictatime",
            "nostrictatime",
            "lazytime",
            "nolazytime",
            "sync",
            "async",
            "dirsync",
            "iversion",
            "noiversion",
            "mand",
            "nomand",
        ],
        Nothing,
    ),
    (
        &["remount"],
        Refused("unmount the image and mount it again"),
    ),
    (
        &["bind", "rbind", "move"],
        Refused("mount(8) does that with the directory of a mount"),
    ),
    (&["dev"], Flag(|to| to.mounter.options.dev = true)),
    (&["suid"], Flag(|to| to.mounter.options.suid = true)),
    (&["noexec"], Flag(|to| to.mounter.options.exec = false)),
    (
        &["uid"],
        Set(|to, asked| {
            to.mounter.options.uid = Some(asked.id()?);
            Ok(())
        }),
    ),
    (
        &["gid"],
        Set(|to, asked| {
            to.mounter.options.gid = Some(asked.id()?);
            Ok(())
        }),
    ),
    (&["umask"], Set(umask)),
    (&["readonly"], Flag(|to| to.mounter.options.umask |= 0o222)),
    (
        &["allow_other"],
        Flag(|to| to.mounter.options.allow_other = true),
    ),
    (
        &["allow_root"],
        Set(|to, _| {
            to.mounter.options.allow_root = true;
            to.mounter.options.allow_other = false;
            Ok(())
        }),
    ),
    (
        &["auto_unmount"],
        Flag(|to| to.mounter.options.auto_unmount = true),
    ),
    (&["max_read"], Set(max_read)),
    (
        &["default_permissions"],
        Flag(|to| to.mounter.options.default_permissions = true),
    ),
    (
        &["subtype"],
        Set(|to, asked| {
            to.mounter.options.subtype = asked.value.to_owned();
            Ok(())
        }),
    ),
    (
        &["fsname"],
        Set(|to, asked| {
            to.mounter.options.fsname = asked.value.to_owned();
            Ok(())
        }),
    ),
    (
        &["context", "fscontext", "defcontext", "rootcontext"],
        Set(label),
    ),
    (&["seclabel"], Nothing), // shown by the kernel, for mounts with labels
    (
        &["offset"],
        Set(|to, asked| {
            to.mounter.open.offset = if asked.value == "auto" {
                None
            } else {
                Some(asked.size()?)
            };
            Ok(())
        }),
    ),
    (&["sizelimit"], Refused("an image knows its own length")),
    (
        &["device"],
        Set(|to, asked| {
            to.mounter.open.devices.push(asked.path()?);
            Ok(())
        }),
    ),
    (
        &["image"],
        Set(|to, asked| {
            to.mounter.open.image = Some(asked.value.to_owned());
            Ok(())
        }),
    ),
    (
        &["partition"],
        Set(|to, asked| {
            to.mounter.open.partition = Some(u32::try_from(asked.size()?).unwrap_or(u32::MAX));
            Ok(())
        }),
    ),
    (
        objects::OBJECTS,
        Set(|to, asked| {
            to.mounter.open.objects = Some(asked.path()?);
            Ok(())
        }),
    ),
    (
        objects::VERIFY,
        Set(|to, _| objects::verify(&mut to.mounter.open)),
    ),
    (
        &["digest"],
        Set(|to, asked| prove(to, Anchor::Digest(asked.value.parse()?))),
    ),
    (
        &["fs_verity"],
        Set(|to, asked| prove(to, Anchor::FsVerity(asked.value.parse::<Root>()?.into()))),
    ),
    (
        &["signed_by"],
        Set(|to, asked| {
            let (key, signature) = (asked.value.into(), None);
            prove(to, Anchor::Signature { key, signature })
        }),
    ),
    (
        &["cachesize"],
        Set(|to, asked| {
            to.mounter.open.cache_bytes = asked.size()?;
            Ok(())
        }),
    ),
    (
        &["workers"],
        Set(|to, asked| {
            to.mounter.options.threads = usize::try_from(asked.size()?).unwrap_or(1).clamp(1, 1024);
            Ok(())
        }),
    ),
    (
        &["idle", "tidy_max_age"],
        Set(|to, asked| {
            to.mounter.trim_after = asked.seconds()?;
            Ok(())
        }),
    ),
    (
        &["timeout", "idle_unmount"],
        Set(|to, asked| {
            // as for automount and squashfuse, 0 is never
            to.mounter.unmount_after = Some(asked.seconds()?).filter(|time| !time.is_zero());
            Ok(())
        }),
    ),
    (&["salvage"], Flag(|to| to.mounter.open.salvage = true)),
    (
        &["record", "analysis_file"],
        Set(|to, asked| {
            to.mounter.record = Some(asked.path()?);
            Ok(())
        }),
    ),
    (
        &["prefetch", "fill"],
        Set(|to, asked| to.fetch.set(asked.text).map_err(|why| asked.wrong(&why))),
    ),
    (
        &["readahead"],
        Set(|to, asked| {
            to.mounter.options.read_ahead = Some(u32::try_from(asked.size()?).unwrap_or(u32::MAX));
            Ok(())
        }),
    ),
    // links of a file have one inode and its count here, always
    (&["enable_nlink"], Nothing),
    // what these choose is decided from reads and from the state of the system
    (&["tidy_strategy", "tidy_interval", "seq_detector"], Nothing),
    // the page cache keeps what was read, and the image itself is not kept in it twice
    (&["cache_files", "no_cache_image"], Nothing),
    (
        &["no_cache_files", "cache_image"],
        Refused("the kernel keeps data that was read as long as it has memory for it"),
    ),
    (
        &["decratio"],
        Refused("a block is decoded as far as a read needs it"),
    ),
    (
        &["blocksize"],
        Refused("the kernel decides how much it reads at once"),
    ),
    (
        &["mlock"],
        Refused("pages of the cache are freed when the system is short of memory"),
    ),
    (&["imagesize"], Refused("an image knows its own length")),
    (
        &["case_insensitive"],
        Refused("names are looked up exactly"),
    ),
    (
        &["preload_category"],
        Set(|to, asked| {
            to.mounter.preload = Some(asked.value.to_owned());
            Ok(())
        }),
    ),
    (
        &["preload_all"],
        Refused("`sinter build --hot LIST` stores what a start reads together"),
    ),
    (
        &["debuglevel", "perfmon", "perfmon_trace"],
        Refused("`sinter mount --stats FILE` has counters"),
    ),
    (
        &["block_allocator", "cache_sparse"],
        Refused("memory is allocated in one way here"),
    ),
    (
        &["notify_pipe"],
        Refused("the program returns when the mount is usable"),
    ),
    (
        &["subdir"],
        Refused("mount the image elsewhere, and the directory by `mount --bind`"),
    ),
];

/// Applies an option; fails if it is unknown or refused, or its value is wrong.
pub fn apply(option: &str, settings: &mut Settings) -> Result<()> {
    let (name, value) = option.split_once('=').unwrap_or((option, ""));
    let asked = Asked {
        text: option,
        value,
    };
    match find(name) {
        Some(Flag(set)) => {
            set(settings);
            Ok(())
        }
        Some(Set(set)) => set(settings, &asked),
        Some(Nothing) => Ok(()),
        Some(Refused(hint)) => Err(Error::unsupported(format!(
            "mount option `{name}` is not supported: {hint}"
        ))),
        None => Err(Error::invalid(format!(
            "unknown mount option `{option}` (see sinter mount --help)"
        ))),
    }
}

/// Fails if the mount is required to be writable and has no writable layer, or the reverse.
pub fn check_writable(settings: &Settings) -> Result<()> {
    match (settings.read_only, &settings.mounter.upper) {
        (Some(false), None) => Err(Error::unsupported(
            "mount option `rw` is not supported: images are read-only; `--overlay UPPER` makes a \
             mount writable",
        )),
        (Some(true), Some(_)) => Err(Error::invalid(
            "mount option `ro` contradicts the overlay, which is for writing",
        )),
        _ => Ok(()),
    }
}

/// Returns whether an option is known, be it refused.
pub fn is_known(option: &str) -> bool {
    find(option.split('=').next().unwrap_or_default()).is_some()
}

fn find(name: &str) -> Option<Effect> {
    // comments for programs that read fstab
    if name.starts_with("x-") || name.starts_with("X-") {
        return Some(Nothing);
    }
    let mut rows = OPTIONS.iter();
    rows.find_map(|(names, effect)| names.contains(&name).then_some(*effect))
}

fn read_only(to: &mut Settings, is_read_only: bool) -> Result<()> {
    to.read_only = Some(is_read_only);
    Ok(())
}

fn umask(to: &mut Settings, asked: &Asked<'_>) -> Result<()> {
    match u16::from_str_radix(asked.value, 8) {
        Ok(mask) if mask <= 0o777 => to.mounter.options.umask = mask,
        _ => return Err(asked.wrong("not an octal mask")),
    }
    Ok(())
}

fn max_read(to: &mut Settings, asked: &Asked<'_>) -> Result<()> {
    let bytes = u32::try_from(asked.size()?)
        .ok()
        .filter(|bytes| *bytes >= 4096);
    to.mounter.options.max_read =
        Some(bytes.ok_or_else(|| asked.wrong("less than 4096, or too large"))?);
    Ok(())
}

fn label(to: &mut Settings, asked: &Asked<'_>) -> Result<()> {
    let label = asked.value.trim_matches('"');
    if label.is_empty() || label.contains('"') {
        return Err(asked.wrong("not a label"));
    }
    let name = asked.text.split('=').next().unwrap_or_default();
    to.mounter
        .options
        .labels
        .push((name.to_owned(), label.to_owned()));
    Ok(())
}

/// Sets how the image is proved. Fails if that is set already: one proof would replace the other.
fn prove(to: &mut Settings, anchor: Anchor) -> Result<()> {
    if to.is_proved {
        let what = "one proof is taken: digest, fs_verity or signed_by";
        return Err(Error::invalid(what));
    }
    to.is_proved = true;
    let mut trust = Trust::by(anchor);
    trust.digests = to.mounter.open.trust.take().and_then(|trust| trust.digests);
    to.mounter.open.trust = Some(Box::new(trust));
    Ok(())
}

#[cfg(test)]
mod tests;

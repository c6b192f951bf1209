//! Mounts several images as layers, or images below a writable layer, through overlayfs.
//!
//! Enters images and a directory; leaves a `Session`. **Invariant:** only overlayfs is in the tree;
//! unmounting it ends the mounts of all images, and so the session. A failure leaves nothing.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

use rustix::fs::CWD;
use rustix::mount::{MoveMountFlags, move_mount};
use sinterfs_model::{Error, Result};

use crate::attach::mount_point;
use crate::backing_name;
use crate::detach::undo;
use crate::lower::{self, Lower, LowerLayer};
use crate::mountinfo::made_at;
use crate::options::MountOptions;
use crate::session::{Session, catch_signals};
use crate::stacked::{check_possible, stack};
use crate::start::{Event, Serving};
use crate::upper::{Prepared, Upper};

/// The most images in one mount: what overlayfs takes.
pub const LAYERS_MAX: usize = 500;

/// Threads for all layers together, as long as each has two.
const THREADS: usize = 64;

/// Fails if there are too many images for one mount.
pub fn check_layers(count: usize) -> Result<()> {
    if count <= LAYERS_MAX {
        return Ok(());
    }
    Err(Error::limit(format!(
        "{count} images in one mount: overlayfs takes {LAYERS_MAX}; `sinter merge` makes one image \
         of several"
    )))
}

/// Mounts images as layers, the topmost first, below the upper layer if there is one, and serves
/// them with their own threads. Returns also why layers are not mounted by the kernel's EROFS where
/// that was tried.
///
/// `Invalid` for an option that only FUSE has, else as `mount` fails; `Io` with `EPERM` without
/// CAP_SYS_ADMIN. Nothing is mounted then, and directories that were made are removed.
pub fn mount_layers(
    layers: &[LowerLayer],
    upper: Option<&Upper>,
    dir: &Path,
    options: &MountOptions,
) -> Result<(Session, Option<Error>)> {
    if let Some(option) = options.needs_fuse() {
        let what = format!("the mount option {option} applies only to FUSE, not to overlayfs");
        return Err(Error::invalid(what));
    }
    check_layers(layers.len())?;
    check_possible()?;
    let point = mount_point(dir, &options.subtype)?;
    let signals = options.catch_signals.then(catch_signals).transpose()?;
    let mut each = options.clone();
    if each.threads == 0 && layers.len() > 1 {
        each.threads = each.thread_count().min((THREADS / layers.len()).max(2));
    }
    let started = layers.iter().map(|layer| lower::start(layer, &each));
    let mut lowers: Vec<Lower> = started.collect::<Result<_>>()?;
    let fell_back = lowers.iter_mut().find_map(|lower| lower.fell_back.take());
    let requests = lowers.first().map(|lower| Arc::clone(&lower.requests));
    let (trees, events): (Vec<OwnedFd>, Vec<_>) = lowers
        .into_iter()
        .map(|lower| (lower.tree, lower.events))
        .unzip();
    let borrowed: Vec<_> = trees.iter().collect();
    let (tree, prepared) = stack(&borrowed, upper, &point, options)?;
    // from now on overlayfs keeps them alive
    drop(trees);
    let (sender, all_ended) = channel();
    relay(events, &sender)?;
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH;
    move_mount(&tree, "", CWD, &point, flags)
        .map_err(|errno| Error::io("cannot mount there", errno).path(dir))?;
    let mount = made_at(&point).inspect_err(|_| undo(&point, backing_name::is_ours))?;
    let serving = Serving {
        events: all_ended,
        sender,
        requests: requests.unwrap_or_default(),
    };
    let session = Session::new(mount, serving, signals)?;
    Ok((
        session.keep(prepared.and_then(Prepared::complete)),
        fell_back,
    ))
}

/// Sends one event when all servers have ended, or when the first one fails.
fn relay(servers: Vec<Receiver<Event>>, sender: &Sender<Event>) -> Result<()> {
    let left = Arc::new(AtomicUsize::new(servers.len()));
    for events in servers {
        let (left, sender) = (Arc::clone(&left), sender.clone());
        let wait = move || {
            let ended = match events.recv() {
                Ok(Event::Ended(Err(error))) => Err(error),
                _ => Ok(()),
            };
            if left.fetch_sub(1, Ordering::AcqRel) == 1 || ended.is_err() {
                // the receiver is gone if the session was dropped
                let _ = sender.send(Event::Ended(ended));
            }
        };
        let thread = std::thread::Builder::new().name("layer".into()).spawn(wait);
        thread.map_err(|error| Error::io("cannot start a thread", error))?;
    }
    Ok(())
}

//! The reads of a remote image while it is mounted, for the list of `record`.
//!
//! In: the options of opening. Out: a line for the list, whenever something else was read.

pub(super) use noted::{has_list, notes};

/// The source of the line about all reads: `None` if there is none, or nothing was read since the
/// last call and the argument is not `true`.
pub(super) type ReadNotes = Box<dyn FnMut(bool) -> Option<String> + Send>;

#[cfg(feature = "remote")]
mod noted {
    use std::sync::Arc;

    use sinterfs_remote::ReadRecorder;

    use super::ReadNotes;
    use crate::open_options::OpenOptions;

    /// Begins to note what is read of the image that will be opened by these options.
    pub(in crate::mount) fn notes(options: &mut OpenOptions) -> ReadNotes {
        let recorder = Arc::new(ReadRecorder::default());
        options.remote.recorder = Some(Arc::clone(&recorder));
        Box::new(move |is_wanted| {
            let is_new = recorder.take_news();
            let reads = recorder.reads().filter(|_| is_new || is_wanted);
            reads.map(|reads| reads.line())
        })
    }

    /// Returns whether a list says what is fetched ahead.
    pub(in crate::mount) fn has_list(options: &OpenOptions) -> bool {
        options.remote.recorded.is_some()
    }
}

#[cfg(not(feature = "remote"))]
mod noted {
    use super::ReadNotes;
    use crate::open_options::OpenOptions;

    /// Returns no lines: there are no remote images.
    pub(in crate::mount) fn notes(_: &mut OpenOptions) -> ReadNotes {
        Box::new(|_| None)
    }

    /// Returns false: there are no remote images.
    pub(in crate::mount) fn has_list(_: &OpenOptions) -> bool {
        false
    }
}

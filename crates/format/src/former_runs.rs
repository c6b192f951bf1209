//! The runs of programs that made an image, carried from the image that is read to the new one.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

/// Runs in the words of the format that recorded them, oldest first.
///
/// Only that format can read them: an image of another format drops them.
#[derive(Clone, Default)]
pub struct FormerRuns(Vec<Arc<dyn Any + Send + Sync>>);

impl fmt::Debug for FormerRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("FormerRuns").field(&self.0.len()).finish()
    }
}

impl FormerRuns {
    /// Takes the runs that a format has recorded.
    pub fn new<T: Any + Send + Sync>(runs: Vec<T>) -> Self {
        let runs = runs.into_iter().map(|run| Arc::new(run) as _);
        Self(runs.collect())
    }

    /// Appends the runs of another image.
    #[must_use]
    pub fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    /// Returns the runs that a format can read.
    pub fn of<T: Any + Clone>(&self) -> Vec<T> {
        let runs = self.0.iter().filter_map(|run| run.downcast_ref());
        runs.cloned().collect()
    }
}

//! A decoder whose steps are scheduled one by one, and which fails where a test wants it.

use shuttle::sync::Arc;
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use sinterfs_model::{Error, Result};

/// Bytes of a step.
pub const STEP: usize = 10;

/// What a decoder of a test does.
#[derive(Debug, Clone)]
pub struct DecoderPlan {
    /// Its content.
    pub content: Vec<u8>,
    /// The step that fails, if there is one.
    pub fails_at: Option<usize>,
    /// Whether it takes more memory than its content, as a decoder with a window does.
    pub is_heavy: bool,
    /// Counts the steps of all decoders of this plan.
    pub steps: Arc<AtomicUsize>,
}

/// Decodes [`STEP`] bytes a step.
#[derive(Debug)]
pub struct Decoder {
    plan: DecoderPlan,
    decoded: Vec<u8>,
}

impl Decoder {
    /// Begins a plan.
    pub fn new(plan: DecoderPlan) -> Self {
        Self {
            plan,
            decoded: Vec::new(),
        }
    }

    pub fn len(&self) -> u64 {
        self.plan.content.len() as u64
    }

    pub fn is_empty(&self) -> bool {
        self.plan.content.is_empty()
    }

    pub fn decoded(&self) -> &[u8] {
        &self.decoded
    }

    pub fn is_finished(&self) -> bool {
        self.decoded.len() == self.plan.content.len()
    }

    pub fn into_decoded(self) -> Vec<u8> {
        self.decoded
    }

    pub fn memory(&self) -> u64 {
        let factor = if self.plan.is_heavy { 3 } else { 1 };
        (self.decoded.len() * factor) as u64 + u64::from(self.plan.is_heavy) * self.len()
    }

    pub fn advance(&mut self) -> Result<()> {
        self.plan.steps.fetch_add(1, Ordering::SeqCst);
        let (start, all) = (self.decoded.len(), &self.plan.content);
        if self.plan.fails_at == Some(start / STEP) {
            return Err(Error::corrupt("the step that fails"));
        }
        // others may run in the middle of a step
        self.plan.steps.load(Ordering::SeqCst);
        self.decoded
            .extend_from_slice(&all[start..(start + STEP).min(all.len())]);
        Ok(())
    }
}

//! The settings of the encoder for each level.

/// The effort of the encoder.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The highest order of a linear predictor; 0 for the fixed ones only.
    pub(super) order: usize,
    /// Predictors are made for the whole frame and for parts of it, down to this fraction.
    pub(super) parts: usize,
    /// The highest number of partitions of residuals, as a power of two.
    pub(super) partitions: u32,
    /// Whether all ways to store two channels are tried instead of estimated.
    pub(super) stereo: bool,
    /// The number of times that a run may be halved.
    pub(super) halvings: u32,
    /// The number of orders that are tried on each side of the estimated best.
    pub(super) around: usize,
}

impl Effort {
    const fn new(
        order: usize,
        parts: usize,
        partitions: u32,
        stereo: bool,
        halvings: u32,
        around: usize,
    ) -> Self {
        Self {
            order,
            parts,
            partitions,
            stereo,
            halvings,
            around,
        }
    }

    /// The effort of each level.
    pub(super) const LEVELS: [Self; 9] = [
        Self::new(0, 1, 3, false, 0, 0),
        Self::new(0, 1, 5, false, 0, 0),
        Self::new(0, 1, 6, true, 0, 0),
        Self::new(4, 1, 6, true, 0, 0),
        Self::new(6, 1, 6, true, 0, 0),
        Self::new(8, 1, 6, true, 0, 0),
        Self::new(8, 2, 6, true, 0, 0),
        Self::new(12, 2, 6, true, 1, 0),
        Self::new(12, 3, 6, true, 2, 0),
    ];

    /// The highest useful effort.
    pub(super) const EXHAUSTIVE: Self = Self::new(32, 4, 8, true, 4, 1);
}

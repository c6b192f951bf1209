//! How much the encoder tries for smaller frames, by level.

/// How hard the encoder looks for the shortest frames.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The highest order of a predictor made for the samples; 0 leaves the fixed ones.
    pub(super) order: usize,
    /// Into how many parts the samples are cut, besides as a whole, to make predictors for.
    pub(super) parts: usize,
    /// The most partitions of residuals, as a power of two.
    pub(super) partitions: u32,
    /// Whether all ways to store two channels are tried, not estimated.
    pub(super) stereo: bool,
    /// How often a run may be halved.
    pub(super) halvings: u32,
    /// How many orders next to the one that looks best are tried too.
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

    /// What the levels mean; each is smaller and slower than the one before.
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

    /// Everything that is worth trying at all.
    pub(super) const EXHAUSTIVE: Self = Self::new(32, 4, 8, true, 4, 1);
}

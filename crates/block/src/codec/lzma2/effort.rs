//! What a level means to the table and the parsers.

/// The settings of one level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The longest match that the table looks for.
    pub(super) depth: usize,
    /// A match of so many bytes is taken at once.
    pub(super) nice: usize,
}

const fn effort(depth: usize, nice: usize) -> Effort {
    Effort { depth, nice }
}

/// Levels 1 to 9.
static LEVELS: [Effort; 9] = [
    effort(8, 16),
    effort(12, 24),
    effort(16, 32),
    effort(20, 32),
    effort(24, 40),
    effort(42, 48),
    effort(42, 64),
    effort(50, 96),
    effort(63, 273),
];

/// Tells the settings of a level from 1 to 9.
pub(super) fn of_level(level: u32) -> &'static Effort {
    let index = (level as usize).clamp(1, LEVELS.len()) - 1;
    &LEVELS[index]
}

//! What an effort means to the match table and the parser.

/// The settings of one effort.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    /// The longest match that the table looks for.
    pub(super) depth: usize,
    /// A match of this length is taken without a further search.
    pub(super) nice: usize,
    /// How often each block is parsed by its own statistics.
    pub(super) passes: u32,
    /// How much dearer than the best way to a position the other way there may be that is followed
    /// too, in the last of the passes; `None` to follow the best way alone.
    pub(super) slack: Option<u32>,
    /// Whether matches are looked for at positions that a match reaches for less than literals.
    pub(super) thorough: bool,
}

/// The longest match that no effort takes at once, plus one.
pub(super) const MAX_NICE: usize = 256;

/// Efforts from 1 on.
static LEVELS: [Effort; 3] = [
    Effort {
        depth: 34,
        nice: 96,
        passes: 1,
        slack: None,
        thorough: false,
    },
    Effort {
        depth: 63,
        nice: MAX_NICE,
        passes: 1,
        slack: Some(2000),
        thorough: false,
    },
    Effort {
        depth: 63,
        nice: MAX_NICE,
        passes: 2,
        slack: Some(2000),
        thorough: true,
    },
];

/// Returns the settings of an effort.
pub(super) fn of_level(level: u32) -> &'static Effort {
    let index = (level as usize).clamp(1, LEVELS.len()) - 1;
    &LEVELS[index]
}

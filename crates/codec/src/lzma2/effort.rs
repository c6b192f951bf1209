//! The settings of the table and the parsers for each level.

/// How symbols are chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Parser {
    Lazy,
    Optimal,
}

/// The settings of one level.
#[derive(Debug, Clone, Copy)]
pub(super) struct Effort {
    pub(super) parser: Parser,
    /// The longest match that the table looks for.
    pub(super) depth: usize,
    /// A match of this length is taken without a further search.
    pub(super) nice: usize,
    /// Whether the last place of each four bytes is a match to choose from.
    pub(super) quads: bool,
    /// Symbols after which the tables of prices are computed again.
    pub(super) stale: usize,
}

const fn lazy(depth: usize, nice: usize) -> Effort {
    Effort {
        parser: Parser::Lazy,
        depth,
        nice,
        quads: false,
        stale: usize::MAX,
    }
}

const fn optimal(depth: usize, nice: usize, stale: usize) -> Effort {
    Effort {
        parser: Parser::Optimal,
        depth,
        nice,
        quads: true,
        stale,
    }
}

/// Levels 1 to 9.
static LEVELS: [Effort; 9] = [
    lazy(10, 32),
    lazy(18, 48),
    lazy(32, 64),
    // four bytes' last places would take a sixth more time for less than 1 % of size
    Effort {
        quads: false,
        ..optimal(18, 24, 128)
    },
    optimal(26, 32, 128),
    optimal(34, 48, 128),
    optimal(42, 64, 64),
    optimal(50, 64, 64),
    optimal(63, 96, 64),
];

/// Returns the settings of a level from 1 to 9.
pub(super) fn of_level(level: u32) -> &'static Effort {
    let index = (level as usize).clamp(1, LEVELS.len()) - 1;
    &LEVELS[index]
}

//! Information about an image beyond the traits: a small tree of names and values that text and
//! JSON are made of, so that the command line needs no format's types.

/// The name of the row that lists what is damaged.
pub const DAMAGE: &str = "damage";

/// A value of a detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InfoValue {
    /// Words.
    Text(String),
    /// A count or size.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several values of one kind.
    List(Vec<InfoValue>),
    /// Named values in their order.
    Map(InfoRows),
}

/// Named values in their order.
pub type InfoRows = Vec<(String, InfoValue)>;

impl From<&str> for InfoValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for InfoValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for InfoValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for InfoValue {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

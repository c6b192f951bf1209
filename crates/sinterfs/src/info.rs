//! What an image tells about itself beyond the traits: a small tree of names and values that text
//! and JSON are made of, so that the command line needs no format's types.

/// A value of a detail.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Words.
    Text(String),
    /// A count or size.
    Number(u64),
    /// Yes or no.
    Flag(bool),
    /// Several values of one kind.
    List(Vec<Value>),
    /// Named values in their order.
    Map(Details),
}

/// Named values in their order.
pub type Details = Vec<(String, Value)>;

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<u64> for Value {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Self {
        Self::Flag(flag)
    }
}

//! Images on their way to and from registries, as whole files.

#[cfg(feature = "remote")]
mod pull;
pub(crate) mod push;

#[cfg(feature = "remote")]
pub use pull::{PullTo, Pulled, pull};
pub use push::{PushWith, push};

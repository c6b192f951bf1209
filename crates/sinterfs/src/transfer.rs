//! Images on their way to and from registries, as whole files.

mod equal_leaves;
mod pull;
mod splice;

pub(crate) use pull::push_content;
pub use pull::{PullTo, Pulled, PushWith, pull, push};

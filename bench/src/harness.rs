//! What measurements need of the machine: commands, mounts, inputs, statistics.

pub mod interrupt;
pub mod kernel;
pub mod machine;
pub mod mounted;
pub mod readers;
pub mod sets;
pub mod shell;
pub mod statistics;
pub mod tar_stream;
pub mod texts;
pub mod trees;

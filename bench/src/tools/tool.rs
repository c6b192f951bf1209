//! A tool as a few command lines.
//!
//! In a command line, `{dir}` is the directory that is packed, `{image}` the image, `{out}` the
//! directory that is extracted to, `{mountpoint}` the one that is mounted on, `{args}` the
//! variant's arguments and `{jobs}` a number of threads. A part in `[...]` is used only if a number
//! of threads is asked for. Commands that mount stay in the foreground.

/// One tool, or several programs that make one.
#[derive(Debug)]
pub struct Tool {
    /// Its name in results.
    pub name: &'static str,
    /// What it writes and reads: tools of the same format read each other's images.
    pub format: &'static str,
    /// The command lines; empty for what it cannot do.
    pub build: &'static str,
    pub extract: &'static str,
    pub mount: &'static str,
    /// Prints its version.
    pub version: &'static str,
    pub variants: &'static [Variant],
}

/// One way to build with a tool.
#[derive(Debug)]
pub struct Variant {
    pub label: &'static str,
    pub args: &'static str,
    /// The level, for `--levels`.
    pub level: Option<u8>,
    /// Sets that it is for; all if empty.
    pub sets: &'static [&'static str],
}

/// A tool with one of its variants: what builds an image.
#[derive(Debug, Clone, Copy)]
pub struct Builder {
    pub tool: &'static Tool,
    pub variant: &'static Variant,
}

impl Builder {
    /// Returns its name in results.
    pub fn name(self) -> String {
        format!("{} {}", self.tool.name, self.variant.label)
    }
}

/// Makes a variant of a level.
pub const fn level(level: u8, label: &'static str, args: &'static str) -> Variant {
    Variant {
        label,
        args,
        level: Some(level),
        sets: &[],
    }
}

/// Makes a variant without a level.
pub const fn variant(label: &'static str, args: &'static str) -> Variant {
    Variant {
        label,
        args,
        level: None,
        sets: &[],
    }
}

//! What programs for Windows need to run by wine: its environment, and a library that older
//! versions lack.
//!
//! In: nothing. Out: variables, and the library below the target directory. **Invariant:** nothing
//! is written to the home directory.

use std::fs;
use std::process::Command;

use crate::run::{self, Outcome, run};

/// The directory of libraries for wine.
const LIBRARIES: &str = "wine-libraries";

/// Returns the environment in which wine runs: its own directory, no messages of its own, and the
/// directory of [`library`].
pub fn environment() -> [(&'static str, String); 3] {
    let dir = |name| run::target().join(name).display().to_string();
    let libraries = format!("Z:{}", dir(LIBRARIES).replace('/', "\\"));
    [
        ("WINEPREFIX", dir("wine")),
        ("WINEDEBUG", "-all".to_owned()),
        ("WINEPATH", libraries),
    ]
}

/// Compiles the library that older versions of wine lack.
pub fn library() -> Outcome {
    let dir = run::target().join(LIBRARIES);
    fs::create_dir_all(&dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    let mut gcc = Command::new("x86_64-w64-mingw32-gcc");
    gcc.args(["-shared", "-O2", "-o"])
        .arg(dir.join("bcryptprimitives.dll"))
        .arg(run::root().join("xtask/src/wine/bcryptprimitives.c"))
        .arg("-ladvapi32");
    run("a library for wine", &mut gcc)
}

//! The workflows of the forge run the project's own commands: nothing is checked or built there
//! that nobody can repeat here.
//!
//! Enters the files below `.github`; leaves each step (`run:`) that is not in [`COMMANDS`], and
//! each use of another project's action without a version.

use std::path::Path;

use super::workspace;

/// How a step begins.
const COMMANDS: &[&str] = &[
    "./x ",
    ".ci/run",
    "'\"$GITHUB_ACTION_PATH/run.sh\"'",
    // what only the forge can do: a draft of a release
    "find target/dist -maxdepth 1 -type f -exec gh release create ",
];

/// Finds steps that are no commands of the project, and actions without a version.
pub fn forge(root: &Path) -> Result<Vec<String>, String> {
    let mut broken = Vec::new();
    for path in workspace::files(root, ".github/*.yml")?.lines() {
        if root.join(path).exists() {
            let text = std::fs::read_to_string(root.join(path));
            broken.extend(steps(path, &text.map_err(|e| format!("{path}: {e}"))?));
        }
    }
    Ok(broken)
}

fn steps(path: &str, text: &str) -> Vec<String> {
    let mut broken = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        let line = line.trim_start_matches([' ', '-']);
        if let Some(command) = line.strip_prefix("run: ")
            && !COMMANDS.iter().any(|known| command.starts_with(known))
        {
            broken.push(format!(
                "{path}:{number}: a step calls ./x, .ci/run or the script of its action: {command}"
            ));
        }
        if let Some(action) = line.strip_prefix("uses: ")
            && !action.contains('@')
        {
            broken.push(format!("{path}:{number}: {action} has no version"));
        }
    }
    broken
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_others_and_actions_without_a_version_are_found() {
        let text = "steps:\n  - uses: a/b@v1\n  - uses: a/b\n  - run: ./x test\n  - run: |\n      \
                    cargo test\n    - run: cargo test\n";
        let broken = steps("a.yml", text);
        assert_eq!(broken.len(), 3, "{broken:?}");
        assert!(broken[0].starts_with("a.yml:3: a/b has no version"));
        assert!(broken[1].ends_with(": |"), "{broken:?}");
        assert!(broken[2].ends_with(": cargo test"), "{broken:?}");
    }
}

//! Users and groups by name, as /etc/passwd and /etc/group list them.
//!
//! The program is also linked statically, where other sources of names cannot be asked.

use std::collections::HashMap;
use std::path::Path;

/// Parses a user: a number, or a name.
pub fn user(text: &str) -> Result<u32, String> {
    id(text, "/etc/passwd", "user")
}

/// Parses a group: a number, or a name.
pub fn group(text: &str) -> Result<u32, String> {
    id(text, "/etc/group", "group")
}

fn id(text: &str, file: &str, what: &str) -> Result<u32, String> {
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("`{text}` is not a 32-bit number"));
    }
    let found = entries(Path::new(file))
        .into_iter()
        .find(|(name, _)| name == text);
    found
        .map(|(_, id)| id)
        .ok_or_else(|| format!("no {what} is named `{text}` in {file}; give a number"))
}

/// The names of users and groups on this system.
#[derive(Debug)]
pub struct Owners {
    users: HashMap<u32, String>,
    groups: HashMap<u32, String>,
}

impl Owners {
    /// Reads all names.
    pub fn read() -> Self {
        let named = |file| {
            let mut names = HashMap::new();
            for (name, id) in entries(Path::new(file)) {
                // of several names for a number the first one counts
                names.entry(id).or_insert(name);
            }
            names
        };
        Self {
            users: named("/etc/passwd"),
            groups: named("/etc/group"),
        }
    }

    /// Returns the name of a user, or the number if there is none.
    pub fn user(&self, id: u32) -> String {
        let name = self.users.get(&id).cloned();
        name.unwrap_or_else(|| id.to_string())
    }

    /// Returns the name of a group, or the number if there is none.
    pub fn group(&self, id: u32) -> String {
        let name = self.groups.get(&id).cloned();
        name.unwrap_or_else(|| id.to_string())
    }
}

/// Reads names and numbers of a file with lines `name:password:number:...`.
fn entries(file: &Path) -> Vec<(String, u32)> {
    let text = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let entry = |line: &str| {
        let mut fields = line.split(':');
        let (name, id) = (fields.next()?, fields.nth(1)?);
        Some((name.to_owned(), id.parse().ok()?))
    };
    text.lines().filter_map(entry).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers() {
        assert_eq!(user("0"), Ok(0));
        assert_eq!(user("root"), Ok(0));
        assert_eq!(group("root"), Ok(0));
        assert_eq!(user("4294967295"), Ok(u32::MAX));
        for wrong in ["4294967296", "", "no such user"] {
            assert!(user(wrong).is_err(), "{wrong}");
        }
    }
}

//! Changes of permissions in the words of chmod(1).
//!
//! Enters text such as `ug+rx,o-w`, `a=rX`, `D755,F644`, `norm`; leaves a function of mode bits.
//! The grammar of a clause is `[DF][ugoa...][+-=][rwxXst...|ugo]...` or `[DF]OCTAL`; `D` limits a
//! clause to directories and `F` to everything else. `norm` means `ug-st,=Xr`. **Invariant:** a
//! clause without `ugoa` means all of them; the umask of the process plays no part, so that an
//! image does not depend on it.

use std::str::FromStr;

use sinterfs_model::{Error, Result};

/// Changes of mode bits, in order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chmod(Vec<Clause>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Clause {
    /// `Some(true)` for directories only, `Some(false)` for everything else.
    directories: Option<bool>,
    action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Action {
    /// All bits; as in GNU chmod, a directory keeps its set-id bits unless five digits are given.
    Octal { bits: u16, clears_set_id: bool },
    Symbolic {
        /// The bits of the classes that change: three for each of `ugo`.
        who: u16,
        operator: Operator,
        operand: Operand,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator {
    Add,
    Remove,
    Set,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operand {
    Permissions {
        /// `r`, `w`, `x` as 4, 2, 1.
        bits: u16,
        /// `X`: `x` for directories and for what has an `x` already.
        execute: bool,
        set_id: bool,
        sticky: bool,
    },
    /// A copy of a class: how far its bits are shifted.
    Copy(u32),
}

const SET_UID: u16 = 0o4000;
const SET_GID: u16 = 0o2000;
const STICKY: u16 = 0o1000;

impl Chmod {
    /// Changes the twelve bits of a mode.
    pub fn apply(&self, mode: u16, is_dir: bool) -> u16 {
        self.0
            .iter()
            .filter(|clause| clause.directories.is_none_or(|only| only == is_dir))
            .fold(mode, |mode, clause| clause.action.apply(mode, is_dir))
    }
}

impl Action {
    fn apply(&self, mode: u16, is_dir: bool) -> u16 {
        match *self {
            Self::Octal {
                bits,
                clears_set_id,
            } => {
                let kept = if is_dir && !clears_set_id {
                    SET_UID | SET_GID
                } else {
                    0
                };
                bits | (mode & kept)
            }
            Self::Symbolic {
                who,
                operator,
                operand,
            } => {
                let bits = operand.bits(who, mode, is_dir);
                match operator {
                    Operator::Add => mode | bits,
                    Operator::Remove => mode & !bits,
                    Operator::Set => (mode & !reach(who, is_dir)) | bits,
                }
            }
        }
    }
}

/// Returns the bits that `=` clears; as in GNU chmod, set-id bits of a directory stay unless named.
fn reach(who: u16, is_dir: bool) -> u16 {
    let mut bits = who;
    if !is_dir {
        bits |= set_id_of(who);
    }
    if who == 0o777 {
        bits |= STICKY;
    }
    bits
}

fn set_id_of(who: u16) -> u16 {
    let uid = if who & 0o700 != 0 { SET_UID } else { 0 };
    let gid = if who & 0o070 != 0 { SET_GID } else { 0 };
    uid | gid
}

impl Operand {
    fn bits(self, who: u16, mode: u16, is_dir: bool) -> u16 {
        match self {
            Self::Copy(shift) => (((mode >> shift) & 7) * 0o111) & who,
            Self::Permissions {
                bits,
                execute,
                set_id,
                sticky,
            } => {
                let execute = execute && (is_dir || mode & 0o111 != 0);
                let mut result = ((bits | u16::from(execute)) * 0o111) & who;
                if set_id {
                    result |= set_id_of(who);
                }
                if sticky {
                    result |= STICKY;
                }
                result
            }
        }
    }
}

impl FromStr for Chmod {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let text = if text == "norm" { "ug-st,=Xr" } else { text };
        let mut clauses = Vec::new();
        for part in text.split(',') {
            parse_clause(part, &mut clauses).ok_or_else(|| {
                Error::invalid(format!(
                    "mode {part:?} is neither octal nor like ug+rx, a=rX, D755 or norm"
                ))
            })?;
        }
        Ok(Self(clauses))
    }
}

fn parse_clause(part: &str, clauses: &mut Vec<Clause>) -> Option<()> {
    let (directories, rest) = match part.as_bytes().first()? {
        b'D' => (Some(true), &part[1..]),
        b'F' => (Some(false), &part[1..]),
        _ => (None, part),
    };
    if rest.bytes().all(|byte| byte.is_ascii_digit()) {
        let bits = u16::from_str_radix(rest, 8)
            .ok()
            .filter(|&bits| bits <= 0o7777)?;
        clauses.push(Clause {
            directories,
            action: Action::Octal {
                bits,
                clears_set_id: rest.len() > 4,
            },
        });
        return Some(());
    }
    let mut bytes = rest.bytes().peekable();
    let mut who = 0;
    while let Some(class) = bytes.next_if(|byte| b"ugoa".contains(byte)) {
        who |= match class {
            b'u' => 0o700,
            b'g' => 0o070,
            b'o' => 0o007,
            _ => 0o777,
        };
    }
    let who = if who == 0 { 0o777 } else { who };
    bytes.peek()?;
    while let Some(operator) = bytes.next() {
        let operator = match operator {
            b'+' => Operator::Add,
            b'-' => Operator::Remove,
            b'=' => Operator::Set,
            _ => return None,
        };
        let operand = parse_operand(&mut bytes)?;
        clauses.push(Clause {
            directories,
            action: Action::Symbolic {
                who,
                operator,
                operand,
            },
        });
    }
    Some(())
}

fn parse_operand(bytes: &mut std::iter::Peekable<std::str::Bytes<'_>>) -> Option<Operand> {
    let copy = bytes.next_if(|byte| b"ugo".contains(byte));
    if let Some(class) = copy {
        return Some(Operand::Copy(match class {
            b'u' => 6,
            b'g' => 3,
            _ => 0,
        }));
    }
    let (mut bits, mut execute, mut set_id, mut sticky) = (0, false, false, false);
    while let Some(letter) = bytes.next_if(|byte| !b"+-=".contains(byte)) {
        match letter {
            b'r' => bits |= 4,
            b'w' => bits |= 2,
            b'x' => bits |= 1,
            b'X' => execute = true,
            b's' => set_id = true,
            b't' => sticky = true,
            _ => return None,
        }
    }
    Some(Operand::Permissions {
        bits,
        execute,
        set_id,
        sticky,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(text: &str, mode: u16, is_dir: bool) -> u16 {
        text.parse::<Chmod>().unwrap().apply(mode, is_dir)
    }

    #[test]
    fn clauses_do_what_chmod_does() {
        // text, mode, for a file, for a directory; compared with GNU chmod 9.1 and umask 0
        let table = [
            ("755", 0o4600, 0o755, 0o4755),
            ("00755", 0o4600, 0o755, 0o755),
            ("7777", 0, 0o7777, 0o7777),
            ("u+x", 0o644, 0o744, 0o744),
            ("ug+rx,o-w", 0o602, 0o750, 0o750),
            ("a=rX", 0o600, 0o444, 0o555),
            ("a=rX", 0o700, 0o555, 0o555),
            ("=Xr", 0o640, 0o444, 0o555),
            ("g=u", 0o740, 0o770, 0o770),
            ("o=g,g-r", 0o740, 0o704, 0o704),
            ("u=rwx,go=", 0o644, 0o700, 0o700),
            ("u+s", 0o755, 0o4755, 0o4755),
            ("g+s,+t", 0o755, 0o3755, 0o3755),
            ("ug-s", 0o6755, 0o755, 0o755),
            ("+s", 0o755, 0o6755, 0o6755),
            ("u+r-x", 0o100, 0o400, 0o400),
            ("a=", 0o7777, 0, 0o6000),
            ("u=rw", 0o6755, 0o2655, 0o6655),
            ("-w", 0o666, 0o444, 0o444),
        ];
        for (text, mode, file, dir) in table {
            assert_eq!(apply(text, mode, false), file, "{text} of a file {mode:o}");
            assert_eq!(
                apply(text, mode, true),
                dir,
                "{text} of a directory {mode:o}"
            );
        }
    }

    #[test]
    fn prefixes_limit_a_clause() {
        assert_eq!(apply("D755,F644", 0o700, true), 0o755);
        assert_eq!(apply("D755,F644", 0o700, false), 0o644);
        assert_eq!(apply("Fg+w,D-t", 0o1700, false), 0o1720);
        assert_eq!(apply("Fg+w,D-t", 0o1700, true), 0o700);
    }

    #[test]
    fn norm_reads_for_all_and_drops_set_id() {
        assert_eq!(apply("norm", 0o6750, false), 0o555);
        assert_eq!(apply("norm", 0o600, false), 0o444);
        assert_eq!(apply("norm", 0o1700, true), 0o555);
    }

    #[test]
    fn nonsense_is_refused() {
        for text in [
            "", ",", "u", "u+q", "8", "77777", "x=r", "755,", "u+rg", "D", "normal",
        ] {
            assert!(text.parse::<Chmod>().is_err(), "{text}");
        }
        assert_eq!(Chmod::default().apply(0o1234, true), 0o1234);
    }
}
